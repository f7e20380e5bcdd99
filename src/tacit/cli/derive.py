"""tacit derive: find the potential and the conserved quantities of your parametrization.

Decide whether gradient flow of w = F(θ) is a mirror flow, a warped mirror flow (after a change
of clock), or neither, and count its conserved quantities. F is written with jax.numpy.
FILE.py:FUNCTION runs the file as Python code, so use only files that you trust.

examples:
  tacit derive maps.py:neuron --at random:4
  tacit derive maps.py:neuron --at start.txt --json - --plot neuron.pdf
  tacit derive package.module:function --at theta.npy --samples 16
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from tacit.cli.guests import guest_or_import
from tacit.cli.options import DONE, FAILED, add_option, add_outputs, add_seed, json_and_plot
from tacit.cli.terminal import remark, wrapped
from tacit.data.printable import shortened
from tacit.errors import InputError

_MOST = 1_000_000  # random parameters; the Jacobian of more does not fit in memory
_DIGITS = 20  # of a number of parameters; Python refuses to convert more than 4,300


def add(command: Any) -> None:
    """Add the options of the command."""
    command.add_argument(
        "function", metavar="FILE.py:FUNCTION", help="the function θ ↦ w in a file or module, which is run"
    )
    start = "the initial weights: numbers in a text or .npy file, or P standard normal numbers"
    add_option(command, "--at FILE|random:P", start, required=True)
    points = "number of points on orbits at which the metric is evaluated"
    add_option(command, "--samples", points, int, 8)
    length = "length of orbits, relative to the length scale on which the Jacobian changes"
    add_option(command, "--radius", length, float, 0.3)
    add_seed(command, "seed of random initial weights and orbits")
    conserved = "a function θ ↦ number, or a list of functions: test whether they are conserved"
    add_option(command, "--candidates FILE.py:NAME", conserved)
    plot = "draw level sets of the potential with some flows, or flows with different ends"
    add_outputs(command, "the verdict", f"{plot} (.png, .pdf or .svg)")


def run(options: argparse.Namespace) -> int:
    from tacit.derivation.derive import cost, derive
    from tacit.show.output_files import check_outputs, write_json

    check_outputs(json_and_plot(options))  # before anything is computed
    start = _start(options.at, options.seed)
    function = guest_or_import(options.function)
    if sys.stderr.isatty():
        expected = cost(function, start, samples=options.samples)
        if expected.large:
            remark(str(expected))
    quantities = () if options.candidates is None else guest_or_import(options.candidates)
    asked = {name: getattr(options, name) for name in ("samples", "seed", "radius")}
    found = derive(function, start, candidates=quantities, **asked)
    if options.json != "-":
        print(wrapped(found.summary()))
        if found.kind in ("mirror", "warped"):
            print(f"  potential    {found.kind}, accurate to about {found.potential.accuracy():.0e}")
        print(f"  computed     {found.seconds:.1f} s")
    if options.plot is not None:
        found.plot(options.plot)
    if options.json is not None:
        write_json({"source": options.function, "at": options.at, **found.to_dict()}, options.json, "derive")
    return FAILED if found.kind == "undecided" else DONE


def _start(text: str, seed: int) -> Any:
    """The initial weights, from a file or random."""
    import numpy as np

    if text.startswith("random:"):
        count = text.removeprefix("random:")
        if not count.isdecimal() or not count.strip("0"):
            raise InputError(f"--at random:P needs a number P of parameters, got {shortened(text, 40)!r}")
        if len(count.lstrip("0")) > _DIGITS or int(count) > _MOST:
            raise InputError(
                f"--at {shortened(text, 40)} asks for too many parameters; derive takes at most {_MOST:,}"
            )
        return np.random.default_rng(seed).standard_normal(int(count))
    path = Path(text)
    if not path.is_file():
        raise InputError(f"no file {text}; --at takes a file of numbers, or random:P")
    try:
        if path.suffix == ".npy":
            return np.load(path)
        return np.array(path.read_text().replace(",", " ").split(), float)
    except (ValueError, OSError) as error:
        raise InputError(f"{text} is not a file of numbers: {error}") from error
