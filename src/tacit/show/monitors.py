"""Summaries and pictures of monitors."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.data.printable import label
from tacit.results.monitor import Monitor
from tacit.show.figures import KERNEL, MUTED, RICH, Picture
from tacit.show.text import table

_ROWS = 12  # records in a table
_CURVES = 7  # layers with a colour
_ROUNDING = 1e-14  # kernel distances below this are round-off
_NEAR = 0.1  # the threshold of regimes


def monitor_report(result: Monitor) -> str:
    """Summarize a monitor: a table of up to twelve records, including the first and the last."""
    reduction = f", on {result.watched.reduction}" if result.watched.reduction else ""
    head = f"  {result.network!r}{reduction}"
    if not result.steps:
        return f"{head}\n  no records yet"
    shown = np.unique(np.linspace(0, len(result) - 1, _ROWS).round().astype(int))
    movement = result.movement
    most = [max(movement, key=lambda name: _size(movement[name][i])) for i in range(len(result))]
    rows = [("step", "loss", "kernel 1 − cos", "angle", "outputs", "largest change")]
    for i in shown:
        loss = "" if np.isnan(result.loss[i]) else f"{result.loss[i]:.3g}"
        numbers = (f"{result.kernel_distance[i]:.2g}", f"{np.degrees(result.kernel_angle[i]):.2g}°")
        moved = f"{most[i]} {movement[most[i]][i]:.2g}"
        rows.append((f"{result.steps[i]:g}", loss, *numbers, f"{result.output_norm[i]:.3g}", moved))
    return "\n  ".join([head, *table(rows)])


def _size(value: float) -> float:
    return value if np.isfinite(value) else -1.0


def monitor_picture(result: Monitor) -> Picture:
    """A picture with four panels: loss and outputs, kernel, layers and balance."""

    def draw(axes: Any) -> None:
        steps = np.array(result.steps)
        _outputs(axes[0, 0], steps, result)
        _kernel(axes[0, 1], steps, result)
        _curves(axes[1, 0], steps, result.movement)
        axes[1, 0].set(yscale="log", title="relative change of layers", ylabel=r"$\|W' - W\|/\|W\|$")
        _curves(axes[1, 1], steps, result.balance)
        axes[1, 1].set(title="balance of layers", ylabel=r"$\|W_{l+1}\|^2 - \|W_l\|^2$")
        for ax in axes.ravel():
            ax.set_xscale("symlog", linthresh=1)
            ax.set_xlim(left=0)
        for ax in axes[1]:
            ax.set_xlabel("step")

    return Picture(draw, {"figsize": (7.6, 5.4), "nrows": 2, "ncols": 2, "sharex": True}, "monitor")


def _outputs(ax: Any, steps: Any, result: Monitor) -> None:
    known = np.isfinite(result.loss)
    if known.any():
        ax.plot(steps[known], result.loss[known], "o-", ms=3, color=RICH, label="loss")
    ax.plot(steps, result.output_norm, "o-", ms=3, color=KERNEL, label="norm of the outputs")
    ax.set(yscale="log", title="training")
    ax.legend()


def _kernel(ax: Any, steps: Any, result: Monitor) -> None:
    moved = np.where(result.kernel_distance > _ROUNDING, result.kernel_distance, np.nan)
    ax.plot(steps, moved, "o-", ms=3, color=KERNEL)
    ax.axhline(_NEAR, color=MUTED, lw=0.8, ls="--")
    ax.set(yscale="log", title="kernel distance from initialization", ylabel=r"$1 - \cos\angle(K_0, K_t)$")


def _curves(ax: Any, steps: Any, curves: dict[str, Any]) -> None:
    """Draw the curves; those that end highest have a label."""
    named = sorted(curves, key=lambda name: -_size(abs(curves[name][-1])))[:_CURVES]
    for name, values in curves.items():
        good = np.where(np.isfinite(values) & (values != 0), values, np.nan)
        if not np.isfinite(good).any():
            continue
        if name in named:
            ax.plot(steps, good, "o-", ms=2.5, lw=1.1, label=label(name, 22))
        else:
            ax.plot(steps, good, color=MUTED, lw=0.6)
    if ax.lines:
        ax.legend(fontsize=7)
    else:
        ax.text(0.5, 0.5, "none", transform=ax.transAxes, ha="center", color=MUTED)
