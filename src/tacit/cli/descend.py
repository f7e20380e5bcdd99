"""tacit descend: run gradient descent on your data, and compare it with gradient flow.

Run gradient descent with a step size, momentum, mini-batches and weight decay on the square loss. The
summary compares the end of the run with the limit of gradient flow, with the prediction that tacit
limit makes without the run, and with the effective start, from which gradient flow ends exactly there.

examples:
  tacit descend genes.csv --target response --scale 0.1 --step 0.01
  tacit descend genes.csv --target response --depth 3 --scale 0.3 --step 0.01 --momentum 0.9
  tacit descend data.npz --model untied --scale 0.01 --step 0.02 --batch 8 --plot run.png --json run.json
"""

from __future__ import annotations

import argparse
from typing import Any

from tacit.cli.interrupts import take_time
from tacit.cli.models import add_model, model_of
from tacit.cli.options import (
    DONE,
    FAILED,
    INTERRUPTED,
    add_data,
    add_option,
    add_outputs,
    check_output_files,
    deliver_for,
    read_data,
    whole_number,
)
from tacit.cli.training import add_training, training_of
from tacit.errors import Interrupted


def add(command: Any) -> None:
    """Add the options of the command."""
    add_data(command)
    add_model(command, ("diagonal", "untied"))
    add_training(command, required=True)
    add_option(command, "--until", "relative residual at which to stop", float, 1e-10)
    add_option(command, "--max-steps", "largest number of steps", whole_number(1), 10**7)
    add_option(command, "--seed", "seed of batches and label noise", whole_number(0), 0, dest="draws")
    add_outputs(command, "the run", "draw loss and coefficients of the run (png, pdf, svg)")


def run(options: argparse.Namespace) -> int:
    from tacit.verbs.descend import descend

    table = read_data(options)
    model, training = model_of(options, table.X), training_of(options)
    check_output_files(options)
    take_time()  # an interrupted run is kept
    asked = {"until": options.until, "max_steps": options.max_steps, "seed": options.draws}
    try:
        result = descend(model, table.X, table.y, training, **asked)
        status = DONE if result.converged else FAILED
    except Interrupted as stop:
        result, status = stop.trajectory, INTERRUPTED
    deliver_for(options, table, result)
    return status
