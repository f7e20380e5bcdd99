"""Theorems as objects that can be asked about data: assumptions, bounds, and whether they hold.

    check("woodworth2020/theorem2-l1", tacit.Diagonal(log_scale=-50), X, y, epsilon=0.1).summary()

A folder for each paper, whose table THEOREMS says which module has which statement; `theorems()` lists all.
"""

import importlib
from types import ModuleType

from tacit import keys
from tacit.theorems.registry import Assumption, Bound, Theorem, Verdict, check, theorem, theorems

__all__ = ["Assumption", "Bound", "Theorem", "Verdict", "check", "theorem", "theorems"]


def __getattr__(name: str) -> ModuleType:
    """The folders of papers, on first use."""
    if name in keys.PAPERS:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
