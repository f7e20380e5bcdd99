"""Flows of untied diagonal networks of several layers in mirror space."""

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
    """The predictor as slopes s = ∂Q/weight move on, told by where both blocks of every coordinate are.

    It has what `MirrorMap` has for tied networks. Places keep the digits of the distances to the ends of the
    slopes, which the slopes themselves would lose.
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

    def _told(self, values: Float) -> Float:
        """(k, d) with the axes in front that were asked for."""
        return values.reshape(*self.lead, values.shape[-1])

    @cached_property
    def _rooms(self) -> tuple[Float, Float]:
        return self.potential.both.distance_to_ends(self.place)

    @cached_property
    def room(self) -> tuple[Float, Float]:
        """How far slopes can fall and rise."""
        (fall, rise), both = self._rooms, self.potential.both
        down, up = np.where(both.side > 0, fall, rise), np.where(both.side > 0, rise, fall)
        down, up = (np.where(both.alive > 0, each, np.inf).min(axis=0) for each in (down, up))
        return self._told(down), self._told(up)

    def moved(self, change: Float, floor: float = 0.0) -> LayeredMap:
        """The map after the slopes changed by this much, which may have more axes in front.

        Beyond the domain the predictor is NaN; with a floor, the distance to the ends never falls below that
        fraction of what it is now.
        """
        if floor:
            fall, rise = self.room
            change = np.clip(change, -(1 - floor) * fall, (1 - floor) * rise)
        flat, both = change.reshape(-1, change.shape[-1]), self.potential.both
        return LayeredMap(
            self.potential, both.moved(self.place, both.side * flat, self._rooms), change.shape[:-1]
        )

    def reached(self, change: Float, floor: float) -> Float:
        """The predictor of `moved`."""
        return self.moved(change, floor).predictor

    def __getitem__(self, at: int) -> LayeredMap:
        """The map at one of several slopes."""
        return LayeredMap(self.potential, self.place.reshape(2, *self.lead, -1)[:, at][:, None])

    def inside(self) -> bool:
        """Is every slope inside its domain?"""
        return bool(np.isfinite(self.place).all())

    @cached_property
    def distance(self) -> Float:
        """How far slopes are from the nearer end."""
        return np.minimum(*self.room)

    @property
    def rapidity(self) -> Float:
        """Where the blocks are."""
        return self.place.reshape(2, *self.lead, -1)

    @cached_property
    def predictor(self) -> Float:
        """w."""
        both = self.potential.both
        rise = (both.side * both.rise(self.place)).sum(axis=0)
        return self._told(self.potential.origin() + np.exp(self.potential.log_scale) * rise)

    @cached_property
    def stiffness(self) -> Float:
        """dw/ds."""
        gain = self.potential.both.gain(self.place).sum(axis=0)
        return self._told(np.exp(self.potential.log_scale) * gain)

    @cached_property
    def rapidity_rate(self) -> Float:
        """dt/ds, of the block that moves faster."""
        both = self.potential.both
        return self._told((1 / both.rate(both.v0 + self.place)).max(axis=0))

    def farthest(self) -> float:
        """The largest |t|."""
        return float(np.abs(self.place).max())

    def rounding(self) -> Float:
        """What slopes are rounded by, in units of the roundoff."""
        return (1 + self._told(np.abs(self.place).max(axis=0))) / self.rapidity_rate


@dataclass(frozen=True, eq=False)
class LayeredForm(MirrorForm):
    """∇Q(w(t)) = Xᵀν(t), of a potential of several layers; the rest of `MirrorForm` says its units."""

    potential: Any = None

    def own_map(self) -> LayeredMap:
        """That of the layers."""
        return LayeredMap(self.potential, self.start[:, None])

    def log_stiffness(self, u: Any) -> Any:
        """log dw/ds where the blocks are."""
        return self.log_scale + np.log(self.potential.gain((u[0], u[1])))

    @classmethod
    def of(cls, potential: Layered, d: int, lift: Any) -> LayeredForm:
        """For d features."""
        log_scale, log_weight = (
            np.broadcast_to(each, (d,)) for each in (potential.log_scale, potential.log_weight)
        )
        power = potential.depth / (potential.depth - 2)
        return cls(power, log_scale, np.exp(log_weight), np.zeros((2, d)), 0.0, lift, potential)
