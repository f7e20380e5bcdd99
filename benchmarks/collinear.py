"""Limits on collinear spectra: how many of ten draws converge at depths 3 and 4, and their errors.

    python benchmarks/collinear.py                              # simulated spectra of 60 x 100
    python benchmarks/collinear.py tecator.csv --target fat     # 60 samples of a table, drawn ten times

High-precision references (tests/support/near_duplicates.py) take seconds, so only the first draws have one.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from near_duplicate_problems import spectra
from near_duplicates import Geometry, doubt, truth

import tacit

Draw = Callable[[int], tuple[np.ndarray, np.ndarray]]
CASES = [(depth, scale) for depth in (3, 4) for scale in (1e-2, 1e-4)]


def drawn(table: Path, target: str, samples: int) -> Draw:
    """A random subset of the samples of a CSV file, as features and target."""
    names = table.read_text().split("\n", 1)[0].strip().split(",")
    numbers, column = np.loadtxt(table, delimiter=",", skiprows=1), names.index(target)
    features = np.delete(numbers, column, axis=1)

    def draw(seed: int) -> tuple[np.ndarray, np.ndarray]:
        rows = np.random.default_rng(seed).choice(len(numbers), samples, replace=False)
        return features[rows], numbers[rows, column]

    return draw


def compare(draw: Draw, depth: float, scale: float, draws: int, references: int) -> str:
    """Print how many converge; for draws with a reference, also error, estimate and data uncertainty."""
    converged, seconds, notes = 0, 0.0, []
    for seed in range(draws):
        X, y = draw(seed)
        start = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                limit = tacit.limit(tacit.Diagonal(depth, scale), X, y)
        except Exception as failure:  # reported in the table
            notes.append(f"draw {seed}: {type(failure).__name__}: {failure}")
            continue
        seconds += time.perf_counter() - start
        converged += bool(limit.converged)
        if seed < references:
            geometry = Geometry(depth, scale)
            exact = truth(X, y, geometry)
            true = np.linalg.norm(limit.predictor - exact.floats) / np.linalg.norm(exact.floats)
            claim = getattr(limit, "error", None)
            notes.append(
                f"draw {seed}: {'converged' if limit.converged else 'NOT converged'}, error {true:.1e}, "
                f"estimate {'–' if claim is None else format(claim, '.1e')}, "
                f"open {doubt(X, y, geometry, exact):.1e}, rank {len(exact.rows)} of {len(X)}"
            )
    head = f"depth {depth}, scale {scale:g}: {converged} of {draws} converge, {seconds / draws:.2f} s each"
    return "\n    ".join([head, *notes])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "table", type=Path, nargs="?", help="a CSV file with a header line (default: simulated spectra)"
    )
    parser.add_argument("--target", default="fat")
    parser.add_argument("--samples", type=int, default=60)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument(
        "--references",
        type=int,
        default=1,
        help="number of draws that are compared with high-precision references",
    )
    options = parser.parse_args()
    draw: Draw = lambda seed: spectra(seed, options.samples)  # noqa: E731
    if options.table:
        draw = drawn(options.table, options.target, options.samples)
    for depth, scale in CASES:
        print(compare(draw, depth, scale, options.draws, options.references), flush=True)


if __name__ == "__main__":
    main()
