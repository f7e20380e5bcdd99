r"""Lemmas 3, 11 and 13 of Moroshko et al. 2020, along a flow of the exponential loss.

For a diagonal network of depth D with initial weights α, on separable data with the exponential loss. With γ̃
= −log L, γ₂ the ℓ2 margin of the data and x̄ = maxᵢ Σₙ|xₙᵢ|, at every time t

    γ̃ ≥ log(1 + 2D²α^{2D−2}γ₂²t)                             (Lemma 3)
    ‖w‖∞ ≤ α^D·h_D(z),    z = x̄γ̃/(h_D′(0)γ₂²α^D)              (Lemma 11 for D = 2, Lemma 13 for D > 2)

where h₂(z) = 2 sinh z and h_D(z) = (1−z)^{−D/(D−2)} − (1+z)^{−D/(D−2)}. The second means that w = α^D·h_D(s)
with |s| ≤ z. For D > 2, |s| < 1, but z can reach 1; Lemma 13 is then vacuous, and its right side counts as
+∞.
Since losses can be exp(−1e8) and less, logarithms are compared.

A flow of the exponential loss, and its integrals according to Lemmas 10 and 12 of Moroshko et al. 2020.

With p_n = r_n/‖r‖₁, the weight of each sample in the gradient, and H = ∇²Q, both lemmas state ∇Q(w(t)) =
c_D·Zᵀ∫r, where c₂ = 4 and c_D = α^{D−2}D(D−2), and w' = c_D·H⁻¹Zᵀr; rows of Z are y_n x_n. Along the flow γ̃
increases, and so does ∇Q(w)·v for a v that separates the data, Zv ≥ 1. In the clock τ = γ̃ + b·∇Q(w)·v, for
any b,

    d∇Q = Zᵀp/f dτ,      d(c_D·t) = exp(γ̃)/f dτ,      f = k + b·pᵀZv,      k = dγ̃/d(c_D·‖r‖₁t) = pᵀZ H⁻¹ Zᵀp

The first equation contains neither the loss nor the scale and determines the path of the flow. The second
determines its speed, and hence c_D. Near a saddle the loss hardly decreases, so that γ̃ alone is not suitable
as a clock.

Between two neighbouring states of the flow, the integrand is interpolated by a polynomial in τ through the
surrounding states. If polynomials of two degrees disagree, more states of the flow are recorded in between.

Lemmas 10 and 12 of Moroshko et al. 2020 and the inequalities of Appendix B, along a flow.

Errata
------
### Lemma 13: the times for which it holds
- **Printed.** For all t. **Holds.** Until γ̃ = 2Dγ₂²α^D/((D−2)x̄), where the argument of h_D reaches 1
  and the bound is infinite. Test: `test_when_lemma_13_is_vacuous`.
- **Sharper.** In Lemmas 11 and 13 the largest |x_{n,i}| may replace x̄ = max_i Σ_n|x_{n,i}|, which is up to N
  times larger, and this bound is attained. Test: `test_the_largest_entry_may_stand_in_for_the_sum`.
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
from tacit.papers import Assumption, Bound, Parts, Premise, theorem
from tacit.papers.agreement import AGREE
from tacit.papers.arguments import log_alpha
from tacit.papers.moroshko2020.separation import (
    edge_of,
    followed,
    log_clock,
    log_mirror,
    mirror_argument,
    overview,
    plain_diagonal,
    separation,
    settled_flow,
    settled_margin,
    steady,
)


@theorem("moroshko2020/lemma3", flows=2)
def lemma3(model: Any, X: Any, y: Any, until: float | None = None) -> Parts:
    """L(t) ≤ 1/(1 + 2D²α^{2D−2}γ₂²t) at all times, γ₂ the ℓ2 margin.

    Lemma 3 as γ̃ ≥ log(1 + 2D²α^{2D−2}γ₂²t), which cannot underflow; until: the largest accuracy γ̃.

    As t → 0 the share log(…)/γ̃ tends to γ₂²/‖mean y_n x_n‖². This is 1 if the mean of the samples is the
    shortest vector of their convex hull, for example for equal samples, where it stays 1 as α → ∞.
    """
    yield plain_diagonal(model)
    D, data = model.depth, separation(X, y)
    yield steady(model, data)
    flow = followed(model, X, y, data, until)
    log_rate = math.log(2 * (D * data.margin) ** 2) + (2 * D - 2) * log_alpha(model)
    yield Premise("times are within the floating-point range", bool(np.isfinite(flow.log_time).all()))
    promised = np.logaddexp(0.0, log_rate + flow.log_time)
    share = promised / flow.accuracy
    tight = int(np.argmax(share))
    rate = "log(1 + 2D²α^{2D−2}γ₂²t)"
    yield Bound(f"{rate}/γ̃, largest at γ̃ = {flow.accuracy[tight]:.4g}", float(share[tight]), at_most=1.0)
    yield Bound(f"{rate} at the end, against γ̃", float(promised[-1]), at_most=float(flow.accuracy[-1]))


@theorem("moroshko2020/lemma11", flows=2)
def lemma11(model: Any, X: Any, y: Any, until: float | None = None) -> Parts:
    """D = 2: ‖w(t)‖∞ ≤ 2α² sinh(x̄γ̃(t)/(2γ₂²α²)) at all times.

    Lemma 11; until: the largest accuracy γ̃.

    The proof bounds |Σ rₙxₙᵢ| by x̄‖r‖∞ and ‖r‖∞ by ‖r‖₁; max|xₙᵢ| may therefore replace the sum x̄.
    """
    return _size(model, X, y, until, deep=False)


@theorem("moroshko2020/lemma13", flows=2, shell="--depth 3")
def lemma13(model: Any, X: Any, y: Any, until: float | None = None) -> Parts:
    """D > 2: ‖w(t)‖∞ ≤ α^D·h_D((D−2)x̄γ̃(t)/(2Dγ₂²α^D)) while the argument of h_D is below 1.

    Printed: For all t; but from γ̃ = 2Dγ₂²α^D/((D−2)x̄) on, the argument of h_D is not below 1, and the lemma
    gives no bound.

    Lemma 13, printed for all times; until: the largest accuracy γ̃.

    h_D is defined on (−1, 1), and its argument reaches 1 at γ̃ = 2Dγ₂²α^D/((D−2)x̄). Beyond, the proof gives
    |h_D⁻¹(w/α^D)| ≤ 1, which every w satisfies.
    """
    return _size(model, X, y, until, deep=True)


def _size(model: Any, X: Any, y: Any, until: float | None, deep: bool) -> Parts:
    """Lemma 11, or Lemma 13 for D > 2, along the flow."""
    yield plain_diagonal(model, deep)
    D, data, log_scale = model.depth, separation(X, y), model.depth * log_alpha(model)
    yield steady(model, data)
    flow = followed(model, X, y, data, until)
    size = np.log(np.abs(flow.predictor).max(axis=1))
    limit = log_scale + log_mirror(mirror_argument(data, D, log_scale, flow.accuracy), D)
    tight = int(np.argmax(size - limit))
    note = "" if D == 2 else f"; it is +∞ from γ̃ = {edge_of(data, D, log_scale):.4g} on"
    text = f"‖w‖∞ over its bound, largest at γ̃ = {flow.accuracy[tight]:.4g}{note}"
    yield Bound(text, float(np.exp(size[tight] - limit[tight])), at_most=1.0)
    yield Bound(f"log‖w‖∞ at γ̃ = {flow.accuracy[-1]:.4g}", float(size[-1]), at_most=float(limit[-1]))


_UNTIL = 20.0  # accuracy up to which the integrals are compared; later, supports hardly change
_RTOL = 1e-8  # of the flow
_NODES = 10  # states used by an interpolating polynomial
_LEAST = 1e-300  # replaces 0 in denominators
_SURE = 0.25  # allowed interpolation error, relative to the tolerance of the comparison
_PARTS, _ROUNDS = 16, 6  # largest number of parts of a gap, and of refinements
_MOST = 3000  # largest number of states
_CROWDED = 1e-2  # states closer than this, relative to the gap beside them, are redundant
_FINE = "the states of this flow are close enough for integration"


@dataclass(frozen=True, eq=False)
class Course:
    """Consecutive states of a flow from the start: predictors w, accuracies γ̃, and c_D·t as `times`.

    v separates the rows of Z. share: b, the weight of ∇Q(w)·v in the clock.
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
        """∇Q(w) and c_D·t at each state, from the flow."""
        slopes = np.asarray(self.model.potential(self.w.shape[1]).gradient(self.w))
        return np.column_stack([slopes, self.times])

    @cached_property
    def clock(self) -> Float:
        """The clock τ at each state."""
        return np.asarray(self.accuracy + self.share * (self.seen[:, :-1] @ self.v))

    @cached_property
    def rates(self) -> Float:
        """The integrands of the lemmas, and k/f, the rate of γ̃."""
        hessian = np.asarray(self.model.potential(self.w.shape[1]).hessian(self.w))
        force = pulls(self.Z, self.w) @ self.Z
        k = np.sum(force**2 / hessian, axis=1)
        speed = k + self.share * (force @ self.v)
        return np.column_stack([force, np.exp(self.accuracy), k]) / speed[:, None]

    def apart(self) -> Float:
        """The largest relative differences between integrals and flow: of the path, and of the time."""
        reached = np.cumsum(between(self.clock, self.rates[:, :-1], _NODES), axis=0)
        return self._relative(self.seen[1:] - reached).max(axis=0)

    @cached_property
    def doubts(self) -> Float:
        """Estimated relative errors of the integrals over each gap between states.

        The estimate extrapolates the differences between polynomials through different numbers of states.
        """
        best, good, fair = (between(self.clock, self.rates[:, :-1], _NODES - less) for less in (0, 2, 4))
        late, early = self._relative(best - good), self._relative(good - fair)
        return np.asarray((late * np.minimum(late / np.maximum(early, _LEAST), 1.0)).max(axis=1))

    def missing(self) -> Float:
        """Accuracies at which to record more states: in gaps with large estimated errors, evenly in τ."""
        found = []
        shares = self.doubts * len(self.doubts) / (_SURE * AGREE)
        for gap in np.flatnonzero(shares > 1).tolist():
            parts = min(1 + math.ceil(shares[gap] ** (1 / _NODES)), _PARTS)
            found.append(self._inside(gap, np.arange(1, parts) / parts))
        return np.unique(np.concatenate([[], *found]))

    def _inside(self, gap: int, places: Float) -> Float:
        """γ̃ at fractions of a gap, by cubic Hermite interpolation if that increases, otherwise linearly."""
        low, high = self.accuracy[gap : gap + 2]
        first, last = np.diff(self.clock)[gap] * self.rates[gap : gap + 2, -1]
        line = (high - low) * places
        bend = places * (1 - places) * ((first - high + low) * (1 - places) - (last - high + low) * places)
        cubic = low + line + bend
        rises = (np.diff(np.concatenate([[low], cubic, [high]])) > 0).all()
        return np.asarray(cubic if rises else low + line)

    def joined(self, flow: tacit.Trajectory) -> Course:
        """Add the states of another record of the same flow, except redundant ones."""
        w = np.concatenate([self.w, np.asarray(flow.predictor)])
        accuracy = np.append(self.accuracy, flow.accuracy)
        times = np.append(self.times, _times(self.model, flow))
        order = np.argsort(accuracy, kind="stable")
        return replace(self, w=w[order], accuracy=accuracy[order], times=times[order]).thinned()

    def thinned(self) -> Course:
        """Remove states that are much closer to one neighbour than to the other."""
        gaps = np.diff(self.clock)
        kept = np.minimum(gaps[1:], gaps[:-1]) > _CROWDED * np.maximum(gaps[1:], gaps[:-1])
        kept = np.concatenate([[True], kept, [True]])
        return replace(self, w=self.w[kept], accuracy=self.accuracy[kept], times=self.times[kept])

    def _relative(self, errors: Float) -> Float:
        """Relative values at each state after the start: slopes relative to the largest, times to their own
        size."""
        sizes, errors = np.abs(self.seen[1:]), np.abs(errors)
        way = errors[:, :-1].max(axis=1) / sizes[:, :-1].max(axis=1)
        return np.column_stack([way, errors[:, -1] / sizes[:, -1]])


def between(clock: Float, rates: Float, nodes: int) -> Float:
    """The integral over each gap of the interpolating polynomial through the surrounding nodes."""
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
    """The flow at sufficiently close states, and whether they are close enough."""
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
    """The share p_n of each sample in the residuals, at each recorded time."""
    return np.asarray(softmax(-w @ Z.T, axis=1))


def _first(model: tacit.Diagonal, X: Any, y: Any) -> Course:
    """The flow at the states that it records by default.

    b is chosen such that slopes change the clock like γ̃ when w changes by its own size: such changes of
    slopes are of order 1 for D = 2, and (α^D/w)^{1−2/D} for D > 2.
    """
    flow = overview(model, X, y, _UNTIL, _RTOL)
    v = settled_margin(X, y, "l2").predictor
    far = math.log(float(np.abs(v).max())) - model.depth * log_alpha(model)
    share = math.exp((1 - 2 / model.depth) * max(far, 0.0)) / float(np.abs(v).sum())
    Z, w = flow.y[:, None] * np.asarray(flow.X), np.asarray(flow.predictor)
    return Course(model, Z, v, share, w, flow.accuracy, _times(model, flow)).thinned()


def _times(model: tacit.Diagonal, flow: tacit.Trajectory) -> Float:
    """c_D·t with the printed c_D."""
    return np.exp(np.asarray(flow.log_time) + log_clock(model.depth, log_alpha(model)))


_SMALLEST = -20.0  # log α^D above which the number of nodes is moderate
_ROUNDING = 1e-7  # relative; ten times the tolerance of outputs and accuracy of the flow


@theorem("moroshko2020/lemma10", flows=4)
def lemma10(model: Any, X: Any, y: Any) -> Parts:
    """D = 2: w(t) = 2α² sinh(4Zᵀ∫r) and w' = A Zᵀr at all times.

    Lemma 10, equations 13 and 14, until γ̃ = 20, as slopes asinh(w/2α²) of the potential.
    """
    return _solution(model, X, y, deep=False)


@theorem("moroshko2020/lemma12", flows=4, shell="--depth 3")
def lemma12(model: Any, X: Any, y: Any) -> Parts:
    """D > 2: w(t) = α^D·h_D(α^{D−2}D(D−2)Zᵀ∫r) and w' = A_D Zᵀr at all times.

    Lemma 12, equations 23 to 26, until γ̃ = 20, as slopes h_D⁻¹(w/α^D) of the potential.
    """
    return _solution(model, X, y, deep=True)


@theorem("moroshko2020/inequalities", flows=2, about=("Useful inequalities",))
def inequalities(model: Any, X: Any, y: Any) -> Parts:
    """γ ≤ γ̃ ≤ γ + log N and ‖w‖₂ ≥ γ̃/x_max at all times, γ the smallest margin.

    Equations 10 and 12, along the flow of Lemma 3.

    Equal samples attain the second inequality, a single support vector far from the other samples the first,
    and equal samples parallel to w the third.
    """
    yield plain_diagonal(model)
    data = separation(X, y)
    yield steady(model, data)
    flow = followed(model, X, y, data, None)
    gaps = flow.accuracy - (flow.y * flow.outputs).min(axis=1)
    yield Bound("(10) (γ̃ − γ)/γ̃, the smallest", float(np.min(gaps / flow.accuracy)), at_least=-_ROUNDING)
    room = float(np.max(gaps - _ROUNDING * flow.accuracy))
    yield Bound("(10) γ̃ − γ, the largest, against log N", room, at_most=math.log(data.samples))
    shares = flow.accuracy / (data.longest * np.linalg.norm(flow.predictor, axis=1))
    yield Bound("(12) γ̃/(x_max‖w‖₂), the largest", float(shares.max()), at_most=1 + _ROUNDING)


def _solution(model: Any, X: Any, y: Any, deep: bool) -> Parts:
    """Lemma 10, or Lemma 12 for D > 2."""
    yield plain_diagonal(model, deep)
    separation(X, y)  # raises if the data are not separable
    log_scale = model.depth * log_alpha(model)
    yield Premise(f"log α^D = {log_scale:.4g} is at least {_SMALLEST:g}", log_scale >= _SMALLEST)
    course, settled = settled_course(model, X, y)
    yield settled
    way, time = (float(each) for each in course.apart())
    yield Bound("‖∇Q(w(t)) − c_D·Zᵀ∫r‖∞ over ‖∇Q(w(t))‖∞, the largest along the flow", way, at_most=AGREE)
    yield Bound("|t − ∫dγ̃/γ̃'|/t, γ̃' that of w' = c_D·H⁻¹Zᵀr, the largest", time, at_most=AGREE)
