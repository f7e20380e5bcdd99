"""Options that describe a model."""

from __future__ import annotations

import argparse
import math
from typing import Any

from tacit.cli.guests import guest_model, is_guest
from tacit.cli.options import add_option, whole_number
from tacit.errors import InputError

_ALSO = {"untieddiagonal": "untied", "linearnetwork": "linear", "factorization": "completion"}  # classes
_HELP = {
    "diagonal": "β = w₊^D − w₋^D",
    "untied": "w = u₊v₊ − u₋v₋, or products of more layers",
    "neuron": "f = a·σ(w·x)",
    "linear": "f = V Uᵀx, one hidden layer",
    "completion": "DATA is a matrix with empty cells, completed by U Vᵀ",
}
_TAKES = {  # the options of each model; others are rejected, since they would have no effect
    "diagonal": ("depth", "scale", "log_scale"),
    "untied": ("scale", "shape", "layers"),
    "neuron": ("scale", "shape", "slope", "sign", "seed"),
    "linear": ("width", "start", "std", "seed"),
    "completion": ("width", "scale", "seed"),
}
_INSTEAD = {  # advice if an option of another model is given
    ("untied", "depth"): "it has two layers, or as many as given by --layers",
    ("untied", "log_scale"): "give --scale",
    ("diagonal", "layers"): "its layers are tied; give --depth and --scale, or --model untied",
    ("diagonal", "shape"): "its layers are tied and have no shape; --model untied has one",
    ("neuron", "depth"): "it has two layers",
    ("neuron", "log_scale"): "give --scale",
    ("neuron", "std"): "give --scale, the size of |a|·‖w‖",
    ("linear", "scale"): "give --std, the standard deviation of its weights",
    ("linear", "log_scale"): "give --std, the standard deviation of its weights",
    ("linear", "depth"): "it has two layers",
    ("completion", "log_scale"): "give --scale",
    ("completion", "std"): "give --scale, the standard deviation of its weights",
    ("completion", "depth"): "it has two layers",
}


def add_model(command: Any, names: tuple[str, ...]) -> None:
    """Add --model and the options of its initialization."""
    listed = "; ".join(f"{name}: {_HELP[name]}" for name in names)
    listed += (
        "; or FILE.py:NAME, your own tacit.Model, or a function of the number of features that returns one"
    )
    add_option(command, "--model NAME", listed, lambda text: _name(text, names), "diagonal")
    add_option(command, "--depth", "depth D of a diagonal model, 2 or more (default: 2)", float)
    small = "; standard deviation of the weights (completion), default 0.001" if "completion" in names else ""
    products = "of the product u·v (untied)" + (" or |a|·‖w‖ (neuron)" if "neuron" in names else "")
    size = f"size of the initial weights (diagonal), {products}; default 1{small}; "
    add_option(command, "--scale", f"{size}0: the limit of vanishing scale (diagonal)", _size)
    outside = "natural logarithm of the scale, for scales outside the floating-point range"
    add_option(command, "--log-scale", outside, float)
    layered = "an untied model" + (" or a neuron" if "neuron" in names else "")
    add_option(command, "--shape", f"shape of {layered}, (|v| - |u|)/(|v| + |u|), between -1 and 1", float)
    layers = "initial sizes of two or more layers of an untied model, for w₊ and w₋ alike, instead of "
    add_option(command, "--layers A,B,…", f"{layers}--scale and --shape; for example 0.1,0.2,0.3", _numbers)
    if "neuron" in names:
        slope = "negative-side slope of a leaky neuron, 0 to 1 (default: 1, linear)"
        add_option(command, "--slope", slope, float)
        add_option(command, "--sign", "sign of a neuron's output weight (default: 1)", int, choices=(-1, 1))
    if "linear" in names:
        width = "width of a linear network (default: 100) or a factorization for completion (default: 50; "
        width += "inf: the limit of weights with standard deviation scale/√width)"
        add_option(command, "--width K", width, _width)
        start = (
            "initialization of a linear network: independent weights; balanced layers, whose predictor is "
        )
        start += "drawn with --std; or orthogonal layers, which end at the minimum-norm solution "
        kinds = ("gaussian", "balanced", "orthogonal")
        add_option(command, "--start", f"{start}(default: gaussian)", choices=kinds)
        deviation = "standard deviation of a linear network's initial weights (default: width^-½)"
        add_option(command, "--std", deviation, float)
        add_option(command, "--seed", "seed of random weights or directions (default: 0)", whole_number(0))


def _numbers(text: str) -> list[float]:
    """Numbers separated by commas."""
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be numbers separated by commas, got {text!r}") from None
    if len(found) < 2:
        raise argparse.ArgumentTypeError(
            f"must give the sizes of two or more layers, as in 0.1,0.2, got {text!r}"
        )
    return found


def _size(text: str) -> float:
    """A number; 0 only where 0 is written, because a limit at scale 0 is not that of a tiny scale."""
    try:
        found = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number, got {text!r}") from None
    if found == 0 and set(text.lower().partition("e")[0]) & set("123456789"):
        raise argparse.ArgumentTypeError(f"{text} is below 1e-308: give its natural logarithm, --log-scale")
    return found


def _width(text: str) -> float:
    """A whole number or infinity."""
    try:
        return math.inf if text.strip().lower() in ("inf", "infinity", "∞") else int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number, or inf, got {text!r}") from None


def _name(text: str, names: tuple[str, ...]) -> str:
    """One of the names, or FILE.py:NAME."""
    plain = text.replace("-", "").lower()
    name = text if is_guest(text) else _ALSO.get(plain, plain)
    if name not in names and not is_guest(name):
        listed = ", ".join(map(repr, names))
        raise argparse.ArgumentTypeError(f"invalid choice: {text!r} (choose from {listed}, or FILE.py:NAME)")
    return name


def model_of(options: argparse.Namespace, X: Any) -> Any:
    """The model given by the options, for these inputs."""
    check_options(options)
    if is_guest(options.model):
        return guest_model(options.model, X.shape[1])
    return {"diagonal": _diagonal, "untied": _untied, "neuron": _neuron, "linear": _linear}[options.model](
        options, X
    )


def check_options(options: argparse.Namespace) -> None:
    """Raise if an option of another model is given."""
    name = options.model
    for option in sorted({option for taken in _TAKES.values() for option in taken}):
        if getattr(options, option, None) is None or option in _TAKES.get(name, ()):
            continue
        instead = "your own model defines its initialization in its file" if is_guest(name) else None
        instead = instead or _INSTEAD.get((name, option))
        if instead is None:
            owners = " or ".join(model for model, taken in _TAKES.items() if option in taken)
            instead = f"it is an option of --model {owners}"
        raise InputError(f"--{option.replace('_', '-')} is not an option of --model {name}: {instead}")


def _given(options: argparse.Namespace, name: str, default: Any) -> Any:
    value = getattr(options, name)
    return default if value is None else value


def _diagonal(options: argparse.Namespace, X: Any) -> Any:
    from tacit.models import Diagonal

    if options.log_scale is not None and options.scale is not None:
        raise InputError("give --scale or --log-scale, not both")
    scale = _given(options, "scale", 1.0)
    if not 0 <= scale < math.inf:
        raise InputError(
            f"--scale must be 0 or positive and finite, got {scale:g}; for values below 1e-308 or above "
            "1e308, give the natural logarithm with --log-scale"
        )
    return Diagonal(depth=_given(options, "depth", 2.0), scale=scale, log_scale=options.log_scale)


def _untied(options: argparse.Namespace, X: Any) -> Any:
    from tacit.models import UntiedDiagonal

    if options.layers is not None:
        if options.scale is not None or options.shape is not None:
            raise InputError("--layers gives the size of every layer: leave out --scale and --shape")
        return UntiedDiagonal.from_layers(options.layers)
    return UntiedDiagonal(scale=_given(options, "scale", 1.0), shape=_given(options, "shape", 0.0))


def _neuron(options: argparse.Namespace, X: Any) -> Any:
    """A neuron whose weights point in a random direction."""
    from tacit.models import Neuron
    from tacit.models.linear import as_generator

    direction = as_generator(_given(options, "seed", 0)).standard_normal(X.shape[1])
    return Neuron.from_scale(
        _given(options, "scale", 1.0),
        _given(options, "shape", 0.0),
        direction,
        sign=_given(options, "sign", 1),
        slope=_given(options, "slope", 1.0),
    )


def _linear(options: argparse.Namespace, X: Any) -> Any:
    from tacit.models import LinearNetwork
    from tacit.models.linear import as_deviation, as_generator, as_size

    width, start = as_size(_given(options, "width", 100), "--width"), _given(options, "start", "gaussian")
    rng = as_generator(_given(options, "seed", 0))
    if start == "gaussian":
        return LinearNetwork.gaussian(X.shape[1], width, std=options.std, seed=rng)
    if start == "orthogonal":
        if options.std is not None:
            raise InputError(
                "--std has no effect with --start orthogonal, whose layers are orthonormal; leave it out"
            )
        return LinearNetwork.orthogonal(X, width, seed=rng)
    deviation = as_deviation(_given(options, "std", width**-0.5), "--std")
    return LinearNetwork.balanced(deviation * rng.standard_normal(X.shape[1]), X, width, seed=rng)
