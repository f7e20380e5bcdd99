"""The two ends of the scale."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.data.arrays import Float


@dataclass(frozen=True, eq=False)
class Ends:
    """The limits at infinite and zero scale, and the tangent metrics at the start and at the limit.

    In the shape of the predictor.
    """

    kernel: Float
    rich: Float
    metrics: tuple[Float, ...] = ()  # up to a factor; none where weights tell how the kernel turns
