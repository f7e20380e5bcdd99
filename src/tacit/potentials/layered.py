"""The potential of untied diagonal networks of three layers and more, of any start."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.errors import InputError
from tacit.potentials.arrays import quiet
from tacit.potentials.base import Potential
from tacit.potentials.block import Block, integral

Array = Any
Place = tuple[Float, Float]  # where both blocks of all coordinates are: their t
_TINY = float(np.finfo(np.float64).tiny)
_RANGE = 600.0  # logarithms of slopes that floats hold, with room for their products
_STEPS, _SQUARED = 40, 1e-8  # of Newton's method, at most, and a relative size that it squares once more
_NEARLY = 0.5  # change of log β up to which the potential is integrated, and not a difference


@dataclass(frozen=True, eq=False)
class Layered(Potential):
    r"""Minimized by w = ∏ plusⱼ − ∏ minusⱼ with L ≥ 3 layers each, from any start.

        ∇Q(w(s)) = s,    w(s) = β₊(F₊⁻¹(F₊(x₀) + s)) − β₋(F₋⁻¹(F₋(x₀') − s)),    Q(w(s)) = s·w − ½Δ(x₊² + x₋²)

    with β, F and x of `tacit.potentials.block`, for each coordinate. (By the algebra of Azulay et al. 2021,
    Appendix A, for more layers.) Q is least at w(0), and its slopes end at `ends`, those of its rich end: the
    weighted ℓ1 norm with weights F(∞) − F(x₀), which differ for the two signs in general.

    plus, minus: the layers at the start, (L, d), or (L, 1) for one that all coordinates share.
    """

    plus: Float
    minus: Float
    family = "layered"

    def __post_init__(self) -> None:
        slope = (2 - len(self.plus)) * self.log_unit
        if not (np.abs(slope) < _RANGE).all():
            raise InputError(
                f"the slopes of this potential, (largest layer)^{2 - len(self.plus)}, leave the range of "
                "floats: give the layers in other units, and the targets too"
            )

    def describe(self) -> str:
        """What it is, in a line."""
        return f"Layered potential of {len(self.plus)} layers"

    def check_features(self, features: int) -> None:
        """Refuse data with another number of features than there are coordinates."""
        if self.plus.shape[1] not in (1, features):
            raise InputError(
                f"the layers have {self.plus.shape[1]} entries but the data has {features} features"
            )

    @property
    def depth(self) -> int:
        """L."""
        return len(self.plus)

    @cached_property
    def log_unit(self) -> Float:
        """The logarithm of the largest layer of each coordinate, in units of which its blocks are."""
        largest = np.maximum(np.abs(self.plus).max(axis=0), np.abs(self.minus).max(axis=0))
        return np.log(np.where(largest > 0, largest, 1.0))

    @cached_property
    def blocks(self) -> tuple[Block, Block]:
        """Both products."""
        unit = np.exp(self.log_unit)
        return Block.of(self.plus / unit, 1), Block.of(self.minus / unit, -1)

    @cached_property
    def both(self) -> Block:
        """Both products in one, along an axis in front; places then are (2, k, d)."""
        first, second = self.blocks
        arrays = [
            np.stack([getattr(block, name) for block in (first, second)], axis=-2)[..., None, :]
            for name in ("least", "mu", "side", "alive")
        ]
        return Block(*arrays)

    @property
    def log_weight(self) -> Float:
        """The logarithm of slopes in units of their blocks."""
        return (2 - self.depth) * self.log_unit

    @property
    def log_scale(self) -> Float:
        """The logarithm of predictors in units of their blocks."""
        return self.depth * self.log_unit

    def origin(self) -> Float:
        """w(0)."""
        found: Float = self.plus.prod(axis=0) - self.minus.prod(axis=0)
        return found

    def start(self, features: int) -> Array:
        """w(0)."""
        return np.broadcast_to(self.origin(), (features,))

    def rescaled(self, shift: float, d: int | None = None) -> Potential:
        """All layers, multiplied."""
        factor = np.exp(shift / self.depth)
        return Layered(self.plus * factor, self.minus * factor)

    @cached_property
    @quiet
    def room(self) -> tuple[Float, Float]:
        """How far slopes can fall and rise from 0, in units of the blocks; ∞ where they have no end."""
        return self.nearest([block.room(np.zeros_like(block.v0)) for block in self.blocks])

    def nearest(self, rooms: list[tuple[Float, Float]]) -> tuple[Float, Float]:
        """How far slopes can fall and rise, of what each block can."""
        fall = rise = np.full_like(self.log_unit, np.inf)
        for block, (down, up) in zip(self.blocks, rooms, strict=True):
            down, up = (np.where(block.alive > 0, each, np.inf) for each in (down, up))
            fall = np.minimum(fall, np.where(block.side > 0, down, up))
            rise = np.minimum(rise, np.where(block.side > 0, up, down))
        return np.asarray(fall), np.asarray(rise)

    @property
    def ends(self) -> tuple[Float, Float]:
        """The weights of the rich end for w < 0 and for w > 0: −Q' at −∞ and Q' at ∞."""
        unit = np.exp(self.log_weight)
        return self.room[0] * unit, self.room[1] * unit

    # What solvers and flows ask for, in units of the blocks.

    def pulled(self, place: Place, slope: Float) -> Place:
        """The blocks after slopes have changed by so much."""
        first, second = (b.moved(t, b.side * slope) for b, t in zip(self.blocks, place, strict=True))
        return first, second

    def rise(self, place: Place) -> Float:
        """w less w(0)."""
        return sum_of(b.side * b.rise(t) for b, t in zip(self.blocks, place, strict=True))

    def gain(self, place: Place) -> Float:
        """dw/ds."""
        return sum_of(b.gain(t) for b, t in zip(self.blocks, place, strict=True))

    def _log_gains(self, place: Place) -> list[Float]:
        """The logarithms of dw/ds of both blocks."""
        blocks = zip(self.blocks, place, strict=True)
        return [np.where(block.alive > 0, block.log_gain(t), -np.inf) for block, t in blocks]

    def _log_gain(self, place: Place) -> Float:
        """log dw/ds."""
        return np.asarray(np.logaddexp(*self._log_gains(place)))

    def placed(self, rise: Float) -> tuple[Place, Float]:
        """The blocks where w exceeds w(0) by so much, and their slope.

        From where one block does half of it, or all where the other cannot, at the least slope that asks for;
        then by Newton's method on both blocks at once. Blocks that mirror each other are there at once, at
        slopes too close to their end to be told apart as well.
        """
        usable = [(b.alive > 0) & reaches(b, b.side * rise) for b in self.blocks]
        share = np.where(usable[0] & usable[1], rise / 2, rise)
        alone = [
            b.risen(np.where(ok, b.side * share, 0.0)) for b, ok in zip(self.blocks, usable, strict=True)
        ]
        slopes = [b.side * b.slope(t) for b, t in zip(self.blocks, alone, strict=True)]
        sizes = [np.where(ok, np.abs(s), np.inf) for ok, s in zip(usable, slopes, strict=True)]
        least = np.minimum(*sizes)
        slope = np.where(sizes[0] <= sizes[1], *slopes)
        t = [
            np.where(
                size == least, own, b.moved(np.zeros_like(rise), np.where(size == least, 0.0, b.side * slope))
            )
            for b, own, size in zip(self.blocks, alone, sizes, strict=True)
        ]
        gaps = [np.zeros_like(rise), np.zeros_like(rise)]
        for _ in range(_STEPS):
            logs = self._log_gains((t[0], t[1]))
            total = np.logaddexp(*logs)  # gains themselves may leave the range of floats
            short = rise - self.rise((t[0], t[1]))
            step = short * np.exp(-total) - sum(
                np.exp(log - total) * gap for log, gap in zip(logs, gaps, strict=True)
            )
            for k, b in enumerate(self.blocks):
                way = b.side * (step + gaps[k])
                after = b.stepped(t[k], way)
                gaps[k] = gaps[k] + step - b.side * b.slope(after, t[k])
                t[k] = after
            slope = slope + step
            if not (
                (np.abs(short) > _SQUARED * np.abs(rise)) | (np.abs(step) > _SQUARED * np.abs(slope))
            ).any():
                break
        return (t[0], t[1]), slope

    # The contract of a potential.

    @quiet
    def _at(self, w: Array) -> tuple[Place, Float]:
        w = np.asarray(w, dtype=float)
        return self.placed((w - self.origin()) * np.exp(-self.log_scale))

    @quiet
    def gradient(self, w: Array) -> Array:
        """∇Q(w)."""
        return np.exp(self.log_weight) * self._at(w)[1]

    @quiet
    def mirror(self, z: Array) -> Array:
        """(∇Q)⁻¹(z)."""
        z = np.asarray(z, dtype=float)
        zero = np.zeros_like(z)
        place = self.pulled((zero, zero), z * np.exp(-self.log_weight))
        return self.origin() + np.exp(self.log_scale) * self.rise(place)

    @quiet
    def hessian(self, w: Array) -> Array:
        """Diagonal of ∇²Q(w)."""
        return np.exp(-self.log_looseness(w))

    @quiet
    def log_looseness(self, w: Array) -> Array:
        """The logarithm of the diagonal of (∇²Q(w))⁻¹, which itself may leave the range of floats."""
        return self.log_scale - self.log_weight + self._log_gain(self._at(w)[0])

    @quiet
    def value(self, w: Array) -> Array:
        """Q(w), the sum over coordinates: 0 at w(0)."""
        place, _ = self._at(w)
        terms = sum_of(_work(b, t) for b, t in zip(self.blocks, place, strict=True))
        return np.sum(np.exp(2 * self.log_unit) * terms)

    def subdifferential(self, w: Array) -> tuple[Array, Array]:
        """Ends of ∂Q(w), given that numbers below the smallest normal float are not exact."""
        w = np.asarray(w, dtype=float)
        gradient, lost = self.gradient(w), np.abs(w) < _TINY
        if not lost.any():
            return gradient, gradient
        lower, upper = (self.gradient(np.where(lost, end, w)) for end in (-_TINY, _TINY))
        return np.where(lost, lower, gradient), np.where(lost, upper, gradient)

    @quiet
    def terms(self, w: Array) -> float:
        """What the rounding of a start that is not 0 is worth, over that rounding."""
        sizes = np.abs(self.hessian(w) * self.origin())
        return float(np.max(sizes, initial=0.0, where=np.isfinite(sizes)))


def sum_of(parts: Any) -> Float:
    """Of both blocks."""
    first, second = parts
    return np.asarray(first + second)


def reaches(block: Block, rise: Float) -> Any:
    """Can β exceed that of the start by so much?"""
    return ~block.one_sided | (rise + block.product(block.v0) > 0)


def _work(block: Block, t: Float) -> Float:
    """∫ (F − F₀) dβ = (F − F₀)β − ½Δx², from the start."""
    near = np.abs(t) * (len(block.mu) + 1) <= _NEARLY
    small = np.where(near, t, 0.0)

    def work(t: Float) -> Float:
        return block.slope(t) * block.climb(t)

    close = integral(work, np.zeros_like(small), small) if near.any() else 0.0
    far = block.slope(t) * block.product(block.v0 + t) - block.square(t) / 2
    return block.alive * np.where(near, close, far)
