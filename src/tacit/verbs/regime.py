"""Kernel, rich, or in between: how far a limit is from those at infinite and at zero scale."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.data.arrays import Float
from tacit.data.inputs import Inputs
from tacit.errors import TacitError
from tacit.models.model import Model, check_model
from tacit.potentials import Potential
from tacit.potentials.arrays import quiet
from tacit.results.limit import Limit
from tacit.results.regime import NEAR, Regime
from tacit.solvers.table import Family, table_row
from tacit.verbs.flow import flow
from tacit.verbs.limit import limit

_ROUGHLY = 1e-8  # accuracy of a flow that stands for a limit, of which three digits are shown


def regime(model: Model | Potential, X: Inputs, y: ArrayLike) -> Regime:
    """Where between the kernel and the rich end the limit of gradient flow lies.

    It compares `tacit.limit` with the limits of the same model at infinite and at zero scale (Woodworth et
    al. 2020, Sections 3 and 4).

    Parameters
    ----------
    model : Model or Potential
        A model with its initialization.
    X : (N, d) array-like, or Prepared
        Rows are samples.
    y : (N,) array-like
        Targets.

    Returns
    -------
    Regime
        Its name, and the distances to both ends.

    Raises
    ------
    InputError, InconsistentDataError, NoPotentialError
        As `tacit.limit` does.

    Examples
    --------
    >>> import tacit
    >>> tacit.regime(tacit.Diagonal(scale=1e-8), [[1, 2]], [2]).name
    'rich'
    """
    check_model("regime(model, X, y)", model, X, y)
    family = table_row(model)
    if not family.known(model, X, y):
        return _followed(family, model, X, y)
    return limit(model, X, y).regime


def _unknown(rich_end: str) -> Regime:
    return Regime("unknown", math.nan, math.nan, math.nan, rich_end)


@quiet
def _followed(family: Family, model: Any, X: Any, y: Any) -> Regime:
    """Of where the flow ends, if only that tells."""
    try:
        run = flow(model, X, y, rtol=_ROUGHLY)
        ends = family.ends(run) if run.converged else None
    except TacitError:
        ends = None
    if ends is None:
        return _unknown(family.RICH_END)
    found = regime_between(run.predictor[-1], ends.kernel, ends.rich, run.final_kernel_distance)
    return replace(found, rich_end=family.RICH_END)


def regime_between(predictor: Float, kernel: Float, rich: Float, moved: float = math.nan) -> Regime:
    """By the distances of a predictor from both ends, and how far the tangent kernel has turned, if known."""
    to_kernel, to_rich = (relative_distance(predictor, end) for end in (kernel, rich))
    return Regime(_name(to_kernel, to_rich, 0.0 if math.isnan(moved) else moved), to_kernel, to_rich, moved)


@quiet
def regime_of(result: Limit) -> Regime:
    """The regime of a limit that is already known."""
    family = table_row(result.model)
    if not family.has_ends(result):
        return _unknown("")
    unknown = _unknown(family.RICH_END)
    if not result.converged:
        return unknown
    try:
        ends = family.ends(result)
        assert ends is not None
        distance = family.kernel_distance(result, ends, flow)
        found = regime_between(result.predictor, ends.kernel, ends.rich, distance)
    except np.linalg.LinAlgError:  # numbers beyond the range of floats
        return unknown
    if math.isnan(found.distance_to_kernel + found.distance_to_rich):
        return unknown
    return replace(found, name=family.RICH if found.name == "rich" else found.name, rich_end=family.RICH_END)


def both_ends(result: Limit) -> tuple[Float, Float] | None:
    """The limits at infinite and at zero scale; None where there is no scale."""
    if result.inside is not None and result.units is not None:
        inside, units = both_ends(result.inside), result.units
        return None if inside is None else (units.predictor(inside[0]), units.predictor(inside[1]))
    family = table_row(result.model)
    ends = family.ends(result) if family.has_ends(result) else None
    return None if ends is None else (ends.kernel, ends.rich)


def _name(to_kernel: float, to_rich: float, moved: float) -> str:
    if max(to_kernel, to_rich) < 1e-9:  # one solution: only the kernel's movement can tell
        return "kernel" if moved < NEAR else "rich"
    if min(to_kernel, to_rich) > NEAR:
        return "intermediate"
    return "kernel" if to_kernel < to_rich else "rich"


def relative_distance(w: Float, end: Float) -> float:
    """‖w − end‖₂ / max(‖w‖₂, ‖end‖₂)."""
    unit = max(np.abs(w).max(), np.abs(end).max()) or 1.0  # norms of large numbers would overflow
    size = max(np.linalg.norm(w / unit), np.linalg.norm(end / unit))
    return float(np.linalg.norm((w - end) / unit) / (size or 1.0))
