"""Norms along the flow where several solutions compete: Figures 7 and 8 of Moroshko et al. 2020 (App. H)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import xarray as xr

from tacit.data import Float
from tacit.figures import MUTED, RICH, TRUTH
from tacit.papers.measures import largest_fall, least, share
from tacit.papers.moroshko2020_data import MANY_L1
from tacit.papers.moroshko2020_drawing import L1, colour, legend_beside, power_of_ten
from tacit.papers.moroshko2020_margins import (
    along,
    best_margin,
    followed,
    local_margins,
    margins_on_path,
    off_path,
    over_margin,
    points_of_edge,
    size,
)
from tacit.papers.registry import Claim, figure

DEPTH = 3  # of the networks of Figure 8
P = 2 / DEPTH  # the quasi-norm of their rich end
_MARK: dict[str, Any] = {"mec": "k", "mew": 0.7, "ls": "none", "clip_on": False, "zorder": 5}


@figure(
    "moroshko2020/fig7",
    quick={"scales": [1e-3, 0.1, 0.3, 1.0, 100.0], "instants": 60},
    paper={"scales": [1e-3, 0.03, 0.1, 0.3, 0.5, 1.0, 2.0, 100.0], "instants": 200},
    figsize=(4.9, 3.4),
)
class WhichL1Solution:
    """Flows of depth 2 in the plane of excess ℓ1 and ℓ2 norm, where many predictors share the largest ℓ1
    margin: the scale decides which of them is selected (Figure 7).
    """

    def data(
        self, scales: list[float], instants: int, *, seed: int, progress: Callable[..., Any]
    ) -> xr.Dataset:
        """Excess norms along each flow and the Q_μ path, and their range over all ℓ1 solutions."""
        rows = MANY_L1
        rich, kernel = best_margin(rows, "l1"), best_margin(rows, "l2")

        def excess(w: Float) -> Float:
            return np.array([size(w, 1) / rich.value - 1, size(w, 2) / kernel.value - 1])

        flows = [along(2, a**2, rows, 1e8 * max(1, a**2), instants) for a in progress(scales, "flows")]
        accuracy, w = (np.array(part) for part in zip(*flows, strict=True))
        mu = np.geomspace(1e2, 1e-10, instants)
        edge = {name: excess(point)[1] for name, point in points_of_edge(rich.face).items()}
        return xr.Dataset(
            {
                "flow": (("norm", "scale", "instant"), excess(w)),
                "accuracy": (("scale", "instant"), accuracy),
                "path": (("norm", "mu"), excess(margins_on_path(rows, mu, 2))),
                "start": ("norm", excess(over_margin(rows.mean(axis=0), rows))),
                "l2": ("norm", excess(kernel.predictor)),
                "edge": ("point", list(edge.values())),
                "off_path": off_path(rows, w[-1], scales[-1] ** 2 / accuracy[-1], 2),
            },
            coords={"norm": ["l1", "l2"], "scale": scales, "mu": mu, "point": list(edge)},
        )

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """All ℓ1 solutions as a bar, the flows, and the Q_μ path."""
        edge = data.edge.sel(point=["least", "most"]).values
        _draw_flows(data, ax, [2.0] * data.scale.size)
        ax.plot(
            [0, 0], edge, color=L1, lw=7, solid_capstyle="butt", label=r"$\ell_1$ margin: an edge", zorder=1
        )
        _draw_path(data, ax)
        ax.set(
            xlabel=r"excess $\ell_1$ norm, $\|\hat w\|_1/\|w_{\ell_1}\|_1-1$",
            ylabel=r"excess $\ell_2$ norm, $\|\hat w\|_2/\|w_{\ell_2}\|_2-1$",
        )
        ax.set(xlim=(-0.004, None), ylim=(0, None))
        legend_beside(ax)

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Every flow ends among the ℓ1 solutions; which one it is, the scale decides."""
        l1, l2 = data.flow.isel(instant=-1).values
        lowest, highest, mixed = data.edge.sel(point=["least", "most", "entropic"]).values
        place = (l2 - lowest) / (highest - lowest)
        yield Claim("every scale ends at an ℓ1 margin (largest excess)", l1.max(), at_most=1e-4)
        yield Claim(
            "the largest scale selects the ℓ1 solution of least ℓ2 norm (distance, 0 least to 1 most)",
            abs(place[-1]),
            at_most=1e-3,
        )
        yield Claim(
            "the smallest scale selects the one of largest ℓ2 norm (distance, the same)",
            abs(place[0] - 1),
            at_most=1e-2,
        )
        yield Claim("in between, the norm only falls with the scale (rise)", largest_fall(-l2), at_most=1e-5)
        yield Claim(
            "the largest scale follows the Q_μ path (largest distance at the same μ ≤ 1)",
            data.off_path.item(),
            at_most=1e-3,
        )
        yield Claim(
            "the Q_μ path ends at the solution of largest entropy, here the same (difference of excess ℓ2)",
            max(abs(data.path.values[1, -1] - mixed), abs(lowest - mixed)),
            at_most=1e-6,
        )


def _draw_flows(data: xr.Dataset, ax: Any, widths: list[float]) -> None:
    """One curve for each scale, darker for larger ones, with a dot where it ends."""
    count = data.scale.size
    for i, (scale, width) in enumerate(zip(data.scale.values, widths, strict=True)):
        x, y = data.flow.sel(scale=scale).values
        shade = colour(i / max(count - 1, 1))
        ax.plot(x, y, color=shade, lw=width, label=rf"$\alpha=${power_of_ten(scale)}", zorder=2 + i / 100)
        ax.plot(x[-1:], y[-1:], "o", ms=5.5, color=shade, **_MARK | {"mec": "w", "zorder": 7 + i / 100})


def _draw_path(data: xr.Dataset, ax: Any) -> None:
    """The Q_μ path over the flows that follow it, where all flows start, and the ℓ2 margin."""
    style = {"color": "k", "gapcolor": "w", "ls": (0, (3, 2)), "lw": 1.1, "zorder": 4}
    ax.plot(*data.path.values, label=r"$Q_\mu$ path", **style)
    ax.plot(*data.start.values, "^", ms=6.5, color="k", label="start", **_MARK)
    ax.plot(*data.l2.values, "o", ms=8, color=TRUTH, label=r"$\ell_2$ margin", **_MARK)


def _ends(rows: Float, scales: list[float], last: float) -> Float:
    """Where the flows of these scales are at γ̃ = last·α^D."""
    flows = [followed(DEPTH, a**DEPTH, rows, until=last * a**DEPTH) for a in scales]
    return np.array([over_margin(flow.predictor[-1], rows) for flow in flows])


def _verdict(rows: Float, minima: Float, ends: Float) -> dict[str, Any]:
    """At which of the local minima flows end, at what relative distance, and how far that is from ℓ1.

    nearer: the share of all local minima that are nearer to the ℓ1 margin than the one a flow ends at.
    """
    apart = np.linalg.norm(minima - ends[:, None], axis=2) / np.linalg.norm(ends, axis=1)[:, None]
    to_l1 = np.linalg.norm(minima - best_margin(rows, "l1").predictor, axis=1)
    at = apart.argmin(axis=1)
    nearer = [share(to_l1 < to_l1[k]) for k in at]
    return {"at": at, "apart": apart.min(axis=1), "nearer": nearer, "l1_to_best": to_l1[0]}


def _competition(
    drawn: list[Float],
    scales: list[float],
    last: float,
    instants: int,
    followed_to: float,
    progress: Callable[..., Any],
) -> xr.Dataset:
    """Norms along the flows of the first dataset; for all of them, where smallest and largest scale end.

    followed_to: the μ down to which the largest scale is compared with the Q_μ path.
    """
    rows, outer = drawn[0], [scales[0], scales[-1]]
    flows = [along(DEPTH, a**DEPTH, rows, last * a**DEPTH, instants) for a in progress(scales, "flows")]
    accuracy, w = (np.array(part) for part in zip(*flows, strict=True))
    ends = [w[[0, -1], -1], *(_ends(each, outer, last) for each in progress(drawn[1:], "other draws"))]
    minima = [local_margins(each, P) for each in drawn]
    verdicts = [_verdict(*each) for each in zip(drawn, minima, ends, strict=True)]
    l1, l2 = best_margin(rows, "l1").predictor, best_margin(rows, "l2").predictor

    def excess(w: Float) -> Float:
        return np.array([size(w, P) / size(minima[0][0], P) - 1, size(w, 2) / size(l2, 2) - 1])

    mu = np.geomspace(1e3, 1e-12, instants)
    per_draw = {name: np.array([each[name] for each in verdicts]) for name in ("at", "apart", "nearer")}
    return xr.Dataset(
        {
            "flow": (("norm", "scale", "instant"), excess(w)),
            "accuracy": (("scale", "instant"), accuracy),
            "path": (("norm", "mu"), excess(margins_on_path(rows, mu, DEPTH))),
            "minima": (("norm", "minimum"), excess(minima[0])),
            "start": ("norm", excess(over_margin(rows.mean(axis=0), rows))),
            "l2": ("norm", excess(l2)),
            "l1": ("norm", excess(l1)),
            "off_path": off_path(rows, w[-1], scales[-1] ** DEPTH / accuracy[-1], DEPTH, followed_to),
            "count": ("draw", [len(found) for found in minima]),
            "l1_to_best": ("draw", [each["l1_to_best"] for each in verdicts]),
            **{name: (("draw", "outer"), values) for name, values in per_draw.items()},
        },
        coords={"norm": ["l2/3", "l2"], "scale": scales, "mu": mu, "outer": outer},
    )


def _draw_competition(data: xr.Dataset, ax: Any, right: float, top: float, widths: list[float]) -> None:
    """The flows and the Q_μ path between the margins, among the local minima that lie in the window."""
    _draw_flows(data, ax, widths)
    _draw_path(data, ax)
    ax.plot(*data.l1.values, "*", ms=13, color=L1, label=r"$\ell_1$ margin", **_MARK)
    best, (x, y) = data.minima.values[:, :1], data.minima.values[:, 1:]
    ax.plot(*best, "D", ms=8.5, color=RICH, label=r"$\ell_{2/3}$ margin", **_MARK | {"zorder": 4.5})
    inside = (x <= right) & (y <= top)
    if inside.any():
        label = f"local minima\n({inside.sum()} of {inside.size} in view)"
        ax.plot(x[inside], y[inside], "D", ms=3.2, color=MUTED, mew=0, label=label, zorder=1)
    ax.set(
        xlabel=r"excess $\ell_{2/3}$ norm, $\|\hat w\|_{2/3}/\|w_{\ell_{2/3}}\|_{2/3}-1$",
        ylabel=r"excess $\ell_2$ norm, $\|\hat w\|_2/\|w_{\ell_2}\|_2-1$",
    )
    ax.set(xlim=(-0.01 * right, right), ylim=(0, top))
    legend_beside(ax)


@figure(
    "moroshko2020/fig8a",
    quick={"scales": [0.01, 10.0], "draws": 3, "instants": 40},
    paper={"scales": [0.01, 0.03, 0.1, 0.3, 1.0, 10.0], "draws": 20, "instants": 240},
    figsize=(5.4, 3.5),
)
class LocalMarginsOfRandomData:
    """Flows of depth 3 on random data in ten dimensions, among all local ℓ_{2/3} margins (Figure 8a)."""

    def data(
        self, scales: list[float], draws: int, instants: int, *, seed: int, progress: Callable[..., Any]
    ) -> xr.Dataset:
        """Followed until nothing moves: some draws pass close by saddles, and need γ̃ = 10²⁵ α^D."""
        drawn = [rng.uniform(0, 1, (10, 10)) for rng in np.random.default_rng(seed).spawn(draws)]
        return _competition(drawn, scales, 1e25, instants, 0.1, progress)

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """The corner in which the flows move."""
        right, top = (1.06 * float(data.flow.sel(norm=norm).max()) for norm in ("l2/3", "l2"))
        _draw_competition(data, ax, right, top, [2.0] * data.scale.size)

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Many local minima, and the scale decides between them, in about 19 of 20 draws: hence medians."""
        small, large = data.nearer.values.T
        at = data["at"].values
        yield Claim("there are many local minima (fewest in a draw)", data["count"].min().item(), at_least=50)
        yield Claim(
            "smallest and largest scale end at one of them (largest relative distance)",
            data.apart.max().item(),
            at_most=1e-3,
        )
        yield Claim(
            "the end depends on the scale (share of draws in which smallest and largest differ)",
            share(at[:, 0] != at[:, 1]),
            at_least=0.6,
        )
        yield Claim(
            "large scales end close to ℓ1 (share of local minima that are closer, median of draws)",
            float(np.median(large)),
            at_most=0.05,
        )
        yield Claim("and closer than small scales (share of draws)", share(large < small), at_least=0.6)
        yield Claim(
            "large scales follow the Q_μ path at first (largest distance at the same μ, 0.1 ≤ μ ≤ 1)",
            data.off_path.item(),
            at_most=0.02,
        )


class _SparseData:
    """Four samples that share a first coordinate of 1, with noise from U(0, 0.5) in the nine others."""

    def data(
        self, scales: list[float], draws: int, instants: int, *, seed: int, progress: Callable[..., Any]
    ) -> xr.Dataset:
        """Followed to γ̃ = 10⁸ α^D, where the noise has 10⁻⁷ of the weight."""
        noise = [rng.uniform(0, 0.5, (4, 9)) for rng in np.random.default_rng(seed).spawn(draws)]
        drawn = [np.hstack([np.ones((4, 1)), each]) for each in noise]
        return _competition(drawn, scales, 1e8, instants, 1e-8, progress)


@figure(
    "moroshko2020/fig8b",
    quick={"scales": [0.01, 1.0, 10.0], "draws": 3, "instants": 40},
    paper={"scales": [0.01, 0.1, 1.0, 10.0], "draws": 20, "instants": 240},
    figsize=(5.4, 3.5),
)
class LocalMarginsOfSparseData(_SparseData):
    """Flows of depth 3 on sparse data in ten dimensions, among all local ℓ_{2/3} margins (Figure 8b)."""

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """Wide enough for the nearest local minima; flows lie on each other, the larger scale above."""
        _draw_competition(data, ax, 12, 6, np.linspace(5, 1.5, data.scale.size).tolist())

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """One margin is the best in ℓ1 and ℓ_{2/3}; all flows end there, far from the other local minima."""
        yield Claim(
            "the best ℓ1 and ℓ_{2/3} margins are the same (largest distance)",
            data.l1_to_best.max().item(),
            at_most=1e-9,
        )
        yield Claim(
            "there are other local minima (fewest in a draw)", data["count"].min().item() - 1, at_least=10
        )
        yield Claim(
            "smallest and largest scale end at the best (worst rank, best is 0)",
            data["at"].max().item(),
            at_most=0,
        )
        yield Claim("and reach it (largest relative distance)", data.apart.max().item(), at_most=1e-5)
        yield Claim(
            "all others are far from the flows (their least excess ℓ2 norm, over the largest of a flow)",
            least(data.minima.values[1, 1:]) / float(data.flow.sel(norm="l2").max()),
            at_least=3,
        )


@figure(
    "moroshko2020/fig8c",
    quick={"scales": [0.01, 1.0, 10.0], "draws": 1, "instants": 40},
    paper={"scales": [0.01, 0.1, 1.0, 10.0], "draws": 1, "instants": 240},
    figsize=(5.4, 3.5),
)
class SparseDataCloser(_SparseData):
    """The flows of Figure 8b alone: large scales follow the Q_μ path to the best margin (Figure 8c)."""

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """No farther than the flows go."""
        right, top = (1.06 * float(data.flow.sel(norm=norm).max()) for norm in ("l2/3", "l2"))
        _draw_competition(data, ax, right, top, np.linspace(5, 1.5, data.scale.size).tolist())

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """First the ℓ2 margin, then the Q_μ path; small scales do without."""
        l2 = data.flow.sel(norm="l2").values
        yield Claim("the largest scale visits the ℓ2 margin (smallest excess)", l2[-1].min(), at_most=2e-3)
        yield Claim(
            "then it follows the Q_μ path (largest distance at the same μ ≤ 1)",
            data.off_path.item(),
            at_most=0.02,
        )
        yield Claim(
            "the path ends at the best ℓ_{2/3} margin (excess)", data.path.values[0, -1], at_most=1e-6
        )
        yield Claim(
            "small scales do without the ℓ2 margin (their smallest excess, over that of the largest scale)",
            l2[0].min() / l2[-1].min(),
            at_least=2,
        )
