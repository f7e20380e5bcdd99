"""Fitted estimators: pictures of coefficients against the scale, and summaries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.data.prepared import Design
from tacit.data.printable import label
from tacit.results.paths import CoefficientPath
from tacit.show.figures import KERNEL, RICH, Picture, draw_largest
from tacit.show.text import aligned, equations, size_of, sizes, top_features

if TYPE_CHECKING:
    from tacit.data.tables import Table


_NAMED = 7  # coordinates with a colour and a name
_CLASSES = 6  # whose features are printed


def coefficients_picture(path: CoefficientPath, names: Sequence[str]) -> Picture:
    """A picture of the largest coefficients, the selected scale (dashed) and both ends (marks)."""
    title = f"depth {path.depth:g}" + (f", stopped at {path.stop:.3g} of the loss" if path.stop else "")

    def draw(ax: Any) -> None:
        order = np.argsort(-path.scales)
        scales, coefs = path.scales[order], path.coefs[order]
        here = int(np.abs(np.log(scales / path.chosen)).argmin())
        largest = np.argsort(-(np.abs(coefs[here]) + np.abs(coefs).max(axis=0)))
        labels = [label(name, 18) for name in names]
        mark = {"ms": 5, "mec": "k", "mew": 0.5, "clip_on": False, "zorder": 3}
        for colour, i in draw_largest(ax, scales, coefs, largest, labels, _NAMED):
            ax.plot(scales[0], path.kernel[i], "o", color=colour, **mark)
            if path.rich is not None:
                ax.plot(scales[-1], path.rich[i], "D", color=colour, **mark)
        ax.axvline(path.chosen, color="0.4", lw=0.8, ls="--")
        beside = {"xycoords": ("data", "axes fraction"), "fontsize": 8, "rotation": 90, "va": "bottom"}
        ground = {"facecolor": "w", "edgecolor": "none", "pad": 1.0, "alpha": 0.8}
        ax.annotate("chosen", (path.chosen, 0.02), ha="center", bbox=ground, **beside)
        ax.axhline(0, color="k", lw=0.5)
        ax.set_xscale("log")
        ax.set_xlim(1.3 * scales.max(), scales.min() / 1.3)
        ax.set(xlabel="scale of the initialization, relative to the data", ylabel="coefficient")
        ax.set_title("kernel end (●)", loc="left", color=KERNEL)
        ax.set_title("rich end" + " (◆)" * (path.rich is not None), loc="right", color=RICH)
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=4, title=title)

    return Picture(draw, {"figsize": (6.4, 4.4)}, "fit")


def fit_report(estimator: Any, table: Table) -> str:
    """Summarize a fitted estimator: data, initialization, score, predictor and certificate."""
    rows = np.atleast_2d(estimator.coef_)
    lines = {
        "data": f"{size_of(table.X)}{_classes(estimator)}",
        "start": _start(estimator),
        "fit": _fit(estimator),
        **_score(estimator, table),
        "predictor": sizes(rows * Design(table.X, standardize=estimator.standardize).scale, None),
        **_features(estimator, rows, table),
        "intercept": "b = " + ", ".join(f"{b:.6g}" for b in np.ravel(estimator.intercept_)),
        "certificate": _certificate(estimator),
    }
    return aligned(lines)


def _classes(estimator: Any) -> str:
    classes = getattr(estimator, "classes_", None)
    return "" if classes is None else f", {len(classes)} classes"


def _start(estimator: Any) -> str:
    """Depth and scale relative to the data, and how they were chosen."""
    scale, depth = (_of(estimator, name) for name in ("scale", "depth"))
    by = "chosen by cross-validation" if hasattr(estimator, "cv_results_") else "as given"
    return f"{equations(depth=f'{depth:g}', scale=f'{scale:.3g}')} (relative to the data), {by}"


def _of(estimator: Any, name: str) -> Any:
    """The chosen value of a parameter if there is one, else the given value."""
    return getattr(estimator, f"{name}_", None) or getattr(estimator, name, None)


def _fit(estimator: Any) -> str:
    loss = getattr(estimator, "loss_", None)
    stop = _of(estimator, "stop")
    if loss == "margin":
        return "maximum-margin predictor"
    if loss == "square":
        ended = "limit" if stop is None else f"stopped at {stop:.3g} of the initial loss"
        return f"flow of the square loss on labels −1 and 1, {ended}"
    if loss is not None:
        apart = "" if estimator.separable_ else "; the classes are not linearly separable"
        stopped = "" if stop is None else f", stopped at {stop:.3g} of the possible decrease of the loss"
        return f"flow of the {loss} loss{stopped}{apart}"
    if estimator.stopped_:
        return f"flow, stopped when the training loss is {stop:.3g} of that of a constant"
    return (
        "limit; all samples are fitted"
        if estimator.interpolates_
        else "limit; least squares, because no predictor fits all samples"
    )


def _score(estimator: Any, table: Table) -> dict[str, str]:
    """The cross-validated score, and that of a constant predictor for comparison."""
    if not hasattr(estimator, "best_score_"):
        return {}
    folds = f"{estimator.n_splits_} folds"
    if hasattr(estimator, "classes_"):
        common = np.unique(table.y, return_counts=True)[1].max() / len(table.y)
        share = f"accuracy = {estimator.best_score_:.1%} ({folds})"
        return {"score": f"{share}; share of the most frequent class = {common:.1%}"}
    rmse, spread = np.sqrt(-estimator.best_score_), table.y.std()
    return {"score": f"RMSE = {rmse:.4g} ({folds}); standard deviation of the target = {spread:.4g}"}


def _features(estimator: Any, rows: Any, table: Table) -> dict[str, str]:
    """The features that contribute most, for every class if there are several."""
    units = Design(table.X, standardize=True).units(table.y)
    if len(rows) == 1:
        return {"features": top_features(rows[0], table.features, units)}
    names = [f"for {name}" for name in estimator.classes_]
    shown = {name: top_features(row, table.features, units) for name, row in zip(names, rows, strict=True)}
    return dict(list(shown.items())[:_CLASSES])


def _certificate(estimator: Any) -> str:
    found = estimator.certificate_
    each = found if isinstance(found, tuple) else (found,)
    worst = max(float(one.stationarity) for one in each)
    margin = getattr(estimator, "loss_", "") == "margin"
    optimal = "maximum margin" if margin else "minimum of Q for these outputs"
    state = "holds" if all(one.holds for one in each) else "DOES NOT HOLD"
    return f"{state} ({optimal}), stationarity = {worst:.0e}"
