"""Forms of a flow: what its unknowns are, and what is seen of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from tacit.data.arrays import Float
from tacit.data.entries import Entries
from tacit.losses import Loss
from tacit.models.model import Model
from tacit.models.reduction import Weights, same

if TYPE_CHECKING:
    from tacit.flows.segments import Segment
    from tacit.flows.steps.stepper import Stepper


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


class Moving(ABC):
    """What `drive` asks of a flow."""

    @abstractmethod
    def stepper(self) -> Stepper:
        """What takes the steps from the start. Raises `Rest` if nothing moves there."""

    def cut(self, segment: Segment) -> Segment:
        """The part of a segment before the first event, at which the equations change; usually all of it."""
        return segment

    def after(self, segment: Segment) -> Stepper | None:
        """Look for rest after a segment, and raise `Rest`; or return another stepper to go on with."""
        return None


class Form(Moving):
    """A way to write the flow down, with the stepper that suits it.

    name: the unknowns and the stepper. parametrization: of the weights that it observes. X: the inputs which
    these weights take. restore: makes the weights of the model from those. Its methods are called where NumPy
    is told to be quiet about under- and overflow.
    """

    name: str
    premise: Premise
    parametrization: Any
    X: Any
    restore: Restore = staticmethod(same)

    @abstractmethod
    def begin(self) -> Any:
        """The state at the start."""

    @abstractmethod
    def outputs(self, state: Any) -> Float:
        """f(x₁), …, f(x_N) at a state."""

    @abstractmethod
    def observe(self, state: Any) -> Observation:
        """Everything that is recorded of a state."""

    @abstractmethod
    def log_time(self, state: Any) -> float:
        """The logarithm of time at a state."""
