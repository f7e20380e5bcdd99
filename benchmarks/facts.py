"""Numbers of the pages that are not times: errors, steps and counts, which any machine reproduces."""

from __future__ import annotations

import math
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import limit
import numpy as np

import tacit

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "support"))

DEPTHS, EXPONENTS = (2, 3, 4, 10), (4, 0, -2, -6, -12, -20)
NEARLY_EQUAL = 2000  # problems of near_duplicates.py
PATHS, LEVELS = 300, np.geomspace(1e3, 1e-12, 16)
SAMPLES, FEATURES = (3, 10, 30, 100), (3, 30, 300, 1000)


def errors() -> list[float]:
    """Errors relative to 60-digit arithmetic, over depths and scales, on the smaller problem of limit.py."""
    from oracles import exact_limit

    X, y = limit.gaussian_problem(*limit.SIZES[0])
    found = []
    for depth in DEPTHS:
        for exponent in EXPONENTS:
            log_scale = exponent * math.log(10)
            exact = exact_limit(X, y, depth=depth, log_scale=log_scale).astype(float)
            model = tacit.Diagonal(depth=depth, log_scale=log_scale / depth)
            off = tacit.limit(model, X, y).predictor - exact
            found.append(float(np.linalg.norm(off) / np.linalg.norm(exact)))
    return found


def steps() -> dict[str, int]:
    """Largest numbers of Newton steps on the larger problem of limit.py, at the largest and at all scales."""
    cells = limit.sweep(*limit.gaussian_problem(*limit.SIZES[-1]), runs=1)
    kernel = [cell["steps"] for cell in cells if cell["exponent"] == max(limit.EXPONENTS)]
    return {"kernel": max(kernel), "any": max(cell["steps"] for cell in cells)}


def near() -> dict[str, Any]:
    """The counts of near_duplicates.py over all problems with a reference."""
    campaign = SimpleNamespace(
        **runpy.run_path(str(HERE / "near_duplicates.py"))
    )  # the tests have a module of the same name
    tasks = [campaign.problem(index, 0) for index in range(NEARLY_EQUAL)]
    known = [(task, campaign.reference(task)) for task in tasks]
    return campaign.digest([campaign.attempt(task, exact) for task, exact in known if "failure" not in exact])


def margins() -> dict[str, Any]:
    """The number of points of maximum-margin paths on Gaussian data, and the largest residual."""
    rng, residuals = np.random.default_rng(0), []
    for index in range(PATHS):
        X = rng.standard_normal((rng.choice(SAMPLES), rng.choice(FEATURES)))
        y = np.sign(X @ rng.standard_normal(X.shape[1]))
        if abs(y.sum()) == len(y):  # the same margins with two classes
            X[0], y[0] = -X[0], -y[0]
        path = tacit.margin_path(X, y, LEVELS, depth=(2, 3, 10)[index % 3])
        residuals += path.kkt.tolist()
    return {"points": len(residuals), "residual": max(residuals)}
