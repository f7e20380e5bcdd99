"""MNIST and CIFAR-10 at many initialization scales: Figures 6(c), 6(d) and 8 of Woodworth et al. 2020."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

from tacit.data.arrays import Float
from tacit.papers import Claim, Progress, at_least, at_most, figure, within
from tacit.papers.woodworth2020.classifiers import CIFAR, MNIST, Runs, cifar_runs, mnist_runs
from tacit.show.figures import KERNEL, MUTED, RICH


def as_dataset(runs: Runs) -> xr.Dataset:
    """The arrays of runs with their axes: (scale, step, seed) on MNIST, (scale, seed, epoch) on CIFAR-10."""
    axes = ("scale", "step", "seed") if np.ndim(runs["step"]) == 1 else ("scale", "seed", "epoch")
    data = xr.Dataset()
    for name, array in runs.items():
        if np.ndim(array) == 0:
            data.attrs[name] = int(array)
        elif np.ndim(array) == 1:
            data.coords[name] = (name, array)
        else:
            data[name] = (("last_step", "seed") if name.startswith("last_") else axes[: array.ndim], array)
    if "epoch" in data.dims:
        data.coords["epoch"] = np.arange(1, data.sizes["epoch"] + 1)
        data["end_accuracy"] = (axes[:2], _last(runs["accuracy"]))
    return data


def with_best(data: xr.Dataset) -> xr.Dataset:
    """Add the results for the step with the smallest test error at each scale, and for the last layer.

    As in the paper, steps are chosen by the test error itself, among steps for which all seeds classify all
    training samples correctly.
    """
    errors, last = data.error.values, data.last_error.values
    best = _best(errors.mean(-1))
    rows, known = np.arange(len(best)), best >= 0
    return data.assign(
        best_error=(("scale", "seed"), np.where(known[:, None], errors[rows, best], np.nan)),
        best_moved=(("scale", "seed"), np.where(known[:, None], data.moved.values[rows, best], np.nan)),
        best_step=("scale", np.where(known, data.step.values[best], np.nan)),
        best_last_error=("seed", last[_best(last.mean(-1)[None])[0]]),
    )


def _best(errors: Float) -> np.ndarray:
    """The column of the minimum of each row; −1 if there is none."""
    known = np.where(np.isfinite(errors), errors, np.inf)
    return np.where(np.isfinite(known.min(1)), known.argmin(1), -1)


@figure("woodworth2020/fig6c", **MNIST, figsize=(4.4, 3.0), seconds=60)
class Digits:
    """Test error on MNIST of a network with one hidden layer against the scale α of its initial weights
    (Figure 6c). Small scales learn features and have a smaller test error than large scales, which are no
    better than training the last layer only (line). Stochastic gradient descent on the cross-entropy in
    batches of 256 until all training samples are classified correctly, with the step of smallest test error
    for each α, as in the paper. Points: seeds.
    """

    def data(self, *, seed: int, progress: Progress, **parameters: Any) -> xr.Dataset:
        """Networks of every scale, step and seed, and the last layer alone."""
        return with_best(as_dataset(mnist_runs(**parameters, seed=seed, progress=progress)))

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """The test error against the scale."""
        _draw_errors(100 * data.best_error, 100 * data.best_error.mean("seed"), ax)
        _draw_last(100 * float(data.best_last_error.mean()), ax)
        ax.set_ylim(0, None)

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Small scales, large scales, and the last layer."""
        error, last = data.best_error.mean("seed"), float(data.best_last_error.mean())
        small = float(error.where(data.scale <= 2, drop=True).mean(skipna=False))
        large = float(error.where(data.scale >= 30, drop=True).mean(skipna=False))
        text = "some step leads to 100% training accuracy (fraction of scales)"
        yield at_least(1.0, "all scales").claim(text, np.isfinite(error).mean())
        text = "ratio of test errors for α ≤ 2 and for α ≥ 30 (paper: 1.4% and 2.4%)"
        yield at_most(0.85, "a seventh less").claim(text, np.divide(small, large))
        text = "ratio of test errors for α ≥ 30 and of training the last layer only (paper: 2.4% and 2.7%)"
        yield within(0.6, 2.2, "the same order of magnitude").claim(text, np.divide(large, last))
        text = "ratio of test errors for α ≤ 2 and of training the last layer only"
        yield at_most(0.9, "a tenth less").claim(text, np.divide(small, last))
        moved = data.best_moved.mean("seed").values
        text = "weights move less at the largest scale (ratio of distances at the largest and smallest scale)"
        yield at_most(0.1, "an order of magnitude").claim(text, np.divide(moved[-1], moved[0]))


_FITTED = 0.995  # accuracy on the batches of the last epoch at which a run counts as fitted
_made: dict[str, xr.Dataset] = {}  # the data of the last parameters: both figures share them


def _last(curves: Float) -> Float:
    """The last finite number of each curve; NaN if there is none."""
    count = np.isfinite(curves).sum(-1, keepdims=True)
    return np.take_along_axis(curves, np.maximum(count - 1, 0), -1)[..., 0]


def _draw_errors(percent: xr.DataArray, mean: xr.DataArray, ax: Any) -> None:
    """Errors of networks against the scale: of seeds, and their mean."""
    ax.plot(mean.scale, mean, "o--", color=RICH, ms=4, label="network")
    for each in percent.transpose("seed", "scale"):
        ax.plot(percent.scale, each, ".", color=RICH, ms=3, alpha=0.6)


def _draw_last(percent: float, ax: Any) -> None:
    """The error of training the last layer only, the axes, and the legend."""
    ax.axhline(percent, color=KERNEL, label="last layer only")
    ax.axvline(1, color=MUTED, lw=0.6, zorder=0)
    ax.set(xscale="log", xlabel=r"$\alpha$", ylabel="test error (%)")
    ax.legend()


class _Photographs:
    """The data of both figures."""

    def data(self, *, seed: int, progress: Progress, **parameters: Any) -> xr.Dataset:
        """Networks of every scale and seed, and the last layer alone."""
        key = json.dumps([parameters, seed], sort_keys=True)
        if key not in _made:
            _made.clear()
            _made[key] = as_dataset(cifar_runs(**parameters, seed=seed, progress=progress))
        return _made[key].copy()


@figure("woodworth2020/fig6d", **CIFAR, figsize=(4.4, 3.0), seconds=60)
class PhotographsError(_Photographs):
    """Test error on CIFAR-10 of a VGG11-like network against the scale α of its initial weights (Figure 6d),
    trained by stochastic gradient descent to 100% training accuracy, and of training its last layer only
    (line). Small points: seeds; crosses: seeds that end below 99.5%.
    """

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """The test error against the scale."""
        fitted, percent = _fitted(data), 100 * data.error
        _draw_errors(percent.where(fitted), percent.where(fitted).mean("seed").dropna("scale"), ax)
        for each in percent.where(~fitted).T:
            ax.plot(data.scale, each, "x", color=MUTED, ms=4)
        if bool((~fitted & np.isfinite(data.error)).any()):
            ax.plot([], [], "x", color=MUTED, ms=4, label="not fitted")
        _draw_last(100 * float(_best_last(data)), ax)
        ax.set_xticks(data.scale.values, [f"{each:g}" for each in data.scale.values])
        ax.minorticks_off()

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Small scales, large scales, and the last layer."""
        fitted = _fitted(data)
        error = data.error.where(fitted).mean("seed")
        near = float(error.where(data.scale <= 1).min())
        text = "training accuracy reaches 99.5% (fraction of scales)"
        yield at_least(0.6).claim(text, fitted.any("seed").mean())
        yield at_most(0.95).claim(
            "smallest test error for α ≤ 1 over that at the largest fitted scale",
            float(np.divide(near, error.dropna("scale")[-1])) if np.isfinite(error).any() else np.nan,
        )
        text = "smallest test error for α ≤ 1 over that of training the last layer only"
        yield at_most(0.95).claim(text, np.divide(near, _best_last(data)))
        moved = data.moved.mean("seed").dropna("scale")
        yield at_least(1.5).claim(
            "weights move farther at the smallest scale (ratio to the distance at the largest fitted scale)",
            float(np.divide(moved[0], moved[-1])) if moved.size else np.nan,
        )
        text = "the last layer alone does not fit all training samples (best accuracy; paper: 50.38%)"
        yield at_most(0.95).claim(text, data.last_accuracy.mean("seed").max())


@figure("woodworth2020/fig8", **CIFAR, figsize=(8.0, 2.9), ncols=2, seconds=60)
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
        text = "small scales train slowly (epochs to 90% accuracy, smallest scale over fastest scale)"
        yield at_least(1.2).claim(text, np.divide(epochs[0], epochs.min()))


def _fitted(data: xr.Dataset) -> xr.DataArray:
    """Whether the run fits its training samples (scale, seed)."""
    return data.end_accuracy >= _FITTED


def _best_last(data: xr.Dataset) -> Any:
    """The test error of training the last layer only, for the best step."""
    return data.last_error.mean("seed").min()
