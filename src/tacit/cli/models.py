"""Models, as options name them."""

from __future__ import annotations

import argparse
import math
from typing import Any

from tacit.cli.guests import guest_model, is_guest
from tacit.cli.options import whole_number
from tacit.errors import InputError

_ALSO = {
    "Diagonal": "diagonal",
    "UntiedDiagonal": "untied",
    "untied-diagonal": "untied",
    "Neuron": "neuron",
    "LinearNetwork": "linear",
    "linear-network": "linear",
    "Factorization": "completion",
}
_HELP = {
    "diagonal": "β = w₊^D − w₋^D",
    "untied": "w = u₊v₊ − u₋v₋, or products of more layers",
    "neuron": "f = a·σ(w·x)",
    "linear": "f = V Uᵀx, of one hidden layer",
    "completion": "DATA is a matrix with empty cells, which U Vᵀ fills in",
}
_TAKES = {  # which options belong to which model; the rest would do nothing
    "diagonal": ("depth", "scale", "log_scale"),
    "untied": ("scale", "shape", "layers"),
    "neuron": ("scale", "shape", "slope", "sign", "seed"),
    "linear": ("width", "start", "std", "seed"),
    "completion": ("width", "scale", "seed"),
}
_INSTEAD = {  # what to give where an option of another model was given
    ("untied", "depth"): "it has two layers, or as many as --layers names",
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
    """--model and the options of its initialization."""
    listed = "; ".join(f"{name}: {_HELP[name]}" for name in names)
    command.add_argument(
        "--model",
        type=lambda text: _name(text, names),
        metavar="NAME",
        default="diagonal",
        help=f"{listed}; or FILE.py:NAME, a tacit.Model of your own, or a function of the number of features "
        "that makes one (default: %(default)s)",
    )
    command.add_argument("--depth", type=float, help="depth D of a diagonal model, 2 or more (default: 2)")
    small = "; deviation of the weights (completion), default 0.001" if "completion" in names else ""
    products = "of the product u·v (untied)" + (" or |a|·‖w‖ (neuron)" if "neuron" in names else "")
    command.add_argument(
        "--scale",
        type=_size,
        help=f"size at the start: of the weights (diagonal), {products}; default 1{small}; "
        "0 stands for the limit of small scales (diagonal)",
    )
    command.add_argument(
        "--log-scale", type=float, help="natural logarithm of the scale, where it leaves the float range"
    )
    layered = "an untied model" + (" or a neuron" if "neuron" in names else "")
    command.add_argument("--shape", type=float, help=f"how the two layers of {layered} compare, -1 to 1")
    command.add_argument(
        "--layers",
        type=_numbers,
        metavar="A,B,…",
        help="sizes at the start of the layers of an untied model, two or more, instead of --scale and "
        "--shape: 0.1,0.2,0.3 for three that multiply, those of w₊ and of w₋ alike",
    )
    if "neuron" in names:
        command.add_argument("--slope", type=float, help="of a leaky neuron, 0 to 1 (default: 1, linear)")
        command.add_argument(
            "--sign", type=int, choices=(-1, 1), help="of a neuron's output weight (default: 1)"
        )
    if "linear" in names:
        command.add_argument(
            "--width",
            type=_width,
            metavar="K",
            help="of a linear network (default: 100) or a factorization for completion (default: 50; inf for "
            "the limit of weights of deviation scale/√width)",
        )
        command.add_argument(
            "--start",
            choices=("gaussian", "balanced", "orthogonal"),
            help="of a linear network: independent weights; layers that balance, of a predictor drawn with "
            "--std; or orthogonal ones, which end at the solution of least norm (default: gaussian)",
        )
        command.add_argument("--std", type=float, help="of a linear network's start (default: width^-½)")
        command.add_argument(
            "--seed", type=whole_number(0), help="of random weights or directions (default: 0)"
        )


def _numbers(text: str) -> list[float]:
    """Numbers with commas between them."""
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be numbers with commas between them, got {text!r}") from None
    if len(found) < 2:
        raise argparse.ArgumentTypeError(f"must name two layers or more, as in 0.1,0.2, got {text!r}")
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
    """A whole number, or infinity."""
    try:
        return math.inf if text.strip().lower() in ("inf", "infinity", "∞") else int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number, or inf, got {text!r}") from None


def _name(text: str, names: tuple[str, ...]) -> str:
    """One of the names, or that of a guest."""
    name = _ALSO.get(text, text)
    if name not in names and not is_guest(name):
        listed = ", ".join(map(repr, names))
        raise argparse.ArgumentTypeError(f"invalid choice: {text!r} (choose from {listed}, or FILE.py:NAME)")
    return name


def model_of(options: argparse.Namespace, X: Any) -> Any:
    """The model that the options describe, for these inputs."""
    check_options(options)
    if is_guest(options.model):
        return guest_model(options.model, X.shape[1])
    return {"diagonal": _diagonal, "untied": _untied, "neuron": _neuron, "linear": _linear}[options.model](
        options, X
    )


def check_options(options: argparse.Namespace) -> None:
    """Refuse options that belong to another model."""
    name = options.model
    for option in sorted({option for taken in _TAKES.values() for option in taken}):
        if getattr(options, option, None) is None or option in _TAKES.get(name, ()):
            continue
        instead = "a model of your own has its start in its file" if is_guest(name) else None
        instead = instead or _INSTEAD.get((name, option))
        if instead is None:
            owners = " or ".join(model for model, taken in _TAKES.items() if option in taken)
            instead = f"it goes with --model {owners}"
        raise InputError(f"--{option.replace('_', '-')} does not go with --model {name}: {instead}")


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
            f"--scale must be 0 or positive and finite, got {scale:g}; beyond 1e-308 or 1e308 give its "
            "natural logarithm, with --log-scale"
        )
    return Diagonal(depth=_given(options, "depth", 2.0), scale=scale, log_scale=options.log_scale)


def _untied(options: argparse.Namespace, X: Any) -> Any:
    from tacit.models import UntiedDiagonal

    if options.layers is not None:
        if options.scale is not None or options.shape is not None:
            raise InputError("--layers says how large every layer is: leave out --scale and --shape")
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
            raise InputError("--std does not go with --start orthogonal, whose layers are orthonormal")
        return LinearNetwork.orthogonal(X, width, seed=rng)
    deviation = as_deviation(_given(options, "std", width**-0.5), "--std")
    return LinearNetwork.balanced(deviation * rng.standard_normal(X.shape[1]), X, width, seed=rng)
