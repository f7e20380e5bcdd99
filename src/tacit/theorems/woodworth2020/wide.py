r"""Starts of factorizations of any width, as narrow as they can be: the flow knows W Wᵀ only, W = [U; V].

W Wᵀ of D rows and k columns from N(0, 1) has a Wishart law, and so has T Tᵀ for a lower triangular T with
T_ii² from χ²(k − i), i = 0, 1, …, and N(0, 1) below (Bartlett's decomposition): D columns stand for any k.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tacit
from tacit.data.arrays import Float


def wide(
    shape: tuple[int, ...], width: float, level: float, seed: int | np.random.Generator = 0
) -> tacit.Factorization:
    """A factorization whose weights are from N(0, level/width), with d₁ + d₂ columns at the most.

    level: α²k, the mean of the diagonal of W Wᵀ. width: k, infinite for W Wᵀ = level·I itself. One seed gives
    the same weights up to the level.
    """
    rows, size = sum(shape), math.sqrt(level)
    rng = np.random.default_rng(seed)
    W = size * np.eye(rows) if math.isinf(width) else size * gaussian_factor(rows, int(width), rng)
    return tacit.Factorization(W[: shape[0]], W[shape[0] :])


def gaussian_factor(rows: int, width: int, rng: np.random.Generator) -> Float:
    """W with W Wᵀ as that of rows×width weights from N(0, 1/width)."""
    if width < rows:
        return rng.standard_normal((rows, width)) / math.sqrt(width)
    below = np.tril(rng.standard_normal((rows, rows)), -1)
    return np.asarray(below + np.diag(np.sqrt(rng.chisquare(width - np.arange(rows))))) / math.sqrt(width)


def ended(
    model: Any, X: Float, y: Float, residual: float = 1e-8, rtol: float = 1e-8
) -> tuple[Float, bool, str]:
    """The predictor at the end of the flow, whether it fits the data, and where it stopped.

    residual: ‖f(X) − y‖ at which it has ended, relative to that at the start or ‖y‖, whichever is more.
    """
    start = np.asarray(model.predictor())
    outputs = X.reshape(len(X), -1) @ start.ravel()
    size, missing = float(np.linalg.norm(y)), float(np.linalg.norm(outputs - y))
    if missing <= residual * size:
        return start, True, "at its start"
    until = -2 * math.log(residual * max(size, missing))
    flow = tacit.flow(model, X, y, loss=tacit.losses.Square("sum"), at=[until], rtol=rtol)
    return np.asarray(flow.predictor[-1]), bool(flow.converged), flow.reason
