"""tacit probe: determine whether your network learns features on your data or trains lazily.

Train your network and its linearization for a short time, and report the regime: kernel or lazy
(the two stay close together), rich (the network learns features) or intermediate, with the
measurements and what to change. The network is made by a function in a file (FILE.py:NAME runs
the file as Python code, so use only files that you trust):

    # model.py
    import torch
    def make_network(features):
        torch.manual_seed(0)
        return torch.nn.Sequential(
            torch.nn.Linear(features, 100), torch.nn.ReLU(), torch.nn.Linear(100, 1))

The function returns a torch module, a pair (apply, params) for JAX, or a tacit.Network. It is
called with the number of features and, if it has a second argument, the number of outputs: 1, or
the number of classes for the cross-entropy loss.

examples:
  tacit probe model.py:make_network spectra.csv --target octane --standardize
  tacit probe model.py:make_network spectra.csv --target octane --scales 1e-2:1e2:9 --plot p.png
  tacit probe model.py:make_network cells.csv --target label --loss cross-entropy --json -
"""

from __future__ import annotations

import argparse
from typing import Any

from tacit.cli.guests import guest_network, is_guest
from tacit.cli.options import (
    DONE,
    FAILED,
    add_data,
    add_flag,
    add_option,
    add_outputs,
    add_seed,
    check_output_files,
    deliver,
    numbers,
    read_data,
    source,
)
from tacit.cli.terminal import remark, wrapped
from tacit.errors import InputError


def add(command: Any) -> None:
    """Add the options of the command."""
    command.add_argument(
        "network", metavar="FILE.py:MAKE_NETWORK", help="the function that makes the network"
    )
    add_data(command)
    loss = "training loss; exp and logistic need two classes, cross-entropy one output for each class"
    known = ("square", "exp", "logistic", "cross-entropy")
    add_option(command, "--loss", loss, default="square", choices=known)
    unit = "scale features, and the target of the square loss, to mean 0 and standard deviation 1"
    add_flag(command, "--standardize", unit)
    double = "subtract a copy of the network, so that the initial outputs are 0 (same tangent kernel)"
    add_flag(command, "--doubled", double)
    add_option(command, "--steps", "largest number of training steps", int, 2000)
    add_seed(command, "seed for the choice of held-out samples")
    scales = "also probe the network with its weights multiplied by each of these, or FROM:TO:COUNT"
    add_option(command, "--scales A,B,…", scales, numbers)
    layers = "with --scales: rescale these layers only ('last': the last weight matrix)"
    add_option(command, "--layers A,B,…", layers)
    add_outputs(command, "the numbers", "draw the probe, or the sweep of --scales (png, pdf, svg)")


def run(options: argparse.Namespace) -> int:
    from tacit.verbs.probe import probe

    if not is_guest(options.network):
        raise InputError(f"name the function that makes the network as FILE.py:NAME, not {options.network!r}")
    if options.layers is not None and options.scales is None:
        raise InputError("--layers needs --scales; it names the layers that are rescaled")
    table = read_data(
        options, classes=options.loss in ("exp", "logistic"), many=options.loss == "cross-entropy"
    )
    check_output_files(options)
    network = guest_network(options.network, table.X.shape[1], _outputs(options, table.y))
    X, y = _units(options, table)
    network = network.doubled() if options.doubled else network
    found = probe(network, X, y, loss=options.loss, seed=options.seed, most_steps=options.steps)
    content = {**source(options, table), **found.to_dict()}
    if options.scales is None:
        deliver(options, found.summary(), lambda: content, found.plot, width=9)
    else:
        if options.json != "-":
            print(wrapped(found.summary()), end="\n\n")
        layers = options.layers and ("last" if options.layers == "last" else options.layers.split(","))
        sweep = found.sweep(options.scales, layers=layers)
        content["sweep"] = sweep.to_dict()
        deliver(options, f"{sweep.summary()}\n", lambda: content, sweep.plot, width=9)
    return DONE if found.regime != "unknown" else FAILED


def _units(options: argparse.Namespace, table: Any) -> tuple[Any, Any]:
    """The data, standardized on request; otherwise a target far from 0 is reported."""
    import numpy as np

    from tacit.data.arrays import check_squares

    X, y = table.X, table.y
    if options.loss == "square":
        y = np.asarray(y, dtype=float)
        check_squares(X, y)
        spread = y.std(axis=0)
        if options.standardize and (spread > 0).all():
            y = (y - y.mean(axis=0)) / spread
        elif (np.abs(y.mean(axis=0)) > 3 * spread).any() and (spread > 0).all():
            remark(
                f"{table.target or 'the target'} is {y.mean():.4g} ± {y.std():.2g}: most of training fits "
                "its mean; --standardize removes it"
            )
    if options.standardize:
        spread = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return X, y


def _outputs(options: argparse.Namespace, y: Any) -> int:
    """The number of outputs that the data require."""
    import numpy as np

    if options.loss == "cross-entropy":
        return len(np.unique(np.asarray(y)))
    return 1 if np.ndim(y) == 1 else np.shape(y)[1]
