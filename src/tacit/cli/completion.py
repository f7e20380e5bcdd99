"""tacit flow --model completion: missing entries of a matrix, filled in by a matrix factorization."""

from __future__ import annotations

import argparse
import math
import sys
import time
from typing import Any

from tacit.cli.models import check_options
from tacit.cli.options import check_output_files
from tacit.cli.run_flow import followed, report
from tacit.cli.terminal import remark
from tacit.errors import InputError

_WIDTH, _SCALE = 50, 1e-3
_ROUGH = 1e-3  # default relative residual at which a flow on a large matrix stops


def run(options: argparse.Namespace) -> int:
    """Read the matrix, run the flow and write the outputs."""
    from tacit.data.matrices import read_matrix
    from tacit.data.observed import observed
    from tacit.show.output_files import Output

    check_options(options)
    _check_flow(options)
    begun = time.perf_counter()
    table = read_matrix(options.data)
    options.reading = time.perf_counter() - begun
    if table.assumed:
        remark(f"assumed about {options.data}: {'; '.join(table.assumed)}")
    X, y = observed(_Labelled(table))
    model = _model(options, X)
    saved = [] if options.save is None else [Output(options.save, _kind(options.save), "flow")]
    check_output_files(options, saved)
    result, status = followed(options, model, X, y, until=_until(options, X, y))
    _report(options, table, result)
    return status


class _Labelled:
    """A matrix with the names of its rows and columns, for error messages."""

    def __init__(self, table: Any):
        self.values, self.index, self.columns = table.values, table.rows, table.columns

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.values

    def to_numpy(self, dtype: Any, na_value: float) -> Any:
        """The matrix."""
        return self.values


def _check_flow(options: argparse.Namespace) -> None:
    """Raise if an option is given that applies to models with a target only."""
    if options.target is not None:
        raise InputError(
            "--target does not go with --model completion: all columns are entries of the matrix"
        )
    if options.loss != "square":
        raise InputError(
            f"--loss {options.loss} does not go with --model completion, which needs the square loss"
        )
    for name in ("intercept", "standardize"):
        if getattr(options, name):
            raise InputError(f"--{name} does not go with --model completion: its columns are not features")
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


def _model(options: argparse.Namespace, X: Any) -> Any:
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
    print(
        f"tacit: large matrix; the flow stops at a relative residual of {_ROUGH:g} (--until changes this)",
        file=sys.stderr,
    )
    return -math.log(float(np.mean(y**2)) / 2) - 2 * math.log(_ROUGH)


def _report(options: argparse.Namespace, table: Any, result: Any) -> None:
    import numpy as np

    end = result.predictor[-1]
    filled = np.where(np.isnan(table.values), end, table.values)
    labels = {"rows": table.rows, "columns": table.columns}
    content = {"data": options.data, "assumed": table.assumed, **labels, "filled": filled}
    as_text = options.save is not None and _kind(options.save) == "csv"
    matrix = table.filled(end) if as_text else None
    names = None if options.plot is None else _cells(table, result)
    report(options, result, content, names=names, matrix=matrix)


def _cells(table: Any, result: Any) -> Any:
    """The names of all entries, if the trajectory stores all of them."""
    return [f"{i}, {j}" for i in table.rows for j in table.columns] if result.is_kept else None
