r"""The imbalance of a linear network, and bounds on its limit's distance from a known solution.

**From the minimum-norm solution.** Let Φ₁ be an orthonormal basis of the row space of X, Φ₂ one of its
complement, and U = Φ₁U₁ + Φ₂U₂. Gradient flow on the square loss of X U Vᵀ conserves U₂ and Λ = U₁ᵀU₁ − VᵀV
(Min et al. 2021, Section 2), and the rows of U₁ and V stay in their common initial span. At a minimum of the
loss Φ₁U₁Vᵀ = Θ̂, the minimum-norm solution, so that Θ = U Vᵀ differs from it by Θ − Θ̂ = Φ₂U₂Vᵀ (equation
14). Then

    (VVᵀ)² + VΛVᵀ = (U₁Vᵀ)ᵀ(U₁Vᵀ) = Θ̂ᵀΘ̂

bounds V, and hence U₂Vᵀ. Theorem 1 of Min et al. 2021 bounds the rate at which the loss decreases by the
eigenvalues of the imbalance Λ.

**From the limit of a neuron** that the network equals up to round-off. Let V = v qᵀ and U = u qᵀ + E with
E q = 0. The rows Z = [U₁; V] move as Z(t) = Φ(t)Z(0) with Φ in the Lorentz group O(r, 1), since Z' = AZ with
A = [0 g; gᵀ 0] conserves U₁ᵀU₁ − VᵀV. Hence (u₁, v) ends at Φ(u₁, v), and the part of V(∞) orthogonal to q is
z = Φ_{vu}E₁, of norm at most ‖E₁‖·sinh η with cosh η = Φ_{vv}. If δ₁ = v² − ‖u₁‖² > 0, the initial and final
values bound η: by the triangle inequality for hyperbolic distances, η ≤ η₀ + η_∞ with cosh η_t = |v(t)|/√δ₁,
and therefore

    ‖z‖ ≤ ‖E₁‖·(‖u₁(0)‖|v(∞)| + |v(0)|‖u₁(∞)‖)/δ₁.

If δ₁ ≤ 0 there is no such bound: directions in which (u₁, v) has no component may grow arbitrarily, and the
flow must be run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh
from scipy.optimize import minimize_scalar

from tacit.data.arrays import Float
from tacit.errors import NoPotentialError
from tacit.models import LinearNetwork, Neuron
from tacit.numerics.roots import outer_square
from tacit.numerics.rounding import EPS
from tacit.numerics.subspaces import visible
from tacit.potentials.radial import length
from tacit.solvers.interpolation.solution import Follow

_REACH = 7.0  # range of log μ that is searched on either side of the initial guess
_XTOL = 1e-3  # accuracy of log μ; any μ gives a valid bound
_DEPENDENT = 1e-8  # relative singular value below which normalized rows count as dependent
_ROUNDED = 16 * EPS  # relative round-off of products of a few weights
# If a relative change of the weights by _PERTURBATION (thousands of times their round-off) moves the limit of
# the flow by less than _SAME, relatively, round-off does not grow.
_PERTURBATION, _SAME = 1e-12, 1e-6


def imbalance_spectrum(inner: Float, outer: Float, X: Float) -> tuple[Float, int, float]:
    r"""Eigenvalues of Λ on the span of the rows of U₁ and V, decreasing; the rank of X; their round-off.

    Λ is h×h; the other h − r − m eigenvalues of a wide network are 0. With [U₁; V]ᵀ = QR it is
    Λ = Q(R₁R₁ᵀ − R₂R₂ᵀ)Qᵀ, so the cost hardly depends on the width: the matrices have the size r + m.
    """
    basis = visible(X)[2]
    rank = basis.shape[1]
    R = np.asarray(np.linalg.qr(np.vstack([basis.T @ inner, outer]).T, mode="r"))
    seen, last = R[:, :rank], R[:, rank:]
    eigenvalues = np.linalg.eigvalsh(seen @ seen.T - last @ last.T)[::-1]
    return eigenvalues, rank, 10 * len(R) * EPS * float(np.linalg.norm(R, 2)) ** 2


def imbalance_level(inner: Float, outer: Float, X: Float) -> float:
    """c = [λ_r(Λ)]₊ + [λ_m(−Λ)]₊ of Theorem 1.

    Eigenvalues that do not exist (h < r or h < m) or are below round-off count as 0.
    """
    eigenvalues, rank, rounding = imbalance_spectrum(inner, outer, X)
    wanted = [(eigenvalues, rank), (-eigenvalues[::-1], len(outer))]
    found = [float(values[count - 1]) for values, count in wanted if count <= len(values)]
    return sum(value for value in found if value > rounding)


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


def checked_rank_one(
    X: Float, y: Float, w: Float, model: LinearNetwork, neuron: Neuron, tol: float, follow: Follow
) -> float:
    """A bound on the distance of the network's limit from the neuron's limit w; 0 if it is round-off.

    Raises `NoPotentialError` if the distance, relative to w, may exceed the tolerance.
    """
    units = np.count_nonzero(np.vstack([model.inner, model.outer]).any(axis=0))
    if units == 1 or not X.any():  # a single hidden unit is a neuron exactly
        return 0.0
    size = float(length(np, w))
    bound = drift_bound(model, neuron, X, y, w)
    rounding = _ROUNDED * max(size, neuron.scale)
    if bound <= max(tol * size, rounding):
        return bound if bound > rounding else 0.0
    if not _stable(X, y, w, model, follow):
        raise NoPotentialError(
            "the hidden layer of this linear network has rank one only up to round-off, which on these data "
            "may grow until it changes the predictor; use tacit.Neuron(v, u) for the network with exactly U "
            "= u qᵀ and V = v qᵀ, or tacit.flow for this one"
        )
    return 0.0


def drift_bound(model: LinearNetwork, neuron: Neuron, X: Float, y: Float, w: Float) -> float:
    """A bound on ‖Θ(∞) − w‖, where w is the limit of the neuron: ‖u₂‖·|v(∞) − v_n| + ‖E₂‖·‖z‖.

    With s = ‖V(∞)‖² = v² + ‖z‖², the identity (VVᵀ)² + VΛVᵀ = ‖Θ̂‖² (see above) reads s² − δ₁s = ‖Θ̂‖² − κ
    with κ = δ₁‖z‖² + 2v·u₁ᵀE₁z + ‖E₁z‖². For the neuron it is s_n² − δ₁s_n = ‖Θ̂‖², so |s − s_n| ≤ |κ|/s_n.
    If the part of U orthogonal to the samples is small, both being close to the minimum-norm solution gives
    another bound; the smaller one is returned.
    """
    basis = visible(X)[2]
    p = float(length(np, basis.T @ w))
    unit = max(float(np.abs(model.inner).max()), abs(neuron.output), math.sqrt(p))
    u, v, p = neuron.weights / unit, abs(neuron.output) / unit, p / unit / unit
    off = model.inner / unit - np.outer(u, model.outer[0] / abs(neuron.output))
    u1, E1 = basis.T @ u, basis.T @ off
    u2, E2 = u - basis @ u1, off - basis @ E1
    rounding = 4 * EPS * float(np.linalg.norm(u))
    e1, e2 = (float(np.linalg.norm(E, 2)) + rounding for E in (E1, E2))
    seen, unseen = float(np.linalg.norm(u1)), float(np.linalg.norm(u2))
    delta = (v - seen) * (v + seen)
    square = outer_square(delta, p)  # v_n²
    from_least = distance_bound(model.inner, model.outer, X, y) / unit / unit + unseen * math.sqrt(square)
    if delta <= 0:
        return unit * (unit * from_least)
    top = outer_square(delta + seen * e1, p)  # upper bound of ‖V(∞)‖², since λ_min(Λ) ≥ −δ₁ − ‖u₁ᵀE₁‖
    z = e1 * (seen * math.sqrt(top) + v * math.sqrt(max(top - delta, 0.0))) / delta
    kappa = delta * z * z + 2 * math.sqrt(top) * seen * e1 * z + e1 * z * e1 * z
    change = (kappa / square + z * z) / math.sqrt(square)
    return unit * (unit * min(unseen * change + e2 * z, from_least))


def _stable(X: Float, y: Float, w: Float, model: LinearNetwork, follow: Follow) -> bool:
    """Whether the flow still ends at w after random relative changes of its inner weights by 1e-12."""
    changes = np.random.default_rng(0).choice([-_PERTURBATION, _PERTURBATION], model.inner.shape)
    run = follow(replace(model, inner=model.inner * (1 + changes)), X, y)
    end: Any = run.predictor[-1].ravel()
    return float(length(np, end - w)) <= _SAME * float(length(np, w))
