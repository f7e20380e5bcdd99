"""Stopped flows for cross-validation: `stopped_path` at modest tolerances beside `tacit.flow`, in one run.

python benchmarks/stopping.py [--quick] [--table DATA.csv] [--cv]

Every flow gives the predictors at 24 stops, down to a share of the loss at the start. `ratio`: time of
tacit.flow (rtol 1e-8) over that of stopped_path. `error`: the largest relative distance of predictors between
the two. With --table, the last column of a CSV file is the target; columns are standardized. With --cv, all
flows of 30 scales in 5 folds beside scikit-learn's ElasticNetCV of 7 ratios and 30 penalties, on 100×5,000.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import tacit
from tacit.flows.stopping import stopped_path, stopped_paths

SHARE, STOPS = 1e-2, 24
SCALES = (10.0, 1.0, 0.1, 1e-2, 1e-3)
RTOLS = (1e-2, 1e-4)


def sparse(samples: int, features: int) -> tuple[Any, Any]:
    """Gaussian features, five that count, and noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((samples, features))
    return X, X[:, :5].sum(axis=1) + 0.5 * rng.standard_normal(samples)


def table(path: Path) -> tuple[Any, Any]:
    """A table with a line of names, standardized."""
    numbers = np.loadtxt(path, delimiter=",", skiprows=1)
    numbers = numbers - numbers.mean(axis=0)
    sizes = numbers.std(axis=0)
    numbers = numbers / np.where(sizes > 0, sizes, 1.0)
    return numbers[:, :-1], numbers[:, -1]


def compare(name: str, X: Any, y: Any, share: float) -> None:
    """A line for every scale."""
    shares, gram = np.geomspace(1, share, STOPS + 1)[1:], X @ X.T
    for scale in SCALES:
        model = tacit.Diagonal(scale=scale)
        begun = time.perf_counter()
        flow = tacit.flow(model, X, y, at=-np.log(shares * np.mean(y * y) / 2))
        slow = time.perf_counter() - begun
        line = f"{name:>16} {scale:8g} {slow * 1e3:10.0f}"
        for rtol in RTOLS:
            begun = time.perf_counter()
            path = stopped_path(model, X, y, shares, rtol=rtol, gram=gram)
            fast = time.perf_counter() - begun
            common = min(len(flow.predictor), int(path.reached.sum()))
            off = path.predictors[:common] - flow.predictor[:common]
            error = (np.linalg.norm(off, axis=1) / np.linalg.norm(flow.predictor[:common], axis=1)).max()
            line += f" {fast * 1e3:9.1f} {slow / fast:7.0f} {error:8.1e} {path.steps:6}"
        print(line, flush=True)


def cross_validation() -> None:
    """All flows that a cross-validation runs, beside what one of scikit-learn takes as a whole."""
    from sklearn.linear_model import ElasticNetCV

    X, y = sparse(100, 5000)
    shares = np.geomspace(1, SHARE, STOPS + 1)[1:]
    models = [tacit.Diagonal(scale=scale) for scale in np.geomspace(1, 1e-3, 30)]
    begun = time.perf_counter()
    for fold in range(5):
        kept = np.arange(100) % 5 != fold
        Z, z = X[kept] - X[kept].mean(axis=0), y[kept] - y[kept].mean()
        for _ in stopped_paths(models, Z, z, shares, rtol=1e-2):
            pass
    mine = time.perf_counter() - begun
    begun = time.perf_counter()
    ElasticNetCV(l1_ratio=[0.1, 0.5, 0.7, 0.9, 0.95, 0.99, 1.0], alphas=30, cv=5).fit(X, y)
    other = time.perf_counter() - begun
    print(f"150 flows: {mine:.2f} s; ElasticNetCV: {other:.2f} s; ratio {other / mine:.2f}")


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small problem only")
    parser.add_argument(
        "--table", type=Path, action="append", default=[], metavar="FILE", help="data of yours"
    )
    parser.add_argument(
        "--share", type=float, default=SHARE, help=f"of the loss, at the last stop ({SHARE:g})"
    )
    parser.add_argument(
        "--cv", action="store_true", help="the flows of a cross-validation, beside ElasticNetCV"
    )
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
