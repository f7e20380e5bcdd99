"""Scale, shape and accuracy in classification: the analogue of Section 7.1 of Azulay et al. 2021."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

import tacit
from tacit.papers import Claim, Progress, at_least, at_most, figure
from tacit.papers.arguments import arrived
from tacit.papers.azulay2021.training import middle_of
from tacit.papers.measures import largest_fall, least
from tacit.papers.moroshko2020.data import LABELS, SAME_SUPPORT
from tacit.papers.reproduction import presets
from tacit.show.figures import level_line


@figure(
    "azulay2021/regime-map",
    **presets(scales=(9, 25), shapes=(7, 17), accuracies=([1.0, 1e2, 1e4], [1.0, 1e2, 1e4])),
    figsize=(7.2, 6.0),
    nrows=2,
    ncols=2,
    about=("Section 7.1",),
    seconds=6,
    short="scale, shape and accuracy",
)
class RegimeMap:
    """Position of gradient flow of the exponential loss between the ℓ2 and the ℓ1 margin, by scale and shape
    of an untied diagonal network and by the accuracy at which training stops. Colours: the position in terms
    of the ℓ1 norm, from 0 (the ℓ1 margin, rich) to 1 (the ℓ2 margin, kernel). Lower right: all points against
    μ = √k/4γ̃, and the path of Q_μ margins.
    """

    def data(
        self, scales: int, shapes: int, accuracies: list[float], *, seed: int, progress: Progress
    ) -> xr.Dataset:
        """Compute a flow for every scale and shape, recorded at every accuracy, and the path."""
        scale = np.logspace(-3, 5, scales)
        gap = np.logspace(0, -4, shapes)  # 1 − s
        rich, kernel = (_l1(tacit.max_margin(SAME_SUPPORT, LABELS, norm).predictor) for norm in ("l1", "l2"))

        def on_the_way(norms: Any) -> Any:
            return (norms - rich) / (kernel - rich)

        def followed(model: tacit.UntiedDiagonal, **options: Any) -> Any:
            flow = tacit.flow(model, SAME_SUPPORT, LABELS, loss="exp", at=accuracies, **options)
            arrived(flow, f"the flow of {model!r} stopped early: {flow.reason}")
            asked = slice(-len(accuracies), None)
            return on_the_way(_l1(flow.predictor[asked]) / flow.margin[asked])

        models = [[tacit.UntiedDiagonal(scale=alpha, shape=1 - each) for alpha in scale] for each in gap]
        share = np.array([[followed(model) for model in row] for row in progress(models, "regime map")])
        place = shapes // 2, int(np.argmin(np.abs(np.log(scale))))
        raw = followed(models[place[0]][place[1]], method="parameters")
        mu = np.logspace(-6, 3, 91)
        path = tacit.margin_path(SAME_SUPPORT, LABELS, mu)
        return xr.Dataset(
            {
                "share": (("accuracy", "gap", "scale"), np.moveaxis(share, -1, 0)),
                "root": (("gap", "scale"), [[model.predictor_scale for model in row] for row in models]),
                "off_raw_weights": ("accuracy", np.abs(raw - share[place])),
                "path": ("mu", on_the_way(_l1(path.predictors))),
            },
            coords={"accuracy": accuracies, "gap": gap, "scale": scale, "mu": mu},
        )

    def draw(self, data: xr.Dataset, axes: Any) -> None:
        """Draw a map for each accuracy, and all points against μ."""
        maps, collapse = axes.flat[:3], axes.flat[3]
        for axis, accuracy in zip(maps, data.accuracy.values, strict=True):
            mesh = _draw_map(data, float(accuracy), axis)
        label = r"from the $\ell_1$ margin (0) to the $\ell_2$ margin (1)"
        axes[0, 0].figure.colorbar(mesh, ax=list(axes.flat), label=label)
        _draw_collapse(data, collapse)

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """√k determines the regime; shape acts like scale, accuracy acts in the opposite direction, and μ
        combines them."""
        share, root = data.share.values, data.root.values
        order = np.argsort(root, axis=None)
        falls = [largest_fall(level.ravel()[order]) for level in share]
        text = "at each accuracy √k alone determines the regime (largest decrease along it)"
        yield at_most(1e-6).claim(text, max(falls))
        middle = np.argmin(np.abs(np.log(data.scale.values)))
        rise = share[1, -1, middle] - share[1, 0, middle]
        text = "at scale 1 and γ̃ = 100 shape alone changes the regime from rich to kernel (increase)"
        yield at_least(0.5).claim(text, rise)
        past = data.root.values / data.accuracy.values[1] < 1  # beyond the kernel regime at γ̃ = 100
        moves = (share[1] - share[-1])[past]
        text = "beyond the kernel regime more accuracy moves towards ℓ1 (smallest change)"
        yield at_least(0).claim(text, least(moves))
        start = float(np.ptp(share[0][data.root.values > 100]))
        text = "at γ̃ = 1 and large √k the flow is still in its initial direction (spread)"
        yield at_most(1e-3).claim(text, start)
        gaps = [_distance_to_path(data, k) for k in range(len(share))]
        text = "at γ̃ = 1e4 all flows are on the path of Q_μ margins (largest distance)"
        yield at_most(2e-3).claim(text, gaps[-1])
        yield at_least(0.1).claim("but not at γ̃ = 1 (largest distance)", gaps[0])
        text = "raw weights of scale 1 and an intermediate shape agree (largest difference)"
        yield at_most(1e-6, "a hundred times the tolerance of the integrators").claim(
            text, data.off_raw_weights.max()
        )


def _l1(w: np.ndarray) -> Any:
    return np.abs(w).sum(axis=-1)


def _distance_to_path(data: xr.Dataset, k: int) -> float:
    mu = data.root.values / float(data.accuracy[k])
    theory = np.interp(np.log(mu), np.log(data.mu.values), data.path.values)
    inside = (mu > data.mu.values[0]) & (mu < data.mu.values[-1])
    return float(np.abs(data.share.values[k] - theory)[inside].max())


def _draw_map(data: xr.Dataset, accuracy: float, axis: Any) -> Any:
    level = data.share.sel(accuracy=accuracy).clip(0, 1)
    style = {"shading": "gouraud", "rasterized": True, "cmap": "cividis", "vmin": 0, "vmax": 1}
    mesh = axis.pcolormesh(data.scale, data.gap, level, **style)
    gap = np.geomspace(data.gap.min(), data.gap.max(), 200)
    left, right = float(data.scale.min()), float(data.scale.max())
    for power in range(-8, 10, 2):
        s = 1 - gap
        line = 10.0**power * accuracy * (1 - s**2) / (1 + s**2)
        named = middle_of((line > 3 * left) & (line < right / 20))
        level_line(axis, line, gap, f"$10^{{{power}}}$", named)
    axis.set(xlim=(left, right), ylim=(gap.min(), gap.max()))
    axis.set(xscale="log", yscale="log", xlabel=r"scale $\alpha=|u||v|$", ylabel=r"$1-s$, shape $s$")
    title = rf"$\tilde\gamma={accuracy:g}$; white: $\mu=\sqrt{{k}}/4\tilde\gamma$"
    axis.set_title(title, loc="left", fontsize=8)
    return mesh


def _draw_collapse(data: xr.Dataset, axis: Any) -> None:
    axis.plot(data.mu, data.path, color="k", lw=1.2, label=r"$Q_\mu$ margins", zorder=0)
    marks = (("o", 3, "0.6"), ("v", 5, "#E69F00"), ("s", 2.5, "#0072B2"))  # small marks on top of large ones
    for (marker, size, color), accuracy in zip(marks, data.accuracy.values, strict=True):
        order = np.argsort(data.root.values, axis=None)
        order = order[:: max(1, len(order) // 60)]  # few enough to be distinguished
        mu = data.root.values.ravel()[order] / accuracy
        level = data.share.sel(accuracy=accuracy).values.ravel()[order]
        style = {"ms": size, "mfc": "none", "mew": 0.8, "color": color}
        axis.plot(mu, level, marker, label=rf"$\tilde\gamma={accuracy:g}$", **style)
    axis.set(xscale="log", xlim=(1e-6, 1e3), ylim=(-0.05, 1.4), xlabel=r"$\mu=\sqrt{k}/4\tilde\gamma$")
    axis.set_ylabel(r"share of the way, $\ell_1$ to $\ell_2$")
    axis.legend(loc="upper left")
