r"""X (∂w/∂Q') Xᵀ along a flow, the tangent kernel up to units, and the flow near a state by means of it.

Over a step of length h most coordinates of a rich network hardly move the outputs at all: changes of their
stiffness, and what bends their way, do not count. Those that do are few: of them alone the kernel is updated
from step to step, and along them alone rates within a step are evaluated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.data.arrays import Float, Index
from tacit.flows.forms.mirror import MirrorMap
from tacit.flows.stopping.samples import Samples

_MANY = 3  # the share of coordinates above which all of them are no slower
_SMALL = 50_000  # entries of X: the same


@dataclass(frozen=True, eq=False)
class Nearby:
    """Outputs near a state, by the kernel and by the way that a few coordinates go.

    X w(ν + δ) = X w(ν) + K δ + X_A (w_A(ν + δ) − w_A(ν) − S_A X_Aᵀδ),   K = X S Xᵀ
    """

    outputs: Float
    matrix: Float  # K
    X: Float  # X_A
    stiffness: Float  # S_A
    weight: Float | float
    here: MirrorMap  # of A

    def at(self, nu: Float) -> Float:
        """The outputs at ν + δ."""
        way = nu @ self.X
        bent = self.here.moved(way / self.weight).predictor - self.here.predictor - self.stiffness * way
        return self.outputs + self.matrix @ nu + self.X @ bent


class Kernel:
    """X S Xᵀ at a stiffness S that is never far from the one asked for."""

    def __init__(self, samples: Samples, weight: Float | float):
        self.samples, self.X, self.weight = samples, samples.X, weight
        self.matrix, self.stiffness = samples.gram, np.zeros(0)
        self.multiple: float | None = None  # of XXᵀ that it is, where it is one

    def spectrum(self, root: Float) -> tuple[Float, Float]:
        """Eigenvalues and -vectors of the kernel with rows and columns times these numbers."""
        if self.multiple is not None and root[0] == root.min() == root.max():
            values, turn = self.samples.spectrum
            return self.multiple * root[0] ** 2 * values, turn
        return np.linalg.eigh(self.matrix * root * root[:, None])

    def update(self, stiffness: Float, slack: float) -> None:
        """Move on to this stiffness, but for changes of no more than the slack."""
        if not len(self.stiffness):
            self._begin(stiffness)
            return
        change = stiffness - self.stiffness
        moved = np.flatnonzero(np.abs(change) > slack)
        if _MANY * len(moved) > len(change):
            self._begin(stiffness)
        elif len(moved):
            rows = self.samples.columns[moved]
            self.matrix, self.multiple = self.matrix + (rows.T * change[moved]) @ rows, None
            self.stiffness[moved] = stiffness[moved]

    def _begin(self, stiffness: Float) -> None:
        """All of it; a multiple of XXᵀ where all are the same, as at a start without profile."""
        if stiffness[0] == stiffness.min() == stiffness.max():
            self.matrix, self.multiple = stiffness[0] * self.samples.gram, float(stiffness[0])
        else:
            rows = self.X * np.sqrt(stiffness)
            self.matrix, self.multiple = rows @ rows.T, None
        self.stiffness = stiffness.copy()

    def nearby(self, here: MirrorMap, outputs: Float, counts: Index | None) -> Nearby:
        """The flow near a state, where these coordinates count; all of them for None."""
        if counts is None or _MANY * len(counts) > self.X.shape[1] or self.X.size < _SMALL:
            return Nearby(outputs, self.matrix, self.X, self.stiffness, self.weight, here)
        weight = self.weight if isinstance(self.weight, float) else self.weight[counts]
        columns, stiffness = self.samples.columns[counts], self.stiffness[counts]
        return Nearby(outputs, self.matrix, columns.T, stiffness, weight, _part(here, counts))


def _part(here: MirrorMap, counts: Index) -> MirrorMap:
    scale = here.log_scale if len(here.log_scale) == 1 else here.log_scale[counts]
    return type(here)(here.power, scale, here.slope[counts], here.below[counts], here.above[counts])
