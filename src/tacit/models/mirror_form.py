"""The flow of a model with a separable potential, in mirror space."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tacit.data.arrays import Float
from tacit.models.parametrizations import Weights
from tacit.potentials.rapidity import Geometry


@dataclass(frozen=True, eq=False)
class MirrorForm(Geometry):
    r"""The flow of a model with a separable potential, in mirror space.

        weight·s(u(t)) = weight·s(u(0)) + Xᵀν(t),    dν/dt = e^{log_speed}·(−∂L/∂f)

    u: the rapidity of every coordinate. It determines the predictor, through the mirror map with this power
    and log_scale, and the weights, through `lift`. Rapidities remain accurate where slopes s are so close to
    the ends of their domain that floats cannot represent the distance.
    """

    power: float
    log_scale: Float
    weight: Float
    start: Float
    log_speed: float
    lift: Callable[[Float], Weights]

    def own_map(self) -> Any:
        """The mirror map at initialization, for other than tied and two-layer networks; None for these."""
        return None
