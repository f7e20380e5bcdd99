"""Figures 1 and 4 of Min et al. 2021: networks of increasing width.

Wide networks end near the minimum-norm solution: Figure 1 of Min et al. 2021.

Wide networks by gradient descent beside the flow: Figure 4 of Min et al. 2021.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

import tacit
from tacit.papers import Claim, Progress, at_least, at_most, figure, within
from tacit.papers.measures import exponent, least, variables
from tacit.papers.min2021.training import Regression, descend, follow, gaussian_inputs
from tacit.papers.reproduction import presets
from tacit.show.figures import KERNEL, RICH

STOP = 1e-8  # the averaged loss at which training stops (Appendix A.2)
STEP = 5e-3  # step size of gradient descent in Appendix A.2
SIZES: dict[str, Any] = {
    "samples": (40, 100),
    "features": (200, 400),
    "widths": ([300, 600, 1300, 2800, 6000], [500, 1000, 1500, 2500, 4000, 6500, 10000]),
    "runs": (6, 5),
}
PANELS: dict[str, Any] = {"figsize": (8.6, 3.1), "ncols": 3}
_NAMES = ("distance", "initial", "final")
_COLOURS = {"distance": KERNEL, "initial": RICH, "final": KERNEL}
_AFTER = 1.03  # factor by which the second of two marks is shifted


class _Widths:
    """The data of both figures."""

    def data(
        self,
        samples: int,
        features: int,
        widths: list[int],
        runs: int,
        descents: int = 0,
        *,
        seed: int,
        progress: Progress,
    ) -> xr.Dataset:
        """Flows from several draws at every width, and gradient descent from the first of them."""
        rng = np.random.default_rng(seed)
        problem = gaussian_inputs(samples, features, rng)
        flows, steps = np.empty((3, len(widths), runs)), np.empty((3, len(widths), descents))
        iterations = np.empty((len(widths), descents))
        for i, run in progress(list(np.ndindex(len(widths), runs)), "widths"):
            model = tacit.LinearNetwork.gaussian(features, widths[i], seed=rng)
            start = model.predictor().ravel()
            trajectory = follow(model, problem, [-np.log(STOP)], rtol=1e-7)
            flows[:, i, run] = _norms(problem, start, trajectory.predictor[-1].ravel())
            if run < descents:
                descent = descend(model, problem, step=STEP, loss=STOP, most=1_000_000)
                steps[:, i, run] = _norms(problem, start, descent.predictor)
                iterations[i, run] = descent.iterations
        data = variables("width run", **dict(zip(_NAMES, flows, strict=True)))
        if descents:
            ends = {f"descent_{name}": steps[k] for k, name in enumerate(_NAMES)}
            data |= variables("width descent", **ends, iterations=iterations)
        return xr.Dataset({**data, **_wide(problem, widths)}, coords={"width": widths})


def _norms(problem: Regression, start: np.ndarray, end: np.ndarray) -> tuple[float, float, float]:
    """‖UVᵀ − Θ̂‖ at the end, and ‖U₂Vᵀ‖ at both ends."""
    before, after = (np.linalg.norm(problem.unseen(predictor)) for predictor in (start, end))
    return float(np.linalg.norm(end - problem.minimum)), float(before), float(after)


def _wide(problem: Regression, widths: list[int]) -> dict[str, Any]:
    r"""‖U₂Vᵀ‖ before and after training, as the width grows.

    U₂ does not influence the flow of V, and its entries are N(0, 1/h): given V, the D − n entries of U₂Vᵀ are
        N(0, ‖V‖²/h). At the start ‖V‖² → 1. At the end, ‖V‖⁴ → 1 + ‖Θ̂‖²: in a basis of the hidden units in
        which Λ = diag(I, −1), the matrix U₁ᵀU₁ = Λ + VᵀV must be singular, so VΛ⁻¹Vᵀ = VΛVᵀ = −1, while ‖Θ̂‖²
        = VU₁ᵀU₁Vᵀ = VΛVᵀ + ‖V‖⁴.
    """
    samples, features = problem.X.shape
    initial = np.sqrt((features - samples) / np.array(widths))
    growth = (1 + np.linalg.norm(problem.minimum) ** 2) ** 0.25
    return variables("width", wide_initial=initial, wide_final=initial * growth)


def draw_widths(data: xr.Dataset, axes: Any) -> None:
    """Draw the distance on linear and logarithmic axes, and ‖U₂Vᵀ‖ before and after training."""
    runs = f"mean and standard deviation of {data.sizes['run']} runs"
    _bars(data, "distance", axes[0])
    _bars(data, "distance", axes[1], ls="none")
    _bars(data, "final", axes[2], shift=_AFTER, ls="none", label=f"after training, {runs}")
    _bars(data, "initial", axes[2], shift=1 / _AFTER, ls="none", mfc="w", label="before training")
    for ax, names in ((axes[1], ["final"]), (axes[2], ["initial", "final"])):
        for name in names:
            ax.plot(data.width, data[f"wide_{name}"], color=_COLOURS[name], lw=1, ls="--", zorder=1)
        _logarithmic(ax)
    axes[2].plot([], [], color="0.3", lw=1, ls="--", label="limit of wide networks, slope $-1/2$")
    axes[0].set(ylim=(0, None), xlim=(0, None))
    for ax in axes:
        ax.set(xlabel="width $h$", ylabel=r"$\|U(t_f)V^\top\!(t_f)-\hat\Theta\|_F$")
    axes[2].set_ylabel(r"$\|U_2(t)V^\top\!(t)\|_F$")


def _bars(data: xr.Dataset, name: str, ax: Any, shift: float = 1.0, **style: Any) -> None:
    """Mean and standard deviation over the runs."""
    mean, deviation = data[name].mean("run"), data[name].std("run", ddof=1)
    ax.errorbar(shift * data.width, mean, deviation, marker="o", capsize=2, color=_COLOURS[name], **style)


def _logarithmic(ax: Any) -> None:
    """Make both axes logarithmic, with plain numbers as labels."""
    from matplotlib.ticker import LogLocator, NullFormatter

    ax.set(xscale="log", yscale="log")
    for axis, steps in ((ax.xaxis, (1, 2, 5)), (ax.yaxis, (1, 2, 3, 4, 6, 8))):
        axis.set_major_locator(LogLocator(subs=steps))
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter(NullFormatter())


def legend(axes: Any) -> None:
    """Draw one legend for all panels."""
    marks, names = axes[2].get_legend_handles_labels()
    axes[2].figure.legend(marks[::-1], names[::-1], loc="outside upper center", ncols=3)


def width_claims(data: xr.Dataset) -> Iterator[Claim]:
    """Claims about the distance, its rate and its origin."""
    mean = {name: data[name].mean("run", skipna=False).values for name in _NAMES}
    text = "the distance to the minimum-norm solution decreases with the width (smallest ratio)"
    yield at_least(1.0, "a decrease").claim(text, least(mean["distance"][:-1] / mean["distance"][1:]))
    rates = {"distance": "the distance", "initial": "‖U₂Vᵀ‖ at the start", "final": "‖U₂Vᵀ‖ at the end"}
    for name, what in rates.items():
        yield within(-0.6, -0.42, "the exponent of six runs has a standard deviation of 0.012").claim(
            f"{what} falls like h^(−1/2) (fitted exponent)", exponent(data.width.values, mean[name])
        )
    yield at_most(0.01, "training ends at a loss of 1e-8").claim(
        "at the end the distance is ‖U₂Vᵀ‖ (largest relative difference)",
        np.abs(data.final / data.distance - 1).max(skipna=False),
    )
    yield within(0.8, 1.25, "25 percent, while the loss decreases by a factor of 1e-8").claim(
        "training keeps ‖U₂Vᵀ‖ close to its initial value (ratio, mean of all)",
        (data.final / data.initial).mean(skipna=False),
    )
    for name, limit in (("initial", "√((D−n)/h)"), ("final", "√((D−n)/h)·(1+‖Θ̂‖²)^(1/4)")):
        yield within(0.9, 1.1, "with D instead of D−n it would be 1.12").claim(
            f"{rates[name]} is {limit} (ratio of the mean of runs to it, mean over widths)",
            np.mean(mean[name] / data[f"wide_{name}"].values),
        )


@figure("min2021/fig1", **presets(**SIZES), **PANELS, about=("Theorem 2",), seconds=6, short="width")
class DistanceAgainstWidth(_Widths):
    """Distance of a wide linear network trained by gradient flow from the minimum-norm solution, and the part
    ‖U₂Vᵀ‖ of the predictor outside the row space of the data, against the width (Figure 1).
    """

    def draw(self, data: xr.Dataset, axes: Any) -> None:
        """Draw linear axes, logarithmic axes, and the norms before and after training."""
        draw_widths(data, axes)
        legend(axes)

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """The rate h^(−1/2) before and after training."""
        yield from width_claims(data)


_FIRST = 1.17  # factor by which the marks of the first run are shifted


@figure("min2021/fig4", **presets(**SIZES, descents=(1, 1)), **PANELS, about=("Theorem 2",), seconds=6)
class DistanceAgainstWidthByDescent(_Widths):
    """The distance from the minimum-norm solution against the width, for the flow and for the gradient
    descent of Appendix A.2 with step size 5e-3 until the averaged loss is below 1e-8 (Figure 4).
    """

    def draw(self, data: xr.Dataset, axes: Any) -> None:
        """Draw Figure 1 again, and the first run separately, with crosses for gradient descent."""
        draw_widths(data, axes)
        for ax, name in zip(axes, ("distance", "distance", "final"), strict=True):
            at = data.width + 0.03 * data.width.max() if ax is axes[0] else data.width * _FIRST
            style = {"color": "k", "mew": 0.8, "ls": "none", "zorder": 4}
            ax.plot(at, data[name][:, 0], "o", ms=7, mfc="none", label="flow, first run", **style)
            ax.plot(at, data[f"descent_{name}"][:, 0], "x", ms=3.5, label="descent, first run", **style)
        axes[0].set_xlim(0, 1.08 * data.width.max())
        legend(axes)

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """The claims of Figure 1, and agreement of gradient descent with the flow."""
        yield from width_claims(data)
        same = data.distance.values[:, : data.sizes["descent"]]
        yield at_most(1e-3, "the width of the marks").claim(
            "gradient descent ends at the same distance as the flow (largest relative difference)",
            np.abs(data.descent_distance.values / same - 1).max(),
        )
