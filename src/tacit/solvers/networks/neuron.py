r"""Where the flow of a neuron ends (Azulay et al. 2021, Theorems 2 and 4, and beyond them).

A neuron f = a·σ(ω·x) keeps δ = a² − ‖ω‖² and moves ω only within the span of the samples. At the end its
predictor is w̃ = p + a·ω⊥, with p the solution of least norm, ω⊥ the part of ω that the samples do not see,
and a⁴ − (δ + ‖ω⊥‖²)·a² − ‖p‖² = 0: known in closed form once the sign of a there is (of leaky neurons too:
they stop only where the data are fitted, or at a = 0). With that sign s, it is the minimizer of
q_δ(w̃) − (3/2)s·ω(0)·w̃: of the divergence from w̃(0) where a keeps its sign, and from −w̃(0) where it does
not. So a neuron whose output weight changes sign ends where the one with −a(0) in place of a(0) does.

**Which sign.** a = 0 makes the predictor 0, so it happens at one level of the loss only: the sign changes at
most once, and never below that level. It is kept for δ > 0, and also where a² is larger than the part of ‖ω‖²
that the samples see, since the difference of these is conserved. A start at a = 0 leaves in the direction of
a' ∝ σ(Xω)·y, and stays on that side. Of all others the flow itself must tell, and only this; near the saddle
a = 0 = σ(Xω)·y, where flows of both signs part, the limit is not known.
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
from tacit.solvers.flow_callback import Follow

_BALANCED = 1e-12  # a shape this small, and a loss this close to another, may be rounding
_SMALL = 1e-9  # a unit this much below the start would make its rounding count
_HUGE = 1e60  # ratio of start and data whose fourth power still is a float
_SEEN = 1e-8  # how well the part of the weights that X sees is known
_AWAY = 1e-6  # change of a(0) that must not matter, a hundred times the accuracy of the flows that tell
_NOTHING = 1e-17  # of ‖ω‖: an output weight whose square is no part of δ


def neuron_targets(model: Neuron, y: Float) -> Float:
    """Targets of the linear predictor: X w̃ = σ⁻¹(y) for a > 0 and −σ⁻¹(−y) for a < 0."""
    steep = y < 0 if model.output > 0 else y > 0
    return np.where(steep, y / model.slope, y)


def as_it_ends(model: Any, X: Float, y: Float, follow: Follow) -> Any:
    """The start whose potential the flow minimizes: the model, or the neuron with −a(0) if a changes sign.

    `NoPotentialError` where it is not known with which sign a neuron, or the network that is one, ends.
    """
    neuron = model.as_neuron()
    if neuron is None:
        return model
    sign = final_sign(neuron, X, y, follow)
    if sign * neuron.output > 0 or sign == 0:
        return model
    size = abs(neuron.output) or _NOTHING * math.hypot(*neuron.weights)
    return replace(neuron, output=math.copysign(size, sign))


def final_sign(model: Neuron, X: Float, y: Float, follow: Follow) -> int:
    """Of the output weight at the end; 0 if it stays at 0."""
    if model.shape > _BALANCED or not y.any() or not X.any():
        return int(np.sign(model.output))
    if model.output == 0:
        return _leaves(model, X, y)
    if _below_zero(model, X, y) or _kept_away(model, X):
        return int(np.sign(model.output))
    return _followed(model, X, y, follow)


@quiet
def _leaves(model: Neuron, X: Float, y: Float) -> int:
    """The sign of a' ∝ σ(Xω)·y at a = 0. The loss falls at once, and a does not come back to 0."""
    inner = X @ (model.weights / np.abs(model.weights).max())
    terms = np.maximum(inner, model.slope * inner) * (y / np.abs(y).max())
    if not abs(terms.sum()) > _BALANCED * np.abs(terms).sum():
        raise NoPotentialError(
            "this neuron starts at a saddle and stays there: its output weight is 0, and the outputs of its "
            "inner layer are orthogonal to the targets; start from other weights"
        )
    return int(np.sign(terms.sum()))


@quiet
def _below_zero(model: Neuron, X: Float, y: Float) -> bool:
    """Is the loss below that of the predictor 0, ‖f − y‖² − ‖y‖² = f·(f − 2y) < 0, by more than rounding?"""
    outputs = np.asarray(model.parametrization.outputs(model.start(X.shape[1]), X))
    apart = outputs - 2 * y
    terms = outputs / (np.abs(outputs).max() or 1.0) * (apart / (np.abs(apart).max() or 1.0))
    return bool(terms.sum() < -_BALANCED * np.abs(terms).sum())


def _kept_away(model: Neuron, X: Float) -> bool:
    """Is a² − ‖ω∥‖² > 0, ω∥ the part of ω that X sees? It is constant, as δ and ω⊥ are, and a² is no less."""
    unit = max(abs(model.output), float(np.abs(model.weights).max()))
    seen = float(np.linalg.norm(visible(X)[2].T @ (model.weights / unit)))
    return abs(model.output) / unit - seen > _SEEN


def _followed(model: Neuron, X: Float, y: Float, follow: Follow) -> int:
    """Run the flow from a little below and above a(0) until its loss is below that of the predictor 0."""
    start, X, y = _in_range(model, X, y)
    aside = _AWAY * max(abs(start.output), float(np.abs(start.weights).max()))
    either = (replace(start, output=start.output + h) for h in (-aside, aside))
    below, above = (_sign_below_zero(each, X, y, follow) for each in either)
    if below != above:
        raise NoPotentialError(
            "the flow of this neuron comes so close to the saddle at the predictor 0 that rounding decides "
            "whether it leaves with a positive or a negative output weight; start from other weights"
        )
    return below


def _sign_below_zero(start: Neuron, X: Float, y: Float, follow: Follow) -> int:
    """The sign of a once the loss is below that of the predictor 0."""
    if _below_zero(start, X, y):
        return int(np.sign(start.output))
    level = -math.log(float(y @ y) / (2 * len(y)))
    run = follow(*_with_a_witness(start, X), y, at=[level + 1e-3 * max(1.0, abs(level))])
    if not run.converged:
        raise NoPotentialError(
            "the flow of this neuron does not come below the loss of the predictor 0, where it has a saddle "
            f"({run.reason}); start from other weights"
        )
    return int(np.sign(run.predictor[-1, -1]))  # a, in some unit


def _in_range(model: Neuron, X: Float, y: Float) -> tuple[Neuron, Float, Float]:
    """The same flow in the units of `units`."""
    size = max(abs(model.output), float(np.abs(model.weights).max()))
    unit, xi, target = units(size, X, y)
    return Neuron(model.output / unit, model.weights / unit, model.slope), X / xi, y / xi / target / target


def units(size: float, X: Float, y: Float) -> tuple[float, float, float]:
    """√σ, ξ and √σ: weights/√σ, X/ξ and y/(ξσ) make the same flow. Targets are 1, or less for a large start.

    size: the largest weight. The first √σ is smaller for starts that would be smaller than 1e-9: up to there
    the flow is linear in its start, to 1e-18.
    """
    xi, target = float(np.abs(X).max()), float(np.abs(y).max())
    root = math.sqrt(target) / math.sqrt(xi)
    if size > _HUGE * root:
        raise NoPotentialError(
            "only its flow could tell where this start ends, and in floats it cannot: its weights are of "
            f"size {size:.2g}, and those that fit the data of size {root:.2g}; start from smaller ones"
        )
    unit = root if root >= size else math.sqrt(size) * math.sqrt(root)
    return min(unit, size / _SMALL), xi, unit


def _with_a_witness(model: Neuron, X: Float) -> tuple[Neuron, Float]:
    """The same flow with one more feature, 0 in every sample: its weight stays, its predictor tells a."""
    weight = abs(model.output) + float(np.abs(model.weights).max())
    witness = Neuron(model.output, np.append(model.weights, weight), model.slope)
    return witness, np.column_stack([X, np.zeros(len(X))])
