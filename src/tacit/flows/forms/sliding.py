r"""A leaky neuron f(x) = a·σ(w·x): gradient flow that may slide along the kink of σ.

w stays in w(0) + the row space of X. With an orthonormal basis B of it, the unknowns are a and c, w = w(0) +
B c; with t = X w and gates g = σ'(t):

    c' = a Σ p_n g_n Bᵀx_n,    a' = Σ p_n σ(t_n),    p = −∂L/∂f

If t_n reaches 0 and the flow on both sides points back to 0 (p_n a < 0), the gate takes the value between
`slope` and 1 for which t_n stays 0: K_SS (p g)_S = −K_SF (p g)_F for the sliding samples S and the others F,
K = XXᵀ (a Filippov solution, the limit of smoothed kinks). A sample stops sliding when its gate reaches
`slope` or 1.
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

_GRID = np.linspace(0, 1, 9)  # fractions of a step at which events are searched for
_SWITCHES = 10_000  # events at most, to guarantee termination
_STEPS, _CREEPING = 1500, 1.1  # a solver whose clock grows by less than 1.1 in this many steps is replaced
_TOUCH = 1e-12  # relative distance beyond the kink that can be round-off


class Sliding(WeightFlow):
    """Smooth flows between events, at which a sample reaches the kink, starts to slide, or leaves it."""

    name = "weights, sliding along the kink"
    premise = Premise("raw weights in the row space of X, independent of Q")
    event: tuple[WeightState, NDArray[np.bool_]] | None  # at the end of the last segment

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
        # Without it, solvers take finite differences, which are noise near the end of a fit.
        jacobian = None if problem.loss.separating else self._jacobian
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
        """The part of a segment before the first event, if there is one."""
        clock, touched = self._first_event(segment)
        self.event = None if clock is None else (segment.state(clock), touched)
        return segment if clock is None else replace(segment, end=clock)

    def after(self, segment: Segment) -> Stepper | None:
        """The stepper of the next smooth piece after an event; otherwise check for rest."""
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
        """A stepper: `TwoLayers` for the square loss; otherwise LSODA, or SciPy's Radau if that fails."""
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
        """For the square loss: between events, the neuron is linear on the samples that do not slide.

        These have inputs g_n x_n; the weights are, and stay, orthogonal to the sliding samples.
        """
        slides, loss = self.side == 0, self.problem.loss
        if not loss.quadratic:
            return None
        within = scipy.linalg.null_space(self.reach[slides]) if slides.any() else np.eye(self.basis.shape[1])
        gates = np.where(self.side > 0, 1.0, self.slope)[~slides]
        inputs = gates[:, None] * self.reach[~slides] @ within
        if not inputs.any():
            return None
        left, sizes, right = visible(inputs)
        back = within @ right
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
            path_length=float(np.linalg.norm(unknowns)),
        )

    def _values(self, flat: Float) -> tuple[float, Float, Float]:
        """a, σ(t) and p; t = 0 for sliding samples, and σ is extended linearly for the others."""
        a, t = float(flat[0]), self.inputs + self.reach @ flat[1:]
        activations = np.where(self.side > 0, t, np.where(self.side < 0, self.slope * t, 0.0))
        return a, activations, self.problem.loss.pull(a * activations, self.problem.y)

    def _gated(self, p: Float) -> Float:
        """p·g, with the gate of each sample's side, or the one that keeps a sliding sample at the kink."""
        gated = p * np.where(self.side > 0, 1.0, self.slope)
        slides = self.side == 0
        if slides.any():
            others = self.K[np.ix_(slides, ~slides)] @ gated[~slides]
            gated[slides] = np.linalg.lstsq(self.K[np.ix_(slides, slides)], -others, rcond=None)[0]
        return gated

    def _velocity(self, flat: Float) -> Float:
        a, activations, p = self._values(flat)
        return np.append(p @ activations, a * (self._gated(p) @ self.reach))

    def _jacobian(self, flat: Float) -> Float:
        """Jacobian of the velocity for the square loss, for which dp = −2c·df with f = a·σ(t)."""
        a, activations, p = self._values(flat)
        gates = np.where(self.side > 0, 1.0, np.where(self.side < 0, self.slope, 0.0))
        df = np.column_stack([activations, a * gates[:, None] * self.reach])  # with respect to a and c
        dp = -2 * self.problem.loss.factor(len(p)) * df
        rows = np.column_stack([self._gated(column) for column in dp.T])
        full = np.vstack([activations @ dp, a * (self.reach.T @ rows)])
        full[0, 1:] += (p * gates) @ self.reach
        full[1:, 0] += self._gated(p) @ self.reach
        return full

    def _free(self) -> Float:
        """Directions in which sliding samples stay on the kink, to which the flow returns them."""
        fixed = np.column_stack([np.zeros((self.side == 0).sum()), self.reach[self.side == 0]])
        return scipy.linalg.null_space(fixed) if len(fixed) else np.eye(self.start.size)

    def _gates(self, p: Float) -> Float:
        return self._gated(p) / np.where(p == 0, 1.0, p)

    def _clearance(self, flat: Float) -> Float:
        """Quantities that are positive before an event: distances from the kink, slack of gates, and ±a."""
        a, _, p = self._values(flat)
        gates, t = self._gates(p), self.inputs + self.reach @ flat[1:]
        slack = np.minimum(1 - gates, gates - self.slope) * self.size
        return np.append(np.where(self.side == 0, slack, self.side * t), self.sign * a)

    def _first_event(self, segment: Segment) -> tuple[float | None, NDArray[np.bool_]]:
        """The clock of the first event within a segment, or None, and a mask of the samples involved."""
        clocks = segment.start + _GRID * (segment.end - segment.start)
        clear = np.array([self._clearance(segment.state(clock).flat) for clock in clocks])
        # The round-off of t is relative to these terms.
        terms = np.abs(self.reach) @ np.abs(segment.state(segment.end).flat[1:])
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
        """Update the side of samples at the kink: −1, 1, or 0 if sliding; the other samples keep theirs.

        A sample with zero gradient at the kink (target 0) crosses it.
        """
        gates = self._gates(self._values(flat)[2])
        leaving = np.where(gates > (1 + self.slope) / 2, 1.0, -1.0)
        self.side = np.where(touched, np.where(side == 0, leaving, 0.0), side)
        passing = (self.side == 0) & (self._values(flat)[2] == 0)
        self.side = np.where(passing, -side, self.side)
        for _ in range(len(side) + 1):
            sliding = self.side == 0
            p = self._values(flat)[2]
            back = p * self.sign < 0  # the flow on both sides points back to the kink
            gates = self._gates(p)
            beyond = np.where(gates > 1, 1.0, np.where(gates < self.slope, -1.0, 0.0))
            through = np.where(gates > 1, -1.0, 1.0)
            self.side = np.where(sliding, np.where(back, beyond, through), self.side)
            if ((self.side == 0) == sliding).all():
                break
        return self.side

    def weights(self, state: WeightState) -> Weights:
        """The weights a and w = w(0) + B c."""
        return {"a": state.flat[0], "w": self.first["w"] + self.basis @ state.flat[1:]}
