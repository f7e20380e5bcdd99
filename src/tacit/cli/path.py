"""tacit path: compute maximum-margin classifiers from the kernel to the rich end, or the saddle path.

Compute the maximum-margin predictors of a diagonal network, which the flow of the exponential
loss approaches, as a function of μ = (predictor scale) / accuracy. The predictor scale is
scale^depth for a diagonal model and √k/4 = scale·(1+s²)/(1-s²) for an untied model of shape s;
the accuracies that are printed depend on it, the path does not. The target contains two classes:
-1 and +1, or any other two (the first in sorted order is -1).
With --saddle, compute the limit of the flow of the square loss as the scale vanishes: features
enter and leave one after another, and the path ends at the minimum ℓ1 norm solution. The target
is a number.

examples:
  tacit path cells.csv --target label --mu 10:1e-6:50
  tacit path cells.csv --target label --depth 3 --sweeping --plot path.png
  tacit path cells.csv --target label --intercept --standardize
  tacit path cells.csv --target label --model untied --scale 0.1 --shape 0.9
  tacit path cells.csv --target label --mu 1,0.1,0.01 --json -
  tacit path spectra.csv --target octane --saddle --intercept --standardize --plot path.png
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
    deliver,
    numbers,
    read_data,
    source,
    units_of,
)
from tacit.errors import InputError

_MU = "10:1e-6:50"  # default values of μ


def add(command: Any) -> None:
    """Add the options of the command."""
    add_data(command)
    add_model(command, ("diagonal", "untied"))
    add_units(command, "margins of w·x + b with an unpenalized intercept b")
    mu = f"geometrically spaced, or numbers separated by commas (default: {_MU})"
    add_option(command, "--mu FROM:TO:COUNT", mu, numbers)
    add_flag(command, "--saddle", "limit of the flow of the square loss as the scale vanishes")
    process = "also compute the flow at infinite scale (sweeping process), which may leave the path"
    add_flag(command, "--sweeping", process)
    add_outputs(command, "the path", "draw the path (png, pdf, svg)")


def run(options: argparse.Namespace) -> int:
    if options.saddle:
        return _saddle(options)
    from tacit.verbs.margin_path import depth_of, margin_path
    from tacit.verbs.sweeping_path import sweeping_path

    table = read_data(options, classes=True)
    check_output_files(options)
    model = model_of(options, table.X)
    mu = numbers(_MU) if options.mu is None else options.mu
    depth, scale = depth_of(model.potential(table.X.shape[1]).base), model.predictor_scale
    if options.sweeping and (options.intercept or options.standardize):
        raise InputError(
            "--sweeping has no intercept and uses the features unchanged; "
            "leave it out, or leave out --intercept and --standardize"
        )
    found = margin_path(table.X, table.y, mu, depth=depth, **units_of(options))
    sweeping = sweeping_path(table.X, table.y, mu, depth=depth) if options.sweeping else None
    summaries = [found.summary(scale, table.features)] + ([sweeping.summary()] if sweeping else [])

    def content() -> dict[str, Any]:
        extra = {} if sweeping is None else {"sweeping": sweeping.to_dict()}
        clock = {"predictor_scale": scale, "accuracy": (scale / found.mu).tolist()}
        return {**source(options, table), "features": table.features, **found.to_dict(), **clock, **extra}

    def draw(file: str) -> Any:
        return found.plot(file, names=table.features, sweeping=sweeping, clock=model.path_clock)

    deliver(options, "\n".join(summaries), content, draw, width=10)
    return DONE if found.converged.all() else FAILED


def _saddle(options: argparse.Namespace) -> int:
    """The saddle path for the depth of the model; with a scale, also the time of each jump."""
    from tacit.verbs.saddle_path import saddle_path

    if options.sweeping or options.mu is not None:
        raise InputError(
            "--saddle is for regression; leave out --mu and --sweeping, which are for classification"
        )
    table = read_data(options)
    check_output_files(options)
    timed = options.scale is not None or options.log_scale is not None
    model = model_of(options, table.X)
    found = saddle_path(table.X, table.y, depth=getattr(model, "depth", 2), **units_of(options))
    times = found.time(model) if timed else None
    summary, extra = found.summary(table.features), {}
    if times is not None:
        extra = {"training_times": times.tolist()}
        if len(times):
            ends = f"the first jump at time {times[0]:.4g}, the last at {times[-1]:.4g}, to leading order"
            summary += f"\n  training   {model.describe()}: {ends}"
    content = {**source(options, table), "features": table.features, **found.to_dict(), **extra}
    deliver(options, summary, lambda: content, lambda file: found.plot(file, names=table.features), width=9)
    return DONE
