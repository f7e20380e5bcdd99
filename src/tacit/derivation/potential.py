r"""The potential of a parametrization, by integration along the orbit of θ₀.

Where w is a coordinate on the orbit, θ' = J⁺w', and ∇Q, log g and Q follow from w', or from the change z' of
the slope z = ∇Q that causes it:

    to a predictor w:  w' = w − w₀,  z' = gHw'         to a slope z:  z' = z,  θ' = Jᵀz'/g,  w' = Mz'/g
    (log g)' = v·w',  Q' = z·w',       ∇Q(w₀) = 0,  Q(w₀) = 0,  g(w₀) = 1

so that Q is the divergence from w₀ = F(θ₀) that flows from θ₀ minimize.

Paths along an orbit are many and short, so calls of the integrator from Python would take most of the time:
JAX compiles it as a whole. The method, its coefficients and its error estimate are those of DOP853 (Hairer,
Nørsett and Wanner 1993, II.10).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.integrate import DOP853

from tacit.autodiff import jax, jnp, solve_triangular
from tacit.data.arrays import Float
from tacit.derivation.metric import orthonormal_frame, warp_in_frame
from tacit.derivation.smooth_map import Jets
from tacit.errors import InputError, OutsideDomainError
from tacit.models.function import FunctionModel
from tacit.potentials.base import DivergenceFromStart

_STAGES = 12
_TABLE = np.zeros((_STAGES + 1, _STAGES + 1))
_TABLE[:_STAGES, :_STAGES] = DOP853.A[:_STAGES, :_STAGES]
_TABLE[_STAGES, :_STAGES] = DOP853.B
_FIFTH, _THIRD = np.asarray(DOP853.E5), np.asarray(DOP853.E3)
_SAFETY, _SHRINK, _GROW, _ORDER = 0.9, 0.2, 10.0, 8  # step control
_FIRST = 0.01  # relative change of the state in the first step
_SHORTEST = 1e-11  # smallest step relative to the time; below it the path ends, as at a singularity
_TOLERANCE = 1e-12  # of the integrator, relative and in units of the map's length scale
# θ₀ counts as this much of a length scale: the tolerance is then at least some twenty roundings of θ₀.
_RESOLVED = 4e-3
_STEPS = 2_500  # limit for the path to one point
_ARRIVED = 1e-8  # relative distance of F(θ) from w at which the path has arrived
_CACHED = 256  # points that are kept
_TRIALS = 4  # points at which the accuracy is measured


def integrate(
    rate: Callable[[Any], Any], initial: Any, floor: Callable[[Any], Any], tol: float, max_steps: int
) -> tuple[Any, Any, Any]:
    """The final state, its time, and its rate; the time is below 1 if the path ends before.

    floor: maps the first rate to sizes of the entries to which the tolerance is relative if these are
    smaller.
    """

    def stages(state: Any, first: Any, step: Any) -> Any:
        def stage(at: Any, K: Any) -> Any:
            return K.at[at].set(rate(state + step * (jnp.asarray(_TABLE)[at] @ K)))

        K = jnp.zeros((_STAGES + 1, len(state))).at[0].set(first)
        return jax.lax.fori_loop(1, _STAGES + 1, stage, K)

    def advance(carry: Any) -> Any:
        state, first, time, step, scale0, count = carry
        K = stages(state, first, step)
        ahead = state + step * (jnp.asarray(_TABLE)[_STAGES] @ K)
        initializing = count == 0  # the first iteration has step 0 and only computes the rate
        scale0 = jnp.where(initializing, floor(K[-1]), scale0)
        error = _error(K, step, tol * (scale0 + jnp.maximum(abs(state), abs(ahead))))
        finite = jnp.isfinite(error) & jnp.isfinite(K).all() & jnp.isfinite(ahead).all()
        error = jnp.where(finite, error, jnp.inf)
        accepted = error < 1
        factor = jnp.clip(_SAFETY * error ** (-1 / _ORDER), _SHRINK, jnp.where(accepted, _GROW, 1.0))
        first_step = _FIRST * jnp.min((scale0 + abs(state)) / jnp.where(K[-1] == 0, 1e-300, abs(K[-1])))
        state, first = jnp.where(accepted, ahead, state), jnp.where(accepted, K[-1], first)
        time = jnp.where(accepted, time + step, time)
        step = jnp.where(initializing, first_step, step * factor)
        return state, first, time, jnp.minimum(step, 1 - time), scale0, count + 1

    def unfinished(carry: Any) -> Any:
        _, _, time, step, _, count = carry
        return (time < 1) & (count < max_steps) & ((count == 0) | (step > _SHORTEST * time))

    zeros = jnp.zeros_like(initial)
    state, first, time, *_ = jax.lax.while_loop(unfinished, advance, (initial, zeros, 0.0, 0.0, zeros, 0))
    return state, time, first


def _error(K: Any, step: Any, scale: Any) -> Any:
    """The error estimate of DOP853; the step is accepted if it is below 1."""
    fifth, third = (jnp.sum((jnp.asarray(each) @ K / scale) ** 2) for each in (_FIFTH, _THIRD))
    bottom = jnp.where(fifth + 0.01 * third > 0, fifth + 0.01 * third, 1.0)
    return abs(step) * fifth / jnp.sqrt(bottom * len(scale))


@dataclass(frozen=True)
class Rates:
    """The rates of (θ, z, log g, Q) along a straight line in w, or in z (dual)."""

    warped: bool
    dual: bool

    def __call__(self, jets: Jets, state: Any, step: Any) -> Any:
        """The rates of a state."""
        p = len(state) - len(step) - 2
        theta, z, g = state[:p], state[p:-2], jnp.exp(state[-2])
        L, Q = orthonormal_frame(jets, theta)
        v = warp_in_frame(jets, theta, L, Q) if self.warped else jnp.zeros_like(z)
        if self.dual:
            slope, inner = step, L.T @ step / g
            change = L @ inner
        else:
            change, inner = step, solve_triangular(L, step, lower=True)
            slope = g * solve_triangular(L, inner, lower=True, trans="T")
        return jnp.concatenate([Q @ inner, slope, jnp.stack([v @ change, z @ change])])


@dataclass(frozen=True)
class _Line:
    """The integral along such a line."""

    rates: Rates

    def __call__(self, jets: Jets, theta0: Any, step: Any, length: Any) -> Any:
        """The final state, the fraction of the line that exists, and the rates there.

        The state is integrated as its difference from θ₀, and θ is accurate to the tolerance in units of the
        map's length scale, or to the resolution of floats at θ₀ if that is more.
        """
        p, d = len(theta0), len(step)
        unit = jnp.maximum(length, _RESOLVED * jnp.max(jnp.abs(theta0)))
        origin = jnp.concatenate([theta0, jnp.zeros(d + 2)])

        def rate(state: Any) -> Any:
            return self.rates(jets, origin + state, step)

        def floor(rate: Any) -> Any:
            slope = jnp.max(abs(rate[p:-2]))
            value = slope * jnp.sum(abs(jets.jacobian(theta0) @ rate[:p]))
            return jnp.concatenate([jnp.full(p, unit), jnp.full(d, slope), jnp.stack([jnp.ones(()), value])])

        end, *rest = integrate(rate, jnp.zeros_like(origin), floor, _TOLERANCE, _STEPS)
        return origin + end, *rest


@dataclass(frozen=True, eq=False)
class _Point:
    """A point of the orbit: θ, and ∇Q, log g and Q there."""

    theta: Float
    slope: Float
    log_g: float
    value: float


@dataclass(frozen=True, eq=False)
class DerivedPotential(DivergenceFromStart):
    """Q with ∇²Q = gH along the orbit of θ₀, H = (JJᵀ)⁻¹, and g = 1 unless the flow is warped.

    Q is defined for predictors that straight lines from w₀ reach (in w; for `mirror` in ∇Q) without leaving
    the part of the orbit on which w is a coordinate. Beyond, methods raise `OutsideDomainError`, and `mirror`
    returns NaN for slopes of no predictor. Each value is an integral with a tolerance of 1e-12; `accuracy`
    measures the resulting error.
    """

    rounding = 1e-12  # the tolerance

    jets: Jets
    model: FunctionModel
    theta0: Float
    warped: bool
    length: float
    _points: OrderedDict[bytes, _Point] = field(default_factory=OrderedDict, repr=False)

    def __repr__(self) -> str:
        return f"DerivedPotential({self.model!r}, {'warped' if self.warped else 'mirror'})"

    def describe(self) -> str:
        """A description in one line."""
        clock = ", in a warped clock" if self.warped else ""
        return f"{self!r}: minimized by gradient flow from θ₀{clock}"

    def __getstate__(self) -> dict[str, Any]:
        """Include w₀, since a copy whose function could not be pickled cannot compute it."""
        _ = self.origin
        return vars(self)

    @cached_property
    def origin(self) -> Float:  # type: ignore[override]
        """w₀ = F(θ₀)."""
        return self.jets.value(self.theta0)

    def value(self, w: Any) -> float:
        """Q(w); NaN if w contains NaN, as `mirror` returns for slopes of no predictor."""
        w = self._vector(w, "w")
        return float(self._point(w).value) if np.isfinite(w).all() else float("nan")

    def gradient(self, w: Any) -> Float:
        """∇Q(w)."""
        return self._point(w).slope.copy()

    def hessian(self, w: Any) -> Float:
        """gH, a matrix."""
        point = self._point(w)
        J = self.jets.slopes(point.theta)
        triangle = np.linalg.qr(J.T, mode="r")  # M = RᵀR, without squaring the condition number of J
        inverse = np.linalg.inv(triangle)
        return np.asarray(np.exp(point.log_g) * (inverse @ inverse.T))

    def mirror(self, z: Any) -> Float:
        """The w with ∇Q(w) = z; NaN if the path to it ends before."""
        z = self._vector(z, "z")
        point, _ = self._integrate(z, dual=True) if np.isfinite(z).all() else (None, 0.0)
        if point is None:
            return np.full(len(z), np.nan)
        w = self.jets.value(point.theta)
        self._cache(w, point)
        return w

    def weights(self, w: Any) -> Float:
        """θ on the orbit of θ₀ with F(θ) = w, flat."""
        return self._point(w).theta.copy()

    def accuracy(self, seed: int = 0) -> float:
        """The largest relative error of ∇Q(mirror(z)) = z at random z near 0; NaN if no path reaches one.

        The two directions use different paths and different equations.
        """
        J = self.jets.slopes(self.theta0)
        rng, errors = np.random.default_rng(seed), []
        for _ in range(_TRIALS):
            c = rng.standard_normal(len(J))
            z = c * 0.1 * self.length / float(np.linalg.norm(J.T @ c))
            end, _ = self._integrate(z, dual=True)
            if end is None:
                continue
            back, _ = self._integrate(self.jets.value(end.theta) - self.origin, dual=False)
            if back is not None:
                errors.append(float(np.abs(back.slope - z).max() / np.abs(z).max()))
        return max(errors, default=float("nan"))

    def _point(self, w: Any) -> _Point:
        """The point of the orbit with F(θ) = w."""
        w = self._vector(w, "w")
        if not np.isfinite(w).all():
            raise InputError("w contains NaN or infinite entries; give a finite predictor")
        key = w.tobytes()
        if key not in self._points:
            point, share = self._integrate(w - self.origin, dual=False)
            if point is None:
                raise OutsideDomainError(
                    "w lies outside the domain of the potential: on the straight line from w₀ = F(θ₀) to w, "
                    f"weights on the orbit of θ₀ exist for the first {share:.3g} of the way only",
                    share,
                )
            self._cache(w, point)
        return self._points[key]

    def _cache(self, w: Float, point: _Point) -> None:
        self._points[w.tobytes()] = point
        while len(self._points) > _CACHED:
            self._points.popitem(last=False)

    def _integrate(self, step: Float, *, dual: bool) -> tuple[_Point | None, float]:
        """The end of the line, or None and the fraction of it that exists."""
        if not step.any():
            return _Point(self.theta0, np.zeros_like(self.origin), 0.0, 0.0), 1.0
        p = len(self.theta0)
        end, reached, _ = self.jets(_Line(Rates(self.warped, dual)), self.theta0, step, self.length)
        point = _Point(end[:p], end[p:-2], float(end[-2]), float(end[-1]))
        arrived = bool(reached >= 1)
        if arrived and not dual:
            gap = np.abs(self.jets.value(point.theta) - self.origin - step).max()
            arrived = bool(gap <= _ARRIVED * np.abs(step).max())
        return (point, 1.0) if arrived else (None, min(float(reached), 1.0))
