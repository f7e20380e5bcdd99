"""Predictors along one flow at many stopping points, for those who choose among them by validation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.arrays import Float, as_floats, as_labels, check_problem
from tacit.data.prepared import Design, design_of
from tacit.errors import InputError
from tacit.flows.driver import drive
from tacit.flows.form import Moving
from tacit.flows.segments import Segment
from tacit.flows.stopping.losses import StoppedExponential, StoppedLogistic, StoppedLoss, StoppedSquare
from tacit.flows.stopping.mirror_flow import MirrorFlow, State, Stride
from tacit.flows.stopping.samples import Samples
from tacit.flows.termination import ENOUGH, UNFITTABLE, Rest, Stall
from tacit.potentials.arrays import quiet

_FINEST, _COARSEST = 1e-7, 0.1  # tolerances that these steps and maps are made for
_MARGINS: dict[str, Any] = {"exp": StoppedExponential, "logistic": StoppedLogistic}
_MOST = 5000  # steps
_SLOW = 1e-3  # of log L: a step that gains less may be one at the end of the flow
_FIT = 1e-24  # of the loss at the start: where what is left is rounding
_GRID = np.concatenate([[0.0], np.geomspace(1e-6, 0.1, 11), np.linspace(0.2, 1, 9)])  # shares of a step
_SEARCH, _CLOSE = 15, 0.1  # trials in the search for a stop between two of them; tolerances of log L

Levels = Callable[[float], tuple[Float, NDArray[np.bool_]]]


@dataclass(frozen=True, eq=False)
class StoppedPath:
    r"""Predictors w (K, d) at K stopping points of a flow, with duals ν (K, N), ∇Q(w) = ∇Q(w(0)) + Xᵀν.

    times: of the flow on the loss (1/2N)·Σ(f − y)², or on the mean of the others. reached: False where the
    flow ends before it comes to the stop; the predictor is then that at its end, and its time infinite.
    steps: that were taken. reason: why a stop was not reached, in words.
    """

    predictors: Float
    duals: Float
    times: Float
    reached: NDArray[np.bool_]
    steps: int
    reason: str = ""


def stopped_path(
    model: Any,
    X: Any,
    y: Any,
    stops: Any,
    *,
    loss: str = "square",
    rtol: float = 1e-4,
    enough: Callable[[Float], bool] | None = None,
) -> StoppedPath:
    """The flow of a diagonal network, stopped where the loss has fallen to given values.

    stops: for the square loss shares of the loss at the start, in (0, 1], decreasing; for loss "exp" or
    "logistic", of labels y = ±1, increasing accuracies γ̃ = −log L. rtol: relative accuracy of the predictors,
    from 1e-7 to 0.1; that of the loss at a stop is ten times it. enough: is asked about the
    predictor at every stop, and ends the flow there when it says so. For predictors to many digits there is
    `tacit.flow`.
    """
    return next(stopped_paths([model], X, y, stops, loss=loss, rtol=rtol, enough=enough))


def stopped_paths(
    models: Iterable[Any],
    X: Any,
    y: Any,
    stops: Any,
    *,
    loss: str = "square",
    rtol: float = 1e-4,
    enough: Callable[[Float], bool] | None = None,
) -> Iterator[StoppedPath]:
    """The same for one model after the other, which share what of the samples is prepared."""
    checked, y = check_problem(X, y)
    design = design_of(X, checked)
    if not _FINEST <= rtol <= _COARSEST:
        raise InputError(f"rtol must be between {_FINEST:g} and {_COARSEST:g}, got {rtol:g}")
    if loss == "square":
        shares, samples = _decreasing(stops), _once(Samples.of, design, y)
        levels = _levels_of_shares(shares, samples.unfitted / (2 * len(y)))
        stopped: StoppedLoss = StoppedSquare(samples.y, len(y))
    elif loss in _MARGINS:
        y = as_labels(y, f"loss {loss!r}")
        levels = _levels_of_accuracies(_increasing(stops))
        samples = _once(Samples.labelled, design, y)
        stopped = _MARGINS[loss](y)
    else:
        raise InputError(f"loss must be 'square', 'exp' or 'logistic', got {loss!r}")
    for model in models:
        yield _stopped(model, samples, stopped, levels, rtol, enough or _never)


def _once(make: Callable[[Design, Float], Samples], design: Design, y: Float) -> Samples:
    return design.samples.memory.once((make.__name__, y.tobytes()), lambda: make(design, y))


def _never(_: Float) -> bool:
    return False


@quiet
def _stopped(
    model: Any,
    samples: Samples,
    stopped: StoppedLoss,
    levels: Levels,
    rtol: float,
    enough: Callable[[Float], bool],
) -> StoppedPath:
    form = model.mirror_form(samples.X.shape[1])
    if form is None:
        raise InputError(f"{model!r} has no flow in mirror space; tacit.flow runs it")
    found = _Stops(MirrorFlow(form, samples, stopped, rtol), levels, enough)
    found.run()
    duals = found.duals if samples.basis is None else found.duals @ samples.basis.T
    times = found.clocks * np.exp(-form.log_speed)
    return StoppedPath(found.predictors, duals, times, found.reached, found.steps, found.reason)


def _decreasing(shares: Any) -> Float:
    found = np.atleast_1d(as_floats(shares, "shares", ndim=(0, 1)))
    if found.size == 0 or (np.diff(found) >= 0).any() or found[0] > 1 or found[-1] <= 0:
        raise InputError(
            "shares must be decreasing numbers between 0 and 1 (1 included, 0 not), at least one"
        )
    return found


def _increasing(accuracies: Any) -> Float:
    found = np.atleast_1d(as_floats(accuracies, "accuracies", ndim=(0, 1)))
    if found.size == 0 or (np.diff(found) <= 0).any():
        raise InputError("accuracies must be increasing numbers, at least one")
    return found


def _levels_of_shares(shares: Float, floor: float) -> Levels:
    """Logarithms of losses to stop at, and which of them a predictor has; floor: below which none is."""

    def levels(log_start: float) -> tuple[Float, NDArray[np.bool_]]:
        start = float(np.exp(log_start)) + floor
        left = shares * start - floor
        possible = (left > max(_FIT * start, 1e-9 * floor)) | (shares == 1)
        found = np.log(np.where(possible, left, _FIT * start))
        return np.where(shares == 1, log_start, found), possible

    return levels


def _levels_of_accuracies(accuracies: Float) -> Levels:
    """The same of γ̃ = −log L; whether a predictor has them, the flow will tell."""
    return lambda _: (-accuracies, np.ones(len(accuracies), dtype=bool))


class _Stops(Moving):
    """The stops of a flow, filled in from step to step: a form for `drive`, and its follower."""

    def __init__(self, flow: MirrorFlow, levels: Levels, enough: Callable[[Float], bool]):
        """levels: from the logarithm of the loss at the start. enough: as `stopped_path` has it."""
        self.flow, self.enough, self.slow = flow, enough, False
        self.levels, self.possible = levels(flow.here.log_loss)
        flow.last_level = float(self.levels[-1])
        K, (N, d) = len(self.levels), flow.X.shape
        self.predictors, self.duals = np.empty((K, d)), np.empty((K, N))
        self.clocks, self.reached = np.full(K, np.inf), np.zeros(K, dtype=bool)
        self.steps, self.next, self.reason = 0, 0, ""

    def run(self) -> None:
        """Follow the flow to the last stop, or to its end; what is not reached is where it ended."""
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
        """The flow, unless it is settled."""
        self._check_rest()
        return self.flow

    def after(self, segment: Segment) -> None:
        """Look for rest where a loss of margins falls slowly, or the next stop is beyond all predictors."""
        if self.steps >= _MOST:
            raise Stall(self.flow.why())
        self._check_rest()

    def _check_rest(self) -> None:
        if (self.slow or not self.possible[self.next]) and self.flow.settled():
            raise Rest(UNFITTABLE)

    def _follow(self, segment: Segment) -> bool:
        stride = segment.last
        self.steps += 1
        self.slow = not self.flow.loss.linear and stride.end.log_loss > stride.start.log_loss - _SLOW
        if self._locate(stride):
            raise Stall(ENOUGH)
        return self.next >= len(self.levels)

    def _begins_at(self, place: int) -> bool:
        """Is the start the stop already? It is where nothing is wrong with it."""
        level, log_loss = self.levels[place], self.flow.here.log_loss
        return bool(log_loss == -np.inf or (self.possible[place] and log_loss <= level))

    def _put(self, place: int, state: State) -> None:
        self.predictors[place], self.duals[place] = state.here.predictor, state.nu
        self.clocks[place], self.reached[place] = state.clock, True
        self.next = place + 1

    def _locate(self, stride: Stride) -> bool:
        """The stops within a step, by the loss that its pull tells; was that enough?"""
        inside = np.flatnonzero((self.levels >= stride.end.log_loss) & self.possible)
        inside = inside[inside >= self.next]
        if not len(inside):
            return False
        shares = self._shares(stride, self.levels[inside])
        change = stride.nu(shares)
        predictors = stride.start.here.moved(self.flow.slopes(change)).predictor
        losses = self.flow.loss.log_loss(self.flow.loss.pull(predictors @ self.flow.X.T))
        for i, place in enumerate(inside.tolist()):
            if self.flow.close(float(losses[i]), float(self.levels[place])):
                self.predictors[place], self.duals[place] = predictors[i], stride.start.nu + change[i]
                self.clocks[place] = stride.start.clock + shares[i] * stride.step.h
                self.reached[place], self.next = True, place + 1
            else:
                self._put(place, self._nearer(stride, float(shares[i]), float(self.levels[place])))
            if self.enough(self.predictors[place]):
                return True
        return False

    def _nearer(self, stride: Stride, share: float, level: float) -> State:
        """The end of a shorter step that has this loss, where the long one is not accurate within."""
        low, high, best = (0.0, stride.start), (1.0, stride.end), stride.end
        for _ in range(_SEARCH):
            shorter = self.flow.shorter(stride, share)
            if shorter is None:
                break
            end = shorter.end
            if abs(end.log_loss - level) < abs(best.log_loss - level):
                best = end
            if self.flow.close(end.log_loss, level):
                break
            low, high = ((share, end), high) if end.log_loss > level else (low, (share, end))
            part = (low[1].log_loss - level) / (low[1].log_loss - high[1].log_loss)
            share = low[0] + (high[0] - low[0]) * min(max(part, 0.1), 0.9)
        return best

    def _shares(self, stride: Stride, levels: Float) -> Float:
        """Where within a step the loss is at these levels: a grid, then secants that keep their brackets."""

        def excess(shares: Float, level: Float | float) -> Float:
            return self.flow.loss.log_loss(stride.pull(shares)) - level

        seen = np.concatenate([[stride.start.log_loss], excess(_GRID[1:-1], 0.0), [stride.end.log_loss]])
        seen = np.minimum.accumulate(seen)  # it falls, but for errors
        place = np.clip(len(seen) - np.searchsorted(seen[::-1], levels, side="right"), 1, len(seen) - 1)
        low, high = _GRID[place - 1], _GRID[place]
        over, under, side = seen[place - 1] - levels, seen[place] - levels, np.zeros(len(levels))
        for _ in range(_SEARCH):
            part = np.divide(over, over - under, out=np.ones_like(low), where=over > under)
            middle = low + (high - low) * part
            value = excess(middle, levels)
            if (np.abs(value) < _CLOSE * self.flow.rtol).all():
                break
            above = value > 0
            low, high = np.where(above, middle, low), np.where(above, high, middle)
            over = np.where(above, value, np.where(side < 0, over / 2, over))  # the Illinois rule
            under = np.where(above, np.where(side > 0, under / 2, under), value)
            side = np.where(above, 1.0, -1.0)
        return middle
