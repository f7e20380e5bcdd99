"""Weight decay as a clock: grokking."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

import tacit
from tacit.data.arrays import Float
from tacit.papers import Claim, Progress, at_least, at_most, figure
from tacit.papers.practice.data import sparse_problem
from tacit.show.figures import KERNEL, RICH, TRUTH

_COLOURS = (KERNEL, TRUTH, RICH)
_EVEN = 0.01  # distance of evenly spaced records from their places, due to whole numbers of steps
_FITTED = 1e-2  # relative training error that counts as fitted


@figure(
    "practice/grokking",
    quick={
        "samples": 30,
        "features": 60,
        "scale": 1.0,
        "decays": [0.01, 0.003, 0.001],
        "until": 3.5,
        "level": 0.1,
        "tests": 400,
        "times": 60,
        "step": 0.02,
    },
    paper={
        "samples": 40,
        "features": 120,
        "scale": 1.0,
        "decays": [1e-2, 1e-3, 1e-4],
        "until": 4.5,
        "level": 0.1,
        "tests": 2000,
        "times": 120,
        "step": 0.02,
    },
    figsize=(7.2, 3.2),
    ncols=2,
    about=("Slow decay",),
    seconds=12,
    short="grokking: weight decay as a clock",
)
class Grokking:
    """Gradient descent with three weight decays λ from a large scale, depth 2. Left: the training error
    (dashed) vanishes within some hundred steps, and the test error (solid) falls long afterwards, when the
    solution becomes sparse; triangles: the predicted grokking times. Right: on the clock λt the three test
    errors collapse on one curve, that of the limits of gradient flow from the scales αe^{−λt}, which is
    computed without training (line).
    """

    def data(
        self,
        samples: int,
        features: int,
        scale: float,
        decays: list[float],
        until: float,
        level: float,
        tests: int,
        times: int,
        step: float,
        *,
        seed: int,
        progress: Progress,
    ) -> xr.Dataset:
        """Training with every decay, and the prediction; errors relative to that of the predictor 0."""
        X, y, signal = sparse_problem(samples, features, seed)
        T = np.random.default_rng([seed, 1]).standard_normal((tests, features))
        goal, model = T @ signal, tacit.Diagonal(scale=scale)
        shape = (len(decays), 2 * times)
        test, train, steps = np.empty(shape), np.empty(shape), np.empty(shape)
        crossings = np.empty((2, len(decays)))
        for i, decay in enumerate(progress(decays, "decays")):
            steps[i] = _records(until / (decay * step), times)
            runs = _train(X, y, scale, decay, step, steps[i])
            test[i] = [np.mean((T @ w - goal) ** 2) / np.mean(goal**2) for w in runs]
            train[i] = [np.mean((X @ w - y) ** 2) / np.mean(y**2) for w in runs]
            predicted = tacit.decay_path(model, X, y, decay, X_test=T, y_test=goal)
            time = predicted.grokking_time(level * float(np.mean(goal**2)))
            crossings[:, i] = _first_below(steps[i] * decay * step, test[i], level), decay * time
        clock = np.linspace(0, until, times)
        path = tacit.decay_path(model, X, y, 1.0, X_test=T, y_test=goal, times=clock)
        where = ("decay", "record")
        return xr.Dataset(
            {
                "test": (where, test),
                "train": (where, train),
                "steps": (where, steps),
                "predicted": ("clock", np.asarray(path.test_error) / np.mean(goal**2)),
                "crossing": (("kind", "decay"), crossings),
            },
            coords={"decay": decays, "clock": clock, "kind": ["run", "predicted"]},
            attrs={"level": level, "step": step},
        )

    def draw(self, data: xr.Dataset, axes: Any) -> None:
        """Errors against steps, and against λt."""
        level, end = data.attrs["level"], float(data.clock[-1])
        for k, (decay, colour) in enumerate(zip(data.decay.values, _COLOURS, strict=False)):
            one, unit = data.sel(decay=decay), float(decay) * data.attrs["step"]
            axes[0].plot(one.steps, one.test, color=colour)
            axes[0].plot(one.steps, one.train, "--", color=colour, lw=1)
            time = float(one.crossing.sel(kind="predicted")) / unit
            axes[0].plot(time, level, "v", color=colour, mec="k", ms=6, clip_on=False, zorder=3)
            place = one.steps.values * unit / end * data.clock.size
            even = np.abs(place - np.rint(place)) < _EVEN
            turn = np.rint(place) % len(_COLOURS) == k  # in turn, because they coincide
            shown = one.isel(record=even & turn & (place > 1 / 2))
            label = rf"$\lambda={decay:g}$"
            axes[1].plot(shown.steps * unit, shown.test, "o", color=colour, mfc="w", ms=4, label=label)
        bottom = float(data.test.min()) / 30
        axes[0].axhline(level, color="0.8", lw=0.8, zorder=0)
        axes[0].set(xscale="log", yscale="log", xlabel="steps", ylabel="relative error", ylim=(bottom, 2))
        axes[0].plot([], [], color="k", label="test error")
        axes[0].plot([], [], "--", color="k", lw=1, label="training error")
        axes[0].plot([], [], "v", color="w", mec="k", ms=6, label="predicted")
        axes[0].legend(loc="center", bbox_to_anchor=(0.46, 0.5))
        axes[1].plot(data.clock, data.predicted, color="k", lw=1, label="predicted", zorder=1)
        axes[1].axhline(level, color="0.8", lw=0.8, zorder=0)
        axes[1].set(yscale="log", xlabel=r"$\lambda t$", ylabel="relative test error", ylim=(None, 2))
        axes[1].legend(loc="lower left")

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Grokking times, the collapse onto one curve, and the earlier decrease of the training error."""
        smallest = data.isel(decay=int(np.argmin(data.decay.values)))
        unit = float(smallest.decay) * data.attrs["step"]
        run, predicted = smallest.crossing.values
        yield at_most(0.02, "of the order of λ and of the step").claim(
            f"the grokking time at λ = {float(smallest.decay):g} is the predicted one (relative difference)",
            abs(run / predicted - 1),
        )
        runs = data.crossing.sel(kind="run").values
        yield at_most(0.1, "ten times the largest λ").claim(
            "all decays grok at one λt (largest over smallest, minus 1)", float(runs.max() / runs.min() - 1)
        )
        clock = smallest.steps.values * unit
        late = clock > float(data.clock[-1]) / 8
        line = np.exp(np.interp(clock[late], data.clock, np.log(data.predicted)))
        yield at_most(
            0.1, "of the order of λ and of the step, where the error falls by orders of magnitude"
        ).claim(
            f"test errors at λ = {float(smallest.decay):g} lie on the predicted curve (median difference)",
            float(np.median(np.abs(smallest.test.values[late] / line - 1))),
        )
        fitted = _first_below(clock, smallest.train.values, _FITTED)
        yield at_least(10, "an order of magnitude").claim(
            "the test error falls long after the training data are fitted (ratio of times)", run / fitted
        )


def _records(steps: float, times: int) -> Float:
    """Numbers of steps, geometrically and evenly spaced."""
    even = np.linspace(steps / times, steps, times)
    return np.sort(np.rint(np.concatenate([np.geomspace(1, steps / 10, times), even])))


def _train(X: Float, y: Float, scale: float, decay: float, step: float, records: Float) -> list[Float]:
    """Gradient descent on w₊² − w₋² with weight decay: the predictors after these numbers of steps."""
    N, d = X.shape
    plus, minus = np.full(d, scale), np.full(d, scale)
    k, found = 0, []
    shrink = 1 - step * decay
    for record in records:
        while k < record:
            pull = (2 * step / N) * ((X @ (plus * plus - minus * minus) - y) @ X)
            plus, minus = plus * (shrink - pull), minus * (shrink + pull)
            k += 1
        found.append(plus**2 - minus**2)
    return found


def _first_below(clock: Float, errors: Float, level: float) -> float:
    """The time at which an error falls below a level, by interpolation of its logarithm; NaN if it does
    not."""
    below = np.flatnonzero(errors < level)
    if not below.size:
        return math.nan
    k = int(below[0])
    if k == 0:
        return float(clock[0])
    high, low = np.log(errors[k - 1 : k + 1] / level)
    return float(clock[k - 1] + (clock[k] - clock[k - 1]) * high / (high - low))
