"""Figures 7 and 8: norms along flows if the ℓ1 margin is not unique, and if there are many local margins.

Figures 7 and 8 of Moroshko et al. 2020 (Section 5 and Appendix H).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from tacit.data.arrays import Float
from tacit.papers import Claim, Progress, at_least, at_most, figure
from tacit.papers.measures import largest_fall, least, ratio, share, variables
from tacit.papers.moroshko2020.data import MANY_L1
from tacit.papers.moroshko2020.drawing import (
    L1,
    colour_of,
    drawn_as,
    legend_beside,
    power_of_ten,
)
from tacit.papers.moroshko2020.margins import (
    along,
    best_margin,
    followed,
    levels,
    local_margins,
    margins_on_path,
    middle,
    off_path,
    off_raw_weights,
    over_margin,
    points_of_edge,
    raw_weights_claim,
    size,
)
from tacit.papers.reproduction import presets
from tacit.show.figures import MUTED, RICH, TRUTH


def in_norms(
    rows: Float, depth: int, scales: list[float], flows: Any, mu: Float, excess: Any
) -> dict[str, Any]:
    """Two excess norms along flows, given by accuracies and predictors, and along the Q_μ path."""
    accuracy, w = (np.array(part) for part in zip(*flows, strict=True))
    k, start = middle(scales), over_margin(rows.mean(axis=0), rows)
    return {
        "scale": scales,
        "mu": mu,
        "flow": (("norm", "scale", "instant"), excess(w)),
        "accuracy": (("scale", "instant"), accuracy),
        "path": (("norm", "mu"), excess(margins_on_path(rows, mu, depth))),
        **variables("norm", start=excess(start), l2=excess(best_margin(rows, "l2").predictor)),
        "off_raw_weights": off_raw_weights(depth, scales[k] ** depth, rows, accuracy[k], w[k]),
    }


MARK: dict[str, Any] = {"mec": "k", "mew": 0.7, "ls": "none", "clip_on": False, "zorder": 5}


def draw_norm_flows(data: xr.Dataset, ax: Any, widths: list[float]) -> None:
    """Draw one curve for each scale, darker for larger ones, with a dot at its end."""
    for i, (scale, width) in enumerate(zip(data.scale.values, widths, strict=True)):
        x, y = data.flow.sel(scale=scale).values
        shade = colour_of(scale)
        ax.plot(x, y, color=shade, lw=width, label=rf"$\alpha=${power_of_ten(scale)}", zorder=2 + i / 100)
        ax.plot(x[-1:], y[-1:], "o", ms=5.5, color=shade, **MARK | {"mec": "w", "zorder": 7 + i / 100})


def draw_norm_path(data: xr.Dataset, ax: Any) -> None:
    """Draw the Q_μ path on top of the flows, the start, and the ℓ2 margin."""
    style = {"color": "k", "gapcolor": "w", "ls": (0, (3, 2)), "lw": 1.1, "zorder": 4}
    ax.plot(*data.path.values, label=r"$Q_\mu$ path", **style)
    above = {"mec": "w", "zorder": 5.5}  # the start is visible on top of the margin
    ax.plot(*data.start.values, "^", ms=7, color="k", label="start", **MARK | above)
    ax.plot(*data.l2.values, "o", ms=9, color=TRUTH, label=r"$\ell_2$ margin", **MARK)


def _excess_norm(p: str) -> str:
    """The label of an axis."""
    return rf"excess $\ell_{p}$ norm, $\|\hat w\|_{p}/\|w_{{\ell_{p}}}\|_{p}-1$"


@figure(
    "moroshko2020/fig7",
    **presets(
        scales=([1e-3, 0.1, 0.3, 1.0, 100.0], [1e-3, 0.03, 0.1, 0.3, 0.5, 1.0, 2.0, 100.0]),
        instants=(80, 200),
    ),
    figsize=(4.9, 3.4),
    seconds=5,
    short="the scale selects",
)
class WhichL1Solution:
    """Flows of depth 2 in the plane of excess ℓ1 and ℓ2 norm, on data whose ℓ1 maximum margin is not unique:
    the scale determines which solution is selected (Figure 7).
    """

    def data(self, scales: list[float], instants: int, *, seed: int, progress: Progress) -> xr.Dataset:
        """Compute excess norms along each flow and the Q_μ path, and their range over all ℓ1 solutions."""
        rows = MANY_L1
        rich, kernel = best_margin(rows, "l1"), best_margin(rows, "l2")

        def excess(w: Float) -> Float:
            return np.array([size(w, 1) / rich.value - 1, size(w, 2) / kernel.value - 1])

        flows = [along(2, a**2, rows, 1e8 * max(1, a**2), instants) for a in progress(scales, "flows")]
        accuracy, w = flows[-1]
        edge = {name: excess(point)[1] for name, point in points_of_edge(rich.face).items()}
        return xr.Dataset(
            {
                **in_norms(rows, 2, scales, flows, levels(rows, 2, (1e2, 1e-10), instants), excess),
                "off_path": off_path(rows, w, scales[-1] ** 2 / accuracy, 2),
                "edge": ("point", list(edge.values())),
            },
            coords={"norm": ["l1", "l2"], "point": list(edge)},
        )

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """Draw all ℓ1 solutions as a bar, the flows, and the Q_μ path."""
        edge = data.edge.sel(point=["least", "most"]).values
        scales = data.scale.values.tolist()
        draw_norm_flows(data, ax, [drawn_as(scale, scales)["lw"] for scale in scales])
        bar = {"color": L1, "lw": 7, "solid_capstyle": "butt", "zorder": 1}
        ax.plot([0, 0], edge, label=r"$\ell_1$ margin: an edge", **bar)
        draw_norm_path(data, ax)
        ax.set(xlabel=_excess_norm("1"), ylabel=_excess_norm("2"), xlim=(-0.004, None), ylim=(0, None))
        legend_beside(ax)

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Every flow ends at an ℓ1 solution, which depends on the scale."""
        l1, l2 = data.flow.isel(instant=-1).values
        lowest, highest, mixed = data.edge.sel(point=["least", "most", "entropic"]).values
        place = (l2 - lowest) / (highest - lowest)
        yield at_most(1e-4).claim("every scale ends at an ℓ1 margin (largest excess)", l1.max())
        text = "the largest scale selects the ℓ1 solution of smallest ℓ2 norm (position, from 0 to 1)"
        yield at_most(1e-3).claim(text, abs(place[-1]))
        text = "the smallest scale selects the one of largest ℓ2 norm (distance from position 1)"
        yield at_most(1e-2).claim(text, abs(place[0] - 1))
        text = "in between, the norm decreases with the scale (largest increase)"
        yield at_most(1e-5).claim(text, largest_fall(-l2))
        text = "the largest scale follows the Q_μ path (largest distance at the same μ ≤ 1)"
        yield at_most(1e-3).claim(text, data.off_path.item())
        text = "the Q_μ path ends at the solution of largest entropy, here the same (difference of excess ℓ2)"
        yield at_most(1e-6).claim(text, max(abs(data.path.values[1, -1] - mixed), abs(lowest - mixed)))
        yield raw_weights_claim(data)


DEPTH = 3  # depth of the networks in Figure 8
P = 2 / DEPTH  # exponent of the quasi-norm at their rich end


def _verdict(rows: Float, minima: Float, ends: Float) -> dict[str, Any]:
    """The local minimum at which each flow ends, the relative distance, and its distance from ℓ1.

    nearer: the share of local minima that are closer to the ℓ1 margin than the one at which a flow ends.
    """
    apart = np.linalg.norm(minima - ends[:, None], axis=2) / np.linalg.norm(ends, axis=1)[:, None]
    to_l1 = np.linalg.norm(minima - best_margin(rows, "l1").predictor, axis=1)
    at = apart.argmin(axis=1)
    nearer = [share(to_l1 < to_l1[k]) for k in at]
    return {"at": at, "apart": apart.min(axis=1), "nearer": nearer, "to_l1": to_l1}


class _LocalMargins:
    """The data of Figure 8."""

    last: ClassVar[float]  # flows are followed to γ̃ = last·α^D
    followed_to: ClassVar[float]  # the μ down to which the largest scale is compared with the Q_μ path

    def rows(self, rng: np.random.Generator) -> Float:
        """A dataset."""
        raise NotImplementedError

    def data(
        self, scales: list[float], draws: int, instants: int, *, seed: int, progress: Progress
    ) -> xr.Dataset:
        """Compute norms along the flows of the first dataset, and the ends of two scales for all datasets."""
        drawn = [self.rows(rng) for rng in np.random.default_rng(seed).spawn(draws)]
        rows, outer, sizes = drawn[0], [scales[0], scales[-1]], [a**DEPTH for a in scales]
        flows = [along(DEPTH, s, rows, self.last * s, instants) for s in progress(sizes, "flows")]
        ends = [np.array([flows[0][1][-1], flows[-1][1][-1]])]
        for each in progress(drawn[1:], "other draws"):
            runs = [followed(DEPTH, s, each, until=self.last * s) for s in (sizes[0], sizes[-1])]
            ends.append(np.array([over_margin(run.predictor[-1], each) for run in runs]))
        minima = [local_margins(each, P) for each in drawn]
        verdicts = [_verdict(*each) for each in zip(drawn, minima, ends, strict=True)]
        l1, l2 = best_margin(rows, "l1").predictor, best_margin(rows, "l2").predictor

        def excess(w: Float) -> Float:
            return np.array([size(w, P) / size(minima[0][0], P) - 1, size(w, 2) / size(l2, 2) - 1])

        mu, (accuracy, w) = levels(rows, DEPTH, (1e3, 1e-12), instants), flows[-1]
        per_draw = {name: np.array([each[name] for each in verdicts]) for name in ("at", "apart", "nearer")}
        to_best = [each["to_l1"][0] for each in verdicts]
        return xr.Dataset(
            {
                **in_norms(rows, DEPTH, scales, flows, mu, excess),
                "off_path": off_path(rows, w, sizes[-1] / accuracy, DEPTH, self.followed_to),
                "minima": (("norm", "minimum"), excess(minima[0])),
                "l1": ("norm", excess(l1)),
                **variables("draw", count=[len(found) for found in minima], l1_to_best=to_best),
                "to_l1": ("minimum", verdicts[0]["to_l1"]),
                **variables("draw outer", **per_draw),
            },
            coords={"norm": ["l2/3", "l2"], "outer": outer},
        )


def _draw_competition(data: xr.Dataset, ax: Any, right: float, top: float, widths: list[float]) -> None:
    """Draw the flows, the Q_μ path, the margins, and the local minima in the window."""
    draw_norm_flows(data, ax, widths)
    draw_norm_path(data, ax)
    ax.plot(*data.l1.values, "*", ms=13, color=L1, label=r"$\ell_1$ margin", **MARK)
    best = {"ms": 8.5, "color": RICH, "label": r"$\ell_{2/3}$ margin", **MARK, "zorder": 4.5}
    ax.plot(*data.minima[:, 0].values, "D", **best)
    _draw_minima(data, ax, right, top)
    ax.set(xlabel=_excess_norm("{2/3}"), ylabel=_excess_norm("2"))
    ax.set(xlim=(-0.01 * right, right), ylim=(0, top))
    legend_beside(ax)


def _draw_minima(data: xr.Dataset, ax: Any, right: float, top: float) -> None:
    """Draw the other local minima in the window, dark if closer to ℓ1 than the end of the largest scale.

    Distances are between predictors; they do not follow from two norms.
    """
    x, y = data.minima.values[:, 1:]
    end = data.to_l1.values[data["at"].values[0, -1]]
    inside, nearer = (x <= right) & (y <= top), data.to_l1.values[1:] < end
    style: dict[str, Any] = {"ls": "none", "marker": "D", "mew": 0}
    if inside.any():
        label = f"local minima\n({inside.sum()} of {inside.size} in view)"
        ax.plot(x[inside], y[inside], ms=3.2, color=MUTED, label=label, zorder=1, **style)
    if (inside & nearer).any():
        last = rf"$\alpha=${power_of_ten(data.scale.values[-1])}"
        label = f"nearer to $w_{{\\ell_1}}$ than the\nend of {last} ({nearer.sum()} of {nearer.size})"
        dark = inside & nearer
        ax.plot(x[dark], y[dark], ms=4.5, color="k", label=label, zorder=5, **style)


def _nested(data: xr.Dataset) -> list[float]:
    """Line widths of the scales, from broad to thin, so that coinciding lines are visible."""
    return np.linspace(5.5, 1.5, data.scale.size).tolist()


def _draw_above_path(data: xr.Dataset, ax: Any) -> None:
    """Draw the excess ℓ2 norm of flows minus that of the Q_μ path at the same ℓ_{2/3} norm, in 10⁻³."""
    path = data.path.values[:, ::-1]  # the ℓ_{2/3} norm decreases along the path
    ax.axhline(0, color="k", ls=(0, (3, 2)), lw=1.1, zorder=4)
    for scale, width in zip(data.scale.values, _nested(data), strict=True):
        x, y = data.flow.sel(scale=scale).values
        ax.plot(x, 1e3 * (y - np.interp(x, *path)), color=colour_of(scale), lw=0.6 * width, zorder=2)
    ax.set(ylim=(-0.5, None), ylabel="excess $\\ell_2$ norm less that\nof the $Q_\\mu$ path, in $10^{-3}$")


@figure(
    "moroshko2020/fig8a",
    **presets(scales=([0.01, 10.0], [0.01, 0.03, 0.1, 0.3, 1.0, 10.0]), draws=(3, 20), instants=(80, 240)),
    figsize=(5.4, 3.5),
    seconds=10,
)
class LocalMarginsOfRandomData(_LocalMargins):
    """Flows of depth 3 on random data in ten dimensions, among all local ℓ_{2/3} margins (Figure 8a).

    Distances are between predictors; the plane shows only two of their norms.
    """

    # Followed until the predictor is constant: some draws pass close to saddles and need γ̃ = 10²⁵ α^D.
    last, followed_to = 1e25, 0.1

    def rows(self, rng: np.random.Generator) -> Float:
        """Ten samples from U(0, 1)."""
        return rng.uniform(0, 1, (10, 10))

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """Draw the part of the plane that contains the flows."""
        right, top = (1.06 * float(data.flow.sel(norm=norm).max()) for norm in ("l2/3", "l2"))
        _draw_competition(data, ax, right, top, [2.0] * data.scale.size)

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """The scale selects among many local minima in about 19 of 20 draws; claims therefore use medians."""
        small, large = data.nearer.values.T
        at = data["at"].values
        draws = data.sizes["draw"]
        text = "there are many local minima (fewest in a draw)"
        yield at_least(25, "more than twice as many as dimensions").claim(text, data["count"].min().item())
        yield at_least(
            0.8,
            "minima are more than a hundredth apart; near a saddle a flow may take longer",
            of=data.apart.size,
        ).claim(
            "flows of extreme scales end at one of them, up to a thousandth (fraction of flows)",
            share(data.apart.values <= 1e-3),
        )
        yield at_least(0.3, "at least one of three draws; usually 19 of 20", of=draws).claim(
            "the end depends on the scale (fraction of draws in which smallest and largest scale differ)",
            share(at[:, 0] != at[:, 1]),
        )
        text = "large scales end close to ℓ1 (fraction of local minima that are closer, median of draws)"
        yield at_most(0.2, "a random minimum has 0.5").claim(text, np.median(large))
        yield at_least(0.3, "at least one of three draws; usually 19 of 20", of=draws).claim(
            "and closer than small scales (fraction of draws)", share(large < small)
        )
        text = "large scales initially follow the Q_μ path (largest distance at the same μ, 0.1 ≤ μ ≤ 1)"
        yield at_most(0.1, "a tenth of the predictor").claim(text, data.off_path.item())
        yield raw_weights_claim(data)


class _SparseData(_LocalMargins):
    """Compute flows to γ̃ = 10⁸ α^D, where the noise features have 10⁻⁷ of the weight."""

    last, followed_to = 1e8, 1e-8

    def rows(self, rng: np.random.Generator) -> Float:
        """Four samples that share a first coordinate of 1, with noise from U(0, 0.5) in the nine others."""
        return np.hstack([np.ones((4, 1)), rng.uniform(0, 0.5, (4, 9))])


@figure(
    "moroshko2020/fig8b",
    **presets(scales=([0.01, 1.0, 10.0], [0.01, 0.1, 1.0, 10.0]), draws=(3, 20), instants=(80, 240)),
    figsize=(5.4, 3.5),
    seconds=4,
    short="ten dimensions",
)
class LocalMarginsOfSparseData(_SparseData):
    """Flows of depth 3 on sparse data in ten dimensions, among all local ℓ_{2/3} margins (Figure 8b).

    The axis of the ℓ2 norm is logarithmic above 0.02: the local minima are far above the flows.
    """

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """Draw a window that contains most local minima; flows of larger scales are on top."""
        _draw_competition(data, ax, 16, 30, _nested(data))
        ax.set_yscale("symlog", linthresh=0.02, linscale=0.5)
        ax.set(ylim=(-0.001, 30), yticks=[0, 0.01, 0.1, 1, 10])
        ax.yaxis.set_major_formatter("{x:g}")

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """One margin is optimal in ℓ1 and ℓ_{2/3}; all flows end at it, far from the other local minima."""
        yield at_most(
            1e-9, "round-off: the first coordinate alone has the maximum margin in both norms"
        ).claim(
            "the best ℓ1 and ℓ_{2/3} margins are the same (largest distance)", data.l1_to_best.max().item()
        )
        text = "there are other local minima (fewest in a draw)"
        yield at_least(3, "several").claim(text, data["count"].min().item() - 1)
        yield at_least(
            0.8, "near a saddle a flow may take longer than it is integrated", of=data["at"].size
        ).claim(
            "flows of the smallest and largest scale end at the best (fraction of flows)",
            share(data["at"].values == 0),
        )
        text = "and reach it (largest relative distance)"
        yield at_most(1e-5, "noise has 1e-7 of the weight at the end").claim(text, data.apart.max().item())
        yield at_least(1, "above the norms along every flow").claim(
            "all others are far from the flows (smallest excess ℓ2 norm, relative to that of flows)",
            ratio(least(data.minima.values[1, 1:]), float(data.flow.sel(norm="l2").max())),
        )
        yield raw_weights_claim(data)


@figure(
    "moroshko2020/fig8c",
    **presets(scales=([0.01, 1.0, 10.0], [0.01, 0.1, 1.0, 10.0]), draws=(1, 1), instants=(80, 240)),
    figsize=(5.4, 5.0),
    nrows=2,
    sharex=True,
    gridspec_kw={"height_ratios": [3, 2]},
    seconds=3,
)
class SparseDataCloser(_SparseData):
    """The flows of Figure 8b, magnified: large scales follow the Q_μ path to the optimal margin (Figure 8c).
    Below: their excess ℓ2 norm relative to that of the path at the same ℓ_{2/3} norm.
    """

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """Draw the range of the flows (top), and their differences from the path (bottom)."""
        plane, above = ax
        right, top = (1.06 * float(data.flow.sel(norm=norm).max()) for norm in ("l2/3", "l2"))
        _draw_competition(data, plane, right, top, _nested(data))
        _draw_above_path(data, above)
        above.set_xlabel(plane.get_xlabel())
        plane.set_xlabel("")

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Large scales approach the ℓ2 margin and then follow the Q_μ path; small scales do not."""
        l2 = data.flow.sel(norm="l2").values
        text = "the largest scale approaches the ℓ2 margin (smallest excess)"
        yield at_most(2e-3, "within the width of the line in the figure").claim(text, l2[-1].min())
        text = "then it follows the Q_μ path (largest distance at the same μ ≤ 1)"
        yield at_most(0.06, "a sixteenth of the predictor").claim(text, data.off_path.item())
        text = "the path ends at the best ℓ_{2/3} margin (excess)"
        yield at_most(1e-6, "μ ends at 1e-12").claim(text, data.path.values[0, -1])
        text = "small scales do not approach the ℓ2 margin (smallest excess, relative to the largest scale)"
        yield at_least(2, "a multiple").claim(text, l2[0].min() / l2[-1].min())
        yield raw_weights_claim(data)
