"""The regime of a model on data: distances of its limit to both ends of the scale, also at other scales."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.data.arrays import Float
from tacit.data.entries import Entries, Inputs
from tacit.data.prepared import prepare
from tacit.errors import NoPotentialError, TacitError
from tacit.models.model import Model, check_model
from tacit.potentials import Potential
from tacit.potentials.arrays import quiet
from tacit.results.limit import Limit, OtherScales
from tacit.results.regime import NEAR, ONE_SOLUTION, Regime
from tacit.results.trajectory import Trajectory
from tacit.show.progress import progress
from tacit.solvers.table import Family, table_row
from tacit.verbs.flow import flow
from tacit.verbs.limit import limit

_RTOL = 1e-8  # of a flow that is integrated instead of computing a limit; distances are shown to three digits
_DECADES = 8  # powers of 10 in the predictor's scale, to either side of that of the model
_RICH_ENDS = {"ℓ1": r"rich end ($\ell_1$)", "nuclear norm": "rich end (nuclear norm)"}


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
    except np.linalg.LinAlgError:  # an end is outside the floating-point range
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


def other_scales(result: Limit) -> OtherScales | None:
    """Distances to both ends for a range of scales; None if the model has no ends."""
    solved = result.inside or result  # distances are measured in the units in which the problem is solved
    here = both_ends(solved)
    if here is None:
        return None
    family = table_row(solved.model)
    inputs = prepare(solved.X) if solved.X.ndim == 2 else solved.X
    decades = np.linspace(-_DECADES, _DECADES, family.DECADES if _has_scale(solved) else 0)
    distances = np.full((2, len(decades)), np.nan)
    for i in progress(range(len(decades)), "limits at other scales"):
        try:
            model = solved.model.shifted(decades[i] * np.log(10), solved.X.shape[1])
            other = limit(model, inputs, solved.y)
        except NoPotentialError:  # the output weight of a neuron changes sign, or the network is not small
            continue
        ends = both_ends(other) if family.ENDS_MOVE else here
        distances[:, i] = [relative_distance(other.predictor, end) for end in ends or ()]
    kernel, rich = both_ends(result) or here
    rich_end = _RICH_ENDS.get(result.regime.rich_end, r"anti-kernel end (least $\ell_2$ norm)")
    return OtherScales(kernel.ravel(), rich.ravel(), rich_end, 10.0**decades, *distances)


def _has_scale(result: Limit) -> bool:
    """Whether the model can be rescaled."""
    try:
        return result.model.shifted(0.0, result.X.shape[1]) is not None
    except NoPotentialError:  # a factorization, which has a potential for commuting measurements only
        return False


def predicted_end(trajectory: Trajectory) -> Float | None:
    """The limit of the flow as computed by `limit`; None if it is not known."""
    if trajectory.linearized or trajectory.loss_function.separating:
        return None
    if isinstance(trajectory.X, Entries):  # measurements of single entries do not commute
        return None
    units = trajectory.units
    options: dict[str, Any] = (
        {} if units is None else {"intercept": units.intercept, "standardize": units.standardized}
    )
    options["least_squares"] = trajectory.unfitted > 0
    try:
        # `limit` would integrate a flow to report how far the model is from the nearest theorem.
        if not table_row(trajectory.model).known(trajectory.model, trajectory.X, trajectory.y):
            return None
        return limit(trajectory.model, trajectory.X, trajectory.y, **options).predictor
    except TacitError:
        return None
