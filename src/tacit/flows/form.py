"""Forms of a flow: its unknowns, and the observed quantities."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
    """The problem of a flow: model, data, loss and relative tolerance."""

    model: Model
    X: Any
    y: Float
    loss: Loss
    rtol: float

    @property
    def features(self) -> int | None:
        """Number of features, for models that do not fix it; None for matrix entries."""
        return None if isinstance(self.X, Entries) else int(self.X.shape[1])


@dataclass(frozen=True)
class Observation:
    """Observed quantities of a state.

    shares: each sample's share of the gradient of a separating loss, if the form computes it.
    """

    predictor: Float | Callable[[], Float]  # a function if the predictor is too large to store
    outputs: Float
    weights: Weights
    shares: Float | None = None


@dataclass(frozen=True)
class Premise:
    """The basis of the equations of a form, and whether they use the potential Q of the model.

    A form that uses Q is consistent with Q even if Q is wrong: it still ends at the limit that Q predicts.
    Only the other forms can confirm or refute a limit.
    """

    description: str
    uses_potential: bool = False


class Flow(ABC):
    """Interface of a flow for `drive`."""

    @abstractmethod
    def stepper(self) -> Stepper:
        """The stepper at the start. Raises `Rest` if the start is stationary."""

    def cut(self, segment: Segment) -> Segment:
        """The part of a segment before the first event that changes the equations; by default all of it."""
        return segment

    def after(self, segment: Segment) -> Stepper | None:
        """Raise `Rest` if the flow rests after a segment, or return another stepper to continue with."""
        return None


class Form(Flow):
    """A formulation of the flow, with a suitable stepper.

    name: unknowns and stepper. parametrization: of the observed weights. X: inputs of that parametrization.
    restore: converts these weights to the weights of the model. Methods are called with floating-point
    warnings silenced.
    """

    name: str
    premise: Premise
    parametrization: Any
    X: Any
    restore: Callable[[Weights], Weights] = staticmethod(same)

    @abstractmethod
    def begin(self) -> Any:
        """The state at the start."""

    @abstractmethod
    def outputs(self, state: Any) -> Float:
        """f(x₁), …, f(x_N) at a state."""

    @abstractmethod
    def observe(self, state: Any) -> Observation:
        """The observed quantities of a state."""

    @abstractmethod
    def log_time(self, state: Any) -> float:
        """The logarithm of time at a state."""
