"""Linear networks of one output in Azulay et al. 2021: strictly balanced, and with vanishing weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import xarray as xr

import tacit
from tacit.data import Float
from tacit.figures import KERNEL, MUTED, RICH, TRUTH, side_by_side
from tacit.papers.azulay2021_training import Regression, draw_problem, exponent, follow, train_layers
from tacit.papers.measures import ratio
from tacit.papers.registry import Claim, figure
from tacit.potentials import Bregman, Power

SHRUNK = ("both layers", "the inner layer", "the output layer")  # what goes to 0 with ‖w̃_i(0)‖
_COLOURS = (KERNEL, RICH, TRUTH, "#CC79A7", "#E69F00", "#56B4E9")
_MARKS = ("o", "s", "^", "D", "v", "P")


def balanced(theta: Float, width: int, rng: np.random.Generator) -> tuple[Float, Float]:
    """W = √‖θ‖·θ̂cᵀ and a = √‖θ‖·c with |c| = 1: aᵀa = WᵀW and Wa = θ, units of both signs."""
    share = rng.standard_normal(width)
    share /= np.linalg.norm(share)
    size = np.linalg.norm(theta)
    return np.outer(theta / np.sqrt(size), share), np.sqrt(size) * share


def tipped(inner: Float, outer: Float, by: float, rng: np.random.Generator) -> Float:
    """W with units added that cancel in the predictor: Wa stays, and WᵀW − aaᵀ is no longer 0."""
    along = outer / np.linalg.norm(outer)
    noise = rng.standard_normal(inner.shape)
    noise -= np.outer(noise @ along, along)
    return np.asarray(inner + by * noise / np.linalg.norm(noise) * np.linalg.norm(inner))


def gap(found: Float, expected: Float) -> float:
    """‖found − expected‖/‖expected‖."""
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


def _around(values: Float) -> tuple[float, float]:
    """Limits of a logarithmic axis, given so that what cannot be drawn does not decide them."""
    return float(values.min()) / 1.6, float(values.max()) * 1.6


@figure(
    "azulay2021/proposition1",
    quick={"samples": 3, "features": 6, "widths": [1, 3, 30], "scales": [0.01, 1.0], "tips": 4},
    paper={
        "samples": 3,
        "features": 6,
        "widths": [1, 2, 5, 20, 100, 500],
        "scales": [0.001, 0.01, 0.1, 1.0, 10.0],
        "tips": 9,
    },
    figsize=(8.8, 2.9),
    ncols=3,
)
class StrictlyBalanced:
    """Strictly balanced networks of one output, aaᵀ = WᵀW (Proposition 1). Left: the minimum of ‖w‖^{3/2} −
    (3/2)‖w̃(0)‖^{−1/2} w̃(0)·w against gradient flow on every weight (filled) and with the width taken out
    (open). Middle: the distance to least norm depends on w̃(0), not on the width; line: Proposition 1. Right:
    the same w̃(0) with imbalance added leaves that minimum.
    """

    def data(
        self,
        samples: int,
        features: int,
        widths: list[int],
        scales: list[float],
        tips: int,
        *,
        seed: int,
        progress: Callable[..., Any],
    ) -> xr.Dataset:
        """Networks of every width and scale, trained twice; and networks that are not balanced."""
        rng = np.random.default_rng(seed)
        problem = draw_problem(samples, features, rng)
        direction = rng.standard_normal(features)
        direction /= np.linalg.norm(direction)
        fine = np.logspace(np.log10(min(scales)) - 0.3, np.log10(max(scales)) + 0.3, 60)
        theory = [gap(_proposition(problem, alpha * direction), problem.smallest) for alpha in fine]
        raw, flow, ways = (np.empty((len(scales), len(widths))) for _ in range(3))
        ends = np.empty((len(scales), len(widths), features))
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
                "raw": (("scale", "width"), raw),
                "flow": (("scale", "width"), flow),
                "distance": (("scale", "width"), ways),
                "across": (("scale", "width"), across),
                "theory": ("fine", theory),
                **_imbalanced(problem, direction, tips, rng),
            },
            coords={"scale": scales, "width": widths, "fine": fine},
        )

    def draw(self, data: xr.Dataset, axes: Any) -> None:
        """Differences against the width, the distance against the scale, and what imbalance does."""
        widths = data.width.values
        for i, alpha in enumerate(data.scale.values):
            at = np.arange(widths.size) + 0.8 * (i - (data.scale.size - 1) / 2) / data.scale.size
            colour = _COLOURS[i]
            axes[0].plot(at, data.raw[i], "o", color=colour, ms=1.8, label=rf"$\|\tilde w(0)\|={alpha:g}$")
            axes[0].plot(at, data.flow[i], "o", color=colour, ms=4.6, mfc="none", mew=0.8)
        axes[0].axhline(1e-8, color=MUTED, lw=0.8, ls="--")
        axes[0].set(yscale="log", ylim=(1e-14, 1e-7), xlim=(-0.6, widths.size - 0.4))
        axes[0].set_xticks(range(widths.size), [f"{m}" for m in widths])
        axes[0].set_xlabel("width $m$")
        axes[0].set_ylabel("relative difference")
        axes[0].plot([], [], "o", color="0.4", ms=4.6, mfc="none", mew=0.8, label="width taken out")
        axes[0].legend(loc="lower left", fontsize=7)
        axes[1].plot(data.fine, data.theory, color="k", lw=1.1, label="Proposition 1")
        for j, m in enumerate(widths):
            style = {"color": _COLOURS[j], "mfc": "none", "ms": 10 - 6.5 * j / max(len(widths) - 1, 1)}
            axes[1].plot(data.scale, data.distance[:, j], _MARKS[j], mew=0.9, label=f"$m={m}$", **style)
        axes[1].set(xscale="log", yscale="log", xlim=_around(data.fine.values), ylim=(5e-3, 30))
        axes[1].set_xlabel(r"$\|\tilde w(0)\|$")
        axes[1].set_ylabel(r"$\|\tilde w(\infty)-\hat w\|\,/\,\|\hat w\|$")
        axes[1].legend(loc="upper left", fontsize=7, labelspacing=0.8)
        axes[2].plot(data.tip, data.tipped, "o", color=RICH, label="flow")
        guide = float(data.tipped[0]) * (data.tip / data.tip[0]) ** 2
        axes[2].plot(data.tip, guide, color=MUTED, lw=0.9, ls="--", label="slope 2")
        axes[2].set(xscale="log", yscale="log", xlim=_around(data.tip.values), ylim=(1e-7, 2))
        axes[2].set_xlabel(r"imbalance added, $\|W'-W\|\,/\,\|W\|$")
        axes[2].set_ylabel("distance from Proposition 1")
        axes[2].legend(loc="lower right")

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """The minimum is the end, whatever the width, and only under balance."""
        yield Claim(
            "every weight integrated, networks end at the minimum (largest relative difference)",
            float(data.raw.max(skipna=False)),
            at_most=1e-8,
        )
        yield Claim(
            "and with the width taken out (largest relative difference)",
            float(data.flow.max(skipna=False)),
            at_most=1e-8,
        )
        yield Claim(
            "the width does not matter (largest relative difference from the narrowest)",
            float(data.across.max(skipna=False)),
            at_most=1e-8,
        )
        yield Claim(
            "w̃(0) does: the distance to least norm grows by a factor from the smallest to the largest scale",
            float(data.distance[-1].min() / data.distance[0].max()),
            at_least=2,
        )
        small = data.tip.values <= 0.1
        yield Claim(
            "imbalance moves the end, quadratically at first (fitted exponent)",
            exponent(data.tip.values[small], data.tipped.values[small]),
            at_least=1.9,
            at_most=2.1,
        )
        yield Claim(
            "and far, if it exceeds the weights (distance, factor 3)", float(data.tipped[-1]), at_least=0.02
        )


def _proposition(problem: Regression, start: Float) -> Float:
    """The minimum in Proposition 1."""
    return tacit.limit(Bregman(Power(1.5), start), problem.X, problem.y).predictor


def _imbalanced(problem: Regression, direction: Float, tips: int, rng: np.random.Generator) -> dict[str, Any]:
    """Ends of networks of the same predictor, more and more imbalanced."""
    sizes, expected = np.logspace(-2, 0.5, tips), _proposition(problem, direction)
    inner, outer = balanced(direction, 8, rng)
    state = rng.bit_generator.state
    found = []
    for size in sizes:
        rng.bit_generator.state = state  # the same noise, larger
        U, v = train_layers(tipped(inner, outer, float(size), rng), outer, problem)
        found.append(gap(U @ v, expected))
    return {"tip": ("tip", sizes), "tipped": ("tip", found)}


@figure(
    "azulay2021/theorem3",
    quick={"samples": 4, "features": 10, "widths": [2, 20], "seeds": 2, "scales": 4},
    paper={"samples": 4, "features": 10, "widths": [2, 10, 100], "seeds": 3, "scales": 9},
    figsize=(8.0, 3.2),
    ncols=2,
)
class VanishingWeights:
    """Linear networks of small weights end near least norm (Theorem 3). Left: Gaussian weights, deviation σ;
    markers: gradient flow; crosses: ‖P⊥W(0)a(∞)‖ with a(∞) from an integration of every weight; lines:
    σ‖ŵ‖^{1/2}‖P⊥Wc‖, the first order in σ, c the unit vector along a + Wᵀŷ. Right: a network of width 2 whose
    ‖w̃_i(0)‖ = |a_i|‖w_i‖ is made small in three ways. It is ‖w_i(0)‖ that must vanish.
    """

    def data(
        self,
        samples: int,
        features: int,
        widths: list[int],
        seeds: int,
        scales: int,
        *,
        seed: int,
        progress: Callable[..., Any],
    ) -> xr.Dataset:
        """Gaussian networks at every deviation, and one network shrunk in three ways."""
        rng = np.random.default_rng(seed)
        problem = draw_problem(samples, features, rng)
        sigma = np.logspace(-4, 0, scales)
        shape = (len(widths), seeds, scales)
        distance, formula, first = np.empty(shape), np.empty(shape), np.empty(shape)
        for j in progress(range(len(widths)), "widths"):
            for k in range(seeds):
                drawn = _draw_layers(features, widths[j], rng)
                first[j, k] = sigma * first_order(problem, *drawn)
                for i, size in enumerate(sigma):
                    inner, outer = size * drawn[0], size * drawn[1]
                    distance[j, k, i] = _distance(problem, inner, outer)
                    formula[j, k, i] = exact_distance(problem, inner, outer)
        draws = ("width", "draw", "sigma")
        return xr.Dataset(
            {
                "distance": (draws, distance),
                "formula": (draws, formula),
                "first_order": (draws, first),
                **_three_ways(problem, _draw_layers(features, 2, rng), scales),
            },
            coords={"width": widths, "sigma": sigma, "way": list(SHRUNK)},
        )

    def draw(self, data: xr.Dataset, axes: Any) -> None:
        """Distances against the deviation, and against ‖w̃_i(0)‖."""
        left, right = axes
        for j, m in enumerate(data.width.values):
            for k in range(data.sizes["draw"]):
                label = f"$m={m}$" if k == 0 else None
                colour = _COLOURS[j]
                left.plot(data.sigma, data.first_order[j, k], color=colour, lw=0.7)
                at = side_by_side(data.sigma, j, data.width.size, 0.16)
                left.plot(at, data.distance[j, k], "o", color=colour, mfc="none", ms=5, label=label)
                left.plot(at, data.formula[j, k], "x", color="k", ms=3, mew=0.7)
        left.plot([], [], "x", color="k", ms=3, mew=0.7, label=r"$\|P_\perp W(0)a(\infty)\|$")
        left.plot([], [], color="0.4", lw=0.7, label=r"first order in $\sigma$")
        left.set(xscale="log", yscale="log", xlim=_around(data.sigma.values), ylim=(1e-5, 1e2))
        left.set_xlabel(r"deviation $\sigma$ of the weights")
        left.set_ylabel(r"$\|\tilde w(\infty)-\hat w\|\,/\,\|\hat w\|$")
        for k, name in enumerate(SHRUNK):
            right.plot(data.largest, data.by_way[k], _MARKS[k] + "-", color=_COLOURS[k], lw=0.9, label=name)
        right.axhline(data.left_over, color=MUTED, lw=0.9, ls="--", label="from $a(0)=0$")
        right.set(xscale="log", yscale="log", xlim=_around(data.largest.values), ylim=(1e-7, 20))
        right.set_xlabel(r"$\max_i\|\tilde w_i(0)\|$")
        right.set_ylabel(r"$\|\tilde w(\infty)-\hat w\|\,/\,\|\hat w\|$")
        left.legend(loc="lower right")
        right.legend(loc="lower right", title="what is shrunk", title_fontsize=8)

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Slope 1, the exact distance, its first order, and the condition."""
        sigma, distance = data.sigma.values, data.distance.values
        small = sigma <= 1e-2
        rates = [exponent(sigma[small], d[small]) for d in distance.reshape(-1, len(sigma))]
        yield Claim(
            "the distance to least norm falls like σ (least fitted exponent)",
            float(np.min(rates)),
            at_least=0.95,
        )
        yield Claim("and no faster (largest fitted exponent)", float(np.max(rates)), at_most=1.05)
        yield Claim(
            "it is ‖P⊥W(0)a(∞)‖ (largest relative difference)",
            float(np.abs(data.formula.values / distance - 1).max()),
            at_most=1e-6,
        )
        yield Claim(
            "and σ‖ŵ‖^{1/2}‖P⊥Wc‖ to first order (largest relative difference at the smallest σ)",
            float(np.abs(data.first_order.values / distance - 1)[..., 0].max()),
            at_most=0.01,
        )
        ways = dict(zip(SHRUNK, data.by_way.values, strict=True))
        for name in SHRUNK[:2]:
            yield Claim(
                f"shrinking {name} ends at least norm (distance at the smallest)", ways[name][0], at_most=0.02
            )
        held = ways[SHRUNK[2]]
        yield Claim(
            "shrinking the output layer alone does not, though ‖w̃_i(0)‖ → 0 (distance at the smallest)",
            held[0],
            at_least=0.1,
        )
        yield Claim(
            "it stays where a(0) = 0 ends (relative difference)",
            abs(ratio(held[0], float(data.left_over)) - 1),
            at_most=1e-3,
        )


def first_order(problem: Regression, inner: Float, outer: Float) -> float:
    """‖P⊥W(0)a(∞)‖/σ as σ → 0: the weights leave 0 along one hidden direction c, and stay on it.

    There Z = [W; a] grows along (ŷ, 1), ŷ the direction of Xᵀy, and so c ∝ Wᵀŷ + a. From then on W = ωcᵀ and
    a = |a|·c with |a| = ‖ω‖, so that |a(∞)|² = ‖ŵ‖.
    """
    towards = problem.y @ problem.X
    along = towards / np.linalg.norm(towards) @ inner + outer
    along /= np.linalg.norm(along)
    size = np.sqrt(np.linalg.norm(problem.smallest))
    return float(size * np.linalg.norm(problem.unseen(inner @ along)))


def exact_distance(problem: Regression, inner: Float, outer: Float) -> float:
    """‖P⊥W(0)a(∞)‖, in units of ‖ŵ‖."""
    last = train_layers(inner, outer, problem)[1]
    return float(np.linalg.norm(problem.unseen(inner @ last)) / np.linalg.norm(problem.smallest))


def _distance(problem: Regression, inner: Float, outer: Float) -> float:
    """From the end of gradient flow to the solution of least norm."""
    return gap(follow(tacit.LinearNetwork(inner, outer[None]), problem)[0], problem.smallest)


def _draw_layers(features: int, width: int, rng: np.random.Generator) -> tuple[Float, Float]:
    return rng.standard_normal((features, width)), rng.standard_normal(width)


def _three_ways(problem: Regression, layers: tuple[Float, Float], scales: int) -> dict[str, Any]:
    """The distance as ‖w̃_i(0)‖ vanishes with both layers, the inner one, or the output layer alone."""
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
