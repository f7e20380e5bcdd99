r"""Explicit regularization, equations 8 and 9 of Woodworth et al. 2020: the smallest movement of the weights.

    β^R = argmin R(β) s.t. Xβ = y,    R(β) = min ‖w − α1‖² s.t. w₊² − w₋² = β,    R(β) = α²Σr(βᵢ/α²)

At the minimum w± = α/(1∓λ) with β = α²((1−λ)^{−2} − (1+λ)^{−2}). One might expect gradient flow to find β^R,
but it does not, although both have the same limits: the minimum ℓ2 norm as α → ∞ and the minimum ℓ1 norm as
α → 0. β^R approaches the latter quickly: with w₊² = |β| + w₋², and √(|β| + w₋²) between √|β| and √|β| + w₋,

    |β| − 2α√|β| ≤ R(β) ≤ |β|,    hence    ‖β^R‖₁/‖β_ℓ1‖₁ ≤ (a + √(1 + a²))²,    a = α√(d/‖β_ℓ1‖₁)

at every scale, by R(β^R) ≤ R(β_ℓ1) and Σ√|βᵢ| ≤ √(d‖β‖₁). The excess is of order α, while that of the flow
is of order 1/log(1/α).

Errata
------
### Equations 8 and 9, explicit regularization: which root is r
- **Printed.** r(z) is the unique real root of p_z(u) = u⁴ − 6u³ + (12 − 2z²)u² − (8 + 10z²)u + z² + z⁴.
- **Holds.** p_z has two real roots, and r(z) is the smaller.
- **Why.** The real roots are the squared distances from (1, 1) to the stationary points on the hyperbola
  w₊² − w₋² = z. Each branch has one, and the minimum is on the near branch.
- **Evidence.** z = 1: roots 0.1184 and 4.6636, distance 0.1184. z = 8: 3.7372 and 15.2316, distance 3.7372.
- **Test.** `test_quartic_has_two_real_roots_and_r_is_the_smallest`

### The same sentence: the scale of R
- **Printed.** R_α(β) = Σ r(βᵢ/α²).
- **Holds.** R_α(β) = α² Σ r(βᵢ/α²).
- **Why.** A squared distance between weights of size α has the dimension α²: put w = αv in equation (9).
- **Evidence.** α = ½, β = 2: minimizing the distance gives 0.9343; r(β/α²) = 3.7372.
- **Test.** `test_explicit_regularizer_carries_the_scale`

Remarks
-------
### The explicit regularizer of depth 2 is the implicit one of depth 4
r = q₄ exactly, although the paper introduces r as a root of a quartic and states only that it differs from Q.
In the distance problem (9), w± = √m/(1 ∓ λ) with 4λ = z(1−λ²)², so r′ = λ; and h₄(λ) = (1−λ)⁻² − (1+λ)⁻² =
4λ/(1−λ²)², so λ = h₄⁻¹(z) = q₄′(z). This gives the closed form r = 2λ²(1+λ²)/(1−λ²)². The remark in the paper
that R approaches ‖β‖₁ polynomially, while Q does so exponentially slowly, is the difference between depth 4
and depth 2. `tacit.potentials.WeightDistance`. Tests:
`test_smallest_root_of_the_quartic_is_the_depth_four_potential` in
[`tests/support/test_oracles.py`](../tests/support/test_oracles.py) (25 digits, z from 1e-300 to 1e200) and
`test_weight_distance_is_the_smallest_root_of_the_quartic` in
[`tests/potentials/test_potentials.py`](../tests/potentials/test_potentials.py)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tacit
from tacit.data.arrays import Float, check_problem
from tacit.papers import Assumption, Bound, Parts, theorem
from tacit.papers.agreement import limit_of
from tacit.papers.arguments import arrived, log_alpha
from tacit.papers.moroshko2020.separation import plain_diagonal

_EXACT = 1e-9  # relative difference of norms and distances computed in two ways
_ITERATIONS = 40  # of a fixed-point iteration that gains a factor of at least 3 each: 3⁻⁴⁰ is below round-off
_SMALL = (1e-1, 1e-2, 1e-3)  # scales α in units of √(‖β_ℓ1‖₁/d)
_LARGE = (1e1, 1e2)  # scales α² in units of the largest entry of β_ℓ2
_MAX_LOG = math.log(1e140)  # bounds |log α|, so that α² and 1/α² are within the floating-point range


def least_move(beta: Float, alpha: float) -> float:
    """The smallest ‖w − α1‖² of weights with predictor β, from the equation for λ of each coordinate.

    It solves for λ if |β| < α² and for 1 − λ otherwise, so that the smaller of the two keeps its digits.
    Either is the fixed point of a map that reduces errors by a factor of at least 3.
    """
    sizes = np.abs(beta) / alpha**2
    below, above = np.minimum(sizes, 1.0), np.maximum(sizes, 1.0)
    root, rest = below / 4, 1 / np.sqrt(above)
    for _ in range(_ITERATIONS):
        root = below / 4 * (1 - root**2) ** 2
        rest = 1 / np.sqrt(above + (2 - rest) ** -2.0)
    root, rest = np.where(sizes < 1, root, 1 - rest), np.where(sizes < 1, 1 - root, rest)
    return alpha**2 * float(np.sum((root / rest) ** 2 + (root / (1 + root)) ** 2))


@theorem("woodworth2020/explicit", flows=0, about=("Explicit regularization",))
def explicit(model: Any, X: Any, y: Any) -> Parts:
    """The smallest movement of the weights to a fit, ‖w − α1‖² = α²Σr(βᵢ/α²) at β^R, has ‖β^R‖₁/‖β_ℓ1‖₁ ≤
    (a + √(1+a²))², a = α√(d/‖β_ℓ1‖₁), and β^R tends to β_ℓ2 as α → ∞; the flow moves the weights farther.

    Printed: r is the unique real root of a quartic, and R = Σr(β/α²); but there are two roots, r is the
    smaller one, and R has the factor α².

    (8) and (9) for w₀ = 1, at the scale of the model and at small and large scales.
    """
    yield plain_diagonal(model, deep=False)
    X, y = check_problem(X, y)
    rich = (yield from limit_of(tacit.potentials.L1(), X, y)).predictor
    kernel = tacit.limit(tacit.potentials.Quadratic(), X, y).predictor
    yield Assumption("the targets are not zero", bool(np.any(rich)))
    representable = abs(log_alpha(model)) <= _MAX_LOG
    yield Assumption("the squares of the initial weights neither overflow nor underflow", representable)
    if not (np.any(rich) and representable):
        return
    yield from _movements(model, X, y)
    unit = math.sqrt(float(np.abs(rich).sum()) / X.shape[1])
    alphas = [math.exp(log_alpha(model)), *(each * unit for each in _SMALL)]
    largest = max(_excess(alpha, rich, X, y) for alpha in alphas)
    yield Bound("‖β^R‖₁/‖β_ℓ1‖₁ over its bound, the largest over scales", largest, at_most=1 + _EXACT)
    size = float(np.linalg.norm(kernel))
    scales = [math.sqrt(each * float(np.abs(kernel).max())) for each in _LARGE]
    gaps = [float(np.linalg.norm(_explicit(alpha, X, y) - kernel)) / size for alpha in scales]
    text = "distance of β^R to β_ℓ2 at the larger of two large scales, over that at the smaller"
    yield Bound(text, gaps[1] / max(gaps[0], _EXACT), at_most=_LARGE[0] / _LARGE[1])


def _movements(model: tacit.Diagonal, X: Float, y: Float) -> Parts:
    """The movement of the weights to β^R, by R and by the weights, and their movement along the flow."""
    alpha = math.exp(log_alpha(model))
    R = tacit.potentials.WeightDistance(2 * log_alpha(model))
    explicit, found = _explicit(alpha, X, y), tacit.limit(model, X, y).predictor
    least = least_move(explicit, alpha)
    error = abs(float(R.value(explicit)) / least - 1)
    yield Bound("(9) |R(β^R) − ‖w − α1‖²|, relative, w from λ of each coordinate", error, at_most=_EXACT)
    moved = least_move(found, alpha)
    yield Bound("(8) R(β^R)/R(β(∞))", least / moved, at_most=1 + _EXACT)
    half = np.arcsinh(found / (2 * alpha**2)) / 2  # w± = α·exp(±half): (17)
    flow = float(np.sum((alpha * np.expm1(half)) ** 2 + (alpha * np.expm1(-half)) ** 2))
    yield Bound("R(β(∞)) over ‖w − α1‖² of the flow's weights", moved / flow, at_most=1 + _EXACT)
    distance = float(np.linalg.norm(explicit - found) / np.linalg.norm(found))
    yield Bound("distance of β^R to β(∞), relative (the paper states no bound)", distance)


def _excess(alpha: float, rich: Float, X: Float, y: Float) -> float:
    """‖β^R‖₁/‖β_ℓ1‖₁ over its bound."""
    norm = float(np.abs(rich).sum())
    a = alpha * math.sqrt(X.shape[1] / norm)
    return float(np.abs(_explicit(alpha, X, y)).sum()) / norm / (a + math.hypot(1, a)) ** 2


def _explicit(alpha: float, X: Float, y: Float) -> Float:
    """β^R at the scale α."""
    found = tacit.limit(tacit.potentials.WeightDistance(2 * math.log(alpha)), X, y)
    return np.asarray(arrived(found, f"β^R at α = {alpha:.4g} did not converge").predictor)
