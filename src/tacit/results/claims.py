"""Measured numbers with thresholds: the claims of figures and the bounds of theorems."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from tacit.data.display import Displayed
from tacit.data.json_values import as_json


@dataclass(frozen=True, repr=False)
class Measured(Displayed):
    """A statement that holds if at_least ≤ measured ≤ at_most; None stands for no threshold on that side.

    text: the statement. measured: the number that decides it; NaN satisfies no threshold.
    """

    text: str
    measured: float
    at_most: float | None = None
    at_least: float | None = None
    rounding: ClassVar[float] = 0.0  # relative to the threshold; a smaller excess is round-off

    @property
    def holds(self) -> bool:
        """Whether the measured value satisfies its thresholds."""
        above = self.at_least is None or self.measured >= self.at_least - self._slack(self.at_least)
        below = self.at_most is None or self.measured <= self.at_most + self._slack(self.at_most)
        return bool(above and below)

    def _slack(self, threshold: float) -> float:
        return self.rounding and self.rounding * abs(threshold)

    @property
    def threshold(self) -> str:
        """The thresholds as text."""
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
        """The factor by which the measured value could grow or shrink until it meets the nearest threshold.

        1 if the threshold is met exactly, below 1 if it is violated, ∞ if no factor reaches it (measured 0
        below a positive threshold, or an infinite threshold).
        """
        factors = []
        if self.at_most is not None:
            factors.append(_ratio(self.at_most, self.measured))
        if self.at_least is not None:
            factors.append(_ratio(self.measured, self.at_least))
        return min(factors, default=math.inf)

    def summary(self) -> str:
        """The statement and whether it holds, in one line."""
        return f"{'holds' if self.holds else 'FAILS'}  {self.text}: {self.measured:.4g} ({self.threshold})"

    def to_dict(self) -> dict[str, Any]:
        """Text, measured value, thresholds and verdict."""
        return {
            "text": self.text,
            "measured": float(self.measured),
            "at_least": self.at_least,
            "at_most": self.at_most,
            "threshold": self.threshold,
            "verdict": "holds" if self.holds else "fails",
        }


def _ratio(larger: float, smaller: float) -> float:
    """The looseness larger/smaller of the inequality smaller ≤ larger, for numbers of any sign: 1 if they are
    equal."""
    if larger == smaller:
        return 1.0
    if min(larger, smaller) > 0:
        return larger / smaller
    if max(larger, smaller) < 0:
        return smaller / larger
    if math.isnan(larger) or math.isnan(smaller):
        return math.nan
    return math.inf if larger > smaller else 0.0


@dataclass(frozen=True, repr=False)
class Claim(Measured):
    """A claim of a paper, the measured number that decides it, and its thresholds.

    Parameters
    ----------
    text : str
        The claim.
    measured : float
        The measured number.
    at_most, at_least : float, optional
        The thresholds, on one side or on both.
    of : int, optional
        The number of random cases, if the measured number is a fraction of cases.
    why : str, optional
        The reason for the threshold, if the text does not give it.

    Examples
    --------
    >>> from tacit.papers import Claim
    >>> Claim("the limit has the minimum ℓ1 norm", 0.003, at_most=0.01).summary()
    'holds  the limit has the minimum ℓ1 norm: 0.003 (at most 0.01)'
    """

    of: int | None = None
    why: str = ""

    @property
    def holds(self) -> bool:
        """Whether the measured value satisfies its thresholds; never if it is NaN or infinite."""
        return super().holds and math.isfinite(self.measured)


@dataclass(frozen=True)
class Threshold:
    """Thresholds for the measured number of a claim, with the reason for them.

    Parameters
    ----------
    at_most, at_least : float, optional
        The thresholds, on one side or on both.
    why : str, optional
        The reason for the threshold, if the text of the claim does not give it.
    of : int, optional
        The number of random cases, if the measured number is a fraction of cases.

    Examples
    --------
    >>> from tacit.papers import Threshold
    >>> Threshold(at_least=0.9, of=20).claim("share of samples that are fitted", 0.95).holds
    True
    """

    at_most: float | None = None
    at_least: float | None = None
    why: str = ""
    of: int | None = None

    def claim(self, text: str, measured: Any) -> Claim:
        """Make a claim with these thresholds.

        Parameters
        ----------
        text : str
            The claim.
        measured : float
            The measured number, or an array with a single entry.

        Returns
        -------
        Claim
            The claim.
        """
        return Claim(text, float(measured), self.at_most, self.at_least, self.of, self.why)


def at_most(threshold: float, why: str = "", *, of: int | None = None) -> Threshold:
    """Make a threshold for numbers that must not exceed it.

    Parameters
    ----------
    threshold : float
        The largest number that satisfies the claim.
    why : str, optional
        The reason for the threshold, if the text of the claim does not give it.
    of : int, optional
        The number of random cases, if the measured number is a fraction of cases.

    Returns
    -------
    Threshold
        Its method `claim` adds the text and the measured number.

    Examples
    --------
    >>> from tacit.papers import at_most
    >>> at_most(1e-6).claim("relative distance to the minimum-norm solution", 2e-9).holds
    True
    """
    return Threshold(at_most=threshold, why=why, of=of)


def at_least(threshold: float, why: str = "", *, of: int | None = None) -> Threshold:
    """Make a threshold for numbers that must not be below it.

    Parameters
    ----------
    threshold : float
        The smallest number that satisfies the claim.
    why : str, optional
        The reason for the threshold, if the text of the claim does not give it.
    of : int, optional
        The number of random cases, if the measured number is a fraction of cases.

    Returns
    -------
    Threshold
        Its method `claim` adds the text and the measured number.

    Examples
    --------
    >>> from tacit.papers import at_least
    >>> at_least(0.5).claim("share of wide networks in the kernel regime", 0.4).holds
    False
    """
    return Threshold(at_least=threshold, why=why, of=of)


def within(low: float, high: float, why: str = "", *, of: int | None = None) -> Threshold:
    """Make a threshold for numbers that must lie in an interval.

    Parameters
    ----------
    low, high : float
        The smallest and the largest number that satisfy the claim.
    why : str, optional
        The reason for the thresholds, if the text of the claim does not give it.
    of : int, optional
        The number of random cases, if the measured number is a fraction of cases.

    Returns
    -------
    Threshold
        Its method `claim` adds the text and the measured number.

    Examples
    --------
    >>> from tacit.papers import within
    >>> within(0.9, 1.1).claim("slope of the error against the scale", 1.02).threshold
    'at least 0.9 and at most 1.1'
    """
    return Threshold(high, low, why, of)


@dataclass(frozen=True, repr=False)
class Bound(Measured):
    """A conclusion of a theorem: at_least ≤ measured ≤ at_most, up to round-off (1e-9 of the bound).

    Parameters
    ----------
    text : str
        The bounded quantity.
    measured : float
        Its value.
    at_most, at_least : float, optional
        The bounds; None if there is none on that side.

    Examples
    --------
    >>> from tacit.theorems import Bound
    >>> bound = Bound("‖w‖₁", 1.5, at_most=3.0)
    >>> bound.holds, bound.looseness
    (True, 2.0)
    """

    rounding: ClassVar[float] = 1e-9

    @property
    def equality(self) -> tuple[float, float] | None:
        """For two bounds that agree to four digits, their mean and the tolerance; otherwise None."""
        low, high = self.at_least, self.at_most
        if low is None or high is None or f"{low:.4g}" != f"{high:.4g}":
            return None
        return (low + high) / 2, (high - low) / 2

    @property
    def looseness(self) -> float:
        """The factor by which the measured value could grow or shrink until it meets the nearest bound.

        Between two bounds, the factor for its distance from their mean is used instead if it is farther from
        1. For equalities, whose bounds differ by a tolerance, only this second factor is meaningful.
        """
        factor, low, high = super().looseness, self.at_least, self.at_most
        if low is None or high is None or not math.isfinite(high - low) or math.isnan(factor):
            return factor
        middle = (low + high) / 2
        around = _ratio((high - low) / 2, abs(self.measured - middle))
        return max(factor, around) if self.holds else min(factor, around)

    def to_dict(self) -> dict[str, Any]:
        """Text, measured value, bounds and verdict; None for ∞ and NaN, which JSON cannot represent."""
        names = ("text", "measured", "at_most", "at_least", "holds", "looseness")
        found: dict[str, Any] = as_json({name: getattr(self, name) for name in names})
        return found
