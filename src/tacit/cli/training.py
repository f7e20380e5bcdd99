"""Options that say how weights are trained, for `tacit limit` and `tacit descend`."""

from __future__ import annotations

import argparse
import math
from typing import Any

from tacit.cli.options import add_flag, add_option, whole_number
from tacit.errors import InputError

_OTHERS = ("momentum", "nesterov", "batch", "decay", "decay_time", "label_noise", "noise_steps")


def add_training(command: Any, required: bool) -> None:
    """Add --step, --momentum, --nesterov, --batch, --decay, --decay-time, --label-noise and --noise-steps."""
    without = "" if required else " (default: gradient flow)"
    step = f"step size (learning rate) for the loss 1/(2N)·‖Xw − y‖²{without}"
    add_option(command, "--step G", step, float, required=required)
    add_option(command, "--momentum B", "heavy-ball momentum, 0 to 1 (default: 0)", float)
    add_flag(command, "--nesterov", "use Nesterov's momentum")
    add_option(command, "--batch N", "samples per step (default: all of them)", whole_number(1))
    add_option(command, "--decay L", "weight decay (default: 0)", float)
    add_option(
        command, "--decay-time T", "time at which weight decay is switched off (default: never)", float
    )
    noise = "noise ±D on the targets of the first --noise-steps steps"
    add_option(command, "--label-noise D", noise, float)
    add_option(command, "--noise-steps K", "number of steps with label noise", whole_number(1))


def training_of(options: argparse.Namespace) -> Any:
    """The `Training` that the options describe; None if there are none of them."""
    from tacit.training.settings import Training

    given = {name: value for name in _OTHERS if (value := getattr(options, name)) not in (None, False)}
    if options.step is None and not given:
        return None
    if options.step is None and not set(given) <= {"decay", "decay_time"}:
        name = next(each for each in given if not each.startswith("decay"))
        raise InputError(f"--{name.replace('_', '-')} needs --step, the step size of gradient descent")
    given.setdefault("decay_time", math.inf)
    return Training(options.step or 0.0, **given)
