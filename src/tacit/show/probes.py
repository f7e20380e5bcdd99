"""Pictures and summaries of probes: the regime, the measurements, and what to change."""

from __future__ import annotations

import math
from itertools import groupby
from typing import Any

import numpy as np

from tacit.data.printable import label, percent, short_name, some
from tacit.results.probe import Probe, ProbeSweep
from tacit.show.figures import KERNEL, MUTED, RICH, TRUTH, Picture
from tacit.show.text import aligned, count, table

COLORS = {"kernel": KERNEL, "rich": RICH, "intermediate": "#CC79A7", "unknown": MUTED}
NEAR = 0.1  # the threshold of regimes
_POINTS = 400  # largest number of held-out outputs that are drawn
_BARS = 14  # largest number of layers that are drawn
_FLOOR = 1e-8  # distances below this are round-off of the training
_SHOWN = 6  # layers in a line
_LARGE = 0.1  # size of the outputs at initialization, relative to the targets, that affects training
_CLEAR = 0.01, 10.0  # values of κ well inside the kernel regime, and well outside


def probe_picture(result: Probe) -> Picture:
    """A picture with four panels: spectrum, training, held-out outputs and layers."""

    def draw(axes: Any) -> None:
        _draw_spectrum(axes[0, 0], result)
        _training(axes[0, 1], result)
        _held_out(axes[1, 0], result)
        _layers(axes[1, 1], result)
        figure = axes[0, 0].figure
        if len(figure.axes) == axes.size:  # the figure shows nothing else
            figure.suptitle(
                f"{result.regime} regime: {100 * result.linearization_gap:.2g}% from the linearization, "
                f"kernel distance {result.kernel_distance:.2g}",
                color=COLORS[result.regime],
                fontsize=10.5,
            )

    return Picture(draw, {"figsize": (7.6, 5.8), "nrows": 2, "ncols": 2}, "probe")


def _draw_spectrum(ax: Any, result: Probe) -> None:
    values = result.eigenvalues[result.eigenvalues > 0]
    ranks = np.arange(1, len(values) + 1)
    ax.loglog(ranks, values, "o-", ms=2.5, lw=0.8, color=KERNEL)
    ax.set(title="tangent kernel at initialization", xlabel="rank $i$", ylabel=r"eigenvalue $\lambda_i$")
    slope = result.measured.linear.slope
    twin = ax.secondary_yaxis("right", functions=(lambda v: _inverse(v, slope), lambda t: _inverse(t, slope)))
    twin.set_ylabel(r"time scale $1/(\lambda_i\,s)$")
    twin.spines["right"].set_visible(True)


def _inverse(values: Any, slope: float) -> Any:
    values = np.asarray(values, dtype=float)
    return 1 / (np.where(values == 0, np.finfo(float).tiny ** 0.5, values) * slope)


def _training(ax: Any, result: Probe) -> None:
    """Draw the loss of the network (markers) and of the linearized network (line) against time."""
    trained, linear = result.measured.trained, result.measured.linearized
    shown = np.unique(np.geomspace(1, max(len(trained.times) - 1, 1), 28).astype(int))
    shown = shown[shown < len(trained.times)]
    good = linear.times > 0
    ax.plot(linear.times[good], np.exp(-linear.accuracies[good]), color=KERNEL, label="linearized")
    ax.plot(trained.times[shown], np.exp(-trained.accuracies[shown]), "o", color=RICH, ms=3, label="network")
    ax.set(xscale="log", yscale="log", title="training", xlabel="time $t$", ylabel="loss")
    ax.legend()


def _held_out(ax: Any, result: Probe) -> None:
    """Draw the outputs of the network and of the linearized network on held-out inputs."""
    here, there = result.measured.linearized_outputs.ravel(), result.measured.outputs.ravel()
    every = max(len(here) // _POINTS, 1)
    ends = [min(here.min(), there.min()), max(here.max(), there.max())]
    ax.plot(ends, ends, color=MUTED, lw=0.8)
    ax.plot(here[::every], there[::every], "o", color=RICH, ms=2.5, alpha=0.7, mew=0)
    ax.set(title="held-out outputs", xlabel="linearized network", ylabel="network")


def _layers(ax: Any, result: Probe) -> None:
    """Draw the relative change of each layer."""
    names = list(result.layers)[:_BARS]
    moved = np.array([result.layers[name] for name in names], dtype=float)
    finite = np.where(np.isfinite(moved), moved, np.nan)
    places = np.arange(len(names))[::-1]
    ax.barh(places, finite, height=0.6, color=TRUTH)
    least = np.nanmin(finite[finite > 0]) if (finite > 0).any() else 1e-3
    ax.set_xscale("log")
    ax.set_xlim(left=10 ** np.floor(np.log10(least) - 0.3))
    ax.xaxis.set_minor_formatter("")  # minor labels would overlap
    for place, size in zip(places, moved, strict=True):
        if not np.isfinite(size):
            ax.text(ax.get_xlim()[0], place, " from 0", va="center", color=MUTED, fontsize=8)
    ax.set_ylim(-0.6, len(names) - 0.4)
    ax.set_yticks(places, [label(name, 22) for name in names])
    hidden = len(result.layers) - len(names)
    title = "relative change of layers" + (f" ({hidden} more)" if hidden else "")
    ax.set(title=title, xlabel=r"$\|W' - W\|/\|W\|$")


def sweep_picture(result: ProbeSweep) -> Picture:
    """A picture of the distances against the scale, with the regimes."""
    return Picture(lambda ax: _draw_sweep(ax, result), {"figsize": (5.4, 3.6)}, "probe")


def _draw_sweep(ax: Any, result: ProbeSweep) -> None:
    order = np.argsort(result.scales)
    x = result.scales[order]
    series = {
        "distance from the linearization": (result.linearization_gap, "o-", KERNEL),
        "distance from a tenth of the scale": (result.distance_to_rich, "s-", RICH),
        r"kernel distance $1 - \cos$": (result.kernel_distance, "^-", TRUTH),
    }
    for name, (values, mark, color) in series.items():
        ax.plot(x, np.maximum(values[order], _FLOOR), mark, color=color, label=name, lw=1.2)
    ax.axhline(NEAR, color=MUTED, lw=0.8, ls="--")
    ax.axvline(1.0, color=MUTED, lw=0.8, ls=":")
    ax.set(xscale="log", yscale="log", ylabel="relative distance")
    ax.set_xlabel(f"scale of {', '.join(result.rescaled) or 'all weights'}")
    bands = _bands(x, [result.regimes[i] for i in order])
    above = {"transform": ax.get_xaxis_transform(), "ha": "center", "va": "bottom", "fontsize": 8}
    for left, right, name in bands:
        ax.axvspan(left, right, color=COLORS[name], alpha=0.08, lw=0)
        ax.text(np.sqrt(left * right), 1.01, name, color=COLORS[name], **above)
    ax.set_xlim(bands[0][0], bands[-1][1])
    ax.legend(loc="best", fontsize=7.5)


def _bands(x: Any, regimes: list[str]) -> list[tuple[float, float, str]]:
    """Ranges of scales with the same regime; they meet half way between different ones."""
    edges = [*np.sqrt(x[1:] * x[:-1])]
    half = np.sqrt(x[1] / x[0]) if len(x) > 1 else 2.0
    ends = [x[0] / half**0.5, *edges, x[-1] * half**0.5]
    runs = [list(run) for _, run in groupby(range(len(regimes)), key=regimes.__getitem__)]
    return [(float(ends[run[0]]), float(ends[run[-1] + 1]), regimes[run[0]]) for run in runs]


def probe_report(result: Probe) -> str:
    """Summarize a probe."""
    problem, measured = result.problem, result.measured
    trained = measured.trained
    data = f"{count(len(problem.X), 'sample')}, {len(problem.X_test):,} held out"
    far, moved = result.distance_to_rich, result.kernel_movement
    rich = "" if math.isnan(far) else f", {percent(far)} to the network initialized at a tenth of the scale"
    lines = {
        "network": repr(result.network),
        "data": "; ".join((data, *result.names)),
        "VERDICT": regime_meaning(result),
        "gap": f"{percent(result.linearization_gap)} to the linearized network on held-out inputs{rich}",
        "kernel": f"1 − cos(K, K(0)) = {result.kernel_distance:.2g} after training; to first order, "
        f"training changes K by {percent(moved) if moved < 10 else f'{moved:.2g} times its size'}",
        "criterion": f"κ = {result.scale_criterion:.2g} (Chizat et al. 2019; small: kernel regime)",
        "layers": moved_layers(result.layers),
        "spectrum": _spectrum(result),
        "start": _start(result),
        "training": f"{problem.loss.name}: {_fit(result)}, {count(trained.steps, 'step')}, "
        f"{result.seconds:.1f} s in total",
        "to change": advice(result),
    }
    if not result.converged:
        goal = "a relative residual of 1e-2" if result.loss.quadratic else "5% of the loss at outputs 0"
        lines["NOT REACHED"] = (
            f"training did not reach {goal}: {trained.reason}; the networks are compared at the "
            "loss that was reached (increase most_steps)"
        )
    return aligned(lines)


def regime_meaning(result: Any) -> str:
    """The regime and its meaning."""
    return {
        "kernel": "kernel (lazy): training ends close to the linearized network, and no features are learned",
        "rich": "rich: training ends far from the linearized network, close to the end of smaller "
        "initializations, and features are learned",
        "intermediate": "intermediate: training ends far from the linearized network, but the end still "
        "depends on the initialization scale",
        "unknown": "unknown: training has not halved the loss, so the regimes cannot be distinguished",
    }[result.regime]


def moved_layers(layers: dict[str, float]) -> str:
    """The layers with the largest relative change."""
    order = sorted((name for name in layers if math.isfinite(layers[name])), key=lambda name: -layers[name])
    shown = some([f"{short_name(name, 40)} = {layers[name]:.2g}" for name in order], _SHOWN)
    zeros = len(layers) - len(order)
    fresh = f"; {count(zeros, 'layer')} started at 0" if zeros else ""
    return f"relative change {shown}{fresh}"


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


def advice(result: Probe) -> str:
    """Advice on what to change to reach the other regimes, and by how much."""
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
        rich = "" if math.isnan(point.distance_to_rich) else percent(point.distance_to_rich)
        left = "" if result.reached[i] else "goal not reached"
        gap = "<0.01%" if point.linearization_gap < 1e-4 else percent(point.linearization_gap)
        numbers = (f"{point.kernel_distance:.1e}", f"{point.scale_criterion:.1e}")
        rows.append((f"{scale:.3g}", point.regime, gap, rich, *numbers, left))
    head = f"  {what} times each scale, then trained ({result.loss}, {result.seconds:.1f} s)"
    return "\n  ".join([head, *table(rows)])
