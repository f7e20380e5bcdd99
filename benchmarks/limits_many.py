"""Many limits at once on the CPU: `tacit.limits` compared with a loop over `tacit.limit`.

    python benchmarks/limits_many.py [--json FILE] [--share 0.1]

Both are timed in the same run, as CPU time and as wall time; the loop on a random part of the problems.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tacit

LOOP = 40  # problems of the loop


def data_sets(seeds: int, samples: int, features: int) -> tuple[Any, Any]:
    """Gaussian X and y of a 5-sparse signal (Woodworth et al. 2020, Section 4), for several seeds."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((seeds, samples, features))
    signal = np.zeros(features)
    signal[:5] = 1 / math.sqrt(5)
    return X, X @ signal + 0.01 * rng.standard_normal((seeds, samples))


def scales_and_seeds(share: float) -> tuple[Any, Any, Any]:
    """41 scales from 1e-6 to 10, for 10 seeds of 100 × 1000."""
    X, y = data_sets(math.ceil(10 * share), 100, 1000)
    return [tacit.Diagonal(scale=scale) for scale in np.logspace(1, -6, 41)], X[:, None], y[:, None]


def small_problems(share: float) -> tuple[Any, Any, Any]:
    """10,000 data sets of 20 × 100, at one scale."""
    X, y = data_sets(math.ceil(10_000 * share), 20, 100)
    return tacit.Diagonal(scale=1e-3), X, y


def deep(share: float) -> tuple[Any, Any, Any]:
    """Depth 3: 41 scales from 1e-3 to 10, for 10 seeds of 20 × 100."""
    X, y = data_sets(math.ceil(10 * share), 20, 100)
    models = [tacit.Diagonal(depth=3, scale=scale) for scale in np.logspace(1, -3, 41)]
    return models, X[:, None], y[:, None]


CASES = (scales_and_seeds, small_problems, deep)


def timed(function: Callable[[], Any]) -> tuple[float, float, Any]:
    """CPU seconds, wall seconds, and the result."""
    cpu, wall = time.process_time(), time.perf_counter()
    found = function()
    return time.process_time() - cpu, time.perf_counter() - wall, found


def compare(case: Callable[[float], tuple[Any, Any, Any]], share: float) -> dict[str, Any]:
    """Times per problem, their ratios, and the largest distance between both results."""
    models, X, y = case(share)
    cpu, wall, limits = timed(lambda: tacit.limits(models, X, y, device="cpu"))
    count = len(limits)
    chosen = np.random.default_rng(1).choice(count, min(LOOP, count), replace=False).tolist()
    problems = [limits[i] for i in chosen]

    def loop() -> list[Any]:
        found = [tacit.limit(each.model, each.X, each.y) for each in problems]
        for each in found:  # errors are computed on first use; the batch has computed its own
            each.error  # noqa: B018
        return found

    loop_cpu, loop_wall, singles = timed(loop)
    apart = [
        np.linalg.norm(one.predictor - other.predictor) / np.linalg.norm(other.predictor)
        for one, other in zip(problems, singles, strict=True)
    ]
    return {
        "case": (case.__doc__ or "").strip(),
        "problems": count,
        "certified": int(limits.converged.sum()),
        "singly": len(limits.singly),
        "ms": 1000 * cpu / count,
        "ms of the loop": 1000 * loop_cpu / len(problems),
        "CPU ratio": loop_cpu / len(problems) / (cpu / count),
        "wall ratio": loop_wall / len(problems) / (wall / count),
        "wall seconds": wall,
        "distance": float(max(apart)),
    }


def main() -> None:
    """Print a table, and write the numbers."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--share", type=float, default=1.0, help="part of the data sets")
    options = parser.parse_args()
    versions = {"python": platform.python_version(), "numpy": np.__version__, "cores": os.cpu_count()}
    print(versions)
    print(f"{'problems':>9} {'certified':>9} {'ms':>7} {'loop':>7} {'CPU':>5} {'wall':>5} {'distance':>9}")
    rows = []
    for case in CASES:
        row = compare(case, options.share)
        rows.append(row)
        print(
            f"{row['problems']:9,} {row['certified']:9,} {row['ms']:7.2f} {row['ms of the loop']:7.2f} "
            f"{row['CPU ratio']:5.1f} {row['wall ratio']:5.1f} {row['distance']:9.0e}  {row['case']}",
            flush=True,
        )
    if options.json:
        Path(options.json).write_text(json.dumps({**versions, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
