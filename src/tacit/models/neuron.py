"""A single neuron with two layers, linear or with leaky ReLU activation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.data.arrays import Float, as_floats, as_number
from tacit.data.printable import shown
from tacit.errors import InputError
from tacit.models.model import Model, fixed_start
from tacit.models.parametrizations import Perceptron, Weights
from tacit.potentials import Bregman, NeuronPotential


@dataclass(frozen=True, eq=False)
class Neuron(Model):
    """A neuron f(x) = a·σ(w·x) with σ(t) = max(t, slope·t) (Azulay et al. 2021, Section 6; leaky ReLU: 8).

    The predictor is w̃ = a·w. Gradient flow conserves δ = a² − ‖w‖² (Section 6), for every slope. `from_scale`
    takes the scale and shape of Section 7.2 instead of weights.

    Parameters
    ----------
    output : float
        a. The two layers must not both be zero.
    weights : (d,) array-like
        w.
    slope : float, optional
        The slope of σ for negative inputs, 0 < slope ≤ 1; 1 gives a linear neuron.

    Raises
    ------
    InputError
        If an argument is invalid.

    Examples
    --------
    >>> import tacit
    >>> neuron = tacit.Neuron.from_scale(scale=2.0, shape=0.6, direction=[3, 4])
    >>> round(neuron.output, 6), neuron.weights.round(6).tolist(), round(neuron.delta, 6)
    (2.828427, [0.424264, 0.565685], 7.5)
    >>> tacit.limit(neuron, [[1, 2]], [2]).converged
    True
    """

    output: Any
    weights: Any
    slope: float = 1.0

    def __post_init__(self) -> None:
        output, slope = as_number(self.output, "output"), as_number(self.slope, "slope")
        weights = as_floats(self.weights, "weights", ndim=(1,))
        if len(weights) == 0:
            raise InputError("weights must have one entry per feature, got none")
        if output == 0 and not weights.any():
            raise InputError("output and weights are all 0, and such weights never move; change one of them")
        if not 0 < slope <= 1:
            raise InputError(
                f"slope must be above 0 and at most 1, got {self.slope}; 1 gives a linear neuron, and "
                "the theorems do not cover slope 0 (ReLU)"
            )
        self._store(output=output, weights=weights.copy(), slope=slope)

    @classmethod
    def from_scale(
        cls, scale: float, shape: float, direction: ArrayLike, sign: int = 1, slope: float = 1.0
    ) -> Neuron:
        """A neuron with a = sign·√(scale·(1+s)/(1−s)) and w = √(scale·(1−s)/(1+s))·direction/‖direction‖.

        scale = |a|·‖w‖ is the *product* of the layers, and the shape s = (|a|/‖w‖ − 1)/(|a|/‖w‖ + 1) compares
        their sizes (Azulay et al. 2021, Section 7.2), so that δ = 4·scale·s/(1−s²) (Lemma 1).

        Parameters
        ----------
        scale : float
            The positive product of the layers.
        shape : float
            s, between −1 and 1.
        direction : (d,) array-like
            The direction of w, not zero.
        sign : int, optional
            The sign of a, 1 or −1.
        slope : float, optional
            The slope of σ for negative inputs, 0 < slope ≤ 1; 1 gives a linear neuron.

        Returns
        -------
        Neuron
            The neuron with these layers.
        """
        product, s = as_number(scale, "scale"), as_number(shape, "shape")
        along = as_floats(direction, "direction", ndim=(1,))
        if product <= 0:
            raise InputError(f"scale must be positive, got {scale}")
        if not -1 < s < 1:
            raise InputError(
                f"shape must lie strictly between -1 and 1, got {shape}; "
                "at ±1 one layer is zero and the other infinite"
            )
        if not along.any():
            raise InputError("direction must not be zero; it can have any other length")
        if as_number(sign, "sign") not in (1.0, -1.0):
            raise InputError(f"sign must be 1 or -1, got {sign}")
        unit = along / np.abs(along).max()  # because squares of tiny or huge numbers leave the float range
        unit /= np.linalg.norm(unit)
        root, ratio = math.sqrt(product), math.sqrt((1 + s) / (1 - s))
        return cls(float(sign) * root * ratio, root / ratio * unit, slope)

    def __repr__(self) -> str:
        slope = "" if self.slope == 1 else f", slope={shown(self.slope)}"
        return f"Neuron(output={shown(self.output)}, weights=<{len(self.weights)} numbers>{slope})"

    def describe(self) -> str:
        """The model, its scale and shape, in one line."""
        return (
            f"{self!r}: scale |a|·‖w‖ = {shown(self.scale, 3)}, shape {shown(self.shape, 3)}, "
            f"δ = a² − ‖w‖² = {self.delta:.3g}"
        )

    @property
    def scale(self) -> float:
        """α = |a|·‖w‖, the norm of the predictor at initialization (Azulay et al. 2021, Section 7.2)."""
        return self._sizes[0] * self._sizes[1]

    @property
    def shape(self) -> float:
        """s = (|a| − ‖w‖)/(|a| + ‖w‖): 0 if the layers are balanced (Azulay et al. 2021, Lemma 1)."""
        a, w = self._sizes
        return (a - w) / (a + w)

    @property
    def delta(self) -> float:
        """δ = a² − ‖w‖², conserved by the flow (Azulay et al. 2021, Section 6), without cancellation."""
        a, w = self._sizes
        return (a - w) * (a + w)

    @property
    def _sizes(self) -> tuple[float, float]:
        """|a| and ‖w‖."""
        return abs(self.output), math.hypot(*self.weights)

    def two_layers(self) -> tuple[Float, Float]:
        """w as a column, and a as a matrix."""
        return self.weights[:, None], np.array([[self.output]])

    def shifted(self, shift: float, d: int | None = None) -> Neuron:
        """The neuron with both layers multiplied by e^{shift/2}."""
        factor = math.exp(shift / 2)
        return Neuron(factor * self.output, factor * self.weights, self.slope)

    def as_neuron(self) -> Neuron:
        """The neuron itself."""
        return self

    @property
    def parametrization(self) -> Perceptron:
        """a·σ(w·x)."""
        return Perceptron(self.slope)

    def start(self, d: int | None = None) -> Weights:
        """a and w at initialization."""
        return fixed_start({"a": self.output, "w": self.weights}, len(self.weights), d)

    def potential(self, d: int | None = None) -> Bregman:
        """The Bregman divergence of q of Theorems 2 and 4 from w̃(0), if a keeps its sign.

        a keeps its sign if δ > 0, or if the initial loss is below that of the predictor 0; `tacit.limit`
        decides other cases. If a changes its sign, the flow ends at the minimizer of the divergence from
        −w̃(0).
        """
        self.start(d)
        return Bregman(NeuronPotential(self.delta), self.predictor())
