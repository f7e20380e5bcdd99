"""Tables and a figure of the results of `estimators.py`."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

RIVALS = ("ridge", "Lasso", "elastic net", "PLS", "linear SVM", "l1 logistic", "l2 logistic")
ORDER = ("Tacit", *RIVALS, "minimum norm", "basis pursuit", "Tacit, no stop", "Tacit at 1e-3")
BEGIN, END = "<!-- measured -->", "<!-- end of measured -->"
COLORS = {
    "Tacit": "#D55E00",
    "ridge": "#0072B2",
    "Lasso": "#009E73",
    "elastic net": "#56B4E9",
    "PLS": "#CC79A7",
    "linear SVM": "#000000",
    "l1 logistic": "#009E73",
    "l2 logistic": "#E69F00",
}
MARKERS = {"Tacit": "D", "ridge": "o", "Lasso": "^", "elastic net": "s", "PLS": "v", "linear SVM": "P"}

Line = dict[str, Any]


def stability(choices: list[list[int]]) -> float:
    """The mean Jaccard index of the selected features of two splits."""
    pairs = [(set(a), set(b)) for a, b in combinations(choices, 2)]
    return float(np.mean([len(a & b) / max(len(a | b), 1) for a, b in pairs])) if pairs else float("nan")


def summary(rows: list[dict[str, Any]]) -> list[Line]:
    """For every table and method: mean error and its standard error, features, stability, seconds.

    A row is `within` if its error is at most one standard error (of the best competitor's mean over splits)
    above that of the best competitor. Only splits that all methods have completed are used.
    """
    lines = []
    for data in sorted({row["data"] for row in rows}):
        own = [row for row in rows if row["data"] == data]
        methods = list(dict.fromkeys(row["method"] for row in own))
        done = [{row["split"] for row in own if row["method"] == method} for method in methods]
        shared = set.intersection(*done)
        own = [row for row in own if row["split"] in shared]
        found = [_line([row for row in own if row["method"] == method]) for method in methods if shared]
        rivals = [line for line in found if line["method"] in RIVALS]
        best = min(rivals, key=lambda line: line["error"], default=None)
        for line in found:
            line["best"] = line is best
            line["within"] = best is not None and line["error"] <= best["error"] + best["deviation"]
        lines += found
    return lines


def _line(rows: list[dict[str, Any]]) -> Line:
    failed = [row for row in rows if row["error"] is None]
    if failed:
        raise SystemExit(f"{failed[0]['data']}, {failed[0]['method']}: {failed[0]['failed']}")
    errors = np.array([row["error"] for row in rows])
    return {
        **{key: rows[0][key] for key in ("data", "shape", "classify", "method")},
        "splits": len(rows),
        "error": float(errors.mean()),
        "deviation": float(errors.std(ddof=1) / np.sqrt(len(errors))) if len(errors) > 1 else 0.0,
        "features": float(np.mean([len(row["selected"]) for row in rows])),
        "stability": stability([row["selected"] for row in rows]),
        "seconds": float(np.median([row["seconds"] for row in rows])),
    }


def write(lines: list[Line], page: Path) -> None:
    """Write the tables into a page, between its marks if it has them."""
    text = page.read_text() if page.exists() else f"{BEGIN}\n{END}\n"
    before, rest = text.split(BEGIN)
    page.write_text(f"{before}{BEGIN}\n{_tables(lines)}\n{END}{rest.split(END)[1]}")


def _tables(lines: list[Line]) -> str:
    parts = [_verdicts(lines)]
    for classify, name in (
        (False, "Root mean square test error"),
        (True, "Test error (1 − balanced accuracy)"),
    ):
        own = [line for line in lines if line["classify"] == classify]
        if own:
            parts.append(f"{name}, ± its standard error:\n\n" + _matrix(own, _error))
    parts.append("Number of features that carry 99% of $\\|w\\|_1$, and their stability:")
    parts += [_matrix(own, _carriers) for own in _kinds(lines)]
    parts.append("Median CPU seconds (one core) for a fit including its tuning:")
    parts += [_matrix(own, lambda line: _short(line["seconds"])) for own in _kinds(lines)]
    return "\n\n".join(parts)


def _kinds(lines: list[Line]) -> list[list[Line]]:
    kinds = [[line for line in lines if line["classify"] == classify] for classify in (False, True)]
    return [kind for kind in kinds if kind]


def _verdicts(lines: list[Line]) -> str:
    """The number of tables on which Tacit is within one standard error of the best competitor, with a row for
    each."""
    ours = [line for line in _ordered(lines) if line["method"] == "Tacit"]
    good = sum(line["within"] for line in ours)
    text = [
        f"Tacit is within one standard error of the best competitor on {good} of {len(ours)} tables:",
        "",
        "| data | samples × features | splits | Tacit | best competitor | within one standard error |",
        "|---|---:|---:|---:|---:|:---:|",
    ]
    for line in ours:
        best = next(each for each in lines if each["data"] == line["data"] and each["best"])
        samples, features = line["shape"]
        said = "yes" if line["within"] else "**no**"
        text.append(
            f"| {line['data']} | {samples} × {features:,} | {line['splits']} | {_error(line)} "
            f"| {best['method']} {_error(best)} | {said} |"
        )
    return "\n".join(text)


def _ordered(lines: list[Line]) -> list[Line]:
    return sorted(lines, key=lambda line: (line["classify"], line["data"]))


def _matrix(lines: list[Line], cell: Callable[[Line], str]) -> str:
    """A table with one row for each data set and one column for each method."""
    present = list(dict.fromkeys(line["method"] for line in lines))
    methods = sorted(present, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))
    text = ["| data | " + " | ".join(methods) + " |", "|---|" + "---:|" * len(methods)]
    for data in sorted({line["data"] for line in lines}):
        own = {line["method"]: line for line in lines if line["data"] == data}
        cells = [cell(own[method]) if method in own else "–" for method in methods]
        text.append(f"| {data} | " + " | ".join(cells) + " |")
    return "\n".join(text)


def _error(line: Line) -> str:
    """An error with as many digits as its standard error justifies."""
    digits = max(1 - int(np.floor(np.log10(line["deviation"]))), 0) if line["deviation"] > 0 else 3
    told = f"{line['error']:.{digits}f} ± {line['deviation']:.{digits}f}"
    return f"**{told}**" if line["best"] else told


def _carriers(line: Line) -> str:
    return f"{line['features']:,.0f} ({line['stability']:.2f})"


def _short(value: float) -> str:
    return f"{value:.2g}" if value < 10 else f"{value:.0f}"


def draw(lines: list[Line], path: Path) -> None:
    """Draw errors, numbers of features and seconds: a row for each table, a mark for each method."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullFormatter, ScalarFormatter

    kinds = _kinds(lines)
    heights = [len({line["data"] for line in own}) for own in kinds]
    figure, axes = plt.subplots(
        len(kinds),
        3,
        figsize=(10, 1.9 + 0.52 * sum(heights)),
        height_ratios=heights,
        width_ratios=[2.2, 1, 1],
        layout="constrained",
        squeeze=False,
    )
    for own, row in zip(kinds, axes, strict=True):
        _errors(own, row[0])
        _marks(own, row[1], "features")
        _marks(own, row[2], "seconds")
        for ax in row[1:]:
            ax.set_xscale("log")
        if not own[0]["classify"]:
            row[0].set_xscale("log")
            row[0].xaxis.set_major_formatter(ScalarFormatter())
            row[0].xaxis.set_minor_formatter(NullFormatter())
            row[0].set_xticks([1, 1.5, 2], ["1", "1.5", "2"])
        for ax in row:
            _rows(own, ax, named=ax is row[0])
    axes[0][0].set_xlabel("test error / that of the best rival")
    axes[-1][0].set_xlabel("1 − balanced accuracy")
    axes[-1][1].set_xlabel("features with 99% of ‖w‖₁")
    axes[-1][2].set_xlabel("seconds to tune and fit")
    _legend(figure, lines)
    figure.savefig(path, dpi=160)
    plt.close(figure)


def _rows(lines: list[Line], ax: Any, named: bool) -> None:
    """Draw the names of tables and alternating stripes."""
    shapes = {line["data"]: line["shape"] for line in _ordered(lines)}
    names = [f"{data}\n{samples} × {features:,}" for data, (samples, features) in shapes.items()]
    ax.set_yticks(range(len(names)), names if named else [""] * len(names), fontsize=8)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    for place in range(0, len(names), 2):
        ax.axhspan(place - 0.5, place + 0.5, color="#f4f2ee", zorder=0, lw=0)


def _places(lines: list[Line]) -> dict[str, int]:
    return {data: place for place, data in enumerate(sorted({line["data"] for line in lines}))}


def _shift(method: str, lines: list[Line]) -> float:
    """The vertical offset of a method; Tacit is at the top."""
    methods = [name for name in COLORS if any(line["method"] == name for line in lines)]
    return 0.72 * ((methods.index(method) + 0.5) / len(methods) - 0.5)


def _mark(ax: Any, value: float, place: float, method: str, bar: float = 0.0) -> None:
    ours = method == "Tacit"
    ax.errorbar(
        value,
        place,
        xerr=bar or None,
        fmt=MARKERS.get(method, "X" if method.startswith("l2") else "^"),
        color=COLORS[method],
        ms=8 if ours else 5,
        elinewidth=1.6 if ours else 0.9,
        mec="white",
        mew=0.6,
        zorder=4 if ours else 3,
    )


def _marks(lines: list[Line], ax: Any, key: str) -> None:
    places = _places(lines)
    for line in lines:
        if line["method"] in COLORS:
            _mark(ax, line[key], places[line["data"]] + _shift(line["method"], lines), line["method"])


def _errors(lines: list[Line], ax: Any) -> None:
    """Draw the errors, with a band of one standard error of the best competitor."""
    places = _places(lines)
    for data, place in places.items():
        own = [line for line in lines if line["data"] == data]
        best = next((line for line in own if line["best"]), None)
        if best is None:
            continue
        unit = 1.0 if best["classify"] else best["error"]
        band = [best["error"] / unit, (best["error"] + best["deviation"]) / unit]
        ax.fill_betweenx([place - 0.45, place + 0.45], *band, color="#c9d8e6", lw=0, zorder=1)
        for line in own:
            if line["method"] in COLORS:
                height = place + _shift(line["method"], lines)
                _mark(ax, line["error"] / unit, height, line["method"], line["deviation"] / unit)


def _legend(figure: Any, lines: list[Line]) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = []
    for method in ("Tacit", *RIVALS):
        if any(line["method"] == method for line in lines):
            marker = MARKERS.get(method, "X" if method.startswith("l2") else "^")
            size = 8 if method == "Tacit" else 6
            handles.append(Line2D([], [], ls="", marker=marker, color=COLORS[method], ms=size, label=method))
    handles.append(Patch(color="#c9d8e6", label="within one standard error of the best rival"))
    figure.legend(handles=handles, loc="outside upper center", ncols=5, frameon=False, fontsize=8)
