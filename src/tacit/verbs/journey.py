"""A limit between its two ends: how far it would be from them at other scales."""

from __future__ import annotations

import numpy as np

from tacit.data.arrays import Float
from tacit.errors import NoPotentialError, TacitError
from tacit.models.model import is_connected
from tacit.show.limits import Journey
from tacit.show.progress import progress
from tacit.verbs.answer import Limit
from tacit.verbs.limit import limit
from tacit.verbs.prepare import prepare
from tacit.verbs.regime import both_ends, relative_distance
from tacit.verbs.trajectory import Trajectory

_DECADES = 8  # of the predictor's scale, to either side of the model's own


def journey(result: Limit) -> Journey | None:
    """From the kernel end to the rich one, through other scales; None where there are no ends."""
    solved = result.inside or result  # distances are those of the units that it was solved in
    here = both_ends(solved)
    if here is None:
        return None
    inputs = prepare(solved.X)
    scaled = solved.model.rescaled(0.0, solved.X.shape[1]) is not None
    decades = np.linspace(-_DECADES, _DECADES, 33 if scaled else 0)
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
    end = r"rich end ($\ell_1$)" if end == "ℓ1" else r"anti-kernel end (least $\ell_2$ norm)"
    return Journey(kernel.ravel(), rich.ravel(), end, 10.0**decades, *distances)


def predicted_end(trajectory: Trajectory) -> Float | None:
    """The limit of the flow without running it, where there is a theory for it."""
    if trajectory.linearized or trajectory.loss_function.separating:
        return None
    units = trajectory.units
    asked = {} if units is None else {"intercept": units.intercept, "standardize": units.standardized}
    asked["least_squares"] = trajectory.unfitted > 0
    try:
        return limit(trajectory.model, trajectory.X, trajectory.y, **asked).predictor
    except TacitError:
        return None
