"""Solve a batch: the loop over stages, scales and Newton steps, the same for NumPy and JAX."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tacit.data.arrays import Float, Index
from tacit.potentials.arrays import quiet
from tacit.solvers.batch.lanes import Certified, Lanes, Start, State, picked
from tacit.solvers.batch.stages import Stage, coefficients

Array = Any
Places = tuple[Index, Index]  # groups (G', 1) and lanes (G', L') of a part of a batch
# Logarithm by which scales go down between two Newton steps. Deep potentials need smaller steps, since their
# inverse Hessian grows with a power of w above 1.
_STRIDE, _DEEP_STRIDE = 6.0, 3.0
_CONVERGED = 1e-7  # relative step after which the next one, by quadratic convergence, is round-off
_MAX_STEPS = 30  # at the final scale; lanes that need more are left to the solver of single problems


class Backend(Protocol):
    """The operations of `lanes` for arrays of one library, and how lanes that remain are packed."""

    def array(self, values: Any) -> Array:
        """The values as an array of this library."""

    def kernel_start(self, lanes: Lanes) -> Start:
        """As `lanes.kernel_start`."""

    def newton_step(self, lanes: Lanes, state: State) -> State:
        """As `lanes.newton_step`."""

    def lower(self, before: Lanes, after: Lanes, state: State) -> State:
        """`lanes.lowered`, and one Newton step."""

    def interpolated(self, lanes: Lanes, u: Array, nu: Array, nodes: Array, by: Array) -> State:
        """As `lanes.interpolated`."""

    def certified(self, lanes: Lanes, state: State) -> Certified:
        """As `lanes.certified`."""

    def packing(self, remaining: Any) -> Places | None:
        """Groups and lanes of smaller arrays that contain all remaining lanes (G, L); None to go on."""


@dataclass(frozen=True, eq=False)
class Solved:
    """Results of all lanes as NumPy arrays (G, L, …); where `finished` is False, w, ν and u are arbitrary.

    ordinary: (G, 1), whether X needs no preconditioning.
    """

    w: Float
    nu: Float
    u: Float
    feasibility: Float
    stationarity: Float
    error: Float
    rcond: Float
    iterations: Float
    ordinary: Any

    @classmethod
    def empty(cls, lanes: Lanes) -> Solved:
        """Results of lanes that are not solved yet."""
        G, L, N = lanes.y.shape
        d = lanes.X.shape[-1]
        w, nu, u = (np.empty((G, L, size)) for size in (d, N, d))  # memory is not touched before it is used
        feasibility, stationarity, error, rcond, iterations = (np.full((G, L), np.nan) for _ in range(5))
        ordinary: Any = np.ones((G, 1), bool)
        return cls(w, nu, u, feasibility, stationarity, error, rcond, iterations, ordinary)

    @property
    def finished(self) -> Any:
        """Whether Newton's method converged."""
        return np.isfinite(self.error)

    def put(self, places: Places, found: Certified, keep: Any, iterations: int, last: bool) -> None:
        """Write the results at `places` for which keep is True; rapidities only if others start from them."""
        names = ("w", "nu", "feasibility", "stationarity", "error", "rcond") + (() if last else ("u",))
        chosen = places if keep.all() else tuple(np.broadcast_to(each, keep.shape)[keep] for each in places)
        for name in names:
            values = np.asarray(getattr(found, name))
            getattr(self, name)[chosen] = values if keep.all() else values[keep]
        self.iterations[chosen] = iterations


@quiet
def solve(backend: Backend, lanes: Lanes, level: Float, stages: Sequence[Stage]) -> Solved:
    """Solve all lanes; level: (G, L), the logarithm of the scale up to a constant for each line."""
    solved = Solved.empty(lanes)
    for i, stage in enumerate(stages):
        groups = np.arange(level.shape[0])[:, None]
        places = groups, np.broadcast_to(stage.lanes, (len(groups), len(stage.lanes)))
        here = lanes if len(stages) == 1 else picked(lanes, *places)
        if i == 0:
            state, count = _from_kernel(backend, here, solved)
        else:
            state, count = _from_nodes(backend, here, level, stage, solved), 0
        _finish(backend, here, state, places, solved, count, last=stage is stages[-1])
    return solved


def _from_kernel(backend: Backend, lanes: Lanes, solved: Solved) -> tuple[State, int]:
    """Go down from the kernel regime to the scales of the lanes, with one Newton step at each scale."""
    start = backend.kernel_start(lanes)
    solved.ordinary[:, 0] = np.asarray(start.ordinary)
    height, before, state = np.asarray(start.above), start.lanes, start.state
    height = np.where(np.isfinite(height), height, 0.0)
    count = math.ceil(height.max() / (_STRIDE if lanes.power == math.inf else _DEEP_STRIDE))
    for k in range(count - 1, -1, -1):
        after = lanes.at_scale(lanes.log_scale + backend.array(height * (k / count)))
        state, before = backend.lower(before, after, state), after
    return state, count + 2


def _from_nodes(backend: Backend, lanes: Lanes, level: Float, stage: Stage, solved: Solved) -> State:
    """Interpolate the initial states of a stage from solved lanes."""
    by = coefficients(level, stage, solved.finished)
    used, places = np.unique(stage.nodes, return_inverse=True)
    good = solved.finished[:, used, None]
    u, nu = (backend.array(np.where(good, each[:, used], 0.0)) for each in (solved.u, solved.nu))
    nodes = places.reshape(stage.nodes.shape)
    return backend.interpolated(lanes, u, nu, backend.array(nodes), backend.array(by))


def _finish(
    backend: Backend, lanes: Lanes, state: State, places: Places, solved: Solved, count: int, last: bool
) -> None:
    """Newton's method until all lanes converge; when few remain, they are packed into smaller arrays."""
    for step in range(1, _MAX_STEPS + 1):
        state = backend.newton_step(lanes, state)
        size = np.asarray(state.size)
        remaining = size >= _CONVERGED  # NaN is no reason to go on
        if not remaining.any():
            break
        packing = backend.packing(remaining)
        if packing is not None:
            if not remaining.all():
                found = backend.certified(lanes, state)
                solved.put(places, found, size < _CONVERGED, count + step + 1, last)
            lanes, state = picked(lanes, *packing), picked(state, *packing)
            places = places[0][packing[0][:, 0]], places[1][packing]
    solved.put(places, backend.certified(lanes, state), size < _CONVERGED, count + step + 1, last)
