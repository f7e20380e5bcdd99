r"""w = h(a, ‖v‖)·v with a vector v and scalars a: potentials of ‖w‖, in a warped clock.

x = ‖w‖ = h·r, r = ‖v‖, follows the flow of a scalar, which also rotates v: gH is the Hessian of q(‖w‖) if

    q'' = g/‖∇x‖²,  q'/x = g/h²    ⟹    d log q' = (h/r) dz,  z the time of the flow of x

For h = c·∏aⱼ^{mⱼ}·r^{n−1} the flow conserves aⱼ²/mⱼ − r²/n, and q' = C·r^{1/n}. A neuron is the case m = n =
1 with q' = r/|a₀| (Azulay et al. 2021, Theorem 2, there times 3|a₀|/2); weight normalization is n = 0 with q'
= C·exp(a²/(2mr²)).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy

from tacit.derivation.symbolic.curve import Curve, W
from tacit.derivation.symbolic.integral import unevaluated
from tacit.derivation.symbolic.scalar import Start, exponents
from tacit.errors import NoClosedFormError

_LENGTH = sympy.Symbol("r", positive=True)
_SCALAR = sympy.Symbol("a", positive=True)


def radial_parts(expressions: Sequence[Any], parameters: Sequence[Any]) -> tuple[Any, tuple[Any, ...]] | None:
    """h and the vector v, in the order of w; None if the map does not have this form."""
    found = []
    for expression in expressions:
        odd = [each for each in parameters if sympy.simplify(expression.subs(each, -each) + expression) == 0]
        others = [
            each
            for each in odd
            if all(not _vanishes(other, each) for other in expressions if other is not expression)
        ]
        if len(others) != 1:
            return None
        found.append(others[0])
    h = sympy.simplify(expressions[0] / found[0])
    same = all(sympy.simplify(each / v - h) == 0 for each, v in zip(expressions, found, strict=True))
    first = found[0]
    turned = (first * sympy.diff(h, v) - v * sympy.diff(h, first) for v in found[1:])
    return (h, tuple(found)) if same and all(sympy.simplify(each) == 0 for each in turned) else None


def _vanishes(expression: Any, symbol: Any) -> bool:
    return bool(sympy.simplify(expression.subs(symbol, 0)) == 0)


def radial_curve(h: Any, vector: Sequence[Any], parameters: Sequence[Any], start: Start) -> Curve:
    """x, q' and q as functions of r, or of a if r is constant."""
    scalars = [each for each in parameters if each not in vector]
    along = h.subs(dict.fromkeys(vector[1:], 0)).subs(vector[0], _LENGTH)
    product = exponents(sympy.simplify(along), [*scalars, _LENGTH])
    if product is None:
        raise NoClosedFormError(
            f"the factor {h} of the vector is not a product of powers of "
            f"{', '.join(map(str, scalars))} and of "
            "the vector's length"
        )
    factor, powers = product
    n = sympy.nsimplify(powers.pop(_LENGTH) + 1)
    powers = {each: m for each, m in powers.items() if m != 0}
    first = sympy.sqrt(sum(start[each] ** 2 for each in vector))
    size = abs(factor) * sympy.Mul(*(abs(start[each]) ** m for each, m in powers.items())) * first ** (n - 1)
    if n == 0:
        return _constant_length(abs(factor), powers, first, size, start)
    return _changing_length(abs(factor), powers, n, first, size, start)


def _constant_length(factor: Any, powers: dict[Any, Any], first: Any, size: Any, start: Start) -> Curve:
    """n = 0: x = c·aᵐ and q' = (r/h₀)·exp((a² − a₀²)/(2mr²))."""
    if len(powers) != 1:
        raise NoClosedFormError("the length of w must depend on exactly one scalar for a closed form")
    ((scalar, m),) = powers.items()
    a, begin = _SCALAR, abs(start[scalar])
    x, ratio = factor * a**m, (W / factor, 1 / m)
    slope = first / size * sympy.exp((a**2 - begin**2) / (2 * m * first**2))
    rate = slope * sympy.diff(x, a)
    found = sympy.integrate(rate, a) if m == 1 else unevaluated(rate, a, begin)
    value = found - found.subs(a, begin) if m == 1 else found
    return Curve(a, begin, x, slope, value, (W / factor) ** (1 / m), ratio=ratio)


def _changing_length(
    factor: Any, powers: dict[Any, Any], n: Any, first: Any, size: Any, start: Start
) -> Curve:
    """aⱼ² = mⱼ(r²/n + κⱼ) and q' = (r₀/h₀)·(r/r₀)^{1/n}."""
    r = _LENGTH
    kappa = {each: sympy.simplify(start[each] ** 2 / m - first**2 / n) for each, m in powers.items()}
    layers = sympy.Mul(*((m * (r**2 / n + kappa[each])) ** (m / 2) for each, m in powers.items()))
    x, slope = factor * r**n * layers, first / size * (r / first) ** (1 / n)
    if set(kappa.values()) <= {0}:
        total = n + sum(powers.values())
        factor = sympy.powsimp(sympy.simplify(x / r**total))
        degree = total + 1 / n
        value = first / size * first ** (-1 / n) * factor * total / degree * (r**degree - first**degree)
        ratio = (W / factor, 1 / total)
        return Curve(r, first, factor * r**total, slope, value, ratio[0] ** ratio[1], ratio=ratio)
    if n == 1 and list(powers.values()) == [1]:
        (delta,) = kappa.values()
        a = sympy.sqrt(r**2 + delta)
        value = factor / size * sympy.Rational(2, 3) * a * (r**2 - delta / 2)
        inverse = sympy.sqrt(sympy.sqrt((W / factor) ** 2 + delta**2 / 4) - delta / 2)
        return Curve(r, first, factor * r * a, slope, value - value.subs(r, first), inverse)
    value = unevaluated(slope * sympy.diff(x, r), r, first)
    return Curve(r, first, x, slope, value, None, f"no inverse of ‖w‖ = {x}, r = ‖v‖, is known")
