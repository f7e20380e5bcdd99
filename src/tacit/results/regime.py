"""The regime of a limit: its name, and the distances to the two ends that decide it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tacit.data.display import Displayed
from tacit.data.printable import percent

NEAR = 0.1  # relative distance to an end below which the regime has the name of this end
ONE_SOLUTION = 1e-9  # relative distance of both ends below which they count as the same solution


@dataclass(frozen=True, eq=False, repr=False)
class Regime(Displayed):
    """Relative distances of a limit to the limits at infinite and at zero scale, and the regime they imply.

    A regime equals its name: `limit.regime == "rich"`. The kernel end minimizes the norm of the tangent
    kernel, the rich end the norm named by rich_end. For neurons and networks the kernel end is the solution
    nearest to the initialization in its tangent metric, that is the limit of the model linearized at its
    initialization; a large scale alone does not lead there. For a factorization without a potential, the
    distances are those of the end of the flow, and a small initialization need not be near the rich end,
    unless the measurements commute.

    Attributes
    ----------
    name : str
        "kernel", "rich" ("anti-kernel" for neurons and linear networks) or "intermediate". "unknown", with
        all numbers NaN, if the limit has not converged, if an end is outside the floating-point range, or if
        the potential has no scale.
    distance_to_kernel : float
        ‖w − w'‖/max(‖w‖, ‖w'‖) of the limit w and the limit w' at infinite scale.
    distance_to_rich : float
        The same for the limit w' at zero scale.
    kernel_distance : float
        1 − cos∠(K₀, K∞) between the tangent kernels at initialization and at the limit, in the Frobenius
        inner product. It decides the name if both ends are the same solution. NaN if the weights at the limit
        are not known.
    rich_end : str
        The norm that the rich end minimizes: ℓ1 for diagonal networks, weighted for deep ones with a profile,
        ℓ2 for neurons and linear networks, nuclear for matrices.

    Examples
    --------
    >>> import tacit
    >>> regime = tacit.regime(tacit.Diagonal(scale=1e-8), [[1, 2]], [2])
    >>> regime == "rich", regime.distance_to_rich < 0.1 < regime.distance_to_kernel
    (True, True)
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
        """The regime in one line."""
        if self.name == "unknown" and not self.rich_end:
            return "none: this potential has no scale, hence no limits at zero and infinite scale"
        if self.name == "unknown":
            return "not known: the limit, or one of its limits at zero and infinite scale, is not certified"
        if max(self.distance_to_kernel, self.distance_to_rich) < ONE_SOLUTION:
            return f"{self.name}: both ends are this solution; the tangent kernel turns {self._turning()}"
        return (
            f"{self.name}: {percent(self.distance_to_rich)} from the {self.rich_end} end, "
            f"{percent(self.distance_to_kernel)} from the kernel end"
        )

    def _turning(self) -> str:
        if math.isnan(self.kernel_distance):
            return "by an unknown angle"
        much = "little" if self.kernel_distance < NEAR else "much"
        return f"{much} (1 − cos = {self.kernel_distance:.2g})"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; None for NaN."""
        names = ("distance_to_kernel", "distance_to_rich", "kernel_distance")
        numbers = {name: getattr(self, name) for name in names}
        return {"name": self.name} | {name: None if math.isnan(x) else x for name, x in numbers.items()}
