r"""Separating losses in mirror space, with the clock Σθ_n, in which no loss value is computed.

With rows z_n = y_n x_n, margins m = Z·w(θ) and ∇Q(w) = ∇Q(w(0)) + Zᵀθ, the flow of a mean of decreasing
functions ℓ(m_n) is θ' ∝ −ℓ'(m) ≥ 0. In the clock s = Σθ_n it is, at each stage of a collocation method,

    log q_n − log(−ℓ'(m_n(θ))) + c = 0,    Σ q_n = 1,    θ' = q

a differential-algebraic system of index 1 with one more unknown c. In ordinary time the loss underflows and
time overflows (see Moroshko et al. 2020, Appendix H.5); here neither occurs. At large scales the flow
approaches a sweeping process, whose kinks the collocation method steps across.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from tacit.data.arrays import Float, Index
from tacit.flows.form import Form, Observation, Problem
from tacit.flows.forms.mirror import MIRROR, MirrorMap, Pace, at_an_end, within_floats
from tacit.flows.segments import Segment
from tacit.flows.steps.collocation import CONTROL, CollocationStep, PathEquations
from tacit.flows.steps.stepper import Controlled
from tacit.flows.termination import UNDERFLOW, UNEVEN, Stall
from tacit.losses import log_mean_exp
from tacit.models.model import MirrorForm
from tacit.numerics.rounding import EPS
from tacit.numerics.step_control import Taken
from tacit.numerics.ties import Ties, product
from tacit.potentials.arrays import quiet

_NOISE = 1e-8  # relative round-off of the margins at which a flow ends (or rtol, if that is larger)
_HALF = 0.5  # share of that round-off above which steps are shortened, at most to this share of their length
_COSTLY = 20_000  # entries of Z above which a kernel costs more than a Newton step
_DROP = 40.0  # contributions to the time below e^{-40} of the total are neglected
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


@dataclass(frozen=True, eq=False)
class DiagonalPath:
    """The predictor of a diagonal network as a function of increments of θ."""

    Z: Float
    reach: Float  # Z / weight
    here: MirrorMap
    squares: Float  # Z·reach
    ties: Ties | None

    @classmethod
    def begin(cls, Z: Float, weight: Float, start: MirrorMap) -> DiagonalPath:
        """The path from its start."""
        reach = Z / weight
        return cls(Z, reach, start, Z * reach, Ties.of(reach))

    @property
    def samples(self) -> int:
        """Number of samples N."""
        return len(self.Z)

    @property
    def costly(self) -> bool:
        """Whether computing a kernel is more expensive than a Newton step without a new one."""
        return self.Z.size > _COSTLY

    def margins(self, theta: Float) -> tuple[Float, MirrorMap]:
        """Margins at increments θ, with leading axes, and the mirror map there."""
        there = self.here.moved(product(theta, self.reach, self.ties))
        return there.predictor @ self.Z.T, there

    def metric(self, there: MirrorMap) -> Float:
        """The diagonal metric from which ∂m/∂θ is computed."""
        return there.stiffness

    def kernel(self, metric: Float, samples: Index) -> Float:
        """Columns of ∂m/∂θ."""
        reach = self.reach if len(samples) == len(self.Z) else self.reach[samples]
        return np.matmul(self.Z * metric[..., None, :], reach.T)

    def diagonal(self, metric: Float) -> Float:
        """The diagonal of ∂m/∂θ."""
        return metric @ self.squares.T

    def velocity(self, there: MirrorMap, q: Float) -> Float:
        """∂m/∂θ·q."""
        return (there.stiffness * (q @ self.reach)) @ self.Z.T

    def size(self, change: Float, there: MirrorMap) -> float:
        """Change of the rapidities due to a change of θ, relative to their size where they are below 1."""
        moved = np.abs(there.rapidity_rate * (change @ self.reach)).max()
        return float(moved / max(min(there.farthest(), 1.0), 1e-300))

    def rounding(self, change: Float, there: MirrorMap) -> float:
        """Error of the margins due to round-off of a change of θ, relative to the largest, or to 1."""
        slopes = EPS * (np.abs(change) @ np.abs(self.reach))
        noise = ((there.stiffness * slopes) @ np.abs(self.Z).T).max()
        return float(noise / max(np.abs(there.predictor @ self.Z.T).max(), 1.0))

    def at_an_end(self) -> bool:
        """Whether a slope is closer to the end of its domain than its round-off (margins are noisy)."""
        return at_an_end(self.here)

    def moved(self, theta: Float) -> DiagonalPath:
        """The path that starts there."""
        return replace(self, here=self.here.moved(product(theta, self.reach, self.ties)))


@dataclass(frozen=True, eq=False)
class TangentPath:
    """The linearized model: margins m₀ + K θ, with the initial tangent kernel K."""

    start: Float
    K: Float
    theta: Float

    costly = False  # the kernel is known

    @property
    def samples(self) -> int:
        """Number of samples N."""
        return len(self.start)

    def margins(self, theta: Float) -> tuple[Float, Float]:
        """Margins at increments θ, with leading axes, and θ since the start."""
        total = self.theta + theta
        return self.start + total @ self.K, total

    def metric(self, total: Float) -> Float:
        """K is constant; only the shape of the result is used."""
        return total

    def kernel(self, metric: Float, samples: Index) -> Float:
        """Columns of K, broadcast to leading axes."""
        columns = self.K[:, samples]
        return np.broadcast_to(columns, (*metric.shape[:-1], *columns.shape))

    def diagonal(self, metric: Float) -> Float:
        """The diagonal of K, broadcast to leading axes."""
        return np.broadcast_to(np.diag(self.K), metric.shape)

    def velocity(self, total: Float, q: Float) -> Float:
        """K q."""
        return q @ self.K

    def size(self, change: Float, total: Float) -> float:
        """Change of the margins due to a change of θ, relative to their change since the start."""
        return float(np.abs(change @ self.K).max() / max(np.abs(total @ self.K).max(), 1e-300))

    def rounding(self, change: Float, total: Float) -> float:
        """0: margins are computed from θ without intermediate features."""
        return 0.0

    def at_an_end(self) -> bool:
        """Always false: the domain is unbounded."""
        return False

    def moved(self, theta: Float) -> TangentPath:
        """The path that starts there."""
        return TangentPath(self.start, self.K, self.theta + theta)


@dataclass(frozen=True)
class MirrorState:
    """State of a path: the mirror map of a diagonal network or θ of a linearized one, and the time.

    shares: q, each sample's share of the gradient of the loss, as computed in the step. Late in the flow it
    could not be recomputed from the margins, whose differences are lost in round-off.
    """

    point: Any
    shares: Float
    log_time: Callable[[], float]  # log of time, in units of the path's speed


class SeparatingFlow(Form):
    """A path in mirror space, integrated by collocation with the clock Σθ_n."""

    name = "mirror space, clock Σθ (Radau IIA)"

    def __init__(self, path: Any, loss: Any, rtol: float):
        self.path, self.loss, self.rtol = path, loss, rtol

    @quiet
    def begin(self) -> MirrorState:
        """The state at the start."""
        margins, point = self.path.margins(np.zeros(self.path.samples))
        return MirrorState(point, _normalized(self.loss.log_slope(margins)), lambda: -np.inf)

    def stepper(self) -> _Steps:
        """Radau IIA with five stages."""
        begin = PathEquations(self.path, self.loss, self.begin().shares, self.rtol)
        self.steps, self.pace = _Steps(begin, -np.inf), Pace()
        return self.steps

    def after(self, segment: Segment) -> None:
        """Stop if nothing has changed for long while a slope is at the end of its domain."""
        if self.pace.stagnates(self.steps.clock, self._progress):
            raise Stall(UNDERFLOW)

    def _progress(self) -> tuple[float, float] | None:
        """The accuracy and the least distance of a slope from its end; None if no slope is at its end."""
        path = self.steps.here.path
        if not path.at_an_end():
            return None
        margins, there = path.margins(np.zeros(path.samples))
        return float(self.loss.accuracy(margins, np.ones(path.samples))), float(there.distance.min())


class _Steps(Controlled):
    """Steps along a path, from given rates and log time."""

    control = CONTROL

    def __init__(self, here: PathEquations, log_time: float, h: float | None = None):
        self.here, self.log_time, self.h = here, log_time, h

    def equations(self) -> PathEquations:
        """The equations at the current point of the path."""
        return self.here

    def accept(self, equations: PathEquations, taken: Taken) -> Segment:
        """Go to the end of the step, unless round-off dominates the margins there."""
        theta, step, path = taken.step.theta[-1], taken.step, equations.path
        noise = float(path.rounding(theta, path.margins(theta)[1])) / max(equations.rtol, _NOISE)
        moved = path.moved(theta)
        if noise > 1:
            raise Stall(UNDERFLOW if moved.at_an_end() else UNEVEN)
        piece = _Piece(equations, step, self.log_time)
        self.log_time = piece.state(step.h).log_time()
        self.here = replace(equations, path=moved, rates=step.q[-1], last=step)
        self.h = min(taken.next_h, max(_HALF * taken.next_h, _HALF * step.h / max(noise, 1e-300)))
        return Segment(0.0, step.h, piece.state, rough=piece.rough)

    def why(self) -> str:
        """The reason if no step is accurate enough."""
        return UNDERFLOW


@dataclass(frozen=True)
class _Piece:
    """Dense output of a step, with a clock that starts at 0."""

    begin: PathEquations
    step: CollocationStep
    begin_log_time: float

    def state(self, clock: float) -> MirrorState:
        """The state at a clock value of the step, to the accuracy of the step."""
        if clock <= 0:
            start = self.begin.path.margins(np.zeros(self.begin.path.samples))[1]
            return MirrorState(start, self.begin.rates, lambda: self.begin_log_time)
        fraction = clock / self.step.h
        step = self.begin.shorter(self.step, fraction) if fraction < 1 else self.step
        return self._march(clock) if step is None else self._reached(step)

    def rough(self, clock: float) -> MirrorState:
        """The approximate state given by the collocation polynomial."""
        return self._reached(self.step.part(min(clock / self.step.h, 1.0)))

    def _reached(self, step: CollocationStep) -> MirrorState:
        point = self.begin.path.margins(step.theta[-1])[1]
        return MirrorState(point, step.q[-1], partial(self._log_time, step))

    def _march(self, clock: float) -> MirrorState:
        """The state at a clock value of the step, computed by several shorter steps."""
        steps, left = _Steps(replace(self.begin, last=None), self.begin_log_time, clock / 2), clock
        while left > 1e-15 * clock:
            segment = steps.step(left)
            left -= segment.end
        return segment.last

    @quiet
    def _log_time(self, step: CollocationStep) -> float:
        return float(np.logaddexp(self.begin_log_time, self._log_duration(step)))

    def _log_duration(self, step: CollocationStep) -> float:
        """log of the duration of a step, from dt/ds = 1/mean(−ℓ').

        dt/ds may grow by any factor within the step. Gauss quadrature is applied on panels that are refined
        towards the end, where it is largest.
        """
        path, loss = self.begin.path, self.begin.loss
        margins, point = path.margins(step.theta[-1])
        log_slopes = loss.log_slope(margins)
        rates = _normalized(log_slopes)
        growth = step.h * float(rates @ (loss.slope_rate(margins) * path.velocity(point, rates)))
        last = -float(log_mean_exp(log_slopes))
        length = min(1.0, _DROP / max(growth, 1e-300))
        while length < 1 and last - self._log_pace(step, np.array([1 - length]))[0] < _DROP:
            length = min(1.0, 2 * length)
        halvings = max(0, int(np.ceil(np.log2(max(growth * length, 1e-300)))))
        ends = length * 0.5 ** np.append(np.arange(halvings + 1), np.inf)  # distances of panel ends from 1
        halves = (ends[:-1] - ends[1:]) / 2
        places = 1 - (ends[:-1] - halves)[:, None] + halves[:, None] * _NODES
        weights = step.h * (halves[:, None] * _WEIGHTS).ravel()
        return last + float(np.log(weights @ np.exp(self._log_pace(step, places.ravel()) - last)))

    def _log_pace(self, step: CollocationStep, fractions: Float) -> Float:
        """log dt/ds at fractions of the step."""
        return -log_mean_exp(self.begin.loss.log_slope(self.begin.path.margins(step.at(fractions))[0]))


def _normalized(logs: Float) -> Float:
    return np.exp(logs - np.logaddexp.reduce(logs))


class DualSeparating(SeparatingFlow):
    """Exponential and logistic loss on diagonal networks."""

    premise = MIRROR

    def __init__(self, problem: Problem, form: MirrorForm):
        self.X, self.parametrization = problem.X, problem.model.parametrization
        self.form = within_floats(form)
        Z = problem.y[:, None] * problem.X
        start = MirrorMap.of(self.form)
        super().__init__(DiagonalPath.begin(Z, self.form.weight, start), problem.loss, problem.rtol)

    def outputs(self, state: MirrorState) -> Float:
        """X w."""
        return np.asarray(self.X @ state.point.predictor)

    def observe(self, state: MirrorState) -> Observation:
        """The observed quantities of a state."""
        w = state.point.predictor
        return Observation(w, self.X @ w, self.form.lift(state.point.rapidity), state.shares)

    def log_time(self, state: MirrorState) -> float:
        """The logarithm of time at a state."""
        return state.log_time() - self.form.log_speed
