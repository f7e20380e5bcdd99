r"""Lemma 8 of Woodworth et al. 2020: the multipliers of a deep diagonal network are bounded.

Under L = ½‖Xβ − y‖², with r = Xβ − y, the weights of depth D > 2 are w± = (α^{2−D} ± D(D−2)Xᵀ∫r)^{−1/(D−2)}
(equations 51 and 53). They never vanish nor become infinite, hence |D(D−2)Xᵀ∫r| < α^{2−D}. The integral is
taken by Gauss's rule, of the residuals at the nodes, and compared with what the predictor says of it. Where
coordinates jump, residuals fall within a small part of the time: panels that disagree are cut, until all
agree or cutting moves the integrals no more, so that what disagrees is the flow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import tacit
from tacit.data.arrays import Float, check_problem
from tacit.papers import Assumption, Bound, Parts, Setting, theorem
from tacit.papers.agreement import steady
from tacit.papers.arguments import log_alpha
from tacit.papers.moroshko2020.separation import plain_diagonal
from tacit.papers.quadrature import Panels

_LOSS = tacit.losses.Square("half-sum")
_SUDDEN = 1e-5  # part of the time within which a network may jump: it is then seen by the nodes
_AGREE = 1e-5
_SPREAD = 1e4  # of singular values: the integral would be over the squares of as many time scales
_PARTS, _ROUNDS = 8, 5  # into how many a panel is cut, and how often
_REST = 0.02  # of the disagreement, in panels that are not cut yet
_REAL = 0.5  # a disagreement of which cutting moves less than this share is one of the flow


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Predictors of a flow at the instants of panels, which are times."""

    model: tacit.Diagonal
    X: Float
    y: Float
    panels: Panels
    predictors: Float

    @classmethod
    def of(cls, model: tacit.Diagonal, X: Float, y: Float) -> Multipliers:
        """At nodes between the times that the flow records of itself."""
        seen = tacit.flow(model, X, y, loss=_LOSS).time
        panels = Panels(np.unique(seen[np.isfinite(seen)]))
        start = cls(model, X, y, panels, np.empty(0))
        return replace(start, predictors=start.asked(panels.instants))

    def asked(self, times: Float) -> Float:
        """Predictors of the flow at these times."""
        flow = tacit.flow(self.model, self.X, self.y, loss=_LOSS, times=times, rtol=1e-10)
        return np.asarray(flow.predictor)

    def rates(self) -> Float:
        """dz/dt = −α^{D−2}D(D−2)·Xᵀr at all instants."""
        D = self.model.depth
        size = D * (D - 2) * float(np.exp((D - 2) * log_alpha(self.model)))
        return np.asarray(size * (self.y - self.predictors @ self.X.T) @ self.X)

    def integral(self) -> Float:
        """z at the ends of panels."""
        return self.panels.integral(self.rates())

    def seen(self) -> Float:
        """h_D⁻¹(β/α^D) there, by equation 58 the same."""
        slopes = self.model.potential(self.X.shape[1]).gradient(self.panels.at_ends(self.predictors))
        return np.asarray(slopes)

    def apart(self) -> float:
        """The largest |h_D⁻¹(β/α^D) − z|."""
        return float(np.abs(self.seen() - self.integral()).max())

    def refined(self) -> Multipliers:
        """With panels cut whose integrals are not what the predictors say; the rest sums up to little."""
        steps = np.abs(np.diff(self.seen(), axis=0) - self.panels.pieces(self.rates())).max(axis=1)
        order = np.argsort(steps)
        wrong = np.empty(len(steps), dtype=bool)
        wrong[order] = np.cumsum(steps[order]) > max(_AGREE / 4, _REST * float(steps.sum()))
        panels, predictors = self.panels.refined(self.predictors, wrong, _PARTS, self.asked)
        return replace(self, panels=panels, predictors=predictors)

    def moved(self, finer: Multipliers) -> float:
        """By how much integrals over finer panels differ from these at the most."""
        common = np.isin(finer.panels.ends, self.panels.ends)
        return float(np.abs(finer.integral()[common] - self.integral()).max())

    def settled(self) -> tuple[Multipliers, Assumption]:
        """With panels that are fine enough, and whether they are."""
        here, text = self, "panels of time can be fine enough for this flow"
        for _ in range(_ROUNDS):
            apart = here.apart()
            if apart <= _AGREE:
                return here, Assumption(text, True)
            finer = here.refined()
            moved, here = here.moved(finer), finer
            if moved <= _REAL * apart and moved <= _REAL * here.apart():
                return here, Assumption(text, True)  # it is wrong wherever one looks
        narrow = float(np.diff(here.panels.ends).min())
        return here, Assumption(f"{text}: it jumps within {narrow:.2g}", here.apart() <= _AGREE)


@theorem("woodworth2020/lemma8", flows=4, shell="--depth 3")
def lemma8(model: Any, X: Any, y: Any) -> Parts:
    """D > 2: ‖Xᵀ∫r‖∞ ≤ α^{2−D}/(D(D−2)) at all times, r = Xβ − y, for L = ½‖Xβ − y‖².

    Lemma 8, as the largest |z|, z = −α^{D−2}D(D−2)Xᵀ∫r, against 1; and (58), β = α^D·h_D(z).
    """
    plain = plain_diagonal(model)
    fits = plain.holds and model.depth > 2
    yield Setting(f"{plain.text}, of depth above 2", fits)
    X, y = check_problem(X, y)
    yield (followed := steady(model, X, y, _SUDDEN))
    moving = bool(np.any(X.T @ y))
    yield Assumption("the flow moves", moving)
    sizes = np.linalg.svd(X, compute_uv=False)
    resolved = bool(sizes[-1] * _SPREAD >= sizes[0])
    yield Assumption(f"singular values of X lie within a factor {_SPREAD:.0e}: ∫r is resolved", resolved)
    if not (followed.holds and moving and resolved):
        return
    found, fine = Multipliers.of(model, X, y).settled()
    yield fine
    largest = float(np.abs(found.integral()).max())
    yield Bound("α^{D−2}D(D−2)‖Xᵀ∫r‖∞, the largest on the way", largest, at_most=1.0)
    yield Bound("(58) |h_D⁻¹(β/α^D) − z|, the largest", found.apart(), at_most=_AGREE)
