"""The numerical potential of a formula in SymPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy

from tacit.data.arrays import Float
from tacit.derivation.symbolic.curve import Curve, W, real_function
from tacit.errors import OutsideDomainError
from tacit.numerics.roots import crossing
from tacit.potentials.base import DivergenceFromStart

_MAX_STEPS = 200  # steps of the search for a bracket
_FIRST_STEP = 1e-3  # of this search, relative to the start
_DIGITS = 17  # of numbers in formulas: enough to distinguish all floats
_XTOL = 4 * 2.0**-52  # relative width of a bracket that counts as a root


class _NumericCurve:
    """The functions of a curve, compiled for numbers."""

    def __init__(self, curve: Curve):
        s, self.start = curve.parameter, float(curve.start)
        self.predictor, self.slope, self.value = (
            _function(s, each) for each in (curve.predictor, curve.slope, curve.value)
        )
        self.predictor_rate, self.slope_rate = (
            _function(s, sympy.diff(each, s)) for each in (curve.predictor, curve.slope)
        )
        self._inverse = None if curve.inverse is None else _function(W, curve.inverse)
        self._base = None if curve.ratio is None else _function(W, curve.ratio[0])

    def at(self, w: float) -> float:
        """The parameter at w; NaN if w lies beyond the ends of the curve."""
        if self._base is not None and not self._base(w) > 0:
            return float("nan")
        if self._inverse is not None:
            return self._inverse(w)
        return self.solve(self.predictor, w)

    def solve(self, function: Callable[[float], float], target: float) -> float:
        """The parameter at which a monotone function has the target value; NaN if the curve ends before."""
        start = self.start
        gap = function(start) - target
        if gap == 0 or not np.isfinite(gap):
            return start if gap == 0 else float("nan")
        for direction in (1.0, -1.0):
            step = direction * _FIRST_STEP * (abs(start) or 1.0)
            ahead = function(start + step) - target
            if abs(ahead) < abs(gap) or ahead * gap < 0:
                return self._search(function, target, float(np.sign(gap)), step)
        return float("nan")

    def _search(self, function: Callable[[float], float], target: float, side: float, step: float) -> float:
        """Search for a bracket, with steps that double on the curve and are halved beyond its end."""
        near = self.start
        for _ in range(_MAX_STEPS):
            value = function(near + step)
            if not np.isfinite(value):
                step /= 2
                if near + step == near:
                    return float("nan")
                continue
            if np.sign(value - target) != side:
                return crossing(lambda s: function(s) - target, near, near + step, rtol=_XTOL)
            near, step = near + step, 2 * step
        return float("nan")


def _function(symbol: Any, expression: Any) -> Callable[[float], float]:
    """The expression as a function of a number, with its numbers as floats."""
    return real_function(symbol, _floats(sympy.sympify(expression)))


def _floats(expression: Any) -> Any:
    """The expression with all numbers except exponents as floats."""
    if expression.is_number:
        return sympy.Float(sympy.N(expression, 2 * _DIGITS), _DIGITS)
    if not expression.args:
        return expression
    if expression.is_Pow and expression.exp.is_Rational:
        return sympy.Pow(_floats(expression.base), expression.exp)
    return expression.func(*(_floats(each) for each in expression.args))


@dataclass(frozen=True, eq=False)
class FormulaPotential(DivergenceFromStart):
    """Q of a `ClosedForm`: its formulas, or roots of the parametric form if there is no explicit one.

    Slopes are accurate to round-off, values to the round-off of the terms of the formula.
    """

    form: Any  # the ClosedForm, whose module imports this one

    def __getstate__(self) -> dict[str, Any]:
        """Without the compiled functions, which cannot be pickled and are compiled again on demand."""
        return {key: value for key, value in vars(self).items() if key != "_curves"}

    def __repr__(self) -> str:
        return f"FormulaPotential({self.form.family}, {len(self.form.variables)} coordinates)"

    def describe(self) -> str:
        """A description in one line."""
        return f"{self!r}: {self.form}" if self.form.explicit else repr(self)

    @cached_property
    def _curves(self) -> tuple[_NumericCurve, ...]:
        return tuple(_NumericCurve(curve) for curve in self.form.curves)

    @cached_property
    def origin(self) -> Float:  # type: ignore[override]
        """w₀."""
        return np.array([float(each) for each in self.form.origin])

    @cached_property
    def _metric(self) -> Float:
        return np.array(self.form.metric.tolist(), dtype=float)

    def _at(self, w: Float) -> tuple[list[float], Float]:
        """The parameters of the curves at the coordinates of w, or at ‖w‖, and their slopes there."""
        targets = [float(np.linalg.norm(w))] if self.form.family == "radial" else w
        parameters = [curve.at(float(each)) for curve, each in zip(self._curves, targets, strict=True)]
        slopes = np.array([curve.slope(s) for curve, s in zip(self._curves, parameters, strict=True)])
        if np.isfinite(w).all() and not np.isfinite(slopes).all():
            raise OutsideDomainError(
                "w lies outside the domain of the potential: no flow from the start reaches it"
            )
        return parameters, slopes

    @property
    def _initial_slope(self) -> Float:
        """q'(‖w₀‖)·w₀/‖w₀‖ of radial potentials."""
        (curve,) = self._curves
        return np.asarray(curve.slope(curve.start) * self.origin / np.linalg.norm(self.origin))

    def value(self, w: Any) -> float:
        """Q(w)."""
        w = self._vector(w, "w")
        step = w - self.origin
        if self.form.family == "affine":
            return float(step @ self._metric @ step / 2)
        total = sum(curve.value(s) for curve, s in zip(self._curves, self._at(w)[0], strict=True))
        return float(total - (self._initial_slope @ step if self.form.family == "radial" else 0.0))

    def gradient(self, w: Any) -> Float:
        """∇Q(w)."""
        w = self._vector(w, "w")
        if self.form.family == "affine":
            return np.asarray(self._metric @ (w - self.origin))
        slopes = self._at(w)[1]
        if self.form.family == "radial":
            return np.asarray(slopes[0] * w / np.linalg.norm(w) - self._initial_slope)
        return slopes

    def mirror(self, z: Any) -> Float:
        """(∇Q)⁻¹(z); NaN if no w has this slope."""
        z = self._vector(z, "z")
        if self.form.family == "affine":
            return np.asarray(self.origin + np.linalg.solve(self._metric, z))
        if self.form.family == "radial":
            slope = z + self._initial_slope
            size, (curve,) = float(np.linalg.norm(slope)), self._curves
            return np.asarray(curve.predictor(curve.solve(curve.slope, size)) * slope / size)
        pairs = zip(self._curves, z, strict=True)
        return np.array([curve.predictor(curve.solve(curve.slope, float(each))) for curve, each in pairs])

    def hessian(self, w: Any) -> Float:
        """∇²Q(w); its diagonal if Q is a sum over coordinates."""
        w = self._vector(w, "w")
        if self.form.family == "affine":
            return self._metric
        parameters, slopes = self._at(w)
        diagonal = np.array(
            [c.slope_rate(s) / c.predictor_rate(s) for c, s in zip(self._curves, parameters, strict=True)]
        )
        if self.form.family != "radial":
            return diagonal
        x = float(np.linalg.norm(w))
        unit, tangential = w / x, slopes[0] / x
        return np.asarray(tangential * np.eye(len(w)) + (diagonal[0] - tangential) * np.outer(unit, unit))
