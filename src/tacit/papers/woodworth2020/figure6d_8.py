"""CIFAR-10 at many initialization scales: Figures 6(d) and 8 of Woodworth et al. 2020."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

from tacit.data.arrays import Float
from tacit.papers import Claim, Progress, at_least, at_most, figure
from tacit.papers.woodworth2020.classifiers import CIFAR, Runs, cifar_runs
from tacit.show.figures import KERNEL, MUTED, RICH

_FITTED = 0.995  # accuracy on the batches of the last epoch at which a run counts as fitted
_made: dict[str, xr.Dataset] = {}  # the data of the last parameters: both figures share them


def as_dataset(runs: Runs) -> xr.Dataset:
    """The arrays of the runs with their axes."""
    ends = {
        name: (("scale", "seed"), runs[name]) for name in ("error", "fitted", "end_loss", "moved", "step")
    }
    curves = ("loss", "accuracy", "test_error")
    return xr.Dataset(
        {
            **ends,
            "end_accuracy": (("scale", "seed"), _last(runs["accuracy"])),
            **{name: (("scale", "seed", "epoch"), runs[name]) for name in curves},
            "last_error": (("last_step", "seed"), runs["last_error"]),
            "last_accuracy": (("last_step", "seed"), runs["last_accuracy"]),
        },
        coords={
            "scale": runs["scale"],
            "last_step": runs["last_step"],
            "epoch": np.arange(1, runs["loss"].shape[-1] + 1),
        },
        attrs={"samples": int(runs["samples"]), "narrower": int(runs["narrower"])},
    )


def _last(curves: Float) -> Float:
    """The last finite number of each curve; NaN if there is none."""
    count = np.isfinite(curves).sum(-1, keepdims=True)
    return np.take_along_axis(curves, np.maximum(count - 1, 0), -1)[..., 0]


class _Photographs:
    """The data of both figures."""

    def data(self, *, seed: int, progress: Progress, **parameters: Any) -> xr.Dataset:
        """Networks of every scale and seed, and the last layer alone."""
        key = json.dumps([parameters, seed], sort_keys=True)
        if key not in _made:
            _made.clear()
            _made[key] = as_dataset(cifar_runs(**parameters, seed=seed, progress=progress))
        return _made[key].copy()


@figure("woodworth2020/fig6d", quick=CIFAR["quick"], paper=CIFAR["paper"], figsize=(4.4, 3.0), seconds=60)
class PhotographsError(_Photographs):
    """Test error on CIFAR-10 of a VGG11-like network against the scale α of its initial weights (Figure 6d),
    trained by stochastic gradient descent to 100% training accuracy, and of training its last layer only
    (line). Small points: seeds; crosses: seeds that end below 99.5%.
    """

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """The test error against the scale."""
        fitted, percent = _fitted(data), 100 * data.error
        mean = percent.where(fitted).mean("seed").dropna("scale")
        ax.plot(mean.scale, mean, "o--", color=RICH, ms=4, label="network")
        for k in range(data.sizes["seed"]):
            ax.plot(data.scale, percent.where(fitted)[:, k], ".", color=RICH, ms=3, alpha=0.6)
            ax.plot(data.scale, percent.where(~fitted)[:, k], "x", color=MUTED, ms=4)
        if bool((~fitted & np.isfinite(data.error)).any()):
            ax.plot([], [], "x", color=MUTED, ms=4, label="not fitted")
        ax.axhline(100 * float(_best_last(data)), color=KERNEL, label="last layer only")
        ax.axvline(1, color=MUTED, lw=0.6, zorder=0)
        ax.set(xscale="log", xlabel=r"$\alpha$", ylabel="test error (%)")
        ax.set_xticks(data.scale.values, [f"{each:g}" for each in data.scale.values])
        ax.minorticks_off()
        ax.legend()

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Small scales, large scales, and the last layer."""
        fitted = _fitted(data)
        error = data.error.where(fitted).mean("seed")
        near = float(error.where(data.scale <= 1).min())
        yield at_least(0.6).claim(
            "training accuracy reaches 99.5% (fraction of scales)", fitted.any("seed").mean()
        )
        yield at_most(0.95).claim(
            "smallest test error for α ≤ 1 over that at the largest fitted scale",
            float(np.divide(near, error.dropna("scale")[-1])) if np.isfinite(error).any() else np.nan,
        )
        yield at_most(0.95).claim(
            "smallest test error for α ≤ 1 over that of training the last layer only",
            np.divide(near, _best_last(data)),
        )
        moved = data.moved.mean("seed").dropna("scale")
        yield at_least(1.5).claim(
            "weights move farther at the smallest scale (ratio to the distance at the largest fitted scale)",
            float(np.divide(moved[0], moved[-1])) if moved.size else np.nan,
        )
        yield at_most(0.95).claim(
            "the last layer alone does not fit all training samples (best accuracy; paper: 50.38%)",
            data.last_accuracy.mean("seed").max(),
        )


@figure(
    "woodworth2020/fig8", quick=CIFAR["quick"], paper=CIFAR["paper"], figsize=(8.0, 2.9), ncols=2, seconds=60
)
class PhotographsCurves(_Photographs):
    """Training curves of these networks (Figure 8): accuracy on training batches and error on test images
    against epochs, for every scale α. Small scales start on a plateau, which is longer for smaller scales;
    large scales also train slowly, because their steps must be small.
    """

    def draw(self, data: xr.Dataset, axes: Any) -> None:
        """The first seed of every scale."""
        from matplotlib import colormaps

        shades = colormaps["viridis"](np.linspace(0, 0.9, data.sizes["scale"]))
        for i, shade in enumerate(shades):
            run, label = data.isel(scale=i, seed=0), rf"$\alpha={float(data.scale[i]):g}$"
            axes[0].plot(data.epoch, 100 * run.accuracy, color=shade, lw=1.2, label=label)
            axes[1].plot(data.epoch, 100 * run.test_error, color=shade, lw=1.2)
        axes[0].set(xlabel="epoch", ylabel="training accuracy (%)", ylim=(0, 102), xscale="log")
        axes[1].set(xlabel="epoch", ylabel="test error (%)", ylim=(0, 100), xscale="log")
        axes[0].legend(fontsize=6)

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Small scales train slowly."""
        there = data.accuracy >= 0.9
        epochs = (there.argmax("epoch") + 1.0).where(there.any("epoch")).mean("seed")
        yield at_least(1.2).claim(
            "small scales train slowly (epochs to 90% accuracy, smallest scale over fastest scale)",
            np.divide(epochs[0], epochs.min()),
        )


def _fitted(data: xr.Dataset) -> xr.DataArray:
    """Does the run fit its training samples? (scale, seed)"""
    return data.end_accuracy >= _FITTED


def _best_last(data: xr.Dataset) -> Any:
    """The test error of training the last layer only, for the best step."""
    return data.last_error.mean("seed").min()
