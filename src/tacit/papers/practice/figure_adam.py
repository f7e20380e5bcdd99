"""An audit of Adam: no flow from a single scale ends at the same weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

import tacit
from tacit.data.arrays import Float
from tacit.papers import Claim, Progress, at_least, at_most, figure
from tacit.papers.practice.data import relative, sparse_problem
from tacit.papers.reproduction import presets
from tacit.show.figures import KERNEL, RICH

_BETAS, _EPSILON = (0.9, 0.999), 1e-8  # Adam's usual constants
_SCALE, _RATE = 0.01, 1e-3  # of the initial weights; the step size of both


@figure(
    "practice/adam",
    **presets(samples=(8, 20), features=(16, 60), steps=(20_000, 20_000), scales=(31, 81)),
    figsize=(7.2, 2.8),
    ncols=2,
    about=("Effective start",),
    seconds=4,
    short="an audit of Adam",
)
class Adam:
    """Gradient descent and Adam from the same weights, depth 2. Left: the initial scale that each feature
    would need in a gradient flow, computed from the final weights alone: a single scale for gradient descent,
    scales that vary by orders of magnitude for Adam. Right: relative distance of the end to the limit of
    gradient flow from one scale, against that scale: for gradient descent it vanishes at the scale of the
    start, for Adam at no scale.
    """

    def data(
        self, samples: int, features: int, steps: int, scales: int, *, seed: int, progress: Progress
    ) -> xr.Dataset:
        """Both runs, their audits, and distances to limits from every scale."""
        X, y, _ = sparse_problem(samples, features, seed)
        descent = tacit.descend(tacit.Diagonal(scale=_SCALE), X, y, tacit.Training(step=_RATE))
        ends = {
            "gradient descent": (descent.weights["w₊"], descent.weights["w₋"]),
            "Adam": _adam(X, y, steps),
        }
        grid = _SCALE * np.geomspace(1e-3, 1e3, scales)
        limits = [
            tacit.limit(tacit.Diagonal(scale=each), X, y).predictor for each in progress(grid, "scales")
        ]
        audits = {name: tacit.audit(weights, X) for name, weights in ends.items()}
        predictors = {name: plus**2 - minus**2 for name, (plus, minus) in ends.items()}
        return xr.Dataset(
            {
                "start": (("optimizer", "feature"), np.array([audits[name].scale for name in ends])),
                "distance": (
                    ("optimizer", "scale"),
                    np.array([[relative(w, predictors[name]) for w in limits] for name in ends]),
                ),
                "residual": ("optimizer", [relative(X @ predictors[name], y) for name in ends]),
            },
            coords={"optimizer": list(ends), "scale": grid},
            attrs={"scale": _SCALE},
        )

    def draw(self, data: xr.Dataset, axes: Any) -> None:
        """Scales of features, and distances."""
        for name, colour in zip(data.optimizer.values, (KERNEL, RICH), strict=True):
            one = data.sel(optimizer=name)
            axes[0].plot(
                range(1, 1 + one.start.size), np.sort(one.start), "o", color=colour, ms=4, label=name
            )
            axes[1].plot(one.scale, one.distance, color=colour, label=name)
        axes[0].xaxis.get_major_locator().set_params(integer=True)
        axes[0].set(yscale="log", xlabel="features, sorted", ylabel="scale of the start")
        axes[0].legend()
        axes[1].set(xscale="log", yscale="log", xlabel="scale of a flow", ylabel="distance of its limit")
        axes[1].legend()

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Scales of the effective starts, and distances to limits from a single scale."""
        spread = (data.start.max("feature", skipna=False) / data.start.min("feature", skipna=False)).values
        text = "gradient descent ends where a flow from one scale does (largest over smallest scale)"
        yield at_most(1.05, "steps change the scale in second order").claim(text, spread[0])
        text = "Adam would need different scales for different features (largest over smallest)"
        yield at_least(3, "sixty times the spread of gradient descent").claim(text, spread[1])
        nearest = data.distance.min("scale", skipna=False).values
        text = "no single scale explains Adam (distance to the nearest limit, relative to gradient descent)"
        yield at_least(10, "an order of magnitude").claim(text, nearest[1] / nearest[0])


def _adam(X: Float, y: Float, steps: int) -> tuple[Float, Float]:
    """Adam on the weights of w₊² − w₋², with its learning rate decreased linearly to 0 so that it
    converges."""
    N, d = X.shape
    weights = np.full((2, d), _SCALE)
    first, second = np.zeros((2, d)), np.zeros((2, d))
    signs = np.array([[1.0], [-1.0]])
    for k in range(1, steps + 1):
        pull = (X @ (weights[0] ** 2 - weights[1] ** 2) - y) @ X / N
        gradient = 2 * signs * pull * weights
        first = _BETAS[0] * first + (1 - _BETAS[0]) * gradient
        second = _BETAS[1] * second + (1 - _BETAS[1]) * gradient**2
        mean, size = first / (1 - _BETAS[0] ** k), np.sqrt(second / (1 - _BETAS[1] ** k))
        weights = weights - _RATE * (1 - k / steps) * mean / (size + _EPSILON)
    return weights[0], weights[1]
