"""What every model has: a parametrization, and the weights at its start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.data import Float, as_floats
from tacit.errors import InputError
from tacit.models.parametrizations import Weights
from tacit.potentials.arrays import quiet


@dataclass(frozen=True, eq=False)
class MirrorForm:
    r"""The flow of a model with a separable potential, in mirror space.

        weight·s(u(t)) = weight·s(u(0)) + Xᵀν(t),    dν/dt = e^{log_speed}·(−∂L/∂f)

    u: the rapidity of every coordinate, from which the map of power and log_scale makes the predictor and
    `lift` the weights.
    """

    power: float
    log_scale: Float
    weight: Float
    start: Float
    log_speed: float
    lift: Callable[[Float], Weights]


def check_model(call: str, model: Any, X: Any, y: Any) -> None:
    """Refuse arguments in another order than that of the call."""
    if any(isinstance(each, Model) or callable(getattr(each, "gradient", None)) for each in (X, y)):
        raise InputError(f"the model comes first: {call}")
    if isinstance(model, list | tuple) or hasattr(model, "__array__"):
        raise InputError(f"the model comes first: {call}; got {type(model).__name__} in its place")


class Model:
    """A parametrization with its initialization.

    A model gives its `parametrization` and its `start(d)`; what holds at initialization follows from them.
    """

    parametrization: Any
    outputs: Any = 1  # how many numbers the model gives for a sample

    def start(self, d: int | None = None) -> Weights:
        """The weights at initialization, for d features where the model leaves their number open."""
        raise TypeError(f"{type(self).__name__} must implement start")

    def as_inputs(self, X: Any) -> Float:
        """X as floats of the shape that the model takes; `InputError` otherwise."""
        X = as_floats(X, "X", ndim=(2,))
        self.start(X.shape[1])
        return X

    @quiet
    def predictor(self) -> Float:
        """The predictor at initialization."""
        return np.asarray(self.parametrization.predictor(self.start()))

    @quiet
    def conserved(self) -> dict[str, Float]:
        """What gradient flow keeps constant, by name."""
        found = self.parametrization.invariants(self.start())
        return {name: np.asarray(value) for name, (value, _) in found.items()}

    @quiet
    def tangent_kernel(self, X: Any) -> Float:
        """K(x, x') = ⟨∇f(x), ∇f(x')⟩ at initialization."""
        X = self.as_inputs(X)
        return np.asarray(self.parametrization.kernel(self.start(X.shape[1]), X))
