"""Diagonal networks with any number of layers that need not be equal."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import reduce
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from tacit.data.arrays import Float, as_floats
from tacit.data.printable import shown
from tacit.errors import InputError, NoPotentialError
from tacit.models.layered_form import LayeredForm
from tacit.models.model import Model
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
        for k, (side, layers) in enumerate(zip(_SIDES, (self.plus, self.minus), strict=True)):
            block = potential.blocks[..., k, :]
            x = block.x(block.v0 + place[k])
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
