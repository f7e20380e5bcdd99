"""What is measured against the bounds of theorems, as a picture."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.show.figures import KERNEL, MUTED, RICH, Picture

if TYPE_CHECKING:
    from tacit.theorems import Verdict
    from tacit.verdict import Bound

_ROOM = 1e-4  # shares of a bound below this are drawn at the edge
_BEYOND = 1e2  # and above this
_LETTERS = 62  # of a label in a line
_HEIGHT = 0.46  # inches of a row


@dataclass(frozen=True)
class _Row:
    """A bound: how much of it is used, and what is written beside it."""

    label: str
    numbers: str
    share: float
    applies: bool
    holds: bool


def verdicts_picture(verdicts: Sequence[Verdict]) -> Picture:
    """The share of every bound that is used, 1 where it is met exactly: the largest first.

    Theorems that do not apply are drawn hollow.
    """
    bounds = [(verdict, bound) for verdict in verdicts for bound in verdict.bounds]
    rows = [_row(verdict, bound) for verdict, bound in bounds if bound.threshold]  # others only tell a number
    rows.sort(key=lambda row: (not row.applies, -math.inf if math.isnan(row.share) else -row.share))

    def draw(ax: Any) -> None:
        if not rows:
            ax.set_axis_off()
            ax.text(0.5, 0.5, "no theorem applies", ha="center", va="center", transform=ax.transAxes)
            return
        _draw(rows, ax)

    return Picture(draw, {"figsize": (8.6, 1.1 + _HEIGHT * max(2, len(rows)))})


def _row(verdict: Verdict, bound: Bound) -> _Row:
    share = math.inf if bound.looseness == 0 else 1 / bound.looseness
    text = textwrap.shorten(bound.text, _LETTERS, placeholder=" …")
    return _Row(f"{verdict.key}\n{text}", _numbers(bound), share, verdict.applies, bound.holds)


def _numbers(bound: Bound) -> str:
    """Bound and measured, and how they compare: > where the one is broken that should be ≤."""
    words = f"{bound.measured:.3g}"
    if bound.at_least is not None:
        words = f"{bound.at_least:.3g} {'≤' if replace(bound, at_most=None).holds else '>'} {words}"
    if bound.at_most is not None:
        words = f"{words} {'≤' if replace(bound, at_least=None).holds else '>'} {bound.at_most:.3g}"
    return words


def _draw(rows: Sequence[_Row], ax: Any) -> None:
    places = range(len(rows))
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
    ax.set(xscale="log", xlim=(left, right), ylim=(len(rows) - 0.4, -0.6))
    ax.set_yticks(places, [row.label for row in rows], fontsize=7.5, parse_math=False)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("share of the bound that is used (1: met exactly; beyond: broken)")
    beside = {"transform": ax.get_yaxis_transform(), "va": "center", "fontsize": 7.5}
    ax.text(1.02, -0.75, "measured, bound", color=MUTED, **beside)


def _draw_share(row: _Row, place: int, colour: str, limits: tuple[float, float], ax: Any) -> None:
    """A dot, or an arrow where it is off the picture; nothing where there is no number."""
    left, right = limits
    if math.isnan(row.share):
        ax.text(1.0, place, "not a number", color=colour, va="center", ha="center", fontsize=7.5)
        return
    at = min(max(row.share, left), right)
    mark = "<" if row.share < left else ">" if row.share > right else "o"
    ax.plot([left, at], [place, place], color=colour, lw=1, alpha=0.5)
    ax.plot(at, place, mark, color=colour, mfc=colour if row.applies else "w", ms=5, clip_on=False, zorder=3)
