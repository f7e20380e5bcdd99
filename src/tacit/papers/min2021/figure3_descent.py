"""Gradient descent from starts of different imbalance: Figure 3 of Min et al. 2021."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import xarray as xr

from tacit.papers.measures import least, ratio
from tacit.papers.min2021.imbalance import (
    BALANCED,
    COLOURS,
    SMALL,
    accuracy_at_start,
    draw_bounds,
    imbalanced_starts,
    label_of,
    setting,
    setting_claims,
)
from tacit.papers.min2021.training import descend, follow, white_inputs
from tacit.papers.registry import Claim, figure

STEP = 5e-4  # of gradient descent in Appendix A.1
_MARKERS = {"case 1": "s", "case 2": "^", "case 3": "o", BALANCED: "D"}


@figure(
    "min2021/fig3",
    quick={"samples": 50, "features": 200, "width": 250, "most": 40_000, "marks": 41},
    paper={"samples": 100, "features": 400, "width": 500, "most": 100_000, "marks": 101},
    figsize=(5.6, 3.6),
)
class DescentFromImbalancedStarts:
    """Gradient descent on the averaged loss from one end-to-end matrix at three levels of imbalance and at
    none, in steps of 5e-4, with the flow and the bounds of Theorem 1 in the same clock (Figure 3).
    """

    def data(
        self,
        samples: int,
        features: int,
        width: int,
        most: int,
        marks: int,
        *,
        seed: int,
        progress: Callable[..., Any],
    ) -> xr.Dataset:
        """The loss at some of the iterations, and the time of the flow at the same loss."""
        rng = np.random.default_rng(seed)
        problem = white_inputs(samples, features, rng)
        starts = imbalanced_starts(problem, width, rng)
        iteration, accuracy, time = (np.zeros((len(starts), marks)) for _ in range(3))
        descents = []
        for k, model in enumerate(progress(list(starts.values()), "starts")):
            descents.append(descend(model, problem, step=STEP, loss=SMALL, most=most))
            chosen = np.linspace(0, descents[-1].iterations, marks).round().astype(int)
            iteration[k], accuracy[k] = chosen, descents[-1].accuracy[chosen]
            time[k, 1:] = follow(model, problem, accuracy[k, 1:], rtol=1e-10).time
        soonest = min(descent.iterations for descent in descents)
        return xr.Dataset(
            {
                "iteration": (("start", "mark"), iteration),
                "accuracy": (("start", "mark"), accuracy),
                "time": (("start", "mark"), time),
                "at_soonest": ("start", [descent.accuracy[soonest] for descent in descents]),
                "first": accuracy_at_start(problem, starts["case 1"]),
                **setting(problem, starts),
            },
            coords={"start": list(starts)},
            attrs={"most": most},
        )

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """Loss against iterations: flow as lines, gradient descent as markers, bounds dashed."""
        most = data.attrs["most"]
        every = max(1, data.sizes["mark"] // 13)
        for name in data.start.values:
            loss, run = np.exp(-data.accuracy.sel(start=name)), data.sel(start=name)
            ax.semilogy(run.time / STEP, loss, color=COLOURS[name])
            ax.plot(
                run.iteration[::every],
                loss[::every],
                _MARKERS[name],
                color=COLOURS[name],
                ms=3.5,
                label=label_of(data, name),
            )
        ax.plot([], [], color="0.3", label="gradient flow")
        draw_bounds(data, ax, STEP, most * STEP)
        ax.set(
            xlim=(0, most),
            ylim=(SMALL, 2 * float(np.exp(-data.first))),
            xlabel=r"iterations $t/\eta$, $\eta=5\times 10^{-4}$",
        )
        ax.set_ylabel(r"loss $\|Y-XUV^\top\|_F^2/n$")
        ax.xaxis.set_major_formatter("{x:,.0f}")
        ax.figure.legend(loc="outside upper center", ncols=2)

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """The steps are small enough, and what the figure says of the flow holds of them."""
        yield from setting_claims(data)
        flow_step = data.time[:, 1:] / STEP
        yield Claim(
            "gradient descent is at the flow's loss at the flow's time (largest relative difference)",
            float(np.abs(data.iteration[:, 1:] / flow_step - 1).max(skipna=False)),
            at_most=0.01,
            why="the width of the lines",
        )
        order = np.argsort(data.level.values)
        yield Claim(
            "the larger the imbalance, the smaller the loss, and balanced is slowest (least log ratio when "
            "the fastest is done)",
            least(np.diff(data.at_soonest.values[order])),
            at_least=np.log(2),
            why="half the loss",
        )
        gained = (data.accuracy - data.first)[:, 1:]
        bound = data.guaranteed * data.iteration[:, 1:] * STEP
        yield Claim(
            "the loss is never above the bound (most of log(L/bound))",
            float((bound - gained).max(skipna=False)),
            at_most=0.0,
            why="that is the theorem",
        )
        yield Claim(
            "case 3: the bound is almost tight (average rate over the guaranteed one)",
            float((gained / bound).sel(start="case 3")[-1]),
            at_least=1.0,
            at_most=1.1,
            why="a tenth faster than guaranteed at most; not slower, by the theorem",
        )
        late = data.sel(start="case 2").isel(mark=[-3, -1])
        rate = float(late.accuracy.diff("mark")[0] / (late.iteration.diff("mark")[0] * STEP))
        yield Claim(
            "case 2: the bound has the asymptotic rate (last rate over the guaranteed one)",
            ratio(rate, float(late.guaranteed)),
            at_least=0.9,
            at_most=2.0,
            why="of its size: so many steps do not reach the asymptotic rate",
        )
