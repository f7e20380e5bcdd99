"""tacit flow: integration of gradient flow."""

from __future__ import annotations

import argparse
from typing import Any

from tacit.cli import completion
from tacit.cli.models import add_model, model_of
from tacit.cli.options import (
    add_command,
    add_data,
    add_units,
    check_output_files,
    inputs_of,
    numbers,
    read_data,
    source,
)
from tacit.cli.run_flow import followed, report
from tacit.errors import InputError


def add(commands: Any) -> Any:
    """Add the command and its options."""
    command = add_command(
        commands,
        "flow",
        _run,
        help="integrate gradient flow on your data, to any accuracy",
        description="Integrate gradient flow from the initialization of the model. The accuracy is −log of\n"
        "the training loss: --until 1e4 continues to a loss of exp(-10000). If no predictor fits the data,\n"
        "the flow ends at a least-squares solution. Ctrl-C stops the flow and keeps what has been computed.",
        epilog="examples:\n"
        "  tacit flow genes.csv --target response --depth 2 --scale 1e-3 --plot flow.png\n"
        "  tacit flow cells.csv --target label --loss exp --until 1e4 --json -\n"
        "  tacit flow cells.csv --target label --loss logistic --at 1,10,100 --save flow.nc\n"
        "  tacit flow genes.csv --target response --times 0.01:100:50 --save flow.nc\n"
        "  tacit flow data.npz --model linear --width 10000 --plot flow.pdf\n"
        "  tacit flow matrix.csv --model completion --width 50 --scale 1e-3 --save filled.csv",
    )
    add_data(command)
    add_model(command, ("diagonal", "untied", "neuron", "linear", "completion"))
    add_units(command, "f(x) = w·x + b with the optimal b at every time (square loss only)")
    _add_instants(command)
    _add_ways(command)
    _add_outputs(command)
    return command


def _add_instants(command: Any) -> None:
    """Add options for the loss, the end of the flow and the recorded times."""
    command.add_argument(
        "--loss",
        choices=("square", "exp", "logistic"),
        default="square",
        help="training loss; exp and logistic need a target with two classes, -1 and +1 or any other two "
        "(default: %(default)s)",
    )
    command.add_argument(
        "--until",
        type=float,
        help="accuracy at which to stop (default: a relative residual of rtol/100; 30 for exp and logistic)",
    )
    command.add_argument(
        "--at", type=numbers, metavar="A,B,…", help="record at exactly these accuracies, or FROM:TO:COUNT"
    )
    command.add_argument(
        "--times",
        type=numbers,
        metavar="A,B,…",
        help="record at exactly these training times instead, or FROM:TO:COUNT, geometrically spaced",
    )


def _add_ways(command: Any) -> None:
    """Add options for the method of integration."""
    command.add_argument("--rtol", type=float, default=1e-8, help="relative accuracy (default: %(default)s)")
    command.add_argument(
        "--linearized", action="store_true", help="follow the linearized model (kernel regime)"
    )
    command.add_argument(
        "--method",
        choices=("auto", "parameters", "descent", "normalized"),
        default="auto",
        help="parameters: raw weights, slower but independent of the potential; descent, normalized: "
        "gradient descent (default: %(default)s)",
    )
    command.add_argument("--step", type=float, help="step size of gradient descent (default: 0.001)")


def _add_outputs(command: Any) -> None:
    """Add options for the output files."""
    command.add_argument("--json", metavar="FILE", help="write the trajectory as JSON (-: standard output)")
    command.add_argument(
        "--save",
        metavar="FILE",
        help="write the trajectory as netCDF (.nc); with --model completion also the filled matrix "
        "(.csv, .tsv, .txt)",
    )
    command.add_argument("--plot", metavar="FILE", help="draw the trajectory (png, pdf, svg)")
    command.add_argument(
        "--clock",
        choices=("time", "accuracy"),
        help="horizontal axis of the plot (default: time; accuracy for exp and logistic)",
    )


def _run(options: argparse.Namespace) -> int:
    from tacit.show.output_files import Output

    if options.model == "completion":
        return completion.run(options)
    table = read_data(options, classes=options.loss != "square")
    model = model_of(options, inputs_of(options, table.X))
    if options.save is not None and not options.save.lower().endswith(".nc"):
        raise InputError(f"--save writes netCDF; name its file .nc, not {options.save}")
    check_output_files(options, [] if options.save is None else [Output(options.save, "nc", "flow")])
    units = {"intercept": options.intercept, "standardize": options.standardize}
    result, status = followed(options, model, table.X, table.y, loss=options.loss, **units)
    content = {**source(options, table), "features": table.features}
    report(options, result, content, features=table.features, names=table.features)
    return status
