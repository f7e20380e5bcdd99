"""A formula of SymPy as a potential of numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy

from tacit.data.arrays import Float
from tacit.derivation.symbolic.curve import Curve, W
from tacit.derivation.symbolic.formula import Formula
from tacit.errors import InputError, OutsideDomainError
from tacit.numerics.roots import crossing
from tacit.potentials.base import Potential

_DOUBLINGS = 200  # of the way to a bracket
_DIGITS = 17  # of numbers in formulas: as many as floats tell apart
_CLOSE = 4 * 2.0**-52  # relative width of a bracket that is a root


class _Numbers:
    """The functions of a curve, on numbers."""

    def __init__(self, curve: Curve):
        s = curve.parameter
        self.start = float(curve.start)
        self.predictor, self.slope, self.value, self.speed, self.rise = (
            _function(s, each)
            for each in (
                curve.predictor,
                curve.slope,
                curve.value,
                sympy.diff(curve.predictor, s),
                sympy.diff(curve.slope, s),
            )
        )
        self._inverse = None if curve.inverse is None else _function(W, curve.inverse)
        self._base = None if curve.ratio is None else _function(W, curve.ratio[0])

    def at(self, w: float) -> float:
        """The parameter at w; NaN beyond the ends of the curve."""
        if self._base is not None and not self._base(w) > 0:
            return float("nan")
        if self._inverse is not None:
            return self._inverse(w)
        return self.where(self.predictor, w)

    def where(self, function: Callable[[float], float], aim: float) -> float:
        """The parameter at which a monotone function has this value; NaN beyond the ends of the curve."""
        here = self.start
        gap = function(here) - aim
        if gap == 0 or not np.isfinite(gap):
            return here if gap == 0 else float("nan")
        for direction in (1.0, -1.0):
            step = direction * 1e-3 * (abs(here) or 1.0)
            ahead = function(here + step) - aim
            if abs(ahead) < abs(gap) or ahead * gap < 0:
                return self._beyond(function, aim, float(np.sign(gap)), step)
        return float("nan")

    def _beyond(self, function: Callable[[float], float], aim: float, side: float, step: float) -> float:
        """By steps that grow while the curve is there, and shrink where it is not."""
        near = self.start
        for _ in range(_DOUBLINGS):
            found = function(near + step)
            if not np.isfinite(found):
                step /= 2
                if near + step == near:
                    return float("nan")
                continue
            if np.sign(found - aim) != side:
                return crossing(lambda s: function(s) - aim, near, near + step, rtol=_CLOSE)
            near, step = near + step, 2 * step
        return float("nan")


def _function(symbol: Any, expression: Any) -> Callable[[float], float]:
    """The expression on a number; NaN where it is not real."""
    raw = sympy.lambdify(symbol, _floats(sympy.sympify(expression)), modules=["scipy", "numpy"])

    def evaluated(at: float) -> float:
        if symbol.is_positive and not at > 0:
            return float("nan")
        with np.errstate(all="ignore"):
            try:
                found = raw(np.float64(at))
            except (OverflowError, ZeroDivisionError, ValueError):
                return float("nan")
        return float("nan") if np.iscomplexobj(found) else float(found)

    return evaluated


def _floats(expression: Any) -> Any:
    """The same with its numbers as floats, but for exponents."""
    if expression.is_number:
        return sympy.Float(sympy.N(expression, 2 * _DIGITS), _DIGITS)
    if not expression.args:
        return expression
    if expression.is_Pow and expression.exp.is_Rational:
        return sympy.Pow(_floats(expression.base), expression.exp)
    return expression.func(*(_floats(each) for each in expression.args))


@dataclass(frozen=True, eq=False)
class FormulaPotential(Potential):
    """Q of a `ClosedForm`: formulas where there are some, roots of the parametric form elsewhere.

    Slopes are accurate to rounding, values to the rounding of the terms of which the formula is made.
    """

    form: Formula

    def __getstate__(self) -> dict[str, Any]:
        """Without the compiled functions, which cannot be pickled and are compiled again on demand."""
        return {key: value for key, value in vars(self).items() if key != "_curves"}

    def __repr__(self) -> str:
        return f"FormulaPotential({self.form.family}, {len(self.form.variables)} coordinates)"

    def describe(self) -> str:
        """What it is, in a line."""
        return f"{self!r}: {self.form}" if self.form.explicit else repr(self)

    @cached_property
    def _curves(self) -> tuple[_Numbers, ...]:
        return tuple(_Numbers(curve) for curve in self.form.curves)

    @cached_property
    def origin(self) -> Float:
        """w₀."""
        return np.array([float(each) for each in self.form.origin])

    @cached_property
    def _metric(self) -> Float:
        return np.array(self.form.metric.tolist(), dtype=float)

    def start(self, features: int) -> Float:
        """w₀."""
        self.check_features(features)
        return self.origin

    def check_features(self, features: int) -> None:
        """Refuse data with another number of features than w has."""
        if len(self.origin) != features:
            raise InputError(f"w has {len(self.origin)} entries but the data has {features} features")

    def _vector(self, given: Any, name: str) -> Float:
        found = np.asarray(given, dtype=float)
        if found.shape != self.origin.shape:
            raise InputError(f"{name} must have {len(self.origin)} entries, got shape {found.shape}")
        return found

    def _places(self, w: Float) -> list[float]:
        """The parameters at each coordinate, or at the length."""
        targets = [float(np.linalg.norm(w))] if self.form.family == "radial" else w
        found = [curve.at(float(each)) for curve, each in zip(self._curves, targets, strict=True)]
        if (
            np.isfinite(w).all()
            and not np.isfinite([c.slope(s) for c, s in zip(self._curves, found, strict=True)]).all()
        ):
            raise OutsideDomainError(
                "w lies outside the domain of the potential: no flow from the start gets there"
            )
        return found

    @property
    def _pull(self) -> Float:
        """q'(‖w₀‖)·w₀/‖w₀‖ of radial ones."""
        (curve,) = self._curves
        return np.asarray(curve.slope(curve.start) * self.origin / np.linalg.norm(self.origin))

    def value(self, w: Any) -> float:
        """Q(w)."""
        w = self._vector(w, "w")
        if self.form.family == "affine":
            return float((w - self.origin) @ self._metric @ (w - self.origin) / 2)
        total = sum(curve.value(s) for curve, s in zip(self._curves, self._places(w), strict=True))
        return float(total - (self._pull @ (w - self.origin) if self.form.family == "radial" else 0.0))

    def gradient(self, w: Any) -> Float:
        """∇Q(w)."""
        w = self._vector(w, "w")
        if self.form.family == "affine":
            return np.asarray(self._metric @ (w - self.origin))
        slopes = np.array([curve.slope(s) for curve, s in zip(self._curves, self._places(w), strict=True)])
        if self.form.family == "radial":
            return np.asarray(slopes[0] * w / np.linalg.norm(w) - self._pull)
        return slopes

    def mirror(self, z: Any) -> Float:
        """(∇Q)⁻¹(z); NaN where no w has this slope."""
        z = self._vector(z, "z")
        if self.form.family == "affine":
            return np.asarray(self.origin + np.linalg.solve(self._metric, z))
        if self.form.family == "radial":
            slope = z + self._pull
            size, (curve,) = float(np.linalg.norm(slope)), self._curves
            return np.asarray(curve.predictor(curve.where(curve.slope, size)) * slope / size)
        pairs = zip(self._curves, z, strict=True)
        return np.array([curve.predictor(curve.where(curve.slope, float(each))) for curve, each in pairs])

    def hessian(self, w: Any) -> Float:
        """∇²Q(w): its diagonal where Q is a sum over coordinates."""
        w = self._vector(w, "w")
        if self.form.family == "affine":
            return self._metric
        places = self._places(w)
        bends = np.array([c.rise(s) / c.speed(s) for c, s in zip(self._curves, places, strict=True)])
        if self.form.family != "radial":
            return bends
        x, (curve,) = float(np.linalg.norm(w)), self._curves
        unit = w / x
        around = curve.slope(places[0]) / x
        return np.asarray(around * np.eye(len(w)) + (bends[0] - around) * np.outer(unit, unit))
