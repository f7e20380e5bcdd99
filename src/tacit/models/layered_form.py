"""The flow of diagonal networks with several layers, in mirror space."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.models.model import MirrorForm
from tacit.potentials.layered import Layered


@dataclass(frozen=True, eq=False)
class LayeredMap:
    """The mirror map from slopes s = ∇Q/weight to the predictor, with the interface of `MirrorMap`.

    Each coordinate has two blocks, ∏ plusⱼ and ∏ minusⱼ, and each block a parameter t, its place. Near the
    ends of their domain, slopes would lose the digits of their distance to the end; places keep them.
    """

    potential: Layered
    place: Float  # (2, k, d)
    lead: tuple[int, ...] = ()  # axes in front of the features, k in all

    @property
    def power(self) -> float:
        """L/(L−2)."""
        return self.potential.depth / (self.potential.depth - 2)

    @property
    def log_scale(self) -> Float:
        """log m of every coordinate."""
        return self.potential.log_scale

    def _shaped(self, values: Float) -> Float:
        """(k, d) as (*lead, d)."""
        return values.reshape(*self.lead, values.shape[-1])

    @cached_property
    def _block_room(self) -> tuple[Float, Float]:
        """How far the slope of each block can fall and rise."""
        return self.potential.rows.distance_to_ends(self.place)

    @cached_property
    def room(self) -> tuple[Float, Float]:
        """How far slopes can fall and rise."""
        down, up = self.potential.rows.room(self._block_room)
        return self._shaped(down), self._shaped(up)

    def moved(self, change: Float, floor: float = 0.0) -> LayeredMap:
        """The map at changed slopes; `change` may have additional leading axes.

        Outside the domain the predictor is NaN. With a floor, the change is clipped so that the distance to
        the ends does not fall below this fraction of its current value.
        """
        if floor:
            fall, rise = self.room
            change = np.clip(change, -(1 - floor) * fall, (1 - floor) * rise)
        flat, rows = change.reshape(-1, change.shape[-1]), self.potential.rows
        return LayeredMap(
            self.potential, rows.moved(self.place, rows.side * flat, self._block_room), change.shape[:-1]
        )

    def reached(self, change: Float, floor: float) -> Float:
        """The predictor of `moved`."""
        return self.moved(change, floor).predictor

    def __getitem__(self, at: int) -> LayeredMap:
        """The map at one entry of the leading axis."""
        return LayeredMap(self.potential, self.place.reshape(2, *self.lead, -1)[:, at][:, None])

    def inside(self) -> bool:
        """Whether every slope is inside its domain."""
        return bool(np.isfinite(self.place).all())

    @cached_property
    def distance(self) -> Float:
        """The distance of each slope to the nearer end of its domain."""
        return np.minimum(*self.room)

    @property
    def rapidity(self) -> Float:
        """The places of both blocks."""
        return self.place.reshape(2, *self.lead, -1)

    @cached_property
    def predictor(self) -> Float:
        """w."""
        rows = self.potential.rows
        rise = (rows.side * rows.rise(self.place)).sum(axis=0)
        return self._shaped(self.potential.origin() + np.exp(self.potential.log_scale) * rise)

    @cached_property
    def stiffness(self) -> Float:
        """dw/ds."""
        gain = self.potential.rows.gain(self.place).sum(axis=0)
        return self._shaped(np.exp(self.potential.log_scale) * gain)

    @cached_property
    def rapidity_rate(self) -> Float:
        """dt/ds of the faster of the two blocks."""
        rows = self.potential.rows
        return self._shaped((1 / rows.rate(rows.v0 + self.place)).max(axis=0))

    def farthest(self) -> float:
        """The largest |t|."""
        return float(np.abs(self.place).max())

    def rounding(self) -> Float:
        """The round-off error of the slopes, in units of the machine epsilon."""
        return (1 + self._shaped(np.abs(self.place).max(axis=0))) / self.rapidity_rate


@dataclass(frozen=True, eq=False)
class LayeredForm(MirrorForm):
    """∇Q(w(t)) = Xᵀν(t) for the potential of several layers; fields as in `MirrorForm`."""

    potential: Any = None

    def own_map(self) -> LayeredMap:
        """The mirror map at initialization."""
        return LayeredMap(self.potential, self.start[:, None])

    def log_stiffness(self, u: Any) -> Any:
        """log dw/ds at the places u."""
        return self.log_scale + np.log(self.potential.gain(u))

    @classmethod
    def of(cls, potential: Layered, d: int, lift: Any) -> LayeredForm:
        """The form of a potential for d features."""
        log_scale, log_weight = (
            np.broadcast_to(each, (d,)) for each in (potential.log_scale, potential.log_weight)
        )
        power = potential.depth / (potential.depth - 2)
        return cls(power, log_scale, np.exp(log_weight), np.zeros((2, d)), 0.0, lift, potential)
