r"""Dense PyTorch layers in a tangent kernel, without gradients with respect to their weights.

The gradient of output k at sample n with respect to the weights of z = W h + b is δ_nk h_nᵀ, with
δ_nk = ∂f_k(x_n)/∂z. The layer therefore contributes

    ⟨δ_nk, δ_n'k'⟩·(⟨h_n, h_n'⟩ + 1)

to the kernel (the 1 is that of the bias), and N·m numbers for each unit replace N·m numbers for each weight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

# A gradient equals δ hᵀ if the difference is below this fraction of it: far more than round-off, far less
# than the contribution of a second use of the weights.
_TOLERANCE = {"torch.float32": 1e-3, "torch.float64": 1e-8}
_TINY = 1e-30  # added to the tolerance for gradients that are 0


@dataclass(frozen=True)
class Factor:
    """The inputs h, (N, inputs), and δ, (N·m, units), of a layer. weight, bias: whether they are trained."""

    h: Any
    delta: Any
    weight: bool
    bias: bool


def dense_layers(module: Any, trained: set[str]) -> dict[str, Any]:
    """Linear layers, by name, with a trained weight or bias, none of which is shared with another module."""
    owners: dict[int, int] = {}
    for each in module.modules():
        for parameter in each.parameters(recurse=False):
            owners[id(parameter)] = owners.get(id(parameter), 0) + 1
    return {
        name: each
        for name, each in module.named_modules(remove_duplicate=True)
        if type(each) is torch.nn.Linear
        and any(parameter_name(name, part) in trained for part in ("weight", "bias"))
        and all(owners[id(parameter)] == 1 for parameter in each.parameters(recurse=False))
    }


@contextmanager
def _hooked(layers: dict[str, Any], hook: Callable[[str], Callable[..., Any]]) -> Iterator[None]:
    """Call hook(name) after the forward pass of each layer inside this context."""
    handles = [layer.register_forward_hook(hook(name)) for name, layer in layers.items()]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def called_once(run: Callable[[], Any], layers: dict[str, Any]) -> list[str]:
    """Names of the layers that a forward pass calls exactly once, with one vector for each sample."""
    calls: dict[str, list[int]] = {name: [] for name in layers}
    with torch.no_grad(), _hooked(layers, lambda name: lambda _, x, __: calls[name].append(x[0].ndim)):
        run()
    return [name for name, ndims in calls.items() if ndims == [2]]


def factors(run: Callable[[], Any], layers: dict[str, Any], trained: set[str]) -> list[Factor]:
    """h and δ of each layer in a forward pass with outputs (N, m), by one backward pass for each output."""
    inputs: dict[str, Any] = {}
    shifts: dict[str, Any] = {}  # zeros added to z, whose gradients are δ

    def hook(name: str) -> Callable[[Any, Any, Any], Any]:
        def shifted(_: Any, arguments: Any, z: Any) -> Any:
            inputs[name] = arguments[0].detach()
            shifts[name] = torch.zeros_like(z, requires_grad=True)
            return z + shifts[name]

        return shifted

    with _hooked(layers, hook):
        outputs = run()
    gradients = [
        torch.autograd.grad(column.sum(), list(shifts.values()), retain_graph=True, allow_unused=True)
        for column in outputs.T
    ]
    found = []
    for k, (name, shift) in enumerate(shifts.items()):
        slopes = [torch.zeros_like(shift) if row[k] is None else row[k] for row in gradients]
        delta = torch.stack(slopes, dim=1).reshape(-1, shift.shape[1]).detach()
        used = (parameter_name(name, part) in trained for part in ("weight", "bias"))
        found.append(Factor(inputs[name], delta, *used))
    return found


def valid_factors(
    names: list[str], found: list[Factor], cotangent: Any, gradients: dict[str, Any]
) -> list[str]:
    """Names of the layers whose gradient at one sample is δ hᵀ: others are also used outside their module."""
    valid = []
    for name, factor in zip(names, found, strict=True):
        delta = cotangent @ factor.delta
        products = {"weight": torch.outer(delta, factor.h[0]), "bias": delta}
        differences = [
            (torch.dist(gradients[parameter_name(name, part)], each), torch.norm(each))
            for part, each in products.items()
            if getattr(factor, part)
        ]
        tolerance = _TOLERANCE[str(delta.dtype)]
        if all(difference <= tolerance * size + _TINY for difference, size in differences):
            valid.append(name)
    return valid


def kernel_from_factors(first: list[Factor], second: list[Factor], outputs: int) -> Any:
    """The sum of the layers' contributions to the kernel."""
    total = 0.0
    for one, two in zip(first, second, strict=True):
        inner = (one.h @ two.h.T if one.weight else torch.zeros(len(one.h), len(two.h)).to(one.h)) + one.bias
        inner = inner.repeat_interleave(outputs, 0).repeat_interleave(outputs, 1)
        total = total + inner * (one.delta @ two.delta.T)
    return total


def parameter_name(module: str, part: str) -> str:
    return f"{module}.{part}".lstrip(".")
