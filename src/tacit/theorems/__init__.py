"""Theorems as objects that can be asked about data: assumptions, bounds, and whether they hold.

    check("woodworth2020/theorem2-l1", tacit.Diagonal(log_scale=-50), X, y, epsilon=0.1).summary()

One file per paper; `theorems()` lists every statement.
"""

from tacit.theorems import (
    azulay2021,
    min2021,
    min2021_width,
    moroshko2020,
    moroshko2020_regimes,
    woodworth2020,
    woodworth2020_limits,
)
from tacit.theorems.registry import Assumption, Bound, Theorem, Verdict, check, theorem, theorems

__all__ = [
    "Assumption",
    "Bound",
    "Theorem",
    "Verdict",
    "azulay2021",
    "check",
    "min2021",
    "min2021_width",
    "moroshko2020",
    "moroshko2020_regimes",
    "theorem",
    "theorems",
    "woodworth2020",
    "woodworth2020_limits",
]
