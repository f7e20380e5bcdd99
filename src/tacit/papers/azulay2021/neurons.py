"""Where single neurons end in the kernel regime, and how far from there: Azulay et al. 2021, Section 7.2."""

from __future__ import annotations

from typing import Any

import numpy as np

import tacit
from tacit.data.arrays import Float
from tacit.papers.azulay2021.training import Regression
from tacit.potentials import Quadratic


def kernel_metric(shape: float, orientation: Float) -> Float:
    """B = I − (1−s)²/(2(1+s²))·uuᵀ (equation 27)."""
    pressed = (1 - shape) ** 2 / (2 * (1 + shape**2))
    return np.asarray(np.eye(len(orientation)) - pressed * np.outer(orientation, orientation))


def kernel_end(model: Any, problem: Regression) -> Float:
    """argmin (w−w̃(0))ᵀB(w−w̃(0)) subject to X w = y, with B of equation 27."""
    start = model.predictor()
    metric = kernel_metric(model.shape, start / np.linalg.norm(start))
    change = tacit.limit(Quadratic(metric), problem.X, problem.y - problem.X @ start)
    return np.asarray(start + change.predictor)


def to_ends(model: Any, problem: Regression, predictor: Float) -> tuple[float, float]:
    """To the solution of least norm, in its length; to the kernel end, in the length of the way from w̃(0)."""
    way = np.linalg.norm(predictor - model.predictor())
    to_kernel = np.linalg.norm(predictor - kernel_end(model, problem)) / way
    return float(np.linalg.norm(predictor - problem.smallest)), float(to_kernel)


def far_from_kernel(shape: float, seen: float) -> float:
    """The distance to the kernel end that is left as α → ∞, where the data see a share `seen` of u.

    With ρ = ‖w∥‖²/a² at the start, w̃ ends at a√(1−ρ)·w⊥ and the kernel end is a/(1+ρ)·w⊥, to leading order.
    """
    rho = ((1 - shape) / (1 + shape) * seen) ** 2
    end, hidden = np.sqrt(1 - rho), np.sqrt(1 - seen**2)
    return float(hidden * abs(end - 1 / (1 + rho)) / np.hypot(seen, hidden * (1 - end)))
