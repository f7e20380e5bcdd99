"""The regime of a model on data: relative distances of its limit to those at infinite and at zero scale."""

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
from tacit.results.regime import NEAR, ONE_SOLUTION, Regime
from tacit.solvers.table import Family, table_row
from tacit.verbs.flow import flow
from tacit.verbs.limit import limit

_RTOL = 1e-8  # of a flow that is integrated instead of computing a limit; distances are shown to three digits


def regime(model: Model | Potential, X: Inputs, y: ArrayLike) -> Regime:
    """Compare the limit of gradient flow with the limits at infinite scale (kernel) and at zero scale (rich).

    The regime is "kernel" or "rich" if the relative distance to that limit is below 10%, and "intermediate"
    otherwise (Woodworth et al. 2020, Sections 3 and 4).

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
        As for `tacit.limit`.

    Examples
    --------
    >>> import tacit
    >>> tacit.regime(tacit.Diagonal(scale=1e-8), [[1, 2]], [2]).name
    'rich'
    """
    check_model("regime(model, X, y)", model, X, y)
    family = table_row(model)
    if not family.known(model, X, y):
        return _by_flow(family, model, X, y)
    return limit(model, X, y).regime


def _unknown(rich_end: str) -> Regime:
    return Regime("unknown", math.nan, math.nan, math.nan, rich_end)


@quiet
def _by_flow(family: Family, model: Any, X: Any, y: Any) -> Regime:
    """The regime of the end of the flow, for models without a known potential."""
    try:
        run = flow(model, X, y, rtol=_RTOL)
        ends = family.ends(run) if run.converged else None
    except TacitError:
        ends = None
    if ends is None:
        return _unknown(family.RICH_END)
    found = regime_between(run.predictor[-1], ends.kernel, ends.rich, run.final_kernel_distance)
    return replace(found, rich_end=family.RICH_END)


def regime_between(predictor: Float, kernel: Float, rich: Float, moved: float = math.nan) -> Regime:
    """The regime of a predictor between two ends. moved: 1 − cos∠(K₀, K∞) of tangent kernels, if known."""
    to_kernel, to_rich = (relative_distance(predictor, end) for end in (kernel, rich))
    return Regime(_name(to_kernel, to_rich, 0.0 if math.isnan(moved) else moved), to_kernel, to_rich, moved)


@quiet
def regime_of(result: Limit) -> Regime:
    """The regime of a limit that is already computed."""
    family = table_row(result.model)
    if not family.has_ends(result):
        return _unknown("")
    unknown = _unknown(family.RICH_END)
    if not result.converged:
        return unknown
    try:
        ends = family.ends(result)
        assert ends is not None
        found = regime_between(
            result.predictor, ends.kernel, ends.rich, family.kernel_distance(result, ends, flow)
        )
    except np.linalg.LinAlgError:  # an end is outside the range of floats
        return unknown
    if math.isnan(found.distance_to_kernel + found.distance_to_rich):
        return unknown
    return replace(found, name=family.RICH if found.name == "rich" else found.name, rich_end=family.RICH_END)


def both_ends(result: Limit) -> tuple[Float, Float] | None:
    """The limits at infinite and at zero scale; None if the model has no scale."""
    if result.inside is not None and result.units is not None:
        inside, units = both_ends(result.inside), result.units
        return None if inside is None else (units.predictor(inside[0]), units.predictor(inside[1]))
    family = table_row(result.model)
    ends = family.ends(result) if family.has_ends(result) else None
    return None if ends is None else (ends.kernel, ends.rich)


def _name(to_kernel: float, to_rich: float, moved: float) -> str:
    if max(to_kernel, to_rich) < ONE_SOLUTION:  # both ends are one solution: the change of the kernel decides
        return "kernel" if moved < NEAR else "rich"
    if min(to_kernel, to_rich) > NEAR:
        return "intermediate"
    return "kernel" if to_kernel < to_rich else "rich"


def relative_distance(w: Float, end: Float) -> float:
    """‖w − end‖₂ / max(‖w‖₂, ‖end‖₂)."""
    unit = max(np.abs(w).max(), np.abs(end).max()) or 1.0  # because squares of large numbers overflow
    size = max(np.linalg.norm(w / unit), np.linalg.norm(end / unit))
    return float(np.linalg.norm((w - end) / unit) / (size or 1.0))
