"""tacit flow --model completion: a matrix with gaps, filled in by the flow of a factorization."""

from __future__ import annotations

import argparse
import math
import sys
import time
from typing import Any

from tacit.cli.interrupts import take_time
from tacit.cli.models import check_options
from tacit.cli.options import DONE, FAILED, INTERRUPTED, claim_outputs
from tacit.cli.stopwatch import waited
from tacit.errors import InputError, Interrupted

_WIDTH, _SCALE = 50, 1e-3
_ROUGH = 1e-3  # the relative residual at which a flow on a large matrix ends, if not told otherwise


def run(options: argparse.Namespace, spare: Any) -> int:
    """Read the matrix, run the flow, write what was asked for; spare: saves earlier files from halves."""
    from tacit.data.matrices import read_matrix
    from tacit.data.observed import observed

    check_options(options)
    _check_flow(options)
    begun = time.perf_counter()
    table = read_matrix(options.data)
    options.reading = time.perf_counter() - begun
    if table.assumed:
        print(f"tacit: assumed of {options.data}: {'; '.join(table.assumed)}", file=sys.stderr)
    X, y = observed(_Labelled(table))
    model = _model(options, X)
    claim_outputs(options, [] if options.save is None else [(options.save, _kind(options.save))])
    take_time()
    try:
        result, status = _flow(options, model, X, y), None
    except Interrupted as stop:
        result, status = stop.trajectory, INTERRUPTED
        spare(options)
    _report(options, table, result)
    return status or (DONE if result.converged else FAILED)


class _Labelled:
    """A matrix with the names of its rows and columns, for messages."""

    def __init__(self, table: Any):
        self.values, self.index, self.columns = table.values, table.rows, table.columns

    def to_numpy(self, dtype: Any, na_value: float) -> Any:
        """The matrix."""
        return self.values


def _check_flow(options: argparse.Namespace) -> None:
    """Refuse what belongs to predictions of a target."""
    if options.target is not None:
        raise InputError("--target does not go with --model completion: every column is part of the matrix")
    if options.loss != "square":
        raise InputError(f"--loss {options.loss} does not go with --model completion, which fits numbers")
    for name in ("intercept", "standardize"):
        if getattr(options, name):
            raise InputError(f"--{name} does not go with --model completion: its columns are no features")
    if options.save is not None:
        _kind(options.save)


def _kind(path: str) -> str:
    """What --save writes: the matrix as text, or the trajectory."""
    from tacit.data.matrices import MATRIX_FILES

    if path.lower().endswith(".nc"):
        return "nc"
    if not path.lower().endswith((".csv", ".tsv", ".txt")):
        raise InputError(
            f"--save writes the filled matrix as text, or the trajectory as netCDF; name its file "
            f"{MATRIX_FILES}, or .nc, not {path}"
        )
    return "csv"


def _model(options: argparse.Namespace, X: Any) -> Any:
    from tacit.models import Factorization

    width = _WIDTH if options.width is None else options.width
    scale = _SCALE if options.scale is None else options.scale
    return Factorization.gaussian(X.shape, width, scale, seed=options.seed or 0)


def _flow(options: argparse.Namespace, model: Any, X: Any, y: Any) -> Any:
    import numpy as np

    from tacit.flows.forms.reduced import is_small
    from tacit.verbs.flow import flow

    until = options.until
    if until is None and options.at is None and options.times is None and not is_small(sum(X.shape), len(y)):
        until = -math.log(float(np.mean(y**2)) / 2) - 2 * math.log(_ROUGH)
        print(
            f"tacit: a large matrix: the flow ends at a relative residual of {_ROUGH:g} (--until says where)",
            file=sys.stderr,
        )
    return flow(
        model,
        X,
        y,
        until=until,
        at=options.at,
        times=options.times,
        rtol=options.rtol,
        linearized=options.linearized,
        method=options.method,
        step=options.step,
    )


def _report(options: argparse.Namespace, table: Any, result: Any) -> None:
    import numpy as np

    from tacit.show.outputs import netcdf_file, write_file, write_json

    speak, end = options.json != "-", result.predictor[-1]
    if speak:
        print(result.summary())
    if options.json is not None:
        names = {"rows": table.rows, "columns": table.columns}
        filled = np.where(np.isnan(table.values), end, table.values)
        content = {"data": options.data, "assumed": table.assumed, **names, "filled": filled}
        write_json({**content, **result.to_dict()}, options.json)
    if options.save is not None:
        kind = _kind(options.save)
        write_file(netcdf_file(result.to_xarray()) if kind == "nc" else table.filled(end), options.save, kind)
        if speak:
            print(f"  {'data  ' if kind == 'nc' else 'matrix'}     {options.save}")
    if options.plot is not None:
        path = result.plot(options.plot, clock=options.clock, names=_cells(table, result))
        if speak:
            print(f"  figure     {path}")
    if speak:
        print(f"  waited     {waited(options)}")


def _cells(table: Any, result: Any) -> Any:
    """The names of all entries, where the picture has them all."""
    return [f"{i}, {j}" for i in table.rows for j in table.columns] if result.is_kept else None
