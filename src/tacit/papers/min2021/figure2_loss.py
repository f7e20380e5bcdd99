"""The loss from starts of different imbalance: Figure 2 of Min et al. 2021."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import xarray as xr

from tacit.papers.measures import least
from tacit.papers.min2021.imbalance import (
    BALANCED,
    CASES,
    COLOURS,
    DASHED,
    SMALL,
    accuracy_at_start,
    draw_bounds,
    imbalanced_starts,
    label_of,
    setting,
    setting_claims,
)
from tacit.papers.min2021.training import follow, white_inputs
from tacit.papers.registry import Claim, figure


@figure(
    "min2021/fig2",
    quick={"samples": 50, "features": 200, "width": 250, "points": 161},
    paper={"samples": 100, "features": 400, "width": 500, "points": 191},
    figsize=(7.8, 3.1),
    ncols=2,
    gridspec_kw={"width_ratios": [1.35, 1]},
)
class LossFromImbalancedStarts:
    """Gradient flow on the averaged loss from one end-to-end matrix at three levels of imbalance and at none,
    with the bounds of Theorem 1; and how many times faster than guaranteed the loss falls (Figure 2).
    """

    def data(
        self, samples: int, features: int, width: int, points: int, *, seed: int, progress: Callable[..., Any]
    ) -> xr.Dataset:
        """The time at which each of the flows reaches each loss."""
        rng = np.random.default_rng(seed)
        problem = white_inputs(samples, features, rng)
        starts = imbalanced_starts(problem, width, rng)
        first = accuracy_at_start(problem, starts["case 1"])
        accuracy = np.linspace(first, 42.0, points)
        time = np.zeros((len(starts), points))
        for k, model in enumerate(progress(list(starts.values()), "starts")):
            time[k, 1:] = follow(model, problem, accuracy[1:], rtol=1e-10).time
        return xr.Dataset(
            {"time": (("start", "accuracy"), time), "first": first, **setting(problem, starts)},
            coords={"start": list(starts), "accuracy": accuracy},
        )

    def draw(self, data: xr.Dataset, axes: Any) -> None:
        """Loss against time with the bounds, and the rate over the guaranteed one against the loss."""
        loss = np.exp(-data.accuracy)
        shown = data.time.sel(start=list(CASES))
        end = 1.1 * float(shown.interp(accuracy=-np.log(1e-10)).max())
        for name in data.start.values:
            axes[0].semilogy(data.time.sel(start=name), loss, color=COLOURS[name], label=label_of(data, name))
        draw_bounds(data, axes[0], 1.0, end)
        axes[0].set(
            xlim=(0, end), ylim=(1e-10, 2 * float(loss[0])), xlabel="time $t$ of the flow on this loss"
        )
        axes[0].set_ylabel(r"loss $\|Y-XUV^\top\|_F^2/n$")
        axes[0].figure.legend(loc="outside upper center", ncols=3)
        ratio, middle = _rates(data)
        for name, values in zip(CASES, ratio, strict=True):
            axes[1].semilogx(np.exp(-middle), values, color=COLOURS[name])
        axes[1].axhline(1, color="0.3", **DASHED)
        axes[1].invert_xaxis()
        axes[1].set(xlabel="loss", ylabel="decay rate / guaranteed rate", ylim=(0.9, None))

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Imbalance hastens convergence, within and sometimes at the bound."""
        yield from setting_claims(data)
        late = data.time.interp(accuracy=-np.log(SMALL))
        order = np.argsort(data.level.sel(start=list(CASES)).values)
        times = late.sel(start=list(CASES)).values[order]
        yield Claim(
            f"the larger the imbalance, the sooner the loss is {SMALL:g} (least ratio of times)",
            least(times[:-1] / times[1:]),
            at_least=1.2,
            why="a fifth sooner",
        )
        yield Claim(
            "the balanced start is slowest (its time over the longest of the others)",
            float(late.sel(start=BALANCED) / times.max()),
            at_least=1.2,
            why="a fifth later",
        )
        gained = (data.accuracy - data.first)[1:]
        over = data.guaranteed * data.time[:, 1:] - gained
        yield Claim(
            "the loss is never above the bound (most of log(L/bound))",
            float(over.max(skipna=False)),
            at_most=0.0,
            why="that is the theorem",
        )
        tight = gained[-1] / (data.guaranteed * data.time[:, -1])
        yield Claim(
            "case 3: the bound is almost tight (average rate over the guaranteed one)",
            float(tight.sel(start="case 3")),
            at_least=1.0,
            at_most=1.1,
            why="a tenth faster than guaranteed at most; not slower, by the theorem",
        )
        ratio, _ = _rates(data)
        yield Claim(
            "case 2: the bound has the asymptotic rate (last rate over the guaranteed one)",
            float(ratio[1, -1]),
            at_least=0.999,
            at_most=1.5,
            why="well within the factor of 2 that Theorem 1 gains; slower it cannot be but for rounding",
        )


def _rates(data: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """−d log L/dt over the guaranteed rate for the three cases, between recorded losses; and −log L there."""
    cases = data.sel(start=list(CASES))
    accuracy = data.accuracy.values
    rate = np.diff(accuracy) / np.diff(cases.time.values, axis=1)
    return rate / cases.guaranteed.values[:, None], (accuracy[1:] + accuracy[:-1]) / 2
