r"""Where the flow of a neuron ends (Azulay et al. 2021, Theorems 2 and 4).

A neuron f = a·σ(ω·x) keeps δ = a² − ‖ω‖² and moves ω only within the span of the samples, so that its end is
known in closed form once the sign of a there is. It is the sign at the start for δ > 0, and also where a² is
larger than the part of ‖ω‖² that the samples see. Otherwise a passes through 0 only together with the
predictor, at the loss of the predictor 0: a flow that starts below that loss keeps its sign, and of others
the flow itself must tell.
"""

from __future__ import annotations

import math

import numpy as np

from tacit.data import Float
from tacit.errors import NoPotentialError
from tacit.limits.imbalance import visible
from tacit.models import Neuron
from tacit.potentials.arrays import quiet

_BALANCED = 1e-12  # a shape this small, and a loss this close to another, may be rounding
_SMALL = 1e-9
_HUGE = 1e60
_CLOSE = 2e-8  # about the root of the rounding of 1
_SEEN = 1e-8  # how well the part of the weights that X sees is known


def neuron_targets(model: Neuron, y: Float) -> Float:
    """Targets of the linear predictor: X w̃ = σ⁻¹(y) for a > 0 and −σ⁻¹(−y) for a < 0."""
    steep = y < 0 if model.output > 0 else y > 0
    return np.where(steep, y / model.slope, y)


def check_sign(model: Neuron, X: Float, y: Float) -> None:
    """Return if the output weight keeps its sign on these data; `NoPotentialError` says why not."""
    if model.output == 0:
        raise NoPotentialError(
            "the output weight starts at 0: so does the predictor, which does not tell in which direction it "
            "leaves, and no potential does (Theorem 2 of Azulay et al. 2021 asks for a start that is not 0); "
            "give it a small positive or negative value"
        )
    if model.shape > _BALANCED or not y.any() or not X.any():
        return
    if not (_below_zero(model, X, y) or _kept_away(model, X)):
        _follow(model, X, y)


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


def _follow(model: Neuron, X: Float, y: Float) -> None:
    """Run the flow until its loss is below that of the predictor 0, and look at the sign."""
    from tacit.flows import flow  # it is only needed for these starts

    start, X, y = _in_range(model, X, y)
    level = -math.log(float(y @ y) / (2 * len(y)))
    run = flow(*_with_a_witness(start, X), y, until=level + 1e-3 * max(1.0, abs(level)))
    outputs = np.asarray(run.predictor[:, -1])  # a, in some unit
    if not run.converged or (outputs[-1] * outputs[0] > 0 and _touches(outputs)):
        raise NoPotentialError(
            "the flow of this neuron does not come below the loss of the predictor 0, where it has a saddle "
            f"({'but for rounding' if run.converged else run.reason}); start from other weights"
        )
    if outputs[-1] * outputs[0] < 0 and _sign_matters(model, X):
        raise NoPotentialError(
            "the output weight of this neuron changes sign on these data (its inner layer is not the smaller "
            "one, and the start is worse than the predictor 0): no potential describes such a flow (Azulay "
            "et al. 2021, Theorem 2, holds while the sign is kept); tacit.flow runs it"
        )


def _touches(outputs: Float) -> bool:
    """Does a come so close to 0 that a² is rounding of what it was, and rounding tells where it goes?"""
    return bool(np.abs(outputs).min() < _CLOSE * abs(outputs[0]))


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


def _sign_matters(model: Neuron, X: Float) -> bool:
    """Does the limit depend on the sign of a? A linear neuron whose weights X sees ends at least norm."""
    weights = model.weights / np.abs(model.weights).max()
    basis = visible(X)[2]
    unseen = weights - basis @ (basis.T @ weights)
    return model.slope < 1 or bool(np.linalg.norm(unseen) > 1e-12 * np.linalg.norm(weights))
