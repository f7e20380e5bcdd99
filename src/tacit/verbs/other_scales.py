"""A limit between its two ends: how far it would be from them at other scales."""

from __future__ import annotations

import numpy as np

from tacit.data.arrays import Float
from tacit.data.entries import Entries
from tacit.data.prepared import prepare
from tacit.errors import NoPotentialError, TacitError
from tacit.models.model import is_connected, takes_matrices
from tacit.results.limit import Limit
from tacit.results.other_scales import OtherScales
from tacit.results.trajectory import Trajectory
from tacit.show.progress import progress
from tacit.verbs.limit import limit
from tacit.verbs.limit_matrix import MatrixProblem
from tacit.verbs.regime import both_ends, relative_distance
from tacit.verbs.regime_matrix import RICH_END

_DECADES = 8  # of the predictor's scale, to either side of the model's own


def other_scales(result: Limit) -> OtherScales | None:
    """From the kernel end to the rich one, through other scales; None where there are no ends."""
    solved = result.inside or result  # distances are those of the units that it was solved in
    here = both_ends(solved)
    if here is None:
        return None
    matrices = takes_matrices(solved.model)
    inputs = solved.X if matrices else prepare(solved.X)
    scaled = _has_scale(solved)
    decades = np.linspace(-_DECADES, _DECADES, (9 if matrices else 33) if scaled else 0)
    distances = np.full((2, len(decades)), np.nan)
    for i in progress(range(len(decades)), "limits at other scales"):
        try:
            model = solved.model.rescaled(decades[i] * np.log(10), solved.X.shape[1])
            other = limit(model, inputs, solved.y)
        except NoPotentialError:  # a neuron that would flip, a network that is not small enough
            continue
        ends = both_ends(other) if is_connected(solved.model) else here  # the ends may move with the start
        distances[:, i] = [relative_distance(other.predictor, end) for end in ends or ()]
    kernel, rich = both_ends(result) or here
    end = result.regime.rich_end
    words = {"ℓ1": r"rich end ($\ell_1$)", RICH_END: f"rich end ({RICH_END})"}
    end = words.get(end, r"anti-kernel end (least $\ell_2$ norm)")
    return OtherScales(kernel.ravel(), rich.ravel(), end, 10.0**decades, *distances)


def _has_scale(result: Limit) -> bool:
    """Can the same be asked at other scales?"""
    try:
        return result.model.rescaled(0.0, result.X.shape[1]) is not None
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
        if takes_matrices(trajectory.model) and not _commute(trajectory):  # no flow to tell how far it ends
            return None
        return limit(trajectory.model, trajectory.X, trajectory.y, **asked).predictor
    except TacitError:
        return None


def _commute(trajectory: Trajectory) -> bool:
    """Do the measurements of a factorization?"""
    return MatrixProblem.of(trajectory.model, trajectory.X, trajectory.y).diagonal().commute
