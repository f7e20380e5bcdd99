"""tacit demo: the main job on built-in data."""

from __future__ import annotations

import argparse
from typing import Any

from tacit.cli.options import DONE, FAILED, add_command, seed_number


def add(commands: Any) -> Any:
    """The command and its options."""
    command = add_command(
        commands,
        "demo",
        _run,
        help="the main job on built-in data: from the kernel to the rich regime",
        description="Sparse regression with 100 samples and 500 features: where gradient flow ends, for\n"
        "scales from the kernel to the rich regime, with certificates, a table and a figure. One of the\n"
        "limits is compared with a flow of the raw weights, which is independent of the potential.",
        epilog="examples:\n  tacit demo\n  tacit demo --seed 7 --out figures",
    )
    command.add_argument("--out", default="tacit-output", metavar="DIR", help="folder (default: %(default)s)")
    command.add_argument(
        "--seed", type=seed_number, default=0, help="of the random data (default: %(default)s)"
    )
    return command


def _run(options: argparse.Namespace) -> int:
    from tacit.demo import demo

    return DONE if demo(options.out, options.seed) else FAILED
