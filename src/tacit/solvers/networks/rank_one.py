r"""How far from the end of a neuron a network can end that is one only up to rounding.

Let V = v qᵀ and U = u qᵀ + E, with E q = 0. The rows Z = [U₁; V] move as Z(t) = Φ(t)Z(0), where Φ is of the
Lorentz group O(r, 1), since Z' = AZ with A = [0 g; gᵀ 0] keeps U₁ᵀU₁ − VᵀV. Hence (u₁, v) ends at Φ(u₁, v),
and what V(∞) has outside of q is z = Φ_{vu}E₁, of length at most ‖E₁‖·sinh η, cosh η = Φ_{vv}. The ends tell
how large η is for δ₁ = v² − ‖u₁‖² > 0: hyperbolic distances obey the triangle inequality, so η ≤ η₀ + η_∞
with cosh η_t = |v(t)|/√δ₁, which gives

    ‖z‖ ≤ ‖E₁‖·(‖u₁(0)‖|v(∞)| + |v(0)|‖u₁(∞)‖)/δ₁.

For δ₁ ≤ 0 they do not: directions that (u₁, v) has no part in may grow without bound, and only a flow tells.
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

_ROUNDED = 16 * EPS  # of the sizes of weights: what products of a few of them are rounded by
_ENLARGED = 1e-12  # relative change of the weights, thousands of times their rounding, after which
_SAME = 1e-6  # a flow must end at the same predictor, to this relative difference


def checked_rank_one(
    X: Float, y: Float, w: Float, model: LinearNetwork, neuron: Neuron, tol: float, follow: Follow
) -> float:
    """A bound on how far from the neuron's limit w the network ends; 0 where that is rounding of the limit.

    `NoPotentialError` where it may be more than the tolerance, relative to the limit.
    """
    if _one_unit(model) or not X.any():
        return 0.0
    size = float(length(np, w))
    bound = drift_bound(model, neuron, X, y, w)
    rounding = _ROUNDED * max(size, neuron.scale)
    if bound <= max(tol * size, rounding):
        return bound if bound > rounding else 0.0
    if not _same_after_a_change(X, y, w, model, follow):
        raise NoPotentialError(
            "the hidden layer of this linear network has rank one only up to rounding, and on these data "
            "what rounding has left may grow until the predictor is another one; tacit.Neuron(v, u) is the "
            "network with U = u qᵀ and V = v qᵀ exactly, and tacit.flow tells where this one ends"
        )
    return 0.0


def _one_unit(model: LinearNetwork) -> bool:
    """Is there one hidden unit only? Of several the weights are hardly ever multiples but for rounding."""
    return int(np.count_nonzero(np.vstack([model.inner, model.outer]).any(axis=0))) == 1


def drift_bound(model: LinearNetwork, neuron: Neuron, X: Float, y: Float, w: Float) -> float:
    """A bound on ‖Θ(∞) − w‖, w the limit of the neuron: ‖u₂‖·|v(∞) − v_n| + ‖E₂‖·‖z‖.

    With s = ‖V(∞)‖² = v² + ‖z‖² the identity (VVᵀ)² + VΛVᵀ = ‖Θ̂‖² (see `wide`) is s² − δ₁s = ‖Θ̂‖² − κ,
    κ = δ₁‖z‖² + 2v·u₁ᵀE₁z + ‖E₁z‖², and that of the neuron s_n² − δ₁s_n = ‖Θ̂‖², so |s − s_n| ≤ |κ|/s_n. Or,
    where the data see nearly all of U, from both being close to the solution of least norm.
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
    top = outer_square(delta + seen * e1, p)  # ‖V(∞)‖² at the most, since λ_min(Λ) ≥ −δ₁ − ‖u₁ᵀE₁‖
    z = e1 * (seen * math.sqrt(top) + v * math.sqrt(max(top - delta, 0.0))) / delta
    kappa = delta * z * z + 2 * math.sqrt(top) * seen * e1 * z + e1 * z * e1 * z
    change = (kappa / square + z * z) / math.sqrt(square)
    return unit * (unit * min(unseen * change + e2 * z, from_least))


def _same_after_a_change(X: Float, y: Float, w: Float, model: LinearNetwork, follow: Follow) -> bool:
    """Does the flow end at this limit if its weights change by 1e-12 of themselves, each on its own?"""
    signs = np.random.default_rng(0).choice([-_ENLARGED, _ENLARGED], model.inner.shape)
    run = follow(replace(model, inner=model.inner * (1 + signs)), X, y)
    end: Any = run.predictor[-1].ravel()
    return float(length(np, end - w)) <= _SAME * float(length(np, w))
