"""Stopped flows for cross-validation: `stopped_path` at modest tolerances compared with `tacit.flow`.

python benchmarks/stopping.py [--quick] [--table DATA.csv] [--cv]

Every flow returns the predictors at 24 stops, down to a share of the initial loss. `ratio`: time of
tacit.flow (rtol 1e-8) over that of stopped_path. `error`: the largest relative distance of predictors between
the two. With --table, the last column of a CSV file is the target; columns are standardized. With --cv,
FlowRegressorCV (30 scales, 5 folds) is compared with ElasticNetCV (7 ratios, 30 penalties) on 100×5,000.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import tacit
from tacit.flows.stopping import stopped_path

SHARE, STOPS = 1e-2, 24
SCALES = (10.0, 1.0, 0.1, 1e-2, 1e-3)
RTOLS = (1e-2, 1e-4)


def sparse(samples: int, features: int) -> tuple[Any, Any]:
    """Gaussian features, five of them relevant, and noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((samples, features))
    return X, X[:, :5].sum(axis=1) + 0.5 * rng.standard_normal(samples)


def table(path: Path) -> tuple[Any, Any]:
    """A table with a header line, standardized."""
    numbers = np.loadtxt(path, delimiter=",", skiprows=1)
    numbers = numbers - numbers.mean(axis=0)
    sizes = numbers.std(axis=0)
    numbers = numbers / np.where(sizes > 0, sizes, 1.0)
    return numbers[:, :-1], numbers[:, -1]


def compare(name: str, X: Any, y: Any, share: float) -> None:
    """Print a line for every scale."""
    shares, prepared = np.geomspace(1, share, STOPS + 1)[1:], tacit.prepare(X)
    for scale in SCALES:
        model = tacit.Diagonal(scale=scale)
        begun = time.perf_counter()
        flow = tacit.flow(model, X, y, at=-np.log(shares * np.mean(y * y) / 2))
        slow = time.perf_counter() - begun
        line = f"{name:>16} {scale:8g} {slow * 1e3:10.0f}"
        for rtol in RTOLS:
            begun = time.perf_counter()
            path = stopped_path(model, prepared, y, shares, rtol=rtol)
            fast = time.perf_counter() - begun
            common = min(len(flow.predictor), int(path.reached.sum()))
            off = path.predictors[:common] - flow.predictor[:common]
            error = (np.linalg.norm(off, axis=1) / np.linalg.norm(flow.predictor[:common], axis=1)).max()
            line += f" {fast * 1e3:9.1f} {slow / fast:7.0f} {error:8.1e} {path.steps:6}"
        print(line, flush=True)


def cross_validation() -> None:
    """Time cross-validation by Tacit and by scikit-learn alternately, each including its final fit."""
    from sklearn.linear_model import ElasticNetCV

    from tacit.estimators import FlowRegressorCV

    X, y = sparse(100, 5000)
    FlowRegressorCV(scales=2, cv=2).fit(X[:10, :20], y[:10])  # imports are not timed
    for _ in range(3):
        mine = timed(FlowRegressorCV(scales=30, cv=5), X, y)
        ratios = [0.1, 0.5, 0.7, 0.9, 0.95, 0.99, 1.0]
        other = timed(ElasticNetCV(l1_ratio=ratios, alphas=30, cv=5), X, y)
        print(
            f"FlowRegressorCV {mine[0]:.2f} s CPU, {mine[1]:.2f} s; ElasticNetCV {other[0]:.2f} s CPU, "
            f"{other[1]:.2f} s; ratios {other[0] / mine[0]:.2f}, {other[1] / mine[1]:.2f}",
            flush=True,
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {peak:.0f} MB")


def timed(estimator: Any, X: Any, y: Any) -> tuple[float, float]:
    """CPU seconds and wall-clock seconds of a fit."""
    busy, clock = time.process_time(), time.perf_counter()
    estimator.fit(X, y)
    return time.process_time() - busy, time.perf_counter() - clock


def main() -> None:
    """Parse the options, measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small problem only")
    parser.add_argument(
        "--table", type=Path, action="append", default=[], metavar="FILE", help="data of yours"
    )
    parser.add_argument(
        "--share", type=float, default=SHARE, help=f"of the loss, at the last stop ({SHARE:g})"
    )
    parser.add_argument("--cv", action="store_true", help="FlowRegressorCV beside ElasticNetCV")
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if options.cv:
            cross_validation()
            return
        heads = "".join(f"   ms {rtol:g}   ratio    error  steps" for rtol in RTOLS)
        print(f"            data    scale    flow ms{heads}")
        sizes = [(40, 500)] if options.quick else [(40, 500), (80, 5000)]
        problems = [(f"{N}x{d}", *sparse(N, d)) for N, d in sizes] if not options.table else []
        for name, X, y in problems + [(path.stem, *table(path)) for path in options.table]:
            compare(name, X, y, options.share)


if __name__ == "__main__":
    main()
