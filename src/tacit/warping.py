r"""Warped time: the clock in which a neuron descends a potential (Azulay et al. 2021, Sections 5 and 6).

The predictor w̃ = a·ω of a neuron moves as H(w̃) dw̃/dt = Xᵀr with the metric

    H = (a²I + ωωᵀ)⁻¹,      a² − ‖ω‖² = δ,

which is the Hessian of no function: ∂_k H_ij ≠ ∂_j H_ik. In the clock dτ = g dt, g = (3/2)|a|, the metric is
gH, and that is the Hessian of `NeuronPotential`. The curve that the flow draws is the same in both clocks.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import cumulative_simpson

from tacit.data.arrays import Float, as_floats
from tacit.errors import InputError
from tacit.models import Neuron
from tacit.potentials import NeuronPotential
from tacit.potentials.arrays import quiet
from tacit.results.trajectory import Trajectory

__all__ = ["hessian_violation", "metric", "warp", "warped_clock"]


def warp(delta: float, predictor: ArrayLike) -> Float:
    """g = (3/2)|a|: how fast the warped clock runs.

    At w̃ → 0 it is (3/2)√δ for δ > 0 (Azulay et al. 2021, Lemma 3, whose statement says 0).

    Parameters
    ----------
    delta : float
        δ = a² − ‖ω‖².
    predictor : (…, d) array-like
        w̃, over leading axes.

    Returns
    -------
    (…) array
        g.
    """
    w = as_floats(predictor, "predictor", ndim=(1, 2))
    return 1.5 * np.asarray(NeuronPotential(delta).layers(np.linalg.norm(w, axis=-1))[0])


def metric(delta: float, predictor: ArrayLike) -> Float:
    """H = (a²I + ωωᵀ)⁻¹ at the predictor w̃ = a·ω: H·dw̃/dt = Xᵀr (Azulay et al. 2021, equation 23).

    Parameters
    ----------
    delta : float
        δ = a² − ‖ω‖².
    predictor : (d,) array-like
        w̃.

    Returns
    -------
    (d, d) array
        H.
    """
    w = as_floats(predictor, "predictor", ndim=(1,))
    x = float(np.linalg.norm(w))
    a, inner = (float(layer) for layer in NeuronPotential(delta).layers(x))
    if a == 0:
        raise InputError("the metric is not defined where the output weight is 0")
    unit = w / x if x > 0 else w
    return (np.eye(len(w)) - inner**2 / (a**2 + inner**2) * np.outer(unit, unit)) / a**2


def hessian_violation(field: Callable[[Float], Float], predictor: ArrayLike, *, step: float = 1e-4) -> float:
    """The largest |∂_k F_ij − ∂_j F_ik| of a matrix field, relative to its largest derivative.

    0, up to the error of differences of sixth order, where the field is the Hessian of a function (Azulay et
    al. 2021, equation 6).

    Parameters
    ----------
    field : callable
        w ↦ F(w), (d, d).
    predictor : (d,) array-like
        Where.
    step : float, optional
        Of the differences.

    Returns
    -------
    float
        The violation.
    """
    w = as_floats(predictor, "predictor", ndim=(1,))
    size = step * max(float(np.linalg.norm(w)), 1e-300)
    weights = {1: 45 / 60, 2: -9 / 60, 3: 1 / 60}
    gradient = np.stack(  # [i, j, k] = ∂_k F_ij
        [
            sum(c * (field(w + n * size * e) - field(w - n * size * e)) for n, c in weights.items()) / size
            for e in np.eye(len(w))
        ],
        axis=-1,
    )
    return float(np.abs(gradient - gradient.swapaxes(1, 2)).max() / (np.abs(gradient).max() or 1.0))


@quiet
def warped_clock(trajectory: Trajectory) -> Float:
    """τ(t) = ∫ g dt at the recorded instants of a neuron's flow, by Simpson's rule.

    As accurate as the record is dense: ask `tacit.flow` for more instants with at=.

    Parameters
    ----------
    trajectory : Trajectory
        The flow of a `Neuron`.

    Returns
    -------
    (T,) array
        τ.
    """
    model = trajectory.model
    if not isinstance(model, Neuron):
        raise InputError(f"the warped clock is that of a neuron, got {type(model).__name__}")
    speed = warp(model.delta, trajectory.predictor)
    return np.asarray(cumulative_simpson(speed, x=trajectory.time, initial=0.0))
