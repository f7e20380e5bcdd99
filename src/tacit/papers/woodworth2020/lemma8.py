r"""Lemma 8 of Woodworth et al. 2020: the multipliers of a deep diagonal network are bounded.

Under L = ½‖Xβ − y‖², with r = Xβ − y, the weights of depth D > 2 are w± = (α^{2−D} ± D(D−2)Xᵀ∫r)^{−1/(D−2)}
(equations 51 and 53). They neither vanish nor become infinite, hence |D(D−2)Xᵀ∫r| < α^{2−D}. The integral is
computed by Gauss's rule from the residuals at the nodes, and compared with its value according to the
predictor. Where coordinates jump, residuals decrease within a small fraction of the time. Panels in which the
two values differ are therefore cut until all agree, or until cutting no longer changes the integrals, so that
the flow itself violates the equation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import tacit
from tacit.data.arrays import Float, check_problem
from tacit.papers import Assumption, Bound, Parts, theorem
from tacit.papers.agreement import steady
from tacit.papers.arguments import log_alpha
from tacit.papers.moroshko2020.separation import plain_diagonal
from tacit.papers.quadrature import Panels

_LOSS = tacit.losses.Square("half-sum")
_SUDDEN = 1e-5  # fraction of the time in which the network may jump and still be resolved by the nodes
_AGREE = 1e-5  # largest |h_D⁻¹(β/α^D) − z|
_SPREAD = 1e4  # largest ratio of singular values: the time scales of the integral differ by its square
_PARTS, _ROUNDS = 8, 5  # parts into which a panel is cut, and the largest number of rounds
_REST = 0.02  # fraction of the total difference that may remain in panels that are not cut
_REAL = 0.5  # if cutting changes less than this fraction of the difference, the flow is the reason for it


@dataclass(frozen=True, eq=False)
class Multipliers:
    """The predictors of a flow at the nodes and ends of panels of time."""

    model: tacit.Diagonal
    X: Float
    y: Float
    panels: Panels
    predictors: Float

    @classmethod
    def of(cls, model: tacit.Diagonal, X: Float, y: Float) -> Multipliers:
        """The flow with panels between the times that it records by itself."""
        times = tacit.flow(model, X, y, loss=_LOSS).time
        panels = Panels(np.unique(times[np.isfinite(times)]))
        start = cls(model, X, y, panels, np.empty(0))
        return replace(start, predictors=start.predictors_at(panels.instants))

    def predictors_at(self, times: Float) -> Float:
        """Predictors of the flow at these times."""
        flow = tacit.flow(self.model, self.X, self.y, loss=_LOSS, times=times, rtol=1e-10)
        return np.asarray(flow.predictor)

    def rates(self) -> Float:
        """dz/dt = −α^{D−2}D(D−2)·Xᵀr at all instants."""
        D = self.model.depth
        size = D * (D - 2) * float(np.exp((D - 2) * log_alpha(self.model)))
        return np.asarray(size * (self.y - self.predictors @ self.X.T) @ self.X)

    def integral(self) -> Float:
        """z at the ends of the panels, by integration of the residuals."""
        return self.panels.integral(self.rates())

    def from_predictors(self) -> Float:
        """z at the ends of the panels by equation 58, h_D⁻¹(β/α^D)."""
        slopes = self.model.potential(self.X.shape[1]).gradient(self.panels.at_ends(self.predictors))
        return np.asarray(slopes)

    def difference(self) -> float:
        """The largest |h_D⁻¹(β/α^D) − z|."""
        return float(np.abs(self.from_predictors() - self.integral()).max())

    def refined(self) -> Multipliers:
        """Cut the panels whose integrals disagree with the predictors; the sum of the others is small."""
        steps = np.abs(np.diff(self.from_predictors(), axis=0) - self.panels.pieces(self.rates())).max(axis=1)
        order = np.argsort(steps)
        wrong = np.empty(len(steps), dtype=bool)
        wrong[order] = np.cumsum(steps[order]) > max(_AGREE / 4, _REST * float(steps.sum()))
        panels, predictors = self.panels.refined(self.predictors, wrong, _PARTS, self.predictors_at)
        return replace(self, panels=panels, predictors=predictors)

    def moved(self, finer: Multipliers) -> float:
        """The largest difference between the integrals over finer panels and these."""
        common = np.isin(finer.panels.ends, self.panels.ends)
        return float(np.abs(finer.integral()[common] - self.integral()).max())

    def settled(self) -> tuple[Multipliers, Assumption]:
        """Refine the panels until they resolve the flow; and the assumption that they do."""
        here, text = self, "the panels of time resolve the flow"
        for _ in range(_ROUNDS):
            difference = here.difference()
            if difference <= _AGREE:
                return here, Assumption(text, True)
            finer = here.refined()
            moved, here = here.moved(finer), finer
            if moved <= _REAL * difference and moved <= _REAL * here.difference():
                return here, Assumption(text, True)  # resolved: the flow itself violates the equation
        narrow = float(np.diff(here.panels.ends).min())
        return here, Assumption(f"{text}: it jumps within {narrow:.2g}", here.difference() <= _AGREE)


@theorem("woodworth2020/lemma8", flows=4, shell="--depth 3")
def lemma8(model: Any, X: Any, y: Any) -> Parts:
    """D > 2: ‖Xᵀ∫r‖∞ ≤ α^{2−D}/(D(D−2)) at all times, r = Xβ − y, for L = ½‖Xβ − y‖².

    Lemma 8, as the largest |z|, z = −α^{D−2}D(D−2)Xᵀ∫r, compared with 1; and (58), β = α^D·h_D(z).
    """
    yield plain_diagonal(model, deep=True)
    X, y = check_problem(X, y)
    yield (resolved := steady(model, X, y, _SUDDEN))
    moving = bool(np.any(X.T @ y))
    yield Assumption("the gradient at 0, Xᵀy, is not zero", moving)
    sizes = np.linalg.svd(X, compute_uv=False)
    even = bool(sizes[-1] * _SPREAD >= sizes[0])
    text = f"singular values of X differ by at most a factor {_SPREAD:.0e}, which resolves ∫r"
    yield Assumption(text, even)
    if not (resolved.holds and moving and even):
        return
    found, fine = Multipliers.of(model, X, y).settled()
    yield fine
    largest = float(np.abs(found.integral()).max())
    yield Bound("α^{D−2}D(D−2)‖Xᵀ∫r‖∞, the largest during training", largest, at_most=1.0)
    yield Bound("(58) |h_D⁻¹(β/α^D) − z|, the largest", found.difference(), at_most=_AGREE)
