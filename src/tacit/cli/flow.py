"""tacit flow: integrate gradient flow on your data, to any accuracy.

Integrate gradient flow from the initialization of the model. The accuracy is −log of the
training loss: --until 1e4 continues to a loss of exp(-10000). If no predictor fits the data, the
flow ends at a least-squares solution. Ctrl-C stops the flow and keeps what has been computed.

examples:
  tacit flow genes.csv --target response --depth 2 --scale 1e-3 --plot flow.png
  tacit flow cells.csv --target label --loss exp --until 1e4 --json -
  tacit flow cells.csv --target label --loss logistic --at 1,10,100 --save flow.nc
  tacit flow genes.csv --target response --times 0.01:100:50 --save flow.nc
  tacit flow data.npz --model linear --width 10000 --plot flow.pdf
  tacit flow matrix.csv --model completion --width 50 --scale 1e-3 --save filled.csv
"""

from __future__ import annotations

import argparse
import math
import os
import time
from typing import Any

from tacit.cli.interrupts import take_time
from tacit.cli.models import add_model, check_options, model_of
from tacit.cli.options import (
    DONE,
    FAILED,
    INTERRUPTED,
    add_data,
    add_flag,
    add_option,
    add_outputs,
    add_units,
    check_output_files,
    deliver,
    inputs_of,
    numbers,
    read_data,
    source,
    told_assumptions,
    units_of,
)
from tacit.cli.terminal import remark
from tacit.errors import InputError, Interrupted

_ASKED = ("until", "at", "times", "rtol", "linearized", "method", "step")
_WIDTH, _SCALE = 50, 1e-3
_ROUGH = 1e-3  # default relative residual at which a flow on a large matrix stops


def add(command: Any) -> None:
    """Add the options of the command."""
    add_data(command)
    add_model(command, ("diagonal", "untied", "neuron", "linear", "completion"))
    add_units(command, "f(x) = w·x + b with the optimal b at every time (square loss only)")
    loss = "training loss; exp and logistic need a target with two classes, -1 and +1 or any other two"
    add_option(command, "--loss", loss, default="square", choices=("square", "exp", "logistic"))
    until = "accuracy at which to stop (default: a relative residual of rtol/100; 30 for exp and logistic)"
    add_option(command, "--until", until, float)
    add_option(command, "--at A,B,…", "record at exactly these accuracies, or FROM:TO:COUNT", numbers)
    times = "record at exactly these training times instead, or FROM:TO:COUNT, geometrically spaced"
    add_option(command, "--times A,B,…", times, numbers)
    add_option(command, "--rtol", "relative accuracy", float, 1e-8)
    add_flag(command, "--linearized", "follow the linearized model (kernel regime)")
    methods = "parameters: raw weights, slower but independent of the potential; descent, normalized: "
    methods += "gradient descent"
    known = ("auto", "parameters", "descent", "normalized")
    add_option(command, "--method", methods, default="auto", choices=known)
    add_option(command, "--step", "step size of gradient descent (default: 0.001)", float)
    add_outputs(command, "the trajectory", "draw the trajectory (png, pdf, svg)")
    save = "write the trajectory as netCDF (.nc); with --model completion also the filled matrix "
    add_option(command, "--save FILE", f"{save}(.csv, .tsv, .txt)")
    clock = "horizontal axis of the plot (default: time; accuracy for exp and logistic)"
    add_option(command, "--clock", clock, choices=("time", "accuracy"))


def run(options: argparse.Namespace) -> int:
    from tacit.show.output_files import Output

    if options.model == "completion":
        return _complete(options)
    table = read_data(options, classes=options.loss != "square")
    model = model_of(options, inputs_of(options, table.X))
    if options.save is not None and not options.save.lower().endswith(".nc"):
        raise InputError(f"--save writes netCDF; name its file .nc, not {options.save}")
    check_output_files(options, [] if options.save is None else [Output(options.save, "nc", "flow")])
    asked = {"loss": options.loss, **units_of(options)}
    result, status = _followed(options, model, table.X, table.y, **asked)
    content = {**source(options, table), "features": table.features}
    _report(options, result, content, features=table.features, names=table.features)
    return status


def _followed(options: argparse.Namespace, model: Any, X: Any, y: Any, **more: Any) -> tuple[Any, int]:
    """The trajectory, which is partial after an interrupt, and the exit status."""
    from tacit.verbs.flow import flow

    take_time()  # the results of an interrupted flow are saved
    asked = {name: getattr(options, name) for name in _ASKED}
    try:
        result = flow(model, X, y, **{**asked, **more})
    except Interrupted as stop:
        _spare_earlier(options)
        return stop.trajectory, INTERRUPTED
    return result, DONE if result.converged else FAILED


def _spare_earlier(options: argparse.Namespace) -> None:
    """Rename the outputs of an interrupted flow, so that they do not replace existing files."""
    for name in ("json", "save", "plot"):
        path = getattr(options, name)
        if path not in (None, "-") and os.path.exists(path):
            stem, kind = os.path.splitext(path)
            setattr(options, name, f"{stem}-interrupted{kind}")
            remark(f"{path} is kept; the interrupted flow is written to {stem}-interrupted{kind}")


def _report(
    options: argparse.Namespace,
    result: Any,
    content: dict[str, Any],
    *,
    features: Any = None,
    names: Any = None,
    matrix: Any = None,
) -> None:
    """Print the summary and write the requested files.

    content: entries of the JSON file besides the trajectory. features: names for the summary. names: names of
    the entries of the predictor, for the figure. matrix: text that --save writes instead of the trajectory.
    """
    from tacit.show.output_files import Output, netcdf_file, write_file

    def save() -> str:
        file, kind = (netcdf_file(result.to_xarray(), "flow"), "nc") if matrix is None else (matrix, "csv")
        return str(write_file(file, Output(options.save, kind, "flow")))

    deliver(
        options,
        result.summary(features),
        lambda: {**content, **result.to_dict()},
        lambda file: result.plot(file, clock=options.clock, names=names),
        {} if options.save is None else {"data" if matrix is None else "matrix": save},
        width=9,
    )


def _complete(options: argparse.Namespace) -> int:
    """Read a matrix with missing entries, run the flow of a factorization, and write the outputs."""
    import pandas as pd

    from tacit.data.entries import observed
    from tacit.data.matrices import read_matrix
    from tacit.show.output_files import Output

    check_options(options)
    _check_completion(options)
    begun = time.perf_counter()
    table = read_matrix(options.data)
    options.reading = time.perf_counter() - begun
    told_assumptions(options, table.assumed)
    X, y = observed(pd.DataFrame(table.values, table.rows, table.columns))  # names, for messages
    model = _factorization(options, X)
    saved = [] if options.save is None else [Output(options.save, _kind(options.save), "flow")]
    check_output_files(options, saved)
    result, status = _followed(options, model, X, y, until=_until(options, X, y))
    _report_matrix(options, table, result)
    return status


def _check_completion(options: argparse.Namespace) -> None:
    """Raise if an option is given that applies to models with a target only."""
    if options.target is not None:
        raise InputError(
            "--target is not an option of --model completion: all columns are entries of the matrix"
        )
    if options.loss != "square":
        raise InputError(
            f"--loss {options.loss} is not an option of --model completion, which needs the square loss"
        )
    for name in ("intercept", "standardize"):
        if getattr(options, name):
            raise InputError(f"--{name} is not an option of --model completion: its columns are not features")
    if options.save is not None:
        _kind(options.save)


def _kind(path: str) -> str:
    """The kind of file for --save: the matrix as text, or the trajectory."""
    from tacit.data.matrices import MATRIX_FILES

    if path.lower().endswith(".nc"):
        return "nc"
    if not path.lower().endswith((".csv", ".tsv", ".txt")):
        raise InputError(
            f"--save writes the filled matrix as text, or the trajectory as netCDF; name its file "
            f"{MATRIX_FILES}, or .nc, not {path}"
        )
    return "csv"


def _factorization(options: argparse.Namespace, X: Any) -> Any:
    from tacit.models import Factorization

    width = _WIDTH if options.width is None else options.width
    scale = _SCALE if options.scale is None else options.scale
    return Factorization.gaussian(X.shape, width, scale, seed=options.seed or 0)


def _until(options: argparse.Namespace, X: Any, y: Any) -> float | None:
    """The accuracy at which the flow stops; by default, large matrices use a residual that suffices."""
    import numpy as np

    from tacit.flows.forms.reduced import is_small

    told = any(each is not None for each in (options.until, options.at, options.times))
    if told or is_small(sum(X.shape), len(y)):
        return options.until
    remark(f"large matrix; the flow stops at a relative residual of {_ROUGH:g} (--until changes this)")
    return -math.log(float(np.mean(y**2)) / 2) - 2 * math.log(_ROUGH)


def _report_matrix(options: argparse.Namespace, table: Any, result: Any) -> None:
    import numpy as np

    end = result.predictor[-1]
    filled = np.where(np.isnan(table.values), end, table.values)
    labels = {"rows": table.rows, "columns": table.columns}
    content = {"data": options.data, "assumed": table.assumed, **labels, "filled": filled}
    as_text = options.save is not None and _kind(options.save) == "csv"
    matrix = table.filled(end) if as_text else None
    names = None
    if options.plot is not None and result.is_kept:  # where the picture has all entries
        names = [f"{i}, {j}" for i in table.rows for j in table.columns]
    _report(options, result, content, names=names, matrix=matrix)
