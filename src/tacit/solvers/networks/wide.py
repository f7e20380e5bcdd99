r"""Bound the distance of a linear network's limit from the minimum-norm solution.

Let Φ₁ be an orthonormal basis of the row space of X, Φ₂ one of its complement, and U = Φ₁U₁ + Φ₂U₂. Gradient
flow on the square loss of X U Vᵀ conserves U₂ and Λ = U₁ᵀU₁ − VᵀV (Min et al. 2021, Section 2), and the rows
of U₁ and V stay in their common initial span. At a minimum of the loss Φ₁U₁Vᵀ = Θ̂, the minimum-norm
solution, so that Θ = U Vᵀ differs from it by Θ − Θ̂ = Φ₂U₂Vᵀ (equation 14). Then

    (VVᵀ)² + VΛVᵀ = (U₁Vᵀ)ᵀ(U₁Vᵀ) = Θ̂ᵀΘ̂

bounds V, and hence U₂Vᵀ.
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

_REACH = 7.0  # range of log μ that is searched on either side of the initial guess
_XTOL = 1e-3  # accuracy of log μ; any μ gives a valid bound
_DEPENDENT = 1e-8  # relative singular value below which normalized rows count as dependent


def distance_bound(inner: Float, outer: Float, X: Float, Y: Float) -> float:
    r"""A bound on ‖Θ(∞) − Θ̂‖₂, the largest singular value, from the weights at the start alone.

        ‖Θ(∞) − Θ̂‖₂² ≤ μ‖Θ̂‖₂² + [λ_max(G − μL)]₊²/4μ     for every μ > 0,

    where L = QᵀΛQ and G = QᵀU₂ᵀU₂Q, with Q an orthonormal basis of the rows of [U₁; V]. Proof: let w = QᵀVᵀx
    at the limit, for a unit vector x. Then ‖w‖⁴ + wᵀLw ≤ xᵀ(VVᵀ)²x + xᵀVΛVᵀx = ‖Θ̂x‖², hence

        ‖U₂Vᵀx‖² = wᵀGw ≤ wᵀGw + μ(‖Θ̂‖₂² − ‖w‖⁴ − wᵀLw) ≤ μ‖Θ̂‖₂² + λ_max(G − μL)‖w‖² − μ‖w‖⁴.

    The minimum over μ is returned. It is at most ‖U₂Q‖₂·√s with s = (−λ + √(λ² + 4‖Θ̂‖₂²))/2 and λ = λ_min(L),
    the bound that follows from ‖V(∞)‖₂² ≤ s. It is attained at width 1, and is 0 under the conditions of Min
    et al. 2021, Proposition 1. For wide Gaussian networks it decreases as h^{−1/2} and is 1.1 to 2 times the
    distance.

    The loss must reach its minimum, which a positive level of imbalance guarantees (Theorem 1).

    The bound includes round-off: any row of [U₁; V] may grow, and so may the round-off in one that lies in
    the span of the others (see `_Span`).

    inner: U, (D, h). outer: V, (m, h). X: (N, D), not zero. Y: (N,) or (N, m).
    """
    left, sizes, basis = visible(X)
    if basis.shape[0] == basis.shape[1]:
        return 0.0  # the samples span all features
    size = float(np.linalg.norm(left.T @ Y.reshape(len(Y), -1) / sizes[:, None], 2))
    unit = max(float(np.abs(inner).max()), float(np.abs(outer).max()), math.sqrt(size))
    if unit == 0:
        return 0.0
    inner, outer, size = inner / unit, outer / unit, size / unit / unit  # so that no square overflows
    U1 = basis.T @ inner
    Z = np.vstack([U1, outer])
    if not Z.any():
        return 0.0  # U₁ = 0 and V = 0 do not change
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
    mixed = lost * (2 * float(np.linalg.norm(Z, 2)) + lost)  # bound on the difference of Λ and QLQᵀ
    least = min(float(levels[0]), 0.0) - mixed if span.cut else float(levels[0])
    largest = outer_square(-least, size)
    within = _least_bound(narrow.T @ narrow, L, math.hypot(size, math.sqrt(mixed * largest)))
    total = math.sqrt(within) + span.outside * rest * math.sqrt(largest)
    return min(total, float(np.linalg.norm(U2, 2)) * math.sqrt(largest))


def _least_bound(G: Float, L: Float, size: float) -> float:
    """The minimum over μ of μ·size² + [λ_max(G − μL)]₊²/4μ, which is convex in μ."""
    last = [len(G) - 1] * 2
    largest, least = float(eigvalsh(G, subset_by_index=last)[0]), float(np.linalg.eigvalsh(L)[0])
    guess = math.hypot(least, 2 * size)
    if not (largest > 0 and guess > 0):
        return 0.0
    log_guess = math.log(largest) - math.log(guess)  # the optimal μ if G is a multiple of the identity

    def bound(log_factor: float) -> float:
        mu = math.exp(log_guess + log_factor)
        A = G - mu * L
        rounding = 4 * len(A) * EPS * float(np.linalg.norm(A))
        top = max(float(eigvalsh(A, subset_by_index=last)[0]) + rounding, 0.0)
        return mu * size**2 + top * (top / (4 * mu))

    found = minimize_scalar(bound, bounds=(-_REACH, _REACH), method="bounded", options={"xatol": _XTOL})
    return min(float(found.fun), bound(0.0))


@dataclass(frozen=True)
class _Span:
    r"""Orthonormal columns Q (`basis`) that span the rows of Z, and a bound on the part of V(∞) outside Q.

    cut: whether directions were dropped in which the rows of Z are nearly dependent. Then Z ≠ ZQQᵀ, and any
    part of V(∞) may lie outside Q: outside = 1. Otherwise `outside` is the round-off of Q times the condition
    number of the normalized rows.
    """

    basis: Float
    cut: bool
    outside: float


def _row_span(Z: Float) -> _Span:
    """The span of the rows, which may have very different norms."""
    if Z.shape[1] <= len(Z):
        return _Span(np.eye(Z.shape[1]), False, 0.0)
    sizes = np.abs(Z).max(axis=1)
    live = Z[sizes > 0] / sizes[sizes > 0, None]
    live /= np.linalg.norm(live, axis=1)[:, None]
    _, values, rows = np.linalg.svd(live, full_matrices=False)
    kept = values > _DEPENDENT * values[0]
    cut = not kept.all()
    return _Span(rows[kept].T, cut, 1.0 if cut else 4 * EPS * float(values[0] / values[-1]))
