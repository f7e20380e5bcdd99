"""Diagonal networks with any number of layers that need not be equal, and their flow in mirror space."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tacit.data.arrays import Float, as_floats
from tacit.data.printable import shown
from tacit.errors import InputError, NoPotentialError
from tacit.models.model import MirrorForm, Model
from tacit.models.parametrizations import SIDES, LayerProducts, Weights
from tacit.models.weight_pair import WeightPair
from tacit.potentials.arrays import quiet
from tacit.potentials.layered import Layered


class CoordinatewiseModel(Model):
    """Base class of models in which every coordinate has its own weights.

    A single weight of each kind, (1,), stands for d equal ones.
    """

    @property
    def _initial(self) -> Weights:
        """The initial weights, (d,) or (1,)."""
        raise TypeError(f"{type(self).__name__} must implement _initial")

    def _check_features(self, d: int | None) -> None:
        size = len(next(iter(self._initial.values())))
        if d is not None and size not in (1, d):
            raise InputError(f"the model has {size} coordinates but the data has {d} features")

    def start(self, d: int | None = None) -> Weights:
        """The initial weights (one of each kind if the dimension is unknown)."""
        self._check_features(d)
        return {
            name: np.broadcast_to(each, each.shape if d is None else (d,)).copy()
            for name, each in self._initial.items()
        }


@dataclass(frozen=True, eq=False)
class LayeredDiagonal(CoordinatewiseModel):
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

    @property
    def _initial(self) -> Weights:
        names = [name for side in SIDES for name in self.parametrization.names(side)]
        return dict(zip(names, [*self.plus, *self.minus], strict=True))

    @property
    def _equal(self) -> bool:
        """Whether the layers of each product are equal and positive, and hence stay equal."""
        return all(
            (layers == layers[0]).all() and (layers[0] > 0).all() for layers in (self.plus, self.minus)
        )

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

    def weight_pair(self, d: int) -> WeightPair:
        """The layers themselves, if they are equal and positive."""
        self._check_features(d)
        if not self._equal:
            raise NoPotentialError(
                "with three or more layers, the effect of gradient descent steps is known only for "
                "products whose layers are equal and positive; these are not"
            )
        plus, minus = (np.broadcast_to(layers[0], (d,)) for layers in (self.plus, self.minus))

        def lift(plus: Float, minus: Float) -> Weights:
            sides = zip(SIDES, (plus, minus), strict=True)
            return {name: w for side, w in sides for name in self.parametrization.names(side)}

        def model(plus: Float, minus: Float) -> LayeredDiagonal:
            return LayeredDiagonal(np.array([plus] * self.depth), np.array([minus] * self.depth))

        return WeightPair(plus, minus, self.depth, 1, lift, model)

    @quiet
    def moved_to(self, w: Float) -> LayeredDiagonal:
        """All layers where the flow has the predictor w."""
        if self._equal:
            plus, minus = self.weight_pair(len(w)).at(w)
            return LayeredDiagonal(np.array([plus] * self.depth), np.array([minus] * self.depth))
        potential = self.potential(len(w))
        place = potential.at_rise((w - potential.origin()) * np.exp(-potential.log_scale))[0]
        layers = list(self._lift(potential, place).values())
        return LayeredDiagonal(np.array(layers[: self.depth]), np.array(layers[self.depth :]))

    @quiet
    def _lift(self, potential: Layered, place: Float) -> Weights:
        """The weights at a place: ±√(x² + aⱼ(0)² − x(0)²), and ±x for the layer of smallest size."""
        weights, unit = {}, np.exp(potential.log_unit)
        for k, (side, layers) in enumerate(zip(SIDES, (self.plus, self.minus), strict=True)):
            block = potential.blocks[..., k, :]
            x = block.x(block.v0 + place[k])
            sizes = np.abs(layers) / unit
            least = sizes.argmin(axis=0)
            named = zip(self.parametrization.names(side), sizes, layers, strict=True)
            for j, (name, size, layer) in enumerate(named):
                others = (size - block.least) * (size + block.least)
                grown = np.where(least == j, x, np.sqrt(x**2 + np.maximum(others, 0.0)))
                moved = np.where(block.alive > 0, grown, size)
                weights[name] = np.where(layer < 0, -1.0, 1.0) * unit * moved
        return weights


def same_length(**layers: Any) -> Float:
    """Named layers as an array, (L, d), or (L, 1) if all are numbers."""
    given = {name: np.atleast_1d(as_floats(layer, name, ndim=(0, 1))) for name, layer in layers.items()}
    several = {name: layer.shape for name, layer in given.items() if len(layer) != 1}
    if len(set(several.values())) > 1:
        shapes = ", ".join(f"{name} {shape}" for name, shape in several.items())
        raise InputError(f"layers must be numbers or have the same length, got {shapes}")
    return np.array(np.broadcast_arrays(*given.values()))


def layered(plus: Any, minus: Any) -> tuple[Float, Float]:
    """Both lists of layers as arrays, (L, d), or (L, 1) if all layers are numbers."""
    named: dict[str, Any] = {}
    for name, layers in (("plus", plus), ("minus", minus)):
        if isinstance(layers, dict | str) or not hasattr(layers, "__len__"):
            what = type(layers).__name__
            raise InputError(f"{name} must be a list of layers, each a number or of shape (d,), got {what}")
        named |= {f"{name}[{j}]": layer for j, layer in enumerate(layers)}
    if len(plus) != len(minus) or len(plus) < 2:
        counts = f"{len(plus)} and {len(minus)}"
        raise InputError(f"plus and minus must have the same number of layers, at least 2, got {counts}")
    first, second = np.split(same_length(**named), 2)
    return first, second


def span(sizes: Float) -> str:
    """The range of these numbers as text, or their value if all are equal up to round-off."""
    low, high = sizes.min(), sizes.max()
    return f"{low:.3g}" if high <= low * (1 + 1e-12) else f"{low:.3g} to {high:.3g}"


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
        """The distances by which the slope of each block can decrease and increase."""
        return self.potential.rows.distance_to_ends(self.place)

    @cached_property
    def room(self) -> tuple[Float, Float]:
        """The distances by which slopes can decrease and increase."""
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
