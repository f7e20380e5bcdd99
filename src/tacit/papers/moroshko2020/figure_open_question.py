"""The open question of Moroshko et al. 2020, Section 5: the path of flows when a support vector leaves.

By Theorem 6 they follow the Q_μ path as long as no support vector leaves. The paper asks whether they do so
at large scales even if one leaves. They do not: as the scale grows they approach a sweeping process
(`tacit.sweeping_path`), which differs from the path after the first departure.

Errata
------
### The open question of Section 5: the flow does not follow the Q_μ path when a support vector leaves
- **Question.** Does the trajectory follow the Q_μ path for sufficiently large scales even where
  Condition 5 fails?
- **Answer.** No. As α → ∞ at fixed μ = α^D/γ̃ the flow tends to a sweeping process, θ′ ≥ 0, m_n ≥ g,
  θ′_n(m_n − g) = 0 with g = 1/μ (`tacit.sweeping_path`). It is the Q_μ path until a sample leaves the
  support. The multipliers θ of the flow can only grow; those of the path may fall.
- **Evidence.** On data where a sample leaves, the distance of the flow to the process falls like log λ/λ,
  λ = α^D, to 4e-8 at λ = 1e8; to the Q_μ path it is 0.063 at every λ from 1e3 to 1e8. `tacit reproduce
  moroshko2020/open-question`
- **Tests.** `test_flows_approach_the_sweeping_process_and_not_the_path` in
  `tests/verbs/test_margin_paths.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

import tacit
from tacit.data.arrays import Float
from tacit.papers import Claim, Progress, at_least, at_most, figure, within
from tacit.papers.measures import exponent, first, share
from tacit.papers.moroshko2020 import data as samples
from tacit.papers.moroshko2020.drawing import shade
from tacit.papers.moroshko2020.margins import between, raw_weights
from tacit.papers.moroshko2020.trajectories import apart, unit, worst
from tacit.papers.reproduction import presets
from tacit.show.figures import RICH

DEPTHS = (2, 3)
_EXACT = 1e-10  # relative accuracy of the flows, below their distances to the limit
_RANGE = (10.0, 1e-6)  # of μ
_DRAWN_RANGE = (10.0, 1e-3)
_LEAVING = (1.0, 1e-2)  # range of μ in which a sample must leave in randomly drawn datasets
_BESIDE = (-0.1, -0.01, 0.0, 0.01, 0.1)  # offsets in log μ around a change of the support
_AXIS = (1e-10, 0.5)  # range of distances in the figure
_SHADES = (1.0, 8.0), (0.0, 1.0)  # log10 λ from light to dark, the same in every preset
_LEGEND: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.19), "columnspacing": 1.4}
_TRIES = 1000  # a sample leaves in one of five datasets


def distances(
    rows: Float, depth: int, sizes: list[float], mu: Float, progress: Progress
) -> tuple[Float, bool]:
    """Distances of flows to the sweeping process and to the Q_μ path for each α^D and μ; and convergence."""
    labels, targets = np.ones(len(rows)), curves(rows, depth, mu)
    found, good = np.full((2, len(sizes), len(mu)), np.nan), True
    for i, size in enumerate(progress(sizes, f"flows of depth {depth}")):
        model = tacit.Diagonal(depth=depth, log_scale=np.log(size) / depth)
        run = tacit.flow(model, rows, labels, loss="exp", at=size / mu, rtol=_EXACT)
        good &= bool(run.converged)
        for k, target in enumerate(targets):
            reached = len(run.accuracy)
            found[k, i, :reached] = apart(unit(run.predictor), target[:reached])
    return found, good


def of_raw_weights(rows: Float, depth: int, size: float, mu: Float) -> Float:
    """The distance of the flow of raw weights to the sweeping process; NaN if it does not converge."""
    run = raw_weights(depth, size, rows, size / mu)
    if not run.converged:
        return np.full(len(mu), np.nan)
    return apart(unit(run.predictor), curves(rows, depth, mu)[0])


def curves(rows: Float, depth: int, mu: Float) -> list[Float]:
    """Directions of the sweeping process and of the Q_μ path."""
    verbs = (tacit.sweeping_path, tacit.margin_path)
    return [unit(verb(rows, np.ones(len(rows)), mu, depth=depth).predictors) for verb in verbs]


def departures(rows: Float, depth: int, mu: Float) -> Float:
    """Decreasing values of μ at which samples leave the support of the flow at infinite scale."""
    events = tacit.sweeping_path(rows, np.ones(len(rows)), mu, depth=depth).events
    return np.array([event.mu for event in events if not event.enters])


def around(even: Float, changes: Float) -> Float:
    """Decreasing values of μ: the given ones, the changes of the support, and some values close to them."""
    near = between(np.outer(changes, np.exp(_BESIDE)).ravel(), (even[0], even[-1]))
    return np.unique([*even, *near])[::-1]


def draw_dataset(rng: np.random.Generator) -> Float:
    """Draw four Gaussian samples with five features such that one leaves at a μ between 1 and 0.01."""
    for _ in range(_TRIES):
        rows = rng.standard_normal((4, 5))
        leaving = first(departures(rows, 2, np.array(_DRAWN_RANGE)))
        if _LEAVING[1] <= leaving <= _LEAVING[0]:
            break
    return rows


def _on_drawn(rows: Float, sizes: list[float], mu: Float) -> tuple[Float, float, bool]:
    """Distances of flows and of the two curves after a sample has left, and whether all flows converged."""
    late = mu < first(departures(rows, 2, mu))
    found, good = distances(rows, 2, sizes, mu, lambda each, _: each)
    return found[..., late].max(axis=-1), float(apart(*curves(rows, 2, mu))[late].max()), good


@figure(
    "moroshko2020/open-question",
    **presets(sizes=([1e3, 1e6], [1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8]), levels=(29, 61), draws=(3, 8)),
    ncols=2,
    width_ratios=[1.15, 1],
    figsize=(8.8, 4.3),
    about=("Condition 5",),
    seconds=6,
    short="which path, then?",
)
class WhatFlowsFollow:
    """Distances of flows to their limit at infinite scale and to the Q_μ path when samples leave (Section 5).

    On the data of Figure 3d, and on random data.
    """

    def data(
        self, sizes: list[float], levels: int, draws: int, *, seed: int, progress: Progress
    ) -> xr.Dataset:
        """Compute flows of increasing scale at the same values of μ as both paths."""
        rows, even = samples.SUPPORT_LEAVES, np.geomspace(*_RANGE, levels)
        gone = [departures(rows, depth, even) for depth in DEPTHS]
        kinks = [kink.mu for kink in tacit.margin_path(rows, samples.LABELS, even).kinks]
        mu = around(even, np.concatenate([*gone, kinks]))
        runs, reached = zip(*(distances(rows, depth, sizes, mu, progress) for depth in DEPTHS), strict=True)
        rng, few = np.random.default_rng(seed), np.geomspace(*_DRAWN_RANGE, 13)
        others = progress([draw_dataset(rng) for _ in range(draws)], "datasets")
        drawn, parted, good = zip(*(_on_drawn(other, sizes, few) for other in others), strict=True)
        raw = [of_raw_weights(rows, depth, sizes[0], mu) for depth in DEPTHS]
        after = [w[..., mu < g[0]].max(axis=-1) for w, g in zip(runs, gone, strict=True)]
        return xr.Dataset(
            {
                "distance": (("depth", "target", "size", "mu"), list(runs)),
                "worst": (("depth", "target", "size"), after),
                "drawn_worst": (("draw", "target", "size"), list(drawn)),
                "drawn_apart": ("draw", list(parted)),
                "raw_distance": (("depth", "mu"), raw),
                "leaves": ("event", gone[0]),
                "first_leaves": ("depth", [first(g) for g in gone]),
                "kink": first(np.array(kinks)),
                "reached": ("run", np.array([*reached, *good], dtype=int)),
            },
            coords={"depth": list(DEPTHS), "target": ["infinite", "path"], "size": sizes, "mu": mu},
        )

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """Draw the distances against μ, and their maxima against the scale."""
        _draw_along(data, ax[0])
        _draw_worst(data, ax[1])

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Claims that answer the question."""
        text = "flows reach the required accuracy (fraction)"
        yield at_least(0.6, "most", of=data.reached.size).claim(text, share(data.reached.values))
        large = data["size"].values >= 1e3
        sizes = data["size"].values[large]
        for depth in data.depth.values:
            infinite, path = data.worst.sel(depth=depth).values[:, large]
            leaves = float(data.first_leaves.sel(depth=depth))
            before = worst(data.distance.sel(depth=depth, target="path").values[-1], data.mu > leaves)
            yield at_most(1e-4, "log λ/λ at λ = 1e6, with a safety margin").claim(
                f"depth {depth}: until a sample leaves, at μ = {leaves:.3g}, flows follow the Q_μ path "
                "(largest distance at the largest scale)",
                before,
            )
            text = f"depth {depth}: after that they do not (largest distance at the largest scale)"
            yield at_least(0.03, "three percent of the predictor, at the largest scale").claim(text, path[-1])
            yield at_least(0.9, "the distance remains although λ is a thousand times larger").claim(
                f"depth {depth}: and this distance remains as the scale grows (relative to a smaller scale)",
                path[-1] / path[0],
            )
            text = f"depth {depth}: they follow the sweeping process (largest distance at the largest scale)"
            yield at_most(1e-4, "log λ/λ at λ = 1e6, with a safety margin").claim(text, infinite[-1])
            yield within(-1.1, -0.9, "distinguishes −1 from −1/2").claim(
                f"depth {depth}: the distance is λ^-1 log λ with λ = α^D (exponent of λ without the log)",
                exponent(sizes, infinite / np.log(sizes)),
            )
        shown = data.distance.sel(target="infinite").isel(size=0).values
        yield at_most(1e-6, "a hundred times the tolerance of the integrators").claim(
            "at the smallest scale raw weights have the same distance (largest difference)",
            np.abs(data.raw_distance.values - shown).max(),
        )
        yield from self._drawn(data)

    def _drawn(self, data: xr.Dataset) -> Iterator[Claim]:
        infinite, path = data.drawn_worst.values.transpose(1, 0, 2)[..., -1]
        shares = path / data.drawn_apart.values
        yield at_least(20, "more than an order of magnitude").claim(
            "data drawn at random: flows are off the path by more than off the sweeping process, times "
            "(geometric mean of draws)",
            np.exp(np.log(path / infinite).mean()),
        )
        yield within(0.9, 1.1, "the distance does not depend on the scale").claim(
            "data drawn at random: by as much as the sweeping process itself, at the largest scale "
            "(share of that, the farthest from 1)",
            shares[np.argmax(np.abs(shares - 1))],
        )


def _draw_along(data: xr.Dataset, ax: Any) -> None:
    """Draw the distances at the same μ for each scale at depth 2."""
    sizes = data["size"].values
    for size in sizes:
        colour = shade(float(np.interp(np.log10(size), *_SHADES)))
        infinite, path = data.distance.sel(depth=2, size=size)
        ax.plot(data.mu, path, color=colour, lw=1.0, ls=(0, (3, 2)), zorder=2)
        name = rf"$\lambda=10^{{{round(np.log10(size))}}}$"
        ax.plot(data.mu, infinite, color=colour, lw=1.6, label=name, zorder=3)
    ax.plot([], [], color="0.4", lw=1.6, label="to sweeping process")
    ax.plot([], [], color="0.4", lw=1.0, ls=(0, (3, 2)), label=r"to $Q_\mu$ path")
    left = (("a sample leaves the flow", RICH, data.leaves.values), (r"… the $Q_\mu$ path", "k", [data.kink]))
    for name, color, levels in left:
        for k, mu in enumerate(levels):
            ax.axvline(float(mu), color=color, lw=0.9, ls=":", zorder=1, label=None if k else name)
    ax.set(xscale="log", yscale="log", ylim=_limits(data.distance.sel(depth=2)))
    ax.set_xlim(data.mu.values.max(), data.mu.values.min())
    ax.set(xlabel=r"$\mu=\lambda/\tilde\gamma$", ylabel="distance of directions at the same $\\mu$")
    ax.legend(**_LEGEND, ncols=3)


def _draw_worst(data: xr.Dataset, ax: Any) -> None:
    """Draw the largest distance after the first departure against the scale."""
    sizes = data["size"].values
    for pair in data.drawn_worst.values:
        for values, color in zip(pair, (RICH, "k"), strict=True):
            ax.plot(sizes, values, color=color, lw=0.6, alpha=0.35, zorder=1)
    names = {"infinite": (RICH, "to sweeping process"), "path": ("k", r"to $Q_\mu$ path")}
    for target, (color, name) in names.items():
        for depth, marker in zip(data.depth.values, "os", strict=True):
            values = data.worst.sel(depth=depth, target=target)
            style = {"marker": marker, "color": color, "mfc": color if depth == 2 else "w", "ls": "none"}
            ax.plot(sizes, values, label=f"{name}, $D={depth}$", zorder=3, **style)
    late = sizes[sizes >= 1e3]
    if late.size:
        guide = np.log(late) / late
        guide *= float(data.worst.sel(depth=2, target="infinite", size=late[-1])) / guide[-1]
        ax.plot(late, guide, color=RICH, lw=1, ls="--", zorder=2, label=r"$\propto\log\lambda/\lambda$")
    ax.plot([], [], color="0.5", lw=0.6, label="data drawn at random")
    ax.set(xscale="log", yscale="log", ylim=_limits(data.worst, data.drawn_worst))
    ax.set_xlabel(r"scale of the predictor, $\lambda=\alpha^D$")
    ax.set_ylabel("largest distance after a sample leaves")
    ax.legend(**_LEGEND, ncols=2)


def _limits(*shown: Any) -> tuple[float, float]:
    """The limits of an axis of distances, from the power of ten below all of them."""
    values = np.concatenate([np.ravel(each) for each in shown])
    known = values[np.isfinite(values) & (values > _AXIS[0])]
    return 10.0 ** np.floor(np.log10(known.min(initial=_AXIS[1]))), _AXIS[1]
