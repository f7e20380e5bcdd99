"""Figure on Proposition 1 of Azulay et al. 2021: strictly balanced linear networks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

import tacit
from tacit.data.arrays import Float
from tacit.papers import Claim, Progress, at_least, at_most, figure, within
from tacit.papers.azulay2021.training import (
    COLOURS,
    MARKS,
    TO_LEAST,
    Regression,
    around,
    draw_problem,
    follow,
    gap,
    train_layers,
    unit_vector,
)
from tacit.papers.measures import exponent, variables
from tacit.papers.reproduction import presets
from tacit.potentials import Bregman, Power
from tacit.show.figures import MUTED, RICH

_SAMPLES, _FEATURES = 3, 6


def balanced(theta: Float, width: int, rng: np.random.Generator) -> tuple[Float, Float]:
    """W = √‖θ‖·θ̂cᵀ and a = √‖θ‖·c with |c| = 1: aᵀa = WᵀW and Wa = θ, units of both signs."""
    share, size = unit_vector(width, rng), np.linalg.norm(theta)
    return np.outer(theta / np.sqrt(size), share), np.sqrt(size) * share


def tipped(inner: Float, outer: Float, by: float, rng: np.random.Generator) -> Float:
    """Add units to W that cancel in the predictor: Wa is unchanged, and WᵀW − aaᵀ is no longer 0."""
    along = outer / np.linalg.norm(outer)
    noise = rng.standard_normal(inner.shape)
    noise -= np.outer(noise @ along, along)
    return np.asarray(inner + by * noise / np.linalg.norm(noise) * np.linalg.norm(inner))


@figure(
    "azulay2021/proposition1",
    **presets(
        widths=([1, 3, 30], [1, 2, 5, 20, 100, 500]),
        scales=([0.01, 1.0], [0.001, 0.01, 0.1, 1.0, 10.0]),
        tips=(4, 9),
    ),
    figsize=(8.8, 2.9),
    ncols=3,
    seconds=4,
    short="balanced networks",
)
class StrictlyBalanced:
    """Strictly balanced networks of one output, aaᵀ = WᵀW (Proposition 1). Left: the minimum of ‖w‖^{3/2} −
    (3/2)‖w̃(0)‖^{−1/2} w̃(0)·w against gradient flow on all weights (filled) and on the reduced network (open).
    Middle: the distance to the minimum-norm solution depends on w̃(0), not on the width; line: Proposition 1.
    Right: with added imbalance, the same w̃(0) leads to other limits.
    """

    def data(
        self, widths: list[int], scales: list[float], tips: int, *, seed: int, progress: Progress
    ) -> xr.Dataset:
        """Train networks of every width and scale in two ways, and networks that are not balanced."""
        rng = np.random.default_rng(seed)
        problem, direction = draw_problem(_SAMPLES, _FEATURES, rng), unit_vector(_FEATURES, rng)
        fine = np.logspace(np.log10(min(scales)) - 0.3, np.log10(max(scales)) + 0.3, 60)
        theory = [gap(_proposition(problem, alpha * direction), problem.smallest) for alpha in fine]
        raw, flow, ways = (np.empty((len(scales), len(widths))) for _ in range(3))
        ends = np.empty((len(scales), len(widths), _FEATURES))
        for j in progress(range(len(widths)), "widths"):
            for i, alpha in enumerate(scales):
                inner, outer = balanced(alpha * direction, widths[j], rng)
                expected = _proposition(problem, alpha * direction)
                U, v = train_layers(inner, outer, problem)
                ends[i, j] = U @ v
                raw[i, j] = gap(ends[i, j], expected)
                flow[i, j] = gap(follow(tacit.LinearNetwork(inner, outer[None]), problem)[0], expected)
                ways[i, j] = gap(ends[i, j], problem.smallest)
        across = np.linalg.norm(ends - ends[:, :1], axis=-1) / np.linalg.norm(ends[:, :1], axis=-1)
        return xr.Dataset(
            {
                **variables("scale width", raw=raw, flow=flow, distance=ways, across=across),
                "theory": ("fine", theory),
                **_imbalanced(problem, direction, tips, rng),
                "far": ("draw", _far(rng)),
            },
            coords={"scale": scales, "width": widths, "fine": fine},
        )

    def draw(self, data: xr.Dataset, axes: Any) -> None:
        """Draw differences by width, distances by scale, and the effect of imbalance."""
        widths = data.width.values
        for i, alpha in enumerate(data.scale.values):
            at = np.arange(widths.size) + 0.8 * (i - (data.scale.size - 1) / 2) / data.scale.size
            colour = COLOURS[i]
            axes[0].plot(at, data.raw[i], "o", color=colour, ms=1.8, label=rf"$\|\tilde w(0)\|={alpha:g}$")
            axes[0].plot(at, data.flow[i], "o", color=colour, ms=4.6, mfc="none", mew=0.8)
        axes[0].axhline(1e-8, color=MUTED, lw=0.8, ls="--")
        axes[0].set(yscale="log", ylim=(1e-14, 1e-7), xlim=(-0.6, widths.size - 0.4))
        axes[0].set_xticks(range(widths.size), [f"{m}" for m in widths])
        axes[0].set(xlabel="width $m$", ylabel="relative difference")
        axes[0].plot([], [], "o", color="0.4", ms=4.6, mfc="none", mew=0.8, label="width taken out")
        axes[0].legend(loc="lower left", fontsize=7)
        axes[1].plot(data.fine, data.theory, color="k", lw=1.1, label="Proposition 1")
        for j, m in enumerate(widths):
            style = {"color": COLOURS[j], "mfc": "none", "ms": 10 - 6.5 * j / max(len(widths) - 1, 1)}
            axes[1].plot(data.scale, data.distance[:, j], MARKS[j], mew=0.9, label=f"$m={m}$", **style)
        axes[1].set(xscale="log", yscale="log", xlim=around(data.fine.values), ylim=(5e-3, 30))
        axes[1].set(xlabel=r"$\|\tilde w(0)\|$", ylabel=TO_LEAST)
        axes[1].legend(loc="upper left", fontsize=7, labelspacing=0.8)
        axes[2].plot(data.tip, data.tipped, "o", color=RICH, label="flow")
        guide = float(data.tipped[0]) * (data.tip / data.tip[0]) ** 2
        axes[2].plot(data.tip, guide, color=MUTED, lw=0.9, ls="--", label="slope 2")
        axes[2].set(xscale="log", yscale="log", xlim=around(data.tip.values), ylim=(1e-7, 2))
        axes[2].set(xlabel=r"imbalance added, $\|W'-W\|\,/\,\|W\|$", ylabel="distance from Proposition 1")
        axes[2].legend(loc="lower right")

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Flows end at the minimum for any width, but only if balanced."""
        differences = {
            "networks with all weights end at the minimum (largest relative difference)": data.raw,
            "and with the reduced network (largest relative difference)": data.flow,
            "the width does not matter (largest relative difference from the narrowest)": data.across,
        }
        for text, found in differences.items():
            flown = at_most(1e-8, "a hundred times the residual at which flows stop")
            yield flown.claim(text, found.max(skipna=False))
        text = "w̃(0) matters: the distance to the minimum-norm solution grows with the scale (factor)"
        yield at_least(2, "a multiple").claim(text, data.distance[-1].min() / data.distance[0].max())
        small = data.tip.values <= 0.1
        yield within(1.9, 2.1, "distinguishes 2 from other powers").claim(
            "small imbalance moves the end quadratically (fitted exponent)",
            exponent(data.tip.values[small], data.tipped.values[small]),
        )
        text = "large imbalance moves it far (distance, factor 3, mean over starts and data)"
        yield at_least(0.1, "a tenth of the predictor").claim(text, data.far.mean(skipna=False))


def _proposition(problem: Regression, start: Float) -> Float:
    """The minimum in Proposition 1."""
    return tacit.limit(Bregman(Power(1.5), start), problem.X, problem.y).predictor


def _far(rng: np.random.Generator) -> Float:
    """Distances from the minimum, for networks whose imbalance is three times as large as their weights, each
    with its own data and start. Single networks differ by factors of ten.
    """
    found = []
    for _ in range(32):
        problem, direction = draw_problem(_SAMPLES, _FEATURES, rng), unit_vector(_FEATURES, rng)
        found.append(_distance(problem, direction, balanced(direction, 8, rng), 3.0, rng))
    return np.array(found)


def _distance(
    problem: Regression, direction: Float, layers: tuple[Float, Float], by: float, rng: np.random.Generator
) -> float:
    """The distance from the minimum to the end of a network with these layers and added imbalance."""
    U, v = train_layers(tipped(*layers, by, rng), layers[1], problem)
    return gap(U @ v, _proposition(problem, direction))


def _imbalanced(problem: Regression, direction: Float, tips: int, rng: np.random.Generator) -> dict[str, Any]:
    """Train networks of the same predictor with increasing imbalance."""
    sizes, layers = np.logspace(-2, 0.5, tips), balanced(direction, 8, rng)
    state = rng.bit_generator.state
    found = []
    for size in sizes:
        rng.bit_generator.state = state  # the same noise at a larger scale
        found.append(_distance(problem, direction, layers, float(size), rng))
    return {"tip": ("tip", sizes), "tipped": ("tip", found)}
