r"""One step of an exponential Rosenbrock method for x' = G(x), in axes where its Jacobian −Λ is diagonal.

The linear part is solved exactly. The remainder G(x) + Λx − G(0) is approximated by θ²·A + θ³·B at the
fraction θ of the step; its values at θ = ½ and 1 determine A and B and give order four (method exprb43 of
Hochbruck, Ostermann and Schweitzer, Exponential Rosenbrock-type methods, SIAM J. Numer. Anal. 47, 2009). If G
is linear, as for the tangent kernel, steps of any length are exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tacit.data.arrays import Float

ORDER = 4
_TERMS = 14  # terms of the series of φ₄, enough for double precision at arguments up to 1
_NONLINEAR = 4.0  # remainder at θ = ½, relative to the displacement, above which a step is rejected at once
_SERIES = [1 / math.factorial(j + ORDER) for j in range(_TERMS)][::-1]


def phi(z: Float) -> tuple[Float, Float, Float]:
    """φ₁, φ₃ and φ₄ at −z for z ≥ 0: φ₀(−z) = e^{−z}, and φ_k = (1/(k−1)! − φ_{k−1})/z.

    Uses the recursion upwards for z > 1. For smaller z it would cancel, and is used downwards from a series
    of φ₄.
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
class ExponentialStep:
    """A step of length h from x = 0 at the rate `first`, with Jacobian −Λ and remainder θ²·A + θ³·B.

    error: contribution of B to the end, the difference to the embedded step of order three.
    """

    h: float
    values: Float  # Λ
    first: Float
    quadratic: Float  # A
    cubic: Float  # B
    end: Float
    error: Float

    @property
    def last(self) -> Float:
        """x' at the end."""
        return self.first - self.values * self.end + self.quadratic + self.cubic

    def at(self, fractions: Float) -> Float:
        """x at these fractions of the step, one row for each."""
        part = fractions[:, None]
        one, three, four = phi(part * self.h * self.values)
        smooth = one * self.first + 2 * part**2 * three * self.quadratic + 6 * part**3 * four * self.cubic
        return np.asarray(self.h * part * smooth)

    def rate(self, fractions: Float) -> Float:
        """x' at these fractions, from the equation that the step solves."""
        part = fractions[:, None]
        remainder = part**2 * self.quadratic + part**3 * self.cubic
        return np.asarray(self.first - self.values * self.at(fractions) + remainder)


def step(rate: Callable[[Float], Float], first: Float, values: Float, h: float) -> ExponentialStep | None:
    """The step of length h, with two more evaluations of the rate; None if it is much too long."""
    half = h / 2 * _decay(h / 2 * values) * first
    middle = rate(half) - first + values * half
    if not np.linalg.norm(middle / (1 + h * values)) < _NONLINEAR * np.linalg.norm(half / h):
        return None
    factors = phi(h * values)
    whole = h * factors[0] * (first + middle)
    last = rate(whole) - first + values * whole
    return _fitted(h, values, first, middle, last, factors)


def refined(step: ExponentialStep, rate: Float) -> ExponentialStep:
    """The step with the given rate at its end in place of the approximate one."""
    last = rate - step.first + step.values * step.end
    middle = step.quadratic / 4 + step.cubic / 8
    return _fitted(step.h, step.values, step.first, middle, last, phi(step.h * step.values))


def _fitted(
    h: float, values: Float, first: Float, middle: Float, last: Float, factors: tuple[Float, ...]
) -> ExponentialStep:
    """The step whose remainder has these values at θ = ½ and 1."""
    one, three, four = factors
    quadratic, cubic = 8 * middle - last, 2 * last - 8 * middle
    error = 6 * h * four * cubic
    return ExponentialStep(
        h, values, first, quadratic, cubic, h * (one * first + 2 * three * quadratic) + error, error
    )
