r"""Pairs of weights that stand for all weights of a diagonal network.

    w = w₊^D − w₋^D,    w±' = ∓rate·g·w±^{D−1},    g = ∂L/∂w

Tied networks have this form with rate D. So do untied ones with rate 1: at two layers, (u₊+v₊)/2 and
(u₋−v₋)/2 are multiplied by the same factor in every step of gradient descent with any momentum and weight
decay, and the other two combinations by another, so that one number for each suffices; with more layers, if
those of a product are equal at the start, and hence at all times.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.errors import InputError, NoPotentialError
from tacit.models.mirror_form import MirrorForm
from tacit.models.parametrizations import Weights
from tacit.numerics.rounding import quiet
from tacit.potentials import DeepHypentropy
from tacit.potentials.rapidity import log_cosh, power_of_depth


@quiet
def weights_at(u: Float, depth: float, scale: Float) -> tuple[Float, Float]:
    """w± at rapidity u of the flow through w₊ = w₋ = scale: scale·e^{±u/2} at depth 2, or, if D is larger,

    scale·(1∓s)^{−1/(D−2)}.
    """
    # (1∓s)^{−1/(D−2)} = e^{±u/D}·cosh(u/p)^{1/(D−2)}: 1∓s itself would cancel, the more so as D approaches 2
    growth = log_cosh(np, np.abs(u) * (depth - 2) / depth) / (depth - 2) if depth > 2 else 0.0
    return scale * np.exp(growth + u / depth), scale * np.exp(growth - u / depth)


@dataclass(frozen=True, eq=False)
class WeightPair:
    """w₊ and w₋, each (d,), with depth D and rate.

    lift: the weights of the model for other w₊ and w₋. model: the network that starts there.
    """

    plus: Float
    minus: Float
    depth: float
    rate: float
    lift: Callable[[Float, Float], Weights]
    model: Callable[[Float, Float], Any]

    def __post_init__(self) -> None:
        for weights in (self.plus, self.minus):
            if not np.isfinite(weights).all():
                raise InputError("the initial weights overflow: choose a smaller scale")

    def predictor(self, plus: Float, minus: Float) -> Float:
        """w₊^D − w₋^D."""
        return np.asarray(plus**self.depth - minus**self.depth)

    @quiet
    def sensitivity(self, plus: Float, minus: Float) -> Float:
        """rate·D·(w₊^{2D−2} + w₋^{2D−2}), by which −g is multiplied in w'.

        The largest eigenvalue of X diag(·) Xᵀ/N is the sharpness where the data are fitted.
        """
        power = 2 * self.depth - 2
        return np.asarray(self.rate * self.depth * (np.abs(plus) ** power + np.abs(minus) ** power))

    @cached_property
    def scale(self) -> Float:
        """The a at which the flow, forwards or backwards in time, passes w₊ = w₋ = a."""
        D = self.depth
        if D == 2:
            return np.asarray(np.sqrt(np.abs(self.plus)) * np.sqrt(np.abs(self.minus)))
        mean = (self.plus ** (2 - D) + self.minus ** (2 - D)) / 2
        return np.where(self.plus == self.minus, self.plus, mean ** (1 / (2 - D)))

    @quiet
    def at(self, w: Float) -> tuple[Float, Float]:
        """w₊ and w₋ where a flow from this start has the predictor w.

        The flow keeps w₊w₋ (D = 2) or w₊^{2−D} + w₋^{2−D}, and hence `scale`.
        """
        D, scale = self.depth, self.scale
        if D > 2:
            return self.at_rapidity(DeepHypentropy(D, D * np.log(scale)).rapidity(w))
        larger = np.sqrt((np.hypot(w, 2 * scale**2) + np.abs(w)) / 2)
        smaller = scale * (scale / np.where(larger > 0, larger, 1.0))
        return np.where(w < 0, smaller, larger), np.where(w < 0, larger, smaller)

    def at_rapidity(self, u: Float) -> tuple[Float, Float]:
        """w₊ and w₋ at rapidity u, with a = `scale`."""
        return weights_at(u, self.depth, self.scale)

    @quiet
    def mirror_form(self) -> MirrorForm:
        """The flow in mirror space, also from w₊ ≠ w₋."""
        D, log_scale = self.depth, np.log(self.scale)
        middle = float(log_scale.mean())  # in units of which slopes neither overflow nor underflow
        start = D / 2 * (np.log(self.plus) - np.log(self.minus))
        log_speed = math.log(self.rate * (2 if D == 2 else D - 2)) + (D - 2) * middle

        def lift(u: Float) -> Weights:
            return self.lift(*self.at_rapidity(u))

        weight = np.exp((2 - D) * (log_scale - middle))
        return MirrorForm(power_of_depth(D), D * log_scale, weight, start, log_speed, lift)


def checked_positive(weights: Float, what: str) -> None:
    """Raise if a weight is 0 or not finite."""
    if not (np.isfinite(weights).all() and (np.abs(weights) > 0).all()):
        i = int(np.argmin(np.isfinite(weights) & (np.abs(weights) > 0)))
        raise NoPotentialError(
            f"{what} is {weights[i]:.3g} at coordinate {i}: no start describes a coordinate with a "
            "weight that is 0 or has overflowed"
        )
