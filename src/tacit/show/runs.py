"""Runs of gradient descent and audits of weights, as text and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.data.printable import label
from tacit.data.status import Status
from tacit.errors import TacitError
from tacit.results.audit import Audit
from tacit.results.run import Run
from tacit.show.figures import KERNEL, MUTED, RICH, Picture
from tacit.show.text import aligned, carriers, count, norms, top_features

_SHOWN = 24  # coordinates


def run_report(result: Run, names: Sequence[str] | None = None) -> str:
    """Summarize a run: training, end, and the comparison with prediction and flow."""
    w, name = result.predictor, "ended" if result.converged else "NOT CONVERGED"
    lines = {
        "data": f"{count(len(result.X), 'sample')} × {count(result.X.shape[1], 'feature')}",
        "model": result.model.describe(),
        "training": result.training.describe(),
        "run": f"{norms(w)}   {carriers(w)}",
        "features": top_features(w, names),
        "effective": _compared(result.effective_error, "the limit of the effective start", _why(result)),
        "predicted": _compared(result.prediction_error, "the prediction without the run", _order(result)),
        "flow": _compared(result.flow_error, "the limit of gradient flow"),
        "edge": f"step·sharpness/2 = {result.edge:.3g} (stable below {result.training.stable_up_to:.3g})",
        "computed": f"{count(result.steps, 'step')}, {1000 * result.seconds:.0f} ms",
        name: result.reason,
    }
    return aligned(lines)


def _compared(distance: float, other: str, note: str = "") -> str:
    """A distance, or why there is none."""
    if np.isnan(distance):
        return f"not known: {note}"
    return f"{distance:.2g} from {other}{f' ({note})' if note else ''}"


def _why(result: Run) -> str:
    try:
        _ = result.effective
    except TacitError as error:
        return str(error)
    return ""


def _order(result: Run) -> str:
    try:
        return str(result.prediction.order)
    except TacitError as error:
        return str(error)


def run_picture(result: Run, names: Sequence[str]) -> Picture:
    """A picture of the loss against steps, and of the largest coefficients of run, prediction and flow."""
    others = {}
    for which, find in (("prediction", lambda: result.prediction.predictor), ("flow", lambda: result.flow)):
        try:
            others[which] = find()
        except TacitError:
            continue

    def draw(axes: Any) -> None:
        _draw_loss(result, axes[0])
        order = np.argsort(-np.abs(result.predictor))[:_SHOWN]
        place = np.arange(len(order))
        axes[1].bar(place, result.predictor[order], color="0.8", width=0.75, label="run")
        styles = {"prediction": ("x", RICH), "flow": ("o", KERNEL)}
        for which, w in others.items():
            marker, color = styles[which]
            axes[1].plot(place, w[order], marker, color=color, mfc="none", ms=5, label=which)
        axes[1].axhline(0, color="k", lw=0.5)
        axes[1].set_xticks(place, [label(names[i], 20) for i in order], rotation=90, fontsize=6.5)
        axes[1].set(ylabel="coefficient")
        axes[1].legend()

    return Picture(draw, {"figsize": (8.4, 3.4), "ncols": 2}, "descend")


def _draw_loss(result: Run, ax: Any) -> None:
    shown = np.isfinite(result.loss) & (result.loss > 0)
    ax.plot(np.asarray(result.recorded)[shown], result.loss[shown], color=KERNEL)
    ax.set(xlabel="step", ylabel="training loss", yscale="log", xscale="symlog")
    if result.status == Status.STALLED:
        ax.set_title("not converged")


def audit_report(result: Audit, names: Sequence[str] | None = None) -> str:
    """Summarize an audit: the properties of the weights that a flow explains."""
    alive = np.setdiff1d(np.arange(len(result.scale)), result.dead)
    scales = result.scale[alive]
    lines = {"weights": f"{count(len(result.scale), 'coordinate')}, {norms(result.predictor)}"}
    if len(scales):
        lines["scale"] = (
            f"√(w₊w₋) from {scales.min():.3g} to {scales.max():.3g} (median {np.median(scales):.3g}); "
            "gradient flow conserves it"
        )
        lines["shift"] = f"{100 * result.shift_share:.2g}% of ½log(w₊/w₋) is outside the rows of X"
    if len(result.dead):
        named = ", ".join(
            label(names[i], 20) if names is not None else f"x{i}" for i in result.dead[:_SHOWN].tolist()
        )
        lines["dead"] = f"{count(len(result.dead), 'coordinate')} with a weight of 0: {named}"
    verdict = "yes: a flow from about one scale ends at these weights"
    if not result.explained:
        verdict = "no: no flow from one scale with w₊ = w₋ ends at these weights"
    lines["explained"] = verdict
    return aligned(lines)


def audit_picture(result: Audit, names: Sequence[str]) -> Picture:
    """A picture of scale and shift of every coordinate, against the predictor."""

    def draw(axes: Any) -> None:
        alive = result.scale > 0
        size = np.abs(result.predictor)[alive]
        across = "log" if size.any() else "linear"  # at initialization, all coefficients can be 0
        axes[0].plot(size, result.scale[alive], ".", color=KERNEL)
        axes[0].axhline(float(np.median(result.scale[alive] if alive.any() else [1.0])), color=MUTED, lw=0.8)
        axes[0].set(xlabel="|coefficient|", ylabel=r"scale $\sqrt{w_+ w_-}$", xscale=across, yscale="log")
        axes[1].plot(size, result.shift[alive], ".", color=RICH)
        axes[1].axhline(0, color=MUTED, lw=0.8)
        axes[1].set(xlabel="|coefficient|", ylabel="shift outside the rows of X", xscale=across)

    return Picture(draw, {"figsize": (8.4, 3.2), "ncols": 2}, "audit")
