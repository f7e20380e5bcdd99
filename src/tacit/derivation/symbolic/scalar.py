r"""One coordinate w = f(θ): its terms along the gradient flow θ' = ∇f(θ) with time z.

Terms that share no parameter move independently. These terms have a formula:

    quadratic      θ' = Aθ + b:                    Σ c·e^{kz} + linear
    c·∏θⱼ^{nⱼ}     if θⱼ²/nⱼ − θᵢ²/nᵢ are all 0:   C·(b + kz)^{n/(2−n)}, n = Σnⱼ; else an integral
    c·e^{kθ}       (e^{−kθ})' = −ck²:              c/(b − ck²z)

The differences θⱼ²/nⱼ − θᵢ²/nᵢ are conserved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import sympy

from tacit.derivation.symbolic.curve import SLOPE, Curve, W, exponential, hyperbolic, power, sign, straight
from tacit.derivation.symbolic.integral import integral
from tacit.errors import NoClosedFormError

Start = dict[Any, Any]
_DIGITS = 40  # digits to which an inverse must reproduce the start; other branches differ in the first digit
_NO_INVERSE = "has no inverse in elementary functions that is known here"


@dataclass
class _Sum:
    """The terms of c + rate·z + Σ factor·e^{kz} + Σ C·(b + kz)^m."""

    constant: Any = sympy.S.Zero
    rate: Any = sympy.S.Zero
    exponentials: dict[Any, Any] = field(default_factory=dict)
    powers: list[tuple[Any, Any, Any, Any]] = field(default_factory=list)

    def curve(self) -> Curve:
        """The curve, with the simplest parameter that these terms allow."""
        factors = {k: sympy.simplify(c) for k, c in self.exponentials.items()}
        factors = {k: c for k, c in factors.items() if sign(c) != 0}
        if not factors and not self.powers:
            if sign(self.rate) == 0:
                raise NoClosedFormError("w does not move from this start, which is a critical point of it")
            return straight(self.constant, self.rate)
        if self.rate == 0 and not self.powers:
            rates = sorted(factors, key=sign, reverse=True)
            if len(rates) == 1:
                return exponential(self.constant, factors[rates[0]], rates[0])
            if len(rates) == 2 and sympy.simplify(sum(rates)) == 0:
                up, down = rates
                return hyperbolic(self.constant, factors[up], factors[down], up)
        if self.rate == 0 and not factors and len(self.powers) == 1:
            return power(self.constant, *self.powers[0])
        return self._by_slope(factors)

    def _by_slope(self, factors: dict[Any, Any]) -> Curve:
        """The curve with the slope as parameter; its inverse is known if w(z) = w is a quadratic equation."""
        predictor = self.constant + self.rate * SLOPE
        total = self.constant * SLOPE + self.rate * SLOPE**2 / 2
        for k, c in factors.items():
            predictor += c * sympy.exp(k * SLOPE)
            total += c / k * (sympy.exp(k * SLOPE) - 1)
        for factor, first, k, m in self.powers:
            t = first + k * SLOPE
            predictor += factor * t**m
            integral_of_power = (
                sympy.log(t / first) if m == -1 else (t ** (m + 1) - first ** (m + 1)) / (m + 1)
            )
            total += factor / k * integral_of_power
        inverse = None if factors else _quadratic_root(predictor)
        why = "" if inverse is not None else f"w = {predictor}, z = Q'(w), {_NO_INVERSE}"
        return Curve(SLOPE, sympy.S.Zero, predictor, SLOPE, SLOPE * predictor - total, inverse, why)


def _quadratic_root(predictor: Any) -> Any:
    """The root z of w(z) = w that is 0 at the start, free of cancellation; None if it is not quadratic."""
    numerator = sympy.numer(sympy.together(predictor - W))
    if not numerator.is_polynomial(SLOPE) or sympy.degree(numerator, SLOPE) != 2:
        return None
    square, linear, rest = (sympy.factor(each) for each in sympy.Poly(numerator, SLOPE).all_coeffs())
    side = sign(linear.subs(W, predictor.subs(SLOPE, 0)))
    root = sympy.sqrt(sympy.factor(linear**2 - 4 * square * rest))
    return sympy.simplify(-2 * rest / (linear + side * root)) if side else None


def scalar_curve(expression: Any, parameters: Sequence[Any], start: Start) -> Curve:
    """The curve of w = f(θ) from the start; raises `NoClosedFormError` for terms without a formula."""
    terms = _blocks(sympy.expand(expression), parameters)
    moving = [term for term in terms if term[1]]
    constant = sum((block for block, symbols in terms if not symbols), sympy.S.Zero)
    single = _single_block(*moving[0], start) if len(moving) == 1 else None
    if single is not None:
        return _shifted(single, constant)
    parts = _Sum(constant)
    for block, symbols in moving:
        _add(parts, block, symbols, start)
    return parts.curve()


def _blocks(expression: Any, parameters: Sequence[Any]) -> list[tuple[Any, tuple[Any, ...]]]:
    """The groups of terms that share no parameter, each with its parameters."""
    groups: list[tuple[Any, set[Any]]] = []
    for term in sympy.Add.make_args(expression):
        symbols = term.free_symbols & set(parameters)
        touched = [group for group in groups if group[1] & symbols or not (group[1] or symbols)]
        groups = [group for group in groups if group not in touched]
        groups.append((sum([g[0] for g in touched], term), set().union(symbols, *(g[1] for g in touched))))
    return [(block, tuple(each for each in parameters if each in symbols)) for block, symbols in groups]


def _add(parts: _Sum, block: Any, symbols: tuple[Any, ...], start: Start) -> None:
    """Add the motion of a block to the sum."""
    if block.is_polynomial(*symbols) and sympy.Poly(block, *symbols).total_degree() <= 2:
        _add_quadratic(parts, block, symbols, start)
        return
    monomial = exponents(block, symbols)
    if monomial is not None:
        factor, powers = monomial
        imbalances = {
            sympy.simplify(start[each] ** 2 / n - start[symbols[0]] ** 2 / powers[symbols[0]])
            for each, n in powers.items()
        }
        if imbalances == {0}:
            parts.powers.append(_balanced(factor, powers, start))
            return
        raise NoClosedFormError(
            f"the layers of {block} start at different sizes, and then the sum with other terms has no "
            "formula"
        )
    rate = _exponential_rate(block, symbols)
    if rate is None:
        raise NoClosedFormError(f"{block} is neither quadratic, a product of powers, nor an exponential")
    factor = sympy.simplify(block / sympy.exp(rate * symbols[0]))
    first = sympy.exp(-rate * start[symbols[0]])
    parts.powers.append((factor, first, -factor * rate**2, sympy.Integer(-1)))


def _add_quadratic(parts: _Sum, block: Any, symbols: tuple[Any, ...], start: Start) -> None:
    """Add ½θᵀAθ + bᵀθ + c along θ' = Aθ + b, by the eigenspaces of A."""
    A = sympy.hessian(block, symbols)
    zeros = dict.fromkeys(symbols, 0)
    b = sympy.Matrix([sympy.diff(block, each).subs(zeros) for each in symbols])
    theta = sympy.Matrix([start[each] for each in symbols])
    parts.constant += block.subs(zeros)
    for value, _, vectors in A.eigenvects():
        basis = sympy.Matrix.hstack(*vectors)
        projection = basis * (basis.T * basis).inv() * basis.T
        drift = sympy.simplify((b.T * projection * b)[0])
        if sympy.simplify(value) == 0:
            parts.constant += (b.T * projection * theta)[0]
            parts.rate += drift
            continue
        shifted = projection * (theta + b / value)
        factor = sympy.factor(value * (shifted.T * shifted)[0] / 2)
        rate = sympy.simplify(2 * value)
        parts.constant -= drift / (2 * value)
        parts.exponentials[rate] = parts.exponentials.get(rate, 0) + factor


def exponents(block: Any, symbols: Sequence[Any]) -> tuple[Any, dict[Any, Any]] | None:
    """c and the nⱼ of c·∏θⱼ^{nⱼ}; None if the block is not such a product."""
    factor, powers = block, {}
    for each in symbols:
        power_of = sympy.simplify(each * sympy.diff(block, each) / block)
        if power_of.free_symbols & set(symbols):
            return None
        powers[each] = power_of
        factor = factor / each**power_of
    factor = sympy.powsimp(sympy.simplify(factor), force=True)
    return None if factor.free_symbols & set(symbols) else (factor, powers)


def _exponential_rate(block: Any, symbols: Sequence[Any]) -> Any:
    """k of c·e^{kθ}; None if the block does not have this form."""
    if len(symbols) != 1:
        return None
    rate = sympy.simplify(sympy.diff(block, symbols[0]) / block)
    return None if rate.free_symbols & set(symbols) else rate


def _balanced(factor: Any, powers: dict[Any, Any], start: Start) -> tuple[Any, Any, Any, Any]:
    """The power of time for balanced layers, θⱼ = ±√nⱼ·τ: τ' = Kτ^{n−1}, w = Kτⁿ, τ^{2−n} is linear in z."""
    signs = sympy.Mul(*(sign(start[each]) ** n for each, n in powers.items()))
    K = factor * signs * sympy.Mul(*(n ** (n / 2) for n in powers.values()))
    total = sum(powers.values())
    layer, n = next(iter(powers.items()))  # τ is measured in units of this layer
    rate = (2 - total) * K * n ** ((2 - total) / 2)
    first = sympy.simplify(abs(start[layer]) ** (2 - total))
    return K / n ** (total / 2), first, rate, total / (2 - total)


def _single_block(block: Any, symbols: tuple[Any, ...], start: Start) -> Curve | None:
    """The curve of a single block that needs an integral; None if it needs none."""
    if block.is_polynomial(*symbols) and sympy.Poly(block, *symbols).total_degree() <= 2:
        return None
    monomial = exponents(block, symbols)
    if monomial is not None and len(symbols) > 1:
        factor, powers = monomial
        return _layers(factor, powers, start)
    if monomial is None and _exponential_rate(block, symbols) is None and len(symbols) == 1:
        return _univariate(block, symbols[0], start[symbols[0]])
    return None


def _layers(factor: Any, powers: dict[Any, Any], start: Start) -> Curve | None:
    """c·∏θⱼ^{nⱼ} as a function of its smallest layer s, |θⱼ| = √(nⱼ(s² + μⱼ²)); None if all μ are 0."""
    sizes = {each: start[each] ** 2 / n for each, n in powers.items()}
    smallest = next(each for each in sizes if all(sign(sizes[other] - sizes[each]) >= 0 for other in sizes))
    mu = {each: sympy.simplify(sizes[each] - sizes[smallest]) for each in sizes}
    if set(mu.values()) == {0}:
        return None
    least = sum(n for each, n in powers.items() if mu[each] == 0)
    # The smallest layer can change its sign only if it is a single one.
    s = sympy.Symbol("s", real=True) if least == 1 else sympy.Symbol("s", positive=True)
    begin = sympy.sqrt(sizes[smallest])
    signs = sympy.Mul(*(sign(start[each]) ** n * n ** (n / 2) for each, n in powers.items()))
    others = sympy.Mul(*((s**2 + mu[each]) ** (n / 2) for each, n in powers.items() if mu[each] != 0))
    predictor = factor * signs * s**least * others
    slope = integral(s / predictor, s, begin)  # s' = w/s
    value = slope * predictor - (s**2 - begin**2) / 2
    why = f"no inverse of w = {predictor}, with the smallest layer s, is known"
    return Curve(s, begin, predictor, slope, value, None, why)


def _univariate(block: Any, symbol: Any, begin: Any) -> Curve:
    """w = f(θ) of one θ: z = ∫ dθ/f'(θ)."""
    rate = sympy.diff(block, symbol)
    slope = integral(1 / rate, symbol, begin)
    value = slope * block - integral(block / rate, symbol, begin)
    if slope.has(sympy.Integral):
        raise NoClosedFormError(f"no antiderivative of 1/({rate}), the slope of Q, was found")
    roots = [each for each in _inverses(block, symbol) if _is_root(each, block.subs(symbol, begin), begin)]
    inverse = roots[0] if len(roots) == 1 and not roots[0].has(sympy.I) else None
    why = "" if inverse is not None else f"w = {block} {_NO_INVERSE}"
    return Curve(symbol, begin, block, slope, value, inverse, why)


def _inverses(block: Any, symbol: Any) -> list[Any]:
    """The solutions θ of f(θ) = w that SymPy finds."""
    try:
        return list(sympy.solve(block - W, symbol))
    except NotImplementedError:
        return []


def _is_root(root: Any, w: Any, begin: Any) -> bool:
    """Whether the root reproduces the start; numerical, as `simplify` misses log(√(1 + sinh²x) + …) = x."""
    gap = root.subs(W, w) - begin
    if not gap.free_symbols:
        return bool(abs(sympy.N(gap, _DIGITS)) <= sympy.Float(10) ** (5 - _DIGITS) * (1 + abs(begin)))
    return bool(sympy.simplify(gap) == 0)


def _shifted(curve: Curve, by: Any) -> Curve:
    """The curve of w plus a constant."""
    if by == 0:
        return curve
    inverse = None if curve.inverse is None else curve.inverse.subs(W, W - by)
    return replace(curve, predictor=curve.predictor + by, inverse=inverse)
