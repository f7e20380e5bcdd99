"""What paths are asked for: data with two classes, values of μ, and the geometry at μ = 1."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from tacit.data.arrays import Float, as_floats, check_labelled, kept
from tacit.data.prepared import Design, design_of
from tacit.errors import InputError
from tacit.models import Diagonal
from tacit.models.model import Model
from tacit.solvers.interpolation.geometry import Separable, as_separable


def check_levels(
    X: Any, y: Any, mu: Any, intercept: bool = False, standardize: bool = False
) -> tuple[Design, Float, Float]:
    """Features, labels and the values of μ; an error by name if anything is out of range."""
    checked, y = check_labelled(X, y)
    levels = np.atleast_1d(as_floats(mu, "mu", ndim=(0, 1))).copy()
    if levels.size == 0 or not (levels > 0).all():
        raise InputError("mu must hold positive numbers, at least one")
    samples, features = checked.shape
    _check_memory(len(levels) * (features + 2 * samples), f"a path of {len(levels):,} values of μ")
    return design_of(X, checked, intercept, standardize), kept(y), levels


def _check_memory(numbers: int, what: str) -> None:
    """Refuse what takes more numbers than the memory of this machine holds; the message says how much."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return
    if 8 * numbers > memory:
        need, has = (f"{size / 2**30:,.0f} GiB" for size in (8 * numbers, memory))
        raise InputError(f"{what} would take {need} of memory, and this machine has {has}; ask for fewer")


def geometry_of(depth: Any, model: Any, features: int) -> Separable:
    """The potential at μ = 1: of a depth alone, or of a model's initialization."""
    if model is None:
        return as_separable(Diagonal(depth=depth).potential(), features)
    potential = model.potential(features) if isinstance(model, Model) else None
    if potential is None or potential.family != "separable":
        raise InputError(
            "model must be one whose potential is that of a diagonal network with tied layers or two, such "
            f"as Diagonal or UntiedDiagonal, got {model!r}; tacit.max_margin takes any potential"
        )
    if depth != 2 and depth != getattr(model, "depth", 2):
        raise InputError(f"give depth or model, not both: {model!r} has its own depth")
    separable = as_separable(potential, features)
    if separable.origin is not None:
        raise InputError(
            "the model must start at the predictor 0; from another start there is a flow, but no path"
        )
    return separable


def depth_of(geometry: Any) -> float:
    """D of the power p = D/(D−2) of a potential."""
    p = getattr(geometry, "power", None)
    if p is None:
        raise InputError(
            f"{type(geometry).__name__} is not the potential of a diagonal network with tied layers or two, "
            "and has no path"
        )
    return 2.0 if p == math.inf else 2 * p / (p - 1)
