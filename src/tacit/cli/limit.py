"""tacit limit: where gradient flow ends."""

from __future__ import annotations

import argparse
from typing import Any

from tacit.cli.models import add_model, model_of
from tacit.cli.options import (
    DONE,
    FAILED,
    add_command,
    add_data,
    add_units,
    claim_outputs,
    inputs_of,
    read_data,
    source,
)
from tacit.cli.terminal import say, waited, wrapped


def add(commands: Any) -> Any:
    """The command and its options."""
    command = add_command(
        commands,
        "limit",
        _run,
        help="where gradient flow ends on your data, without running it",
        description="Where gradient flow on the square loss ends, without running it: the model's weights\n"
        "start at the given scale (and shape), and of all w with X w = y this is the one it reaches.",
        epilog="examples:\n"
        "  tacit limit genes.csv --target response --depth 2 --scale 1e-3\n"
        "  tacit limit genes.csv --target response --depth 3 --scale 0.05 --plot limit.png\n"
        "  tacit limit spectra.csv --target octane --scale 1e-3 --intercept --standardize\n"
        "  tacit limit data.npz --model untied --scale 1e-4 --shape 0.9 --json -\n"
        "  tacit limit data.npz --model neuron --scale 0.1 --shape 0.5 --slope 0.2\n"
        "  tacit limit data.npz --model linear --start balanced --std 0.1",
    )
    add_data(command)
    add_model(command, ("diagonal", "untied", "neuron", "linear"))
    add_units(command, "fit X w + b = y: b is free, and no part of what is kept small")
    command.add_argument("--tol", type=float, default=1e-10, help="tolerance (default: %(default)s)")
    command.add_argument(
        "--least-squares",
        action="store_true",
        help="where the data cannot be fitted, the limit among the solutions of least squares",
    )
    command.add_argument("--json", metavar="FILE", help="write the result as JSON; - for standard output")
    command.add_argument("--plot", metavar="FILE", help="draw the limit between its two ends (png, pdf, svg)")
    return command


def _run(options: argparse.Namespace) -> int:
    from tacit.show.output_files import write_json
    from tacit.verbs.limit import limit

    table = read_data(options)
    model = model_of(options, inputs_of(options, table.X))
    claim_outputs(options)
    result = limit(
        model,
        table.X,
        table.y,
        tol=options.tol,
        intercept=options.intercept,
        standardize=options.standardize,
        least_squares=options.least_squares,
    )
    speak = options.json != "-"
    if speak:
        print(wrapped(result.summary(table.features)))
    if options.json is not None:
        content = {**source(options, table), "features": table.features}
        write_json({**content, **result.to_dict()}, options.json, "limit")
    if options.plot is not None:
        path = result.plot(options.plot, names=table.features)
        if speak:
            say(f"  figure       {path}")
    if speak:
        print(wrapped(f"  waited       {waited(options)}"))
    return DONE if result.converged else FAILED
