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
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigvalsh
from scipy.optimize import minimize_scalar

from tacit.data.arrays import Float
from tacit.numerics.roots import outer_square
from tacit.numerics.rounding import EPS
from tacit.numerics.subspaces import visible

_REACH = 7.0  # how far log μ is searched on either side of the first guess
_TOLD_APART = 1e-8  # rows of length 1 that are independent by less are taken for dependent


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

    Rounding is part of the bound: a row of [U₁; V] of any size may grow, and so may what rounding has made of
    one that lies in the span of the others. See `_Span`.

    inner: U, (D, h). outer: V, (m, h). X: (N, D), not zero. Y: (N,) or (N, m).
    """
    left, sizes, basis = visible(X)
    if basis.shape[0] == basis.shape[1]:
        return 0.0  # the data see every direction
    size = float(np.linalg.norm(left.T @ Y.reshape(len(Y), -1) / sizes[:, None], 2))
    unit = max(float(np.abs(inner).max()), float(np.abs(outer).max()), math.sqrt(size))
    if unit == 0:
        return 0.0
    inner, outer, size = inner / unit, outer / unit, size / unit / unit  # squares stay in the range of floats
    U1 = basis.T @ inner
    Z = np.vstack([U1, outer])
    if not Z.any():
        return 0.0  # U₁ = 0 and V = 0, and they stay so
    U2 = inner - basis @ U1
    return unit * (unit * _bound(U2, Z, len(U1), size))


def _bound(U2: Float, Z: Float, seen: int, size: float) -> float:
    """The bound for rows Z = [U₁; V], the first `seen` of which are U₁; size: ‖Θ̂‖₂."""
    span = _row_span(Z)
    narrow, rest = U2 @ span.basis, float(np.linalg.norm(U2 - (U2 @ span.basis) @ span.basis.T, 2))
    rows = Z @ span.basis
    L = rows[:seen].T @ rows[:seen] - rows[seen:].T @ rows[seen:]
    levels = np.linalg.eigvalsh(L)
    lost = float(np.linalg.norm(Z - rows @ span.basis.T, 2)) if span.cut else 0.0
    mixed = lost * (2 * float(np.linalg.norm(Z, 2)) + lost)  # how far Λ is from L, at the most
    least = min(float(levels[0]), 0.0) - mixed if span.cut else float(levels[0])
    largest = outer_square(-least, size)
    within = _least_bound(narrow.T @ narrow, L, math.hypot(size, math.sqrt(mixed * largest)))
    total = math.sqrt(within) + span.doubt * rest * math.sqrt(largest)
    return min(total, float(np.linalg.norm(U2, 2)) * math.sqrt(largest))


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
        A = G - mu * L
        rounding = 4 * len(A) * EPS * float(np.linalg.norm(A))
        top = max(float(eigvalsh(A, subset_by_index=last)[0]) + rounding, 0.0)
        return mu * size**2 + top * (top / (4 * mu))

    found = minimize_scalar(bound, bounds=(-_REACH, _REACH), method="bounded", options={"xatol": 1e-3})
    return min(float(found.fun), bound(0.0))


@dataclass(frozen=True)
class _Span:
    r"""Orthonormal columns Q that span rows Z, and what a part of V(∞) outside of them can amount to.

    cut: have directions been left out in which rows of Z are hardly independent? Then Z − ZQQᵀ is not 0, and
    how much of V(∞) lies outside of Q is not known: doubt = 1 of its length may. Where nothing is left out it
    is the rounding of Q, times the condition number of the rows, each taken at length 1.
    """

    basis: Float
    cut: bool
    doubt: float


def _row_span(Z: Float) -> _Span:
    """The span of the rows, of whatever size each of them is."""
    if Z.shape[1] <= len(Z):
        return _Span(np.eye(Z.shape[1]), False, 0.0)
    sizes = np.abs(Z).max(axis=1)
    live = Z[sizes > 0] / sizes[sizes > 0, None]
    live /= np.linalg.norm(live, axis=1)[:, None]
    _, values, rows = np.linalg.svd(live, full_matrices=False)
    kept = values > _TOLD_APART * values[0]
    cut = not kept.all()
    return _Span(rows[kept].T, cut, 1.0 if cut else 4 * EPS * float(values[0] / values[-1]))
