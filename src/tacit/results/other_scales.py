"""How far a limit would be from its two ends at other scales."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.data.arrays import Float


@dataclass(frozen=True, eq=False)
class OtherScales:
    """From the kernel end to the rich one: both of them, and distances to them as the scale changes.

    None of these for potentials that are an end themselves.
    """

    kernel: Float
    rich: Float
    rich_end: str
    factors: Float  # by which the predictor's scale is changed
    to_kernel: Float
    to_rich: Float
