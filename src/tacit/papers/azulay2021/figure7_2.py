"""Figure 7.2 of Azulay et al. 2021: contours of the potential of a neuron.

Errata
------
### Appendix F / G: the kernel, its prefactor, and large scales
- **Printed.** K(x, x′) = xᵀB⁻¹x′ (Section 7.2); ∇²q(w̃(0)) = √((1−s)/(α(1+s)))·B. **Holds.** a(0)² and
  3/2 times these.
- **F.2.1 / G.2.1 says** that α → ∞ is the kernel regime for every s. With fixed targets this is wrong: the
  predictor then moves by about α, and the condition is ‖w̃(∞) − w̃(0)‖ ≪ α/(1−s)², where (26) has (1−s)²
  ≪ α. It holds for targets at a fixed distance from the outputs of the start, and as s → 1.
- **Evidence.** s = 0, fixed targets: the limit stays 13% from the kernel end for α = 1e2, 1e4 and 1e6.
- **Tests.** `TestAppendixF`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

import tacit
from tacit.data.arrays import Float
from tacit.papers import Claim, Progress, at_least, at_most, figure, within
from tacit.papers.azulay2021.training import kernel_metric
from tacit.papers.measures import exponent, least, variables
from tacit.papers.reproduction import presets
from tacit.potentials import Bregman

TOWARDS = np.array([0.6, 0.8])  # the orientation of Figure 7.2
ACROSS = np.array([-0.8, 0.6])
PANELS = ((2.0, 0.0), (2.0, 0.2), (2.0, 0.8), (0.01, 0.1), (1.0, 0.1), (2.5, 0.1))  # scale and shape
_QUADRATIC = "#FFC20A"
_DASHED = (0, (4, 2))
_START: dict[str, Any] = {"marker": "o", "ls": "none", "color": "#D62728", "mec": "w", "mew": 0.6, "ms": 6}
_CIRCLE = np.linspace(0, 2 * np.pi, 72, endpoint=False)
ROUND = np.stack([np.cos(_CIRCLE), np.sin(_CIRCLE)], axis=1)


def potential(scale: float, shape: float) -> Bregman:
    """q of Theorem 2 minus its value at the start."""
    return tacit.Neuron.from_scale(scale, shape, TOWARDS).potential()


def curvature(scale: float, shape: float) -> Float:
    """∇²q at the start, (3/2)·√((1−s)/(α(1+s)))·B: Appendix F, where the 3/2 is missing."""
    return 1.5 * np.sqrt((1 - shape) / (scale * (1 + shape))) * kernel_metric(shape, TOWARDS)


def quadratic(scale: float, shape: float, w: Float) -> Float:
    """½(w−w̃(0))ᵀ∇²q(w̃(0))(w−w̃(0)), over leading axes."""
    step = w - scale * TOWARDS
    return np.asarray(np.einsum("...i,ij,...j", step, curvature(scale, shape), step) / 2)


def as_printed(scale: float, shape: float, w: Float) -> Float:
    """q̂_δ(‖w‖) + zᵀw in the notation of Theorem 2, over leading axes; w ≠ 0."""
    delta, x = 4 * scale * shape / (1 - shape**2), np.linalg.norm(w, axis=-1)
    root = np.sqrt(x**2 + delta**2 / 4)
    q = (x**2 - delta / 2 * (delta / 2 + root)) * np.sqrt(root - delta / 2) / x
    z = -1.5 * np.sqrt(np.sqrt(scale**2 + delta**2 / 4) - delta / 2) * TOWARDS
    return np.asarray(q + w @ z)


def values(q: Bregman, w: Float) -> Float:
    """q at every w, over leading axes."""
    return np.array([float(q.value(each)) for each in w.reshape(-1, 2)]).reshape(w.shape[:-1])


def spread(level: Float) -> float:
    """The relative spread, (largest − smallest)/mean."""
    return float(np.ptp(level) / level.mean())


def bend(q: Bregman, start: Float, along: Float) -> float:
    """The second derivative of q at its minimum along a unit vector, by differences of fourth order."""
    step = 0.01 * float(np.linalg.norm(start))
    near, far = (values(q, start + step * n * np.stack([along, -along])).sum() for n in (1, 2))
    return float((16 * near - far) / (12 * step**2))


@figure(
    "azulay2021/fig7.2",
    **presets(points=(40, 120), sweep=(7, 13)),
    figsize=(7.4, 5.0),
    nrows=2,
    ncols=3,
    sharex=True,
    sharey=True,
    about=("Theorem 2 (6.1)", "Appendix F (G)"),
    seconds=3,
    short="potential of a neuron",
)
class NeuronContours:
    """Contours of q_{δ,w̃(0)} in the plane for w̃(0) = α·(0.6, 0.8) (Figure 7.2). Top: α = 2 and shapes s = 0,
    0.2, 0.8. Bottom: s = 0.1 and scales α = 0.01, 1, 2.5. Red dot: w̃(0). Dashed: the same levels of the
    quadratic with B at w̃(0), which the kernel regime minimizes.
    """

    def data(self, points: int, sweep: int, *, seed: int, progress: Progress) -> xr.Dataset:
        """Compute q, its quadratic and its curvature on a grid without the origin; sweep scale and shape."""
        axis = np.linspace(-4, 4, points + points % 2)
        grid = np.stack(np.meshgrid(axis, axis), axis=-1)
        coarse = grid[:: max(1, points // 20), :: max(1, points // 20)].reshape(-1, 2)
        panels = [(potential(*panel), panel[0] * TOWARDS, panel) for panel in PANELS]
        q = [values(here, grid) for here, _, _ in progress(panels, "fig7.2")]
        flat = [quadratic(*panel, grid) for _, _, panel in panels]
        printed = [as_printed(*panel, grid) - as_printed(*panel, start) for _, start, panel in panels]
        gradient = [np.linalg.norm(here.gradient(start)) for here, start, _ in panels]
        curved = [min(np.linalg.eigvalsh(here.hessian(w))[0] for w in coarse) for here, _, _ in panels]
        around = [spread(values(here, start + ROUND)) for here, start, _ in panels]
        scale, shape = np.transpose(PANELS)
        return xr.Dataset(
            {
                **variables("panel w2 w1", q=q, quadratic=flat, printed=printed),
                **variables("panel", gradient=gradient, least_curvature=curved, spread=around),
                **_sweeps(sweep),
            },
            coords={**variables("panel", scale=scale, shape=shape), "w1": axis, "w2": axis},
        )

    def draw(self, data: xr.Dataset, axes: Any) -> None:
        """Draw a panel for each scale and shape."""
        for k, ax in enumerate(axes.flat):
            panel = data.isel(panel=k)
            scale, shape = float(panel.scale), float(panel["shape"])
            # Evenly spaced where q is quadratic.
            levels = float(panel.q.max()) * np.linspace(0, 1, 11)[1:] ** 2
            plane = (panel.w1, panel.w2, panel.q)
            ax.contourf(*plane, levels=[0.0, *levels], cmap="viridis", alpha=0.85)
            ax.contour(*plane, levels=levels, colors="k", linewidths=0.6)
            style = {"colors": _QUADRATIC, "linewidths": 1.1, "linestyles": [_DASHED]}
            ax.contour(panel.w1, panel.w2, panel.quadratic, levels=levels[[0, 2, 4]], **style)
            ax.plot(*(scale * TOWARDS), zorder=4, **_START)
            ax.set(title=rf"$\alpha={scale:g},\ s={shape:g}$", aspect="equal", xlim=(-4, 4), ylim=(-4, 4))
            ax.set(xticks=[-4, -2, 0, 2, 4], yticks=[-4, -2, 0, 2, 4])
        for ax in axes[-1]:
            ax.set_xlabel(r"$\tilde w_1$")
        for ax in axes[:, 0]:
            ax.set_ylabel(r"$\tilde w_2$")
        first = axes[0, 0]
        first.plot([], [], color="k", lw=0.6, label=r"$q_{\delta,\tilde w(0)}$")
        first.plot([], [], color=_QUADRATIC, lw=1.1, ls=_DASHED, label="quadratic with $B$, same levels")
        first.plot([], [], label=r"$\tilde w(0)$", **_START)
        first.figure.legend(*first.get_legend_handles_labels(), loc="outside lower center", ncols=3)

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """The minimum, convexity, and the three limits in Section 7.2."""
        size = data.q.max(("w1", "w2"))
        text = "q is the formula of Theorem 2, up to a constant and its round-off (largest difference)"
        yield at_most(1e-10).claim(text, (np.abs(data.q - data.printed) / size).max())
        yield at_most(1e-15).claim("∇q vanishes at w̃(0) (largest norm)", data.gradient.max())
        text = "q has its minimum at w̃(0) (smallest q − q(w̃(0)))"
        yield at_least(0).claim(text, least(data.printed.values))
        text = "q is convex (smallest eigenvalue of ∇²q in the window)"
        yield at_least(0.05).claim(text, least(data.least_curvature.values))
        yield from _shape_claims(data)
        yield within(0.49, 0.51).claim(
            "α → 0: contours become circles about 0 (fitted exponent of the spread of q on the unit circle)",
            exponent(data.small.values, data.small_spread.values),
        )
        error, gap = data.error.values, 1 - data.near.values
        text = "α → ∞: q tends to the quadratic with B on a unit neighbourhood (fitted exponent of the error)"
        yield within(-1.02, -0.98).claim(text, exponent(data.large.values, error[0]))
        factor = error * data.large.values / gap[:, None] ** 2
        text = "the relative error is (1−s)²/α up to a factor (largest factor)"
        yield at_most(1.0).claim(text, factor.max())
        yield at_least(0.1).claim("and not much smaller (smallest factor)", factor.min())


def _sweeps(sweep: int) -> dict[str, Any]:
    """Curvatures along u and across as s → 1; circles about 0 as α → 0; the quadratic as α → ∞ and s → 1."""
    near, large = 1 - np.logspace(0, -2, sweep), np.logspace(2, 4, sweep)
    scale, small = PANELS[0][0], np.logspace(-4, -10, sweep)
    start, shapes = scale * TOWARDS, near.tolist()
    drawn = [potential(scale, s) for s in shapes]
    ratio = [bend(q, start, TOWARDS) / bend(q, start, ACROSS) for q in drawn]
    off = [
        np.abs(q.hessian(start) / curvature(scale, s) - 1).max() for q, s in zip(drawn, shapes, strict=True)
    ]
    rounded = [spread(values(potential(alpha, 0.1), ROUND)) for alpha in small.tolist()]

    def error(alpha: float, s: float) -> float:
        w = alpha * TOWARDS + ROUND[::3]
        return float(np.abs(values(potential(alpha, s), w) / quadratic(alpha, s, w) - 1).max())

    return {
        **variables("near", near=near, ratio=ratio, hessian_error=off),
        **variables("small", small=small, small_spread=rounded),
        "large": ("large", large),
        "error": (("near", "large"), [[error(alpha, s) for alpha in large.tolist()] for s in shapes]),
    }


def _shape_claims(data: xr.Dataset) -> Iterator[Claim]:
    """The curvature at w̃(0) is B's, and B tends to the identity."""
    text = "∇²q(w̃(0)) = (3/2)√((1−s)/(α(1+s)))·B (largest relative difference of an entry)"
    yield at_most(1e-12).claim(text, data.hessian_error.max())
    s = data.near.values
    expected = 1 - (1 - s) ** 2 / (2 * (1 + s**2))
    text = "contours near w̃(0) have the axes of B (largest difference of the ratios of curvatures)"
    yield at_most(1e-7).claim(text, np.abs(data.ratio.values - expected).max())
    late = s >= 0.9
    text = "s → 1: they become circles, like (1−s)² (fitted exponent of 1 − ratio)"
    yield within(1.9, 2.1).claim(text, exponent(1 - s[late], 1 - data.ratio.values[late]))
    rounded = data.spread.values
    text = "at α = 2, s = 0.8 q is nearly constant on |w − w̃(0)| = 1 (spread)"
    yield at_most(0.05).claim(text, rounded[2])
    yield at_least(0.5).claim("but not at s = 0 (spread)", rounded[0])
