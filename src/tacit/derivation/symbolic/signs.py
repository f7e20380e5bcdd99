"""Signs of expressions, which decide the form of an integral."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy

from tacit.errors import InputError

_DRAWS = 12  # random values of the symbols, used if SymPy itself cannot determine a sign


def sign(expression: Any) -> int:
    """−1, 0 or 1, as SymPy knows it, or if it is the same at all random values of the symbols."""
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


def random_values(expression: Any, rng: np.random.Generator) -> dict[Any, Any]:
    """Random values of the symbols, with the signs that the symbols are declared to have."""
    values = {}
    for symbol in sorted(expression.free_symbols, key=str):
        value = float(rng.standard_normal())
        one_sided = symbol.is_nonnegative or symbol.is_nonpositive
        size = abs(value) if one_sided else value
        values[symbol] = sympy.Float(-size if symbol.is_nonpositive else size)
    return values
