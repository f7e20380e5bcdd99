"""Label noise acts like a smaller scale, feature by feature."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

import tacit
from tacit.papers import Claim, Progress, at_least, figure
from tacit.papers.measures import least
from tacit.papers.practice.data import relative, sparse_problem
from tacit.papers.reproduction import presets
from tacit.show.figures import KERNEL, MUTED, RICH

_SCALE, _STEP = 0.3, 0.01  # of the initial weights, and of gradient descent


@figure(
    "practice/label-noise",
    **presets(
        samples=(8, 20),
        features=(16, 60),
        steps=(20_000, 50_000),
        noise=([0.5, 1.0, 1.5], [0.25, 0.5, 0.75, 1.0, 1.25, 1.5]),
    ),
    figsize=(6.0, 3.0),
    about=("Label noise",),
    seconds=6,
    short="label noise",
)
class LabelNoise:
    """Gradient descent with noise ±δ on the labels for many steps, and clean labels afterwards (depth 2). The
    run ends at the limit of the flow that starts with weights α·exp(−2γ²δ²K·m_j/N), a profile that depends on
    the mean square m_j of each feature (filled). With a single scale for all features, from the mean exponent
    (open), or without the noise (crosses), the limit is far from the run, because the features differ in
    size.
    """

    def data(
        self, samples: int, features: int, steps: int, noise: list[float], *, seed: int, progress: Progress
    ) -> xr.Dataset:
        """Runs at every strength of the noise, and distances of three predictions."""
        X, y, _ = sparse_problem(samples, features, seed)
        sizes = np.geomspace(0.5, 1.5, features)[np.random.default_rng([seed, 1]).permutation(features)]
        X = X * sizes
        y = y / np.linalg.norm(y) * math.sqrt(samples)
        model = tacit.Diagonal(scale=_SCALE)
        clean = tacit.limit(model, X, y).predictor
        found = np.empty((3, len(noise)))
        for i, delta in enumerate(progress(noise, "noise")):
            training = tacit.Training(step=_STEP, label_noise=delta, noise_steps=steps)
            end = tacit.descend(model, X, y, training, seed=seed).predictor
            exponent = 2 * (_STEP * delta) ** 2 * steps * (X**2).mean() / samples
            uniform = tacit.limit(tacit.Diagonal(scale=_SCALE * math.exp(-exponent)), X, y).predictor
            predicted = tacit.limit(model, X, y, training=training).predictor
            found[:, i] = [relative(each, end) for each in (predicted, uniform, clean)]
        names = ("prediction", "uniform", "clean")
        return xr.Dataset(
            {name: ("noise", values) for name, values in zip(names, found, strict=True)},
            coords={"noise": noise},
        )

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """Distances against the noise."""
        ax.plot(data.noise, data.clean, "x-", color=MUTED, lw=0.8, label="limit without noise")
        ax.plot(
            data.noise, data.uniform, "o-", color=RICH, mfc="w", lw=0.8, label="one scale for all features"
        )
        ax.plot(data.noise, data.prediction, "o-", color=KERNEL, lw=0.8, label="prediction: a profile")
        ax.set(yscale="log", xlabel=r"label noise $\delta$", ylabel="relative distance to the run")
        ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """The profile predicts the run; a single scale does not."""
        for name, text in (("uniform", "one scale for all features"), ("clean", "the limit without noise")):
            yield at_least(2, "what is of higher order in the noise is smaller than what it predicts").claim(
                f"{text} is farther from the run than the profile (ratio of distances, strongest noise)",
                least((data[name] / data.prediction).values[-1:]),
            )
