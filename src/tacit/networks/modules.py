"""Checks of PyTorch modules: is the output a deterministic function of parameters and one sample?"""

from __future__ import annotations

from typing import Any

from tacit.errors import InputError


def check_module(module: Any) -> None:
    """Raise `InputError` if a submodule, in its present mode, is random or mixes the samples of a batch."""
    from torch import nn

    for path, each in module.named_modules():
        name = f"{path} ({type(each).__name__})" if path else type(each).__name__
        if each.training and _averages(each, nn):
            raise InputError(
                f"batch normalization in training mode ({name}) makes the output for a sample depend on the "
                "other samples: call module.eval() before Network.from_torch(module), and module.train() "
                "afterwards"
            )
        if isinstance(each, nn.modules.batchnorm._BatchNorm) and each.running_mean is None:
            raise InputError(
                f"{name} keeps no running averages, so that the output for a sample depends on the other "
                "samples in evaluation mode, too: set track_running_stats=True"
            )
        if each.training and _is_random(each, nn):
            raise InputError(
                f"dropout in training mode ({name}) is random: call module.eval() before "
                "Network.from_torch(module), and module.train() afterwards"
            )
    for name, each in module.named_parameters():
        if isinstance(each, nn.parameter.UninitializedParameter):
            raise InputError(f"parameter {name} has no shape yet: run the module once on a batch")
        if each.is_complex():
            raise InputError(f"weights must be real, but {name} is complex: use two real parameters instead")
        if each.device.type == "meta":
            raise InputError(f"parameter {name} is on the device 'meta' and has no values: load them first")


def _averages(module: Any, nn: Any) -> bool:
    """Whether the module uses or records averages over the batch in training mode."""
    instance = isinstance(module, nn.modules.instancenorm._InstanceNorm) and module.track_running_stats
    return isinstance(module, nn.modules.batchnorm._BatchNorm) or instance


def _is_random(module: Any, nn: Any) -> bool:
    """Whether the module draws random numbers in training mode."""
    if isinstance(module, nn.modules.dropout._DropoutNd):
        return bool(module.p > 0)
    inside = isinstance(module, nn.RNNBase | nn.MultiheadAttention) and module.dropout > 0
    return inside or isinstance(module, nn.RReLU)


def takes_integers(module: Any) -> bool:
    """Whether the module looks up integers in an embedding."""
    from torch import nn

    return any(isinstance(each, nn.Embedding | nn.EmbeddingBag) for each in module.modules())
