r"""Lemma 1 and Theorem 2 of Min et al. 2021: wide networks with Gaussian weights.

Weights of standard deviation h^{−α}, ¼ < α ≤ ½, are almost orthogonal in a wide network. With probability
1 − δ

    √h − (√(m+D) + τ) ≤ σ(h^α[U; V]) ≤ √h + (√(m+D) + τ),     τ = √(2 log(2/δ)),        (equation 32)

for all m + D singular values (Davidson and Szarek 2001, Theorem 2.13). Everything else follows from this
event, for certain; so it is measured here, on the weights given, and stands among the assumptions.

Three constants differ from print. Lemma E.1 grants 1 − 2exp(−δ²); the cited theorem, 1 − 2exp(−δ²/2).
Equation 32 and all that follows have ½log(2/δ) for τ, which neither form gives and which is smaller unless
δ ≤ 2e⁻⁸, or 6.7e-4. The bound on ‖E(0)‖ has Σ_x^{−1/2} where E has Σ_x^{1/2}; so the width of Theorem 2
depends on (λ₁/λ_r)² and not on λ₁/λ_r³, which would change with the unit of X.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tacit
from tacit.theorems.arguments import ParameterError
from tacit.theorems.min2021.network import (
    Split,
    check_network,
    ended,
    imbalance_level,
    linear_network,
    power_of,
    split,
)
from tacit.theorems.registry import Assumption, Bound, Parts, theorem


def tail(delta: float) -> float:
    """τ = √(2 log(2/δ)): the largest singular value of Gaussian weights exceeds √h + √(m+D) + τ with δ/2."""
    if not (isinstance(delta, (int, float, np.number)) and 0 < delta < 1):
        raise ParameterError(f"delta must lie between 0 and 1, got {delta!r}")
    return math.sqrt(2 * math.log(2 / delta))


def lemma1_width(features: int, outputs: int, delta: float = 0.1) -> float:
    """h₀ = 16(√(m+D) + τ)²: the width above which Lemma 1 holds with probability 1 − δ."""
    return 16 * _spread(features, outputs, delta) ** 2


def theorem2_log_width(model: Any, X: Any, alpha: float = 0.5, delta: float = 0.1) -> float:
    """log of h₀^{1/(4α−1)}, h₀ = max{16, 4m(λ₁/λ_r)²}·(√(m+D) + τ)²: the width above which Theorem 2 holds.

    From there on (λ₁/λ_r)‖U₁Vᵀ‖ ≤ 1 by equation 19, which is the 1 in the constant C of the theorem.
    """
    check_network(model)
    X = model.as_inputs(X)
    return _log_width(split(model, X, np.zeros((len(X), model.outputs))), power_of(alpha), delta)


@theorem(
    "min2021/lemma1",
    "h > 16(√(m+D)+τ)² and U, V ~ N(0, h^{−2α}) imply, with probability 1 − δ, c > h^{1−2α}, "
    "‖[V; U₁]U₂ᵀ‖ ≤ √(m+r)·B and ‖U₁Vᵀ‖ ≤ √m·B, B = 2(√(m+D)+τ)h^{½−2α}.",
    printed="½log(2/δ) for τ = √(2log(2/δ)), from a tail of 2exp(−t²) in Lemma E.1, which is 2exp(−t²/2).",
)
def lemma1(model: Any, X: Any, alpha: float = 0.5, delta: float = 0.1) -> Parts:
    """Lemma 1, equations 17 to 19, in Frobenius norms; its outcome depends on the inputs alone."""
    yield (setting := linear_network(model))
    if not setting.holds:
        return
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


@theorem(
    "min2021/theorem2",
    "h^{4α−1} > max{16, 4m(λ₁/λ_r)²}(√(m+D)+τ)² and U, V ~ N(0, h^{−2α}) imply, with probability 1 − δ, "
    "‖U(∞)V(∞)ᵀ − Θ̂‖₂ ≤ 2C^{1/h^{1−2α}}√(m+r)(√(m+D)+τ)h^{½−2α}, C = exp(1 + λ₁^{½}‖Y‖/λ_r).",
    printed="A width with λ₁/λ_r³, which changes with the unit of X, from λ_r^{−½}‖U₁Vᵀ‖ for λ₁^{½}‖U₁Vᵀ‖ in "
    "‖E(0)‖; and ½log(2/δ) for τ.",
    flows=2,
)
def theorem2(model: Any, X: Any, y: Any, alpha: float = 0.5, delta: float = 0.1) -> Parts:
    """Theorem 2, equation 20, and equation 42 of its proof, which needs no randomness.

    (42) bounds the same distance by exp(λ₁^{½}‖E(0)‖/(λ_r c))·‖[V(0); U₁(0)]U₂ᵀ‖. `min2021/distance` is far
    below both. A bound beyond the range of floats is reported as ∞.
    """
    yield (setting := linear_network(model))
    if not setting.holds:
        return
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
    yield Bound(
        "(20) ‖UVᵀ − Θ̂‖₂ at the end of the flow",
        measured,
        at_most=_grown(prefactor, log_C * width ** (2 * power - 1)),
    )
    level = imbalance_level(model, X)
    if level > 0:
        growth = largest * float(np.linalg.norm(parts.error)) / (smallest**2 * level)
        start = float(np.linalg.norm(parts.orthogonality))
        yield Bound("(42) the same, from the weights at the start", measured, at_most=_grown(start, growth))


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
    """Equation 32, on these weights."""
    stacked, root = np.vstack([model.outer, model.inner]), math.sqrt(model.inner.shape[1])
    squares = np.linalg.eigvalsh(stacked @ stacked.T)[[0, -1]]
    smallest, largest = np.sqrt(np.maximum(squares, 0.0)) * model.inner.shape[1] ** power
    return Assumption(
        f"σ(h^α[U; V]), from {smallest:.6g} to {largest:.6g}, lie within √h ± (√(m+D)+τ) = {root:.6g} ± "
        f"{spread:.6g}, as they do with probability 1 − δ for weights of N(0, h^{{−2α}})",
        bool(root - spread <= smallest and largest <= root + spread),
    )


def _grown(factor: float, exponent: float) -> float:
    """factor·exp(exponent), ∞ where it is beyond the range of floats."""
    if factor == 0:
        return 0.0
    logarithm = math.log(factor) + exponent
    return math.exp(logarithm) if logarithm < 709 else math.inf
