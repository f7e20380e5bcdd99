"""Limits on nearly equal samples and features, compared with high-precision references.

    python benchmarks/near_duplicates.py --problems 2000 --cache FOLDER [--seed 0] [--json FILE]

The references (tests/support/near_duplicates.py) are cached, so that a second run takes the time of Tacit
only.
"""

from __future__ import annotations

import argparse
import json
import math
import pickle
import sys
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from near_duplicate_problems import Problem, problem
from near_duplicates import doubt, moved, scattered, tilted, truth

import tacit

DETERMINED = 1e-8  # relative uncertainty below which the data determine the limit
WRONG = 1e-6  # converged limits with a larger error are counted as wrong


def reference(task: Problem) -> dict[str, Any]:
    """The exact limit, and its uncertainty due to the round-off of the data, from two perturbations."""
    start, data = time.perf_counter(), (task.X, task.y, task.geometry)
    try:
        exact = truth(*data)
        doubts = [doubt(*data, exact)]
        if doubts[0] <= DETERMINED:
            signs = tilted(task.X, exact), scattered(task.X, np.random.default_rng(0))
            doubts += [moved(*data, exact, each) for each in signs]
    except ArithmeticError as failure:
        return {"failure": str(failure)}
    return {"predictor": exact.floats, "doubt": max(doubts), "seconds": time.perf_counter() - start}


class Cache:
    """A cache of references, one file for each seed, written atomically from time to time."""

    def __init__(self, folder: Path | None, seed: int) -> None:
        self.file = folder and folder / f"near_duplicates-{seed}.pickle"
        self.known: dict[str, Any] = {}
        self.unsaved = 0
        if self.file and self.file.exists():
            self.known = pickle.loads(self.file.read_bytes())

    def reference(self, task: Problem) -> dict[str, Any]:
        key = task.key()
        if key not in self.known:
            self.known[key] = reference(task)
            self.unsaved += 1
            if self.unsaved >= 25:
                self.save()
        return self.known[key]

    def save(self) -> None:
        if self.file and self.unsaved:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            draft = self.file.with_suffix(".new")
            draft.write_bytes(pickle.dumps(self.known))
            draft.replace(self.file)
            self.unsaved = 0


def attempt(task: Problem, exact: dict[str, Any]) -> dict[str, Any]:
    """Compute a limit and compare it with the reference."""
    row: dict[str, Any] = {
        "axis": task.axis,
        "kind": task.kind,
        "gap": task.gap,
        "target": task.target,
        "depth": task.geometry.depth,
        "scale": task.geometry.scale,
        "shape": task.geometry.shape,
        "samples": len(task.X),
        "features": task.X.shape[1],
        "doubt": exact["doubt"],
        "determined": exact["doubt"] <= DETERMINED,
    }
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            limit = tacit.limit(task.model(), task.X, task.y)
    except Exception as failure:  # counted and reported by kind
        return row | {"exception": f"{type(failure).__name__}: {failure}", "converged": False}
    estimate = getattr(limit, "error", None)
    row["seconds"] = time.perf_counter() - start
    size = np.linalg.norm(exact["predictor"])
    with np.errstate(over="ignore"):  # of limits that did not converge
        true = float(np.linalg.norm((limit.predictor - exact["predictor"]) / size))
    return row | {
        "converged": bool(limit.converged),
        "true": true if math.isfinite(true) else math.inf,
        "error": None if estimate is None else float(estimate),
        "feasibility": float(limit.feasibility),
        "stationarity": float(limit.stationarity),
    }


def digest(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The counts in a row of the table."""
    converged = [row for row in rows if row["converged"]]
    determined = [row for row in rows if row["determined"]]
    # errors below 1e-15 count as 1e-15, since ratios of round-off errors are meaningless
    ratios = [row["true"] / max(row["error"], 1e-15) for row in converged if row["error"] is not None]
    return {
        "problems": len(rows),
        "converged": len(converged),
        "worst": max((row["true"] for row in converged), default=0.0),
        "wrong": sum(row["true"] > WRONG for row in converged),
        "ratio": max(ratios, default=None),
        "flattering": sum(ratio > 10 for ratio in ratios),
        "determined": len(determined),
        "determined_converged": sum(row["converged"] for row in determined),
        "exceptions": dict(Counter(row["exception"].split(":")[0] for row in rows if "exception" in row)),
    }


_HEAD = " " * 25 + "problems  conv.    worst  >1e-6  true/error  >10   determined: conv."


def line(name: str, rows: list[dict[str, Any]]) -> str:
    d = digest(rows)
    share = f"{d['determined_converged']}/{d['determined']}"
    percent = f"{100 * d['determined_converged'] / d['determined']:.1f}%" if d["determined"] else "–"
    ratio = "–" if d["ratio"] is None else f"{d['ratio']:.2g}"
    failures = ", ".join(f"{count} {name}" for name, count in d["exceptions"].items())
    return (
        f"{name:24}{d['problems']:9}{d['converged']:7}{d['worst']:9.1e}{d['wrong']:7}{ratio:>12}"
        f"{d['flattering']:5}{share:>12} {percent:>7}  {failures}"
    )


def table(rows: list[dict[str, Any]]) -> str:
    """The rows of the table: by axis and gap, then by kind, target and depth, then the total."""
    lines = [_HEAD]
    for axis in ("rows", "columns"):
        lines.append(axis)
        for gap in sorted({row["gap"] for row in rows}, reverse=True):
            some = [row for row in rows if row["axis"] == axis and row["gap"] == gap]
            lines += [line(f"  differ by {gap:.0e}" if gap else "  equal", some)] if some else []
    for name in ("kind", "target", "depth"):
        groups = [str(row[name]) if name != "depth" else _depth(row) for row in rows]
        lines.append(f"by {name}")
        for value in sorted(set(groups)):
            lines.append(line(f"  {value}", [r for r, g in zip(rows, groups, strict=True) if g == value]))
    return "\n".join([*lines, line("all", rows)])


def _depth(row: dict[str, Any]) -> str:
    if row["shape"] is not None:
        return "untied"
    return f"{row['depth']:g}" if row["depth"] in (2, 3, 4, 10) else "other"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--problems", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cache", type=Path, help="folder where references are kept")
    parser.add_argument("--references", action="store_true", help="only compute the references")
    parser.add_argument(
        "--json", type=Path, help="write all numbers to this file, one record for each problem"
    )
    options = parser.parse_args()
    cache, rows, unknown = Cache(options.cache, options.seed), [], []
    for index in range(options.problems):
        task = problem(index, options.seed)
        exact = cache.reference(task)
        if "failure" in exact:
            unknown.append({"index": index} | exact)
        elif not options.references:
            rows.append({"index": index} | attempt(task, exact))
    cache.save()
    print(f"{len(unknown)} of {options.problems} problems without a reference")
    for failure in unknown:
        print(" ", failure)
    if rows:
        print(table(rows))
    if options.json:
        options.json.write_text(json.dumps({"problems": rows, "unknown": unknown}, indent=1))


if __name__ == "__main__":
    main()
