"""Diagonal networks and the square loss: gradient flow in mirror space, N unknowns for all the weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import LSODA

from tacit.data import Float
from tacit.flows.losses import Square
from tacit.flows.mirror import MirrorMap
from tacit.flows.segments import Observation, Problem, Segment, Stall, solver_segments
from tacit.potentials.arrays import quiet

_EPS = float(np.finfo(float).eps)
_FLOOR = 1e-8  # how close to the end of its domain a trial step may bring a slope, as a fraction
_REBASE = 1e-3  # by how much a slope's distance to its end may shrink before the map is set up anew
_HUGE = 1e150
_STATIONARY = 1e-11


@dataclass(frozen=True)
class _State:
    clock: float
    rapidity: Float


class DualSquare:
    """ν' = −∂L/∂f(X·w), ∇Q(w) = ∇Q(w(0)) + Xᵀν: LSODA on ν, with the Jacobian −2c·X (∂w/∂z) Xᵀ.

    The clock is time in units of the model's speed.
    """

    name = "mirror space (LSODA)"

    def __init__(self, problem: Problem):
        self.form = problem.model.mirror_form(problem.X.shape[1])  # type: ignore[attr-defined]
        self.parametrization = problem.model.parametrization
        assert isinstance(problem.loss, Square)
        self.X, self.y, self.loss = problem.X, problem.y, problem.loss
        self.rtol = max(1e-2 * problem.rtol, 1e-13)
        self.map = MirrorMap.at(self.form.power, self.form.log_scale, self.form.start)
        self.reach = self.X / self.form.weight

    def begin(self) -> _State:
        """The state at the start."""
        return _State(0.0, self.form.start)

    def segments(self) -> Iterator[Segment]:
        """Steps of LSODA; the map follows when slopes come much closer to the ends of their domain."""
        here, clock, first = self.map, 0.0, None
        while True:
            solver = self._solver(here, clock, first)
            for segment in solver_segments(solver, self._reader(here)):
                yield segment
                change = solver.y @ self.reach
                if self._much_closer(here, change):
                    break
                self._check_stall(segment.state(segment.end))
            here, clock, first = here.moved(change), solver.t, solver.step_size

    def _solver(self, here: MirrorMap, clock: float, first: float | None) -> LSODA:
        options: dict[str, Any] = {} if first is None else {"first_step": first}
        return LSODA(
            lambda _, nu: self._velocity(here, nu),
            clock,
            np.zeros_like(self.y),
            1e300,
            rtol=self.rtol,
            atol=0.1 * self.rtol * self._natural_size(here),
            jac=lambda _, nu: self._jacobian(here, nu),
            **options,
        )

    @quiet
    def _natural_size(self, here: MirrorMap) -> float:
        """How far ν goes: to the ends of the slopes' domain, or as far as the tangent kernel takes it."""
        gap = 1.0 if here.power == np.inf else float(np.minimum(here.below, here.above).min())
        stiffness = here.stiffness(here.rapidity(np.zeros_like(here.slope)))
        tangent = np.einsum("nd,nd->n", self.X * stiffness, self.reach).max()
        sizes = gap / np.linalg.norm(self.reach, axis=0).max(), np.abs(self.y).max() / tangent
        return max(min([size for size in sizes if 0 < size < np.inf], default=1.0), 1e-290)

    def _predictor(self, here: MirrorMap, u: Float) -> Float:
        return self.X @ np.clip(here.predictor(u), -_HUGE, _HUGE)

    @quiet
    def _velocity(self, here: MirrorMap, nu: Float) -> Float:
        return self.loss.pull(self._predictor(here, here.rapidity(nu @ self.reach, _FLOOR)), self.y)

    @quiet
    def _jacobian(self, here: MirrorMap, nu: Float) -> Float:
        stiffness = np.minimum(here.stiffness(here.rapidity(nu @ self.reach, _FLOOR)), _HUGE)
        return -2 * self.loss.factor(len(self.y)) * ((self.X * stiffness) @ self.reach.T)

    def _reader(self, here: MirrorMap) -> Any:
        return quiet(lambda clock, nu: _State(clock, here.rapidity(nu @ self.reach, _FLOOR)))

    @quiet
    def _much_closer(self, here: MirrorMap, change: Float) -> bool:
        if here.power == np.inf:
            return False
        ratio = np.minimum(1 - change / here.below, 1 + change / here.above)
        return bool(ratio.min() < _REBASE)

    @quiet
    def _check_stall(self, state: _State) -> None:
        """Stop where the least-squares solution is reached, or the rounding of the residual."""
        w = self.map.predictor(state.rapidity)
        residual = self.y - self.X @ w
        size = float(np.linalg.norm(residual))
        rounding = 2 * _EPS * float(np.linalg.norm(np.abs(self.X) @ np.abs(w) + np.abs(self.y)))
        if size <= rounding:
            raise Stall("the residual has reached the rounding of the data; ask for a smaller accuracy")
        if np.linalg.norm(residual @ self.X) <= _STATIONARY * float(np.linalg.norm(self.X)) * size:
            relative = size / float(np.linalg.norm(self.y))
            raise Stall(
                "a stationary point with nonzero loss: the equations X w = y have no solution "
                f"(relative residual {relative:.3g}), and this w fits them best"
            )

    @quiet
    def outputs(self, state: _State) -> Float:
        """X w."""
        return self.X @ self.map.predictor(state.rapidity)

    @quiet
    def observe(self, state: _State) -> Observation:
        """Everything that is recorded of a state."""
        w = self.map.predictor(state.rapidity)
        return Observation(w, self.X @ w, self.form.lift(state.rapidity))

    @quiet
    def log_time(self, state: _State) -> float:
        """The logarithm of time at a state."""
        return float(np.log(state.clock)) - self.form.log_speed
