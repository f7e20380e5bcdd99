r"""Bound the distance between the limits of a neuron and of a network that equals it up to round-off.

Let V = v qᵀ and U = u qᵀ + E with E q = 0. The rows Z = [U₁; V] move as Z(t) = Φ(t)Z(0) with Φ in the Lorentz
group O(r, 1), since Z' = AZ with A = [0 g; gᵀ 0] conserves U₁ᵀU₁ − VᵀV. Hence (u₁, v) ends at Φ(u₁, v), and
the part of V(∞) orthogonal to q is z = Φ_{vu}E₁, of norm at most ‖E₁‖·sinh η with cosh η = Φ_{vv}. If δ₁ = v²
− ‖u₁‖² > 0, the initial and final values bound η: by the triangle inequality for hyperbolic distances, η ≤ η₀
+ η_∞ with cosh η_t = |v(t)|/√δ₁, and therefore

    ‖z‖ ≤ ‖E₁‖·(‖u₁(0)‖|v(∞)| + |v(0)|‖u₁(∞)‖)/δ₁.

If δ₁ ≤ 0 there is no such bound: directions in which (u₁, v) has no component may grow arbitrarily, and the
flow must be run.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.errors import NoPotentialError
from tacit.models import LinearNetwork, Neuron
from tacit.numerics.roots import outer_square
from tacit.numerics.rounding import EPS
from tacit.numerics.subspaces import visible
from tacit.potentials.radial import length
from tacit.solvers.flow_callback import Follow
from tacit.solvers.networks.wide import distance_bound

_ROUNDED = 16 * EPS  # relative round-off of products of a few weights
# If a relative change of the weights by _PERTURBATION (thousands of times their round-off) moves the limit of
# the flow by less than _SAME, relatively, round-off does not grow.
_PERTURBATION, _SAME = 1e-12, 1e-6


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

    With s = ‖V(∞)‖² = v² + ‖z‖², the identity (VVᵀ)² + VΛVᵀ = ‖Θ̂‖² (see `wide`) reads s² − δ₁s = ‖Θ̂‖² − κ
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
