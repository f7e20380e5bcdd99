"""Picture of the values that are measured for the bounds of theorems."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.show.figures import KERNEL, MUTED, RICH, Picture

_ROOM = 1e-4  # shares of a bound below this are drawn at the left edge
_BEYOND = 1e2  # and those above this at the right edge
_LETTERS = 62  # characters in a line of a label
_TITLE = 100  # characters in a line of the title
_LINE = 0.145  # height of a line of a label in inches
_BETWEEN = 1.2  # distance between rows, in lines


@dataclass(frozen=True)
class _Row:
    """A row of the picture: a bound, the share of it that is used, and its label."""

    lines: tuple[str, ...]
    numbers: str
    share: float
    applies: bool
    holds: bool


def picture_of(verdicts: Any, everything: bool) -> Picture:
    """A picture of the verdicts that apply, or of all, with model and data as its title."""
    title = "\n".join(filter(None, (verdicts.model, verdicts.data)))
    return verdicts_picture((*verdicts, *verdicts.others) if everything else verdicts, title)


def verdicts_picture(verdicts: Sequence[Any], title: str = "") -> Picture:
    """A picture of the share of every bound that is used (1: met with equality), the largest first.

    Theorems that do not apply have hollow marks.
    """
    bounds = [(verdict, bound) for verdict in verdicts for bound in verdict.bounds]
    # Other bounds report a number without a threshold.
    rows = [_row(verdict, bound) for verdict, bound in bounds if bound.threshold]
    rows.sort(key=lambda row: (not row.applies, -math.inf if math.isnan(row.share) else -row.share))

    def draw(ax: Any) -> None:
        if not rows:
            ax.set_axis_off()
            ax.text(0.5, 0.5, "no theorem applies", ha="center", va="center", transform=ax.transAxes)
            return
        _draw(rows, ax)
        ax.set_title(heading, loc="left", fontsize=8.5, pad=16, parse_math=False)

    heading = "\n".join(part for line in title.splitlines() for part in textwrap.wrap(line, _TITLE))
    lines = max(6.0, sum(len(row.lines) + _BETWEEN for row in rows)) + 1.5 * len(heading.splitlines())
    return Picture(draw, {"figsize": (8.6, 1.1 + _LINE * lines)}, "check")


def _row(verdict: Any, bound: Any) -> _Row:
    share = math.inf if bound.looseness == 0 else 1 / bound.looseness
    lines = (verdict.key, *textwrap.wrap(bound.text, _LETTERS))
    return _Row(lines, _numbers(bound), share, verdict.applies, bound.holds)


def _numbers(bound: Any) -> str:
    """The measured value, the relation and the bound, such as "0.2 ≤ 0.5", or "0.7 > 0.5" if violated."""
    measured, low, high = f"{bound.measured:.3g}", bound.at_least, bound.at_most
    if bound.equality is not None:
        value, tolerance = bound.equality
        return f"{measured} {'=' if bound.holds else '≠'} {value:.3g} ± {tolerance:.1g}"
    if low is not None and high is not None:
        return f"{measured} {'in' if bound.holds else 'not in'} [{low:.3g}, {high:.3g}]"
    if low is not None:
        return f"{measured} {'≥' if bound.holds else '<'} {low:.3g}"
    return f"{measured} {'≤' if bound.holds else '>'} {high:.3g}".replace("inf", "∞")


def _draw(rows: Sequence[_Row], ax: Any) -> None:
    heights = np.array([len(row.lines) + _BETWEEN for row in rows])
    ends = np.cumsum(heights)
    places = ends - heights / 2
    shares = np.array([row.share for row in rows])
    inside = shares[np.isfinite(shares) & (shares > 0)]
    left = max(_ROOM, min(0.3, float(inside.min(initial=1.0)) / 2))
    right = min(_BEYOND, max(2.0, 2 * float(inside.max(initial=1.0))))
    ax.axvspan(1.0, right, color=RICH, alpha=0.08, lw=0)
    ax.axvline(1.0, color="k", lw=0.8)
    for place, row in zip(places, rows, strict=True):
        colour = MUTED if not row.applies else KERNEL if row.holds else RICH
        _draw_share(row, place, colour, (left, right), ax)
        ax.text(1.02, place, row.numbers, transform=ax.get_yaxis_transform(), va="center", fontsize=7.5)
    ax.set(xscale="log", xlim=(left, right), ylim=(ends[-1], 0.0))
    ax.set_yticks(places, ["\n".join(row.lines) for row in rows], fontsize=7.5, parse_math=False)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("share of the bound that is used (1: equality; above 1: violated)")
    beside = {"transform": ax.get_yaxis_transform(), "va": "center", "fontsize": 7.5}
    ax.text(1.02, -0.6, "measured, bound", color=MUTED, **beside)


def _draw_share(row: _Row, place: float, colour: str, limits: tuple[float, float], ax: Any) -> None:
    """Draw a dot, an arrow if the value is outside the axis, or nothing if it is NaN."""
    left, right = limits
    if math.isnan(row.share):
        ax.text(1.0, place, "not a number", color=colour, va="center", ha="center", fontsize=7.5)
        return
    at = min(max(row.share, left), right)
    mark = "<" if row.share < left else ">" if row.share > right else "o"
    ax.plot([left, at], [place, place], color=colour, lw=1, alpha=0.5)
    ax.plot(at, place, mark, color=colour, mfc=colour if row.applies else "w", ms=5, clip_on=False, zorder=3)
