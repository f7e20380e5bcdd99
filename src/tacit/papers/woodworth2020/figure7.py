"""Functions of one variable that wide ReLU networks learn: Figure 7 of Woodworth et al. 2020."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

import tacit
from tacit.data.arrays import Float
from tacit.networks.architectures import Weights, univariate
from tacit.networks.exponential_flow import settle
from tacit.papers import Claim, Progress, at_least, at_most, figure
from tacit.papers.reproduction import presets
from tacit.show.figures import KERNEL, MUTED, RICH

# The paper does not state its points. Here the kinks of the linear spline alternate in sign: with trained
# biases a kink at x costs √(1 + x²), so one kink between two of the same sign would be cheaper than both.
POINTS = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
VALUES = np.array([0.0, 1.0, -0.5, 0.8, 0.0])
_FIT = 1e-9  # mean squared residual at which flows stop, relative to the mean squared values


@figure(
    "woodworth2020/fig7",
    **presets(
        width=(600, 10_000),
        scales=([1e-2, 0.1, 1.0, 300.0], [1e-3, 1e-2, 0.1, 1.0, 100.0]),
        layers=([1.0, 0.5, 0.3], [1.0, 0.3, 0.15]),
        grid=(161, 401),
    ),
    figsize=(9.4, 2.8),
    ncols=3,
    sharey=True,
    seconds=8,
    short="what ReLU networks learn",
)
class Univariate:
    """Functions that ReLU networks of one input learn from five points, by scale α of their initial weights
    (Figure 7). As α → 0 they tend to the linear spline through the points (dashed) for any relative scale c
    of the two layers (w₁, b₁ times c, w₂ divided by c: left to right). As α → ∞ they tend to the interpolant
    of their tangent kernel (dotted), which depends on c. Limits of flows of the square loss from outputs of 0
    (doubled networks).
    """

    def data(
        self,
        width: int,
        scales: list[float],
        layers: list[float],
        grid: int,
        *,
        seed: int,
        progress: Progress,
    ) -> xr.Dataset:
        """A flow for every scale and relative scale of the layers."""
        x = np.linspace(POINTS[0], POINTS[-1], grid)
        learned, kernel = np.full((2, len(layers), len(scales), grid), np.nan)
        network = tacit.Network(univariate, _start(width, 1.0, seed))
        double = network.doubled()
        for i, j in progress(list(np.ndindex(len(layers), len(scales))), "scales"):
            weights = np.concatenate([np.ravel(w) for w in _start(width, layers[i], seed)]) * scales[j]
            learned[i, j] = _learned(double.with_weights(np.tile(weights, 2)), x)
            kernel[i, j] = _kernel_interpolant(network.with_weights(weights), x)
        return xr.Dataset(
            {
                "learned": (("layers", "scale", "x"), learned),
                "kernel": (("layers", "scale", "x"), kernel),
                "spline": ("x", np.interp(x, POINTS, VALUES)),
                "value": ("point", VALUES),
            },
            coords={"layers": layers, "scale": scales, "x": x, "point": POINTS},
            attrs={"width": width},
        )

    def draw(self, data: xr.Dataset, axes: Any) -> None:
        """A panel for each relative scale."""
        from matplotlib import colormaps

        shades = colormaps["viridis"](np.linspace(0, 0.9, data.sizes["scale"]))
        for ax, (c, panel) in zip(np.ravel(axes), data.groupby("layers", squeeze=False), strict=True):
            panel = panel.squeeze("layers")
            for shade, (scale, each) in zip(shades, panel.groupby("scale", squeeze=False), strict=True):
                ax.plot(data.x, each.learned.squeeze(), color=shade, lw=1.2, label=rf"$\alpha={scale:g}$")
            ax.plot(data.x, data.spline, color=RICH, ls="--", lw=1.4, label="linear spline")
            ax.plot(data.x, panel.kernel[-1], color=KERNEL, ls=":", lw=1.8, label="kernel interpolant")
            ax.plot(data.point, data.value, "ko", ms=4, zorder=5)
            ax.axhline(0, color=MUTED, lw=0.5, zorder=0)
            ax.set(xlabel="$x$", title=rf"layers $c\,w_1$, $w_2/c$ with $c={c:g}$")
        np.ravel(axes)[0].set_ylabel("$f(x)$")
        np.ravel(axes)[-1].legend(fontsize=6, loc="lower right")

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Both limits, and how they depend on the relative scale of the layers."""
        size = float(np.abs(data.value).max())
        to_spline = np.abs(data.learned - data.spline).max("x", skipna=False) / size
        # A unit with its kink next to a point bends the function there, in 1 of 10 draws by up to 0.04.
        to_kernel = np.abs(data.learned - data.kernel).quantile(0.9, "x", skipna=False) / size
        unseen = at_most(1e-2, "the width of the lines in the figure")
        visible = at_least(5e-2, "visible: five times the width of the lines")
        yield unseen.claim(
            "at the smallest α the function is the linear spline, at every relative scale of the layers "
            "(largest distance, relative to the values)",
            to_spline[:, 0].max(skipna=False),
        )
        yield unseen.claim(
            "at the largest α it is the interpolant of the initial tangent kernel (distance, 90% quantile "
            "over the interval)",
            to_kernel[:, -1].max(skipna=False),
        )
        text = "the rich limit does not depend on the relative scale (largest distance between functions)"
        yield unseen.claim(text, _spread(data.learned[:, 0]) / size)
        text = "the kernel limit does (largest distance between functions)"
        yield visible.claim(text, _spread(data.learned[:, -1]) / size)
        text = "the kernel limit is not the spline (largest distance from it, mean over relative scales)"
        yield visible.claim(text, to_spline[:, -1].mean(skipna=False))


def _start(width: int, layers: float, seed: int) -> Weights:
    """w₁, b₁ ~ N(0, 1) and w₂ ~ N(0, 2/k), with the first layer multiplied and the second divided by c."""
    rng = np.random.default_rng(seed)
    inner, bias, outer = rng.standard_normal((3, width))
    return layers * inner, layers * bias, np.sqrt(2 / width) * outer / layers, np.array(0.0)


def _learned(network: tacit.Network, x: Float) -> Float:
    """Outputs of the trained network on a grid; NaN if it does not fit the points."""
    end = settle(network, POINTS[:, None], VALUES, loss=_FIT * float(np.mean(VALUES**2)))
    return end.network.outputs(x[:, None])[:, 0] if end.converged else np.full(len(x), np.nan)


def _kernel_interpolant(network: tacit.Network, x: Float) -> Float:
    """K(x, X) K(X, X)⁻¹ y of the tangent kernel, which doubling does not change."""
    across = network.tangent_kernel(x[:, None], POINTS[:, None])
    return np.asarray(across @ np.linalg.solve(network.tangent_kernel(POINTS[:, None]), VALUES))


def _spread(curves: xr.DataArray) -> float:
    """The largest distance between any two of the curves."""
    return float((curves.max("layers", skipna=False) - curves.min("layers", skipna=False)).max(skipna=False))
