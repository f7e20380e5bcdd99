"""Random tables with tied columns, and their limits in multiprecision, with the floats taken as exact.

Columns are duplicated, proportional, equal up to rounding after a change of units, binary or counts. Means
and standard deviations are those of the exact numbers. Nothing here uses Tacit's solvers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb, ctx
from mpmath import mp, mpf
from near_duplicates import independent_rows
from oracles import exact_limit

KINDS = ("decimal", "binary", "counts", "whole", "normal")
COPIES = ("duplicate", "proportional", "units", "opposite", "shifted", "last bit")
_FACTORS = (2.0, 3.0, 12.0, 1000.0, 0.5, 0.25)
_UNITS = (0.3048, 2.54, 1.8, 1e3, 0.01, 1 / 3)
_EXACT = 400  # digits for exact sums and differences of the data


@dataclass(frozen=True)
class Tied:
    """X and y, the options of the limit, and the model."""

    X: np.ndarray
    y: np.ndarray
    depth: float
    scale: float
    intercept: bool
    standardize: bool

    @property
    def options(self) -> dict[str, bool]:
        return {"intercept": self.intercept, "standardize": self.standardize}

    @cached_property
    def exact(self) -> np.ndarray:
        """The limit for the features as they are given, an array of mpf: Q is of s·w, with X w (+ b) = y."""
        with mp.workdps(_EXACT):
            scale = [mp.sqrt(mpf(v.numerator) / v.denominator) for v in _variances(self.X)]
            s = np.array([v if v else mpf(1) for v in scale], object) if self.standardize else 1
            log_scale = self.depth * mp.log(mpf(self.scale)) - np.array(
                [mp.log(each) for each in np.broadcast_to(s, self.X.shape[1])], object
            )
        X, y = self.X, self.y
        if self.intercept:  # differences of samples do not contain b
            X, y = _exact(X[1:]) - _exact(X[:1]), _exact(y[1:]) - _exact(y[0])
        rows = independent_rows(X, y)
        if not any(v != 0 for v in y[rows]):
            return np.full(self.X.shape[1], mpf(0))
        with ctx.workdps(_EXACT):
            X, y = (np.frompyfunc(_ball, 1, 1)(each[rows]) for each in (X, y))
        return exact_limit(X, y, depth=self.depth, log_scale=log_scale, weight=s)


def _ball(value: Fraction | float) -> arb:
    value = Fraction(value)
    return arb(value.numerator) / arb(value.denominator)


def _exact(values: np.ndarray) -> np.ndarray:
    return np.frompyfunc(Fraction, 1, 1)(values)


def _variances(X: np.ndarray) -> list[Fraction]:
    exact = _exact(X)
    apart = exact - exact.sum(axis=0) / len(X)
    return list((apart * apart).sum(axis=0) / Fraction(len(X)))


def tied(index: int, seed: int = 0) -> Tied:
    """The problem of this number; every one has a solution."""
    rng = np.random.default_rng([seed, index])
    while True:
        samples = int(rng.integers(1, 7))
        X = _columns(rng, samples, int(rng.integers(2, 6)), _kind(rng))
        X = X[:, rng.permutation(X.shape[1])]
        y = _targets(rng, X)
        depth = float(rng.choice([2, 3, 4, 5, 6, 8, 10, round(rng.uniform(2.1, 10), 1)]))
        scale = (
            float(f"{10 ** -rng.uniform(2, 8):.2g}") if rng.random() < 0.7 else 10.0 ** -rng.integers(2, 9)
        )
        found = Tied(X, y, depth, float(scale), bool(rng.integers(2)), bool(rng.integers(2)))
        if _solvable(found):
            return found


def _kind(rng: np.random.Generator) -> str:
    return str(rng.choice(KINDS))


def _column(rng: np.random.Generator, samples: int, kind: str) -> np.ndarray:
    draw = {
        "decimal": lambda: np.round(rng.standard_normal(samples), 2),
        "binary": lambda: rng.integers(0, 2, samples),
        "counts": lambda: rng.poisson(1.5, samples),
        "whole": lambda: rng.integers(-9, 10, samples),
        "normal": lambda: rng.standard_normal(samples),
    }[kind]
    return draw().astype(float)


def _columns(rng: np.random.Generator, samples: int, count: int, kind: str) -> np.ndarray:
    columns = [_column(rng, samples, kind) for _ in range(samples + count)]
    for _ in range(int(rng.integers(1, 5))):
        column, copy = columns[int(rng.integers(len(columns)))], rng.choice(COPIES)
        columns.append(
            {
                "duplicate": lambda c: c.copy(),
                "proportional": lambda c: c * rng.choice(_FACTORS),
                "units": lambda c: c * rng.choice(_UNITS),
                "opposite": lambda c: -c * rng.choice(_FACTORS),
                "shifted": lambda c: 32 + 1.8 * c,
                "last bit": lambda c: np.where(c == 0, c, np.nextafter(c, rng.choice([-1e9, 1e9], samples))),
            }[str(copy)](column)
        )
    return np.column_stack(columns)


def _targets(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    if rng.random() < 0.5:
        return rng.integers(-30, 31, len(X)).astype(float)
    if rng.random() < 0.5:
        return np.round(rng.standard_normal(len(X)), 2)
    return X[:, rng.permutation(X.shape[1])[:2]].sum(axis=1)


def _solvable(task: Tied) -> bool:
    values = np.column_stack([task.X, task.y])
    if any(0 < variance < 1e-20 for variance in _variances(values)):  # round-off of a constant column
        return False
    X, y = _exact(task.X), _exact(task.y)
    X, y = (X[1:] - X[:1], y[1:] - y[0]) if task.intercept else (X, y)
    if not len(y):
        return False
    try:
        independent_rows(X, y)
    except ArithmeticError:
        return False
    return _solvable_in_floats(X.astype(float), y.astype(float))


def _solvable_in_floats(X: np.ndarray, y: np.ndarray) -> bool:
    """Not if samples differ in their last bits and have other targets: Tacit calls these inconsistent."""
    return bool(np.linalg.norm(X @ np.linalg.lstsq(X, y)[0] - y) <= 1e-6 * np.linalg.norm(y))
