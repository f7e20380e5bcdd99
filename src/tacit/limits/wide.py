r"""How far from the minimum-norm solution a linear network of one hidden layer can end.

With Φ₁ an orthonormal basis of the row space of X and Φ₂ of its complement, U = Φ₁U₁ + Φ₂U₂. Gradient flow on
the square loss of X U Vᵀ moves neither U₂ nor Λ = U₁ᵀU₁ − VᵀV (Min et al. 2021, Section 2). Nor do the rows
of U₁ and V leave the span that they start in together. Where the loss reaches its minimum, Φ₁U₁Vᵀ = Θ̂, the
minimum-norm solution, and what is left of Θ = U Vᵀ is Θ − Θ̂ = Φ₂U₂Vᵀ (equation 14). Then

    (VVᵀ)² + VΛVᵀ = (U₁Vᵀ)ᵀ(U₁Vᵀ) = Θ̂ᵀΘ̂,

so that V cannot be large, and neither can U₂Vᵀ.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import eigvalsh
from scipy.optimize import minimize_scalar

from tacit.data import Float
from tacit.limits.imbalance import visible

_EPS = float(np.finfo(np.float64).eps)
_REACH = 7.0  # how far log μ is searched on either side of the first guess


def distance_bound(inner: Float, outer: Float, X: Float, Y: Float) -> float:
    r"""A bound on ‖Θ(∞) − Θ̂‖₂, the largest singular value, from the weights at the start alone.

        ‖Θ(∞) − Θ̂‖₂² ≤ μ‖Θ̂‖₂² + [λ_max(G − μL)]₊²/4μ     for every μ > 0,

    where L = QᵀΛQ and G = QᵀU₂ᵀU₂Q, Q an orthonormal basis of the rows of [U₁; V]. Proof: let w = QᵀVᵀx at
    the end, for x of length 1. Then ‖w‖⁴ + wᵀLw ≤ xᵀ(VVᵀ)²x + xᵀVΛVᵀx = ‖Θ̂x‖², hence

        ‖U₂Vᵀx‖² = wᵀGw ≤ wᵀGw + μ(‖Θ̂‖₂² − ‖w‖⁴ − wᵀLw) ≤ μ‖Θ̂‖₂² + λ_max(G − μL)‖w‖² − μ‖w‖⁴.

    The least over μ is returned. It is no more than ‖U₂Q‖₂·√s, s = (−λ + √(λ² + 4‖Θ̂‖₂²))/2, λ = λ_min(L),
    which is what ‖V(∞)‖₂² ≤ s gives. It is met at a width of 1, and is 0 under the conditions of Min et al.
    2021, Proposition 1. For wide Gaussian networks it falls as h^{−1/2} and is 1.1 to 2 times the distance.

    The loss must reach its minimum, which a positive level of imbalance grants (Theorem 1).

    inner: U, (D, h). outer: V, (m, h). X: (N, D), not zero. Y: (N,) or (N, m).
    """
    left, sizes, basis = visible(X)
    if basis.shape[0] == basis.shape[1]:
        return 0.0  # the data see every direction
    size = float(np.linalg.norm(left.T @ Y.reshape(len(Y), -1) / sizes[:, None], 2))
    span = _row_span(np.vstack([basis.T @ inner, outer]))
    if span.shape[1] == 0:
        return 0.0  # V = 0, and it stays so
    narrow, V = inner @ span, outer @ span
    U1 = basis.T @ narrow
    U2 = narrow - basis @ U1
    return math.sqrt(_least_bound(U2.T @ U2, U1.T @ U1 - V.T @ V, size))


def _least_bound(G: Float, L: Float, size: float) -> float:
    """The least over μ of μ·size² + [λ_max(G − μL)]₊²/4μ, which is convex in μ; any μ near it will do."""
    last = [len(G) - 1] * 2
    largest, least = float(eigvalsh(G, subset_by_index=last)[0]), float(np.linalg.eigvalsh(L)[0])
    guess = math.hypot(least, 2 * size)
    if not (largest > 0 and guess > 0):
        return 0.0
    log_guess = math.log(largest) - math.log(guess)  # the best μ where G is a multiple of the identity

    def bound(log_factor: float) -> float:
        mu = math.exp(log_guess + log_factor)
        top = max(float(eigvalsh(G - mu * L, subset_by_index=last)[0]), 0.0)
        return mu * size**2 + top * (top / (4 * mu))

    found = minimize_scalar(bound, bounds=(-_REACH, _REACH), method="bounded", options={"xatol": 1e-3})
    return min(float(found.fun), bound(0.0))


def _row_span(Z: Float) -> Float:
    """Orthonormal columns Q with Z = ZQQᵀ, as few as rounding allows."""
    _, sizes, rows = np.linalg.svd(Z, full_matrices=False)
    return rows[sizes > max(Z.shape) * _EPS * sizes.max()].T
