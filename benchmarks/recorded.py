"""Regression test of 200 problems: results recorded before a change of the code, compared after it.

    python benchmarks/recorded.py record before.npz
    python benchmarks/recorded.py compare before.npz

The problems are limits, flows, margins and paths of every model and loss on small data. `compare` prints the
largest relative differences of predictors and fails if they exceed --most. On the same machine, a change that
only moves code leaves them at 0; flows with different steps differ by their tolerance.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

import tacit
from tacit.show.progress import progress

Problem = tuple[str, Callable[[], np.ndarray]]


def regression(seed: int, samples: int = 6, features: int = 15) -> tuple[np.ndarray, np.ndarray]:
    """A regression problem with a sparse solution."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((samples, features)) * 10 ** rng.uniform(-0.5, 0.5, features)
    return X, X[:, :3] @ rng.standard_normal(3)


def classification(seed: int, samples: int = 8, features: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Two linearly separable classes."""
    rng = np.random.default_rng(100 + seed)
    X = rng.standard_normal((samples, features))
    return X, np.where(X[:, 0] + 0.3 * X[:, 1] > 0, 1.0, -1.0)


def models(X: np.ndarray) -> dict[str, tacit.models.model.Model]:
    """Models of every kind for these data."""
    d = X.shape[1]
    rng = np.random.default_rng(d)
    made = {
        f"diagonal {depth} {scale:g}": tacit.Diagonal(depth, scale)
        for depth in (2, 3, 4, 10)
        for scale in (1e-3, 0.3, 10.0)
    }
    made["profile"] = tacit.Diagonal(2, 0.1, profile=np.linspace(0.5, 2, d))
    for shape in (-0.5, 0.0, 0.9):
        made[f"untied {shape:g}"] = tacit.UntiedDiagonal(0.05, shape)
    made["biased"] = tacit.UntiedDiagonal.from_weights(*rng.uniform(0.2, 1, (4, d)))
    for shape in (-0.5, 0.5):
        made[f"neuron {shape:g}"] = tacit.Neuron.from_scale(0.1, shape, rng.standard_normal(d))
    made["gaussian"] = tacit.LinearNetwork.gaussian(d, 20, seed=1)
    made["balanced"] = tacit.LinearNetwork.balanced(0.1 * rng.standard_normal((d, 1)), X, 20)
    made["orthogonal"] = tacit.LinearNetwork.orthogonal(X, 2 * d)
    return made


def _limit(model: object, X: np.ndarray, y: np.ndarray, **options: bool) -> np.ndarray:
    return np.asarray(tacit.limit(model, X, y, **options).predictor)


def _flow(model: object, X: np.ndarray, y: np.ndarray, **options: object) -> np.ndarray:
    return np.asarray(tacit.flow(model, X, y, **options).predictor[-1])


def _margin(X: np.ndarray, y: np.ndarray, norm: object, **options: bool) -> np.ndarray:
    return np.asarray(tacit.max_margin(X, y, norm, **options).predictor)


def _path(X: np.ndarray, y: np.ndarray, depth: float, **options: bool) -> np.ndarray:
    return np.asarray(tacit.margin_path(X, y, np.geomspace(10, 1e-4, 7), depth=depth, **options).predictors)


def _sweep(X: np.ndarray, y: np.ndarray, depth: float) -> np.ndarray:
    return np.asarray(tacit.sweeping_path(X, y, np.geomspace(10, 1e-3, 7), depth=depth).predictors)


def problems() -> Iterator[Problem]:
    """All problems by name."""
    for seed in range(3):
        X, y = regression(seed)
        for name, model in models(X).items():
            yield f"limit {name} {seed}", partial(_limit, model, X, y)
            if seed == 0:
                yield f"flow {name}", partial(_flow, model, X, y)
                yield f"linearized {name}", partial(_flow, model, X, y, linearized=True)
        for units in ("intercept", "standardize"):
            for depth in (2, 3):
                model = tacit.Diagonal(depth, 0.1)
                yield f"limit {units} {depth} {seed}", partial(_limit, model, X, y, **{units: True})
    X, y = classification(0)
    for name, model in models(X).items():
        for loss in ("exp", "logistic"):
            yield f"flow {loss} {name}", partial(_flow, model, X, y, loss=loss, until=30.0)
    for seed in range(4):
        X, y = classification(seed)
        for norm in ("l1", "l2", 1.5, 2 / 3):
            yield f"margin {norm} {seed}", partial(_margin, X, y, norm)
        for depth in (2, 3, 10):
            yield f"path {depth} {seed}", partial(_path, X, y, depth)
            yield f"sweep {depth} {seed}", partial(_sweep, X, y, depth)
        yield f"margin intercept {seed}", partial(_margin, X, y, "l1", intercept=True)
        yield f"path intercept {seed}", partial(_path, X, y, 2, intercept=True)


def answer(solve: Callable[[], np.ndarray]) -> np.ndarray:
    """The result, or NaN if Tacit raises an error."""
    try:
        return solve()
    except tacit.TacitError:
        return np.array([np.nan])


def difference(before: np.ndarray, after: np.ndarray) -> float:
    """The difference relative to the largest entry; infinite if only one of the two failed."""
    if before.shape != after.shape or (np.isfinite(before) != np.isfinite(after)).any():
        return np.inf
    known = np.isfinite(before)
    return float(np.abs(after - before)[known].max(initial=0.0) / np.abs(before[known]).max(initial=1e-300))


def main() -> int:
    """Record the results, or compare them with recorded ones."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("do", choices=["record", "compare"])
    parser.add_argument("file")
    parser.add_argument(
        "--most", type=float, default=1e-13, help="largest difference that is allowed (default: %(default)s)"
    )
    options = parser.parse_args()
    found = {name: answer(solve) for name, solve in progress(list(problems()), "problems")}
    if options.do == "record":
        np.savez_compressed(options.file, **found)
        print(f"{len(found)} problems, {sum(np.isnan(each).any() for each in found.values())} raise errors")
        return 0
    with np.load(options.file) as before:
        differences = {name: difference(before[name], found[name]) for name in before.files}
    worst = sorted(differences.items(), key=lambda item: -item[1])
    for name, size in worst[:10]:
        print(f"{size:8.1e}  {name}")
    above = sum(size > options.most for _, size in worst)
    print(f"{len(worst)} problems, {above} differ by more than {options.most:g}")
    return int(above > 0)


if __name__ == "__main__":
    sys.exit(main())
