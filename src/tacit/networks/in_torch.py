"""Networks in PyTorch: modules as functions of their parameters, differentiated by `torch.func`.

All computations stay in PyTorch, on the device of the module; only the results become NumPy arrays.
Converting the module to JAX instead gives errors of 1e-4 for some activations. A module whose output is not a
deterministic function of parameters and one sample is rejected.
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
from tacit.networks.backend import Array, Backend, Layer, layers_of
from tacit.packages import needed

with needed("torch", "Network.from_torch"):
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

from tacit.networks.dense import (
    Factor,
    called_once,
    dense_layers,
    factors,
    kernel_from_factors,
    parameter_name,
    valid_factors,
)

Tensors = dict[str, Any]
_RANDOM = {  # modules that are random in training mode if this attribute is positive
    torch.nn.modules.dropout._DropoutNd: "p",
    torch.nn.RNNBase: "dropout",
    torch.nn.MultiheadAttention: "dropout",
    torch.nn.RReLU: "upper",
}


@dataclass(frozen=True, eq=False)
class InTorch:
    """A PyTorch module. source: the module; skeleton: a copy of it in the mode in which it was wrapped.

    trained: copies of the trained parameters, where shared ones appear once. frozen: copies of the other
    parameters and of the buffers.
    """

    skeleton: Any
    source: Any
    trained: Tensors
    frozen: Tensors
    framework = "PyTorch"
    channels = (0, 1)

    @classmethod
    def of(cls, module: Any) -> InTorch:
        """Wrap the module in its present state."""
        if not isinstance(module, torch.nn.Module):
            raise InputError(f"from_torch takes a torch.nn.Module, got {type(module).__name__}")
        check_module(module)
        try:
            skeleton = copy.deepcopy(module)
        except Exception as error:
            raise InputError(f"{type(module).__name__} cannot be copied: {error}") from error
        network = cls(skeleton, module, *_tensors(module))
        _ = network.layers  # raises InputError if there are no weights
        return network

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """The trained parameters, in the order of the module."""
        return layers_of((name, each.shape) for name, each in self.trained.items())

    @property
    def fixed(self) -> tuple[str, ...]:
        """Names of the parameters with requires_grad=False."""
        return tuple(name for name, each in self.frozen.items() if isinstance(each, torch.nn.Parameter))

    def chain(self) -> tuple[Layer, ...]:
        """The layers in the order of the module."""
        return self.layers

    def name(self) -> str:
        """The name of the module's class."""
        return type(self.source).__name__

    def start(self) -> Array:
        """The trained parameters in one flat array."""
        parts = [each.detach().cpu() for each in self.trained.values()]
        double = any(each.dtype == torch.float64 for each in parts)
        return np.concatenate([(each.double() if double else each.float()).numpy().ravel() for each in parts])

    def params(self, weights: Array) -> Tensors:
        """The trained parameters as tensors by name."""
        return {
            name: torch.as_tensor(layer.of(weights).copy(), device=self._device)
            for name, layer in zip(self.trained, self.layers, strict=True)
        }

    def module(self, weights: Array) -> Any:
        """A new module with these weights."""
        module = copy.deepcopy(self.skeleton).to(_dtype(weights))
        with torch.no_grad():
            for name, value in {**self.frozen, **self.params(weights)}.items():
                _parameter(module, name).copy_(value)
        return module

    def outputs(self, weights: Array, X: Array) -> Array:
        """The forward pass."""
        with self._computing(), torch.no_grad():
            return _array(self._function(weights, X, as_rows=False)(self.params(weights)))

    def jvp(self, weights: Array, X: Array, direction: Array) -> Array:
        """J·u as the gradient of v ↦ u·(Jᵀv): many PyTorch operations have no forward derivative."""
        with self._computing():
            outputs, vjp = torch.func.vjp(self._function(weights, X), self.params(weights))[:2]
            jvp = torch.func.vjp(lambda v: vjp(v)[0], torch.zeros_like(outputs))[1]
            return _array(jvp(self.params(direction))[0])

    def vjp(self, weights: Array, X: Array, cotangent: Array) -> Array:
        """Jᵀ·cotangent by `torch.func.vjp`."""
        with self._computing():
            vjp = torch.func.vjp(self._function(weights, X), self.params(weights))[1]
            gradient = vjp(torch.as_tensor(cotangent.copy(), device=self._device))[0]
            return _array(torch.cat([each.reshape(-1) for each in gradient.values()]))

    def rows(self, weights: Array, X: Array, basis: Array) -> Any:
        """Rows of J by `torch.func.vjp` for single samples, vectorized if the module allows it."""
        with self._computing():
            params, inputs = self.params(weights), self._inputs(weights, X)
            constant = {layer.name: params.pop(layer.name) for layer in self.factored_layers(weights, X)}
            size = sum(each.numel() for each in params.values())
            directions = torch.as_tensor(basis.copy(), device=self._device)

            def of_sample(x: Any) -> Any:
                vjp = torch.func.vjp(
                    lambda theta: self._call({**constant, **theta}, x[None], weights)[0], params
                )[1]
                gradients = torch.func.vmap(lambda direction: vjp(direction)[0])(directions)
                return torch.cat([each.reshape(len(basis), -1) for each in gradients.values()], dim=1)

            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="There is a performance drop")
                try:
                    rows = torch.func.vmap(of_sample)(inputs)
                except RuntimeError:  # vmap fails, for example, if the module branches on values
                    rows = torch.stack([of_sample(x) for x in inputs])
            return rows.detach().reshape(-1, size)

    def factored_layers(self, weights: Array, X: Array) -> tuple[Layer, ...]:
        """Dense layers that are called once, with one vector for each sample."""
        dense = self._dense_names(weights, X)
        names = {parameter_name(name, part) for name in dense for part in ("weight", "bias")}
        return tuple(layer for layer in self.layers if layer.name in names)

    def _dense_names(self, weights: Array, X: Array) -> list[str]:
        """Names of the factored modules, found with one sample and cached by the shape and kind of X."""
        key = X.shape[1:], X.dtype.kind
        if key not in self._dense_cache:
            with self._computing():
                self._dense_cache[key] = self._find_dense(weights, X[:1])
        return self._dense_cache[key]

    def _find_dense(self, weights: Array, x: Array) -> list[str]:
        layers, function = dense_layers(self.skeleton, set(self.trained)), self._function(weights, x)
        params = self.params(weights)
        names = called_once(lambda: function(params), layers)
        if not names:
            return []
        parts = factors(lambda: function(params), {name: layers[name] for name in names}, set(self.trained))
        outputs, vjp = torch.func.vjp(function, params)[:2]
        cotangent = torch.as_tensor(np.random.default_rng(0).standard_normal(outputs.shape[1])).to(outputs)
        return valid_factors(names, parts, cotangent, vjp(cotangent[None])[0])

    def factored_kernel(self, weights: Array, X: Array, Y: Array | None, outputs: int) -> Array:
        """The kernel of the dense layers, by one backward pass for each output over all samples."""
        layers = dense_layers(self.skeleton, set(self.trained))
        layers = {name: layers[name] for name in self._dense_names(weights, X)}
        params = self.params(weights)

        def factors_at(inputs: Array) -> list[Factor]:
            function = self._function(weights, inputs)
            return factors(lambda: function(params), layers, set(self.trained))

        with self._computing():
            first = factors_at(X)
            return _array(kernel_from_factors(first, first if Y is None else factors_at(Y), outputs))

    def inner(self, first: Any, second: Any) -> Array:
        """A·Bᵀ in full precision."""
        with self._computing():
            return _array(first @ second.T)

    def current(self) -> tuple[Backend, Array]:
        """The network with the module's present parameters and buffers, in the mode of the skeleton."""
        trained, frozen = _tensors(self.source)
        shapes, before = ([(n, each.shape) for n, each in now.items()] for now in (trained, self.trained))
        if shapes != before:
            raise InputError(
                f"{self.name()} has other trainable parameters than when it was wrapped: wrap it again"
            )
        network = replace(self, trained=trained, frozen=frozen)
        return network, network.start()

    def doubled(self, weights: Array) -> tuple[Backend, Array]:
        """The network (f(θ₁, x) − f(θ₂, x))/√2, as a module of two copies."""
        network = InTorch.of(Doubled(self.module(weights), self.module(weights)))
        return network, network.start()

    @cached_property
    def _dense_cache(self) -> dict[Any, list[str]]:
        return {}

    @cached_property
    def _device(self) -> Any:
        return next(iter(self.trained.values())).device

    @cached_property
    def _takes_integers(self) -> bool:
        """Whether the module looks up integers in an embedding."""
        embeddings = torch.nn.Embedding | torch.nn.EmbeddingBag
        return any(isinstance(each, embeddings) for each in self.skeleton.modules())

    def _inputs(self, weights: Array, X: Array) -> Any:
        """X in the precision of the weights; integers stay integers if the module has embeddings."""
        if X.dtype.kind in "iu" and self._takes_integers:
            return torch.as_tensor(X.astype(np.int64), device=self._device)
        return torch.as_tensor(X.astype(weights.dtype), device=self._device)

    def _call(self, params: Tensors, X: Any, weights: Array) -> Any:
        dtype = _dtype(weights)
        frozen = {n: each.to(dtype) if each.is_floating_point() else each for n, each in self.frozen.items()}
        return torch.func.functional_call(self.skeleton, {**frozen, **params}, (X,))

    def _function(self, weights: Array, X: Array, as_rows: bool = True) -> Callable[[Tensors], Any]:
        inputs = self._inputs(weights, X)

        def function(params: Tensors) -> Any:
            outputs = self._call(params, inputs, weights)
            return outputs[:, None] if as_rows and outputs.ndim == 1 else outputs

        return function

    @contextmanager
    def _computing(self) -> Iterator[None]:
        """Turn errors of the module into an `InputError` that names it, and switch off TF32 on GPUs."""
        cudnn, matmul = torch.backends.cudnn.allow_tf32, torch.get_float32_matmul_precision()
        tf32 = self._device.type == "cuda" and (cudnn or matmul != "highest")
        try:
            if tf32:
                torch.backends.cudnn.allow_tf32 = False
                torch.set_float32_matmul_precision("highest")
            # Fused attention has no second derivative, which jvp needs.
            with sdpa_kernel(SDPBackend.MATH):
                yield
        except TacitError:
            raise
        except (RuntimeError, TypeError, ValueError, AttributeError, IndexError) as error:
            line = str(error).strip().partition("\n")[0]
            raise InputError(
                f"{self.name()} failed: {type(error).__name__}: {line}; it must take one tensor with samples "
                "first and return a tensor of shape (N,) or (N, outputs)"
            ) from error
        finally:
            if tf32:
                torch.backends.cudnn.allow_tf32 = cudnn
                torch.set_float32_matmul_precision(matmul)


class Doubled(torch.nn.Module):
    """The network (f(θ₁, x) − f(θ₂, x))/√2."""

    def __init__(self, first: Any, second: Any):
        super().__init__()
        self.first, self.second = first, second

    def forward(self, X: Any) -> Any:
        """The difference."""
        return (self.first(X) - self.second(X)) / math.sqrt(2)


def _tensors(module: Any) -> tuple[Tensors, Tensors]:
    """Copies of the trained parameters, and of the frozen parameters and buffers."""
    named = dict(module.named_parameters())
    trained = {n: each.detach().clone() for n, each in named.items() if each.requires_grad}
    frozen = {
        n: torch.nn.Parameter(each.detach().clone(), requires_grad=False)
        for n, each in named.items()
        if not each.requires_grad
    }
    return trained, {**frozen, **{n: each.detach().clone() for n, each in module.named_buffers()}}


def _parameter(module: Any, name: str) -> Any:
    """The parameter or buffer of this name."""
    owner, _, last = name.rpartition(".")
    return getattr(module.get_submodule(owner), last)


def _dtype(weights: Array) -> Any:
    return torch.float64 if weights.dtype == np.float64 else torch.float32


def _array(tensor: Any) -> Array:
    if not isinstance(tensor, torch.Tensor):
        raise InputError(f"the module must return a tensor, got {type(tensor).__name__}")
    return tensor.detach().cpu().numpy()


def check_module(module: Any) -> None:
    """Raise `InputError` if a submodule, in its present mode, is random or mixes the samples of a batch."""
    for path, each in module.named_modules():
        name = f"{path} ({type(each).__name__})" if path else type(each).__name__
        batch = isinstance(each, torch.nn.modules.batchnorm._BatchNorm)
        instance = isinstance(each, torch.nn.modules.instancenorm._InstanceNorm)
        if each.training and (batch or (instance and each.track_running_stats)):
            raise InputError(
                f"batch normalization in training mode ({name}) makes the output for a sample depend on the "
                "other samples: call module.eval() before Network.from_torch(module), and module.train() "
                "afterwards"
            )
        if batch and each.running_mean is None:
            raise InputError(
                f"{name} keeps no running averages, so that the output for a sample depends on the other "
                "samples in evaluation mode, too: set track_running_stats=True"
            )
        random = (getattr(each, name) > 0 for kind, name in _RANDOM.items() if isinstance(each, kind))
        if each.training and any(random):
            raise InputError(
                f"dropout in training mode ({name}) is random: call module.eval() before "
                "Network.from_torch(module), and module.train() afterwards"
            )
    for name, each in module.named_parameters():
        if isinstance(each, torch.nn.parameter.UninitializedParameter):
            raise InputError(f"parameter {name} has no shape yet: run the module once on a batch")
        if each.is_complex():
            raise InputError(f"weights must be real, but {name} is complex: use two real parameters instead")
        if each.device.type == "meta":
            raise InputError(f"parameter {name} is on the device 'meta' and has no values: load them first")
