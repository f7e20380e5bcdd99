"""The result of `Probe.sweep`: measurements of a network at several scales of its weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.data.json_values import as_json
from tacit.networks.measurements import Measured
from tacit.networks.network import Network
from tacit.results.delegation import delegate
from tacit.results.result import Drawn, Labelled, Result

_NUMBERS = ("linearization_gap", "kernel_distance", "distance_to_rich", "scale_criterion")


@dataclass(frozen=True, eq=False)
class ProbeSweep(Result):
    """The measurements of `Probe` for a network with its weights multiplied by several factors.

    Attributes
    ----------
    network : Network
        The network with its initial weights.
    scales : (S,) array
        The factors of its weights.
    points : tuple
        All measurements, one entry for each scale.
    rescaled : tuple of str
        The layers that were rescaled; all if empty.
    loss : str
        The name of the training loss.
    seconds : float
        Computing time.

    Examples
    --------
    >>> import numpy as np, tacit
    >>> X = np.random.default_rng(0).standard_normal((8, 2))
    >>> network = tacit.Network(lambda w, X: X @ w["v"], {"v": np.ones(2)})  # linear in its weights
    >>> tacit.probe(network, X, X[:, 0]).sweep([0.1, 10]).regimes
    ('kernel', 'kernel')
    """

    network: Network
    scales: Float
    points: tuple[Measured, ...]
    rescaled: tuple[str, ...]
    loss: str
    seconds: float

    @property
    def regimes(self) -> tuple[str, ...]:
        """The regime at each scale."""
        return tuple(each.regime for each in self.points)

    @property
    def linearization_gap(self) -> Float:
        """`Probe.linearization_gap` at each scale."""
        return self._of("linearization_gap")

    @property
    def kernel_distance(self) -> Float:
        """`Probe.kernel_distance` at each scale."""
        return self._of("kernel_distance")

    @property
    def distance_to_rich(self) -> Float:
        """`Probe.distance_to_rich` at each scale; NaN if it was not needed or not reached."""
        return self._of("distance_to_rich")

    @property
    def scale_criterion(self) -> Float:
        """`Probe.scale_criterion`, κ, at each scale."""
        return self._of("scale_criterion")

    @property
    def reached(self) -> Any:
        """Whether training reached its target loss, at each scale."""
        return np.array([each.trained.reached for each in self.points])

    @property
    def converged(self) -> bool:
        """Whether training reached its target loss at all scales."""
        return bool(self.reached.all())

    def _of(self, name: str) -> Float:
        return np.array([getattr(each, name) for each in self.points], dtype=np.float64)

    def __repr__(self) -> str:
        return (
            f"ProbeSweep({', '.join(f'{s:g}: {r}' for s, r in zip(self.scales, self.regimes, strict=True))})"
        )

    def summary(self) -> str:
        """A table with one line for each scale."""
        return str(delegate(self, "summary"))

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON."""
        content = {
            **self._values("scales", "regimes", *_NUMBERS, "reached", "rescaled"),
            "network": repr(self.network),
            **self._values("loss", "seconds"),
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
        """Draw the linearization gap and the kernel distance against the scale."""
        return self._draw()
