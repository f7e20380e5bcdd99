"""Pieces of a flow: what an integrator hands over, one step after the other."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from tacit.data.arrays import Float
from tacit.data.entries import Entries
from tacit.data.status import Status
from tacit.losses import Loss
from tacit.models.model import Model
from tacit.models.reduction import Weights


@dataclass(frozen=True, eq=False)
class Problem:
    """What a flow is the flow of, and how accurately it is wanted."""

    model: Model
    X: Any
    y: Float
    loss: Loss
    rtol: float

    @property
    def features(self) -> int | None:
        """How many there are, for models that leave it open; those of entries of a matrix do not."""
        return None if isinstance(self.X, Entries) else int(self.X.shape[1])


class Stall(Exception):  # noqa: N818 (not an error: the flow says how it ends)
    """The flow cannot go on; the message says why."""

    status = Status.STALLED


UNDERFLOW = (
    "step size underflow: at this depth and scale the transition is too fast to resolve in double precision"
)


class GaveUp(Stall):
    """The integrator finds no step that is accurate enough."""


class Rest(Stall):
    """Nothing moves any more. minimum: where the loss, as far as it can be told, is a (local) minimum."""

    status = Status.STATIONARY
    last: tuple[Any, float] | None = None

    def __init__(self, message: str, minimum: bool = False):
        super().__init__(message)
        self.minimum = minimum


class Rounded(Rest):
    """What is left to do is rounding. last: a state and its level, if they are not the last ones yielded."""

    status = Status.ROUNDING

    def __init__(self, last: tuple[Any, float] | None = None) -> None:
        super().__init__("the residual has reached the rounding of the data; ask for a smaller accuracy")
        self.last = last


@dataclass(frozen=True)
class Segment:
    """A stretch of the flow's own clock, with the state at every instant of it.

    discrete: the clock counts steps, and there is nothing between them. rough: nearly the state, where that
    is much faster than the state itself. keep: is to be called of a segment that will be read once more is
    asked for.
    """

    start: float
    end: float
    state: Callable[[float], Any]
    discrete: bool = False
    rough: Callable[[float], Any] | None = None
    keep: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class Observation:
    """What is seen of a state: predictor, outputs, weights, and the samples' shares of the pull if known."""

    predictor: Float | Callable[[], Float]  # a function of those that are too large to keep
    outputs: Float
    weights: Weights
    shares: Float | None = None


class Restore(Protocol):
    """Makes the weights of the model from those that a form observes."""

    def __call__(self, weights: Weights) -> Weights: ...


@dataclass(frozen=True)
class Premise:
    """What the equations of a form are made of, in words; and is the potential Q of the model part of them?

    A form that uses Q follows the flow that belongs to Q: if Q is wrong, so is the flow, and it still ends at
    the limit that Q predicts. Only the other forms can confirm or refute a limit.
    """

    words: str
    uses_potential: bool = False


class Form(Protocol):
    """A way to write the flow down, with the integrator that suits it."""

    name: str  # the unknowns and the integrator
    premise: Premise
    parametrization: Any  # of the weights that it observes
    X: Float  # the inputs which these weights take

    def begin(self) -> Any:
        """The state at the start."""
        ...

    def segments(self) -> Iterator[Segment]:
        """The flow from its start, step by step, until it ends in a `Stall` or nobody asks for more."""
        ...

    def outputs(self, state: Any) -> Float:
        """f(x₁), …, f(x_N) at a state."""
        ...

    def observe(self, state: Any) -> Observation:
        """Everything that is recorded of a state."""
        ...

    def log_time(self, state: Any) -> float:
        """The logarithm of time at a state."""
        ...

    @property
    def restore(self) -> Restore:
        """What makes the weights of the model from those that are observed."""
        ...


def solver_segments(solver: Any, state: Callable[[float, Float], Any]) -> Iterator[Segment]:
    """The steps of a solver of SciPy, without end; `GaveUp` if it does."""
    while True:
        begin = solver.t
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is amiss comes as the status too
            message = solver.step()
        if solver.status != "running":
            why = message or "its steps grew out of bounds"
            raise GaveUp(f"the integrator gave up at clock {begin:.6g} ({why})")
        inside = _Inside(solver, state)
        yield Segment(begin, solver.t, inside.read, keep=inside.keep)
        inside.solver = None


class _Inside:
    """The states within a solver's last step, for as long as it is the last, or for good if they are kept.

    Most steps are only read at their ends, and what is between them costs explicit methods evaluations.
    """

    def __init__(self, solver: Any, state: Callable[[float, Float], Any]):
        self.solver, self.state, self.end = solver, state, (solver.t, solver.y.copy())
        self.interpolant: Any = None

    def keep(self) -> None:
        """Make what is needed to read it later."""
        if self.interpolant is None:
            self.interpolant = self.solver.dense_output()

    def read(self, clock: float) -> Any:
        """The state at an instant."""
        if clock == self.end[0]:
            return self.state(clock, self.end[1])
        self.keep()
        return self.state(clock, self.interpolant(clock))
