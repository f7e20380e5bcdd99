"""Proposition 1 of Min et al. 2021, and a bound on the distance to the minimum-norm solution.

Errata
------
### Equation 11: which norm
The minimum-norm solution is that of the Frobenius norm; of the spectral norm there may be others.
`test_equation_11_needs_the_frobenius_norm`
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tacit.numerics.rounding import EPS
from tacit.papers import Assumption, Bound, Parts, theorem
from tacit.papers.min2021.network import RTOL, Split, ended, linear_network, product_rounding, split
from tacit.solvers.networks.bounds import distance_bound

_ORTHOGONAL = 1e-12  # relative products of weights below this are round-off


@theorem("min2021/proposition1", flows=2, shell="--model linear --width 500 --start orthogonal")
def proposition1(model: Any, X: Any, y: Any) -> Parts:
    """V(0)U₂(0)ᵀ = 0, U₁(0)U₂(0)ᵀ = 0 and L(∞) = L* imply U(∞)V(∞)ᵀ = Θ̂, the minimum-norm solution.

    Proposition 1; a stopped flow differs from Θ̂ by Σ_x^{−1/2}E only.
    """
    yield linear_network(model)
    parts = split(model, X, y)
    residual, sizes = float(np.linalg.norm(parts.orthogonality)), _layer_sizes(parts)
    text = f"‖[V; U₁]U₂ᵀ‖ = {residual:.3g} is round-off relative to ‖[V; U₁]‖·‖U₂‖ = {sizes:.3g}"
    yield Assumption(text, residual <= _ORTHOGONAL * sizes)
    end, settled = ended(model, parts)
    yield Assumption("the flow reaches the least loss", settled)
    missing = parts.targets - parts.inputs @ end
    least = parts.solution
    yield Bound(
        "‖UVᵀ − Θ̂‖₂ at the end of the flow",
        float(np.linalg.norm(end - least, 2)),
        at_most=float(np.linalg.norm(missing / parts.sizes[:, None]) + RTOL * np.linalg.norm(least))
        + product_rounding(model),
    )


@theorem("min2021/distance", flows=2, about=("Section 3.1",))
def distance(model: Any, X: Any, y: Any) -> Parts:
    """L(∞) = L* implies ‖U(∞)V(∞)ᵀ − Θ̂‖₂² ≤ μ‖Θ̂‖₂² + [λ_max(Qᵀ(U₂ᵀU₂ − μΛ)Q)]₊²/4μ for every μ > 0, Q an
    orthonormal basis of the rows of U₁(0) and V(0).

    Not in the paper: the distance that Theorem 2 bounds, from Λ alone, for any start and any width.

    The least bound over μ and its proof are those of `tacit.solvers.networks.bounds.distance_bound`. It holds
    at every time with the minimum-norm solution for the outputs at that time; here at the end.
    """
    yield linear_network(model)
    parts = split(model, X, y)
    end, settled = ended(model, parts)
    yield Assumption("the flow reaches the least loss", settled)
    rounding = RTOL * float(np.linalg.norm(parts.solution, 2)) + product_rounding(model)
    bound = distance_bound(model.inner, model.outer, parts.inputs, parts.inputs @ end)
    bound = math.hypot(bound, float(np.linalg.norm(parts.unseen, 2)) * _imbalance_rounding(parts))
    apart = end - parts.basis @ (parts.basis.T @ end)  # Φ₂U₂Vᵀ
    text = "‖UVᵀ − Θ̂‖₂ at the end of the flow"
    yield Bound(text, float(np.linalg.norm(apart, 2)), at_most=max(bound, rounding))


def _layer_sizes(parts: Split) -> float:
    """‖[V; U₁]‖·‖U₂‖, with U₂ replaced by the size of the layers if it is round-off."""
    stacked = math.hypot(float(np.linalg.norm(parts.outer)), float(np.linalg.norm(parts.seen)))
    return stacked * max(float(np.linalg.norm(parts.unseen)), stacked)


def _imbalance_rounding(parts: Split) -> float:
    """A bound on the change of ‖V‖ at the end due to round-off of the initial weights, which changes Λ."""
    return math.sqrt(10 * EPS * float(np.linalg.norm(parts.seen) ** 2 + np.linalg.norm(parts.outer) ** 2))
