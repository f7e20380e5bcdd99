r"""The warped clock, in which a neuron follows a mirror flow (Azulay et al. 2021, Sections 5 and 6).

The predictor w̃ = a·ω of a neuron satisfies H(w̃) dw̃/dt = Xᵀr, with the residuals r and the metric

    H = (a²I + ωωᵀ)⁻¹,      a² − ‖ω‖² = δ,

which is not the Hessian of any function: ∂_k H_ij ≠ ∂_j H_ik. In the clock dτ = g dt, g = (3/2)|a|, the
metric is gH, the Hessian of `NeuronPotential`. The trajectory is the same in both clocks.
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
    """The rate g = (3/2)|a| of the warped clock.

    For δ > 0 its limit at w̃ → 0 is (3/2)√δ (Azulay et al. 2021, Lemma 3, which states 0).

    Parameters
    ----------
    delta : float
        δ = a² − ‖ω‖².
    predictor : (…, d) array-like
        w̃, with any leading axes.

    Returns
    -------
    (…) array
        g.

    Examples
    --------
    >>> from tacit.warping import warp
    >>> print(warp(3.0, [2.0, 0.0]))
    3.0
    """
    w = as_floats(predictor, "predictor", ndim=(1, 2))
    return 1.5 * np.asarray(NeuronPotential(delta).layers(np.linalg.norm(w, axis=-1))[0])


def metric(delta: float, predictor: ArrayLike) -> Float:
    """The metric H = (a²I + ωωᵀ)⁻¹ at the predictor w̃ = a·ω (Azulay et al. 2021, equation 23).

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

    Raises
    ------
    InputError
        If the output weight a is 0, where H is not defined.

    Examples
    --------
    >>> from tacit.warping import metric
    >>> print(metric(3.0, [2.0, 0.0]).round(3) + 0.0)
    [[0.2  0.  ]
     [0.   0.25]]
    """
    w = as_floats(predictor, "predictor", ndim=(1,))
    x = float(np.linalg.norm(w))
    a, inner = (float(layer) for layer in NeuronPotential(delta).layers(x))
    if a == 0:
        raise InputError("the metric is not defined at this predictor, where the output weight a is 0")
    unit = w / x if x > 0 else w
    return (np.eye(len(w)) - inner**2 / (a**2 + inner**2) * np.outer(unit, unit)) / a**2


def hessian_violation(field: Callable[[Float], Float], predictor: ArrayLike, *, step: float = 1e-4) -> float:
    """The largest |∂_k F_ij − ∂_j F_ik| of a matrix field, relative to its largest derivative.

    It is 0, up to the error of the finite differences of sixth order, if the field is the Hessian of a
    function (Azulay et al. 2021, equation 6).

    Parameters
    ----------
    field : callable
        w ↦ F(w), (d, d).
    predictor : (d,) array-like
        The point w.
    step : float, optional
        The step of the differences, relative to ‖w‖.

    Returns
    -------
    float
        The violation.

    Examples
    --------
    >>> from tacit.warping import hessian_violation, metric, warp
    >>> bool(hessian_violation(lambda w: metric(3.0, w), [2.0, 1.0]) > 0.1)
    True
    >>> bool(hessian_violation(lambda w: warp(3.0, w) * metric(3.0, w), [2.0, 1.0]) < 1e-9)
    True
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
    """τ(t) = ∫ g dt at the recorded times of a neuron's flow, by Simpson's rule.

    The error depends on the density of the recorded times: use `at` or `times` of `tacit.flow` to record
    more.

    Parameters
    ----------
    trajectory : Trajectory
        The flow of a `Neuron`.

    Returns
    -------
    (T,) array
        τ.

    Raises
    ------
    InputError
        If the model of the trajectory is not a `Neuron`.

    Examples
    --------
    >>> import tacit
    >>> flow = tacit.flow(tacit.Neuron(1.0, [0.5, 0.5]), [[1.0, 0.0]], [1.0], times=[0.0, 0.5, 1.0])
    >>> clock = tacit.warping.warped_clock(flow)
    >>> bool(clock[0] == 0 and (clock[1:] > clock[:-1]).all())
    True
    """
    model = trajectory.model
    if not isinstance(model, Neuron):
        raise InputError(
            f"the warped clock is defined for a Neuron only, got the flow of a {type(model).__name__}"
        )
    speed = warp(model.delta, trajectory.predictor)
    return np.asarray(cumulative_simpson(speed, x=trajectory.time, initial=0.0))
