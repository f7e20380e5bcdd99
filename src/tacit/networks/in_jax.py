"""Networks in JAX: apply(params, X) with any pytree of parameters, differentiated by `jax.vjp` and `jax.jvp`.

Leaves that are floating-point arrays are weights. All other leaves (integers, functions, Python numbers and
random keys, as in equinox modules) stay constant.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from tacit.autodiff import jax, jnp, readable_errors
from tacit.errors import InputError
from tacit.networks.backend import Array, Backend, Layer, layers_of
from tacit.pickling import Carried, carried, name_of_function

_USAGE = "take the parameters and X with samples first, and return an array of shape (N,) or (N, outputs)"


def _is_weight(leaf: Any) -> bool:
    """Whether a leaf is a floating-point array. A Python number is a setting, such as a dropout rate."""
    return hasattr(leaf, "shape") and bool(jnp.issubdtype(getattr(leaf, "dtype", int), jnp.inexact))


@dataclass(frozen=True, eq=False)
class InJax:
    """The network apply(params, X), with the parameters `given` by the user."""

    apply: Callable[[Any, Any], Any]
    given: Any
    framework = "JAX"
    channels = (-1, -2)  # as in X @ W, and in HWIO convolutions

    def __post_init__(self) -> None:
        if not callable(self.apply):
            raise InputError(
                f"apply must be a function of parameters and X, got {type(self.apply).__name__}: "
                "write Network(apply, params)"
            )
        for name, leaf in self._leaves:
            if _is_weight(leaf) and jnp.issubdtype(leaf.dtype, jnp.complexfloating):
                raise InputError(f"weights must be real, but {name} is complex: use two real arrays instead")
        _ = self.layers  # raises InputError if there are no weights

    def __getstate__(self) -> dict[str, Any]:
        return {"apply": Carried(self.apply), "given": self.given}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, apply=carried(state["apply"]))

    @cached_property
    def _flattened(self) -> Any:
        return jax.tree_util.tree_flatten_with_path(self.given)

    @cached_property
    def _leaves(self) -> list[tuple[str, Any]]:
        """Names and values of the leaves, in the order of the tree."""
        name_of = partial(jax.tree_util.keystr, simple=True, separator=".")
        return [(name_of(path) or "θ", leaf) for path, leaf in self._flattened[0]]

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """The leaves that are floating-point arrays, in the order of the tree."""
        return layers_of((name, leaf.shape) for name, leaf in self._leaves if _is_weight(leaf))

    @cached_property
    def fixed(self) -> tuple[str, ...]:
        """Names of the numbers and arrays that are not weights."""
        return tuple(name for name, leaf in self._leaves if not _is_weight(leaf) and not callable(leaf))

    def chain(self) -> tuple[Layer, ...]:
        """The layers in the order of the tree, with numbers in names sorted as numbers."""
        return tuple(sorted(self.layers, key=lambda layer: layer.sort_key))

    def name(self) -> str:
        """The name of the function."""
        return name_of_function(self.apply)

    def start(self) -> Array:
        """The initial weights in one flat array."""
        leaves = [np.asarray(leaf) for _, leaf in self._leaves if _is_weight(leaf)]
        dtype = np.float64 if any(leaf.dtype == np.float64 for leaf in leaves) else np.float32
        return np.concatenate([leaf.ravel().astype(dtype) for leaf in leaves])

    def tree(self, parts: list[Any]) -> Any:
        """The pytree of parameters with these arrays as weights."""
        weights = iter(parts)
        leaves = [next(weights) if _is_weight(leaf) else leaf for _, leaf in self._leaves]
        return jax.tree_util.tree_unflatten(self._flattened[1], leaves)

    def parts(self, flat: Any) -> list[Any]:
        """The weights of each layer."""
        return [layer.of(flat) for layer in self.layers]

    def params(self, weights: Array) -> Any:
        """The pytree of parameters, with NumPy arrays as weights."""
        return self.tree([part.copy() for part in self.parts(weights)])

    def traced(self, parts: list[Any], X: Any) -> Any:
        """The outputs (N, m), as a function that JAX can differentiate."""
        outputs = self.apply(self.tree(parts), X)
        return outputs[:, None] if jnp.ndim(outputs) == 1 else outputs

    def outputs(self, weights: Array, X: Array) -> Array:
        """f(θ, X) in the shape that the function returns."""
        return self._call(_outputs, weights, X)

    def untraced(self, weights: Array, X: Array) -> Array:
        """f(θ, X) without compilation, operation by operation."""
        with self._computing(weights):
            params = self.tree(self.parts(jnp.asarray(weights)))
            return np.asarray(self.apply(params, jnp.asarray(self._inputs(weights, X))))

    def jvp(self, weights: Array, X: Array, direction: Array) -> Array:
        """J·direction by `jax.jvp`."""
        return self._call(_jvp, weights, X, direction)

    def vjp(self, weights: Array, X: Array, cotangent: Array) -> Array:
        """Jᵀ·cotangent by `jax.vjp`."""
        return self._call(_vjp, weights, X, cotangent)

    def rows(self, weights: Array, X: Array, basis: Array) -> Any:
        """Rows of J by `jax.vjp` for single samples, vectorized over samples."""
        return self._call(_rows, weights, X, basis, raw=True)

    def factored_layers(self, weights: Array, X: Array) -> tuple[Layer, ...]:
        """No layers: the structure of a function is not known."""
        return ()

    def factored_kernel(self, weights: Array, X: Array, Y: Array | None, outputs: int) -> Array:
        """Zeros, since there are no factored layers."""
        return np.zeros((len(X) * outputs, len(X if Y is None else Y) * outputs), dtype=weights.dtype)

    def inner(self, first: Any, second: Any) -> Array:
        """A·Bᵀ in full precision."""
        with self._precision(first):
            return np.asarray(first @ second.T)

    def current(self) -> tuple[Backend, Array]:
        """The same network: parameters in JAX do not change."""
        return self, self.start()

    def doubled(self, weights: Array) -> tuple[Backend, Array]:
        """The network (f(θ₁, x) − f(θ₂, x))/√2 of a pair of parameters."""
        params = self.params(weights)
        return InJax(Doubled(self.apply), (params, params)), np.concatenate([weights, weights])

    @contextmanager
    def _precision(self, array: Array) -> Any:
        """Compute in the precision of an array, and without TF32 on GPUs."""
        with jax.enable_x64(array.dtype == np.float64), jax.default_matmul_precision("highest"):
            yield

    @contextmanager
    def _computing(self, weights: Array) -> Any:
        """Compute in the precision of the weights; errors name the function."""
        with self._precision(weights), readable_errors(f"apply ({self.name()})", _USAGE):
            yield

    def _inputs(self, weights: Array, X: Array) -> Array:
        """X in the precision of the weights; integers stay integers, for embeddings."""
        with np.errstate(over="ignore"):  # overflow gives infinite outputs, which are reported
            return X if X.dtype.kind in "iu" else X.astype(weights.dtype, copy=False)

    def _call(self, function: Any, weights: Array, X: Array, *others: Array, raw: bool = False) -> Any:
        with self._computing(weights):
            others = tuple(each.astype(weights.dtype, copy=False) for each in others)
            result = function(self, weights, self._inputs(weights, X), *others)
            return result if raw else np.asarray(result)


@dataclass(frozen=True)
class Doubled:
    """The network (f(θ₁, x) − f(θ₂, x))/√2."""

    apply: Callable[[Any, Any], Any]

    @property
    def __name__(self) -> str:
        return f"{name_of_function(self.apply)}, doubled"

    def __call__(self, params: tuple[Any, Any], X: Any) -> Any:
        return (self.apply(params[0], X) - self.apply(params[1], X)) / math.sqrt(2)


@partial(jax.jit, static_argnums=0)
def _outputs(network: InJax, flat: Any, X: Any) -> Any:
    return network.apply(network.tree(network.parts(flat)), X)


@partial(jax.jit, static_argnums=0)
def _jvp(network: InJax, flat: Any, X: Any, direction: Any) -> Any:
    outputs = partial(network.traced, X=X)
    return jax.jvp(outputs, (network.parts(flat),), (network.parts(direction),))[1]


@partial(jax.jit, static_argnums=0)
def _vjp(network: InJax, flat: Any, X: Any, cotangent: Any) -> Any:
    gradient = jax.vjp(lambda parts: network.traced(parts, X), network.parts(flat))[1](cotangent)[0]
    return jnp.concatenate([each.ravel() for each in gradient])


@partial(jax.jit, static_argnums=0)
def _rows(network: InJax, flat: Any, X: Any, basis: Any) -> Any:
    parts = network.parts(flat)

    def of_sample(x: Any) -> Any:
        vjp = jax.vjp(lambda theta: network.traced(theta, x[None])[0], parts)[1]
        gradients = jax.vmap(lambda direction: vjp(direction)[0])(basis)
        return jnp.concatenate([each.reshape(len(basis), -1) for each in gradients], axis=1)

    return jax.vmap(of_sample)(X).reshape(-1, flat.size)
