"""How far the tangent kernel turns on the way: Figure 9 of Moroshko et al. 2020."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

from tacit.numerics.subspaces import cosine_distance
from tacit.papers import Claim, Progress, at_least, at_most, figure
from tacit.papers.measures import least
from tacit.papers.moroshko2020.data import SAME_SUPPORT
from tacit.papers.moroshko2020.drawing import against_accuracy
from tacit.papers.moroshko2020.margins import AGAINST_ACCURACY, best_margin, followed
from tacit.papers.moroshko2020.plot_grid import reached_at
from tacit.papers.moroshko2020.raw_weights import middle, raw_weights


@figure("moroshko2020/fig9", **AGAINST_ACCURACY, about=("Theorem 1",), seconds=3, short="the kernel turns")
class KernelDistance:
    """Distance of the tangent kernel from the one at initialization, by depth and scale (Figure 9)."""

    def data(
        self, depths: list[float], scales: list[float], accuracies: int, *, seed: int, progress: Progress
    ) -> xr.Dataset:
        """Along the flows of Figure 5a, and where they end: with the coordinate of the ℓ1 margin alone."""
        rows, accuracy = SAME_SUPPORT, np.geomspace(1e-2, 1e4, accuracies)
        cases = [(depth, scale) for depth in depths for scale in scales]
        distance = [
            followed(depth, scale, rows, at=accuracy).kernel_distance
            for depth, scale in progress(cases, "flows")
        ]
        k = middle(scales)
        raw = [raw_weights(depth, scales[k], rows, accuracy).kernel_distance for depth in depths]
        alone = rows * (best_margin(rows, "l1").predictor != 0)
        return xr.Dataset(
            {
                "distance": (
                    ("depth", "scale", "accuracy"),
                    np.reshape(distance, (len(depths), len(scales), accuracies)),
                ),
                "raw_distance": (("depth", "accuracy"), raw),
                "rich": cosine_distance(rows @ rows.T, alone @ alone.T),
            },
            coords={"depth": depths, "scale": scales, "accuracy": accuracy},
        )

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """In thousandths, with the distance of the rich kernel and half of it as lines."""
        thousandths = data.assign(distance=1e3 * data.distance)
        rich = 1e3 * data.rich.item()
        ax.axhline(rich, color="0.8", lw=3.5, zorder=1)
        ax.text(data.accuracy.values[0] * 1.2, 0.98 * rich, "rich kernel", color="0.4", va="top", fontsize=8)
        ax.axhline(rich / 2, color="0.4", lw=0.8, ls=":")
        half = {"color": "0.4", "va": "bottom", "fontsize": 8}
        ax.text(data.accuracy.values[0] * 1.2, 0.505 * rich, "half of the way", **half)
        against_accuracy(thousandths, "distance", ax)
        ax.set(ylim=(0, None), ylabel=r"kernel distance $1-\cos(K(t),K(0))$, in $10^{-3}$")
        ax.legend(loc="lower right", bbox_to_anchor=(1.0, 0.02))

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Small scales and deep networks leave the kernel regime at lower accuracies."""
        rich, accuracy = data.rich.item(), data.accuracy.values
        share_of_rich = data.distance.values / rich
        left = np.array([[reached_at(accuracy, 1 - d, 0.5) for d in row] for row in share_of_rich])
        early = [
            d[accuracy <= s].max()
            for row in share_of_rich
            for d, s in zip(row, data.scale.values, strict=True)
        ]
        yield at_most(0.05).claim(
            "up to γ̃ = α^D the kernel is almost fixed (largest share of the way)", max(early)
        )
        yield at_most(0.05).claim(
            "at the end it is the rich kernel, nearly (largest relative difference)",
            np.abs(share_of_rich[..., -1] - 1).max(),
        )
        yield at_least(3).claim(
            "with a tenth of the scale, half of the way is done at a lower accuracy (smallest ratio)",
            least(left[:, -1] / left[:, 0]),
        )
        yield at_least(1.5).claim(
            "and with greater depth (smallest ratio from one depth to the next)", least(left[:-1] / left[1:])
        )
        off = data.raw_distance.values - data.distance.values[:, middle(list(data.scale.values))]
        yield at_most(1e-6, "a hundred times what integrators leave").claim(
            "at the scale nearest to 1 the kernel of raw weights turns so (largest difference, of the way)",
            np.abs(off).max() / rich,
        )
