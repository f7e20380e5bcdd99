r"""The potential of a parametrization, by integration along the leaf of θ₀.

On the leaf θ' = J⁺w', and ∇Q, log g and Q follow from w' or from the slope z' that makes it:

    to a predictor w:  w' = w − w₀,  z' = gHw'         to a slope z:  z' = z,  θ' = Jᵀz'/g,  w' = Mz'/g
    (log g)' = v·w',  Q' = z·w',       ∇Q(w₀) = 0,  Q(w₀) = 0,  g(w₀) = 1

so that Q is the divergence from w₀ = F(θ₀) that flows from θ₀ minimize.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from tacit.autodiff import jnp, solve_triangular
from tacit.data.arrays import Float
from tacit.derivation.integrator import integrated
from tacit.derivation.metric import frame_warp, framed
from tacit.derivation.smooth_map import Jets
from tacit.errors import InputError, OutsideDomainError
from tacit.models.function import FunctionModel
from tacit.potentials.base import Potential

_TIGHT = 1e-12  # of the integrator, relative and to the map's own length at the start
_RESOLVED = 4e-3  # of θ₀: times the tolerance, some twenty roundings of it
_MOST = 2_500  # steps on the way to one point
_CLOSED = 1e-8  # relative distance at which F(θ) has arrived at w
_KEPT = 256  # points that are remembered
_TRIED = 4  # points at which the accuracy is measured


@dataclass(frozen=True)
class Rates:
    """The rates of (θ, z, log g, Q) along a straight line in w, or in z."""

    warped: bool
    dual: bool

    def __call__(self, jets: Jets) -> Callable[..., Any]:
        """(state, step) ↦ rates."""

        def rates(state: Any, step: Any) -> Any:
            p = len(state) - len(step) - 2
            theta, z, g = state[:p], state[p:-2], jnp.exp(state[-2])
            L, Q = framed(jets, theta)
            v = frame_warp(jets, theta, L, Q) if self.warped else jnp.zeros_like(z)
            if self.dual:
                slope, inside = step, L.T @ step / g
                move = L @ inside
            else:
                move, inside = step, solve_triangular(L, step, lower=True)
                slope = g * solve_triangular(L, inside, lower=True, trans="T")
            return jnp.concatenate([Q @ inside, slope, jnp.stack([v @ move, z @ move])])

        return rates


@dataclass(frozen=True)
class _Way:
    """Such a line, all of it."""

    rates: Rates

    def __call__(self, jets: Jets) -> Callable[..., Any]:
        """(θ₀, step, length) ↦ the state at the end, the share of the way that there is, and the rates there.

        Steps in θ are counted from θ₀ and are accurate to the tolerance in units of the map's own length, or
        to what floats resolve of θ₀.
        """
        rates = self.rates(jets)

        def followed(theta0: Any, step: Any, length: Any) -> Any:
            p, d = len(theta0), len(step)
            weight = jnp.maximum(length, _RESOLVED * jnp.max(jnp.abs(theta0)))

            def floor(rate: Any) -> Any:
                slope = jnp.max(abs(rate[p:-2]))
                value = slope * jnp.sum(abs(jets.jacobian(theta0) @ rate[:p]))
                last = jnp.stack([jnp.ones(()), value])
                return jnp.concatenate([jnp.full(p, weight), jnp.full(d, slope), last])

            origin = jnp.concatenate([theta0, jnp.zeros(d + 2)])
            begun = jnp.zeros_like(origin)
            end, *rest = integrated(lambda state: rates(origin + state, step), begun, floor, _TIGHT, _MOST)
            return origin + end, *rest

        return followed


@dataclass(frozen=True, eq=False)
class _Point:
    """A point of the leaf: θ, ∇Q and log g and Q there."""

    theta: Float
    slope: Float
    log_g: float
    value: float


@dataclass(frozen=True, eq=False)
class DerivedPotential(Potential):
    """Q with ∇²Q = gH along the leaf of θ₀, H = (JJᵀ)⁻¹ and g = 1 unless the flow is warped.

    It is the divergence from the start, Q(w₀) = 0 and ∇Q(w₀) = 0, on the predictors that straight lines from
    w₀ (in w; for `mirror` in ∇Q) reach without leaving where w is a coordinate: `OutsideDomainError` beyond,
    and NaN for slopes that no predictor has. Each answer is an integral with a tolerance of 1e-12; `accuracy`
    measures what that leaves.
    """

    rounding = 1e-12  # the tolerance

    jets: Jets
    model: FunctionModel
    theta0: Float
    warped: bool
    length: float
    _known: OrderedDict[bytes, _Point] = field(default_factory=OrderedDict, repr=False)

    def __repr__(self) -> str:
        return f"DerivedPotential({self.model!r}, {'warped' if self.warped else 'mirror'})"

    def describe(self) -> str:
        """What it is, in a line."""
        clock = ", in a clock of its own" if self.warped else ""
        return f"{self!r}: what gradient flow from θ₀ minimizes{clock}"

    def __getstate__(self) -> dict[str, Any]:
        """With w₀, which the points that are remembered need where the function cannot be pickled."""
        _ = self.origin
        return vars(self)

    @cached_property
    def origin(self) -> Float:
        """w₀ = F(θ₀)."""
        return self.jets.value(self.theta0)

    def start(self, features: int) -> Float:
        """w₀."""
        self.check_features(features)
        return self.origin

    def check_features(self, features: int) -> None:
        """Refuse data with another number of features than w has."""
        if len(self.origin) != features:
            raise InputError(f"w has {len(self.origin)} entries but the data has {features} features")

    def value(self, w: Any) -> float:
        """Q(w); NaN of NaN, as `mirror` gives for slopes that no predictor has."""
        return float(self._at(w).value)

    def gradient(self, w: Any) -> Float:
        """∇Q(w)."""
        return self._at(_finite(w)).slope.copy()

    def hessian(self, w: Any) -> Float:
        """gH, a matrix."""
        point = self._at(_finite(w))
        J = self.jets.slopes(point.theta)
        triangle = np.linalg.qr(J.T, mode="r")  # M = RᵀR without squaring the condition of J
        inverse = np.linalg.inv(triangle)
        return np.asarray(np.exp(point.log_g) * (inverse @ inverse.T))

    def mirror(self, z: Any) -> Float:
        """The w with ∇Q(w) = z; NaN where the way to it ends before."""
        z = self._vector(z, "z")
        point, _ = self._followed(z, dual=True) if np.isfinite(z).all() else (None, 0.0)
        if point is None:
            return np.full(len(z), np.nan)
        w = self.jets.value(point.theta)
        self._keep(w, point)
        return w

    def weights(self, w: Any) -> Float:
        """θ on the leaf of θ₀ with F(θ) = w, flat."""
        return self._at(_finite(w)).theta.copy()

    def accuracy(self, seed: int = 0) -> float:
        """How far ∇Q(mirror(z)) is from z, relative, the largest of tries near w₀; NaN if none is inside.

        The two ways share neither their lines nor their equations.
        """
        J = self.jets.slopes(self.theta0)
        rng, gaps = np.random.default_rng(seed), []
        for _ in range(_TRIED):
            c = rng.standard_normal(len(J))
            z = c * 0.1 * self.length / float(np.linalg.norm(J.T @ c))
            there, _ = self._followed(z, dual=True)
            if there is None:
                continue
            back, _ = self._followed(self.jets.value(there.theta) - self.origin, dual=False)
            if back is not None:
                gaps.append(float(np.abs(back.slope - z).max() / np.abs(z).max()))
        return max(gaps, default=float("nan"))

    def _vector(self, given: Any, name: str) -> Float:
        found = np.asarray(given, dtype=float)
        if found.shape != self.origin.shape:
            raise InputError(f"{name} must have {len(self.origin)} entries, got shape {found.shape}")
        return found

    def _origin(self) -> _Point:
        return _Point(self.theta0, np.zeros_like(self.origin), 0.0, 0.0)

    def _at(self, w: Any) -> _Point:
        """The point of the leaf over w."""
        w = self._vector(w, "w")
        if not np.isfinite(w).all():
            return _Point(np.full_like(self.theta0, np.nan), np.full_like(w, np.nan), np.nan, np.nan)
        key = w.tobytes()
        if key not in self._known:
            point, share = self._followed(w - self.origin, dual=False)
            if point is None:
                raise OutsideDomainError(
                    f"w lies outside the domain of the potential: on the straight way from w₀ = F(θ₀) the "
                    f"weights on the leaf of θ₀ end after {share:.3g} of it; gradient flow from θ₀ does not "
                    "get there on this side",
                    share,
                )
            self._keep(w, point)
        return self._known[key]

    def _keep(self, w: Float, point: _Point) -> None:
        self._known[w.tobytes()] = point
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)

    def _followed(self, step: Float, *, dual: bool) -> tuple[_Point | None, float]:
        """Where the line leads, or None and the share of it that there is."""
        if not step.any():
            return self._origin(), 1.0
        p, origin = len(self.theta0), self.origin
        end, reached, _ = self.jets(_Way(Rates(self.warped, dual)), self.theta0, step, self.length)
        point = _Point(end[:p], end[p:-2], float(end[-2]), float(end[-1]))
        arrived = bool(reached >= 1)
        if arrived and not dual:
            gap = np.abs(self.jets.value(point.theta) - origin - step).max()
            arrived = bool(gap <= _CLOSED * np.abs(step).max())
        return (point, 1.0) if arrived else (None, min(float(reached), 1.0))


def _finite(w: Any) -> Any:
    if not np.isfinite(np.asarray(w, dtype=float)).all():
        raise InputError("w has entries that are NaN or infinite; a potential is asked of finite predictors")
    return w
