"""Linear programs by HiGHS at its smallest tolerances."""

from __future__ import annotations

from typing import Any

from scipy.optimize import linprog

from tacit.errors import NotConvergedError
from tacit.numerics.rounding import Float

# The smallest tolerances that HiGHS accepts.
TIGHT: Any = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def solved_program(cost: Float, failure: str, **constraints: Any) -> Any:
    """argmin cost·x, with the constraints of SciPy's `linprog`; x ≥ 0 unless `bounds` are given.

    Raises `NotConvergedError` with the message `failure` if HiGHS does not solve the program.
    """
    program = linprog(cost, method="highs", options=TIGHT, **constraints)
    if program.status != 0 or program.x is None:
        raise NotConvergedError(f"{failure}: {program.message}")
    return program
