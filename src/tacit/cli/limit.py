"""tacit limit: compute the limit of gradient flow on your data, without training.

Compute the limit of gradient flow on the square loss without training. The weights of the model
start at the given scale (and shape); of all w with X w = y, the limit is the one that minimizes
the potential of the model.

examples:
  tacit limit genes.csv --target response --depth 2 --scale 1e-3
  tacit limit genes.csv --target response --depth 3 --scale 0.05 --plot limit.png
  tacit limit spectra.csv --target octane --scale 1e-3 --intercept --standardize
  tacit limit data.npz --model untied --scale 1e-4 --shape 0.9 --json -
  tacit limit data.npz --model neuron --scale 0.1 --shape 0.5 --slope 0.2
  tacit limit genes.csv --target response --scale 0.1 --step 0.01 --momentum 0.9 --batch 8
  tacit limit data.npz --model linear --start balanced --std 0.1
"""

from __future__ import annotations

import argparse
from typing import Any

from tacit.cli.models import add_model, model_of
from tacit.cli.options import (
    DONE,
    FAILED,
    add_data,
    add_flag,
    add_option,
    add_outputs,
    add_units,
    check_output_files,
    deliver_for,
    inputs_of,
    read_data,
    units_of,
)
from tacit.cli.training import add_training, training_of


def add(command: Any) -> None:
    """Add the options of the command."""
    add_data(command)
    add_model(command, ("diagonal", "untied", "neuron", "linear"))
    add_units(command, "fit X w + b = y with an unpenalized intercept b")
    add_option(command, "--tol", "tolerance", float, 1e-10)
    fitted = "if no predictor fits the data, compute the limit among the least-squares solutions"
    add_flag(command, "--least-squares", fitted)
    add_training(command, required=False)
    plot = "draw the limit and the limits of large and small scales (png, pdf, svg)"
    add_outputs(command, "the result", plot)


def run(options: argparse.Namespace) -> int:
    import warnings

    from tacit.verbs.limit import limit

    table = read_data(options)
    model = model_of(options, inputs_of(options, table.X))
    check_output_files(options)
    asked = {"tol": options.tol, "least_squares": options.least_squares, **units_of(options)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the summary says how close the step is to the edge
        result = limit(model, table.X, table.y, training=training_of(options), **asked)
    deliver_for(options, table, result)
    return DONE if result.converged else FAILED
