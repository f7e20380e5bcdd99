r"""Claims of the figures at many seeds: distance from the threshold, and probability of failure.

Figures are computed at fifty seeds, and the measured values of each claim are stored as a line of JSON for
each figure and seed, so that an interrupted run can be resumed. Figures whose data do not depend on the seed
are computed twice, to verify this. `benchmarks/failure_rate.py` estimates the probability that a claim fails
at another seed.

    python benchmarks/claims.py                                 all figures, quick presets, 50 seeds
    python benchmarks/claims.py woodworth2020/fig1c --seeds 100
    python benchmarks/claims.py woodworth2020/fig1c --write     and write the results: the record that tests
    read, and the page docs/claims.md python benchmarks/claims.py woodworth2020 --same --write    after code
    was moved, or texts or thresholds changed: one seed is computed, and the record of all others is kept if
    its values are the same

Records that the current code has made are not computed again. Seeds that were in the record when the code of
a figure changed count as seen: its thresholds may have been chosen to suit them.
Further seeds (`--seeds`) are fresh and therefore more informative.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import inspect
import json
import sys
import time
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from failure_rate import MOST, chance_of_failure

from tacit.errors import MissingDataError
from tacit.papers import Claim, Entry, figures, measures
from tacit.papers.catalogue import papers, sources

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "tests" / "papers" / "claims.json"
VALUES = Path("tacit-output") / "claims.jsonl"
UNSEEN = (90125, 424242)  # seeds that were not used during development
Line = dict[str, Any]


def seeds(count: int) -> list[int]:
    """The seeds: the default, then two others, then 1000, 2000, …

    They are far apart, since some figures use seed + k for draw k.
    """
    return [0, *UNSEEN, *range(1000, 1000 * count, 1000)][:count]


def quiet(items: Iterable[Any], *args: Any, **kwargs: Any) -> Iterable[Any]:
    """No progress bar."""
    return items


@cache
def source(module: str) -> str:
    """The source of the modules of papers on which one depends, without drawing code and text.

    Code shared by all papers is excluded, except helper modules of figures; so are titles and items of a
    paper.
    """
    known = {name: text for paper in papers() for name, text in sources(paper).items() if name.count(".") > 2}
    known |= {piece.__name__: inspect.getsource(piece) for piece in (measures,)}
    found: dict[str, str] = {}
    todo = [module]
    while todo:
        name = todo.pop()
        if name in found or name not in known or "drawing" in name:
            continue
        tree = ast.parse(known[name])
        found[name] = _bare(known[name], tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                todo += [str(node.module), *(f"{node.module}.{each.name}" for each in node.names)]
    return json.dumps(found, sort_keys=True)


def _bare(text: str, tree: ast.Module) -> str:
    """The source without docstrings, comments and drawing functions."""
    left_out: set[int] = set()
    for node in ast.walk(tree):
        words = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        draws = isinstance(node, ast.FunctionDef) and node.name.lstrip("_").startswith("draw")
        if words or draws:
            left_out |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = (line.strip() for number, line in enumerate(text.splitlines(), 1) if number not in left_out)
    return "\n".join(line for line in lines if line and not line.startswith("#"))


def digest(entry: Entry, preset: str) -> str:
    """A digest of the figure's code and sizes, which changes if its claims or data change."""
    content = source(entry.make.__module__) + json.dumps(entry.presets[preset], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:12]


def computed(entry: Entry, preset: str, seed: int) -> tuple[Any, Line]:
    """Compute the data of a figure at a seed, and return the line to store."""
    begun, shown = time.perf_counter(), entry.make()
    data = shown.data(**entry.presets[preset], seed=seed, progress=quiet)
    with np.errstate(divide="ignore", invalid="ignore"):
        claims = [as_kept(claim) for claim in shown.claims(data)]
    seconds = round(time.perf_counter() - begun, 2)
    key = {"figure": entry.key, "preset": preset, "seed": seed, "source": digest(entry, preset)}
    return data, {**key, "seconds": seconds, "fixed": False, "claims": claims}


def as_kept(claim: Claim) -> dict[str, Any]:
    """A claim with its text, threshold and value to six digits."""
    kept = {"text": claim.text, "at_least": claim.at_least, "at_most": claim.at_most, "of": claim.of}
    return {**kept, "why": claim.why, "measured": float(f"{claim.measured:.6g}")}


def lines(path: Path) -> list[Line]:
    """The stored lines; incomplete ones are ignored."""
    found = []
    for text in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            found.append(json.loads(text))
        except ValueError:
            continue
    return found


def recorded(key: str, figure: dict[str, Any] | None) -> Iterator[Line]:
    """The lines from which the record of a figure was made."""
    if figure is None:
        return
    head = {"figure": key} | {name: figure[name] for name in ("preset", "source", "seconds")}
    for place, seed in enumerate(seeds(figure["seeds"])):
        same = figure["fixed"]  # the same value at every seed, stored once
        claims = [
            {"at_least": None, "at_most": None, "of": None, "why": "", **claim}
            | {"measured": claim["values"][0 if same else place]}
            for claim in figure["claims"]
        ]
        for claim in claims:
            del claim["values"]
        yield {**head, "seed": seed, "fixed": same, "claims": claims}


def runs(entry: Entry, preset: str, count: int, path: Path, kept: dict[str, Any] | None = None) -> list[Line]:
    """Lines at every seed; missing ones are computed and stored. Two if the data do not depend on the seed.

    kept: the record of the figure.
    """
    asked = digest(entry, preset)
    known = {
        line["seed"]: line
        for line in (*recorded(entry.key, kept), *lines(path))
        if (line["figure"], line["preset"], line["source"]) == (entry.key, preset, asked)
    }
    first = None
    for seed in seeds(count):
        if any(line["fixed"] for line in known.values()):
            break
        if seed in known:
            continue
        data, known[seed] = computed(entry, preset, seed)
        if seed == UNSEEN[0]:
            first = computed(entry, preset, 0)[0] if first is None else first
            known[seed]["fixed"] = bool(data.drop_attrs().identical(first.drop_attrs()))
        first = data if seed == 0 else first
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(known[seed], ensure_ascii=False) + "\n")
    return [known[seed] for seed in seeds(count) if seed in known]


def unchanged(entry: Entry, preset: str, kept: dict[str, Any]) -> dict[str, Any] | None:
    """The record of a figure whose code was moved, if its claims at the first seed have the same values.

    Claims are compared by position and value: their texts, reasons and thresholds are the current ones. If a
    threshold has moved, all recorded seeds count as seen.
    """
    now = gathered([computed(entry, preset, 0)[1]], seen=1)
    if len(now["claims"]) != len(kept["claims"]):
        return None
    pairs = list(zip(now["claims"], kept["claims"], strict=True))
    if not all(_agree(new["values"][0], old) for new, old in pairs):
        return None
    claims = [{**new, "values": old["values"]} for new, old in pairs]
    moved = any(
        new.get(side) != old.get(side) for new, old in pairs for side in ("at_least", "at_most", "of")
    )
    return {
        **kept,
        "source": now["source"],
        "seen": kept["seeds"] if moved else kept["seen"],
        "claims": claims,
    }


def _agree(measured: float, kept: dict[str, Any]) -> bool:
    """Whether a value equals the recorded one at the first seed, up to round-off."""
    size = max(abs(kept.get("at_most") or 0.0), abs(kept.get("at_least") or 0.0))
    return bool(np.isclose(measured, kept["values"][0], rtol=1e-3, atol=1e-3 * size))


def in_view(kept: dict[str, Any] | None, source: str) -> int:
    """The number of seeds that were recorded before the code of a figure was last changed."""
    if kept is None:
        return 1
    return int(kept["seen"] if kept["source"] == source else kept["seeds"])


def gathered(found: list[Line], seen: int) -> dict[str, Any]:
    """The record of a figure: each claim once, with its values in the order of seeds.

    seen: the number of seeds that were known when its claims were written; the others are fresh.
    """
    fixed = any(line["fixed"] for line in found)
    rows = zip(*(line["claims"] for line in found), strict=True)
    claims = []
    for same in rows:
        values = [each["measured"] for each in same]
        told = {
            name: value for name, value in same[0].items() if name != "measured" and value not in (None, "")
        }
        claims.append({**told, "values": values[:1] if fixed else values})
    seconds = round(float(np.median([line["seconds"] for line in found])), 1)
    head = {name: found[0][name] for name in ("preset", "source")}
    count = {"seeds": len(found), "seen": min(seen, len(found))}
    return {**head, **count, "fixed": fixed, "seconds": seconds, "claims": claims}


def chance(kept: dict[str, Any]) -> float:
    """The probability of failure of a recorded claim."""
    sides = {name: kept.get(name) for name in ("at_least", "at_most", "of")}
    return chance_of_failure(kept["values"], **sides)


def told(kept: dict[str, Any]) -> Claim:
    """The text of a claim with its worst value: the closest to a threshold, or the farthest beyond."""
    sides = {name: kept.get(name) for name in ("at_least", "at_most", "of")}
    made = [Claim(kept["text"], value, **sides, why=kept.get("why", "")) for value in kept["values"]]
    return min(made, key=_room)


def _room(claim: Claim) -> float:
    sides = []
    if claim.at_most is not None:
        sides.append(claim.at_most - claim.measured)
    if claim.at_least is not None:
        sides.append(claim.measured - claim.at_least)
    return min(sides) if np.isfinite(claim.measured) else -np.inf


def table(key: str, figure: dict[str, Any]) -> Iterator[str]:
    """The lines to print for a figure."""
    yield f"{key}  ({'the same at two' if figure['fixed'] else figure['seeds']} seeds, {figure['seen']} seen)"
    for kept in figure["claims"]:
        worst, odds = told(kept), "        " if figure["fixed"] else f"{chance(kept):8.1e}"
        mark = "!" if not worst.holds or (not figure["fixed"] and chance(kept) > MOST) else " "
        yield f"{mark} {odds}  worst {worst.measured:<10.4g} {worst.threshold}: {worst.text}"


def main() -> int:
    """Compute missing values and print the table; exit status 1 if a claim may fail too often."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("selection", nargs="*", default=["all"], help="figures or papers (default: all)")
    parser.add_argument("--seeds", type=int, default=50, help="number of seeds (default: %(default)s)")
    parser.add_argument("--preset", choices=("quick", "paper"), default="quick")
    parser.add_argument(
        "--values", type=Path, default=VALUES, help="folder for the results (default: %(default)s)"
    )
    parser.add_argument("--write", action="store_true", help=f"{RECORD.relative_to(ROOT)} and docs/claims.md")
    parser.add_argument(
        "--same",
        action="store_true",
        help="keep the records of figures whose values at one seed are unchanged",
    )
    options = parser.parse_args()
    doubtful = 0
    record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    for entry in (entry for selection in options.selection for entry in figures(selection)):
        kept = record.get(entry.key)
        try:
            figure = unchanged(entry, options.preset, kept) if options.same and kept else None
            if figure is None:
                found = runs(entry, options.preset, options.seeds, options.values, kept)
                figure = gathered(found, in_view(kept, found[0]["source"]))
        except MissingDataError as error:
            print(f"{entry.key}  skipped: {error}", flush=True)
            continue
        shown = list(table(entry.key, figure))
        print("\n".join(shown), flush=True)
        doubtful += sum(line.startswith("!") for line in shown)
        record[entry.key] = figure
    if options.write:
        from claims_page import write

        write(record)
    print(f"{doubtful} claims fail, or may fail more often than once in {1 / MOST:.0f} seeds")
    return 1 if doubtful else 0


if __name__ == "__main__":
    sys.exit(main())
