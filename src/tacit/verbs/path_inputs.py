"""Arguments of paths over μ: data with two classes, values of μ, and the potential at μ = 1."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from tacit.data.arrays import Float, as_floats, check_labelled, kept
from tacit.data.prepared import Design, design_of
from tacit.errors import InputError
from tacit.models import Diagonal
from tacit.solvers.interpolation.geometry import Separable, as_separable


def check_levels(
    X: Any, y: Any, mu: Any, intercept: bool = False, standardize: bool = False
) -> tuple[Design, Float, Float]:
    """Validate features, labels and values of μ."""
    checked, y = check_labelled(X, y)
    levels = np.atleast_1d(as_floats(mu, "mu", ndim=(0, 1))).copy()
    if levels.size == 0 or not (levels > 0).all():
        found = f"{levels.min():g}" if levels.size else "an empty list"
        raise InputError(f"mu must be one or more positive numbers, got {found}")
    samples, features = checked.shape
    _check_memory(len(levels) * (features + 2 * samples), f"a path of {len(levels):,} values of μ")
    return design_of(X, checked, intercept, standardize), kept(y), levels


def _check_memory(numbers: int, what: str) -> None:
    """Raise `InputError` if this many numbers do not fit into the memory of this machine."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return
    if 8 * numbers > memory:
        need, has = (f"{size / 2**30:,.0f} GiB" for size in (8 * numbers, memory))
        raise InputError(f"{what} needs {need} of memory, but this machine has {has}; pass fewer values of μ")


def geometry_of(depth: Any, model: Any, features: int) -> Separable:
    """The potential at μ = 1, for a depth or for a model with its initialization."""
    if model is None:
        return as_separable(Diagonal(depth=depth).potential(), features)
    made = getattr(model, "potential", None)
    potential = made(features) if callable(made) else None
    if potential is None or potential.family != "separable":
        raise InputError(
            "model must be a diagonal network with tied layers or with two layers, such as Diagonal or "
            f"UntiedDiagonal, got {model!r}; tacit.max_margin accepts any potential"
        )
    if depth != 2 and depth != getattr(model, "depth", 2):
        raise InputError(f"give depth or model, not both: the depth of {model!r} is fixed")
    separable = as_separable(potential, features)
    if separable.origin is not None:
        raise InputError(
            "the predictor of the model must be 0 at initialization, because paths over μ are defined for "
            "such models only; tacit.flow accepts others"
        )
    return separable


def depth_of(geometry: Any) -> float:
    """The depth D of a potential with power p = D/(D−2)."""
    p = getattr(geometry, "power", None)
    if p is None:
        raise InputError(
            f"{type(geometry).__name__} is not the potential of a diagonal network with tied layers or with "
            "two layers, and has no path over μ"
        )
    return 2.0 if p == math.inf else 2 * p / (p - 1)
