"""A smooth map θ ↦ w and its derivatives by JAX, on flat vectors of float64."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import Any

import numpy as np

from tacit.autodiff import jax, jnp, readable_errors
from tacit.data.arrays import Float
from tacit.errors import InputError
from tacit.flows.forms.weights import Layout
from tacit.models.function import FunctionModel
from tacit.pickling import Carried, carried

MEMORY = 4e9  # bytes; limit for Jacobians and tangent spaces, and for the tensors of the metric
_ARRAYS = 4  # arrays of the size of J per point: Jacobian, basis and work space
USAGE = "the parametrization", "take θ and return a vector w"


class Jets:
    """F, its Jacobian J, and functions of them at a flat θ, compiled once per function and layout.

    A function takes the `Jets` and JAX arrays, and is compiled on first use. Methods return NumPy arrays of
    float64.
    """

    def __init__(self, function: Callable[[Any], Any], layout: Layout, single: bool):
        self.function, self.layout, self.single = function, layout, single
        self._compiled: dict[Any, Callable[..., Any]] = {}

    def __reduce__(self) -> tuple[Callable[..., Jets], tuple[Any, ...]]:
        """Leave out the compiled functions, which cannot be pickled."""
        return _cached_jets, (Carried(self.function), self.layout, self.single)

    def flat(self, theta: Any) -> Any:
        """F(θ) of the flat θ."""
        return jnp.asarray(self.function(self.shaped(theta)))

    def jacobian(self, theta: Any) -> Any:
        """J of the flat θ."""
        return jax.jacrev(self.flat)(theta)

    def shaped(self, theta: Any) -> Any:
        """The flat θ in the form that the function takes: an array or a dict of arrays."""
        arrays = self.layout.unpack(theta)
        return next(iter(arrays.values())) if self.single else arrays

    def __call__(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """function(self, *arguments), traced once."""
        with self.double(), readable_errors(*USAGE):
            result = self.compiled(function)(*(np.asarray(each, dtype=float) for each in arguments))
            return jax.tree_util.tree_map(np.asarray, result)

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function of the remaining arguments, traced once; call it within `double`."""
        if function not in self._compiled:
            self._compiled[function] = jax.jit(partial(function, self))
        return self._compiled[function]

    @contextmanager
    def double(self) -> Iterator[None]:
        """Compute in float64 for any flags of the user."""
        with jax.enable_x64(True), jax.default_matmul_precision("highest"):
            yield

    def value(self, theta: Float) -> Float:
        """F(θ)."""
        return np.asarray(self(Jets.flat, theta))

    def slopes(self, theta: Float) -> Float:
        """J, (d, p)."""
        return np.asarray(self(Jets.jacobian, theta))


_hashed_jets = lru_cache(maxsize=32)(Jets)


def _cached_jets(function: Any, layout: Layout, single: bool) -> Jets:
    """The `Jets` of this function, with functions that are already compiled; a copied function is an instance
    of `Carried`."""
    function = carried(function)
    try:
        return _hashed_jets(function, layout, single)
    except TypeError:  # a callable that cannot be hashed
        return Jets(function, layout, single)


def checked_model(parametrization: Any, theta0: Any, samples: int = 1) -> tuple[FunctionModel, Jets, Float]:
    """The model, its derivatives and its flat start; raises `InputError` if F is not smooth there.

    samples: the number of points at which Jacobians will be stored, which limits the size of the map.
    """
    if not callable(parametrization):
        raise InputError(
            f"parametrization must be a function θ ↦ w, got {type(parametrization).__name__}; call "
            "derive(parametrization, theta0)"
        )
    if not isinstance(theta0, dict) and np.size(theta0) == 0:
        raise InputError("theta0 is empty; give at least one parameter")
    with jax.enable_x64(True), readable_errors(*USAGE):
        model = FunctionModel(parametrization, theta0)
    arrays = model.start()
    layout = Layout.of(arrays)
    start = layout.flat(arrays)
    jets = _cached_jets(parametrization, layout, not isinstance(theta0, dict))
    w = jets.value(start)
    if w.dtype != np.float64:
        raise InputError(f"the parametrization computes in {w.dtype}; do not convert θ, which is float64")
    if not np.isfinite(w).all():
        raise InputError(f"the parametrization is {w[~np.isfinite(w)][0]} at theta0; choose another start")
    _check_size(len(start), len(w), samples)  # before J is formed: JAX ends the process if memory runs out
    J = jets.slopes(start)
    if not np.isfinite(J).all():
        raise InputError(
            "the parametrization is not smooth at theta0: its derivative there is "
            f"{J[~np.isfinite(J)][0]}; choose another start"
        )
    return model, jets, start


def _check_size(p: int, d: int, samples: int) -> None:
    """Raise `InputError` if bases of the tangent spaces alone do not fit in memory."""
    needed = 8.0 * samples * _ARRAYS * d * p
    if needed > MEMORY:
        raise InputError(
            f"a map of {p:,} parameters to {d:,} features is too large to derive: Jacobians and tangent "
            f"spaces at {samples} points need about {needed / 1e9:,.1f} GB, and the limit is "
            f"{MEMORY / 1e9:.0f} GB; derive a smaller instance of the same map (with fewer features the "
            "geometry is the same)"
        )
