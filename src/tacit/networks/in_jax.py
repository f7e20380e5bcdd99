"""Networks in JAX: apply(params, X) with any pytree of parameters, differentiated by `jax.vjp` and `jax.jvp`.

Leaves that are arrays of floats are weights; all others (whole numbers, functions, plain numbers, keys, as in
modules of equinox) stay as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from tacit.autodiff import jax, jnp
from tacit.errors import InputError, TacitError
from tacit.networks.backend import Array, Backend, Layer, as_floating, layers_of
from tacit.pickling import Carried, carried, name_of_function

_HALVES = ("float16", "bfloat16")


def _is_weight(leaf: Any) -> bool:
    """Is it an array of floats? A plain number is a setting, such as the rate of a dropout."""
    if not hasattr(leaf, "dtype") or not hasattr(leaf, "shape"):
        return False
    return bool(jnp.issubdtype(leaf.dtype, jnp.inexact))


@contextmanager
def _words(what: str) -> Any:
    """Errors of JAX and of the function, in words that say whose they are."""
    try:
        yield
    except TacitError:
        raise
    except jax.errors.JAXTypeError as error:
        raise InputError(
            f"{what} cannot be traced by JAX: write it with jax.numpy, without branches on values, and "
            f"without np.asarray or float() of what depends on the parameters or X ({_first_line(error)})"
        ) from error
    except (TypeError, ValueError, AttributeError, KeyError, IndexError) as error:
        raise InputError(
            f"{what} failed: {type(error).__name__}: {_first_line(error)}; it takes the parameters and X "
            "with samples first, and gives (N,) or (N, outputs)"
        ) from error


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


@dataclass(frozen=True, eq=False)
class InJax:
    """apply(params, X). The parameters are kept as they came, with their weights."""

    apply: Callable[[Any, Any], Any]
    given: Any
    framework = "JAX"
    channels = (-1, -2)  # of X @ W, and of convolutions HWIO

    def __post_init__(self) -> None:
        if not callable(self.apply):
            raise InputError(
                f"apply must be a function of parameters and X, got {type(self.apply).__name__}: "
                "Network(apply, params)"
            )
        for name, leaf in zip(self._names, self._leaves, strict=True):
            if _is_weight(leaf) and jnp.issubdtype(leaf.dtype, jnp.complexfloating):
                raise InputError(f"weights must be real, and {name} is complex: give its two parts")
        _ = self.layers

    def __getstate__(self) -> dict[str, Any]:
        return {"apply": Carried(self.apply), "given": self.given}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, apply=carried(state["apply"]))

    @cached_property
    def _flattened(self) -> Any:
        return jax.tree_util.tree_flatten_with_path(self.given)

    @property
    def _leaves(self) -> list[Any]:
        return [leaf for _, leaf in self._flattened[0]]

    @property
    def _names(self) -> list[str]:
        names = [jax.tree_util.keystr(path, simple=True, separator=".") for path, _ in self._flattened[0]]
        return [name or "θ" for name in names]

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """Every leaf that is an array of floats, in the order of the tree."""
        named = zip(self._names, self._leaves, strict=True)
        weights = [(name, leaf.shape) for name, leaf in named if _is_weight(leaf)]
        return layers_of(*zip(*weights, strict=True)) if weights else layers_of((), ())

    @cached_property
    def fixed(self) -> tuple[str, ...]:
        """Numbers and arrays that are no weights."""
        named = zip(self._names, self._leaves, strict=True)
        return tuple(n for n, leaf in named if not _is_weight(leaf) and not callable(leaf))

    def chain(self) -> tuple[Layer, ...]:
        """In the order of the tree, where numbers in names are numbers."""
        return tuple(sorted(self.layers, key=lambda layer: layer.in_order))

    def name(self) -> str:
        """That of the function."""
        return name_of_function(self.apply)

    def start(self) -> Array:
        """The leaves, one after the other."""
        leaves = [np.asarray(leaf) for leaf in self._leaves if _is_weight(leaf)]
        dtype = as_floating(leaf.dtype for leaf in leaves if str(leaf.dtype) not in _HALVES)
        return np.concatenate([leaf.ravel().astype(dtype) for leaf in leaves])

    def tree(self, parts: list[Any]) -> Any:
        """The parameters with these arrays as weights."""
        ready = iter(parts)
        leaves = [next(ready) if _is_weight(leaf) else leaf for leaf in self._leaves]
        return jax.tree_util.tree_unflatten(self._flattened[1], leaves)

    def parts(self, flat: Any) -> list[Any]:
        """The weights of each layer."""
        return [flat[layer.slice].reshape(layer.shape) for layer in self.layers]

    def params(self, weights: Array) -> Any:
        """The pytree, its weights as NumPy arrays."""
        return self.tree([part.copy() for part in self.parts(weights)])

    def traced(self, parts: list[Any], X: Any) -> Any:
        """f as a function that JAX can differentiate, (N, m)."""
        found = self.apply(self.tree(parts), X)
        return found[:, None] if jnp.ndim(found) == 1 else found

    def outputs(self, weights: Array, X: Array) -> Array:
        """f(θ, X), as the function gives it."""
        return self._call(_outputs, weights, X)

    def untraced(self, weights: Array, X: Array) -> Array:
        """The same as Python runs it, operation by operation."""
        with self._precision(weights), _words(f"apply ({self.name()})"):
            params = self.tree(self.parts(jnp.asarray(weights)))
            return np.asarray(self.apply(params, jnp.asarray(self._inputs(weights, X))))

    def jvp(self, weights: Array, X: Array, direction: Array) -> Array:
        """By `jax.jvp`."""
        return self._call(_jvp, weights, X, direction)

    def vjp(self, weights: Array, X: Array, cotangent: Array) -> Array:
        """By `jax.vjp`."""
        return self._call(_vjp, weights, X, cotangent)

    def rows(self, weights: Array, X: Array, basis: Array) -> Any:
        """By `jax.vjp` of each sample for itself, all at once."""
        return self._call(_rows, weights, X, basis, raw=True)

    def columns(self, weights: Array, X: Array) -> Any:
        """By `jax.jvp` along each weight."""
        return self._call(_columns, weights, X, raw=True)

    def contracted(self, weights: Array, X: Array) -> tuple[Layer, ...]:
        """None: a function does not say where its layers are."""
        return ()

    def contract(self, weights: Array, X: Array, Y: Array | None, outputs: int) -> Array:
        """Nothing."""
        return np.zeros((len(X) * outputs, len(X if Y is None else Y) * outputs), dtype=weights.dtype)

    def inner(self, first: Any, second: Any) -> Array:
        """A·Bᵀ, with all the digits that floats have."""
        with jax.enable_x64(first.dtype == np.float64), jax.default_matmul_precision("highest"):
            return np.asarray(first @ second.T)

    def current(self) -> tuple[Backend, Array]:
        """Nobody changes parameters in JAX: the same."""
        return self, self.start()

    def doubled(self, weights: Array) -> tuple[Backend, Array]:
        """With a pair of parameters."""
        params = self.params(weights)
        return InJax(Doubled(self.apply), (params, params)), np.concatenate([weights, weights])

    @contextmanager
    def _precision(self, weights: Array) -> Any:
        with jax.enable_x64(weights.dtype == np.float64), jax.default_matmul_precision("highest"):
            yield

    def _inputs(self, weights: Array, X: Array) -> Array:
        """X in the floats of the weights; whole numbers stay what they are, for tables of embeddings."""
        with np.errstate(over="ignore"):  # what they cannot hold is infinite, and found in the outputs
            return X if X.dtype.kind in "iu" else X.astype(weights.dtype, copy=False)

    def _call(self, function: Any, weights: Array, X: Array, *others: Array, raw: bool = False) -> Any:
        with self._precision(weights), _words(f"apply ({self.name()})"):
            given = [each.astype(weights.dtype, copy=False) for each in others]
            found = function(self, weights, self._inputs(weights, X), *given)
            return found if raw else np.asarray(found)


@dataclass(frozen=True)
class Doubled:
    """(f(θ₁, x) − f(θ₂, x))/√2."""

    apply: Callable[[Any, Any], Any]

    @property
    def __name__(self) -> str:
        return f"{getattr(self.apply, '__name__', type(self.apply).__name__)}, doubled"

    def __call__(self, params: tuple[Any, Any], X: Any) -> Any:
        return (self.apply(params[0], X) - self.apply(params[1], X)) / math.sqrt(2)


@partial(jax.jit, static_argnums=0)
def _outputs(network: InJax, flat: Any, X: Any) -> Any:
    return network.apply(network.tree(network.parts(flat)), X)


@partial(jax.jit, static_argnums=0)
def _jvp(network: InJax, flat: Any, X: Any, direction: Any) -> Any:
    def run(parts: Any) -> Any:
        return network.traced(parts, X)

    return jax.jvp(run, (network.parts(flat),), (network.parts(direction),))[1]


@partial(jax.jit, static_argnums=0)
def _vjp(network: InJax, flat: Any, X: Any, cotangent: Any) -> Any:
    found = jax.vjp(lambda parts: network.traced(parts, X), network.parts(flat))[1](cotangent)[0]
    return jnp.concatenate([each.ravel() for each in found])


@partial(jax.jit, static_argnums=0)
def _rows(network: InJax, flat: Any, X: Any, basis: Any) -> Any:
    parts = network.parts(flat)

    def of_sample(x: Any) -> Any:
        pull = jax.vjp(lambda theta: network.traced(theta, x[None])[0], parts)[1]
        found = jax.vmap(lambda direction: pull(direction)[0])(basis)
        return jnp.concatenate([each.reshape(len(basis), -1) for each in found], axis=1)

    return jax.vmap(of_sample)(X).reshape(-1, flat.size)


@partial(jax.jit, static_argnums=0)
def _columns(network: InJax, flat: Any, X: Any) -> Any:
    def along(direction: Any) -> Any:
        def run(parts: Any) -> Any:
            return network.traced(parts, X)

        return jax.jvp(run, (network.parts(flat),), (network.parts(direction),))[1]

    return jax.vmap(along)(jnp.eye(flat.size, dtype=flat.dtype)).reshape(flat.size, -1).T
