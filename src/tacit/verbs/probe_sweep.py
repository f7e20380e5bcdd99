"""A probe's advice, carried out: the same network at many scales, trained anew."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.data.arrays import Float, as_floats
from tacit.errors import InputError
from tacit.networks.network import Network
from tacit.show.outputs import as_json
from tacit.show.progress import progress
from tacit.verbs.probing import Measured, measure
from tacit.verbs.results import Labelled, Result

if TYPE_CHECKING:
    from tacit.show.figures import Picture
    from tacit.verbs.probe import Probe

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
        from tacit.show.probe_text import sweep_report

        return sweep_report(self)

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

    def picture(self) -> Picture:
        """Gap and kernel distance against the scale."""
        from tacit.show.probes import sweep_picture

        return sweep_picture(self)


def sweep_of(probe: Probe, scales: Any, layers: Sequence[str] | str | None) -> ProbeSweep:
    """The network of a probe at other scales."""
    from tacit.verbs.probe import meter_of

    begun = time.perf_counter()
    factors = as_floats(scales, "scales", ndim=(1,))
    if not (len(factors) and (factors > 0).all()):
        raise InputError(f"scales must be positive numbers, at least one, got {scales!r}")
    names = _named(probe.network, layers)
    meter, points = meter_of(probe.problem), []
    for factor in progress(factors.tolist(), "scales"):
        network = probe.network.with_weights(_rescaled(probe.network, factor, names))
        points.append(measure(network, probe.problem, meter))
    seconds = time.perf_counter() - begun
    return ProbeSweep(probe.network, factors, tuple(points), names, probe.loss.name, seconds)


def _named(network: Network, layers: Sequence[str] | str | None) -> tuple[str, ...]:
    """The layers that are meant; none for all."""
    known = [each.name for each in network._backend.chain()]
    if layers is None:
        return ()
    if layers == "last":
        matrices = [each.name for each in network._backend.chain() if len(each.shape) > 1]
        return ((matrices or known)[-1],)
    wanted = (layers,) if isinstance(layers, str) else tuple(layers)
    if wrong := [name for name in wanted if name not in known]:
        raise InputError(f"the network has no layer {wrong[0]!r}; it has {', '.join(known)}")
    return wanted


def _rescaled(network: Network, factor: float, names: tuple[str, ...]) -> Any:
    weights = np.array(network.weights)
    for layer in network.layers:
        if not names or layer.name in names:
            weights[layer.slice] *= factor
    return weights
