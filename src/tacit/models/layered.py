"""Diagonal networks with any number of layers that need not be equal, and their flow in mirror space."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from tacit.data.arrays import Float, as_floats
from tacit.data.printable import shown
from tacit.errors import InputError, NoPotentialError
from tacit.models.model import MirrorForm, Model
from tacit.models.parametrizations import Blocks, Elementwise, Invariants, Weights
from tacit.potentials.arrays import quiet
from tacit.potentials.layered import Layered

_DIGITS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_SIDES = ("₊", "₋")


def layer_name(layer: int, side: str) -> str:
    """The name of the weights of a layer, such as a₁₊."""
    return f"a{str(layer).translate(_DIGITS)}{side}"


@dataclass(frozen=True)
class LayerProducts(Elementwise):
    """w = ∏ aⱼ₊ − ∏ aⱼ₋, two products of `depth` layers."""

    depth: int

    def _layers(self, weights: Weights, side: str) -> list[Any]:
        return [weights[layer_name(j + 1, side)] for j in range(self.depth)]

    def predictor(self, weights: Weights) -> Any:
        """∏ aⱼ₊ − ∏ aⱼ₋."""
        plus, minus = (_product(self._layers(weights, side)) for side in _SIDES)
        return plus - minus

    def slopes(self, weights: Weights) -> dict[str, Float]:
        """±∏ aₖ over the other layers k ≠ j."""
        found = {}
        for sign, side in zip((1, -1), _SIDES, strict=True):
            layers = self._layers(weights, side)
            for j in range(self.depth):
                found[layer_name(j + 1, side)] = sign * _product(layers[:j] + layers[j + 1 :])
        return found

    def bends(self, weights: Weights) -> Blocks:
        """±∏ aₖ over the layers k ≠ i, j."""
        found = {}
        for sign, side in zip((1, -1), _SIDES, strict=True):
            layers = self._layers(weights, side)
            for i, j in combinations(range(self.depth), 2):
                others = layers[:i] + layers[i + 1 : j] + layers[j + 1 :]
                found[layer_name(i + 1, side), layer_name(j + 1, side)] = sign * _product(others)
        return found

    def invariants(self, weights: Weights) -> Invariants:
        """Differences of the squares of consecutive layers."""
        found = {}
        for side in _SIDES:
            layers = self._layers(weights, side)
            for j, (a, b) in enumerate(pairwise(layers), start=1):
                name = f"{layer_name(j + 1, side)}² − {layer_name(j, side)}²"
                found[name] = ((b - a) * (b + a), a**2 + b**2)
        return found


@dataclass(frozen=True, eq=False)
class LayeredDiagonal(Model):
    r"""w = ∏ plusⱼ − ∏ minusⱼ for every coordinate; made by `UntiedDiagonal.from_layers`.

    plus, minus: the initial layers, (L, d) with L ≥ 3, or (L, 1) if all coordinates have the same weights.
    """

    plus: Float
    minus: Float

    def __repr__(self) -> str:
        depth, coordinates = self.plus.shape
        if coordinates > 1:
            return f"UntiedDiagonal.from_layers(<{depth} layers of {coordinates} coordinates>)"
        plus, minus = (", ".join(shown(float(a)) for a in each[:, 0]) for each in (self.plus, self.minus))
        return f"UntiedDiagonal.from_layers([{plus}]{'' if plus == minus else f', [{minus}]'})"

    def describe(self) -> str:
        """The model and the scale of its predictor, in one line."""
        with np.errstate(under="ignore"):
            sizes = np.abs(np.array([self.plus, self.minus])).prod(axis=1)
        return f"{self!r}: products of {len(self.plus)} layers of size {span(sizes)}"

    @property
    def depth(self) -> int:
        """L."""
        return len(self.plus)

    @property
    def parametrization(self) -> LayerProducts:
        """∏ aⱼ₊ − ∏ aⱼ₋."""
        return LayerProducts(self.depth)

    def _check_features(self, d: int | None) -> None:
        if d is not None and self.plus.shape[1] not in (1, d):
            raise InputError(f"the model has {self.plus.shape[1]} coordinates but the data has {d} features")

    def start(self, d: int | None = None) -> Weights:
        """All layers (one weight each if the dimension is unknown)."""
        self._check_features(d)
        size = self.plus.shape[1] if d is None else d
        return {
            layer_name(j + 1, side): np.broadcast_to(layer, (size,)).copy()
            for side, layers in zip(_SIDES, (self.plus, self.minus), strict=True)
            for j, layer in enumerate(layers)
        }

    @quiet
    def potential(self, d: int | None = None) -> Layered:
        """Q with ∇Q = F(z) − F(x₀) at β(z), for both products at once."""
        self._check_features(d)
        potential = Layered(self.plus, self.minus)
        for ends, side in zip(potential.slope_range, ("negative", "positive"), strict=True):
            if (stuck := np.flatnonzero(np.isinf(ends))).size:
                raise NoPotentialError(
                    f"coordinate {stuck[0]} can never become {side} from these layers: two of them have the "
                    "smallest size and never cross zero, so no potential on the whole real line describes "
                    "it; change one of them slightly at this coordinate"
                )
        return potential

    def mirror_form(self, d: int) -> LayeredForm:
        """d(∇Q)/dt = Xᵀ(−∂L/∂f)."""
        potential = self.potential(d)

        def lift(place: Float) -> Weights:
            return self._lift(potential, place)

        return LayeredForm.of(potential, d, lift)

    @quiet
    def _lift(self, potential: Layered, place: Float) -> Weights:
        """The weights at a place: ±√(x² + aⱼ(0)² − x(0)²), and ±x for the layer of smallest size."""
        weights, unit = {}, np.exp(potential.log_unit)
        sides = zip(_SIDES, (self.plus, self.minus), potential.blocks, place, strict=True)
        for side, layers, block, t in sides:
            x = block.x(block.v0 + t)
            sizes = np.abs(layers) / unit
            least = sizes.argmin(axis=0)
            for j, (size, layer) in enumerate(zip(sizes, layers, strict=True)):
                others = (size - block.least) * (size + block.least)
                grown = np.where(least == j, x, np.sqrt(x**2 + np.maximum(others, 0.0)))
                moved = np.where(block.alive > 0, grown, size)
                weights[layer_name(j + 1, side)] = np.where(layer < 0, -1.0, 1.0) * unit * moved
        return weights


def layered(plus: Any, minus: Any) -> tuple[Float, Float]:
    """Both lists of layers as arrays, (L, d), or (L, 1) if all layers are numbers."""
    given = {"plus": _listed(plus, "plus"), "minus": _listed(minus, "minus")}
    lengths = {name: len(layers) for name, layers in given.items()}
    if lengths["plus"] != lengths["minus"] or lengths["plus"] < 2:
        raise InputError(
            f"plus and minus must have the same number of layers, at least 2, got {lengths['plus']} and "
            f"{lengths['minus']}"
        )
    sizes = {len(layer) for layers in given.values() for layer in layers} - {1}
    if len(sizes) > 1:
        raise InputError(f"layers must be numbers or have the same length, got lengths {sorted(sizes)}")
    size = max(sizes, default=1)
    both = [np.array([np.broadcast_to(layer, (size,)) for layer in layers]) for layers in given.values()]
    return both[0], both[1]


def _listed(layers: Any, name: str) -> list[Float]:
    if isinstance(layers, dict | str) or not hasattr(layers, "__len__"):
        raise InputError(
            f"{name} must be a list of layers, each a number or of shape (d,), got {type(layers).__name__}"
        )
    return [np.atleast_1d(as_floats(a, f"{name}[{j}]", ndim=(0, 1))) for j, a in enumerate(layers)]


def span(sizes: Float) -> str:
    """The range of these numbers as text, or their value if all are equal up to round-off."""
    low, high = sizes.min(), sizes.max()
    return f"{low:.3g}" if high <= low * (1 + 1e-12) else f"{low:.3g} to {high:.3g}"


def _product(layers: list[Any]) -> Any:
    return reduce(operator.mul, layers)


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
        return self.potential.both.distance_to_ends(self.place)

    @cached_property
    def room(self) -> tuple[Float, Float]:
        """How far slopes can fall and rise."""
        (fall, rise), both = self._block_room, self.potential.both
        down, up = np.where(both.side > 0, fall, rise), np.where(both.side > 0, rise, fall)
        down, up = (np.where(both.alive > 0, each, np.inf).min(axis=0) for each in (down, up))
        return self._shaped(down), self._shaped(up)

    def moved(self, change: Float, floor: float = 0.0) -> LayeredMap:
        """The map at changed slopes; `change` may have additional leading axes.

        Outside the domain the predictor is NaN. With a floor, the change is clipped so that the distance to
        the ends does not fall below this fraction of its current value.
        """
        if floor:
            fall, rise = self.room
            change = np.clip(change, -(1 - floor) * fall, (1 - floor) * rise)
        flat, both = change.reshape(-1, change.shape[-1]), self.potential.both
        return LayeredMap(
            self.potential, both.moved(self.place, both.side * flat, self._block_room), change.shape[:-1]
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
        both = self.potential.both
        rise = (both.side * both.rise(self.place)).sum(axis=0)
        return self._shaped(self.potential.origin() + np.exp(self.potential.log_scale) * rise)

    @cached_property
    def stiffness(self) -> Float:
        """dw/ds."""
        gain = self.potential.both.gain(self.place).sum(axis=0)
        return self._shaped(np.exp(self.potential.log_scale) * gain)

    @cached_property
    def rapidity_rate(self) -> Float:
        """dt/ds of the faster of the two blocks."""
        both = self.potential.both
        return self._shaped((1 / both.rate(both.v0 + self.place)).max(axis=0))

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
        return self.log_scale + np.log(self.potential.gain((u[0], u[1])))

    @classmethod
    def of(cls, potential: Layered, d: int, lift: Any) -> LayeredForm:
        """The form of a potential for d features."""
        log_scale, log_weight = (
            np.broadcast_to(each, (d,)) for each in (potential.log_scale, potential.log_weight)
        )
        power = potential.depth / (potential.depth - 2)
        return cls(power, log_scale, np.exp(log_weight), np.zeros((2, d)), 0.0, lift, potential)
