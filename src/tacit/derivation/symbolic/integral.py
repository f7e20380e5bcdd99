r"""Integrals from the start, by textbook rules or substitutions, and checked by quadrature.

SymPy's antiderivatives of real functions may contain logarithms of negative numbers and jumps between
branches (those in tan(x/2) at odd multiples of π). Arguments of logarithms are made positive at the start,
and a result is rejected unless it agrees with quadrature on both sides of the start as far as the function is
finite.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy
from sympy.integrals.manualintegrate import manualintegrate

from tacit.derivation.symbolic.curve import random_values, real_function, sign

# The check covers this many multiples of |start| (or of 1) on each side, in so many pieces.
_REACH, _PIECES = 4.0, 16
_NODES = 20  # Gauss–Legendre nodes on each piece
_RTOL = 1e-8  # largest error, relative to the integral of |function|
_POLE = 1e6  # multiple of the function at the start at which it is near a pole


def integral(function: Any, variable: Any, start: Any) -> Any:
    """∫ function from the start: evaluated if an antiderivative is found, else unevaluated."""
    function = sympy.simplify(function)
    for found in _antiderivatives(function, variable):
        if found.has(sympy.Integral) or found.has(sympy.I):
            continue
        found = _real_logarithms(found, variable, start)
        difference = found - found.subs(variable, start)
        if agrees(difference, function, variable, start):
            return sympy.simplify(difference)
    return unevaluated(function, variable, start)


def unevaluated(function: Any, variable: Any, start: Any) -> Any:
    """∫ function from the start, as an unevaluated integral."""
    within = sympy.Symbol("x", **variable.assumptions0)
    return sympy.Integral(sympy.simplify(function).subs(variable, within), (within, start, variable))


def _antiderivatives(function: Any, variable: Any) -> Iterator[Any]:
    """Antiderivatives by textbook rules, and by the substitutions x = log y and x = 2·atan y."""
    if function.is_rational_function(variable):
        yield sympy.integrate(function, variable)
        return
    yield manualintegrate(function, variable)
    if function.has(sympy.exp, sympy.sinh, sympy.cosh, sympy.tanh):
        y = sympy.Dummy("y", positive=True)
        inner = sympy.simplify(function.rewrite(sympy.exp).subs(variable, sympy.log(y)) / y)
        if inner.is_rational_function(y):
            yield sympy.integrate(inner, y).subs(y, sympy.exp(variable))
    if function.has(sympy.sin, sympy.cos, sympy.tan):
        y = sympy.Dummy("y", real=True)
        substitution = 2 * sympy.atan(y)
        inner = sympy.simplify(sympy.expand_trig(function).subs(variable, substitution) * 2 / (1 + y**2))
        if inner.is_rational_function(y):
            yield sympy.integrate(inner, y).subs(y, sympy.tan(variable / 2))


def _real_logarithms(found: Any, variable: Any, start: Any) -> Any:
    """The antiderivative with positive arguments of logarithms at the start; this changes a constant only."""

    def positive(inner: Any) -> Any:
        at_start = inner.subs(variable, start) if inner.has(variable) else sympy.S.One
        return sympy.log(-inner if sign(at_start) < 0 else inner)

    return found.replace(sympy.log, positive)


def agrees(difference: Any, function: Any, variable: Any, start: Any) -> bool:
    """Whether quadrature gives the same integral from the start, as far as the function is finite."""
    start = sympy.sympify(start)
    symbols = sympy.Tuple(difference, function, start).subs(variable, 0)
    values = random_values(symbols, np.random.default_rng(0))
    begin = float(sympy.N(start.subs(values)))
    exact, rate = (real_function(variable, each.subs(values)) for each in (difference, function))
    on_sides = (_agrees_on_side(exact, rate, begin, side) for side in (-1.0, 1.0))
    return all(on_sides) and _agrees_at_start(exact, rate, begin)


def _agrees_on_side(exact: Any, rate: Any, start: float, side: float) -> bool:
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)

    def quadrature(low: float, width: float) -> tuple[Any, float]:
        values = np.array([rate(low + width * (1 + node) / 2) for node in nodes])
        return values, float(width * (weights @ values) / 2)

    step = side * _REACH * (abs(start) or 1.0) / _PIECES
    if start != 0:
        step = side * min(abs(step), 0.25 * max(abs(start), 1.0))
    total = size = 0.0
    here, largest = start, _POLE * (abs(rate(start)) or 1.0)
    for _ in range(_PIECES):
        values, piece = quadrature(here, step)
        sampled = np.append(values, rate(here + step))
        ends = not np.isfinite(sampled).all() or np.ptp(np.sign(sampled)) > 1
        if ends or abs(sampled[-1]) > largest:
            return True
        size += float(abs(step) * (weights @ np.abs(values)) / 2)
        # At an end of the domain (x·log x at 0) the quadrature is not accurate enough for a comparison.
        halves = sum(quadrature(here + half * step / 2, step / 2)[1] for half in (0, 1))
        if not abs(halves - piece) <= 0.1 * _RTOL * size:
            return True
        total += piece
        here += step
        if not abs(exact(here) - total) <= _RTOL * (size or 1.0):
            return False
    return True


def _agrees_at_start(exact: Any, rate: Any, start: float) -> bool:
    """Whether the derivative at the start agrees, even close to a pole."""
    small = 1e-4 * (abs(start) or 1.0)
    change, expected = exact(start + small) - exact(start - small), 2 * small * rate(start)
    return bool(abs(change - expected) <= 1e-3 * abs(expected) + 1e-300)
