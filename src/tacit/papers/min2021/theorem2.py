r"""Lemma 1 and Theorem 2 of Min et al. 2021: wide networks with Gaussian weights.

Weights of standard deviation h^{−α}, ¼ < α ≤ ½, are almost orthogonal in a wide network. With probability
1 − δ

    √h − (√(m+D) + τ) ≤ σ(h^α[U; V]) ≤ √h + (√(m+D) + τ),     τ = √(2 log(2/δ)),        (equation 32)

for all m + D singular values (Davidson and Szarek 2001, Theorem 2.13). Everything else follows from this
event deterministically. It is therefore checked for the given weights and listed as an assumption.

Three constants differ from the printed ones. Lemma E.1 states the probability 1 − 2exp(−δ²); the cited
theorem has 1 − 2exp(−δ²/2).
Equation 32 and all that follows have ½log(2/δ) for τ, which neither form gives, and which is smaller unless
δ ≤ 2e⁻⁸, or 6.7e-4. The bound on ‖E(0)‖ has Σ_x^{−1/2} where E has Σ_x^{1/2}; so the width of Theorem 2
depends on (λ₁/λ_r)² and not on λ₁/λ_r³, which would change with the unit of X.

The power of the width with which the distance to the minimum-norm solution decreases, for every α of Theorem
2 of Min et al. 2021.

The figures of the paper have α = ½. Theorem 2 bounds the distance by a multiple of h^{½−2α}, ¼ < α ≤ ½, and
that is the observed power: ‖U₂V(∞)ᵀ‖ is about ‖U₂V(0)ᵀ‖, a product of almost orthogonal rows. For α < ½
this takes an imbalance, of the order of h^{1−2α}, that is not small beside ‖Θ̂‖.

Errata
------
### Lemma E.1 and its consequences: the tail
- **Printed.** Probability 1 − 2exp(−t²) (with δ for t), and ½log(2/δ) in (18), (19), (20) and (32).
- **Holds.** 1 − 2exp(−t²/2), and τ = √(2 log(2/δ)).
- **Evidence.** n = m = 1, t = 8: the probability that the bound is exceeded is 1.5e-23; the printed form
  gives 3.2e-28.
  `test_the_tail_of_lemma_1_is_not_the_printed_one`

### Theorem 2: E(0), and the width
- **Printed.** ‖E(0)‖ ≤ ‖Y‖ + λ_r^{−1/2}‖U₁Vᵀ‖, and a width with λ₁/λ_r³. **Holds.** ‖Y‖ + λ₁^{1/2}‖U₁Vᵀ‖,
  and h₀ = max{16, 4m(λ₁/λ_r)²}·(√(m+D) + τ)². The printed width changes with the unit of X.
- **How loose.** At width 10,000 and D = 400, n = 100 the bound (20) is 1401 times the distance on the
  data of Figure 1, 116 times for equal singular values.
- **A sharper one.** At the end (VVᵀ)² + VΛVᵀ = Θ̂ᵀΘ̂, so that for every μ > 0

  > ‖Θ(∞) − Θ̂‖₂² ≤ μ‖Θ̂‖₂² + [λ_max(Qᵀ(U₂ᵀU₂ − μΛ)Q)]₊²/4μ,

  Q an orthonormal basis of the rows of U₁ and V at the start. It is 1.12 times the distance on the data
  of Figure 1, is attained at width 1, and needs no randomness:
  `tacit.theorems.check("min2021/distance", …)`.
- **Tests.** `test_the_error_at_the_start_grows_with_the_data`,
  `test_the_width_of_theorem_2_does_not_depend_on_the_unit_of_the_data`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tacit
from tacit.papers import Assumption, Bound, Parts, Premise, theorem
from tacit.papers.arguments import ParameterError, between, whole
from tacit.papers.measures import exponent
from tacit.papers.min2021.network import (
    LOSS,
    Split,
    check_network,
    ended,
    imbalance_level,
    linear_network,
    power_of,
    split,
)
from tacit.papers.woodworth2020.lifted import gaussian_factor


def tail(delta: float) -> float:
    """τ = √(2 log(2/δ)): the largest singular value of Gaussian weights exceeds √h + √(m+D) + τ with δ/2."""
    return math.sqrt(2 * math.log(2 / between(delta, "delta", 0, 1)))


def lemma1_width(features: int, outputs: int, delta: float = 0.1) -> float:
    """h₀ = 16(√(m+D) + τ)²: the width above which Lemma 1 holds with probability 1 − δ."""
    return 16 * _spread(features, outputs, delta) ** 2


def theorem2_log_width(model: Any, X: Any, alpha: float = 0.5, delta: float = 0.1) -> float:
    """log of h₀^{1/(4α−1)}, h₀ = max{16, 4m(λ₁/λ_r)²}·(√(m+D) + τ)²: the width above which Theorem 2 holds.

    Above it, (λ₁/λ_r)‖U₁Vᵀ‖ ≤ 1 by equation 19, which is the 1 in the constant C of the theorem.
    """
    check_network(model)
    X = model.as_inputs(X)
    return _log_width(split(model, X, np.zeros((len(X), model.outputs))), power_of(alpha), delta)


@theorem("min2021/lemma1", about=("Lemma E.1",))
def lemma1(model: Any, X: Any, alpha: float = 0.5, delta: float = 0.1) -> Parts:
    """h > 16(√(m+D)+τ)² and U, V ~ N(0, h^{−2α}) imply, with probability 1 − δ, c > h^{1−2α}, ‖[V; U₁]U₂ᵀ‖ ≤
    √(m+r)·B and ‖U₁Vᵀ‖ ≤ √m·B, B = 2(√(m+D)+τ)h^{½−2α}.

    Printed: ½log(2/δ) for τ = √(2log(2/δ)), from a tail of 2exp(−t²) in Lemma E.1, which is 2exp(−t²/2).

    Lemma 1, equations 17 to 19, in Frobenius norms; the result depends on the inputs only.
    """
    yield linear_network(model)
    X = model.as_inputs(X)
    parts = split(model, X, np.zeros((len(X), model.outputs)))
    power, unit = power_of(alpha), _unit(parts, alpha, delta)
    width, spread = model.inner.shape[1], _spread(len(model.inner), model.outputs, delta)
    yield Assumption(f"h = {width} is above h₀ = {16 * spread**2:.6g}", width > 16 * spread**2)
    yield _concentrated(model, power, spread)

    outputs, rank = model.outputs, len(parts.sizes)
    level = imbalance_level(model, X)
    yield Bound("(17) λ_r(Λ) + λ_m(−Λ)", level, at_least=width ** (1 - 2 * power))
    apart = float(np.linalg.norm(parts.orthogonality))
    yield Bound("(18) ‖[V; U₁]U₂ᵀ‖", apart, at_most=math.sqrt(outputs + rank) * unit)
    product = float(np.linalg.norm(parts.seen @ parts.outer.T))
    yield Bound("(19) ‖U₁Vᵀ‖", product, at_most=math.sqrt(outputs) * unit)


@theorem("min2021/theorem2", flows=2)
def theorem2(model: Any, X: Any, y: Any, alpha: float = 0.5, delta: float = 0.1) -> Parts:
    """h^{4α−1} > max{16, 4m(λ₁/λ_r)²}(√(m+D)+τ)² and U, V ~ N(0, h^{−2α}) imply, with probability 1 − δ,
    ‖U(∞)V(∞)ᵀ − Θ̂‖₂ ≤ 2C^{1/h^{1−2α}}√(m+r)(√(m+D)+τ)h^{½−2α}, C = exp(1 + λ₁^{½}‖Y‖/λ_r).

    Printed: A width with λ₁/λ_r³, which changes with the unit of X, from λ_r^{−½}‖U₁Vᵀ‖ for λ₁^{½}‖U₁Vᵀ‖ in
    ‖E(0)‖; and ½log(2/δ) for τ.

    Theorem 2, equation 20, and equation 42 of its proof, which needs no randomness.

    (42) bounds the same distance by exp(λ₁^{½}‖E(0)‖/(λ_r c))·‖[V(0); U₁(0)]U₂ᵀ‖. `min2021/distance` is far
    below both. A bound beyond the floating-point range is reported as ∞.
    """
    yield linear_network(model)
    parts = split(model, X, y)
    power, unit = power_of(alpha), _unit(parts, alpha, delta)
    width, spread = model.inner.shape[1], _spread(len(model.inner), model.outputs, delta)
    needed = _log_width(parts, power, delta)
    yield Assumption(f"log h = {math.log(width):.6g} is above {needed:.6g}", math.log(width) > needed)
    yield _concentrated(model, power, spread)
    end, settled = ended(model, parts)
    yield Assumption("the flow reaches the least loss", settled)

    measured = float(np.linalg.norm(end - parts.basis @ (parts.basis.T @ end), 2))
    largest, smallest = float(parts.sizes[0]), float(parts.sizes[-1])
    log_C = 1 + largest / smallest**2 * float(np.linalg.norm(np.asarray(y, dtype=np.float64)))
    prefactor = math.sqrt(model.outputs + len(parts.sizes)) * unit
    text = "(20) ‖UVᵀ − Θ̂‖₂ at the end of the flow"
    yield Bound(text, measured, at_most=_grown(prefactor, log_C * width ** (2 * power - 1)))
    level = imbalance_level(model, X)
    if level > 0:
        growth = largest * float(np.linalg.norm(parts.error)) / (smallest**2 * level)
        start = float(np.linalg.norm(parts.orthogonality))
        yield Bound("(42) the same, from the initial weights", measured, at_most=_grown(start, growth))


def _spread(features: int, outputs: int, delta: float) -> float:
    """√(m+D) + τ."""
    return math.sqrt(outputs + features) + tail(delta)


def _unit(parts: Split, alpha: float, delta: float) -> float:
    """2(√(m+D)+τ)h^{½−2α}, of which equations 18 to 20 are multiples."""
    outputs, width = parts.outer.shape
    return 2 * _spread(len(parts.basis), outputs, delta) * width ** (0.5 - 2 * power_of(alpha))


def _log_width(parts: Split, power: float, delta: float) -> float:
    """log h₀/(4α − 1)."""
    outputs, spread = len(parts.outer), _spread(len(parts.basis), len(parts.outer), delta)
    condition = float(parts.sizes[0] / parts.sizes[-1]) ** 2
    return math.log(max(16.0, 4 * outputs * condition**2) * spread**2) / (4 * power - 1)


def _concentrated(model: tacit.LinearNetwork, power: float, spread: float) -> Assumption:
    """Equation 32 for these weights."""
    stacked, root = np.vstack([model.outer, model.inner]), math.sqrt(model.inner.shape[1])
    squares = np.linalg.eigvalsh(stacked @ stacked.T)[[0, -1]]
    smallest, largest = np.sqrt(np.maximum(squares, 0.0)) * model.inner.shape[1] ** power
    return Assumption(
        f"σ(h^α[U; V]), from {smallest:.6g} to {largest:.6g}, lie within √h ± (√(m+D)+τ) = {root:.6g} ± "
        f"{spread:.6g}, as they do with probability 1 − δ for weights of N(0, h^{{−2α}})",
        bool(root - spread <= smallest and largest <= root + spread),
    )


def _grown(factor: float, exponent: float) -> float:
    """factor·exp(exponent), ∞ if it overflows."""
    if factor == 0:
        return 0.0
    logarithm = math.log(factor) + exponent
    return math.exp(logarithm) if logarithm < 709 else math.inf


_DRAWS = 2  # number of draws; the draws at different widths are similar, so that the exponent hardly varies
_LEFT, _RTOL = (
    1e-4,
    1e-6,
)  # ‖E‖/‖E(0)‖ at the end of a flow, and its tolerance, for distances accurate to 1e-3
_SLACK = 0.1  # of the exponent: higher orders in the width contribute less than half of it


@theorem("min2021/rate", flows=6, about=("Theorem 2",))
def rate(
    model: Any,
    X: Any,
    y: Any,
    alpha: float = 0.375,
    widths: tuple[int, ...] = (500, 2000, 8000),
    seed: int = 0,
) -> Parts:
    """U, V ~ N(0, h^{−2α}), ¼ < α ≤ ½: the distance ‖U(∞)V(∞)ᵀ − Θ̂‖ decreases like h^{½−2α}.

    The power of the width in Theorem 2; only the numbers of features and outputs of the model are used.

    widths, seed: of the Gaussian networks whose distance is fitted; its root mean square over two draws,
    which are narrow factors of them (`gaussian_factor`).
    """
    power, tried, first = power_of(alpha), _increasing(widths), _whole(seed, "seed", 0)
    yield linear_network(model)
    parts = split(model, X, y)
    unseen = (len(parts.basis) - len(parts.sizes)) * model.outputs
    yield Premise("the samples do not span the features", unseen > 0)
    level, size = tried[0] ** (1 - 2 * power), float(np.linalg.norm(parts.solution, 2))
    calm = power == 0.5 or size <= level
    yield Premise(f"‖Θ̂‖₂ = {size:.4g} is at most h^(1−2α) = {level:.4g}, or α = ½", calm)
    spread = [[_distance(parts, X, y, h, power, [first, draw]) for draw in range(_DRAWS)] for h in tried]
    arrived = all(settled for row in spread for _, settled in row)
    yield Assumption("the flows reach the least loss", arrived)
    distances = [math.sqrt(np.mean([square for square, _ in row])) for row in spread]
    yield Bound(
        f"power of the width with which it decreases, fitted from {tried[0]} to {tried[-1]}, α = {power:g}",
        exponent(tried, distances),
        at_most=0.5 - 2 * power + _SLACK,
        at_least=0.5 - 2 * power - _SLACK,
    )


def _distance(parts: Split, X: Any, y: Any, width: int, power: float, seed: list[int]) -> tuple[float, bool]:
    """‖U(∞)V(∞)ᵀ − Θ̂‖_F² of one draw, and whether its flow has converged."""
    features, rows = len(parts.basis), len(parts.basis) + len(parts.outer)
    Z = gaussian_factor(rows, width, np.random.default_rng(seed)) * width ** (0.5 - power)
    drawn = tacit.LinearNetwork(Z[:features], Z[features:])
    error = float(np.linalg.norm(split(drawn, X, y).error))
    until = math.log(2) - 2 * math.log(_LEFT * error)
    flow = tacit.flow(drawn, parts.inputs, parts.targets, loss=LOSS, at=[until], rtol=_RTOL)
    end = np.asarray(flow.predictor[-1]).reshape(features, -1)
    return float(np.sum((end - parts.basis @ (parts.basis.T @ end)) ** 2)), bool(flow.converged)


def _increasing(widths: Any) -> list[int]:
    """At least two increasing widths."""
    found = [_whole(each, "widths", 1) for each in np.atleast_1d(widths).tolist()]
    if len(found) < 2 or found != sorted(set(found)):
        raise ParameterError(f"widths must be at least two increasing whole numbers, got {widths!r}")
    return found


def _whole(value: Any, name: str, least: int) -> int:
    """A whole number, possibly given as a float such as 500.0."""
    return whole(int(value) if isinstance(value, float) and value.is_integer() else value, name, least)
