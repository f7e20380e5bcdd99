"""Summaries and pictures of decay paths, explanations and risks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.data.printable import label, shown
from tacit.results.decay_path import DecayPath
from tacit.results.explanation import Explanation
from tacit.results.risk import Risk
from tacit.show.figures import KERNEL, MUTED, RICH, Picture, draw_largest
from tacit.show.text import aligned, count, norms, size_of, sizes, top_features

_NAMED = 7  # coordinates with a colour and a name
_NEAR = 10.0  # factor above the smallest residual up to which scales are reported as explanations
_BINS = 15


def decay_report(result: DecayPath, names: Sequence[str] | None = None) -> str:
    """Summarize a decay path: data, model, clock, both ends and test errors."""
    first, last = result.times[0], result.times[-1]
    lines = {
        "data": size_of(result.X),
        "model": result.model.describe(),
        "decay": f"{result.decay:g} from time {first:.4g} to {last:.4g}: the scale decreases by the factor "
        f"e^-{result.decay * last:.4g}",
        "from": sizes(result.predictors[0], None),
        "to": sizes(result.predictors[-1], None),
        "features": top_features(result.predictors[-1], names),
    }
    if result.test_error is not None:
        start, end = result.test_error[0], result.test_error[-1]
        lines["test error"] = f"{start:.4g} → {end:.4g}{_halved(result)}"
    lines["computed"] = f"{1000 * result.seconds:.0f} ms; errors of the order of the decay are not included"
    if not result.converged.all():
        failed = int((~result.converged).sum())
        lines["NOT CONVERGED"] = f"at {count(failed, 'time')}: the limits there are not certified"
    return aligned(lines)


def _halved(result: DecayPath) -> str:
    """The time at which the test error is half of its initial value."""
    errors = result.test_error
    if errors is None or not (errors < errors[0] / 2).any():
        return ""
    return f", half of its initial value at time {result.grokking_time(errors[0] / 2):.4g}"


def decay_picture(result: DecayPath, names: Sequence[str]) -> Picture:
    """A picture of the coefficients against time, and the test error if it is known."""
    panels = 1 if result.test_error is None else 2

    def draw(axes: Any) -> None:
        first, *others = np.atleast_1d(axes)
        largest = np.argsort(-np.abs(result.predictors).max(axis=0), kind="stable")
        labels = [label(name, 18) for name in names]
        draw_largest(first, result.times, result.predictors, largest, labels, _NAMED)
        first.set(xlabel="training time $t$", ylabel="coefficient")
        first.set_title("kernel", loc="left", color=KERNEL)
        first.set_title("rich", loc="right", color=RICH)
        first.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=4)
        for axis in others:
            axis.semilogy(result.times, result.test_error, color="k")
            axis.set(xlabel="training time $t$", ylabel="test error (mean square)")
            axis.set_title(rf"weight decay $\lambda$ = {result.decay:g}", loc="left")

    return Picture(draw, {"figsize": (4.6 * panels, 4.2), "ncols": panels}, "decay")


def explanation_report(result: Explanation) -> str:
    """Summarize an explanation: the smallest residual of every depth, and scales with similar residuals."""
    lines = {
        "data": size_of(result.X),
        "predictor": f"{norms(result.w)}; residual = {result.feasibility:.1g}·‖y‖",
    }
    for depth, curve in zip(result.depths, result.stationarity, strict=True):
        near = result.scales[curve <= _NEAR * curve.min()]
        lines[f"depth {shown(depth)}"] = (
            f"residual = {curve.min():.2g} at scale = {result.scales[curve.argmin()]:.4g}; within a factor "
            f"{_NEAR:g} of it for scales from {near.min():.3g} to {near.max():.3g}"
        )
    lines["note"] = (
        "depths with similar residuals cannot be distinguished, especially if the predictor is noisy"
    )
    return aligned(lines)


def explanation_picture(result: Explanation, names: Sequence[str]) -> Picture:
    """A picture of the residual against the scale, with a curve for each depth."""

    def draw(ax: Any) -> None:
        for place, (depth, curve) in enumerate(zip(result.depths, result.stationarity, strict=True)):
            ax.loglog(result.scales, curve, color=f"C{place}", label=f"depth {shown(depth)}")
        ax.set(xlabel="scale $a$ of the weights", ylabel=r"$\|(I-P)\nabla Q(w)\| / \|\nabla Q(w)\|$")
        ax.set_title("residual of the predictor by depth and scale", loc="left")
        ax.legend()

    return Picture(draw, {"figsize": (5.6, 4.0)}, "explanation")


def risk_report(result: Risk) -> str:
    """Summarize a risk: the prediction, the scatter of simulated data sets, and their bias."""
    mean, error = result.bias
    lines = {
        "data": f"{count(result.samples, 'Gaussian sample')} × {count(len(result.signal), 'feature')}, "
        f"noise {result.noise:g}",
        "model": result.model.describe(),
        "risk": f"E‖w − signal‖² = {result.risk:.6g}, with noise τ = {result.tau:.4g} on every coordinate",
        "scatter": f"a single data set deviates by {100 * result.scatter:.2g}% (standard deviation of "
        f"{len(result.simulated)} simulated ones)",
        "simulated": f"mean = {result.simulated.mean():.4g}, {100 * mean:+.2g} ± {100 * error:.2g}% from the "
        "prediction",
    }
    return aligned(lines)


def risk_picture(result: Risk) -> Picture:
    """A picture of the risks of the simulated data sets, and the prediction."""

    def draw(ax: Any) -> None:
        ax.hist(result.simulated, bins=min(_BINS, len(result.simulated)), color=MUTED)
        ax.axvline(result.risk, color="k", label="prediction")
        ax.axvline(result.simulated.mean(), color=RICH, ls="--", label="mean of the data sets")
        ax.set(xlabel=r"risk $\|w - b^*\|^2$", ylabel="simulated data sets")
        ax.legend()

    return Picture(draw, {"figsize": (5.0, 3.6)}, "risk")
