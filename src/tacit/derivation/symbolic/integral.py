r"""Integrals from the start: by rules of textbooks or substitutions, and checked by quadrature.

SymPy's antiderivatives of real functions may have logarithms of negative numbers and jumps between branches
(those in tan(x/2) at odd multiples of π): logarithms are taken of what is positive at the start, and what
does not agree with quadrature on both sides of the start, as far as the function is finite, is no
antiderivative.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy
from sympy.integrals.manualintegrate import manualintegrate

from tacit.derivation.symbolic.signs import drawn, sign

_REACH, _STEPS = 4.0, 16  # how far on each side of the start it is checked, and in how many pieces
_NODES = 20  # of Gauss and Legendre on each
_AGREES = 1e-8  # relative to the integral of the size of the function
_WILD = 1e6  # times the function at the start: near a pole


def integral(function: Any, variable: Any, begun: Any) -> Any:
    """∫ from the start, evaluated where an antiderivative is found, and left as it is elsewhere."""
    function = sympy.simplify(function)
    for found in _antiderivatives(function, variable):
        if found.has(sympy.Integral) or found.has(sympy.I):
            continue
        found = _real(found, variable, begun)
        difference = found - found.subs(variable, begun)
        if agrees(difference, function, variable, begun):
            return sympy.simplify(difference)
    return left(function, variable, begun)


def left(function: Any, variable: Any, begun: Any) -> Any:
    """∫ from the start, as it is."""
    within = sympy.Symbol("x", **variable.assumptions0)
    return sympy.Integral(sympy.simplify(function).subs(variable, within), (within, begun, variable))


def _antiderivatives(function: Any, variable: Any) -> Iterator[Any]:
    """Those of textbooks, and those of substitutions x = log y and x = 2·atan y."""
    if function.is_rational_function(variable):
        yield sympy.integrate(function, variable)
        return
    yield manualintegrate(function, variable)
    if function.has(sympy.exp, sympy.sinh, sympy.cosh, sympy.tanh):
        y = sympy.Dummy("y", positive=True)
        inside = sympy.simplify(function.rewrite(sympy.exp).subs(variable, sympy.log(y)) / y)
        if inside.is_rational_function(y):
            yield sympy.integrate(inside, y).subs(y, sympy.exp(variable))
    if function.has(sympy.sin, sympy.cos, sympy.tan):
        y = sympy.Dummy("y", real=True)
        half = 2 * sympy.atan(y)
        inside = sympy.simplify(sympy.expand_trig(function).subs(variable, half) * 2 / (1 + y**2))
        if inside.is_rational_function(y):
            yield sympy.integrate(inside, y).subs(y, sympy.tan(variable / 2))


def _real(found: Any, variable: Any, begun: Any) -> Any:
    """With logarithms of what is positive at the start, which differ by constants."""

    def turned(inside: Any) -> Any:
        at_start = inside.subs(variable, begun) if inside.has(variable) else sympy.S.One
        return sympy.log(-inside if sign(at_start) < 0 else inside)

    return found.replace(sympy.log, turned)


def agrees(difference: Any, function: Any, variable: Any, begun: Any) -> bool:
    """Is it the integral from the start, by quadrature, as far as the function is finite on both sides?"""
    rng = np.random.default_rng(0)
    values = drawn(sympy.Tuple(difference, function, sympy.sympify(begun)).subs(variable, 0), rng)
    start = float(sympy.N(sympy.sympify(begun).subs(values)))
    exact, rate = (
        sympy.lambdify(variable, each.subs(values), modules=["scipy", "numpy"])
        for each in (difference, function)
    )
    with np.errstate(all="ignore"):
        return all(_agrees_on_a_side(exact, rate, start, side) for side in (-1.0, 1.0)) and _moves(
            exact, rate, start
        )


def _agrees_on_a_side(exact: Any, rate: Any, start: float, side: float) -> bool:
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    step = side * _REACH * (abs(start) or 1.0) / _STEPS
    if start != 0:
        step = side * min(abs(step), 0.25 * max(abs(start), 1.0))
    total = size = 0.0
    here, first = start, abs(_number(rate, start))
    for _ in range(_STEPS):
        inside = np.array([_number(rate, here + step * (1 + node) / 2) for node in nodes])
        edge = _number(rate, here + step)
        signs = np.sign([*inside, edge])
        if not np.isfinite([*inside, edge]).all() or np.ptp(signs) > 1 or abs(edge) > _WILD * (first or 1.0):
            return True
        piece = float(step * (weights @ inside) / 2)
        size += float(abs(step) * (weights @ np.abs(inside)) / 2)
        # At an end of the domain (x·log x at 0) the quadrature is not accurate enough to compare with.
        halves = sum(
            _number(rate, here + step * (1 + node + 2 * half) / 4) * weight * step / 4
            for half in (0, 1)
            for node, weight in zip(nodes, weights, strict=True)
        )
        if not abs(halves - piece) <= 0.1 * _AGREES * size:
            return True
        total += piece
        here += step
        if not abs(_number(exact, here) - total) <= _AGREES * (size or 1.0):
            return False
    return True


def _moves(exact: Any, rate: Any, start: float) -> bool:
    """Does its derivative at the start agree too, whatever poles are near?"""
    small = 1e-4 * (abs(start) or 1.0)
    change = _number(exact, start + small) - _number(exact, start - small)
    expected = 2 * small * _number(rate, start)
    return bool(abs(change - expected) <= 1e-3 * abs(expected) + 1e-300)


def _number(function: Any, at: float) -> float:
    """NaN where it is not real."""
    try:
        found = complex(function(np.float64(at)))
    except (OverflowError, ZeroDivisionError, ValueError, TypeError):
        return float("nan")
    return found.real if abs(found.imag) <= 1e-12 * abs(found.real) else float("nan")
