"""A smooth map θ ↦ w with the derivatives that JAX makes of it, on flat vectors of float64."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np

from tacit.autodiff import jax, jnp
from tacit.data.arrays import Float
from tacit.errors import InputError
from tacit.models.function import FunctionModel
from tacit.pickling import Carried, carried

MEMORY = 4e9  # bytes that Jacobians and tangent spaces, or the tensors of the metric, may take
Layout = tuple[tuple[str, tuple[int, ...]], ...]


@contextmanager
def words(whose: str = "the parametrization") -> Iterator[None]:
    """Errors of JAX and of the function, in words that say whose they are."""
    try:
        yield
    except jax.errors.JAXTypeError as error:
        first = str(error).strip().partition("\n")[0]
        raise InputError(
            f"{whose} cannot be traced by JAX: write it with jax.numpy or plain arithmetic, "
            f"without branches on values, and without NumPy or float() of what depends on θ ({first})"
        ) from error
    except (TypeError, ValueError, AttributeError, KeyError, IndexError, NotImplementedError) as error:
        if isinstance(error, InputError):
            raise
        first = str(error).strip().partition("\n")[0]
        raise InputError(
            f"{whose} failed: {type(error).__name__}: {first}; it takes θ and gives "
            f"{'a vector w' if 'param' in whose else 'a number'}"
        ) from error


class Jets:
    """F, its Jacobian J, and what is made of them at a flat θ, compiled once for each function and layout.

    What is given as `flat` takes one vector; all methods hand over NumPy arrays of float64.
    """

    def __init__(self, function: Callable[[Any], Any], layout: Layout, single: bool):
        self.function, self.layout, self.single = function, layout, single
        self.jacobian: Callable[[Any], Any] = jax.jacrev(self.flat)
        self._compiled: dict[Any, Callable[..., Any]] = {}

    def __reduce__(self) -> tuple[Callable[..., Jets], tuple[Any, ...]]:
        """Without what JAX has compiled, which cannot be pickled."""
        return _again, (Carried(self.function), self.layout, self.single)

    def flat(self, theta: Any) -> Any:
        """F(θ) of the flat θ."""
        return jnp.asarray(self.function(self.shaped(theta)))

    def shaped(self, theta: Any) -> Any:
        """The flat θ as the function takes it."""
        given, at = {}, 0
        for name, shape in self.layout:
            size = int(np.prod(shape))
            given[name] = theta[at : at + size].reshape(shape)
            at += size
        return next(iter(given.values())) if self.single else given

    def __call__(self, make: Callable[..., Any], *arguments: Any) -> Any:
        """make(self)(*arguments), traced once."""
        with self.double(), words():
            found = self.compiled(make)(*(np.asarray(each, dtype=float) for each in arguments))
            return jax.tree_util.tree_map(np.asarray, found)

    def compiled(self, make: Callable[..., Any]) -> Callable[..., Any]:
        """make(self), traced once; to be called within `double`."""
        if make not in self._compiled:
            self._compiled[make] = jax.jit(make(self))
        return self._compiled[make]

    @contextmanager
    def double(self) -> Iterator[None]:
        """Computation in float64, whatever the user's flags are."""
        with jax.enable_x64(True), jax.default_matmul_precision("highest"):
            yield

    def value(self, theta: Float) -> Float:
        """F(θ)."""
        return np.asarray(self(_value, theta))

    def slopes(self, theta: Float) -> Float:
        """J, (d, p)."""
        return np.asarray(self(_jacobian, theta))


def _value(jets: Jets) -> Callable[..., Any]:
    return jets.flat


def _jacobian(jets: Jets) -> Callable[..., Any]:
    return jets.jacobian


_jets = lru_cache(maxsize=32)(Jets)


def jets_of(model: FunctionModel) -> Jets:
    """The derivatives of the model's function; those of functions that were met before are compiled."""
    layout = tuple((name, tuple(each.shape)) for name, each in model.start().items())
    return _again(model.function, layout, not isinstance(model.theta0, dict))


def _again(function: Any, layout: Layout, single: bool) -> Jets:
    """The same derivatives as before for the same function; a copy brings it as `Carried`."""
    function = carried(function)
    try:
        return _jets(function, layout, single)
    except TypeError:  # a callable without a hash
        return Jets(function, layout, single)


def checked_model(parametrization: Any, theta0: Any, samples: int = 1) -> tuple[FunctionModel, Jets, Float]:
    """The model, its derivatives and its flat start; `InputError` for what is no smooth map θ ↦ w there.

    samples: the number of points at which Jacobians will be kept, which bounds the size of the map.
    """
    if not callable(parametrization):
        raise InputError(
            f"parametrization must be a function θ ↦ w, got {type(parametrization).__name__}: "
            "derive(parametrization, theta0)"
        )
    if not isinstance(theta0, dict) and np.size(theta0) == 0:
        raise InputError("theta0 is empty: there is nothing to differentiate by")
    with jax.enable_x64(True), words():
        model = FunctionModel(parametrization, theta0)
    start = np.concatenate([np.ravel(each) for each in model.start().values()])
    jets = jets_of(model)
    w = jets.value(start)
    if w.dtype != np.float64:
        raise InputError(f"the parametrization computes in {w.dtype}; leave θ in float64, as it comes")
    if not np.isfinite(w).all():
        raise InputError(f"the parametrization is {w[~np.isfinite(w)][0]} at theta0: choose another start")
    _refuse_too_large(len(start), len(w), samples)  # before J, since JAX ends the process where memory ends
    J = jets.slopes(start)
    if not np.isfinite(J).all():
        raise InputError(
            "the parametrization is not smooth at theta0: its derivative there is "
            f"{J[~np.isfinite(J)][0]}; choose another start"
        )
    return model, jets, start


def _refuse_too_large(p: int, d: int, samples: int) -> None:
    """`InputError` if bases of the tangent spaces alone would not fit in memory."""
    needed = 8.0 * samples * 4 * d * p  # Jacobians, bases and their work space
    if needed > MEMORY:
        raise InputError(
            f"a map of {p:,} parameters to {d:,} features is too large to derive: its Jacobians and tangent "
            f"spaces at {samples} points need about {needed / 1e9:,.1f} GB, and {MEMORY / 1e9:.0f} are the "
            "most; derive a smaller instance of the same map (fewer features have the same geometry)"
        )
