r"""One step of an exponential Rosenbrock method for x' = G(x), in axes where its Jacobian is −Λ, diagonal.

With the linear part solved exactly, what is left to approximate is G(x) + Λx − G(0) along the step, as
θ²·A + θ³·B of the share θ of the step: values at θ = ½ and 1 give the two, and an order of four, the method
exprb43 of Hochbruck, Ostermann and Schweitzer (Exponential Rosenbrock-type methods, SIAM J. Numer. Anal. 47,
2009). Where G is linear, as for the tangent kernel, a step of any length is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tacit.data.arrays import Float

ORDER = 4
_TERMS = 14  # of the series of φ₄, for arguments up to 1
_BENT = 4.0  # times the way: what of it a remainder halfway makes that no step of this length survives
_SERIES = [1 / math.factorial(j + ORDER) for j in range(_TERMS)][::-1]


def phi(z: Float) -> tuple[Float, Float, Float]:
    """φ₁, φ₃ and φ₄ at −z for z ≥ 0: φ₀(−z) = e^{−z}, and φ_k = (1/(k−1)! − φ_{k−1})/z.

    Upwards where z > 1; below, where that would cancel, down from the series of φ₄.
    """
    near = z < 1
    small, inverse = np.where(near, z, 0.0), 1 / np.where(near, 1.0, z)
    four = np.full_like(z, _SERIES[0])
    for factor in _SERIES[1:]:
        four *= -small
        four += factor
    three = 1 / 6 - small * four
    one = 1 - small * (0.5 - small * three)
    far_one = (1 - np.exp(-z)) * inverse
    far_three = (0.5 - (1 - far_one) * inverse) * inverse
    far_four = (1 / 6 - far_three) * inverse
    return np.where(near, one, far_one), np.where(near, three, far_three), np.where(near, four, far_four)


def _decay(z: Float) -> Float:
    """φ₁ at −z."""
    return np.where(z > 0, -np.expm1(-z) / np.where(z > 0, z, 1.0), 1.0)


@dataclass(frozen=True, eq=False)
class Step:
    """A step of length h from x = 0 at the rate `first`, with Jacobian −Λ and remainder θ²·A + θ³·B.

    doubt: what B adds to the end, the difference to the step of order three.
    """

    h: float
    values: Float  # Λ
    first: Float
    bend: Float  # A
    twist: Float  # B
    end: Float
    doubt: Float

    @property
    def last(self) -> Float:
        """x' at the end."""
        return self.first - self.values * self.end + self.bend + self.twist

    def at(self, shares: Float) -> Float:
        """x at these shares of the step, one row for each."""
        part = shares[:, None]
        one, three, four = phi(part * self.h * self.values)
        smooth = one * self.first + 2 * part**2 * three * self.bend + 6 * part**3 * four * self.twist
        return np.asarray(self.h * part * smooth)

    def rate(self, shares: Float) -> Float:
        """x' there, by the equation that the step solves."""
        part = shares[:, None]
        bent = part**2 * self.bend + part**3 * self.twist
        return np.asarray(self.first - self.values * self.at(shares) + bent)


def step(rate: Callable[[Float], Float], first: Float, values: Float, h: float) -> Step | None:
    """The step of length h, by two more evaluations of the rate; None where it is much too long."""
    half = h / 2 * _decay(h / 2 * values) * first
    midway = rate(half) - first + values * half
    if not np.linalg.norm(midway / (1 + h * values)) < _BENT * np.linalg.norm(half / h):
        return None
    factors = phi(h * values)
    whole = h * factors[0] * (first + midway)
    ahead = rate(whole) - first + values * whole
    return _fitted(h, values, first, midway, ahead, factors)


def refined(step: Step, rate: Float) -> Step:
    """The same with the rate at its end, where that is known, in place of the rate near it."""
    ahead = rate - step.first + step.values * step.end
    midway = step.bend / 4 + step.twist / 8
    return _fitted(step.h, step.values, step.first, midway, ahead, phi(step.h * step.values))


def _fitted(
    h: float, values: Float, first: Float, midway: Float, ahead: Float, factors: tuple[Float, ...]
) -> Step:
    """The step whose remainder is this midway and this at the end."""
    one, three, four = factors
    bend, twist = 8 * midway - ahead, 2 * ahead - 8 * midway
    doubt = 6 * h * four * twist
    return Step(h, values, first, bend, twist, h * (one * first + 2 * three * bend) + doubt, doubt)
