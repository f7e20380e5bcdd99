"""The path of maximum-margin predictors as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tacit.data import Float, shortened
from tacit.figures import KERNEL, MUTED, RICH, save_figure
from tacit.flows.sweeping import SweepingPath
from tacit.limits.margin_path import MarginPath

_SHOWN = 6  # coordinates with a colour and a name
_FAINT = 400
_SAMPLES = 60


def draw_path(
    found: MarginPath, path: str | Path, *, names: Sequence[str], sweeping: SweepingPath | None = None
) -> Path:
    """Left: directions against μ. Right: which samples are in the support, and the kinks."""
    return save_figure(lambda axes: _draw(found, names, sweeping, axes), [path], figsize=(8.6, 4.0), ncols=2)[
        0
    ]


def _draw(found: MarginPath, names: Sequence[str], sweeping: SweepingPath | None, axes: Any) -> None:
    left, right = axes
    _draw_directions(found, names, sweeping, left)
    _draw_support(found, sweeping, right)
    for axis in axes:
        axis.set_xscale("log")
        axis.set_xlim(found.mu.max(), found.mu.min())
        axis.set_xlabel(r"$\mu = \alpha^D / \tilde\gamma$")


def _directions(predictors: Float) -> Float:
    return predictors / np.linalg.norm(predictors, axis=1, keepdims=True)


def _draw_directions(
    found: MarginPath, names: Sequence[str], sweeping: SweepingPath | None, axis: Any
) -> None:
    order = np.argsort(-found.mu)
    ways = _directions(found.predictors)[order]
    largest = np.argsort(-np.abs(ways[-1]))
    axis.plot(found.mu[order], ways[:, largest[_SHOWN:_FAINT]], color=MUTED, lw=0.4, alpha=0.6)
    for place, i in enumerate(largest[:_SHOWN]):
        label = shortened(" ".join(names[i].split()), 18).replace("$", r"\$")
        axis.plot(found.mu[order], ways[:, i], color=f"C{place}", label=label)
        if sweeping is not None:
            axis.plot(
                sweeping.mu[order], _directions(sweeping.predictors)[order, i], color=f"C{place}", ls="--"
            )
    if sweeping is not None:
        axis.plot([], [], color="k", ls="--", label=r"the flow at $\alpha\to\infty$")
    axis.set_ylabel(r"direction $w/\|w\|$")
    axis.set_title(r"kernel ($\ell_2$)", loc="left", color=KERNEL)
    axis.set_title(r"rich ($\ell_1$)", loc="right", color=RICH)
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=4)


def _draw_support(found: MarginPath, sweeping: SweepingPath | None, axis: Any) -> None:
    order = np.argsort(-found.mu)
    samples = np.flatnonzero(found.support.any(axis=0))[:_SAMPLES]
    for place, n in enumerate(samples):
        held = np.where(found.support[order, n], place, np.nan)
        axis.plot(found.mu[order], held, color=KERNEL, lw=3, solid_capstyle="butt")
        if sweeping is not None:
            pushing = np.where(sweeping.support[order, n], place + 0.3, np.nan)
            axis.plot(sweeping.mu[order], pushing, color=RICH, lw=1.5, solid_capstyle="butt")
    for kink in found.kinks:
        axis.axvline(kink.mu, color="0.5", lw=0.7, ls=":")
    axis.plot([], [], color=KERNEL, lw=3, label="in the support")
    if sweeping is not None:
        axis.plot([], [], color=RICH, lw=1.5, label=r"of the flow at $\alpha\to\infty$")
    axis.set_yticks(range(len(samples)), [str(n) for n in samples], fontsize=6.5)
    axis.set_ylim(-1, len(samples))
    axis.set_ylabel("sample")
    kinks = len(found.kinks)
    axis.set_title(f"support vectors, {kinks or 'no'} {'kink' if kinks == 1 else 'kinks'}", loc="left")
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
