"""How a computation ended, in one word."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """The word; the `reason` of a result has the sentence."""

    REACHED = "reached"  # what was asked for
    STALLED = "stalled"  # the method got no further
    STATIONARY = "stationary"  # nothing moves any more
    ROUNDING = "rounding"  # the last bits of the data decide
    INTERRUPTED = "interrupted"  # by the user
    REFUSED = "refused"  # it is not what it was said to be
