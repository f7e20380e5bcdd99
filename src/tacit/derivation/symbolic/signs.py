"""Signs of expressions, which decide what form an integral has."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy

from tacit.errors import InputError

_DRAWS = 12  # generic values of the symbols, where SymPy itself cannot tell a sign


def sign(expression: Any) -> int:
    """−1, 0 or 1: as SymPy knows it, or the same at all generic values that its symbols may have."""
    expression = sympy.sympify(expression)
    for known, value in ((expression.is_zero, 0), (expression.is_positive, 1), (expression.is_negative, -1)):
        if known:
            return value
    if sympy.simplify(expression) == 0:
        return 0
    rng = np.random.default_rng(0)
    found = {_drawn_sign(expression, rng) for _ in range(_DRAWS)}
    if len(found) != 1:
        raise InputError(
            f"the sign of {expression} decides the form: declare its symbols positive "
            "(sympy.symbols(…, positive=True)), or give numbers"
        )
    return found.pop()


def _drawn_sign(expression: Any, rng: np.random.Generator) -> int:
    return int(np.sign(float(sympy.re(sympy.N(expression.subs(drawn(expression, rng)))))))


def drawn(expression: Any, rng: np.random.Generator) -> dict[Any, Any]:
    """Generic values of the symbols, positive or negative where these are declared to be."""
    values = {}
    for symbol in sorted(expression.free_symbols, key=str):
        value = float(rng.standard_normal())
        one_sided = symbol.is_nonnegative or symbol.is_nonpositive
        size = abs(value) if one_sided else value
        values[symbol] = sympy.Float(-size if symbol.is_nonpositive else size)
    return values
