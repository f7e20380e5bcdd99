"""tacit demo: a demonstration on built-in data."""

from __future__ import annotations

import argparse
from typing import Any

from tacit.cli.options import DONE, FAILED, add_command, seed_number


def add(commands: Any) -> Any:
    """Add the command and its options."""
    command = add_command(
        commands,
        "demo",
        _run,
        help="demonstrate limits from the kernel to the rich regime on built-in data",
        description="Compute the limits of gradient flow for sparse regression with 100 samples and 500\n"
        "features, for scales from the kernel to the rich regime, with certificates, a table and a figure.\n"
        "One limit is compared with a flow of the raw weights, which is independent of the potential.",
        epilog="examples:\n  tacit demo\n  tacit demo --seed 7 --out figures",
    )
    command.add_argument(
        "--out", default="tacit-output", metavar="DIR", help="output folder (default: %(default)s)"
    )
    command.add_argument(
        "--seed", type=seed_number, default=0, help="seed of the random data (default: %(default)s)"
    )
    return command


def _run(options: argparse.Namespace) -> int:
    from tacit.demo import demo

    return DONE if demo(options.out, options.seed) else FAILED
