r"""The tangent kernel X (∂w/∂Q') Xᵀ (up to units) along a flow, and a model of the flow near a state.

Most coordinates of a rich network hardly change the outputs over a step, so changes of their stiffness and
the nonlinearity of their paths are negligible. Only the few other coordinates are used to update the kernel
from step to step, and to evaluate rates within a step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.data.arrays import Float, Index
from tacit.flows.forms.mirror import MirrorMap
from tacit.flows.stopping.samples import FittedSamples

_MANY = 3  # if more than one in this many coordinates matters, using all of them is as fast
_SMALL = 50_000  # entries of X below which using all coordinates is as fast


@dataclass(frozen=True, eq=False)
class Nearby:
    """Outputs near a state: linear in ν, except for a few coordinates A that are followed exactly.

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
        slopes = nu @ self.X
        there = self.here.moved(slopes / self.weight)
        nonlinear = there.predictor - self.here.predictor - self.stiffness * slopes
        return self.outputs + self.matrix @ nu + self.X @ nonlinear


class Kernel:
    """X S Xᵀ with a stiffness S that is updated only where it changes."""

    def __init__(self, samples: FittedSamples, weight: Float | float):
        self.samples, self.X, self.weight = samples, samples.X, weight
        self.matrix, self.stiffness = samples.gram, np.zeros(0)
        self.multiple: float | None = None  # factor if the kernel is a multiple of XXᵀ

    def spectrum(self, root: float) -> tuple[Float, Float]:
        """Eigenvalues and eigenvectors of the kernel, with rows and columns multiplied by `root`."""
        if self.multiple is not None:
            values, vectors = self.samples.spectrum
            return self.multiple * root**2 * values, vectors
        return np.linalg.eigh(self.matrix * root * root)

    def update(self, stiffness: Float, slack: float) -> None:
        """Update to this stiffness, ignoring changes up to `slack`."""
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
        """Compute all of it; a multiple of XXᵀ if all stiffnesses agree, as at a start without profile."""
        if stiffness[0] == stiffness.min() == stiffness.max():
            self.matrix, self.multiple = stiffness[0] * self.samples.gram, float(stiffness[0])
        else:
            rows = self.X * np.sqrt(stiffness)
            self.matrix, self.multiple = rows @ rows.T, None
        self.stiffness = stiffness.copy()

    def nearby(self, here: MirrorMap, outputs: Float, counts: Index | None) -> Nearby:
        """The flow near a state; counts: coordinates that are followed exactly (None: all)."""
        if counts is None or _MANY * len(counts) > self.X.shape[1] or self.X.size < _SMALL:
            return Nearby(outputs, self.matrix, self.X, self.stiffness, self.weight, here)
        weight = self.weight if isinstance(self.weight, float) else self.weight[counts]
        columns, stiffness = self.samples.columns[counts], self.stiffness[counts]
        return Nearby(outputs, self.matrix, columns.T, stiffness, weight, _part(here, counts))


def _part(here: MirrorMap, counts: Index) -> MirrorMap:
    scale = here.log_scale if len(here.log_scale) == 1 else here.log_scale[counts]
    return type(here)(here.power, scale, here.slope[counts], here.below[counts], here.above[counts])
