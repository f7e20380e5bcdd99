r"""A scalar w along its own gradient flow, and the potential along this curve.

For one scalar w = f(θ), the flow θ' = ∇f(θ) in time z changes w by w' = ‖∇f‖² = 1/Q''(w). So its time is the
slope, z = Q'(w), and Q = ∫ z dw. Everything is a function of one parameter of the curve.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy

from tacit.errors import InputError

_DRAWS = 12  # random values of the symbols, used if SymPy itself cannot determine a sign
W = sympy.Symbol("w", real=True)
SLOPE = sympy.Symbol("z", real=True)
_RAPIDITY = sympy.Symbol("xi", real=True)
_FACTOR = sympy.Symbol("t", positive=True)


def sign(expression: Any) -> int:
    """The sign −1, 0 or 1 from SymPy, or from random values of the symbols if it is the same for all of
    them."""
    expression = sympy.sympify(expression)
    for known, value in ((expression.is_zero, 0), (expression.is_positive, 1), (expression.is_negative, -1)):
        if known:
            return value
    if sympy.simplify(expression) == 0:
        return 0
    rng = np.random.default_rng(0)
    signs = {_random_sign(expression, rng) for _ in range(_DRAWS)}
    if len(signs) != 1:
        raise InputError(
            f"the form of Q depends on the sign of {expression}: declare its symbols positive "
            "(sympy.symbols(…, positive=True)), or give numbers"
        )
    return signs.pop()


def _random_sign(expression: Any, rng: np.random.Generator) -> int:
    return int(np.sign(float(sympy.re(sympy.N(expression.subs(random_values(expression, rng)))))))


def real_function(symbol: Any, expression: Any) -> Callable[[float], float]:
    """The expression as a function of a number; NaN where it is not real."""
    raw = sympy.lambdify(symbol, expression, modules=["scipy", "numpy"])

    def evaluated(at: float) -> float:
        if symbol.is_positive and not at > 0:
            return float("nan")
        with np.errstate(all="ignore"):
            try:
                found = complex(raw(np.float64(at)))
            except (OverflowError, ZeroDivisionError, ValueError, TypeError):
                return float("nan")
        return found.real if abs(found.imag) <= 1e-12 * abs(found.real) else float("nan")

    return evaluated


def random_values(expression: Any, rng: np.random.Generator) -> dict[Any, Any]:
    """Random values of the symbols, with the signs that the symbols are declared to have."""
    values = {}
    for symbol in sorted(expression.free_symbols, key=str):
        value = float(rng.standard_normal())
        one_sided = symbol.is_nonnegative or symbol.is_nonpositive
        size = abs(value) if one_sided else value
        values[symbol] = sympy.Float(-size if symbol.is_nonpositive else size)
    return values


@dataclass(frozen=True)
class Curve:
    """w, Q'(w) and Q(w) as functions of a parameter, with its value `start` at the start.

    inverse: the parameter as a function of W; None if no formula is known, with the reason in `why`. ratio:
    if the inverse is a power of an expression that is positive on the domain, this expression and the
    exponent.
    """

    parameter: Any
    start: Any
    predictor: Any
    slope: Any
    value: Any
    inverse: Any = None
    why: str = ""
    ratio: tuple[Any, Any] | None = None

    def explicit(self, function: Any) -> Any:
        """A function of the parameter as a function of W."""
        if self.ratio is None:
            return sympy.powsimp(function.subs(self.predictor, W).subs(self.parameter, self.inverse))
        base, power = self.ratio
        positive = sympy.Dummy(positive=True)
        found = sympy.expand(sympy.powdenest(function.subs(self.parameter, positive**power)))
        return sympy.expand_log(found, force=True).subs(positive, base)

    def subs(self, values: Any) -> Curve:
        """The curve with symbols of the start replaced."""
        parts = {name: getattr(self, name) for name in ("start", "predictor", "slope", "value", "inverse")}
        changed = {k: sympy.sympify(each).subs(values) for k, each in parts.items() if each is not None}
        ratio = None if self.ratio is None else tuple(each.subs(values) for each in self.ratio)
        return replace(self, **changed, ratio=ratio)


def straight(constant: Any, rate: Any) -> Curve:
    """w = c + kz."""
    value = rate * SLOPE**2 / 2
    return Curve(SLOPE, sympy.S.Zero, constant + rate * SLOPE, SLOPE, value, (W - constant) / rate)


def exponential(constant: Any, factor: Any, rate: Any) -> Curve:
    """w = c + A·e^{kz}, with the parameter t = e^{kz}: an entropy."""
    t, base, one = _FACTOR, (W - constant) / factor, sympy.S.One
    value = factor / rate * (t * sympy.log(t) - t + 1)
    return Curve(t, one, constant + factor * t, sympy.log(t) / rate, value, base, ratio=(base, one))


def hyperbolic(constant: Any, up: Any, down: Any, rate: Any) -> Curve:
    """w = c + A·e^{kz} + B·e^{−kz} = c + m·sinh ξ or c + m·cosh ξ, with ξ = kz + ½log|A/B|, k > 0.

    The inverse is then arsinh or arcosh; log(w + √(w² + m²)) would lose digits at negative w.
    """
    odd, xi = sign(up * down) < 0, _RAPIDITY
    scale = 2 * sign(up) * sympy.sqrt(sympy.factor(-up * down if odd else up * down))
    shape, derivative, arc = (
        (sympy.sinh, sympy.cosh, sympy.asinh) if odd else (sympy.cosh, sympy.sinh, sympy.acosh)
    )
    side = 1 if odd else sign(sympy.log(up / down))  # w has a minimum at ξ = 0, which no flow crosses
    start = side * arc(sympy.simplify((up + down) / scale))
    value = scale / rate * ((xi - start) * shape(xi) - derivative(xi) + derivative(start))
    inverse = side * arc((W - constant) / scale)
    return Curve(xi, start, constant + scale * shape(xi), (xi - start) / rate, value, inverse)


def power(constant: Any, factor: Any, first: Any, rate: Any, exponent: Any) -> Curve:
    """w = c + C·tᵐ with t = b + kz."""
    t, base = _FACTOR, (W - constant) / factor
    if exponent == -1:
        value = factor / rate * (1 - first / t - sympy.log(t / first))
    else:
        antiderivative = t ** (exponent + 1) / (exponent + 1) - first * t**exponent / exponent
        value = factor * exponent / rate * (antiderivative - antiderivative.subs(t, first))
    ratio = (base, 1 / sympy.sympify(exponent))
    predictor = constant + factor * t**exponent
    return Curve(t, first, predictor, (t - first) / rate, value, base ** ratio[1], ratio=ratio)
