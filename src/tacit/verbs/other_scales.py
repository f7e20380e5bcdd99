"""Limits at other scales, and the predicted limit of a trajectory, for their pictures."""

from __future__ import annotations

import numpy as np

from tacit.data.arrays import Float
from tacit.data.entries import Entries
from tacit.data.prepared import prepare
from tacit.errors import NoPotentialError, TacitError
from tacit.results.limit import Limit, OtherScales
from tacit.results.trajectory import Trajectory
from tacit.show.progress import progress
from tacit.solvers.table import table_row
from tacit.verbs.limit import limit
from tacit.verbs.regime import both_ends, relative_distance

_DECADES = 8  # powers of 10 in the predictor's scale, to either side of that of the model
_RICH_ENDS = {"ℓ1": r"rich end ($\ell_1$)", "nuclear norm": "rich end (nuclear norm)"}


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
        except NoPotentialError:  # the output weight of a neuron changes sign, a network is not small
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
    options = {} if units is None else {"intercept": units.intercept, "standardize": units.standardized}
    options["least_squares"] = trajectory.unfitted > 0
    try:
        # `limit` would integrate a flow to report how far the model is from the nearest theorem.
        if not table_row(trajectory.model).known(trajectory.model, trajectory.X, trajectory.y):
            return None
        return limit(trajectory.model, trajectory.X, trajectory.y, **options).predictor
    except TacitError:
        return None
