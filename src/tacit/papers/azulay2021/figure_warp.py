"""Figure of a neuron in two clocks (Azulay et al. 2021, Section 5 and Appendix B.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import xarray as xr
from scipy.integrate import solve_ivp

import tacit
from tacit.data.arrays import Float
from tacit.numerics.roots import crossing
from tacit.papers import Claim, Progress, at_least, at_most, figure, within
from tacit.papers.measures import least, ratio, variables
from tacit.papers.reproduction import presets
from tacit.potentials import Bregman
from tacit.show.figures import KERNEL, MUTED, RICH
from tacit.warping import hessian_violation, metric, warp, warped_clock

SAMPLES = np.array([[1.0, 0.2, 0.6], [0.1, 0.5, -0.3]])  # of different norms, so that the curve bends
RESPONSES = np.array([1.0, 0.6])
START = tacit.Neuron.from_scale(0.02, 0.3, [-0.3, 0.5, 0.8])  # small, so that the clocks differ
SHOWN = 15.0  # training time up to which the figure extends
_TICK = 0.07  # length of the ticks, relative to the size of the curve


def warped_flow(q: Bregman, horizon: float) -> Callable[[Any], Float]:
    """w̃(τ), with ∇Q(w̃) = ∇Q(w̃(0)) + Xᵀν and dν/dτ = r (equation 15): a mirror flow in ν alone."""

    def rate(_: float, nu: Float) -> Float:
        return np.asarray((RESPONSES - SAMPLES @ q.mirror(SAMPLES.T @ nu)) / len(RESPONSES))

    accurate: dict[str, Any] = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-14, "dense_output": True}
    dual: Any = solve_ivp(rate, (0, horizon), np.zeros(len(RESPONSES)), **accurate).sol
    return lambda tau: np.array([q.mirror(SAMPLES.T @ dual(each)) for each in np.atleast_1d(tau)])


def accuracy(predictor: Float) -> float:
    """−log loss."""
    return float(tacit.losses.Square().accuracy(SAMPLES @ predictor, RESPONSES))


def reached(warped: Callable[[Any], Float], level: float, horizon: float) -> float:
    """The τ at which the warped flow has this accuracy; NaN if there is none."""

    def excess(tau: float) -> float:
        return accuracy(warped(tau)[0]) - level

    # The warped flow is integrated to 1e-12, which determines the last digits of τ at its end.
    return crossing(excess, 0.0, horizon, xtol=1e-12 * horizon) if excess(0) < 0 < excess(horizon) else np.nan


@figure(
    "azulay2021/warp",
    **presets(along=(25, 80), marks=(9, 13)),
    figsize=(8.6, 2.9),
    ncols=3,
    about=("Section 5", "Lemma 3"),
    short="a neuron in two clocks",
)
class TwoClocks:
    """A neuron in training time t and in the warped time τ, dτ = (3/2)|a| dt. Left: its path, with marks at
    equal steps of both clocks. Middle: τ against t; for small t the slope is (3/2)|a(0)|. Right: how far the
    metric H of the neuron, and gH in the warped clock, are from being the Hessian of a function (equation 6).
    """

    def data(self, along: int, marks: int, *, seed: int, progress: Progress) -> xr.Dataset:
        """Compute gradient flow of the weights, mirror flow in warped time, and both metrics."""
        q = START.potential()
        delta = q.potential.delta
        until = -np.log(RESPONSES @ RESPONSES / (2 * len(RESPONSES))) + 2 * np.log(1e8)
        run = tacit.flow(START, SAMPLES, RESPONSES, until=until, rtol=1e-11)
        t, clock, w = run.time, warped_clock(run), run.predictor
        warped = warped_flow(q, 1.2 * float(clock[-1]))
        levels = progress(run.accuracy[1:], "warp")
        tau = np.array([0.0, *(reached(warped, level, 1.2 * float(clock[-1])) for level in levels)])
        chosen = np.unique(np.linspace(0, np.searchsorted(t, SHOWN), along).astype(int))
        basis = np.linalg.svd(SAMPLES, full_matrices=True)[2][2:]
        outside = np.linalg.norm(np.array([q.gradient(each) for each in w]) @ basis.T, axis=1)
        ticks = np.linspace(0, SHOWN, marks)
        tau_ticks = np.linspace(0, np.interp(SHOWN, t, tau), marks)
        fields = (lambda v: metric(delta, v), lambda v: warp(delta, v) * metric(delta, v))
        bent = [[hessian_violation(field, each) for each in w[chosen]] for field in fields]
        return xr.Dataset(
            {
                **variables("instant", time=t, clock=clock, tau=tau, outside=outside),
                **variables(
                    "instant feature", predictor=w, warped=warped(tau), warped_clock_flow=warped(clock)
                ),
                **variables(
                    "mark feature", by_time=warped(np.interp(ticks, t, tau)), by_tau=warped(tau_ticks)
                ),
                "violation": (("field", "place"), bent),
                "place_time": ("place", t[chosen]),
                "speed": float(warp(delta, 1e-9 * w[-1])),
                "limit": ("feature", tacit.limit(START, SAMPLES, RESPONSES).predictor),
            },
            coords={"field": ["H", "gH"]},
            attrs={"delta": float(delta)},
        )

    def draw(self, data: xr.Dataset, axes: Any) -> None:
        """Draw the path, the clocks, and the test of the metrics."""
        _draw_curve(data, axes[0])
        _draw_clocks(data, axes[1])
        for row, colour, name in zip(data.violation.values, (RICH, KERNEL), ("$H$", "$gH$"), strict=True):
            axes[2].plot(data.place_time, np.maximum(row, 1e-16), ".-", color=colour, ms=4, lw=1, label=name)
        axes[2].set(yscale="log", ylim=(1e-14, 10), xlim=(0, SHOWN), xlabel="training time $t$")
        axes[2].set_ylabel(r"violation of $\partial_k F_{ij}=\partial_j F_{ik}$")
        axes[2].legend(loc="center right")

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Both flows follow the same path, and the metric is a Hessian in the warped clock only."""
        size = float(np.linalg.norm(data.limit))

        def apart(first: Any, second: Any) -> float:
            farthest = np.linalg.norm(np.asarray(first) - np.asarray(second), axis=-1).max()
            return ratio(float(farthest), size)

        text = "both flows follow the same curve (largest distance at equal loss)"
        yield at_most(1e-6).claim(text, apart(data.predictor, data.warped))
        text = "at the times given by τ = ∫(3/2)|a|dt (largest distance)"
        yield at_most(1e-5).claim(text, apart(data.predictor, data.warped_clock_flow))
        text = "and end at the limit of Theorem 2 (distance)"
        yield at_most(1e-6).claim(text, apart(data.predictor[-1], data.limit))
        bent = data.violation.values
        text = "H is not a Hessian at any point of the curve (smallest violation)"
        yield at_least(0.1).claim(text, least(bent[0]))
        yield at_most(1e-8).claim("gH is a Hessian along the curve (largest violation)", bent[1].max())
        text = "∇Q moves in the span of the samples (largest part outside)"
        yield at_most(1e-8).claim(text, data.outside.max())
        speeds = np.diff(data.tau.values) / np.diff(data.time.values)
        text = "the clocks differ: the warped one accelerates (factor)"
        yield at_least(2).claim(text, speeds[-1] / speeds[0])
        text = "g → (3/2)√δ as w̃ → 0 (Lemma 3 states 0) (ratio)"
        yield within(1 - 1e-9, 1 + 1e-9).claim(text, float(data.speed) / (1.5 * np.sqrt(data.attrs["delta"])))


def _draw_curve(data: xr.Dataset, ax: Any) -> None:
    w = data.predictor
    ax.plot(w[:, 0], w[:, 1], color="0.75", lw=3.5, solid_capstyle="round", label="flow in $t$")
    ax.plot(data.warped[:, 0], data.warped[:, 1], color="k", lw=0.8, label=r"flow in $\tau$")
    sides = (("by_time", _TICK, RICH, "$t$"), ("by_tau", -_TICK, KERNEL, r"$\tau$"))
    for name, reach, colour, label in sides:  # ticks of the two clocks on different sides of the curve
        at = data[name].values[:, :2]
        ends = at + reach * _across(data.warped.values[:, :2], at)
        ax.plot(*np.stack([at, ends]).transpose(2, 0, 1), color=colour, lw=1.2)
        ax.plot([], [], color=colour, lw=1.2, label=rf"equal steps of {label}")
    ax.margins(0.1)
    ax.set(xlabel=r"$\tilde w_1$", ylabel=r"$\tilde w_2$")
    ax.legend(loc="upper left")


def _across(curve: Float, at: Float) -> Float:
    """Vectors orthogonal to the curve on its left side, if both axes are drawn with equal length."""
    sizes = np.ptp(curve, axis=0)
    nearest = [int(np.argmin(np.linalg.norm((curve - each) / sizes, axis=1))) for each in at]
    middle = np.clip(nearest, 1, len(curve) - 2)
    along = (curve[middle + 1] - curve[middle - 1]) / sizes
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    return np.asarray(np.stack([-along[:, 1], along[:, 0]], axis=1) * sizes)


def _draw_clocks(data: xr.Dataset, ax: Any) -> None:
    shown = data.time.values <= SHOWN
    t, tau = data.time.values[shown], data.tau.values[shown]
    ax.plot(t, data.clock.values[shown], color="k", lw=1.2, label=r"$\int_0^t g\,dt'$")
    every = max(1, len(t) // 18)
    ax.plot(t[::every], tau[::every], "o", color=KERNEL, mfc="w", ms=4, label="at equal loss")
    ax.plot(t, t, color=MUTED, lw=0.8, ls="--", label=r"$\tau=t$")
    ax.set(xlabel="training time $t$", ylabel=r"warped time $\tau$", xlim=(0, SHOWN), ylim=(0, None))
    ax.legend(loc="upper left")
