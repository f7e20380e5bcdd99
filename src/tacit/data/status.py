"""Termination status of a computation."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """Why a computation ended; the `reason` of a result explains it in a sentence.

    Examples
    --------
    >>> import tacit
    >>> trajectory = tacit.flow(tacit.Diagonal(scale=0.1), [[1, 2]], [2], until=5)
    >>> trajectory.status == tacit.Status.REACHED
    True
    """

    REACHED = "reached"  # the requested goal
    STALLED = "stalled"  # no further progress, for example because of step size underflow
    STATIONARY = "stationary"  # the flow is at rest
    ROUNDING = "rounding"  # the result depends on the last bits of the data
    INTERRUPTED = "interrupted"  # by the user
    REFUSED = "refused"  # a premise does not hold
