"""A probe's advice, carried out: the same network at many scales, trained anew."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.data.arrays import as_floats
from tacit.errors import InputError
from tacit.networks.measurements import measure
from tacit.networks.network import Network
from tacit.results.probe import Probe
from tacit.results.probe_sweep import ProbeSweep
from tacit.show.progress import progress
from tacit.verbs.probe import meter_of


def sweep_of(probe: Probe, scales: Any, layers: Sequence[str] | str | None) -> ProbeSweep:
    """The network of a probe at other scales."""
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
