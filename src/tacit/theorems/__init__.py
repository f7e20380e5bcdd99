"""Theorems that can be evaluated for a model and data: assumptions, bounds, and whether they hold.

    check("woodworth2020/theorem2-l1", tacit.Diagonal(log_scale=-50), X, y, epsilon=0.1).summary()

They are defined in the folders of `tacit.papers`; `theorems()` lists them all.
"""

from types import ModuleType

from tacit.papers.catalogue import package_of, papers
from tacit.papers.statements import Theorem, check, theorem, theorems
from tacit.results.claims import Bound
from tacit.results.verdicts import Assumption, Premise, Setting, Verdict

__all__ = ["Assumption", "Bound", "Premise", "Setting", "Theorem", "Verdict", "check", "theorem", "theorems"]


def __getattr__(name: str) -> ModuleType:
    """Import the folder of a paper on first use."""
    if name in papers():
        return package_of(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
