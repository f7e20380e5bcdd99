"""Figures 2 and 3 of Min et al. 2021: starts of different imbalance, and the bound of Theorem 1.

The loss from starts of different imbalance: Figure 2 of Min et al. 2021.

Gradient descent from starts of different imbalance: Figure 3 of Min et al. 2021.

Errata
------
### Footnote 2: the clock of the mean loss
- **Printed.** A step on ‖Y − XUVᵀ‖²/n counts n/2. **Holds.** 2/n.
  `test_steps_on_the_mean_loss_count_two_over_n`

### Section 4, balanced start: a transpose
- **Printed.** V = [·]^{1/4}Q. **Holds.** V = [·]^{1/4}Qᵀ; and only U₁ᵀU₁ − VᵀV vanishes, not UᵀU − VᵀV.
  `test_a_balanced_network_has_the_given_predictor_and_no_imbalance` in
  `tests/models/test_models_connected.py`
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

import tacit
from tacit.papers import Claim, Progress, Threshold, at_least, at_most, figure, within
from tacit.papers.measures import least, ratio, variables
from tacit.papers.min2021.network import guaranteed_rate, imbalance_level
from tacit.papers.min2021.training import Regression, descend, follow, white_inputs
from tacit.papers.reproduction import presets

CASES = {"case 1": (0.1, 0.1), "case 2": (0.5, 0.02), "case 3": (0.05, 0.2)}  # σ_U and σ_V (Appendix A.1)
BALANCED = "balanced"
COLOURS = {"case 1": "#009E73", "case 2": "#D55E00", "case 3": "#0072B2", BALANCED: "#000000"}
_LOSS = r"loss $\|Y-XUV^\top\|_F^2/n$"  # label of an axis
DASHED: dict[str, Any] = {"ls": (0, (4, 2)), "lw": 1}
SMALL = 1e-8  # the loss at which times are compared


def imbalanced_starts(problem: Regression, width: int, rng: np.random.Generator) -> dict[str, Any]:
    """Draw the three cases, σ_U U₀ and σ_V V₀, and the balanced start with the same product."""
    unit = tacit.LinearNetwork.gaussian(problem.X.shape[1], width, std=1.0, seed=rng)
    cases = {name: tacit.LinearNetwork(u * unit.inner, v * unit.outer) for name, (u, v) in CASES.items()}
    theta = cases["case 1"].predictor()
    return cases | {BALANCED: tacit.LinearNetwork.balanced(theta, problem.X, width, seed=rng)}


def setting(problem: Regression, starts: dict[str, Any]) -> dict[str, Any]:
    """For every start: the imbalance, the guaranteed rate, and the distance of its predictor from case 1.

    Theorem 1 is L(t) ≤ e^{−2λ_r(Σ_x)ct} L(0) for L = ½‖Y − XUVᵀ‖², whose least value is 0 here: the inputs
    are linearly independent. The averaged loss is 2L/n, so its flow is 2/n times as fast (the footnote of
    Appendix A.1 has n/2).
    """
    level = [imbalance_level(model, problem.X) for model in starts.values()]
    rate = np.array([guaranteed_rate(model, problem.X) for model in starts.values()])
    first = starts["case 1"].predictor()
    apart = [np.linalg.norm(model.predictor() - first) / np.linalg.norm(first) for model in starts.values()]
    return variables("start", level=level, guaranteed=rate * 2 / len(problem.y), apart=apart)


def accuracy_at_start(problem: Regression, model: Any) -> float:
    """−log of the initial averaged loss."""
    residual = problem.y - problem.X @ model.predictor().ravel()
    return float(-np.log(np.mean(residual**2)))


def label_of(data: xr.Dataset, name: str) -> str:
    """The label of a case: standard deviations and imbalance, as in the paper."""
    if name == BALANCED:
        return "balanced, $c=0$"
    inner, outer = CASES[name]
    level = float(data.level.sel(start=name))
    return rf"{name}: $\sigma_U={inner:g}$, $\sigma_V={outer:g}$, $c={level:.3g}$"


def draw_bounds(data: xr.Dataset, ax: Any, clock: float, end: float) -> None:
    """Draw L(0)·e^{−rate·t} as dashed lines, for starts with a guaranteed rate; time in units of `clock`."""
    first = float(np.exp(-data.first))
    for name in CASES:
        last = first * np.exp(-float(data.guaranteed.sel(start=name)) * end)
        ax.plot([0, end / clock], [first, last], color=COLOURS[name], **DASHED)
    ax.plot([], [], color="0.3", label="bound of Theorem 1", **DASHED)


def setting_claims(data: xr.Dataset) -> Iterator[Claim]:
    """Claims that the starts differ in their imbalance only."""
    text = "all starts have the same end-to-end matrix (largest relative difference)"
    yield at_most(1e-12, "round-off, with a safety margin").claim(text, data.apart.max(skipna=False))
    yield at_most(1e-12, "round-off, with a safety margin").claim(
        "the balanced start has no imbalance (c, relative to the smallest of the others)",
        data.level.sel(start=BALANCED) / data.level.sel(start=list(CASES)).min(skipna=False),
    )


def bound_claims(above: xr.DataArray, tight: Any, near: Threshold, rate: float) -> Iterator[Claim]:
    """Theorem 1: by how much log L is above the bound, and rates over the guaranteed one."""
    text = "the loss is never above the bound (largest log(L/bound))"
    yield at_most(0.0, "the theorem").claim(text, above.max(skipna=False))
    text = "case 3: the bound is almost tight (average rate relative to the guaranteed one)"
    why = "at most a tenth faster than guaranteed; not slower, by the theorem"
    yield within(1.0, 1.1, why).claim(text, tight)
    text = "case 2: the bound has the asymptotic rate (last rate relative to the guaranteed one)"
    yield near.claim(text, rate)


@figure(
    "min2021/fig2",
    **presets(samples=(50, 100), features=(200, 400), width=(250, 500), points=(161, 191)),
    figsize=(7.8, 3.1),
    ncols=2,
    gridspec_kw={"width_ratios": [1.35, 1]},
    about=("Theorem 1",),
    seconds=3,
    short="imbalance is fast",
)
class LossFromImbalancedStarts:
    """Gradient flow on the averaged loss from one end-to-end matrix at three levels of imbalance and at none,
    with the bounds of Theorem 1; and the ratio of the rate to the guaranteed rate (Figure 2).
    """

    def data(
        self, samples: int, features: int, width: int, points: int, *, seed: int, progress: Progress
    ) -> xr.Dataset:
        """Compute the time at which each flow reaches each loss."""
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
        """Draw the loss with its bounds against time, and the rate relative to the guaranteed one."""
        loss = np.exp(-data.accuracy)
        shown = data.time.sel(start=list(CASES))
        end = 1.1 * float(shown.interp(accuracy=-np.log(1e-10)).max())
        for name in data.start.values:
            axes[0].semilogy(data.time.sel(start=name), loss, color=COLOURS[name], label=label_of(data, name))
        draw_bounds(data, axes[0], 1.0, end)
        axes[0].set(xlim=(0, end), ylim=(1e-10, 2 * float(loss[0])))
        axes[0].set(xlabel="time $t$ of the flow on this loss", ylabel=_LOSS)
        axes[0].figure.legend(loc="outside upper center", ncols=3)
        ratio, middle = _rates(data)
        for name, values in zip(CASES, ratio, strict=True):
            axes[1].semilogx(np.exp(-middle), values, color=COLOURS[name])
        axes[1].axhline(1, color="0.3", **DASHED)
        axes[1].invert_xaxis()
        axes[1].set(xlabel="loss", ylabel="decay rate / guaranteed rate", ylim=(0.9, None))

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Imbalance accelerates convergence, as bounded by the theorem; the bound is nearly attained."""
        yield from setting_claims(data)
        late = data.time.interp(accuracy=-np.log(SMALL))
        order = np.argsort(data.level.sel(start=list(CASES)).values)
        times = late.sel(start=list(CASES)).values[order]
        text = f"the larger the imbalance, the sooner the loss reaches {SMALL:g} (smallest ratio of times)"
        yield at_least(1.2, "a fifth sooner").claim(text, least(times[:-1] / times[1:]))
        text = "the balanced start is slowest (its time relative to the longest other)"
        yield at_least(1.2, "a fifth later").claim(text, late.sel(start=BALANCED) / times.max())
        gained = (data.accuracy - data.first)[1:]
        bound = data.guaranteed * data.time[:, 1:]
        tight = (gained / bound).sel(start="case 3")[-1]
        why = "well within the factor of 2 in Theorem 1; not slower, except for round-off"
        yield from bound_claims(bound - gained, tight, within(0.999, 1.5, why), _rates(data)[0][1, -1])


def _rates(data: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """−d log L/dt relative to the guaranteed rate for the three cases, and −log L."""
    cases = data.sel(start=list(CASES))
    accuracy = data.accuracy.values
    rate = np.diff(accuracy) / np.diff(cases.time.values, axis=1)
    return rate / cases.guaranteed.values[:, None], (accuracy[1:] + accuracy[:-1]) / 2


STEP = 5e-4  # step size of gradient descent in Appendix A.1
_MARKERS = {"case 1": "s", "case 2": "^", "case 3": "o", BALANCED: "D"}


@figure(
    "min2021/fig3",
    **presets(
        samples=(50, 100), features=(200, 400), width=(250, 500), most=(40_000, 100_000), marks=(41, 101)
    ),
    figsize=(5.6, 3.6),
    about=("Theorem 1",),
    seconds=4,
    short="gradient descent",
)
class DescentFromImbalancedStarts:
    """Gradient descent on the averaged loss from one end-to-end matrix at three levels of imbalance and at
    none, in steps of 5e-4, with the flow and the bounds of Theorem 1 in the same clock (Figure 3).
    """

    def data(
        self, samples: int, features: int, width: int, most: int, marks: int, *, seed: int, progress: Progress
    ) -> xr.Dataset:
        """Compute the loss at some iterations, and the time of the flow at the same loss."""
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
                **variables("start mark", iteration=iteration, accuracy=accuracy, time=time),
                "at_soonest": ("start", [descent.accuracy[soonest] for descent in descents]),
                "first": accuracy_at_start(problem, starts["case 1"]),
                **setting(problem, starts),
            },
            coords={"start": list(starts)},
            attrs={"most": most},
        )

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """Draw the loss against iterations: flow (lines), gradient descent (markers), bounds (dashed)."""
        most = data.attrs["most"]
        every = max(1, data.sizes["mark"] // 13)
        for name in data.start.values:
            loss, run = np.exp(-data.accuracy.sel(start=name)), data.sel(start=name)
            ax.semilogy(run.time / STEP, loss, color=COLOURS[name])
            style = {"color": COLOURS[name], "ms": 3.5, "label": label_of(data, name)}
            ax.plot(run.iteration[::every], loss[::every], _MARKERS[name], **style)
        ax.plot([], [], color="0.3", label="gradient flow")
        draw_bounds(data, ax, STEP, most * STEP)
        ax.set(xlim=(0, most), ylim=(SMALL, 2 * float(np.exp(-data.first))))
        ax.set(xlabel=r"iterations $t/\eta$, $\eta=5\times 10^{-4}$", ylabel=_LOSS)
        ax.xaxis.set_major_formatter("{x:,.0f}")
        ax.figure.legend(loc="outside upper center", ncols=2)

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Gradient descent agrees with the flow, and the claims about the flow hold for it."""
        yield from setting_claims(data)
        flow_step = data.time[:, 1:] / STEP
        yield at_most(0.01, "the width of the lines").claim(
            "gradient descent has the loss of the flow at the same time (largest relative difference)",
            np.abs(data.iteration[:, 1:] / flow_step - 1).max(skipna=False),
        )
        order = np.argsort(data.level.values)
        yield at_least(np.log(2), "half the loss").claim(
            "the larger the imbalance, the smaller the loss, and balanced is slowest (least log ratio when "
            "the fastest is done)",
            least(np.diff(data.at_soonest.values[order])),
        )
        gained = (data.accuracy - data.first)[:, 1:]
        bound = data.guaranteed * data.iteration[:, 1:] * STEP
        tight = (gained / bound).sel(start="case 3")[-1]
        late = data.sel(start="case 2").isel(mark=[-3, -1])
        rate = float(late.accuracy.diff("mark")[0] / (late.iteration.diff("mark")[0] * STEP))
        slow = within(0.9, 2.0, "the same order of magnitude; the steps do not reach the asymptotic rate")
        yield from bound_claims(bound - gained, tight, slow, ratio(rate, float(late.guaranteed)))
