"""A change of the support along a path over μ."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kink:
    """A sample that enters the support as μ falls through this value, or leaves it."""

    mu: float
    sample: int
    enters: bool
