r"""The end of gradient descent from one gradient flow: the effective start, to second order in the step.

    D = 2:    log w±ᵉ = log(A·w±(0)) − rate²·(λJ± + λ_n K±) − rate²·γ²δ²K m/(2b(1 − β)²)
    D > 2:    (w±ᵉ/A)^{2−D} = w±(0)^{2−D} + rate²(D−1)(D−2)·(λJ± + λ_n K±)

with J± and K± along the flow (`along_flow`), λ and λ_n from `Training.delay` and `noise_delay`, A the factor
by which weight decay alone multiplies the weights, and label noise ±δ for K steps on targets with feature
means m_j = mean_n x_nj². Without batches, decay and noise, J is the sum along the run of Even et al. 2023,
integrated along the flow instead. With momentum, gradient descent follows λẅ + ẇ = −∇L (Papazov et al. 2024),
and along that flow log w±ᵉ = log w±(0) − λ∫(d log w±/dt)² dt exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.data.arrays import Float
from tacit.errors import InputError, NoPotentialError
from tacit.models.model import Model
from tacit.models.weight_pair import WeightPair, checked_positive
from tacit.numerics.rounding import quiet
from tacit.numerics.subspaces import Range
from tacit.training.along_flow import Integrals, integrate
from tacit.training.decaying_flow import integrate_decay
from tacit.training.inertia import DENSE, integrate_inertia
from tacit.training.settings import Training, attenuation

EXACT, SECOND, LEADING = "exact", "second order in the step", "leading order in the noise"
# λ·sharpness above which inertia is integrated even for many features, by an explicit method. Below it, this
# would take too long, and the error of J is at most 10% of the shift.
_INERTIAL = 0.1


@dataclass(frozen=True)
class EffectiveStart:
    """The predicted effective start: the model whose flow ends where the training will end.

    shift: the typical change of log w±(0) due to steps and noise. scatter: the typical deviation of a single
    run
    from it, due to the draw of batches. inertial: whether inertia was integrated.
    """

    model: Model
    order: str
    shift: float
    scatter: float
    inertial: bool


@quiet
def effective_start(
    pair: WeightPair, model: Model, X: Float, y: Float, training: Training, within: Range, sharpness: float
) -> EffectiveStart:
    """The effective start of a training whose decay is switched off in the end.

    Raises `NoPotentialError` if no theory covers the training.
    """
    D = pair.depth
    if training.label_noise and D > 2:
        raise NoPotentialError(
            f"the effect of label noise is known at depth 2 only, not at depth {D:g}; use "
            "tacit.descend, which runs the training"
        )
    for start_weights, name in ((pair.plus, "the initial w₊"), (pair.minus, "the initial w₋")):
        checked_positive(start_weights, name)
    if training.step == 0:
        return _decayed(pair, training)
    found = Integrals(pair, X, y, None if training.batch == len(y) else training.batch)
    inertia = _inertia(pair, X, y, training, sharpness)
    if training.batch or inertia is None:
        start, shrunk = pair, 1.0
        if training.decays:
            start, shrunk = integrate_decay(found, training), attenuation(training) ** (D - 2)
        integrate(found, start, model, within, shrunk)
    J = pair.rate**2 * found.J if inertia is None else inertia
    changes = training.delay * J + training.noise_delay * pair.rate**2 * found.K
    if training.label_noise:
        changes = changes + _label_noise(pair, X, training)
    order = LEADING if found.K.any() or training.label_noise else SECOND
    b = training.momentum  # consecutive velocities share their noise
    scatter = training.noise_delay * pair.rate**2 * np.sqrt(training.time_step * found.scatter)
    scatter *= np.sqrt((1 + b**2) / (1 - b**2)) * (D - 1) * np.array([pair.plus, pair.minus]) ** (D - 2)
    weights = _moved(pair, changes, attenuation(training))
    shift = _mean_size(np.log(np.array(weights) / np.array([pair.plus, pair.minus]) / attenuation(training)))
    return EffectiveStart(pair.model(*weights), order, shift, _mean_size(scatter), inertia is not None)


def _inertia(pair: WeightPair, X: Float, y: Float, training: Training, sharpness: float) -> Float | None:
    """The integral along the flow with inertia; None if it is not needed, or if a weight crosses 0."""
    if not training.momentum or training.decays:
        return None
    if X.shape[1] > DENSE and training.delay * sharpness <= _INERTIAL:
        return None
    return integrate_inertia(pair, X, y, training.delay)


def _decayed(pair: WeightPair, training: Training) -> EffectiveStart:
    """Gradient flow with decay: the weights shrink by e^{−∫λ}."""
    factor = float(np.exp(-decay_integral(training)))
    return EffectiveStart(pair.model(pair.plus * factor, pair.minus * factor), EXACT, 0.0, 0.0, False)


def decay_integral(training: Training) -> float:
    """∫λ dt until the decay is switched off."""
    if not callable(training.decay):
        return training.decay * training.decay_time
    from scipy.integrate import quad

    return float(quad(training.decay_at, 0.0, training.decay_time, epsabs=0.0, epsrel=1e-12, limit=1000)[0])


def _label_noise(pair: WeightPair, X: Float, training: Training) -> Float:
    """rate²·γ²δ²K m/(2b(1 − β)²) for D = 2."""
    mean = (X**2).mean(axis=0)
    b = training.batch or len(X)
    strength = (pair.rate * training.time_step * training.label_noise) ** 2 * training.noise_steps
    return np.array([strength * mean / (2 * b)] * 2)


def _moved(pair: WeightPair, changes: Float, factor: float) -> tuple[Float, Float]:
    """The start after these changes (which include rate²), multiplied by a factor."""
    D, starts = pair.depth, (pair.plus, pair.minus)
    if D == 2:
        plus, minus = (factor * w * np.exp(-c) for w, c in zip(starts, changes, strict=True))
    else:
        powers = (w ** (2 - D) + (D - 1) * (D - 2) * c for w, c in zip(starts, changes, strict=True))
        plus, minus = (factor * each ** (1 / (2 - D)) for each in powers)
    if not (np.isfinite([plus, minus]).all() and (np.array([plus, minus]) > 0).all()):
        raise InputError(
            "the effective start is outside the floating-point range: the steps are too large for a "
            "prediction; "
            "use tacit.descend, which runs the training"
        )
    return plus, minus


def _mean_size(values: Float) -> float:
    return float(np.sqrt(np.mean(np.square(values))))
