"""The operations of a batch in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.solvers.batch import lanes as on_lanes
from tacit.solvers.batch.driver import Places
from tacit.solvers.batch.lanes import Lanes, State

_PACKED = 0.5  # share of lanes that remain when they are packed


class InNumpy:
    """Operations that are not compiled, on arrays of any shape."""

    array = staticmethod(np.asarray)
    kernel_start = staticmethod(on_lanes.kernel_start)
    newton_step = staticmethod(on_lanes.newton_step)
    interpolated = staticmethod(on_lanes.interpolated)
    certified = staticmethod(on_lanes.certified)

    def lower(self, before: Lanes, after: Lanes, state: State) -> State:
        """The state at other scales, and one Newton step."""
        return on_lanes.newton_step(after, on_lanes.lowered(before, after, state))

    def packing(self, remaining: Any) -> Places | None:
        """The groups and lanes that remain, if they are at most half."""
        groups = np.flatnonzero(remaining.any(axis=1))
        width = int(remaining.sum(axis=1).max())
        if len(groups) * width > _PACKED * remaining.size:
            return None
        return groups[:, None], np.argsort(~remaining[groups], axis=1, kind="stable")[:, :width]
