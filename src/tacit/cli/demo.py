"""tacit demo: demonstrate limits from the kernel to the rich regime on built-in data.

Compute the limits of gradient flow for sparse regression with 100 samples and 500 features,
for scales from the kernel to the rich regime, with certificates, a table and a figure. One
limit is compared with a flow of the raw weights, which is independent of the potential.

examples:
  tacit demo
  tacit demo --seed 7 --out figures
"""

from __future__ import annotations

import argparse
from typing import Any

from tacit.cli.options import DONE, FAILED, add_out, add_seed


def add(command: Any) -> None:
    """Add the options of the command."""
    add_out(command)
    add_seed(command, "seed of the random data")


def run(options: argparse.Namespace) -> int:
    from tacit.demo import demo

    return DONE if demo(options.out, options.seed) else FAILED
