r"""A flow of the exponential loss, and the integrals that Lemmas 10 and 12 of Moroshko et al. 2020 promise.

With p_n = r_n/‖r‖₁, the pull of each sample, and H = ∇²Q, both lemmas say ∇Q(w(t)) = c_D·Zᵀ∫r, where c₂ = 4
and c_D = α^{D−2}D(D−2), and w' = c_D·H⁻¹Zᵀr. In the clock γ̃ of the flow itself

    c_D·∫r dt = ∫ p/k dγ̃,      c_D·t = ∫ exp(γ̃)/k dγ̃,      k = pᵀZ H⁻¹ Zᵀp,      rows of Z: y_n x_n

which Gauss's rule finds from the predictors at its nodes. In the first no loss and no scale is left: it
decides the way of the flow. The second decides its speed, and with it c_D.

Near a saddle the loss hardly falls, and both integrands have narrow peaks in γ̃. Panels whose integral is not
what the flow says are therefore cut, until cutting moves the integrals no more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import softmax

import tacit
from tacit.data.arrays import Float
from tacit.numerics.rounding import EPS
from tacit.theorems.agreement import AGREE
from tacit.theorems.arguments import log_alpha
from tacit.theorems.moroshko2020.separation import settled_flow
from tacit.theorems.quadrature import Panels
from tacit.theorems.registry import Assumption

_UNTIL = 20.0  # accuracy until which integrals are followed: later, supports hardly change
_EARLY, _GROWTH, _WIDEST = 1e-3, 1.15, 0.8  # the first panel, in units of min(1, α^D), and how they widen
_PARTS, _ROUNDS = 4, 9  # into how many a panel is cut, and how often
_MOST = 3  # times as many panels as in the beginning
_CLOCK = 1e9 * EPS  # γ̃ from which on it has nine digits: −log of a mean near 1 is known to EPS only
_REAL = 0.5  # a disagreement everywhere of which cutting moves less than this share is one of the flow
_FINE = "panels of γ̃ can be fine enough for this flow"


@dataclass(frozen=True, eq=False)
class Course:
    """A flow at the instants of panels: predictors w, and c_D·t as `times`."""

    model: tacit.Diagonal
    X: Any
    y: Any
    Z: Float
    panels: Panels
    w: Float
    times: Float

    def seen(self) -> Float:
        """∇Q(w) and c_D·t at the ends of panels, by the flow."""
        slopes = np.asarray(self.model.potential(self.w.shape[1]).gradient(self.panels.at_ends(self.w)))
        return np.column_stack([slopes, self.panels.at_ends(self.times)])

    def rates(self) -> Float:
        """What the lemmas integrate to get these, at all instants."""
        hessian = np.asarray(self.model.potential(self.w.shape[1]).hessian(self.w))
        force = pulls(self.Z, self.w) @ self.Z
        k = np.sum(force**2 / hessian, axis=1)
        return np.column_stack([force, np.exp(self.panels.instants)]) / k[:, None]

    def apart(self) -> Float:
        """By how much integrals and flow differ at the most, relative: on the way, and in time."""
        largest = self._relative(self.seen() - self.panels.integral(self.rates())).max(axis=0)
        return np.array([largest[:-1].max(), largest[-1]])

    def refined(self) -> Course:
        """With panels cut whose integrals are not what the flow says: only at new nodes is it asked."""
        steps = np.diff(self.seen(), axis=0) - self.panels.pieces(self.rates())
        wrong = self._relative(np.concatenate([steps[:1], steps]))[1:].max(axis=1)
        panels = self.panels.split(wrong > AGREE / (4 * len(wrong)), _PARTS)  # the rest sums up to little
        known = np.isin(panels.instants, self.panels.instants)
        kept = np.isin(self.panels.instants, panels.instants)
        w, times = np.empty((len(known), self.w.shape[1])), np.empty(len(known))
        w[known], times[known] = self.w[kept], self.times[kept]
        flow = _asked(self.model, self.X, self.y, panels.instants[~known])
        w[~known], times[~known] = flow.predictor, _times(self.model, flow)
        return replace(self, panels=panels, w=w, times=times)

    def moved(self, finer: Course) -> float:
        """By how much the integrals of finer panels differ from these at the most, relative."""
        common = np.isin(finer.panels.ends, self.panels.ends)
        change = finer.panels.integral(finer.rates())[common] - self.panels.integral(self.rates())
        return float(self._relative(change).max())

    def _relative(self, errors: Float) -> Float:
        """At each end, slopes in units of the largest there, times in their own; 0 before γ̃ has digits."""
        sizes, told = np.abs(self.seen()), self.panels.ends >= _CLOCK
        sizes[:, :-1] = sizes[:, :-1].max(axis=1, keepdims=True)
        return np.divide(np.abs(errors), sizes, out=np.zeros_like(sizes), where=told[:, None])


def settled_course(model: tacit.Diagonal, X: Any, y: Any) -> tuple[Course, Assumption]:
    """The flow in panels that are fine enough, and whether they are."""
    course = _first(model, X, y)
    most = _MOST * len(course.panels.ends)
    for _ in range(_ROUNDS):
        if (apart := float(course.apart().max())) <= AGREE:
            return course, Assumption(_FINE, True)
        finer = course.refined()
        moved, course = course.moved(finer), finer
        if len(course.panels.ends) > most and moved <= _REAL * apart:
            return course, Assumption(_FINE, True)  # it is wrong wherever one looks
        if len(course.panels.ends) > most:
            break
    narrow = float(np.diff(course.panels.ends).min())
    return course, Assumption(f"{_FINE}: it passes saddles in less than {narrow:.2g} of γ̃", False)


def pulls(Z: Float, w: Float) -> Float:
    """The share p_n of each sample in the residuals, at each instant."""
    return np.asarray(softmax(-w @ Z.T, axis=1))


def _first(model: tacit.Diagonal, X: Any, y: Any) -> Course:
    """From γ̃ = 0: panels that grow from a part of min(1, α^D), and are 0.8 wide in the end."""
    log_scale = model.depth * log_alpha(model)
    ends = [0.0, _EARLY * min(1.0, math.exp(min(max(log_scale, -300.0), 0.0)))]
    while ends[-1] < _UNTIL:
        ends.append(ends[-1] + min((_GROWTH - 1) * ends[-1], _WIDEST))
    panels = Panels(np.array(ends))
    flow = _asked(model, X, y, panels.instants[1:])
    Z = flow.y[:, None] * np.asarray(flow.X)
    w = np.concatenate([np.zeros((1, Z.shape[1])), np.asarray(flow.predictor)])
    return Course(model, X, y, Z, panels, w, np.append(0.0, _times(model, flow)))


def _asked(model: tacit.Diagonal, X: Any, y: Any, accuracies: Float) -> tacit.Trajectory:
    return settled_flow(model, X, y, accuracies, rtol=1e-9)


def _times(model: tacit.Diagonal, flow: tacit.Trajectory) -> Float:
    """c_D·t, with c_D as it is printed."""
    D = model.depth
    log_rate = math.log(4) if D == 2 else math.log(D * (D - 2)) + (D - 2) * log_alpha(model)
    return np.exp(np.asarray(flow.log_time) + log_rate)
