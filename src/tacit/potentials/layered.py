"""The potential of untied diagonal networks with three or more layers, for any initialization."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.errors import InputError
from tacit.numerics.rounding import LEAST_NORMAL
from tacit.potentials.arrays import quiet
from tacit.potentials.base import Potential
from tacit.potentials.block import Block, integral
from tacit.potentials.bregman import Bregman
from tacit.potentials.separable import DeepHypentropy

Array = Any
_MAX_LOG_SLOPE = 600.0  # |log slope| up to which slopes and their products with other terms are finite
_MAX_STEPS = 40  # Newton steps
_NEWTON_TOL = 1e-8  # relative step after which the next step (quadratic convergence) is round-off
# Up to this change of log β the potential is integrated; the difference of two terms would cancel.
_NEARLY = 0.5


@dataclass(frozen=True, eq=False)
class Layered(Potential):
    r"""Minimized by w = ∏ plusⱼ − ∏ minusⱼ with L ≥ 3 layers each, from any initialization.

        ∇Q(w(s)) = s,    w(s) = β₊(F₊⁻¹(F₊(x₀) + s)) − β₋(F₋⁻¹(F₋(x₀') − s)),    Q(w(s)) = s·w − ½Δ(x₊² + x₋²)

    in each coordinate, with β, F and x of `tacit.potentials.block` (derived like Azulay et al. 2021, Appendix
    A, for more layers). The minimizer of Q is w(0). The slopes of Q are bounded by `ends`; the rich limit is
    the weighted ℓ1 norm with these weights F(∞) − F(x₀), which in general differ for the two signs.

    plus, minus: the layers at initialization, (L, d), or (L, 1) if all coordinates share them.
    """

    plus: Float
    minus: Float
    family = "layered"

    def __post_init__(self) -> None:
        slope = (2 - len(self.plus)) * self.log_unit
        if not (np.abs(slope) < _MAX_LOG_SLOPE).all():
            raise InputError(
                f"the slopes of this potential, (largest layer)^{2 - len(self.plus)}, leave the range of "
                "floats; rescale the layers and the targets"
            )

    def describe(self) -> str:
        """One-line description."""
        return f"Layered potential of {len(self.plus)} layers"

    def check_features(self, features: int) -> None:
        """Check that there is one coordinate per feature."""
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
        """Logarithm of the unit of each coordinate's blocks, its largest layer."""
        largest = np.maximum(np.abs(self.plus).max(axis=0), np.abs(self.minus).max(axis=0))
        return np.log(np.where(largest > 0, largest, 1.0))

    @cached_property
    def blocks(self) -> Block:
        """The plus and the minus blocks, (2, d); positions t are then (2, d), too."""
        layers = np.stack([self.plus, self.minus], axis=1) / np.exp(self.log_unit)
        return Block.of(layers, np.array([[1.0], [-1.0]]))

    @cached_property
    def rows(self) -> Block:
        """The same for positions of several states, (2, k, d)."""
        return self.blocks[..., None, :]

    @cached_property
    @quiet
    def tied(self) -> Bregman | DeepHypentropy | None:
        """Q as that of tied weights, if the layers of each product are equal and positive.

        From x and x' the flow keeps x^{2−L} + x'^{2−L}, and passes the network whose layers all are a, with
        twice a^{2−L}. Its slopes are (a^{2−L}/(L−2))·h_L⁻¹.
        """
        sides, L = (self.plus, self.minus), self.depth
        if not all((layers == layers[0]).all() and (layers[0] > 0).all() for layers in sides):
            return None
        mean = (self.plus[0] ** (2 - L) + self.minus[0] ** (2 - L)) / 2
        scale = np.where(self.plus[0] == self.minus[0], self.plus[0], mean ** (1 / (2 - L)))
        weight = scale ** (2.0 - L) / (L - 2)
        if len(scale) == 1:
            scale, weight = scale[0], weight[0]
        found, start = DeepHypentropy(L, L * np.log(scale), weight), self.origin()
        return Bregman(found, start if len(start) > 1 else float(start[0])) if start.any() else found

    @property
    def log_weight(self) -> Float:
        """Logarithm of the unit of slopes that belongs to the blocks' unit."""
        return (2 - self.depth) * self.log_unit

    @property
    def log_scale(self) -> Float:
        """Logarithm of the unit of predictors that belongs to the blocks' unit."""
        return self.depth * self.log_unit

    def origin(self) -> Float:
        """w(0)."""
        return np.asarray(self.plus.prod(axis=0) - self.minus.prod(axis=0))

    def start(self, features: int) -> Array:
        """w(0)."""
        return np.broadcast_to(self.origin(), (features,))

    def shifted(self, shift: float, d: int | None = None) -> Potential:
        """The potential with all layers multiplied by e^(shift/L)."""
        factor = np.exp(shift / self.depth)
        return Layered(self.plus * factor, self.minus * factor)

    @cached_property
    @quiet
    def slope_range(self) -> tuple[Float, Float]:
        """How much slopes can decrease and increase from 0, in units of the blocks; ∞ if unbounded."""
        return self.blocks.room(self.blocks.distance_to_ends(np.zeros_like(self.blocks.v0)))

    @property
    def ends(self) -> tuple[Float, Float]:
        """The ℓ1 weights of the rich limit for w < 0 and for w > 0: −Q' at −∞ and Q' at ∞."""
        unit = np.exp(self.log_weight)
        return self.slope_range[0] * unit, self.slope_range[1] * unit

    # For solvers and flows, in units of the blocks.

    def moved(self, place: Float, slope: Float) -> Float:
        """The positions after slopes have changed by `slope`."""
        return self.blocks.moved(place, self.blocks.side * slope)

    def rise(self, place: Float) -> Float:
        """w − w(0)."""
        return np.asarray((self.blocks.side * self.blocks.rise(place)).sum(axis=0))

    def gain(self, place: Float) -> Float:
        """dw/ds."""
        return np.asarray(self.blocks.gain(place).sum(axis=0))

    def _log_gains(self, place: Float) -> Float:
        """log dβ/ds of both blocks; −∞ for a block that stays at 0."""
        return np.where(self.blocks.alive > 0, self.blocks.log_gain(place), -np.inf)

    def _log_gain(self, place: Float) -> Float:
        """log dw/ds."""
        return np.asarray(np.logaddexp(*self._log_gains(place)))

    def at_rise(self, rise: Float) -> tuple[Float, Float]:
        """The positions with w − w(0) = rise, and their slope.

        Newton's method on both blocks jointly. It starts at the smallest slope at which one block contributes
        half of the rise (all of it, if the other block cannot contribute). For blocks that are mirror images
        this start is the solution, even at slopes that are too close to their end to be distinguished.
        """
        blocks, side = self.blocks, self.blocks.side
        usable = (blocks.alive > 0) & reaches(blocks, side * rise)
        share = np.where(usable.all(axis=0), rise / 2, rise)
        alone = blocks.t_at_rise(np.where(usable, side * share, 0.0))
        slopes = side * blocks.slope(alone)
        sizes = np.where(usable, np.abs(slopes), np.inf)
        nearest, slope = sizes == sizes.min(axis=0), np.where(sizes[0] <= sizes[1], slopes[0], slopes[1])
        other = blocks.moved(np.zeros_like(alone), np.where(nearest, 0.0, side * slope))
        t, gaps = np.where(nearest, alone, other), np.zeros_like(alone)
        for _ in range(_MAX_STEPS):
            logs, missing = self._log_gains(t), rise - self.rise(t)
            total = np.logaddexp(*logs)  # the gains themselves may overflow
            step = missing * np.exp(-total) - (np.exp(logs - total) * gaps).sum(axis=0)
            after = blocks.newton_update(t, side * (step + gaps))
            t, gaps, slope = after, gaps + step - side * blocks.slope(after, t), slope + step
            open_ = (np.abs(missing) > _NEWTON_TOL * np.abs(rise)) | (
                np.abs(step) > _NEWTON_TOL * np.abs(slope)
            )
            if not open_.any():
                break
        return t, slope

    # The interface of a potential.

    @quiet
    def _at(self, w: Array) -> tuple[Float, Float]:
        w = np.asarray(w, dtype=float)
        return self.at_rise((w - self.origin()) * np.exp(-self.log_scale))

    @quiet
    def gradient(self, w: Array) -> Array:
        """∇Q(w)."""
        return np.exp(self.log_weight) * self._at(w)[1]

    @quiet
    def mirror(self, z: Array) -> Array:
        """(∇Q)⁻¹(z)."""
        z = np.asarray(z, dtype=float)
        place = self.moved(np.zeros((2, *z.shape)), z * np.exp(-self.log_weight))
        return self.origin() + np.exp(self.log_scale) * self.rise(place)

    @quiet
    def hessian(self, w: Array) -> Array:
        """Diagonal of ∇²Q(w)."""
        return np.exp(-self.log_inverse_hessian(w))

    @quiet
    def log_inverse_hessian(self, w: Array) -> Array:
        """Logarithm of the diagonal of (∇²Q(w))⁻¹, which itself may overflow."""
        return self.log_scale - self.log_weight + self._log_gain(self._at(w)[0])

    @quiet
    def value(self, w: Array) -> Array:
        """Q(w), normalized to Q(w(0)) = 0."""
        place, _ = self._at(w)
        return np.sum(np.exp(2 * self.log_unit) * _block_potential(self.blocks, place).sum(axis=0))

    def subdifferential(self, w: Array) -> tuple[Array, Array]:
        """Bounds on ∇Q(w), given that numbers below the smallest normal float are not exact."""
        w = np.asarray(w, dtype=float)
        gradient, underflow = self.gradient(w), np.abs(w) < LEAST_NORMAL
        if not underflow.any():
            return gradient, gradient
        lower, upper = (self.gradient(np.where(underflow, end, w)) for end in (-LEAST_NORMAL, LEAST_NORMAL))
        return np.where(underflow, lower, gradient), np.where(underflow, upper, gradient)

    @quiet
    def terms(self, w: Array) -> float:
        """‖∇²Q(w)·w(0)‖∞: the change of the gradient per relative round-off of w(0)."""
        sizes = np.abs(self.hessian(w) * self.origin())
        return float(np.max(sizes, initial=0.0, where=np.isfinite(sizes)))


def reaches(block: Block, rise: Float) -> Any:
    """Whether β can exceed its initial value by `rise`."""
    return ~block.one_sided | (rise + block.product(block.v0) > 0)


def _block_potential(block: Block, t: Float) -> Float:
    """∫ (F − F₀) dβ = (F − F₀)β − ½Δx², from initialization to t."""
    near = np.abs(t) * (len(block.mu) + 1) <= _NEARLY
    small = np.where(near, t, 0.0)

    def integrand(t: Float) -> Float:
        return block.slope(t) * block.rise_rate(t)

    close = integral(integrand, np.zeros_like(small), small) if near.any() else 0.0
    far = block.slope(t) * block.product(block.v0 + t) - block.square(t) / 2
    return block.alive * np.where(near, close, far)
