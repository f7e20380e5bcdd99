r"""The limit of the flow of a neuron (Azulay et al. 2021, Theorems 2 and 4, and extensions).

A neuron f = a·σ(ω·x) conserves δ = a² − ‖ω‖², and ω changes only within the span of the samples. The final
predictor is w̃ = p + a·ω⊥, where p is the minimum-norm solution, ω⊥ the part of ω orthogonal to the samples,
and a⁴ − (δ + ‖ω⊥‖²)·a² − ‖p‖² = 0. This is a closed form once the final sign s of a is known, also for leaky
neurons, whose flow stops only if the data are fitted or a = 0. It is the minimizer of q_δ(w̃) −
(3/2)s·ω(0)·w̃: the divergence from w̃(0) if a keeps its sign, from −w̃(0) otherwise. So a neuron whose output
weight changes sign has the same limit as the neuron with −a(0) in place of a(0).

**The sign.** If a = 0 the predictor is 0, which happens at one level of the loss only: the sign changes at
most once, and never below that level. It does not change if δ > 0, nor if a² exceeds the squared norm of the
part of ω in the span of the samples, since their difference is conserved. From a = 0 the flow leaves in the
direction a' ∝ σ(Xω)·y and stays on that side. In all other cases only the sign is determined by integrating
the flow. Near the saddle a = 0 = σ(Xω)·y, where flows with both signs separate, the limit is not
known.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.errors import NoPotentialError
from tacit.models import Neuron
from tacit.numerics.subspaces import visible
from tacit.potentials.arrays import quiet
from tacit.solvers.interpolation.solution import Follow

_BALANCED = 1e-12  # shape, or relative difference of losses, that is round-off
_SMALL = 1e-9  # smallest unit, relative to the weights; in smaller ones their round-off would matter
_HUGE = 1e60  # largest ratio of initial and final weights whose fourth power is a finite float
_SEEN = 1e-8  # relative error of the part of the weights in the span of the samples
_PERTURBATION = 1e-6  # change of a(0) that must not change the sign: a hundred times the error of the flows
_NEGLIGIBLE = 1e-17  # output weight, relative to ‖ω‖, whose square does not change δ
_BELOW_SADDLE = 1e-3  # relative accuracy beyond that of the predictor 0, at which the sign is read off


def neuron_targets(model: Neuron, y: Float) -> Float:
    """Targets of the linear predictor: X w̃ = σ⁻¹(y) for a > 0 and −σ⁻¹(−y) for a < 0."""
    steep = y < 0 if model.output > 0 else y > 0
    return np.where(steep, y / model.slope, y)


def with_final_sign(model: Any, X: Float, y: Float, follow: Follow) -> Any:
    """The model whose divergence the flow minimizes: this one, or the neuron with −a(0) if a changes sign.

    Raises `NoPotentialError` if the final sign is not known.
    """
    neuron = model.as_neuron()
    if neuron is None:
        return model
    sign = final_sign(neuron, X, y, follow)
    if sign * neuron.output > 0 or sign == 0:
        return model
    size = abs(neuron.output) or _NEGLIGIBLE * math.hypot(*neuron.weights)
    return replace(neuron, output=math.copysign(size, sign))


def final_sign(model: Neuron, X: Float, y: Float, follow: Follow) -> int:
    """The sign of the output weight at the limit; 0 if it stays 0."""
    if model.shape > _BALANCED or not y.any() or not X.any():
        return int(np.sign(model.output))
    if model.output == 0:
        return _sign_from_zero(model, X, y)
    if _below_saddle(model, X, y) or _bounded_away(model, X):
        return int(np.sign(model.output))
    return _sign_by_flow(model, X, y, follow)


@quiet
def _sign_from_zero(model: Neuron, X: Float, y: Float) -> int:
    """The sign of a' ∝ σ(Xω)·y at a = 0. The loss falls immediately, and a does not return to 0."""
    inner = X @ (model.weights / np.abs(model.weights).max())
    terms = np.maximum(inner, model.slope * inner) * (y / np.abs(y).max())
    if not abs(terms.sum()) > _BALANCED * np.abs(terms).sum():
        raise NoPotentialError(
            "this neuron starts at a saddle and stays there: its output weight is 0, and the outputs of its "
            "inner layer are orthogonal to the targets; use another initialization"
        )
    return int(np.sign(terms.sum()))


@quiet
def _below_saddle(model: Neuron, X: Float, y: Float) -> bool:
    """Whether the loss is clearly below that of the predictor 0: ‖f − y‖² − ‖y‖² = f·(f − 2y) < 0."""
    outputs = np.asarray(model.parametrization.outputs(model.start(X.shape[1]), X))
    apart = outputs - 2 * y
    terms = outputs / (np.abs(outputs).max() or 1.0) * (apart / (np.abs(apart).max() or 1.0))
    return bool(terms.sum() < -_BALANCED * np.abs(terms).sum())


def _bounded_away(model: Neuron, X: Float) -> bool:
    """Whether a² − ‖ω∥‖² > 0, with ω∥ the part of ω in the span of the samples.

    Since δ and ω⊥ are conserved, so is this difference, and a² stays above it.
    """
    unit = max(abs(model.output), float(np.abs(model.weights).max()))
    seen = float(np.linalg.norm(visible(X)[2].T @ (model.weights / unit)))
    return abs(model.output) / unit - seen > _SEEN


def _sign_by_flow(model: Neuron, X: Float, y: Float, follow: Follow) -> int:
    """The final sign of flows from slightly below and slightly above a(0), which must agree."""
    start, X, y = _rescaled(model, X, y)
    change = _PERTURBATION * max(abs(start.output), float(np.abs(start.weights).max()))
    starts = (replace(start, output=start.output + h) for h in (-change, change))
    below, above = (_sign_below_saddle(each, X, y, follow) for each in starts)
    if below != above:
        raise NoPotentialError(
            "the flow of this neuron comes so close to the saddle at the predictor 0 that round-off decides "
            "the sign of its output weight; use another initialization"
        )
    return below


def _sign_below_saddle(start: Neuron, X: Float, y: Float, follow: Follow) -> int:
    """The sign of a once the loss is below that of the predictor 0."""
    if _below_saddle(start, X, y):
        return int(np.sign(start.output))
    level = -math.log(float(y @ y) / (2 * len(y)))
    run = follow(*_with_probe_feature(start, X), y, at=[level + _BELOW_SADDLE * max(1.0, abs(level))])
    if not run.converged:
        raise NoPotentialError(
            "the loss of this neuron does not fall below that of the predictor 0, where there is a saddle "
            f"({run.reason}); use another initialization"
        )
    return int(np.sign(run.predictor[-1, -1]))  # a, up to a positive factor


def _rescaled(model: Neuron, X: Float, y: Float) -> tuple[Neuron, Float, Float]:
    """The same flow in the units that `units` returns."""
    size = max(abs(model.output), float(np.abs(model.weights).max()))
    unit, xi, target = units(size, X, y)
    return Neuron(model.output / unit, model.weights / unit, model.slope), X / xi, y / xi / target / target


def units(size: float, X: Float, y: Float) -> tuple[float, float, float]:
    """Units √σ, ξ and √σ such that weights/√σ, X/ξ and y/(ξσ) have the same flow.

    The rescaled targets are at most 1; they are smaller for large weights. size: the largest weight. The unit
    of weights is smaller for weights that would be below 1e-9: there the flow is linear in them, to 1e-18.
    """
    xi, target = float(np.abs(X).max()), float(np.abs(y).max())
    root = math.sqrt(target) / math.sqrt(xi)
    if size > _HUGE * root:
        raise NoPotentialError(
            "the limit can only be determined by running the flow, which would overflow: the initial weights "
            f"are of size {size:.2g}, those that fit the data of size {root:.2g}; use smaller initial weights"
        )
    unit = root if root >= size else math.sqrt(size) * math.sqrt(root)
    return min(unit, size / _SMALL), xi, unit


def _with_probe_feature(model: Neuron, X: Float) -> tuple[Neuron, Float]:
    """The same flow with one more feature that is always 0: its weight is constant, its predictor gives a."""
    weight = abs(model.output) + float(np.abs(model.weights).max())
    probe = Neuron(model.output, np.append(model.weights, weight), model.slope)
    return probe, np.column_stack([X, np.zeros(len(X))])
