r"""The potential of a diagonal network against the weights themselves, whatever the data are.

Every coordinate w of the predictor has weights θ of its own, which gradient flow moves along J = ∂w/∂θ. On
their way from the start they are therefore functions of w, and so is the pull τ = ∫(−∂L/∂w)dt that it takes:

    dθ/dw = J/‖J‖²,      dτ/dw = 1/‖J‖²,      and      ∇Q(w) − ∇Q(w(0)) = c·τ(w)

with one number c for all coordinates and all w says that ∇²Q is the metric (JJᵀ)⁻¹, but for c: that is what
makes Q the potential of the flow, of which τ = Xᵀ∫(−∂L/∂f)dt. The left two are integrated here from the
weights at the start; no formula of a potential has a part in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import tacit
from tacit.data.arrays import Float
from tacit.results.claims import Bound

Weights = dict[str, Float]
_WAY = 12  # predictors between the start and the farthest, either way, evenly in asinh
_FAR = 10.0  # times the size of a start: how far a predictor goes at least
_RTOL = 1e-11
_TINY = 1e-290
_AGREE = 1e-6


def metric(model: tacit.Diagonal | tacit.UntiedDiagonal, features: int, farthest: float) -> Bound | None:
    """By how much ∇Q(w) differs from c·τ(w), relative, for |w| up to the farthest.

    None where floats do not hold the start.
    """
    start = model.start(features)
    with np.errstate(all="ignore"):
        slopes = _squared(model.parametrization.slopes(start))
        units = np.sqrt(slopes * _squared(start))
        ends = np.maximum(farthest, _FAR * units)
        usable = np.isfinite(ends / units * ends / slopes) & (np.minimum(units, slopes) > _TINY)
    if not usable.all():
        return None
    off = max(_off(model, start, units, sign * np.arcsinh(ends / units)) for sign in (1.0, -1.0))
    return Bound("∇Q(w) against c·τ(w), the pull that moves the weights to w, relative", off, at_most=_AGREE)


def _off(model: Any, start: Weights, units: Float, ends: Float) -> float:
    """The largest |∇Q(w)/(c·τ(w)) − 1| on the way to w(0) + units·sinh(ends)."""
    rows = np.column_stack([*start.values(), units, ends])
    _, first, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    few = {name: each[first] for name, each in start.items()}
    moved, pulls = _driven(model.parametrization, few, units[first], ends[first])
    potential = model.potential(len(ends))
    origin = np.asarray(model.parametrization.predictor(start))
    curvature = np.broadcast_to(np.asarray(potential.hessian(origin)), origin.shape)
    c = float(np.median(curvature * _squared(model.parametrization.slopes(start))))
    seen = np.asarray(potential.gradient(origin + moved[:, which.ravel()]))
    seen = seen - np.asarray(potential.gradient(origin))
    return float(np.abs(seen / (c * pulls[:, which.ravel()]) - 1).max())


def _driven(parametrization: Any, start: Weights, units: Float, ends: Float) -> tuple[Float, Float]:
    """w − w(0) and τ on the way to units·sinh(ends), a row for each place."""
    names, count = list(start), len(units)
    sizes = _squared(parametrization.slopes(start))

    def rates(place: float, state: Float) -> Float:
        """Of weights and τ, in units of the start, by the place between 0 and 1 in asinh."""
        parts = state.reshape(-1, count)
        slopes = parametrization.slopes(dict(zip(names, parts[:-1], strict=True)))
        squared = _squared(slopes)
        speed = units * np.cosh(place * ends) * ends
        moving = [slopes[name] * speed / squared for name in names]
        return np.concatenate([*moving, speed / units * sizes / squared])

    first = np.concatenate([*(start[name] for name in names), np.zeros(count)])
    atol = np.repeat([*(float(np.abs(start[name]).max()) for name in names), 1.0], count) * _RTOL * 1e-3
    places = np.arange(1, _WAY + 1) / _WAY
    with np.errstate(under="ignore"):  # of SciPy's shortest step at the time 0
        found = solve_ivp(
            rates, (0, 1), first, "DOP853", t_eval=places, rtol=_RTOL, atol=np.maximum(atol, 1e-300)
        )
    if not found.success:
        raise tacit.NotConvergedError(f"the weights cannot be followed to the farthest w: {found.message}")
    pulls = found.y[-count:].T * (units / sizes)
    return units * np.sinh(places[:, None] * ends), pulls


def _squared(slopes: Weights) -> Float:
    """The sum of squares, coordinate by coordinate."""
    return np.asarray(sum(np.square(each) for each in slopes.values()))
