r"""Maximum-margin paths: Tacit compared with alternatives.

    argmin Q_μ(w)  subject to  y_n x_n·w ≥ 1,      Q of a depth-2 diagonal network, at many μ

on Gaussian data, labelled by a random direction. Every method solves the same problems in the same run. The
error of a predictor is the residual of its optimality conditions with the best multipliers (`tacit.certify`),
which does not depend on the method.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tacit

Float = NDArray[np.float64]
SIZES = ((3, 3), (20, 10), (30, 100), (100, 1000))
LEVELS = np.geomspace(10, 1e-6, 24)


def by_tacit(X: Float, y: Float, mu: Float) -> Float:
    """tacit.margin_path with default settings."""
    return tacit.margin_path(X, y, mu).predictors


def by_cones(X: Float, y: Float, mu: Float) -> Float:
    """cvxpy with Clarabel at 1e-12, one program for each μ, in the units of limit.py."""
    import cvxpy as cp

    found = []
    tolerances = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-12)
    for level in mu:
        log_m = float(np.log(level))
        w, plus, minus = (cp.Variable(X.shape[1]) for _ in range(3))
        objective = -cp.sum(cp.entr(plus) + cp.entr(minus)) - (1 + log_m) * cp.sum(plus + minus)
        rows = y[:, None] * X
        program = cp.Problem(
            cp.Minimize(objective / max(abs(10 * log_m), 1.0)), [w == plus - minus, rows @ w >= 1]
        )
        with suppress(cp.SolverError), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "may be inaccurate"; the residual measures this
            program.solve(solver=cp.CLARABEL, **tolerances)
        found.append(np.full(X.shape[1], np.nan) if w.value is None else w.value)
    return np.array(found)


def by_slsqp(X: Float, y: Float, mu: Float) -> Float:
    """SciPy's SLSQP with exact gradients, started at the solution for the previous μ."""
    from scipy.optimize import minimize

    rows, found = y[:, None] * X, []
    w = np.linalg.lstsq(rows, np.ones(len(y)), rcond=None)[0]
    for level in mu:
        potential = tacit.potentials.Hypentropy(float(np.log(level)))
        answer = minimize(
            lambda v, q=potential: (float(q.value(v)), q.gradient(v)),
            w,
            jac=True,
            constraints={"type": "ineq", "fun": lambda v: rows @ v - 1, "jac": lambda v: rows},
            method="SLSQP",
            options={"ftol": 1e-16, "maxiter": 1000},
        )
        w = answer.x
        found.append(w)
    return np.array(found)


METHODS: dict[str, Callable[[Float, Float, Float], Float]] = {
    "Tacit": by_tacit,
    "cvxpy + Clarabel": by_cones,
    "SLSQP": by_slsqp,
}


def problem(samples: int, features: int, seed: int = 0) -> tuple[Float, Float]:
    """Gaussian features, labelled by a random direction with a positive margin."""
    rng = np.random.default_rng(seed)
    X, truth = rng.standard_normal((samples, features)), rng.standard_normal(features)
    y = np.sign(X @ truth)
    return X + 0.05 * y[:, None] * truth, y


def error(X: Float, y: Float, mu: Float, predictors: Float) -> float:
    """The largest KKT residual on the path."""
    worst = 0.0
    for level, w in zip(mu, predictors, strict=True):
        if not np.isfinite(w).all():
            return float("nan")
        found = tacit.certify(
            tacit.potentials.Hypentropy(float(np.log(level))), X, y, w, problem="margin", tol=1e-5
        )
        worst = max(worst, found.stationarity, found.feasibility, found.complementarity)
    return worst


def main() -> None:
    """Print the table, and write it as JSON on request."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="the small problems only")
    parser.add_argument("--json", metavar="FILE", help="write all numbers")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    print(f"{'problem':>10}  {'method':<18}{'ms a point':>11}{'x Tacit':>9}{'residual':>10}")
    for samples, features in SIZES[:3] if options.quick else SIZES:
        X, y = problem(samples, features)
        tacit.margin_path(X, y, 1.0)  # imports are not timed
        base = None
        for name, method in METHODS.items():
            begun = time.perf_counter()
            try:
                predictors = method(X, y, LEVELS)
            except ImportError as missing:
                print(f"{samples:>5}x{features:<5} {name:<18} not installed ({missing.name})")
                continue
            seconds = (time.perf_counter() - begun) / len(LEVELS)
            base = base or seconds
            row = {"samples": samples, "features": features, "method": name, "seconds": seconds}
            row |= {"ratio": seconds / base, "residual": error(X, y, LEVELS, predictors)}
            rows.append(row)
            print(
                f"{samples:>5}x{features:<5} {name:<18}{1000 * seconds:>10.2f} {row['ratio']:>8.1f}"
                f"{row['residual']:>10.0e}",
                flush=True,
            )
    if options.json:
        with open(options.json, "x", encoding="utf-8") as file:
            json.dump(rows, file, indent=2)


if __name__ == "__main__":
    main()
