"""tacit complete: fill the missing cells of a matrix, without fitting its noise.

A tenth of the observed cells is held out. Gradient flow on a matrix factorization is stopped where
the error on these cells is least; the scale of the initial weights, and whether row and column
effects are subtracted, are chosen in the same way. The final fit uses all cells. Rows and columns
without any cell are filled by the effects. `tacit flow --model completion` fits all cells exactly.

examples:
  tacit complete ratings.csv --save filled.csv
  tacit complete ratings.csv --scale 1e-3 --width 20 --no-effects --json -
"""

from __future__ import annotations

import argparse
import math
import time
from typing import TYPE_CHECKING, Any

from tacit.cli.options import (
    DONE,
    add_flag,
    add_option,
    add_outputs,
    add_seed,
    check_output_files,
    deliver,
    told_assumptions,
    whole_number,
)
from tacit.cli.terminal import remark
from tacit.errors import InputError

if TYPE_CHECKING:
    from tacit.data.matrices import MatrixTable
    from tacit.verbs.complete import Completion


def add(command: Any) -> None:
    """Add the options of the command."""
    command.add_argument(
        "data",
        metavar="MATRIX",
        help="CSV, TSV or other text with a line of column names; empty cells are missing",
    )
    scale = (
        "standard deviation of the initial weights / √(rms of the cells) (default: chosen on held-out cells)"
    )
    add_option(command, "--scale", scale, float)
    add_option(command, "--width", "columns of the factors (default: up to 50)", whole_number(1))
    add_flag(
        command, "--no-effects", "do not subtract row and column effects (default: if this lowers the error)"
    )
    add_seed(command, "seed of the held-out cells and of the initial weights")
    add_option(command, "--save FILE", "write the filled matrix (.csv, .tsv, .txt)")
    add_outputs(command, "the completed matrix and the path", "draw the held-out error along the path")


def run(options: argparse.Namespace) -> int:
    import numpy as np

    from tacit.data.matrices import MATRIX_FILES, read_matrix
    from tacit.show.output_files import Output, write_file
    from tacit.show.progress import silenced
    from tacit.verbs.complete import complete, unobserved

    if options.scale is not None and not 0 < options.scale < math.inf:
        raise InputError(f"--scale must be a positive number, got {options.scale:g}")
    if options.save is not None and not options.save.lower().endswith((".csv", ".tsv", ".txt")):
        raise InputError(f"--save writes text; name its file {MATRIX_FILES}, not {options.save}")
    saved = [] if options.save is None else [Output(options.save, "csv", options.by)]
    check_output_files(options, saved)
    begun = time.perf_counter()
    table = read_matrix(options.data)
    options.reading = time.perf_counter() - begun
    told_assumptions(options, table.assumed)
    if np.isnan(table.values).all():
        raise InputError("the matrix has no observed cells: all are missing")
    if empty := unobserved(table.values, table.rows, table.columns):
        remark(f"{empty}; filled by the effects of the others")
    with silenced():  # hundreds of short flows
        found = complete(
            table.values, options.scale, options.width, False if options.no_effects else None, options.seed
        )
    filled = np.where(np.isnan(table.values), found.matrix(), table.values)
    deliver(
        options,
        _summary(table, found),
        lambda: _content(options, table, found, filled),
        lambda file: _draw(found, file),
        {"matrix": lambda: str(write_file(table.filled(filled), saved[0]))} if saved else {},
    )
    return DONE


def _summary(table: MatrixTable, found: Completion) -> str:
    chosen, gaps = found.chosen, table.values != table.values  # NaN
    effects = "row and column effects, then " if chosen.effects else ""
    lines = [
        f"  data         {gaps.shape[0]:,} × {gaps.shape[1]:,}, {(~gaps).sum():,} cells observed, "
        f"{gaps.sum():,} missing",
    ]
    if not found.held_out:
        return "\n".join([*lines, "  chosen       effects only: too few cells to hold any out"])
    lines += [
        f"  held out     {found.held_out:,} cells; root mean square error = {chosen.error:.4g}",
        f"  compare      column means = {found.column_means:.4g}, rows + columns = {found.additive:.4g}",
        f"  chosen       {effects}scale = {chosen.scale:g}, accuracy = {chosen.accuracy:.4g}, "
        f"training time = {chosen.time:.4g}",
    ]
    if chosen.time == 0:
        lines[-1] = (
            f"  chosen       {'row and column effects' if chosen.effects else 'zero'}, no low-rank part"
        )
    return "\n".join(lines)


def _content(
    options: argparse.Namespace, table: MatrixTable, found: Completion, filled: Any
) -> dict[str, Any]:
    chosen = found.chosen
    return {
        "data": options.data,
        "assumed": table.assumed,
        "rows": table.rows,
        "columns": table.columns,
        "filled": filled,
        "held_out": found.held_out,
        "error": chosen.error,
        "column_means": found.column_means,
        "additive": found.additive,
        "effects": chosen.effects,
        "scale": chosen.scale,
        "time": chosen.time,
        "accuracy": chosen.accuracy,
        "path": {
            "time": [point.time for point in found.path],
            "accuracy": [point.accuracy for point in found.path],
            "error": [point.error for point in found.path],
        },
    }


def _draw(found: Completion, file: str) -> Any:
    from tacit.show.figures import save_figure

    def draw(ax: Any) -> None:
        path = [point for point in found.path if point.time > 0]
        ax.plot([point.time for point in path], [point.error for point in path])
        ax.axhline(found.column_means, color="0.6", ls=":", label="column means")
        ax.axhline(found.additive, color="0.6", ls="--", label="rows + columns")
        if found.chosen.time > 0:
            ax.plot(found.chosen.time, found.chosen.error, "o", label="chosen")
        ax.set(xscale="log", yscale="log", xlabel="training time", ylabel="error on held-out cells")
        ax.legend()

    return save_figure(draw, file, "complete")
