"""Picture of a path of maximum-margin predictors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.data.printable import label
from tacit.results.along_mu import Kink
from tacit.results.margin_path import MarginPath
from tacit.results.sweeping_path import SweepingPath
from tacit.show.figures import KERNEL, MUTED, RICH, Picture

_SHOWN = 6  # coordinates with a colour and a name
_FAINT = 400  # coordinates that are drawn
_SAMPLES = 60  # samples with a bar
_NUMBERED = 30  # samples up to which all are numbered
_FEW = 20  # values of μ that are drawn as points

Span = tuple[float, float]  # from one μ down to another


def path_picture(
    found: MarginPath | SweepingPath,
    names: Sequence[str],
    *,
    sweeping: SweepingPath | None = None,
    clock: str | None = None,
) -> Picture:
    """A picture of the directions (left) and of the support with its kinks (right) against μ.

    clock: the label of μ, such as "μ = α²/γ̃".
    """

    def draw(axes: Any) -> None:
        _draw_directions(found, names, sweeping, axes[0])
        _draw_support(found, sweeping, axes[1])
        for axis in axes:
            axis.set_xscale("log")
            axis.set_xlim(*_limits(found.mu))
            axis.set_xlabel(clock or r"$\mu$ = scale of the predictor / accuracy $\tilde\gamma$")

    return Picture(draw, {"figsize": (8.6, 4.0), "ncols": 2}, "path")


def _limits(mu: Float) -> Span:
    """The limits of the axis, from the largest μ to the smallest; wider if there is a single value."""
    first, last = float(mu.max()), float(mu.min())
    return (first, last) if first > last else (3 * first, last / 3)


def _directions(predictors: Float) -> Float:
    return predictors / np.linalg.norm(predictors, axis=1, keepdims=True)


def _draw_directions(
    found: MarginPath | SweepingPath, names: Sequence[str], sweeping: SweepingPath | None, axis: Any
) -> None:
    order = np.argsort(-found.mu)
    mu, ways = found.mu[order], _directions(found.predictors)[order]
    points = {"marker": "o", "ms": 3} if len(mu) < _FEW else {}
    largest = np.argsort(-np.abs(ways[-1]))
    axis.plot(mu, ways[:, largest[_SHOWN:_FAINT]], color=MUTED, lw=0.4, alpha=0.6, **points)
    for place, i in enumerate(largest[:_SHOWN]):
        axis.plot(mu, ways[:, i], color=f"C{place}", label=label(names[i], 18), **points)
        if sweeping is not None:
            flow = _directions(sweeping.predictors)[order, i]
            axis.plot(mu, flow, color=f"C{place}", ls="--", mfc="w", **points)
    if sweeping is not None:
        axis.plot([], [], color="k", ls="--", label=r"the flow at $\alpha\to\infty$")
    axis.set_ylabel(r"direction $w/\|w\|$")
    axis.set_title(r"kernel ($\ell_2$)", loc="left", color=KERNEL)
    axis.set_title(r"rich ($\ell_1$)", loc="right", color=RICH)
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=4)


def support_spans(path: MarginPath | SweepingPath) -> list[list[Span]]:
    """The ranges of μ in which each sample is in the support; they end at kinks or events."""
    order = np.argsort(-path.mu)
    changes = path.changes
    return [
        _spans(path.mu[order], path.support[order, n], [each for each in changes if each.sample == n])
        for n in range(path.support.shape[1])
    ]


def _spans(mu: Float, inside: Any, changes: list[Kink]) -> list[Span]:
    """The ranges of one sample, from its membership of the support at decreasing values of μ.

    Located changes that contradict the membership at the next μ are ignored, since a sample can touch the
    margin with multiplier 0. A change that was not located is placed at the next μ.
    """
    spans, since = [], mu[0] if inside[0] else None
    for above, below, now in zip(mu, mu[1:], inside[1:], strict=False):
        between = [(each.mu, each.enters) for each in changes if below <= each.mu < above]
        if not between or between[-1][1] != now:
            between = [(below, bool(now))]
        for at, enters in between:
            if enters and since is None:
                since = at
            elif not enters and since is not None:
                spans.append((since, at))
                since = None
    return spans if since is None else [*spans, (since, mu[-1])]


def _draw_support(found: MarginPath | SweepingPath, sweeping: SweepingPath | None, axis: Any) -> None:
    bars = support_spans(found)
    pushes = [[] for _ in bars] if sweeping is None else support_spans(sweeping)
    ever = [n for n, spans in enumerate(zip(bars, pushes, strict=True)) if any(spans)]
    shown = ever[:_SAMPLES]
    thick, above = min(3, 80 / (len(shown) or 1)), min(0.4, 0.025 * len(shown))  # bars that do not overlap
    for place, n in enumerate(shown):
        _draw_bars(axis, place, bars[n], color=KERNEL, lw=thick)
        _draw_bars(axis, place + above, pushes[n], color=RICH, lw=thick / 2)
    for kink in found.changes:
        axis.axvline(kink.mu, color="0.5", lw=0.7, ls=":")
    axis.plot([], [], color=KERNEL, lw=3, label="in the support")
    if sweeping is not None:
        axis.plot([], [], color=RICH, lw=1.5, label=r"of the flow at $\alpha\to\infty$")
    step = -(-len(shown) // _NUMBERED)
    axis.set_yticks(range(0, len(shown), step or 1), [str(n) for n in shown[:: step or 1]], fontsize=6.5)
    axis.set_ylim(-1, len(shown))
    axis.set_ylabel("sample (numbered from 0)")
    axis.set_title(_title(len(found.changes), len(bars), len(ever), len(shown)), loc="left")
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)


def _draw_bars(axis: Any, height: float, spans: list[Span], **style: Any) -> None:
    for since, until in spans:
        points = {"marker": "o", "ms": 4} if since == until else {}
        axis.plot([since, until], [height, height], solid_capstyle="butt", **style, **points)


def _title(kinks: int, samples: int, ever: int, shown: int) -> str:
    """The number of kinks, and of samples that are not shown."""
    lines = [f"support vectors, {kinks or 'no'} {'kink' if kinks == 1 else 'kinks'}"]
    if ever > shown:
        lines.append(f"the first {shown} of {ever}")
    if samples > ever:
        lines.append(f"{samples - ever} of {samples} samples are never in the support")
    return "\n".join(lines)
