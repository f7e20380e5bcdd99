"""Summaries and pictures of saddle paths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.data.printable import label, short_name, shown, some
from tacit.results.result import numbered
from tacit.results.saddle_path import SaddlePath
from tacit.show.figures import Picture, draw_largest
from tacit.show.text import aligned, count, intercept, size_of, sizes, top_features, units

_NAMED = 7  # coordinates with a colour and a name
_EVENTS = 6  # events in a summary
_MARGIN = 2.0  # factor by which the axis of τ begins before the first jump and ends after the last


def saddle_report(result: SaddlePath, names: Sequence[str] | None = None) -> str:
    """Summarize a saddle path: jumps, events, end and averages."""
    named = numbered(names, result.X.shape[1])
    lines = {
        "data": size_of(result.X),
        **units(result),
        "path": f"limit of the flow as the scale vanishes, depth {shown(result.depth)}, {_span(result)}",
    }
    if len(result.times):
        end, enters = result.predictors[-1], sum(event.enters for event in result.events)
        told = [
            f"{short_name(named[each.feature], 24)} {'enters' if each.enters else 'leaves'} "
            f"at τ = {each.time:.4g}"
            for each in result.events
        ]
        leaves = len(result.events) - enters
        lines |= {
            "events": f"features enter {count(enters, 'time')} and leave {count(leaves, 'time')}: "
            f"{some(told, _EVENTS)}",
            "end": f"{sizes(end, result.units)}; residual = {result.residuals[-1]:.1g}·‖y‖",
            **intercept(result, result.intercepts[-1]),
            "features": top_features(end, names, result.units),
            "Lasso": _lasso(result),
        }
    lines["computed"] = f"{1000 * result.seconds:.0f} ms"
    return aligned(lines, len("intercept"))


def _span(result: SaddlePath) -> str:
    if not len(result.times):
        return "no jumps: the targets do not depend on the features"
    return f"{count(len(result.times), 'jump')} from τ = {result.times[0]:.4g} to {result.times[-1]:.4g}"


def _lasso(result: SaddlePath) -> str:
    """The jumps at which the average of the path is a Lasso solution."""
    holds = [result.average(tau).holds for tau in result.times]
    if all(holds):
        return "the average of the path up to τ solves the Lasso with penalty 1/τ, at all jumps"
    first = result.times[holds.index(False)]
    return (
        f"the average of the path up to τ solves the Lasso with penalty 1/τ at {sum(holds)} of "
        f"{count(len(holds), 'jump')}, not at τ = {first:.4g}"
    )


def saddle_picture(result: SaddlePath, names: Sequence[str]) -> Picture:
    """A picture of the coefficients as steps against τ; the largest are named."""

    def draw(ax: Any) -> None:
        ax.axhline(0, color="k", lw=0.5)
        ax.set(xlabel=r"$\tau$, training time in units of the scale", ylabel="coefficient")
        if not len(result.times):
            return
        ends = result.times[0] / _MARGIN, result.times[-1] * _MARGIN
        tau = np.concatenate([[ends[0]], result.times, [ends[1]]])
        steps = np.vstack([np.zeros(result.X.shape[1]), result.predictors, result.predictors[-1]])
        largest = np.argsort(-(np.abs(steps).max(axis=0) + np.abs(steps[-1])), kind="stable")
        largest = largest[steps[:, largest].any(axis=0)]
        labels = [label(name, 18) for name in names]
        draw_largest(ax, tau, steps, largest, labels, _NAMED, drawstyle="steps-post")
        ax.set_xscale("log")
        ax.set_xlim(*ends)
        ax.set_title(
            f"limit of the flow as the scale vanishes: {count(len(result.times), 'jump')}", loc="left"
        )
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=4)

    return Picture(draw, {"figsize": (6.4, 4.4)}, "path")
