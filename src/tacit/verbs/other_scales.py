"""A limit between its two ends: how far it would be from them at other scales."""

from __future__ import annotations

import numpy as np

from tacit.data.arrays import Float
from tacit.data.entries import Entries
from tacit.data.prepared import prepare
from tacit.errors import NoPotentialError, TacitError
from tacit.results.limit import Limit
from tacit.results.other_scales import OtherScales
from tacit.results.trajectory import Trajectory
from tacit.show.progress import progress
from tacit.solvers.table import table_row
from tacit.verbs.limit import limit
from tacit.verbs.regime import both_ends, relative_distance

_DECADES = 8  # of the predictor's scale, to either side of the model's own


def other_scales(result: Limit) -> OtherScales | None:
    """From the kernel end to the rich one, through other scales; None where there are no ends."""
    solved = result.inside or result  # distances are those of the units that it was solved in
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
        except NoPotentialError:  # a neuron that would flip, a network that is not small enough
            continue
        ends = both_ends(other) if family.ENDS_MOVE else here
        distances[:, i] = [relative_distance(other.predictor, end) for end in ends or ()]
    kernel, rich = both_ends(result) or here
    end = result.regime.rich_end
    words = {"ℓ1": r"rich end ($\ell_1$)", "nuclear norm": "rich end (nuclear norm)"}
    end = words.get(end, r"anti-kernel end (least $\ell_2$ norm)")
    return OtherScales(kernel.ravel(), rich.ravel(), end, 10.0**decades, *distances)


def _has_scale(result: Limit) -> bool:
    """Can the same be asked at other scales?"""
    try:
        return result.model.shifted(0.0, result.X.shape[1]) is not None
    except NoPotentialError:  # a factorization, of which only measurements make a potential
        return False


def predicted_end(trajectory: Trajectory) -> Float | None:
    """The limit of the flow without running it, where there is a theory for it."""
    if trajectory.linearized or trajectory.loss_function.separating:
        return None
    if isinstance(trajectory.X, Entries):  # which do not commute, and may be many
        return None
    units = trajectory.units
    asked = {} if units is None else {"intercept": units.intercept, "standardize": units.standardized}
    asked["least_squares"] = trajectory.unfitted > 0
    try:
        if not table_row(trajectory.model).known(trajectory.model, trajectory.X, trajectory.y):
            return None  # and an error would take a flow to tell how far it ends from the nearest statement
        return limit(trajectory.model, trajectory.X, trajectory.y, **asked).predictor
    except TacitError:
        return None
