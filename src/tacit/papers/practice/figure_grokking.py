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
from tacit.papers.reproduction import presets
from tacit.show.figures import KERNEL, RICH, TRUTH

_COLOURS = (KERNEL, TRUTH, RICH)
_FITTED = 1e-2  # relative training error that counts as fitted
_SCALE, _STEP = 1.0, 0.02  # of the initial weights, and of gradient descent
_UNTIL, _LEVEL = 4.0, 0.1  # the largest λt, and the test error that counts as grokked


@figure(
    "practice/grokking",
    **presets(
        samples=(30, 40),
        features=(60, 120),
        decays=([0.1, 0.01, 0.001], [1e-2, 1e-3, 1e-4]),
        tests=(400, 2000),
        times=(60, 200),
    ),
    figsize=(7.2, 3.0),
    ncols=2,
    about=("Slow decay",),
    seconds=12,
    short="grokking: weight decay as a clock",
)
class Grokking:
    """Weight decay λ shrinks the effective initialization: at time t gradient descent is near the limit of
    gradient flow from the scale αe^{−λt}. The training error (dashed) vanishes early, and the test error
    (dots) falls long afterwards, when the solution becomes sparse. Left: against the number of steps. Right:
    against λt all decays collapse on one curve, which is computed without training (line).
    """

    def data(
        self,
        samples: int,
        features: int,
        decays: list[float],
        tests: int,
        times: int,
        *,
        seed: int,
        progress: Progress,
    ) -> xr.Dataset:
        """Training with every decay, recorded at the same λt, and the prediction."""
        X, y, signal = sparse_problem(samples, features, seed)
        T = np.random.default_rng([seed, 1]).standard_normal((tests, features))
        goal, model = T @ signal, tacit.Diagonal(scale=_SCALE)
        clock = np.concatenate([np.geomspace(1e-3, 0.2, times // 3), np.linspace(0.2, _UNTIL, times)[1:]])
        shape = (len(decays), len(clock))
        test, train, taken = np.empty(shape), np.empty(shape), np.empty(shape)
        crossings = np.empty((2, len(decays)))
        for i, decay in enumerate(progress(decays, "decays")):
            runs = _train(X, y, decay, clock)
            errors = [(np.mean((T @ w - goal) ** 2), np.mean((X @ w - y) ** 2)) for w in runs]
            test[i], train[i] = np.array(errors).T
            taken[i] = clock / (decay * _STEP)
            predicted = tacit.decay_path(model, X, y, decay, X_test=T, y_test=goal)
            crossings[:, i] = _first_below(clock, test[i], _LEVEL), decay * predicted.grokking_time(_LEVEL)
        path = tacit.decay_path(model, X, y, 1.0, X_test=T, y_test=goal, times=clock)
        where = ("decay", "clock")
        return xr.Dataset(
            {
                "test": (where, test),
                "train": (where, train / np.mean(y**2)),
                "steps": (where, taken),
                "predicted": ("clock", path.test_error),
                "crossing": (("kind", "decay"), crossings),
            },
            coords={"decay": decays, "clock": clock, "kind": ["run", "predicted"]},
            attrs={"level": _LEVEL},
        )

    def draw(self, data: xr.Dataset, axes: Any) -> None:
        """Errors against steps, and against λt."""
        for decay, colour in zip(data.decay.values, _COLOURS, strict=False):
            one = data.sel(decay=decay)
            axes[0].plot(one.steps, one.test, color=colour, label=rf"$\lambda={decay:g}$")
            axes[0].plot(one.steps, one.train, "--", color=colour, lw=0.8)
            axes[1].plot(one.clock[::2], one.test[::2], ".", color=colour, ms=4)
        axes[0].plot([], [], "--", color="k", lw=0.8, label="training error")
        axes[0].set(xscale="log", yscale="log", xlabel="steps", ylabel="test error", ylim=(1e-4, None))
        axes[0].legend(loc="lower left", fontsize="x-small")
        axes[1].plot(data.clock, data.predicted, color="k", lw=1, label="predicted")
        axes[1].axhline(data.attrs["level"], color="0.8", lw=0.8, zorder=0)
        axes[1].set(yscale="log", xlabel=r"$\lambda t$", ylabel="test error")
        axes[1].legend()

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Grokking times, the collapse onto one curve, and the earlier decrease of the training error."""
        smallest = data.isel(decay=int(np.argmin(data.decay.values)))
        run, predicted = smallest.crossing.values
        yield at_most(0.02, "of the order of λ and of the step").claim(
            f"the grokking time at λ = {float(smallest.decay):g} is the predicted one (relative difference)",
            abs(run / predicted - 1),
        )
        late = smallest.sel(clock=smallest.clock >= smallest.clock.max() / 8)
        yield at_most(
            0.1, "of the order of λ and of the step, where the error falls by orders of magnitude"
        ).claim(
            f"test errors at λ = {float(smallest.decay):g} lie on the predicted curve (median difference)",
            float(np.abs(late.test / late.predicted - 1).median("clock", skipna=False)),
        )
        fitted = _first_below(smallest.clock.values, smallest.train.values, _FITTED)
        text = "the test error falls long after the training data are fitted (ratio of times)"
        yield at_least(10, "an order of magnitude").claim(text, run / fitted)


def _train(X: Float, y: Float, decay: float, clock: Float) -> list[Float]:
    """Gradient descent on w₊² − w₋² with weight decay: the predictors at the recorded λt."""
    N, d = X.shape
    plus, minus = np.full(d, _SCALE), np.full(d, _SCALE)
    records, k, found = np.rint(clock / (decay * _STEP)).astype(int), 0, []
    shrink = 1 - _STEP * decay
    for record in records:
        while k < record:
            pull = (2 * _STEP / N) * ((X @ (plus * plus - minus * minus) - y) @ X)
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
