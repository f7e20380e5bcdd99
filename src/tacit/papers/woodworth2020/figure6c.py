"""MNIST at many initialization scales: Figure 6(c) of Woodworth et al. 2020."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

from tacit.data.arrays import Float
from tacit.papers import Claim, Progress, at_least, at_most, figure, within
from tacit.papers.woodworth2020.classifiers import MNIST, Runs, mnist_runs
from tacit.show.figures import KERNEL, MUTED, RICH


def as_dataset(runs: Runs) -> xr.Dataset:
    """The arrays of the runs with their axes."""
    axes = ("scale", "step", "seed")
    names = ("error", "end_loss", "moved", "fitted", "accuracy")
    return xr.Dataset(
        {
            **{name: (axes, runs[name]) for name in names},
            "last_error": (("last_step", "seed"), runs["last_error"]),
            "last_accuracy": (("last_step", "seed"), runs["last_accuracy"]),
        },
        coords={"scale": runs["scale"], "step": runs["step"], "last_step": runs["last_step"]},
        attrs={"samples": int(runs["samples"]), "width": int(runs["width"])},
    )


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


@figure("woodworth2020/fig6c", quick=MNIST["quick"], paper=MNIST["paper"], figsize=(4.4, 3.0), seconds=60)
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
        percent = 100 * data.best_error
        ax.plot(data.scale, percent.mean("seed"), "o--", color=RICH, ms=4, label="network")
        for k in range(data.sizes["seed"]):
            ax.plot(data.scale, percent[:, k], ".", color=RICH, ms=3, alpha=0.6)
        last = 100 * float(data.best_last_error.mean())
        ax.axhline(last, color=KERNEL, label="last layer only")
        ax.axvline(1, color=MUTED, lw=0.6, zorder=0)
        ax.set(xscale="log", xlabel=r"$\alpha$", ylabel="test error (%)", ylim=(0, None))
        ax.legend()

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Small scales, large scales, and the last layer."""
        error, last = data.best_error.mean("seed"), float(data.best_last_error.mean())
        small = float(error.where(data.scale <= 2, drop=True).mean(skipna=False))
        large = float(error.where(data.scale >= 30, drop=True).mean(skipna=False))
        yield at_least(1.0, "all scales").claim(
            "some step leads to 100% training accuracy (fraction of scales)", np.isfinite(error).mean()
        )
        yield at_most(0.85, "a seventh less").claim(
            "ratio of test errors for α ≤ 2 and for α ≥ 30 (paper: 1.4% and 2.4%)", np.divide(small, large)
        )
        yield within(0.6, 2.2, "the same order of magnitude").claim(
            "ratio of test errors for α ≥ 30 and of training the last layer only (paper: 2.4% and 2.7%)",
            np.divide(large, last),
        )
        yield at_most(0.9, "a tenth less").claim(
            "ratio of test errors for α ≤ 2 and of training the last layer only", np.divide(small, last)
        )
        moved = data.best_moved.mean("seed").values
        yield at_most(0.1, "an order of magnitude").claim(
            "weights move less at the largest scale (ratio of distances at the largest and smallest scale)",
            np.divide(moved[-1], moved[0]),
        )
