"""The order in which lanes are solved: a few from the kernel regime, the others in between.

Problems that differ in scale alone form a line. Along it rapidities and multipliers are smooth functions of
the logarithm of the scale, piecewise linear in the rich regime, so a few solved problems of a line give good
initial states for the others by interpolation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.data.arrays import Float, Index

_NODES = 4  # solved problems from which an initial state is interpolated
_DISTINCT = 1e-3  # least distance of two of them, in log scale: closer ones would amplify round-off


@dataclass(frozen=True, eq=False)
class Stage:
    """Lanes (L') that are solved together, and the solved lanes (L', 4) from which they start.

    The first stage starts in the kernel regime and has no nodes.
    """

    lanes: Index
    nodes: Index


def stages_of(lines: Sequence[int], strides: Sequence[int]) -> list[Stage]:
    """Stages of a group whose lanes are sorted by line and, within each line, by level.

    lines: the number of lanes of each line. A stage consists of every strides[k]-th lane of each line (and
    the last one, in the first stage) that is in no earlier stage; the last stride is 1.
    """
    ends = np.cumsum(lines)
    found, before = list[Stage](), [np.zeros(0, int) for _ in lines]
    for stride in strides:
        lanes, nodes = list[int](), list[Index]()
        for i, (count, end) in enumerate(zip(lines, ends, strict=True)):
            places = np.union1d(np.arange(0, count, stride), count - 1)
            for place in np.setdiff1d(places, before[i]):
                lanes.append(end - count + place)
                nodes.append(end - count + _nearest(before[i], place))
            before[i] = places
        if lanes:
            found.append(Stage(np.array(lanes), np.array(nodes)))
    return found


def _nearest(solved: Index, place: int) -> Index:
    """The four solved places around one; fewer are padded with the first."""
    first = int(np.searchsorted(solved, place)) - _NODES // 2
    near = solved[max(min(first, len(solved) - _NODES), 0) :][:_NODES]
    return np.append(near, np.full(_NODES - len(near), near[0])) if len(near) else near


def coefficients(level: Float, stage: Stage, usable: NDArray[np.bool_]) -> Float:
    """Coefficients (G, L', 4) of the nodes in their interpolation polynomials; NaN if none is usable.

    level, usable: (G, L), the level of every lane, and whether it has been solved.
    """
    at, nodes = level[:, stage.lanes], level[:, stage.nodes]
    good = usable[:, stage.nodes].copy()
    for k in range(1, _NODES):
        close = np.abs(nodes[..., k, None] - nodes[..., :k]) < _DISTINCT
        good[..., k] &= ~(close & good[..., :k]).any(axis=-1)
    both = good[..., :, None] & good[..., None, :] & ~np.eye(_NODES, dtype=bool)
    apart = np.where(both, nodes[..., :, None] - nodes[..., None, :], 1.0)
    factors = np.where(both, (at[..., None, None] - nodes[..., None, :]) / apart, 1.0)
    found = np.where(good, np.prod(factors, axis=-1), 0.0)
    return np.where(good.any(axis=-1, keepdims=True), found, np.nan)
