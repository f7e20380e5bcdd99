"""A sentence and the number that decides it: what the claims of figures and the bounds of theorems are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True)
class Measured:
    """at_least ≤ measured ≤ at_most, either side left out at will; NaN is within no threshold.

    text: the sentence. measured: the number that decides it. at_most, at_least: its thresholds.
    """

    text: str
    measured: float
    at_most: float | None = None
    at_least: float | None = None
    rounding: ClassVar[float] = 0.0  # of the threshold: being over by less is rounding, not a violation

    @property
    def holds(self) -> bool:
        """Is the measured value on the right side of its threshold?"""
        above = self.at_least is None or self.measured >= self.at_least - self._slack(self.at_least)
        below = self.at_most is None or self.measured <= self.at_most + self._slack(self.at_most)
        return bool(above and below)

    def _slack(self, threshold: float) -> float:
        return self.rounding and self.rounding * abs(threshold)

    @property
    def threshold(self) -> str:
        """The threshold in words."""
        low, high = self.at_least, self.at_most
        if low is not None and high is not None and f"{low:.4g}" == f"{high:.4g}":
            return f"exactly {low:.4g}" if low == high else f"within {(high - low) / 2:.1g} of {low:.4g}"
        parts = []
        if low is not None:
            parts.append(f"at least {low:.4g}")
        if high is not None:
            parts.append(f"at most {high:.4g}")
        return " and ".join(parts)

    @property
    def looseness(self) -> float:
        """How many times the measured value could grow (or shrink) before it meets the nearest threshold.

        1 where the threshold is met exactly, below 1 where it is broken, ∞ where no factor reaches it
        (measured 0 under a positive threshold, or an infinite threshold).
        """
        room = []
        if self.at_most is not None:
            room.append(_ratio(self.at_most, self.measured))
        if self.at_least is not None:
            room.append(_ratio(self.measured, self.at_least))
        return min(room, default=math.inf)

    def summary(self) -> str:
        """The verdict in a line."""
        return f"{'holds' if self.holds else 'FAILS'}  {self.text}: {self.measured:.4g} ({self.threshold})"

    def to_dict(self) -> dict[str, Any]:
        """Text, measured value, threshold and verdict."""
        return {
            "text": self.text,
            "measured": float(self.measured),
            "at_least": self.at_least,
            "at_most": self.at_most,
            "threshold": self.threshold,
            "verdict": "holds" if self.holds else "fails",
        }


def _ratio(larger: float, smaller: float) -> float:
    """larger/smaller, read as the room in the claim smaller ≤ larger whatever their signs."""
    if larger == smaller:
        return 1.0
    if min(larger, smaller) > 0:
        return larger / smaller
    if max(larger, smaller) < 0:
        return smaller / larger
    if math.isnan(larger) or math.isnan(smaller):
        return math.nan
    return math.inf if larger > smaller else 0.0


@dataclass(frozen=True)
class Claim(Measured):
    """A sentence of a paper, the number that decides it, and its threshold.

    Parameters
    ----------
    text : str
        The sentence.
    measured : float
        The number.
    at_most, at_least : float, optional
        The threshold, on either side or on both.
    of : int, optional
        The number of cases, where the number is a share of cases that were drawn.
    why : str, optional
        What the threshold means, if the sentence does not say so.
    """

    of: int | None = None
    why: str = ""

    @property
    def holds(self) -> bool:
        """Is the measured value on the right side of its threshold? (NaN and infinity never are.)"""
        return super().holds and math.isfinite(self.measured)


@dataclass(frozen=True)
class Threshold:
    """What numbers of claims are compared with, and what that means.

    Parameters
    ----------
    at_most, at_least : float, optional
        The threshold, on either side or on both.
    why : str, optional
        What it means, if the sentence of the claim does not say so.
    of : int, optional
        The number of cases, where the number is a share of cases that were drawn.
    """

    at_most: float | None = None
    at_least: float | None = None
    why: str = ""
    of: int | None = None

    def claim(self, text: str, measured: Any) -> Claim:
        """A sentence, with the number that decides it.

        Parameters
        ----------
        text : str
            The sentence.
        measured : float
            The number, or an array that holds nothing else.

        Returns
        -------
        Claim
            With this threshold.
        """
        return Claim(text, float(measured), self.at_most, self.at_least, self.of, self.why)


def at_most(threshold: float, why: str = "", *, of: int | None = None) -> Threshold:
    """Numbers up to this one.

    Parameters
    ----------
    threshold : float
        The most that a number may be.
    why : str, optional
        What that means, if the sentence of the claim does not say so.
    of : int, optional
        The number of cases, where numbers are shares of cases that were drawn.

    Returns
    -------
    Threshold
        Whose `claim` adds the sentence and the number.
    """
    return Threshold(at_most=threshold, why=why, of=of)


def at_least(threshold: float, why: str = "", *, of: int | None = None) -> Threshold:
    """Numbers from this one on.

    Parameters
    ----------
    threshold : float
        The least that a number may be.
    why : str, optional
        What that means, if the sentence of the claim does not say so.
    of : int, optional
        The number of cases, where numbers are shares of cases that were drawn.

    Returns
    -------
    Threshold
        Whose `claim` adds the sentence and the number.
    """
    return Threshold(at_least=threshold, why=why, of=of)


def within(low: float, high: float, why: str = "", *, of: int | None = None) -> Threshold:
    """Numbers from `low` to `high`.

    Parameters
    ----------
    low, high : float
        The least and the most that a number may be.
    why : str, optional
        What that means, if the sentence of the claim does not say so.
    of : int, optional
        The number of cases, where numbers are shares of cases that were drawn.

    Returns
    -------
    Threshold
        Whose `claim` adds the sentence and the number.
    """
    return Threshold(high, low, why, of)


@dataclass(frozen=True)
class Bound(Measured):
    """A conclusion of a theorem: at_least ≤ measured ≤ at_most, up to rounding (1e-9 of the bound).

    Parameters
    ----------
    text : str
        What is bounded.
    measured : float
        Its value.
    at_most, at_least : float, optional
        The bounds, None where there is none.
    """

    rounding: ClassVar[float] = 1e-9

    @property
    def equality(self) -> tuple[float, float] | None:
        """Two bounds that agree to four digits, as what the measured value is equal to, and the tolerance."""
        low, high = self.at_least, self.at_most
        if low is None or high is None or f"{low:.4g}" != f"{high:.4g}":
            return None
        return (low + high) / 2, (high - low) / 2

    @property
    def looseness(self) -> float:
        """How many times the measured value could grow (or shrink) before it meets the nearest bound.

        Between two bounds also how many times its distance to their middle could: of the two what is further
        from 1, as no factor says how well an equality holds, whose bounds are a tolerance apart.
        """
        factor, low, high = super().looseness, self.at_least, self.at_most
        if low is None or high is None or not math.isfinite(high - low) or math.isnan(factor):
            return factor
        middle = (low + high) / 2
        room = _ratio((high - low) / 2, abs(self.measured - middle))
        return max(factor, room) if self.holds else min(factor, room)

    def to_dict(self) -> dict[str, Any]:
        """Text, measured value, bounds and verdict; JSON has no ∞ and no NaN: None stands for both."""
        numbers = {"measured": self.measured, "at_most": self.at_most, "at_least": self.at_least}
        finite = {name: _finite(value) for name, value in numbers.items()}
        return {"text": self.text, **finite, "holds": self.holds, "looseness": _finite(self.looseness)}


def _finite(value: float | None) -> float | None:
    """The number, or None where it has no place in JSON."""
    return value if value is not None and math.isfinite(value) else None
