"""Kernel, rich or intermediate: the name and the distances that decide it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

NEAR = 0.1  # an end within 10% gives the regime its name


@dataclass(frozen=True, eq=False)
class Regime:
    """Which end of the scale a limit is close to. It equals its name: `limit.regime == "rich"`.

    The kernel end is the minimum of the tangent kernel's norm; the rich end that of the norm which rich_end
    names. The kernel end of neurons and networks is the solution nearest to their start in its tangent
    metric, where a model linearized at its start would go, which a large scale alone does not reach. Of a
    factorization without a limit, it is where its flow ends that is between the ends, and a small start need
    not be near the rich one: only measurements that commute make it so.

    Attributes
    ----------
    name : str
        "kernel", "rich" ("anti-kernel" for neurons and linear networks) or "intermediate". "unknown", with
        all numbers NaN, of a limit that has not converged, whose ends floats cannot hold, or whose potential
        has no scale.
    distance_to_kernel : float
        From the limit to that at infinite scale, ‖w − w'‖ relative to the larger of the two.
    distance_to_rich : float
        From the limit to that at zero scale, likewise.
    kernel_distance : float
        1 − cos∠(K₀, K∞) between the tangent kernels at the start and at the limit, in the Frobenius inner
        product. It gives the name where both ends are one solution, and is NaN where the weights at the limit
        are not known.
    rich_end : str
        The norm that the rich end minimizes: ℓ1 for diagonal networks, weighted for deep ones with a profile,
        ℓ2 for neurons and linear networks, nuclear for matrices.
    """

    name: str
    distance_to_kernel: float
    distance_to_rich: float
    kernel_distance: float
    rich_end: str = "ℓ1"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return self.name == other
        return isinstance(other, Regime) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    def summary(self) -> str:
        """The regime in a line."""
        if self.name == "unknown" and not self.rich_end:
            return "none: this potential has no scale, and so no ends"
        if self.name == "unknown":
            return "not known: it is told by the limit and its two ends, and one of them is not vouched for"
        if max(self.distance_to_kernel, self.distance_to_rich) < 1e-9:
            return f"{self.name}: both ends are this solution; the tangent kernel turns {self._turning()}"
        return (
            f"{self.name}: {_percent(self.distance_to_rich)} from the {self.rich_end} end, "
            f"{_percent(self.distance_to_kernel)} from the kernel end"
        )

    def _turning(self) -> str:
        if math.isnan(self.kernel_distance):
            return "by an unknown angle"
        much = "little" if self.kernel_distance < NEAR else "much"
        return f"{much} (1 − cos = {self.kernel_distance:.2g})"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "name": self.name,
            **{name: None if math.isnan(number) else number for name, number in self._numbers().items()},
        }

    def _numbers(self) -> dict[str, float]:
        return {
            "distance_to_kernel": self.distance_to_kernel,
            "distance_to_rich": self.distance_to_rich,
            "kernel_distance": self.kernel_distance,
        }


def _percent(x: float) -> str:
    if x < 1e-4:
        return "less than 0.01%"
    return f"{100 * x:.2g}%" if x < 0.995 else f"{100 * x:.0f}%"
