"""Pictures of probes and sweeps."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.data.printable import label
from tacit.results.probe import Probe
from tacit.results.probe_sweep import ProbeSweep
from tacit.show.figures import KERNEL, MUTED, RICH, TRUTH, Picture

COLORS = {"kernel": KERNEL, "rich": RICH, "intermediate": "#CC79A7", "unknown": MUTED}
NEAR = 0.1  # the threshold of regimes
_POINTS = 400  # largest number of held-out outputs that are drawn
_BARS = 14  # largest number of layers that are drawn
_FLOOR = 1e-8  # distances below this are round-off of the training


def probe_picture(result: Probe) -> Picture:
    """A picture with four panels: spectrum, training, held-out outputs and layers."""

    def draw(axes: Any) -> None:
        _spectrum(axes[0, 0], result)
        _training(axes[0, 1], result)
        _held_out(axes[1, 0], result)
        _layers(axes[1, 1], result)
        axes[0, 0].figure.suptitle(
            f"{result.regime} regime: {100 * result.linearization_gap:.2g}% from the linearization, "
            f"kernel distance {result.kernel_distance:.2g}",
            color=COLORS[result.regime],
            fontsize=10.5,
        )

    return Picture(draw, {"figsize": (7.6, 5.8), "nrows": 2, "ncols": 2}, "probe")


def _spectrum(ax: Any, result: Probe) -> None:
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
    ax.set(xscale="log", yscale="log", ylabel="relative distance", xlabel=_scale_label(result))
    bands = _bands(x, [result.regimes[i] for i in order])
    for left, right, name in bands:
        ax.axvspan(left, right, color=COLORS[name], alpha=0.08, lw=0)
        middle = np.sqrt(left * right)
        ax.text(
            middle,
            1.01,
            name,
            transform=ax.get_xaxis_transform(),
            ha="center",
            va="bottom",
            color=COLORS[name],
            fontsize=8,
        )
    ax.set_xlim(bands[0][0], bands[-1][1])
    ax.legend(loc="best", fontsize=7.5)


def _scale_label(result: ProbeSweep) -> str:
    return f"scale of {', '.join(result.rescaled)}" if result.rescaled else "scale of all weights"


def _bands(x: Any, regimes: list[str]) -> list[tuple[float, float, str]]:
    """Ranges of scales with the same regime; they meet half way between different ones."""
    edges = [*np.sqrt(x[1:] * x[:-1])]
    half = np.sqrt(x[1] / x[0]) if len(x) > 1 else 2.0
    ends = [x[0] / half**0.5, *edges, x[-1] * half**0.5]
    bands: list[tuple[float, float, str]] = []
    for i, name in enumerate(regimes):
        if bands and bands[-1][2] == name:
            bands[-1] = (bands[-1][0], float(ends[i + 1]), name)
        else:
            bands.append((float(ends[i]), float(ends[i + 1]), name))
    return bands
