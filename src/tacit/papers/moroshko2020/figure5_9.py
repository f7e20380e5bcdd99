"""Figures 5 and 9: the accuracy at which the rich regime is reached, and the change of the tangent kernel.

Figures 5 and 9 of Moroshko et al. 2020.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

from tacit.numerics.subspaces import cosine_distance
from tacit.papers import Claim, Progress, at_least, at_most, figure
from tacit.papers.measures import exponent, least, share, variables
from tacit.papers.moroshko2020.data import SAME_SUPPORT, TWO_SUPPORT_VECTORS
from tacit.papers.moroshko2020.drawing import power_of_ten
from tacit.papers.moroshko2020.margins import (
    CLOSE,
    accuracy_needed,
    best_margin,
    excess_l1,
    followed,
    level_of_average,
    level_of_path,
    margins_on_path,
    middle,
    off_raw_weights,
    raw_weights,
    raw_weights_claim,
    reached_at,
)
from tacit.papers.reproduction import presets

_STYLES = ("-", (0, (5, 1.5)))  # line styles of the scales
MARKERS = "os^Dv"  # markers of the depths
_MARKED = 9  # markers on a curve
AGAINST_ACCURACY = presets(
    depths=([2.0, 3.0, 10.0], [2.0, 3.0, 10.0]), scales=([0.1, 1.0], [0.1, 1.0]), accuracies=(73, 241)
)


def against_accuracy(data: xr.Dataset, name: str, ax: Any) -> None:
    """Draw a curve for each depth (colour and marker) and scale (solid or dashed, marker full or empty)."""
    step = max(data.accuracy.size // _MARKED, 1)
    for i, depth in enumerate(data.depth.values):
        for j, scale in enumerate(data.scale.values):
            style = {"color": f"C{i}", "ls": _STYLES[j], "marker": MARKERS[i], "ms": 4.5, "mew": 1.0}
            start = (2 * i + j) * step // 6  # markers of coinciding curves are shifted
            style |= {"mfc": "w" if j else f"C{i}", "markevery": (start, step)}
            label = rf"$D={depth:g}$, $\alpha^D=${power_of_ten(scale)}"
            ax.plot(data.accuracy, data[name].sel(depth=depth, scale=scale), label=label, **style)
    ax.set(xscale="log", xlabel=r"accuracy $\tilde\gamma=\log(1/\epsilon)$")
    ax.set(xlim=(data.accuracy.values[0], data.accuracy.values[-1]))


@figure(
    "moroshko2020/fig5a",
    **AGAINST_ACCURACY,
    about=("Theorem 7", "Role of depth"),
    seconds=5,
    short="excess ℓ1 norm",
)
class ExcessAgainstAccuracy:
    """Excess ℓ1 norm against training accuracy, by depth and initialization scale (Figure 5a)."""

    def data(
        self, depths: list[float], scales: list[float], accuracies: int, *, seed: int, progress: Progress
    ) -> xr.Dataset:
        """Compute the excess norms along the flows and the Q_μ path, and all rich ends."""
        rows, accuracy = SAME_SUPPORT, np.geomspace(1e-2, 1e4, accuracies)
        l1 = best_margin(rows, "l1")
        w = [
            [followed(depth, scale, rows, at=accuracy).predictor for scale in scales]
            for depth in progress(depths, "flows")
        ]
        paths = [margins_on_path(rows, scales[-1] / accuracy, depth) for depth in depths]
        k, rich = middle(scales), [best_margin(rows, 2 / depth).predictor for depth in depths]
        off = [off_raw_weights(depth, scales[k], rows, accuracy, w[i][k]) for i, depth in enumerate(depths)]
        apart = [float(np.abs(each - l1.predictor).max()) for each in rich]
        return xr.Dataset(
            {
                "excess": (("depth", "scale", "accuracy"), excess_l1(np.array(w), rows, l1.value)),
                "predicted": (("depth", "accuracy"), excess_l1(np.array(paths), rows, l1.value)),
                **variables("depth", off_raw_weights=off, rich_to_l1=apart),
            },
            coords={"depth": depths, "scale": scales, "accuracy": accuracy},
        )

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """Draw the flows, and the Q_μ path at the largest scale."""
        for i, predicted in enumerate(data.predicted.values):
            label = rf"$Q_\mu$ path, $\mu=${power_of_ten(data.scale.values[-1])}$/\tilde\gamma$"
            ax.plot(data.accuracy, predicted, color="0.8", lw=3.5, label="" if i else label)
        against_accuracy(data, "excess", ax)
        ax.axhline(CLOSE, color="0.4", lw=0.8, ls=":")
        ax.text(data.accuracy.values[0] * 1.2, CLOSE, f"{CLOSE:.0%}", color="0.4", va="bottom", fontsize=8)
        label = r"excess $\ell_1$ norm, $\|\hat w\|_1/\|w_{\ell_1}\|_1-1$"
        ax.set(yscale="log", ylim=(1e-4, 0.6), ylabel=label)
        ax.legend(loc="lower left")

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Extreme accuracies are needed, which decrease with depth and increase with scale."""
        excess, accuracy = data.excess.values, data.accuracy.values
        needed = np.array([[reached_at(accuracy, e, CLOSE) for e in row] for row in excess])
        text = "the ℓ1 margin is also the ℓ_{2/D} margin (largest difference)"
        yield at_most(1e-9).claim(text, data.rich_to_l1.max().item())
        text = "a smaller scale is closer to ℓ1 at the same accuracy (fraction of accuracies and depths)"
        yield at_least(1.0).claim(text, share(excess[:, 0] < excess[:, 1]))
        text = "a deeper network is closer to ℓ1 at the same accuracy (fraction of accuracies and scales)"
        yield at_least(1.0).claim(text, share(np.diff(excess, axis=0) < 0))
        text = "at depth 2 and α^D = 1, an excess of 5% needs a loss of 10^−k (k)"
        yield at_least(50).claim(text, needed[0, -1] / np.log(10))
        text = "with ten times the scale it needs several times the digits of the loss (smallest ratio)"
        yield at_least(5).claim(text, least(needed[:, -1] / needed[:, 0]))
        text = "from depth 2 to 10 it needs far fewer digits (smallest ratio)"
        yield at_least(5).claim(text, least(needed[0] / needed[-1]))
        yield raw_weights_claim(data)


DATASETS = {"same support": SAME_SUPPORT, "two support vectors": TWO_SUPPORT_VECTORS}


@figure(
    "moroshko2020/fig5b",
    **presets(depths=([2.0, 10.0], [2.0, 3.0, 10.0]), scales=(5, 17)),
    about=("Role of depth",),
    seconds=7,
    short="required accuracy",
)
class AccuracyNeeded:
    """Accuracy needed for an excess ℓ1 norm of 5%, against the initialization scale α^D (Figure 5b)."""

    def data(self, depths: list[float], scales: int, *, seed: int, progress: Progress) -> xr.Dataset:
        """Compute accuracies by dataset, depth and scale, and their asymptotes at infinite and zero scale."""
        grid = np.geomspace(1e-4, 1e4, scales)
        k, datasets = middle(list(grid)), list(DATASETS.values())
        needed, large, raw = np.empty((2, len(depths), scales)), *np.empty((2, 2, len(depths)))
        for i, j in progress(list(np.ndindex(large.shape)), "accuracy needed"):
            large[i, j] = level = 1 / level_of_path(datasets[i], depths[j])
            needed[i, j] = [accuracy_needed(datasets[i], depths[j], m, 4 * m * level + 20) for m in grid]
            raw[i, j] = _raw_excess(datasets[i], depths[j], grid[k], needed[i, j, k])
        return xr.Dataset(
            {
                "needed": (("dataset", "depth", "scale"), needed),
                **variables("dataset depth", large=large, raw_excess=raw),
                "small": ("depth", [level_of_average(SAME_SUPPORT, depth) for depth in depths]),
            },
            coords={"dataset": list(DATASETS), "depth": depths, "scale": grid},
        )

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """Draw the flows, and lines of slope 1 from the Q_μ path; the second dataset is faint."""
        this, other = data.dataset.values
        scale = data.scale.values
        for i, depth in enumerate(data.depth.values):
            line = scale * data.large.sel(dataset=this, depth=depth).item()
            label = r"$\alpha^D/\mu$ of the $Q_\mu$ path"
            ax.plot(scale, line, color="0.8", lw=3.5, label="" if i else label, zorder=1)
            faint = data.needed.sel(dataset=other, depth=depth)
            style = {"marker": MARKERS[i], "color": f"C{i}", "lw": 1}
            ax.plot(scale, faint, alpha=0.55, ls="--", zorder=1.5, ms=8 - 2 * i, mfc="w", **style)
            needed = data.needed.sel(dataset=this, depth=depth)
            ax.plot(scale, needed, label=f"$D={depth:g}$", ms=4.5, **style)
        empty = {"marker": "o", "ms": 3.5, "mfc": "w", "color": "0.4", "lw": 1}
        ax.plot([], [], ls="--", label="other data, same depths", **empty)
        ax.set(xscale="log", yscale="log", xlabel=r"predictor scale $\alpha^D$")
        ax.set(ylabel=r"accuracy $\tilde\gamma$ for excess $\ell_1$ norm $5\%$")
        ax.legend(loc="upper left")

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """The slope is 1 at large scales, and at small ones only if the flow of the average sample leads to
        ℓ1."""
        scale, needed = data.scale.values, data.needed.values
        large, small = scale >= 1, scale <= 1

        def slopes(of: np.ndarray, where: np.ndarray) -> np.ndarray:
            return np.array([exponent(scale[where], row[where]) for row in of])

        text = "γ̃ ∝ α^D for α^D ≥ 1, on both datasets (largest |slope − 1|)"
        yield at_most(0.05).claim(text, np.abs(slopes(needed.reshape(-1, scale.size), large) - 1).max())
        theory = data.large.values * scale[-1]
        text = "it is the γ̃ = α^D/μ of Theorem 6, with μ from the path (relative difference at the end)"
        yield at_most(1e-3).claim(text, np.abs(needed[:, :, -1] / theory - 1).max())
        text = "for α^D ≤ 1, γ̃ ∝ α^D on this dataset, too (largest |slope − 1|)"
        yield at_most(0.05).claim(text, np.abs(slopes(needed[0], small) - 1).max())
        text = "because the average sample leads to ℓ1: γ̃/α^D is that of its flow (smallest scale)"
        yield at_most(0.01).claim(text, np.abs(needed[0, :, 0] / scale[0] / data.small.values - 1).max())
        text = "on the other dataset, where it does not, γ̃ ∝ α^D fails for α^D ≤ 1 (largest slope)"
        yield at_most(0.5).claim(text, slopes(needed[1], small).max())
        text = "depth lowers the intercept (smallest decrease from one depth to the next, in decades)"
        yield at_least(0.2).claim(text, least(-np.diff(np.log10(needed[0]), axis=0)))
        yield at_most(1e-5, "the order of magnitude of the interpolation error").claim(
            "at α^D = 1 and this accuracy raw weights have the excess of 5% (largest relative difference)",
            np.abs(data.raw_excess.values / CLOSE - 1).max(),
        )


def _raw_excess(rows: np.ndarray, depth: float, scale: float, accuracy: float) -> float:
    """The excess ℓ1 norm of raw weights trained to this accuracy."""
    run = raw_weights(depth, scale, rows, np.array([accuracy]))
    return float(excess_l1(run.predictor, rows, best_margin(rows, "l1").value)[-1])


@figure("moroshko2020/fig9", **AGAINST_ACCURACY, about=("Theorem 1",), seconds=3, short="the kernel turns")
class KernelDistance:
    """Distance of the tangent kernel from the one at initialization, by depth and scale (Figure 9)."""

    def data(
        self, depths: list[float], scales: list[float], accuracies: int, *, seed: int, progress: Progress
    ) -> xr.Dataset:
        """Compute kernel distances along the flows of Figure 5a, and at their rich end."""
        rows, accuracy = SAME_SUPPORT, np.geomspace(1e-2, 1e4, accuracies)
        distance = [
            [followed(depth, scale, rows, at=accuracy).kernel_distance for scale in scales]
            for depth in progress(depths, "flows")
        ]
        k = middle(scales)
        raw = [raw_weights(depth, scales[k], rows, accuracy).kernel_distance for depth in depths]
        alone = rows * (best_margin(rows, "l1").predictor != 0)
        return xr.Dataset(
            {
                "distance": (("depth", "scale", "accuracy"), distance),
                "raw_distance": (("depth", "accuracy"), raw),
                "rich": cosine_distance(rows @ rows.T, alone @ alone.T),
            },
            coords={"depth": depths, "scale": scales, "accuracy": accuracy},
        )

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """Draw the distances in 10⁻³, with the distance of the rich end and half of it as lines."""
        thousandths = data.assign(distance=1e3 * data.distance)
        rich, left = 1e3 * data.rich.item(), 1.2 * data.accuracy.values[0]
        ax.axhline(rich, color="0.8", lw=3.5, zorder=1)
        ax.axhline(rich / 2, color="0.4", lw=0.8, ls=":")
        for height, words, side in ((0.98, "rich kernel", "top"), (0.505, "half of the way", "bottom")):
            ax.text(left, height * rich, words, color="0.4", va=side, fontsize=8)
        against_accuracy(thousandths, "distance", ax)
        ax.set(ylim=(0, None), ylabel=r"kernel distance $1-\cos(K(t),K(0))$, in $10^{-3}$")
        ax.legend(loc="lower right", bbox_to_anchor=(1.0, 0.02))

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Small scales and deep networks leave the kernel regime at lower accuracies."""
        rich, accuracy = data.rich.item(), data.accuracy.values
        share_of_rich = data.distance.values / rich
        left = np.array([[reached_at(accuracy, 1 - d, 0.5) for d in row] for row in share_of_rich])
        pairs = ((d, s) for row in share_of_rich for d, s in zip(row, data.scale.values, strict=True))
        early = [d[accuracy <= s].max() for d, s in pairs]
        text = "up to γ̃ = α^D the kernel is almost constant (largest change, relative to the final one)"
        yield at_most(0.05).claim(text, max(early))
        text = "at the end it is close to the rich kernel (largest relative difference)"
        yield at_most(0.05).claim(text, np.abs(share_of_rich[..., -1] - 1).max())
        text = "with a tenth of the scale, half of the change is reached at a lower accuracy (smallest ratio)"
        yield at_least(3).claim(text, least(left[:, -1] / left[:, 0]))
        text = "and with greater depth (smallest ratio from one depth to the next)"
        yield at_least(1.5).claim(text, least(left[:-1] / left[1:]))
        off = data.raw_distance.values - data.distance.values[:, middle(list(data.scale.values))]
        text = "at the scale closest to 1 raw weights have this kernel (largest relative difference)"
        yield at_most(1e-6, "a hundred times the tolerance of the integrators").claim(
            text, np.abs(off).max() / rich
        )
