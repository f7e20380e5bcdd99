"""Predictors of one flow at many stopping points, for early stopping by validation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.arrays import Float, as_floats, check_problem
from tacit.data.prepared import design_of
from tacit.errors import InputError
from tacit.flows.driver import drive
from tacit.flows.form import Flow
from tacit.flows.segments import Segment
from tacit.flows.stopping.mirror_flow import MirrorFlow, State, Stride
from tacit.flows.stopping.samples import FittedSamples
from tacit.flows.termination import ENOUGH, UNFITTABLE, Rest, Stall
from tacit.potentials.arrays import quiet

_FINEST, _COARSEST = 1e-7, 0.1  # range of rtol for which the steps and fast maps are accurate
_MAX_STEPS = 5000
_FIT = 1e-24  # share of the initial loss at which the residual is round-off
_GRID = np.concatenate([[0.0], np.geomspace(1e-6, 0.1, 11), np.linspace(0.2, 1, 9)])  # fractions of a step
_SEARCH = 15  # iterations of the search for a stop within a step
_CLOSE = 0.1  # tolerance of log L in that search, in units of rtol


@dataclass(frozen=True, eq=False)
class StoppedPath:
    r"""Predictors w (K, d) at K stopping points of a flow, with duals ν (K, N), ∇Q(w) = ∇Q(w(0)) + Xᵀν.

    times: training times for the loss (1/2N)·Σ(f − y)². reached: False if the flow ended before the stop; its
    last predictor and an infinite time are then given. steps: number of steps. reason: why a stop was not
    reached.
    """

    predictors: Float
    duals: Float
    times: Float
    reached: NDArray[np.bool_]
    steps: int
    reason: str = ""


def stopped_path(model: Any, X: Any, y: Any, stops: Any, **options: Any) -> StoppedPath:
    """`stopped_paths` of a single model."""
    return next(stopped_paths([model], X, y, stops, **options))


def stopped_paths(
    models: Iterable[Any],
    X: Any,
    y: Any,
    stops: Any,
    *,
    rtol: float = 1e-4,
    enough: Callable[[Float], bool] | None = None,
) -> Iterator[StoppedPath]:
    """Stop the flow of each diagonal network when the loss has fallen to given values; prepare samples once.

    stops: decreasing shares of the initial loss in (0, 1]. rtol: relative accuracy of the predictors, from
    1e-7 to 0.1; that of the loss at a stop is ten times larger. enough: called with the predictor at every
    stop; the flow ends when it returns true. Use `tacit.flow` for higher accuracy.
    """
    checked, y = check_problem(X, y)
    design = design_of(X, checked)
    if not _FINEST <= rtol <= _COARSEST:
        raise InputError(f"rtol must be between {_FINEST:g} and {_COARSEST:g}, got {rtol:g}")
    shares = _decreasing(stops)
    memory = design.samples.memory
    samples = memory.once(("stopped", y.tobytes()), lambda: FittedSamples.of(design, y))
    for model in models:
        yield _stopped(model, samples, shares, rtol, enough or (lambda _: False))


@quiet
def _stopped(
    model: Any, samples: FittedSamples, shares: Float, rtol: float, enough: Callable[[Float], bool]
) -> StoppedPath:
    form = model.mirror_form(samples.X.shape[1])
    if form is None:
        raise InputError(f"{model!r} has no flow in mirror space; use tacit.flow")
    found = _Stops(MirrorFlow(form, samples, rtol), shares, enough)
    found.run()
    duals = found.duals if samples.basis is None else found.duals @ samples.basis.T
    times = found.clocks * np.exp(-form.log_speed)
    return StoppedPath(found.predictors, duals, times, found.reached, found.steps, found.reason)


def _decreasing(shares: Any) -> Float:
    found = np.atleast_1d(as_floats(shares, "shares", ndim=(0, 1)))
    if found.size == 0 or (np.diff(found) >= 0).any() or found[0] > 1 or found[-1] <= 0:
        raise InputError("shares must be decreasing numbers in (0, 1], at least one")
    return found


def _levels(shares: Float, log_start: float, floor: float) -> tuple[Float, NDArray[np.bool_]]:
    """log L at the stops, and which of them can be reached; floor: least loss."""
    start = float(np.exp(log_start)) + floor
    left = shares * start - floor
    possible = (left > max(_FIT * start, 1e-9 * floor)) | (shares == 1)
    found = np.log(np.where(possible, left, _FIT * start))
    return np.where(shares == 1, log_start, found), possible


class _Stops(Flow):
    """The stops of a flow, filled in from step to step: the flow and the callback for `drive`."""

    def __init__(self, flow: MirrorFlow, shares: Float, enough: Callable[[Float], bool]):
        self.flow, self.enough = flow, enough
        floor = flow.samples.unfitted / (2 * flow.samples.count)
        self.levels, self.possible = _levels(shares, flow.here.log_loss, floor)
        flow.last_level = float(self.levels[-1])
        K, (N, d) = len(self.levels), flow.X.shape
        self.predictors, self.duals = np.empty((K, d)), np.empty((K, N))
        self.clocks, self.reached = np.full(K, np.inf), np.zeros(K, dtype=bool)
        self.steps, self.next, self.reason = 0, 0, ""

    def run(self) -> None:
        """Follow the flow to the last stop or to its end, whose predictor is used for the remaining stops."""
        while self.next < len(self.levels) and self._begins_at(self.next):
            self._put(self.next, self.flow.here)
        try:
            if self.next < len(self.levels):
                drive(self, self._follow)
        except Stall as stall:
            self.reason = str(stall)
        here = self.flow.here
        self.predictors[self.next :], self.duals[self.next :] = here.here.predictor, here.nu

    def stepper(self) -> MirrorFlow:
        """The flow; raises `Rest` if it is at rest."""
        self._check_rest()
        return self.flow

    def after(self, segment: Segment) -> None:
        """Check for rest if the next stop cannot be reached."""
        if self.steps >= _MAX_STEPS:
            raise Stall(self.flow.why())
        self._check_rest()

    def _check_rest(self) -> None:
        if not self.possible[self.next] and self.flow.settled():
            raise Rest(UNFITTABLE)

    def _follow(self, segment: Segment) -> bool:
        stride = segment.last
        self.steps += 1
        if self._locate(stride):
            raise Stall(ENOUGH)
        return self.next >= len(self.levels)

    def _begins_at(self, place: int) -> bool:
        """Whether the start already satisfies this stop."""
        level, log_loss = self.levels[place], self.flow.here.log_loss
        return bool(log_loss == -np.inf or (self.possible[place] and log_loss <= level))

    def _put(self, place: int, state: State) -> None:
        self.predictors[place], self.duals[place] = state.here.predictor, state.nu
        self.clocks[place], self.reached[place] = state.clock, True
        self.next = place + 1

    def _locate(self, stride: Stride) -> bool:
        """Find the stops within a step from the loss along it; return whether to end the flow."""
        inside = np.flatnonzero((self.levels >= stride.end.log_loss) & self.possible)
        inside = inside[inside >= self.next]
        if not len(inside):
            return False
        fractions = self._fractions(stride, self.levels[inside])
        change = stride.nu(fractions)
        predictors = stride.start.here.moved(self.flow.slopes(change)).predictor
        samples = self.flow.samples
        losses = samples.log_loss(samples.pull(predictors @ self.flow.X.T))
        for i, place in enumerate(inside.tolist()):
            if self.flow.close(float(losses[i]), float(self.levels[place])):
                self.predictors[place], self.duals[place] = predictors[i], stride.start.nu + change[i]
                self.clocks[place] = stride.start.clock + fractions[i] * stride.step.h
                self.reached[place], self.next = True, place + 1
            else:
                self._put(place, self._refined_stop(stride, float(fractions[i]), float(self.levels[place])))
            if self.enough(self.predictors[place]):
                return True
        return False

    def _refined_stop(self, stride: Stride, fraction: float, level: float) -> State:
        """The end of a shorter step at this loss, used if the interpolation of the step is not accurate."""
        low, high, best = (0.0, stride.start), (1.0, stride.end), stride.end
        for _ in range(_SEARCH):
            shorter = self.flow.shorter(stride, fraction)
            if shorter is None:
                break
            end = shorter.end
            if abs(end.log_loss - level) < abs(best.log_loss - level):
                best = end
            if self.flow.close(end.log_loss, level):
                break
            low, high = ((fraction, end), high) if end.log_loss > level else (low, (fraction, end))
            part = (low[1].log_loss - level) / (low[1].log_loss - high[1].log_loss)
            fraction = low[0] + (high[0] - low[0]) * min(max(part, 0.1), 0.9)
        return best

    def _fractions(self, stride: Stride, levels: Float) -> Float:
        """Fractions of a step at which log L has these levels, by the Illinois method from a grid."""

        def excess(fractions: Float, level: Float | float) -> Float:
            return self.flow.samples.log_loss(stride.pull(fractions)) - level

        known = np.concatenate([[stride.start.log_loss], excess(_GRID[1:-1], 0.0), [stride.end.log_loss]])
        known = np.minimum.accumulate(known)  # log L decreases, up to errors
        place = np.clip(len(known) - np.searchsorted(known[::-1], levels, side="right"), 1, len(known) - 1)
        low, high = _GRID[place - 1], _GRID[place]
        over, under, side = known[place - 1] - levels, known[place] - levels, np.zeros(len(levels))
        for _ in range(_SEARCH):
            part = np.divide(over, over - under, out=np.ones_like(low), where=over > under)
            middle = low + (high - low) * part
            value = excess(middle, levels)
            if (np.abs(value) < _CLOSE * self.flow.rtol).all():
                break
            above = value > 0
            low, high = np.where(above, middle, low), np.where(above, high, middle)
            over = np.where(above, value, np.where(side < 0, over / 2, over))  # Illinois rule
            under = np.where(above, np.where(side > 0, under / 2, under), value)
            side = np.where(above, 1.0, -1.0)
        return middle
