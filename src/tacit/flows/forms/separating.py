r"""Losses that only separable data can bring to zero: gradient flow in mirror space, with its clock built in.

With rows z_n = y_n x_n, margins m = Z·w(θ) and ∇Q(w) = ∇Q(w(0)) + Zᵀθ, the flow of a mean of decreasing
functions ℓ(m_n) is θ' ∝ −ℓ'(m) ≥ 0. In the clock s = Σθ_n it is, stage by stage of a collocation method,

    log q_n − log(−ℓ'(m_n(θ))) + c = 0,    Σ q_n = 1,    θ' = q

a differential-algebraic system of index 1 with one more unknown c, in which no loss is ever formed (Moroshko
et al. 2020, Appendix H.5, for the difficulty). At large scales it turns into a sweeping process, and
the collocation steps across its kinks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from tacit.data.arrays import Float, Index
from tacit.flows.form import Form, Observation, Problem
from tacit.flows.forms.mirror import MIRROR, MirrorMap, at_an_end, within_floats
from tacit.flows.forms.stagnation import Pace
from tacit.flows.segments import Segment
from tacit.flows.steps.collocation import CONTROL, PathEquations, Step
from tacit.flows.steps.stepper import Controlled
from tacit.flows.termination import UNDERFLOW, UNEVEN, Stall
from tacit.losses import log_mean_exp
from tacit.models.model import MirrorForm
from tacit.numerics.rounding import EPS
from tacit.numerics.step_control import Taken
from tacit.numerics.ties import Ties, product
from tacit.potentials.arrays import quiet

_NOISE = 1e-8  # of the margins: rounding that no flow is followed through
_HALF = 0.5  # of that, above which steps are shortened, to half of what accuracy allows at the most
_COSTLY = 20_000  # entries of Z
_DROP = 40.0  # e^{-40} of the time is not worth counting
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


@dataclass(frozen=True, eq=False)
class DiagonalPath:
    """The predictor of a diagonal network as θ moves on from where it is."""

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
        """The number of them."""
        return len(self.Z)

    @property
    def costly(self) -> bool:
        """Does a kernel take longer than a step of Newton's method without it?"""
        return self.Z.size > _COSTLY

    def margins(self, theta: Float) -> tuple[Float, MirrorMap]:
        """m at increments θ, over leading axes; and the mirror map there."""
        there = self.here.moved(product(theta, self.reach, self.ties))
        return there.predictor @ self.Z.T, there

    def metric(self, there: MirrorMap) -> Float:
        """What the derivatives ∂m/∂θ are made of."""
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
        """A change of θ as the change it makes of the rapidities, relative to them where they are small."""
        moved = np.abs(there.rapidity_rate * (change @ self.reach)).max()
        return float(moved / max(min(there.farthest(), 1.0), 1e-300))

    def rounding(self, change: Float, there: MirrorMap) -> float:
        """What the rounding of a change of θ does to the margins, relative to the largest, or to 1."""
        slopes = EPS * (np.abs(change) @ np.abs(self.reach))
        noise = ((there.stiffness * slopes) @ np.abs(self.Z).T).max()
        return float(noise / max(np.abs(there.predictor @ self.Z.T).max(), 1.0))

    def at_an_end(self) -> bool:
        """Is a slope nearer to its end than its round-off? Then features of any size have noisy margins."""
        return at_an_end(self.here)

    def moved(self, theta: Float) -> DiagonalPath:
        """The path from there on."""
        return replace(self, here=self.here.moved(product(theta, self.reach, self.ties)))


@dataclass(frozen=True, eq=False)
class TangentPath:
    """The linearized model: margins m₀ + K θ, with K the tangent kernel of the start."""

    start: Float
    K: Float
    theta: Float

    costly = False  # the kernel is known

    @property
    def samples(self) -> int:
        """The number of them."""
        return len(self.start)

    def margins(self, theta: Float) -> tuple[Float, Float]:
        """m at increments θ, over leading axes; and θ from the start."""
        total = self.theta + theta
        return self.start + total @ self.K, total

    def metric(self, total: Float) -> Float:
        """Nothing that changes: only the shape counts."""
        return total

    def kernel(self, metric: Float, samples: Index) -> Float:
        """Columns of K, for every leading axis."""
        columns = self.K[:, samples]
        return np.broadcast_to(columns, (*metric.shape[:-1], *columns.shape))

    def diagonal(self, metric: Float) -> Float:
        """The diagonal of K, for every leading axis."""
        return np.broadcast_to(np.diag(self.K), metric.shape)

    def velocity(self, total: Float, q: Float) -> Float:
        """K q."""
        return q @ self.K

    def size(self, change: Float, total: Float) -> float:
        """A change of θ, as a change of the margins, relative to the margins gained since the start."""
        return float(np.abs(change @ self.K).max() / max(np.abs(total @ self.K).max(), 1e-300))

    def rounding(self, change: Float, total: Float) -> float:
        """Nothing to speak of: θ makes the margins without a detour over features."""
        return 0.0

    def at_an_end(self) -> bool:
        """No: margins have none."""
        return False

    def moved(self, theta: Float) -> TangentPath:
        """The path from there on."""
        return TangentPath(self.start, self.K, self.theta + theta)


@dataclass(frozen=True)
class MirrorState:
    """Where the path is, as the mirror map of a diagonal network or θ of a linearized one, and the time.

    shares: q, each sample's share of the pull. It comes from the system that determines it: far out the gaps
    between margins, which tell it too, are lost in the rounding of the margins.
    """

    point: Any
    shares: Float
    tell: Callable[[], float]  # the logarithm of time, in units of the path's speed


class SeparatingFlow(Form):
    """A path in mirror space, followed by collocation steps whose clock is Σθ_n."""

    name = "mirror space, clock built in (Radau IIA)"

    def __init__(self, path: Any, loss: Any, rtol: float):
        self.path, self.loss, self.rtol = path, loss, rtol

    @quiet
    def begin(self) -> MirrorState:
        """The state at the start."""
        margins, point = self.path.margins(np.zeros(self.path.samples))
        return MirrorState(point, _normalized(self.loss.log_slope(margins)), lambda: -np.inf)

    def stepper(self) -> _Steps:
        """Radau IIA with five stages, which has the clock among its unknowns."""
        begin = PathEquations(self.path, self.loss, self.begin().shares, self.rtol)
        self.steps, self.pace = _Steps(begin, -np.inf), Pace()
        return self.steps

    def after(self, segment: Segment) -> None:
        """Has nothing changed for long, while a slope is at an end?"""
        if self.pace.stands(self.steps.clock, self._left):
            raise Stall(UNDERFLOW)

    def _left(self) -> tuple[float, float] | None:
        """The accuracy, and how near the end of its domain a slope is; None if none is at an end."""
        path = self.steps.here.path
        if not path.at_an_end():
            return None
        margins, there = path.margins(np.zeros(path.samples))
        return float(self.loss.accuracy(margins, np.ones(path.samples))), float(there.distance.min())


class _Steps(Controlled):
    """Steps along a path from rates and a time."""

    control = CONTROL

    def __init__(self, here: PathEquations, log_time: float, h: float | None = None):
        self.here, self.log_time, self.h = here, log_time, h

    def equations(self) -> PathEquations:
        """From where the path is."""
        return self.here

    def accept(self, equations: PathEquations, taken: Taken) -> Segment:
        """To the end of the step, unless rounding decides the margins there."""
        theta, step, path = taken.step.theta[-1], taken.step, equations.path
        noise = float(path.rounding(theta, path.margins(theta)[1])) / max(equations.rtol, _NOISE)
        moved = path.moved(theta)
        if noise > 1:
            raise Stall(UNDERFLOW if moved.at_an_end() else UNEVEN)
        piece = _Piece(equations, step, self.log_time)
        self.log_time = piece.state(step.h).tell()
        self.here = replace(equations, path=moved, rates=step.q[-1], last=step)
        self.h = min(taken.next_h, max(_HALF * taken.next_h, _HALF * step.h / max(noise, 1e-300)))
        return Segment(0.0, step.h, piece.state, rough=piece.rough)

    def why(self) -> str:
        """Why there is no step from here."""
        return UNDERFLOW


@dataclass(frozen=True)
class _Piece:
    """A step, with a clock that begins at 0, and the time at which it begins."""

    begin: PathEquations
    step: Step
    begin_log_time: float

    def state(self, clock: float) -> MirrorState:
        """The state at an instant of the step."""
        if clock <= 0:
            start = self.begin.path.margins(np.zeros(self.begin.path.samples))[1]
            return MirrorState(start, self.begin.rates, lambda: self.begin_log_time)
        fraction = clock / self.step.h
        step = self.begin.shorter(self.step, fraction) if fraction < 1 else self.step
        return self._march(clock) if step is None else self._reached(step)

    def rough(self, clock: float) -> MirrorState:
        """Nearly the state at an instant of the step: that of its polynomial, which is off the equations."""
        return self._reached(self.step.part(min(clock / self.step.h, 1.0)))

    def _reached(self, step: Step) -> MirrorState:
        point = self.begin.path.margins(step.theta[-1])[1]
        return MirrorState(point, step.q[-1], partial(self._log_time, step))

    def _march(self, clock: float) -> MirrorState:
        """The state at an instant of the step, reached by several shorter ones."""
        steps, left = _Steps(replace(self.begin, last=None), self.begin_log_time, clock / 2), clock
        while left > 1e-15 * clock:
            segment = steps.step(left)
            left -= segment.end
        return segment.last

    @quiet
    def _log_time(self, step: Step) -> float:
        return float(np.logaddexp(self.begin_log_time, self._log_duration(step)))

    def _log_duration(self, step: Step) -> float:
        """log of the time that a step takes: dt/ds = 1/mean(−ℓ').

        That may grow by any factor within the step, and then only its last part counts.
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
        ends = length * 0.5 ** np.append(np.arange(halvings + 1), np.inf)  # distances of panels from the end
        halves = (ends[:-1] - ends[1:]) / 2
        places = 1 - (ends[:-1] - halves)[:, None] + halves[:, None] * _NODES
        weights = step.h * (halves[:, None] * _WEIGHTS).ravel()
        return last + float(np.log(weights @ np.exp(self._log_pace(step, places.ravel()) - last)))

    def _log_pace(self, step: Step, fractions: Float) -> Float:
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
        """Everything that is recorded of a state."""
        w = state.point.predictor
        return Observation(w, self.X @ w, self.form.lift(state.point.rapidity), state.shares)

    def log_time(self, state: MirrorState) -> float:
        """The logarithm of time at a state."""
        return state.tell() - self.form.log_speed
