"""The operations of a batch in JAX: compiled once for each shape, in float64 whatever the user's setting."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

import numpy as np

from tacit.autodiff import jax
from tacit.solvers.batch import lanes as on_lanes
from tacit.solvers.batch.driver import Places
from tacit.solvers.batch.lanes import Certified, Lanes, Start, State

Array = Any
_PACKED = 8  # remaining lanes are packed once they are this part of all: every new shape is compiled
_FEW = 64  # lanes for which packing saves no time

for _kind in (Lanes, State, Certified, Start):
    _names = [each.name for each in fields(_kind) if each.name != "power"]
    _fixed = ["power"] if _kind is Lanes else []
    jax.tree_util.register_dataclass(_kind, data_fields=_names, meta_fields=_fixed)


def _lower(before: Lanes, after: Lanes, state: State) -> State:
    return on_lanes.newton_step(after, on_lanes.lowered(before, after, state))


@contextmanager
def in_float64(device: Any) -> Iterator[None]:
    """Compute in float64 on this device."""
    with jax.enable_x64(True), jax.default_device(device), jax.default_matmul_precision("highest"):
        yield


class InJax:
    """Compiled operations on one device; to be used inside `in_float64`."""

    kernel_start = staticmethod(jax.jit(on_lanes.kernel_start))
    newton_step = staticmethod(jax.jit(on_lanes.newton_step))
    lower = staticmethod(jax.jit(_lower))
    interpolated = staticmethod(jax.jit(on_lanes.interpolated))
    certified = staticmethod(jax.jit(on_lanes.certified))
    pairs = staticmethod(jax.jit(on_lanes.pairs_of))

    def __init__(self, device: Any):
        self.device = device

    def array(self, values: Any) -> Array:
        """The values on the device."""
        return jax.device_put(values, self.device)

    def packing(self, remaining: Any) -> Places | None:
        """The remaining lanes of every group, or the remaining groups of one lane, if they are few."""
        groups, lanes = remaining.shape
        if lanes == 1:
            width = groups // _PACKED
            if groups < _FEW or remaining.sum() > width:
                return None
            chosen = np.argsort(~remaining[:, 0], kind="stable")[:width, None]
            return chosen, np.zeros_like(chosen)
        width = lanes // _PACKED
        if lanes < _FEW or remaining.sum(axis=1).max() > width:
            return None
        return np.arange(groups)[:, None], np.argsort(~remaining, axis=1, kind="stable")[:, :width]
