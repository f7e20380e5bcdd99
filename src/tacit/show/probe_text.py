"""Probes and monitors in words: the verdict, the numbers behind it, what to change."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tacit.data.printable import short_name
from tacit.results.probe import Probe
from tacit.results.probe_sweep import ProbeSweep
from tacit.show.text import aligned, count

_SHOWN = 6  # layers in a line
_LARGE = 0.1  # of the targets: outputs at the start that training has to take back first
_CLEAR = 0.01, 10.0  # κ that is aimed at: clearly kernel, clearly not


def probe_report(result: Probe) -> str:
    """A line for each thing."""
    problem, measured = result.problem, result.measured
    trained = measured.trained
    data = f"{count(len(problem.X), 'sample')}, {len(problem.X_test):,} held out"
    lines = {
        "network": repr(result.network),
        "data": "; ".join((data, *result.names)),
        "VERDICT": verdict(result),
        "gap": f"{_percent(result.linearization_gap)} from the linearized network on held-out inputs"
        + _rich(result.distance_to_rich),
        "kernel": f"turned by {result.kernel_distance:.2g} (1 − cos) in training; first-order training would "
        f"move it by {_times(result.kernel_movement)}",
        "criterion": f"κ = {result.scale_criterion:.2g} (Chizat et al. 2019; small: kernel regime)",
        "layers": moved_layers(result.layers),
        "spectrum": _spectrum(result),
        "start": _start(result),
        "training": f"{problem.loss.name}: {_fit(result)}, {count(trained.steps, 'step')}, "
        f"{result.seconds:.1f} s in all",
        "to change": advice(result),
    }
    if not result.converged:
        lines["NOT REACHED"] = (
            f"training was to go on to {_goal(result)}, and {trained.reason}; both networks are compared at "
            "the loss reached (most_steps allows more)"
        )
    return aligned(lines)


def verdict(result: Any) -> str:
    """The regime, and what it means."""
    return {
        "kernel": "kernel: it ends where its linearization does, and learns no features",
        "rich": "rich: it ends far from its linearization, as smaller starts do, and learns features",
        "intermediate": "intermediate: it leaves its linearization, and the size of the start still decides "
        "where it ends",
        "unknown": "unknown: training has not halved the loss, and the two cannot be told apart",
    }[result.regime]


def _rich(distance: float) -> str:
    if math.isnan(distance):
        return ""
    return f", {_percent(distance)} from a start a tenth as large"


def _percent(share: float) -> str:
    return (
        "less than 0.01%"
        if share < 1e-4
        else f"{100 * share:.2g}%"
        if share < 0.995
        else f"{100 * share:.0f}%"
    )


def _times(share: float) -> str:
    return _percent(share) if share < 10 else f"{share:.2g} times its size"


def moved_layers(layers: dict[str, float]) -> str:
    """The largest relative movements."""
    order = sorted((name for name in layers if math.isfinite(layers[name])), key=lambda name: -layers[name])
    shown = ", ".join(f"{short_name(name, 40)} {layers[name]:.2g}" for name in order[:_SHOWN])
    zeros = len(layers) - len(order)
    fresh = f"; {count(zeros, 'layer')} moved from 0" if zeros else ""
    return f"moved by {shown}{', …' if len(order) > _SHOWN else ''} of their size{fresh}"


def _spectrum(result: Probe) -> str:
    values, times = result.eigenvalues, result.time_scales
    reached = values > 0
    if not reached.any():
        return "the kernel is 0: nothing can be learned from this start"
    last = times[reached][-1]
    idle = (
        "" if reached.all() else f"; {count(int((~reached).sum()), 'direction')} of the outputs cannot move"
    )
    ends = f"{values[0]:.3g} … {values[reached][-1]:.2g}", f"{times[0]:.2g} … {last:.2g}"
    return f"eigenvalues {ends[0]}, time scales {ends[1]}{idle}"


def _start(result: Probe) -> str:
    size = result.output_size
    of = "‖y‖" if result.loss.quadratic else "1"
    told = f"outputs at the start are {size:.2g} of {of}"
    if size <= _LARGE:
        return told
    return f"{told}: training has to take them back; .doubled() starts at 0 with the same kernel"


def _fit(result: Probe) -> str:
    trained, y = result.measured.trained, result.problem.y
    if result.loss.quadratic:
        residual = np.linalg.norm(trained.outputs.reshape(y.shape) - y) / (np.linalg.norm(y) or 1.0)
        return f"relative residual {residual:.2g}"
    margins = np.asarray(result.loss.margins(trained.outputs.reshape(y.shape), y))
    return f"loss {math.exp(-trained.accuracy):.2g}, {int((margins > 0).sum()):,} of {len(y):,} right"


def _goal(result: Probe) -> str:
    return "1e-2 of the targets" if result.loss.quadratic else "5% of the loss of outputs 0"


def advice(result: Probe) -> str:
    """Which way to go, by how much, and how to see it."""
    if result.regime == "unknown":
        return "train longer (most_steps), or start from larger weights: network.rescaled(10)"
    degree, parts = result.degree, []
    if result.regime != "kernel":
        first = "outputs of 0 at the start (.doubled()), then " if result.output_size > _LARGE else ""
        parts.append(f"towards the kernel: {first}larger weights{_factor(result, degree, 0)}, or more units")
    if result.regime != "rich":
        parts.append(f"to learn features: smaller weights{_factor(result, degree, 1)}, or fewer units")
    parts.append("probe.sweep(scales) tries it, with layers='last' on the last layer alone")
    return "; ".join(parts)


def _factor(result: Probe, degree: float, way: int) -> str:
    """κ falls as the inverse of the outputs' scale, c^degree: the factor that brings it where it is clear."""
    kappa = result.scale_criterion
    if not (degree and 0 < kappa < math.inf):
        return ""
    factor = (kappa / _CLEAR[way]) ** (1 / degree)
    return f" (× {factor:.2g})" if (factor > 1.05) == (way == 0) and abs(factor - 1) > 0.05 else ""


def sweep_report(result: ProbeSweep) -> str:
    """A table over the scales."""
    what = f"weights of {', '.join(result.rescaled)}" if result.rescaled else "all weights"
    rows = [("scale", "regime", "gap", "to rich", "kernel", "κ", "")]
    for i, (scale, point) in enumerate(zip(result.scales, result.points, strict=True)):
        rich = "" if math.isnan(point.distance_to_rich) else _percent(point.distance_to_rich)
        left = "" if result.reached[i] else "goal not reached"
        gap = "<0.01%" if point.linearization_gap < 1e-4 else _percent(point.linearization_gap)
        numbers = (f"{point.kernel_distance:.1e}", f"{point.scale_criterion:.1e}")
        rows.append((f"{scale:.3g}", point.regime, gap, rich, *numbers, left))
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    table = [
        "  " + "  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    head = f"  {what} times each scale, trained anew ({result.loss}, {result.seconds:.1f} s)"
    return "\n".join([head, *table])
