r"""A leaky neuron f(x) = a·σ(w·x): gradient flow that may slide along the kink of σ.

w stays in w(0) + the row space of X, of orthonormal basis B: the flow lives in c, w = w(0) + B c, and in a,
with t = X w and gates g = σ'(t):

    c' = a Σ p_n g_n Bᵀx_n,    a' = Σ p_n σ(t_n),    p = −∂L/∂f

Where t_n reaches 0 and both sides push back to it (p_n a < 0), the gate takes the value between slope and 1
at which t_n stays 0: K_SS (p g)_S = −K_SF (p g)_F for the sliding samples S, K = XXᵀ. That is the limit of
rounding the kink ever less. A sample leaves when its gate reaches slope or 1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.integrate import LSODA, Radau

from tacit.data.arrays import Float
from tacit.flows.form import Premise, Problem
from tacit.flows.forms.weights import WeightFlow, WeightState
from tacit.flows.segments import Segment
from tacit.flows.steps.stepper import Relay, Stepper
from tacit.flows.steps.two_layers import TwoLayers
from tacit.flows.termination import NO_GRADIENT, SWITCHES, Rest, Stall
from tacit.models.parametrizations import Weights
from tacit.numerics.roots import crossing
from tacit.numerics.subspaces import row_space, visible

_LOOK = np.linspace(0, 1, 9)  # where in a step the kink is looked for
_SWITCHES = 10_000  # of sides, at most: beyond, a flow would not end
_STEPS, _CREEPING = 1500, 1.1  # a solver whose clock gains less than this factor in so many steps is changed
_TOUCH = 1e-12  # how far beyond the kink rounding alone may put a sample


class Sliding(WeightFlow):
    """Smooth flows between the instants at which a sample meets the kink, slides along it, or leaves it."""

    name = "weights, sliding along the kink"
    premise = Premise("raw weights in the row space of X, independent of Q")
    event: tuple[WeightState, NDArray[np.bool_]] | None  # at which a segment was cut

    def __init__(self, problem: Problem):
        self.parametrization, self.X = problem.model.parametrization, problem.X
        self.slope = float(self.parametrization.slope)
        self.basis = row_space(problem.X)
        self.reach = problem.X @ self.basis
        self.K = problem.X @ problem.X.T
        self.first = problem.model.start(problem.X.shape[1])
        self.inputs = problem.X @ self.first["w"]
        self.size = float(np.abs(self.inputs).max() or np.abs(self.reach).max())
        self.side, self.sign = np.sign(self.inputs), float(np.sign(self.first["a"]))
        jacobian = None if problem.loss.separating else self._jacobian  # differences are noise near the end
        unknowns = {"a": self.first["a"], "c": np.zeros(self.basis.shape[1])}
        super().__init__(problem, unknowns, self._velocity, jacobian)
        self.sign = self.sign or float(np.sign(self._velocity(self.start)[0])) or 1.0

    def stepper(self) -> Stepper:
        """The first smooth piece of the flow."""
        touched = np.abs(self.inputs) <= _TOUCH * self.size
        self.side = self._decide(self.start, np.where(self.inputs > 0, 1.0, -1.0), touched)
        if not np.any(self._velocity(self.start)):
            raise Rest(NO_GRADIENT.format("a stationary point"))
        self.switches, self.event = 0, None
        return self._piece(0.0, np.zeros(self.start.size + self.relative))

    def cut(self, segment: Segment) -> Segment:
        """What of a segment is before the first sample that leaves its side of the kink, if any does."""
        clock, touched = self._first_event(segment)
        self.event = None if clock is None else (segment.state(clock), touched)
        return segment if clock is None else replace(segment, end=clock)

    def after(self, segment: Segment) -> Stepper | None:
        """The next smooth piece after an event; else look for rest."""
        if self.event is None:
            return super().after(segment)
        state, touched = self.event
        self.switches += 1
        if self.switches >= _SWITCHES:
            raise Stall(SWITCHES.format(_SWITCHES))
        unknowns = np.append(state.flat - self.start, [state.relative_time] if self.relative else [])
        self.side = self._decide(state.flat, self.side, touched)
        return self._piece(segment.end, unknowns)

    def _piece(self, clock: float, unknowns: Float) -> Stepper:
        """Steps of a linear neuron under the square loss; else LSODA, or Radau IIA where that gives up."""
        linear = self._linear(clock, unknowns)
        if linear is not None:
            return linear
        sizes = np.full(len(unknowns), self.size / (np.abs(self.reach).max() or 1.0))
        sizes[0] = abs(float(self.first["a"])) or 1.0
        atol = 1e-3 * self.rtol * sizes
        first = self.implicit(LSODA, clock, unknowns, atol)
        return Relay(
            first,
            _STEPS,
            lambda before, now: now < _CREEPING * before,
            lambda clock, unknowns: self.implicit(Radau, clock, unknowns, atol),
        )

    def _linear(self, clock: float, unknowns: Float) -> TwoLayers | None:
        """Under the square loss: between two events a linear neuron on the samples that do not slide.

        Those have inputs g_n x_n; the weights are orthogonal to the ones that slide, and stay so.
        """
        slides, loss = self.side == 0, self.problem.loss
        if not loss.quadratic:
            return None
        within = scipy.linalg.null_space(self.reach[slides]) if slides.any() else np.eye(self.basis.shape[1])
        gates = np.where(self.side > 0, 1.0, self.slope)[~slides]
        inputs = gates[:, None] * self.reach[~slides] @ within
        if not inputs.any():
            return None
        left, sizes, seen = visible(inputs)
        back = within @ seen
        weights = back.T @ (self.basis.T @ self.first["w"] + unknowns[1:])

        def flat(U: Float, v: Float) -> Float:
            return unknowns + np.append(v, back @ U[:, 0])

        return TwoLayers(
            weights[:, None],
            np.atleast_1d(self.first["a"] + unknowns[0]),
            left * sizes,
            self.problem.y[~slides],
            loss.factor(len(self.side)),
            self.rtol,
            flat,
            self._state,
            clock=clock,
            come=float(np.linalg.norm(unknowns)),
        )

    def _pulls(self, flat: Float) -> tuple[float, Float, Float]:
        """a, σ(t) and p; a sliding sample has t = 0, and σ is continued smoothly beyond the kink."""
        a, t = float(flat[0]), self.inputs + self.reach @ flat[1:]
        bent = np.where(self.side > 0, t, np.where(self.side < 0, self.slope * t, 0.0))
        return a, bent, self.problem.loss.pull(a * bent, self.problem.y)

    def _gated(self, p: Float) -> Float:
        """p·g, with the gate of its side for each sample; for sliding ones, the one that keeps them at 0."""
        gated = p * np.where(self.side > 0, 1.0, self.slope)
        slides = self.side == 0
        if slides.any():
            push = self.K[np.ix_(slides, ~slides)] @ gated[~slides]
            gated[slides] = np.linalg.lstsq(self.K[np.ix_(slides, slides)], -push, rcond=None)[0]
        return gated

    def _velocity(self, flat: Float) -> Float:
        a, bent, p = self._pulls(flat)
        return np.append(p @ bent, a * (self._gated(p) @ self.reach))

    def _jacobian(self, flat: Float) -> Float:
        """Of the velocity, for the square loss: p moves by −2c times as much as f = a·σ(t)."""
        a, bent, p = self._pulls(flat)
        gates = np.where(self.side > 0, 1.0, np.where(self.side < 0, self.slope, 0.0))
        moves = np.column_stack([bent, a * gates[:, None] * self.reach])  # of f, with a and c
        pulls = -2 * self.problem.loss.factor(len(p)) * moves
        rows = np.column_stack([self._gated(column) for column in pulls.T])
        full = np.vstack([bent @ pulls, a * (self.reach.T @ rows)])
        full[0, 1:] += (p * gates) @ self.reach
        full[1:, 0] += self._gated(p) @ self.reach
        return full

    def _free(self) -> Float:
        """Those in which samples that slide stay on their kink; off it, both sides push them back."""
        held = np.column_stack([np.zeros((self.side == 0).sum()), self.reach[self.side == 0]])
        return scipy.linalg.null_space(held) if len(held) else np.eye(self.start.size)

    def _gates(self, p: Float) -> Float:
        return self._gated(p) / np.where(p == 0, 1.0, p)

    def _clearance(self, flat: Float) -> Float:
        """What must stay positive: samples on their side, gates of sliding ones in their range, a's sign."""
        a, _, p = self._pulls(flat)
        gates, t = self._gates(p), self.inputs + self.reach @ flat[1:]
        room = np.minimum(1 - gates, gates - self.slope) * self.size
        return np.append(np.where(self.side == 0, room, self.side * t), self.sign * a)

    def _first_event(self, segment: Segment) -> tuple[float | None, NDArray[np.bool_]]:
        """When something first leaves its range within the segment, if ever; and which samples do then."""
        clocks = segment.start + _LOOK * (segment.end - segment.start)
        clear = np.array([self._clearance(segment.state(clock).flat) for clock in clocks])
        terms = np.abs(self.reach) @ np.abs(segment.state(segment.end).flat[1:])  # t is rounded as these are
        sizes = np.where(self.side == 0, self.size, np.maximum(self.size, terms))
        limit = -_TOUCH * np.append(sizes, abs(clear[0, -1]))
        late = (clear[1:] < limit).any(axis=1)
        if not late.any():
            return None, np.zeros(len(self.side), dtype=bool)
        i = int(late.argmax())
        times = {
            n: self._cross(segment, clocks[i], clocks[i + 1], n) for n in np.flatnonzero(clear[i + 1] < limit)
        }
        first = min(times.values())
        touched = np.zeros(len(self.side) + 1, dtype=bool)
        touched[[n for n, time in times.items() if time <= first]] = True
        if touched[-1]:
            self.sign = -self.sign
        return first, touched[:-1]

    def _cross(self, segment: Segment, begin: float, end: float, n: Any) -> float:
        def clearance(clock: float) -> float:
            return float(self._clearance(segment.state(clock).flat)[n])

        if clearance(begin) <= 0:
            return begin
        return crossing(clearance, begin, end)

    def _decide(self, flat: Float, side: Float, touched: NDArray[np.bool_]) -> Float:
        """The side to which each sample at the kink goes, 0 if it slides; the others keep theirs.

        A sample that nothing pulls at the kink, of target 0, passes it.
        """
        gates = self._gates(self._pulls(flat)[2])
        leaving = np.where(gates > (1 + self.slope) / 2, 1.0, -1.0)
        self.side = np.where(touched, np.where(side == 0, leaving, 0.0), side)
        passing = (self.side == 0) & (self._pulls(flat)[2] == 0)
        self.side = np.where(passing, -side, self.side)
        for _ in range(len(side) + 1):
            sliding = self.side == 0
            p = self._pulls(flat)[2]
            back = p * self.sign < 0  # both sides push such a sample back to the kink
            gates = self._gates(p)
            beyond = np.where(gates > 1, 1.0, np.where(gates < self.slope, -1.0, 0.0))
            through = np.where(gates > 1, -1.0, 1.0)
            self.side = np.where(sliding, np.where(back, beyond, through), self.side)
            if ((self.side == 0) == sliding).all():
                break
        return self.side

    def weights(self, state: WeightState) -> Weights:
        """a, and w = w(0) + B c."""
        return {"a": state.flat[0], "w": self.first["w"] + self.basis @ state.flat[1:]}
