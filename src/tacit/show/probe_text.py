"""Summaries of probes: the verdict, the measurements, and what to change."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tacit.data.printable import short_name
from tacit.results.probe import Probe
from tacit.results.probe_sweep import ProbeSweep
from tacit.show.text import aligned, count

_SHOWN = 6  # layers in a line
_LARGE = 0.1  # size of the outputs at initialization, relative to the targets, that affects training
_CLEAR = 0.01, 10.0  # values of κ well inside the kernel regime, and well outside


def probe_report(result: Probe) -> str:
    """Summarize a probe."""
    problem, measured = result.problem, result.measured
    trained = measured.trained
    data = f"{count(len(problem.X), 'sample')}, {len(problem.X_test):,} held out"
    lines = {
        "network": repr(result.network),
        "data": "; ".join((data, *result.names)),
        "VERDICT": verdict(result),
        "gap": f"{_percent(result.linearization_gap)} to the linearized network on held-out inputs"
        + _rich(result.distance_to_rich),
        "kernel": f"1 − cos(K, K(0)) = {result.kernel_distance:.2g} after training; to first order, "
        f"training changes K by {_times(result.kernel_movement)}",
        "criterion": f"κ = {result.scale_criterion:.2g} (Chizat et al. 2019; small: kernel regime)",
        "layers": moved_layers(result.layers),
        "spectrum": _spectrum(result),
        "start": _start(result),
        "training": f"{problem.loss.name}: {_fit(result)}, {count(trained.steps, 'step')}, "
        f"{result.seconds:.1f} s in total",
        "to change": advice(result),
    }
    if not result.converged:
        lines["NOT REACHED"] = (
            f"training did not reach {_goal(result)}: {trained.reason}; the networks are compared at the "
            "loss that was reached (increase most_steps)"
        )
    return aligned(lines)


def verdict(result: Any) -> str:
    """The regime and its meaning."""
    return {
        "kernel": "kernel (lazy): training ends close to the linearized network, and no features are learned",
        "rich": "rich: training ends far from the linearized network, close to the end of smaller "
        "initializations, and features are learned",
        "intermediate": "intermediate: training ends far from the linearized network, but the end still "
        "depends on the initialization scale",
        "unknown": "unknown: training has not halved the loss, so the regimes cannot be distinguished",
    }[result.regime]


def _rich(distance: float) -> str:
    if math.isnan(distance):
        return ""
    return f", {_percent(distance)} to the network initialized at a tenth of the scale"


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
    """The layers with the largest relative change."""
    order = sorted((name for name in layers if math.isfinite(layers[name])), key=lambda name: -layers[name])
    shown = ", ".join(f"{short_name(name, 40)} = {layers[name]:.2g}" for name in order[:_SHOWN])
    zeros = len(layers) - len(order)
    fresh = f"; {count(zeros, 'layer')} started at 0" if zeros else ""
    return f"relative change {shown}{', …' if len(order) > _SHOWN else ''}{fresh}"


def _spectrum(result: Probe) -> str:
    values, times = result.eigenvalues, result.time_scales
    reached = values > 0
    if not reached.any():
        return "the tangent kernel is 0 at this initialization, so gradient descent cannot move"
    last = times[reached][-1]
    idle = (
        "" if reached.all() else f"; {count(int((~reached).sum()), 'direction')} of the outputs cannot change"
    )
    ends = f"{values[0]:.3g} … {values[reached][-1]:.2g}", f"{times[0]:.2g} … {last:.2g}"
    return f"eigenvalues {ends[0]}, time scales {ends[1]}{idle}"


def _start(result: Probe) -> str:
    size = result.output_size
    of = "‖y‖" if result.loss.quadratic else "1"
    outputs = f"‖f(θ₀)‖ = {size:.2g}·{of}"
    if size <= _LARGE:
        return outputs
    return (
        f"{outputs}, which training must undo; .doubled() has outputs 0 at initialization and the same kernel"
    )


def _fit(result: Probe) -> str:
    trained, y = result.measured.trained, result.problem.y
    if result.loss.quadratic:
        residual = np.linalg.norm(trained.outputs.reshape(y.shape) - y) / (np.linalg.norm(y) or 1.0)
        return f"relative residual = {residual:.2g}"
    margins = np.asarray(result.loss.margins(trained.outputs.reshape(y.shape), y))
    return f"loss = {math.exp(-trained.accuracy):.2g}, {int((margins > 0).sum()):,} of {len(y):,} correct"


def _goal(result: Probe) -> str:
    return "a relative residual of 1e-2" if result.loss.quadratic else "5% of the loss at outputs 0"


def advice(result: Probe) -> str:
    """What to change to reach the other regimes, and by how much."""
    if result.regime == "unknown":
        return "train longer (increase most_steps), or start from larger weights: network.rescaled(10)"
    degree, parts = result.degree, []
    if result.regime != "kernel":
        first = "outputs 0 at initialization (.doubled()), then " if result.output_size > _LARGE else ""
        parts.append(
            f"towards the kernel regime: {first}larger weights{_factor(result, degree, 0)}, or more units"
        )
    if result.regime != "rich":
        parts.append(f"to learn features: smaller weights{_factor(result, degree, 1)}, or fewer units")
    parts.append("probe.sweep(scales) measures other scales (layers='last': of the last layer only)")
    return "; ".join(parts)


def _factor(result: Probe, degree: float, way: int) -> str:
    """The factor for the weights that brings κ to a clear value: κ is inversely proportional to c^degree."""
    kappa = result.scale_criterion
    if not (degree and 0 < kappa < math.inf):
        return ""
    factor = (kappa / _CLEAR[way]) ** (1 / degree)
    return f" (× {factor:.2g})" if (factor > 1.05) == (way == 0) and abs(factor - 1) > 0.05 else ""


def sweep_report(result: ProbeSweep) -> str:
    """Summarize a sweep: a table with a row for each scale."""
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
    head = f"  {what} times each scale, then trained ({result.loss}, {result.seconds:.1f} s)"
    return "\n".join([head, *table])
