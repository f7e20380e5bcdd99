"""Which modules of PyTorch are functions of their parameters and inputs."""

from __future__ import annotations

from typing import Any

from tacit.errors import InputError


def check_module(module: Any) -> None:
    """Refuse by name what is not a function in the mode that it is in."""
    from torch import nn

    for path, each in module.named_modules():
        name = f"{path} ({type(each).__name__})" if path else type(each).__name__
        if each.training and _averages(each, nn):
            raise InputError(
                f"batch normalization in training mode, {name}, makes what is given for a sample depend on "
                "the others: call module.eval() before Network.from_torch(module), and train it after that"
            )
        if isinstance(each, nn.modules.batchnorm._BatchNorm) and each.running_mean is None:
            raise InputError(
                f"{name} keeps no running averages, so that what is given for a sample depends on the others "
                "in evaluation mode too: make it with track_running_stats=True"
            )
        if each.training and _is_random(each, nn):
            raise InputError(
                f"dropout in training mode, {name}, is random: call module.eval() before "
                "Network.from_torch(module), and train it after that"
            )
    for name, each in module.named_parameters():
        if isinstance(each, nn.parameter.UninitializedParameter):
            raise InputError(f"the parameter {name} has no shape yet: run the module once on a batch")
        if each.is_complex():
            raise InputError(f"weights must be real, and {name} is complex: give its two parts")
        if each.device.type == "meta":
            raise InputError(f"the parameter {name} is on the device 'meta' and has no values")


def _averages(module: Any, nn: Any) -> bool:
    """Does it take or keep averages over the batch in training?"""
    instance = isinstance(module, nn.modules.instancenorm._InstanceNorm) and module.track_running_stats
    return isinstance(module, nn.modules.batchnorm._BatchNorm) or instance


def _is_random(module: Any, nn: Any) -> bool:
    """Does it draw random numbers in training?"""
    if isinstance(module, nn.modules.dropout._DropoutNd):
        return bool(module.p > 0)
    inside = isinstance(module, nn.RNNBase | nn.MultiheadAttention) and module.dropout > 0
    return inside or isinstance(module, nn.RReLU)


def takes_whole_numbers(module: Any) -> bool:
    """Does it look up what whole numbers stand for?"""
    from torch import nn

    return any(isinstance(each, nn.Embedding | nn.EmbeddingBag) for each in module.modules())
