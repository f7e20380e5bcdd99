"""Random flows at extreme depths and scales, and the exact flow on a single sample."""

import math
from dataclasses import dataclass

import numpy as np
from mpmath import mp, mpf

_DEPTHS = [2, 2 + 1e-7, 2.001, 2.1, 2.5, 3, 4, 6, 10, 20, 50]
_ENDS = [3.0, 10.0, 30.0, 100.0, 300.0, 1000.0]
_KINDS = ["gaussian", "equal", "near", "one", "ones", "integers", "tall", "wide", "columns"]


@dataclass(frozen=True)
class Case:
    """A flow of Diagonal(depth, scale) on X and y up to an accuracy."""

    depth: float
    scale: float
    until: float
    kind: str
    X: np.ndarray
    y: np.ndarray


def extreme_case(seed):
    """A random case: scales from 1e-60 to 1e9; equal, nearly equal or single rows, ties, many samples."""
    rng = np.random.default_rng([29, seed])
    depth, scale = float(rng.choice(_DEPTHS)), 10.0 ** rng.uniform(-60, 9)
    until, kind = float(rng.choice(_ENDS)), str(rng.choice(_KINDS))
    samples, features = {
        "one": (1, int(rng.integers(2, 26))),
        "tall": (int(rng.integers(5, 13)), int(rng.integers(1, 5))),
        "wide": (int(rng.integers(2, 5)), int(rng.integers(10, 41))),
    }.get(kind, (int(rng.integers(2, 9)), int(rng.integers(2, 26))))
    X = rng.standard_normal((samples, features))
    if kind == "ones":
        X = np.ones((samples, features))
    elif kind == "integers":
        X = rng.integers(-3, 4, X.shape).astype(float)
        X[0, 0] = 1.0
    elif kind == "columns":
        X[:, 1] = X[:, 0]
    elif kind == "near":
        X[1] = X[0] + 1e-9 * rng.standard_normal(features)
    w = rng.standard_normal(features) * (rng.random(features) < 0.4)
    y = X @ w if rng.random() < 0.5 else rng.standard_normal(samples)
    if kind == "equal":
        X[1], y[1] = X[0], y[0]
    if kind == "ones":
        y = np.ones(samples)
    y = (
        2 * y / np.linalg.norm(y) * np.sqrt(samples) if y.any() else np.ones(samples)
    )  # accuracies begin at −log 2
    return Case(depth, scale, until, kind, X, y)


def ray(x, output, depth, log_scale):
    """w = m·h(θx) with x·w = output, and θ, by bisection in multiprecision arithmetic; every flow on one
    sample has this form.

    h(s) = (1 − s)^{−p} − (1 + s)^{−p}, p = D/(D − 2); 2 sinh at depth 2. The number of digits resolves the
    distances of slopes from their ends, which are as small as m^{1/p}.
    """
    power = math.inf if depth == 2 else depth / (depth - 2)
    with mp.workdps(40 + int(abs(float(log_scale)) / power)):
        x, m = [mpf(float(each)) for each in x], mp.exp(mpf(float(log_scale)))
        largest = max(abs(each) for each in x)
        p = None if power == math.inf else mpf(depth) / (mpf(depth) - 2)

        def at(z):
            """θ as a function of z; if θ is bounded, it tends to its bound as z → ∞."""
            theta = z / largest if p is None else -mp.expm1(-z / p) / largest
            if p is None:
                return theta, [2 * m * mp.sinh(theta * each) for each in x]
            return theta, [m * ((1 - theta * each) ** -p - (1 + theta * each) ** -p) for each in x]

        low, high = mpf(0), 40 + 2 * abs(mpf(float(log_scale)))
        for _ in range(80):  # 1e-20 of the range
            middle = (low + high) / 2
            reached = mp.fdot(x, at(middle)[1])
            low, high = (low, middle) if reached > abs(output) else (middle, high)
        theta, w = at(high)
        return float(np.sign(output) * theta), np.sign(output) * np.array([float(each) for each in w])
