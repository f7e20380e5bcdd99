"""Models that are given as a function of their parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.data.arrays import as_floats
from tacit.errors import InputError, NoPotentialError
from tacit.models.model import Model, fixed_start
from tacit.models.parametrizations import Parametrization
from tacit.models.reduction import Weights
from tacit.pickling import PicklesFunctions, name_of_function

_ONE = "θ"  # the name of the parameters if they are a single array


@dataclass(frozen=True)
class Mapped(PicklesFunctions, Parametrization):
    """w = function(θ), with θ an array (single) or a dict of arrays."""

    function: Callable[[Any], Any]
    single: bool

    def predictor(self, weights: Weights) -> Any:
        """function(θ); for NumPy arrays in float64, also if JAX would use float32 by default."""
        given = weights[_ONE] if self.single else weights
        if not all(isinstance(each, np.ndarray) for each in weights.values()):
            return self.function(given)
        from tacit.autodiff import jax

        with jax.enable_x64(True):
            found = self.function(given)
            return np.asarray(found) if isinstance(found, jax.Array) else found


@dataclass(frozen=True, eq=False)
class FunctionModel(PicklesFunctions, Model):
    """A model w = function(θ), initialized at θ₀ and differentiated by JAX; made by `tacit.model`."""

    function: Callable[[Any], Any]
    theta0: Any
    features: int = field(init=False, repr=False)  # entries of w

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InputError(f"function must be a function of θ, got {type(self.function).__name__}")
        given = self.theta0 if isinstance(self.theta0, dict) else {_ONE: self.theta0}
        checked = {
            name: as_floats(each, f"theta0 ({name})", ndim=(0, 1, 2)).copy() for name, each in given.items()
        }
        self._store(theta0=checked if isinstance(self.theta0, dict) else checked[_ONE])
        shape = np.shape(self.parametrization.predictor(self._weights))
        if len(shape) != 1:
            raise InputError(f"function(θ) must be a vector, one number per feature, got shape {shape}")
        self._store(features=shape[0])

    def __repr__(self) -> str:
        name = name_of_function(self.function)
        return f"model({name}, θ₀ of {sum(each.size for each in self._weights.values()):,} numbers)"

    @property
    def _weights(self) -> Weights:
        return self.theta0 if isinstance(self.theta0, dict) else {_ONE: self.theta0}

    @property
    def parametrization(self) -> Mapped:
        """θ ↦ w."""
        return Mapped(self.function, not isinstance(self.theta0, dict))

    def start(self, d: int | None = None) -> Weights:
        """θ₀."""
        return fixed_start(
            self._weights, self.features, d, "function(θ) has {} entries but the data has {} features"
        )

    def potential(self, d: int | None = None) -> Any:
        """No potential is known; raises `NoPotentialError`."""
        raise NoPotentialError(
            "no potential is known for a model that is given as a function; tacit.flow integrates its flow, "
            "and tacit.derive looks for a potential"
        )


def model(function: Callable[[Any], Any], theta0: ArrayLike | dict[str, ArrayLike]) -> FunctionModel:
    """Make a model from a function θ ↦ w that JAX can differentiate.

    Parameters
    ----------
    function : callable
        θ ↦ w, one number per feature.
    theta0 : array-like, or dict of them
        The initial parameters θ₀.

    Returns
    -------
    Model
        A model whose raw weights `tacit.flow` integrates.

    Raises
    ------
    InputError
        If function is not callable, or does not return one number per feature.

    See Also
    --------
    derive : Find out whether its flow minimizes a potential, and which.

    Examples
    --------
    >>> import tacit
    >>> model = tacit.model(lambda theta: theta**2, [0.5, 1.0])
    >>> model.predictor().tolist()
    [0.25, 1.0]
    """
    return FunctionModel(function, theta0)
