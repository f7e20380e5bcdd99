"""Figure on Theorem 3 of Azulay et al. 2021: linear networks with vanishing weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

import tacit
from tacit.data.arrays import Float
from tacit.papers import Claim, Progress, at_least, at_most, figure
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
)
from tacit.papers.measures import exponent, ratio, variables
from tacit.papers.reproduction import presets
from tacit.show.figures import MUTED, side_by_side

# The weights that vanish together with ‖w̃_i(0)‖.
SHRUNK = ("both layers", "the inner layer", "the output layer")
_SAMPLES, _FEATURES = 4, 10


@figure(
    "azulay2021/theorem3",
    **presets(widths=([2, 20], [2, 10, 100]), seeds=(2, 3), scales=(4, 9)),
    figsize=(8.0, 3.2),
    ncols=2,
    seconds=12,
)
class VanishingWeights:
    """Linear networks with small weights end near the minimum-norm solution (Theorem 3). Left: Gaussian
    weights of standard deviation σ; markers: gradient flow; crosses: ‖P⊥W(0)a(∞)‖ with a(∞) from an
    integration of all weights; lines: σ‖ŵ‖^{1/2}‖P⊥Wc‖, the first order in σ, with the unit vector c along
    a + Wᵀŷ. Right: a network of width 2 whose ‖w̃_i(0)‖ = |a_i|‖w_i‖ vanishes in three ways. Only vanishing
    ‖w_i(0)‖ suffices.
    """

    def data(
        self, widths: list[int], seeds: int, scales: int, *, seed: int, progress: Progress
    ) -> xr.Dataset:
        """Train Gaussian networks of every standard deviation, and one network scaled down in three ways."""
        rng = np.random.default_rng(seed)
        problem = draw_problem(_SAMPLES, _FEATURES, rng)
        sigma = np.logspace(-4, 0, scales)
        shape = (len(widths), seeds, scales)
        distance, formula, first = np.empty(shape), np.empty(shape), np.empty(shape)
        for j in progress(range(len(widths)), "widths"):
            for k in range(seeds):
                drawn = _draw_layers(widths[j], rng)
                first[j, k] = sigma * first_order(problem, *drawn)
                for i, size in enumerate(sigma):
                    inner, outer = size * drawn[0], size * drawn[1]
                    distance[j, k, i] = _distance(problem, inner, outer)
                    formula[j, k, i] = exact_distance(problem, inner, outer)
        return xr.Dataset(
            {
                **variables("width draw sigma", distance=distance, formula=formula, first_order=first),
                **_three_ways(problem, _draw_layers(2, rng), scales),
            },
            coords={"width": widths, "sigma": sigma, "way": list(SHRUNK)},
        )

    def draw(self, data: xr.Dataset, axes: Any) -> None:
        """Draw the distances against the standard deviation, and against ‖w̃_i(0)‖."""
        left, right = axes
        for j, m in enumerate(data.width.values):
            for k in range(data.sizes["draw"]):
                style = {"color": COLOURS[j], "mfc": "none", "ms": 5, "label": None if k else f"$m={m}$"}
                left.plot(data.sigma, data.first_order[j, k], color=COLOURS[j], lw=0.7)
                at = side_by_side(data.sigma, j, data.width.size, 0.16)
                left.plot(at, data.distance[j, k], "o", **style)
                left.plot(at, data.formula[j, k], "x", color="k", ms=3, mew=0.7)
        left.plot([], [], "x", color="k", ms=3, mew=0.7, label=r"$\|P_\perp W(0)a(\infty)\|$")
        left.plot([], [], color="0.4", lw=0.7, label=r"first order in $\sigma$")
        left.set(xscale="log", yscale="log", xlim=around(data.sigma.values), ylim=(1e-5, 1e2))
        left.set(xlabel=r"standard deviation $\sigma$ of the weights", ylabel=TO_LEAST)
        for k, name in enumerate(SHRUNK):
            right.plot(data.largest, data.by_way[k], MARKS[k] + "-", color=COLOURS[k], lw=0.9, label=name)
        right.axhline(data.left_over, color=MUTED, lw=0.9, ls="--", label="from $a(0)=0$")
        right.set(xscale="log", yscale="log", xlim=around(data.largest.values), ylim=(1e-7, 20))
        right.set(xlabel=r"$\max_i\|\tilde w_i(0)\|$", ylabel=TO_LEAST)
        left.legend(loc="lower right")
        right.legend(loc="lower right", title="what is shrunk", title_fontsize=8)

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Slope 1, the exact distance, its first order in σ, and the condition of the theorem."""
        sigma, distance = data.sigma.values, data.distance.values
        small = sigma <= 1e-2
        rates = [exponent(sigma[small], d[small]) for d in distance.reshape(-1, len(sigma))]
        text = "the distance to the minimum-norm solution decreases like σ (smallest fitted exponent)"
        yield at_least(0.95, "distinguishes 1 from other powers").claim(text, np.min(rates))
        text = "and no faster (largest fitted exponent)"
        yield at_most(1.05, "distinguishes 1 from other powers").claim(text, np.max(rates))
        yield at_most(1e-6, "the residual of the flow, relative to a distance of σ").claim(
            "the distance is ‖P⊥W(0)a(∞)‖ (largest relative difference)",
            np.abs(data.formula.values / distance - 1).max(),
        )
        yield at_most(0.02, "to first order; the next is smaller by σ").claim(
            "and σ‖ŵ‖^{1/2}‖P⊥Wc‖ to first order (largest relative difference at the smallest σ)",
            np.abs(data.first_order.values / distance - 1)[..., 0].max(),
        )
        ways = dict(zip(SHRUNK, data.by_way.values, strict=True))
        for name in SHRUNK[:2]:
            text = f"shrinking {name} leads to the minimum-norm solution (distance at the smallest)"
            yield at_most(0.02, "a fiftieth of the predictor").claim(text, ways[name][0])
        held = ways[SHRUNK[2]]
        text = (
            "scaling down the output layer alone does not, although ‖w̃_i(0)‖ → 0 (distance at the smallest)"
        )
        yield at_least(0.01, "three times the largest distance of the others").claim(text, held[0])
        yield at_most(1e-3, "a thousandth of the distance").claim(
            "it tends to the end of a(0) = 0 (relative difference)",
            abs(ratio(held[0], float(data.left_over)) - 1),
        )


def first_order(problem: Regression, inner: Float, outer: Float) -> float:
    """The limit of ‖P⊥W(0)a(∞)‖/σ as σ → 0, where the weights grow along one hidden direction c.

    There Z = [W; a] grows along (ŷ, 1), ŷ the direction of Xᵀy, and so c ∝ Wᵀŷ + a. From then on W = ωcᵀ and
    a = |a|·c with |a| = ‖ω‖, so that |a(∞)|² = ‖ŵ‖.
    """
    towards = problem.y @ problem.X
    along = towards / np.linalg.norm(towards) @ inner + outer
    along /= np.linalg.norm(along)
    size = np.sqrt(np.linalg.norm(problem.smallest))
    return float(size * np.linalg.norm(problem.unseen(inner @ along)))


def exact_distance(problem: Regression, inner: Float, outer: Float) -> float:
    """‖P⊥W(0)a(∞)‖/‖ŵ‖."""
    last = train_layers(inner, outer, problem)[1]
    return float(np.linalg.norm(problem.unseen(inner @ last)) / np.linalg.norm(problem.smallest))


def _distance(problem: Regression, inner: Float, outer: Float) -> float:
    """The distance from the end of gradient flow to the minimum-norm solution."""
    return gap(follow(tacit.LinearNetwork(inner, outer[None]), problem)[0], problem.smallest)


def _draw_layers(width: int, rng: np.random.Generator) -> tuple[Float, Float]:
    return rng.standard_normal((_FEATURES, width)), rng.standard_normal(width)


def _three_ways(problem: Regression, layers: tuple[Float, Float], scales: int) -> dict[str, Any]:
    """The distance as ‖w̃_i(0)‖ vanishes by scaling both layers, the inner layer or the output layer."""
    (inner, outer), sizes = layers, np.logspace(-6, 0, scales)
    factors = [(np.sqrt(sizes), np.sqrt(sizes)), (sizes, np.ones(scales)), (np.ones(scales), sizes)]
    found = [
        [_distance(problem, f * inner, g * outer) for f, g in zip(*pair, strict=True)] for pair in factors
    ]
    largest = float(np.max(np.linalg.norm(inner, axis=0) * np.abs(outer)))
    return {
        "largest": ("size", largest * sizes),
        "by_way": (("way", "size"), found),
        "left_over": _distance(problem, inner, 0 * outer),
    }
