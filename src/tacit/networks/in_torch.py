"""Networks in PyTorch: modules as functions of their parameters, differentiated by `torch.func`.

Everything stays inside PyTorch, on the device of the module, and arrays are handed over: converters to JAX
are off by 1e-4 on some activations.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tacit.errors import InputError, TacitError
from tacit.networks.backend import Array, Backend, Layer, as_floating, layers_of
from tacit.networks.modules import check_module, takes_whole_numbers
from tacit.packages import needed

with needed("torch", "Network.from_torch"):
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

from tacit.networks.dense import Factor, agreeing, called_once, contracted, dense_layers, factors

Tensors = dict[str, Any]


@dataclass(frozen=True, eq=False)
class InTorch:
    """A module. skeleton: a copy of it, in the mode that it was given in; source: the module itself.

    trained: its parameters at the time, each once, however often they are used; held: those that are not
    trained, and buffers.
    """

    skeleton: Any
    source: Any
    trained: Tensors
    held: Tensors
    framework = "PyTorch"
    channels = (0, 1)

    @classmethod
    def of(cls, module: Any) -> InTorch:
        """The module as it is now."""
        if not isinstance(module, torch.nn.Module):
            raise InputError(f"from_torch takes a torch.nn.Module, got {type(module).__name__}")
        check_module(module)
        try:
            skeleton = copy.deepcopy(module)
        except Exception as error:
            raise InputError(f"{type(module).__name__} cannot be copied: {error}") from error
        made = cls(skeleton, module, *_tensors(module))
        _ = made.layers  # which there must be
        return made

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """Every parameter that is trained, in the order of the module."""
        return layers_of(self.trained, [tuple(each.shape) for each in self.trained.values()])

    @property
    def fixed(self) -> tuple[str, ...]:
        """Parameters with requires_grad=False."""
        return tuple(name for name, each in self.held.items() if isinstance(each, torch.nn.Parameter))

    def chain(self) -> tuple[Layer, ...]:
        """In the order in which the module has them."""
        return self.layers

    def name(self) -> str:
        """That of its class."""
        return type(self.source).__name__

    def start(self) -> Array:
        """The parameters, one after the other."""
        parts = [each.detach().cpu() for each in self.trained.values()]
        double = any(each.dtype == torch.float64 for each in parts)
        dtype = as_floating([np.float64 if double else np.float32])
        kind = torch.float64 if double else torch.float32
        return np.concatenate([each.to(kind).numpy().ravel() for each in parts]).astype(dtype)

    def params(self, weights: Array) -> Tensors:
        """Tensors by name."""
        return {
            name: torch.as_tensor(layer.of(weights).copy(), device=self._device)
            for name, layer in zip(self.trained, self.layers, strict=True)
        }

    def module(self, weights: Array) -> Any:
        """A module of its own with these weights."""
        made = copy.deepcopy(self.skeleton).to(_kind(weights))
        with torch.no_grad():
            for name, value in {**self.held, **self.params(weights)}.items():
                _entry(made, name).copy_(value)
        return made

    def outputs(self, weights: Array, X: Array) -> Array:
        """The forward pass."""
        with self._words(), torch.no_grad():
            return _array(self._function(weights, X, as_rows=False)(self.params(weights)))

    def jvp(self, weights: Array, X: Array, direction: Array) -> Array:
        """J·u as the gradient of v ↦ u·(Jᵀv): many operations have no forward derivative of their own."""
        with self._words():
            found, pull = torch.func.vjp(self._function(weights, X), self.params(weights))
            back = torch.func.vjp(lambda v: pull(v)[0], torch.zeros_like(found))[1]
            return _array(back(self.params(direction))[0])

    def vjp(self, weights: Array, X: Array, cotangent: Array) -> Array:
        """By `torch.func.vjp`."""
        with self._words():
            pull = torch.func.vjp(self._function(weights, X), self.params(weights))[1]
            found = pull(torch.as_tensor(cotangent.copy(), device=self._device))[0]
            return _array(torch.cat([each.reshape(-1) for each in found.values()]))

    def rows(self, weights: Array, X: Array, basis: Array) -> Any:
        """By `torch.func.vjp` of each sample for itself, all at once where its operations allow."""
        with self._words():
            params, inputs = self.params(weights), self._inputs(weights, X)
            aside = {layer.name for layer in self.contracted(weights, X)}
            held = {name: params.pop(name) for name in aside}
            size = sum(each.numel() for each in params.values())
            directions = torch.as_tensor(basis.copy(), device=self._device)

            def of_sample(x: Any) -> Any:
                pull = torch.func.vjp(
                    lambda theta: self._call({**held, **theta}, x[None], weights)[0], params
                )[1]
                found = torch.func.vmap(lambda direction: pull(direction)[0])(directions)
                return torch.cat([each.reshape(len(basis), -1) for each in found.values()], dim=1)

            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="There is a performance drop")
                try:
                    found = torch.func.vmap(of_sample)(inputs)
                except RuntimeError:  # such as branches on values
                    found = torch.stack([of_sample(x) for x in inputs])
            return found.detach().reshape(-1, size)

    def contracted(self, weights: Array, X: Array) -> tuple[Layer, ...]:
        """Dense layers that see one vector of each sample."""
        key = X.shape[1:], X.dtype.kind
        if key not in self._met:
            with self._words():
                self._met[key] = self._dense(weights, X[:1])
        names = {f"{name}.{part}".lstrip(".") for name in self._met[key] for part in ("weight", "bias")}
        return tuple(layer for layer in self.layers if layer.name in names)

    def _dense(self, weights: Array, x: Array) -> list[str]:
        """Names of modules, seen at one sample."""
        layers, function = dense_layers(self.skeleton, set(self.trained)), self._function(weights, x)
        params = self.params(weights)
        names = called_once(lambda: function(params), layers)
        if not names:
            return []
        made = factors(lambda: function(params), {name: layers[name] for name in names}, set(self.trained))
        found, pull = torch.func.vjp(function, params)
        cotangent = torch.as_tensor(np.random.default_rng(0).standard_normal(found.shape[1])).to(found)
        return agreeing(names, made, cotangent, pull(cotangent[None])[0])

    def contract(self, weights: Array, X: Array, Y: Array | None, outputs: int) -> Array:
        """By a backward pass for each output over all samples at once."""
        _ = self.contracted(weights, X)
        layers = dense_layers(self.skeleton, set(self.trained))
        layers = {name: layers[name] for name in self._met[X.shape[1:], X.dtype.kind]}
        params = self.params(weights)

        def of(inputs: Array) -> list[Factor]:
            function = self._function(weights, inputs)
            return factors(lambda: function(params), layers, set(self.trained))

        with self._words():
            here = of(X)
            return _array(contracted(here, here if Y is None else of(Y), outputs))

    def columns(self, weights: Array, X: Array) -> Any:
        """By `jvp` along each weight."""
        directions = np.eye(weights.size, dtype=weights.dtype)
        each = [self.jvp(weights, X, direction).ravel() for direction in directions]
        return torch.as_tensor(np.array(each).T.copy(), device=self._device)

    def inner(self, first: Any, second: Any) -> Array:
        """A·Bᵀ."""
        with self._words():
            return _array(first @ second.T)

    def current(self) -> tuple[Backend, Array]:
        """With the parameters and buffers that the module has now, in the mode that it was wrapped in."""
        now = replace(self, **dict(zip(("trained", "held"), _tensors(self.source), strict=True)))
        if [(n, each.shape) for n, each in now.trained.items()] != [
            (n, each.shape) for n, each in self.trained.items()
        ]:
            raise InputError(
                f"{self.name()} has other parameters to train than when it was wrapped: wrap it anew"
            )
        return now, now.start()

    def doubled(self, weights: Array) -> tuple[Backend, Array]:
        """A module of two copies."""
        made = InTorch.of(Doubled(self.module(weights), self.module(weights)))
        return made, made.start()

    @cached_property
    def _met(self) -> dict[Any, list[str]]:
        """Dense layers that are met once, by the kind of inputs."""
        return {}

    @cached_property
    def _device(self) -> Any:
        return next(iter(self.trained.values())).device

    @cached_property
    def _whole(self) -> bool:
        return takes_whole_numbers(self.skeleton)

    def _inputs(self, weights: Array, X: Array) -> Any:
        """X in the floats of the weights; whole numbers stay what they are for tables of embeddings."""
        if X.dtype.kind in "iu" and self._whole:
            return torch.as_tensor(X.astype(np.int64), device=self._device)
        return torch.as_tensor(X.astype(weights.dtype), device=self._device)

    def _call(self, params: Tensors, X: Any, weights: Array) -> Any:
        kind = _kind(weights)
        held = {n: each.to(kind) if each.is_floating_point() else each for n, each in self.held.items()}
        return torch.func.functional_call(self.skeleton, {**held, **params}, (X,))

    def _function(self, weights: Array, X: Array, as_rows: bool = True) -> Callable[[Tensors], Any]:
        inputs = self._inputs(weights, X)

        def function(params: Tensors) -> Any:
            found = self._call(params, inputs, weights)
            return found[:, None] if as_rows and found.ndim == 1 else found

        return function

    @contextmanager
    def _words(self) -> Iterator[None]:
        """Errors of the module in words; and on a GPU all the digits that floats have."""
        cudnn, matmul = torch.backends.cudnn.allow_tf32, torch.get_float32_matmul_precision()
        quick = self._device.type == "cuda" and (cudnn or matmul != "highest")
        try:
            if quick:
                torch.backends.cudnn.allow_tf32 = False
                torch.set_float32_matmul_precision("highest")
            with sdpa_kernel(SDPBackend.MATH):  # attention that can be differentiated twice
                yield
        except TacitError:
            raise
        except (
            RuntimeError,
            TypeError,
            ValueError,
            AttributeError,
            IndexError,
            NotImplementedError,
        ) as error:
            line = str(error).strip().partition("\n")[0]
            raise InputError(
                f"{self.name()} failed: {type(error).__name__}: {line}; a network takes one tensor with "
                "samples first and gives a tensor (N,) or (N, outputs)"
            ) from error
        finally:
            if quick:
                torch.backends.cudnn.allow_tf32 = cudnn
                torch.set_float32_matmul_precision(matmul)


class Doubled(torch.nn.Module):
    """(f(θ₁, x) − f(θ₂, x))/√2."""

    def __init__(self, first: Any, second: Any):
        super().__init__()
        self.first, self.second = first, second

    def forward(self, X: Any) -> Any:
        """The difference."""
        return (self.first(X) - self.second(X)) / math.sqrt(2)


def _tensors(module: Any) -> tuple[Tensors, Tensors]:
    """Copies of the parameters that are trained, and of those that are not, with the buffers."""
    named = dict(module.named_parameters())
    trained = {n: each.detach().clone() for n, each in named.items() if each.requires_grad}
    frozen = {
        n: torch.nn.Parameter(each.detach().clone(), requires_grad=False)
        for n, each in named.items()
        if not each.requires_grad
    }
    return trained, {**frozen, **{n: each.detach().clone() for n, each in module.named_buffers()}}


def _entry(module: Any, name: str) -> Any:
    """The parameter or buffer of that name."""
    owner, _, last = name.rpartition(".")
    return getattr(module.get_submodule(owner), last)


def _kind(weights: Array) -> Any:
    return torch.float64 if weights.dtype == np.float64 else torch.float32


def _array(tensor: Any) -> Array:
    if not isinstance(tensor, torch.Tensor):
        raise InputError(f"the module must give a tensor, got {type(tensor).__name__}")
    return tensor.detach().cpu().numpy()
