"""Flows of the command line: run with the options of `tacit flow`, keep interrupted ones, write outputs."""

from __future__ import annotations

import argparse
import os
from typing import Any

from tacit.cli.elapsed import waited
from tacit.cli.interrupts import take_time
from tacit.cli.options import DONE, FAILED, INTERRUPTED
from tacit.cli.terminal import remark, say, wrapped
from tacit.errors import Interrupted

_ASKED = ("until", "at", "times", "rtol", "linearized", "method", "step")


def followed(options: argparse.Namespace, model: Any, X: Any, y: Any, **more: Any) -> tuple[Any, int]:
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


def report(
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
    from tacit.show.output_files import Output, netcdf_file, write_file, write_json

    speak = options.json != "-"
    if speak:
        print(wrapped(result.summary(features)))
    if options.json is not None:
        write_json({**content, **result.to_dict()}, options.json, "flow")
    if options.save is not None:
        saved, kind = (netcdf_file(result.to_xarray(), "flow"), "nc") if matrix is None else (matrix, "csv")
        write_file(saved, Output(options.save, kind, "flow"))
        if speak:
            say(f"  {'data' if matrix is None else 'matrix':<10} {options.save}")
    if options.plot is not None:
        path = result.plot(options.plot, clock=options.clock, names=names)
        if speak:
            say(f"  figure     {path}")
    if speak:
        print(wrapped(f"  elapsed    {waited(options)}"))
