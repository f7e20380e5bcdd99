"""What a probe found at several scales of the weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.data.arrays import Float
from tacit.data.json_values import as_json
from tacit.networks.measurements import Measured
from tacit.networks.network import Network
from tacit.results.delegation import ask
from tacit.results.result import Drawn, Labelled, Result

if TYPE_CHECKING:
    pass


_NUMBERS = ("linearization_gap", "kernel_distance", "distance_to_rich", "scale_criterion")


@dataclass(frozen=True, eq=False)
class ProbeSweep(Result):
    """A network with weights times each of the scales: what `Probe` measures, an array over the scales each.

    `regimes` are the verdicts, `reached` says whether training reached its goal.

    Attributes
    ----------
    network : Network
        As it was given.
    scales : (S,) array
        What its weights were multiplied by.
    points : tuple
        All numbers, by scale.
    rescaled : tuple of str
        The layers that were rescaled; all if empty.
    loss : str
        The name of the one that was trained with.
    seconds : float
        How long it took.
    """

    network: Network
    scales: Float
    points: tuple[Measured, ...]
    rescaled: tuple[str, ...]
    loss: str
    seconds: float

    @property
    def regimes(self) -> tuple[str, ...]:
        """The verdict at each scale."""
        return tuple(each.regime for each in self.points)

    @property
    def linearization_gap(self) -> Float:
        """At each scale."""
        return self._of("linearization_gap")

    @property
    def kernel_distance(self) -> Float:
        """At each scale."""
        return self._of("kernel_distance")

    @property
    def distance_to_rich(self) -> Float:
        """At each scale; NaN where it was not needed or not reached."""
        return self._of("distance_to_rich")

    @property
    def scale_criterion(self) -> Float:
        """κ at each scale."""
        return self._of("scale_criterion")

    @property
    def reached(self) -> Any:
        """Did training reach its goal?"""
        return np.array([each.trained.reached for each in self.points])

    @property
    def converged(self) -> bool:
        """Did it at all scales?"""
        return bool(self.reached.all())

    def _of(self, name: str) -> Float:
        return np.array([getattr(each, name) for each in self.points], dtype=np.float64)

    def __repr__(self) -> str:
        return (
            f"ProbeSweep({', '.join(f'{s:g}: {r}' for s, r in zip(self.scales, self.regimes, strict=True))})"
        )

    def summary(self) -> str:
        """A line for each scale."""
        return str(ask(self, "summary"))

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON."""
        content = {
            "scales": self.scales,
            "regimes": list(self.regimes),
            **{name: self._of(name) for name in _NUMBERS},
            "reached": self.reached,
            "rescaled": list(self.rescaled),
            "network": repr(self.network),
            "loss": self.loss,
            "seconds": self.seconds,
        }
        found: dict[str, Any] = as_json(content)
        return found

    def _arrays(self) -> Labelled:
        return {
            "scale": (("scale",), self.scales),
            "regime": (("scale",), list(self.regimes)),
            **{name: (("scale",), self._of(name)) for name in _NUMBERS},
            "reached": (("scale",), self.reached.astype(np.int8)),
        }

    def picture(self) -> Drawn:
        """Gap and kernel distance against the scale."""
        drawn: Drawn = ask(self, "picture")
        return drawn
