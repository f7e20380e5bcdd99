r"""A flow of the exponential loss, and the integrals that Lemmas 10 and 12 of Moroshko et al. 2020 promise.

With p_n = r_n/‖r‖₁, the pull of each sample, and H = ∇²Q, both lemmas say ∇Q(w(t)) = c_D·Zᵀ∫r, where c₂ = 4
and c_D = α^{D−2}D(D−2), and w' = c_D·H⁻¹Zᵀr; rows of Z are y_n x_n. Along the flow γ̃ rises, and so does
∇Q(w)·v for a v that separates the data, Zv ≥ 1. In the clock τ = γ̃ + b·∇Q(w)·v, whatever b is,

    d∇Q = Zᵀp/f dτ,      d(c_D·t) = exp(γ̃)/f dτ,      f = k + b·pᵀZv,      k = dγ̃/d(c_D·‖r‖₁t) = pᵀZ H⁻¹ Zᵀp

In the first no loss and no scale is left: it decides the way of the flow. The second decides its speed, and
with it c_D. Near a saddle the loss hardly falls, and then γ̃ alone would be no clock to integrate in.

Between two neighbouring states of the flow, each is the integral of the polynomial in τ through the states
around them. Where polynomials of two degrees disagree, the flow is asked for states in between.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import softmax

import tacit
from tacit.data.arrays import Float
from tacit.papers import Assumption
from tacit.papers.agreement import AGREE
from tacit.papers.arguments import log_alpha
from tacit.papers.moroshko2020.separation import overview, settled_flow, settled_margin

_UNTIL = 20.0  # accuracy until which integrals are followed: later, supports hardly change
_RTOL = 1e-8  # of the flow
_NODES = 10  # states that polynomials go through
_LEAST = 1e-300  # in place of 0 below a fraction
_SURE = 0.25  # of what is allowed, that polynomials may be off
_PARTS, _ROUNDS = 16, 6  # into how many a gap between states is cut at the most, and how often
_MOST = 3000  # states
_CROWDED = 1e-2  # of a gap beside it: states nearer than this to each other say the same
_FINE = "states of this flow can be near enough to each other to integrate"


@dataclass(frozen=True, eq=False)
class Course:
    """States of a flow in their order, the start first: predictors w, accuracies γ̃, c_D·t as `times`.

    v separates the rows of Z. share: b, what ∇Q(w)·v counts in the clock.
    """

    model: tacit.Diagonal
    Z: Float
    v: Float
    share: float
    w: Float
    accuracy: Float
    times: Float

    @cached_property
    def seen(self) -> Float:
        """∇Q(w) and c_D·t at each state, by the flow."""
        slopes = np.asarray(self.model.potential(self.w.shape[1]).gradient(self.w))
        return np.column_stack([slopes, self.times])

    @cached_property
    def clock(self) -> Float:
        """The clock τ at each state."""
        return np.asarray(self.accuracy + self.share * (self.seen[:, :-1] @ self.v))

    @cached_property
    def rates(self) -> Float:
        """What the lemmas integrate to get what is seen, and k/f, the rate of γ̃."""
        hessian = np.asarray(self.model.potential(self.w.shape[1]).hessian(self.w))
        force = pulls(self.Z, self.w) @ self.Z
        k = np.sum(force**2 / hessian, axis=1)
        speed = k + self.share * (force @ self.v)
        return np.column_stack([force, np.exp(self.accuracy), k]) / speed[:, None]

    def apart(self) -> Float:
        """By how much integrals and flow differ at the most, relative: on the way, and in time."""
        reached = np.cumsum(between(self.clock, self.rates[:, :-1], _NODES), axis=0)
        return self._relative(self.seen[1:] - reached).max(axis=0)

    @cached_property
    def doubts(self) -> Float:
        """By how much integrals over each gap between states may be off, relative.

        Two more states make of the difference to fewer what they made of that to still fewer.
        """
        best, good, fair = (between(self.clock, self.rates[:, :-1], _NODES - less) for less in (0, 2, 4))
        late, early = self._relative(best - good), self._relative(good - fair)
        return np.asarray((late * np.minimum(late / np.maximum(early, _LEAST), 1.0)).max(axis=1))

    def missing(self) -> Float:
        """Accuracies in the gaps over which polynomials are in doubt, about evenly in τ."""
        found = []
        shares = self.doubts * len(self.doubts) / (_SURE * AGREE)
        for gap in np.flatnonzero(shares > 1).tolist():
            parts = min(1 + math.ceil(shares[gap] ** (1 / _NODES)), _PARTS)
            found.append(self._inside(gap, np.arange(1, parts) / parts))
        return np.unique(np.concatenate([[], *found]))

    def _inside(self, gap: int, places: Float) -> Float:
        """γ̃ at places between 0 and 1 of a gap, by Hermite's cubic where that rises, by a line if not."""
        low, high = self.accuracy[gap : gap + 2]
        first, last = np.diff(self.clock)[gap] * self.rates[gap : gap + 2, -1]
        line = (high - low) * places
        bend = places * (1 - places) * ((first - high + low) * (1 - places) - (last - high + low) * places)
        cubic = low + line + bend
        rises = (np.diff(np.concatenate([[low], cubic, [high]])) > 0).all()
        return np.asarray(cubic if rises else low + line)

    def joined(self, flow: tacit.Trajectory) -> Course:
        """With the states of another record of the same flow, but for those that are crowded."""
        w = np.concatenate([self.w, np.asarray(flow.predictor)])
        accuracy = np.append(self.accuracy, flow.accuracy)
        times = np.append(self.times, _times(self.model, flow))
        order = np.argsort(accuracy, kind="stable")
        return replace(self, w=w[order], accuracy=accuracy[order], times=times[order]).thinned()

    def thinned(self) -> Course:
        """Without states that are much nearer to one neighbour than to the other."""
        gaps = np.diff(self.clock)
        kept = np.minimum(gaps[1:], gaps[:-1]) > _CROWDED * np.maximum(gaps[1:], gaps[:-1])
        kept = np.concatenate([[True], kept, [True]])
        return replace(self, w=self.w[kept], accuracy=self.accuracy[kept], times=self.times[kept])

    def _relative(self, errors: Float) -> Float:
        """At each state after the start: slopes in units of the largest there, times in their own."""
        sizes, errors = np.abs(self.seen[1:]), np.abs(errors)
        way = errors[:, :-1].max(axis=1) / sizes[:, :-1].max(axis=1)
        return np.column_stack([way, errors[:, -1] / sizes[:, -1]])


def between(clock: Float, rates: Float, nodes: int) -> Float:
    """The integral over each gap of the polynomials in the clock through the nodes around it."""
    nodes, gaps = min(nodes, len(clock)), len(clock) - 1
    first = np.clip(np.arange(gaps) - (nodes // 2 - 1), 0, len(clock) - nodes)
    around = first[:, None] + np.arange(nodes)
    middle, half = (clock[1:] + clock[:-1]) / 2, (clock[1:] - clock[:-1]) / 2
    places = clock[around] - middle[:, None]
    unit = np.abs(places).max(axis=1)
    powers = np.arange(nodes)
    moments = ((half / unit)[:, None] ** (powers + 1)) * (1 - (-1.0) ** (powers + 1)) / (powers + 1)
    matrices = (places / unit[:, None])[:, None, :] ** powers[:, None]
    weights = unit[:, None] * np.linalg.solve(matrices, moments[:, :, None])[:, :, 0]
    return np.asarray(sum(weights[:, [k]] * rates[around[:, k]] for k in range(nodes)))


def settled_course(model: tacit.Diagonal, X: Any, y: Any) -> tuple[Course, Assumption]:
    """The flow at states that are near enough to each other, and whether they are."""
    course = _first(model, X, y)
    for _ in range(_ROUNDS):
        missing = course.missing()
        if not len(missing) or course.apart().max() <= _SURE * AGREE:
            return course, Assumption(_FINE, True)
        if len(missing) + len(course.w) > _MOST:
            break
        course = course.joined(settled_flow(model, X, y, missing, rtol=_RTOL))
    worst = int(np.argmax(course.doubts))
    where = f"not at γ̃ = {course.accuracy[worst]:.4g}, near a saddle"
    return course, Assumption(f"{_FINE}: {where}", float(course.doubts.sum()) <= AGREE)


def pulls(Z: Float, w: Float) -> Float:
    """The share p_n of each sample in the residuals, at each instant."""
    return np.asarray(softmax(-w @ Z.T, axis=1))


def _first(model: tacit.Diagonal, X: Any, y: Any) -> Course:
    """At the states that a flow records of itself.

    The clock counts changes of slopes that h_D answers with a change of w like that of γ̃: of order 1 for
    D = 2, and of (α^D/w)^{1−2/D} for D > 2.
    """
    flow = overview(model, X, y, _UNTIL, _RTOL)
    v = settled_margin(X, y, "l2").predictor
    far = math.log(float(np.abs(v).max())) - model.depth * log_alpha(model)
    share = math.exp((1 - 2 / model.depth) * max(far, 0.0)) / float(np.abs(v).sum())
    Z, w = flow.y[:, None] * np.asarray(flow.X), np.asarray(flow.predictor)
    return Course(model, Z, v, share, w, flow.accuracy, _times(model, flow)).thinned()


def _times(model: tacit.Diagonal, flow: tacit.Trajectory) -> Float:
    """c_D·t, with c_D as it is printed."""
    D = model.depth
    log_rate = math.log(4) if D == 2 else math.log(D * (D - 2)) + (D - 2) * log_alpha(model)
    return np.exp(np.asarray(flow.log_time) + log_rate)
