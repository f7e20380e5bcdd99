r"""Dense layers of PyTorch in a tangent kernel, without their gradients.

The gradient of output k at sample n in the weights of z = W h + b is δ_nk h_nᵀ, with δ_nk = ∂f_k(x_n)/∂z, so
that the layer's part of the kernel is

    ⟨δ_nk, δ_n'k'⟩·(⟨h_n, h_n'⟩ + 1)

(the 1 for a bias), from N·m numbers for each of its units instead of each of its weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

_CLOSE = {"torch.float32": 1e-3, "torch.float64": 1e-8}  # of a gradient
_TINY = 1e-30


@dataclass(frozen=True)
class Factor:
    """A layer's part: h, (N, inputs), δ, (N·m, units), and whether weight and bias are trained."""

    h: Any
    delta: Any
    weight: bool
    bias: bool


def dense_layers(module: Any, trained: set[str]) -> dict[str, Any]:
    """Linear layers with a weight or a bias to train that no other module shares, by name."""
    owners: dict[int, int] = {}
    for each in module.modules():
        for parameter in each.parameters(recurse=False):
            owners[id(parameter)] = owners.get(id(parameter), 0) + 1
    return {
        name: each
        for name, each in module.named_modules(remove_duplicate=True)
        if type(each) is torch.nn.Linear
        and any(f"{name}.{part}".lstrip(".") in trained for part in ("weight", "bias"))
        and all(owners[id(parameter)] == 1 for parameter in each.parameters(recurse=False))
    }


def called_once(run: Callable[[], Any], layers: dict[str, Any]) -> list[str]:
    """Those that a run meets once, with a vector for each sample."""
    calls: dict[str, list[int]] = {name: [] for name in layers}
    handles = [
        layer.register_forward_hook(lambda _, given, __, name=name: calls[name].append(given[0].ndim))
        for name, layer in layers.items()
    ]
    try:
        with torch.no_grad():
            run()
    finally:
        for handle in handles:
            handle.remove()
    return [name for name, seen in calls.items() if seen == [2]]


def factors(run: Callable[[], Any], layers: dict[str, Any], trained: set[str]) -> list[Factor]:
    """h and δ of each layer in a run that gives (N, m): a backward pass for each output, over all samples."""
    inputs: dict[str, Any] = {}
    asides: dict[str, Any] = {}

    def hook(name: str) -> Callable[[Any, Any, Any], Any]:
        def aside(_: Any, given: Any, found: Any) -> Any:
            inputs[name] = given[0].detach()
            asides[name] = torch.zeros_like(found, requires_grad=True)
            return found + asides[name]

        return aside

    handles = [layer.register_forward_hook(hook(name)) for name, layer in layers.items()]
    try:
        found = run()
    finally:
        for handle in handles:
            handle.remove()
    each = [
        torch.autograd.grad(column.sum(), list(asides.values()), retain_graph=True, allow_unused=True)
        for column in found.T
    ]
    made = []
    for place, (name, aside) in enumerate(asides.items()):
        slopes = [torch.zeros_like(aside) if row[place] is None else row[place] for row in each]
        delta = torch.stack(slopes, dim=1).reshape(-1, aside.shape[1]).detach()
        parts = [f"{name}.{part}".lstrip(".") in trained for part in ("weight", "bias")]
        made.append(Factor(inputs[name], delta, *parts))
    return made


def agreeing(names: list[str], made: list[Factor], cotangent: Any, gradients: dict[str, Any]) -> list[str]:
    """Those whose gradient, of one sample, is δ hᵀ: weights may be used elsewhere in the network too."""
    kept = []
    for name, factor in zip(names, made, strict=True):
        delta = cotangent @ factor.delta
        expected = {"weight": torch.outer(delta, factor.h[0]), "bias": delta}
        trained = {part: each for part, each in expected.items() if getattr(factor, part)}
        found = {part: gradients[f"{name}.{part}".lstrip(".")] for part in trained}
        close = _CLOSE[str(delta.dtype)]
        if all(torch.dist(found[p], each) <= close * torch.norm(each) + _TINY for p, each in trained.items()):
            kept.append(name)
    return kept


def contracted(here: list[Factor], there: list[Factor], outputs: int) -> Any:
    """The sum of the layers' parts of the kernel."""
    total = 0.0
    for one, two in zip(here, there, strict=True):
        inner = (one.h @ two.h.T if one.weight else torch.zeros(len(one.h), len(two.h)).to(one.h)) + one.bias
        inner = inner.repeat_interleave(outputs, 0).repeat_interleave(outputs, 1)
        total = total + inner * (one.delta @ two.delta.T)
    return total
