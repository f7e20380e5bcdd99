r"""Explicit regularization, equations 8 and 9 of Woodworth et al. 2020: the least that weights must move.

    β^R = argmin R(β) s.t. Xβ = y,    R(β) = min ‖w − α1‖² s.t. w₊² − w₋² = β,    R(β) = α²Σr(βᵢ/α²)

In the minimum w± = α/(1∓λ) with β = α²((1−λ)^{−2} − (1+λ)^{−2}). It is what one would expect gradient flow to
find, and not what it finds, though both have the same ends: the least ℓ2 norm as α → ∞, the least ℓ1 norm as
α → 0. The latter comes soon. With w₊² = |β| + w₋², and √(|β| + w₋²) between √|β| and √|β| + w₋,

    |β| − 2α√|β| ≤ R(β) ≤ |β|,    hence    ‖β^R‖₁/‖β_ℓ1‖₁ ≤ (a + √(1 + a²))²,    a = α√(d/‖β_ℓ1‖₁)

at every scale, by R(β^R) ≤ R(β_ℓ1) and Σ√|βᵢ| ≤ √(d‖β‖₁): an excess of the order of α, where that of the
flow is of the order 1/log(1/α).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tacit
from tacit.data.arrays import Float, check_problem
from tacit.theorems.arguments import log_alpha
from tacit.theorems.moroshko2020.separation import plain_diagonal
from tacit.theorems.registry import Assumption, Bound, Parts, Setting, theorem, unmet

_EXACT = 1e-9  # relative, of distances and norms by two ways
_ROUNDS = 40
_SMALL = (1e-1, 1e-2, 1e-3)  # α in units of √(‖β_ℓ1‖₁/d)
_LARGE = (1e1, 1e2)  # α² in units of the largest entry of β_ℓ2
_LOGS = math.log(1e140)  # of 1/α and of α, whose squares floats hold


def least_move(beta: Float, alpha: float) -> float:
    """The least ‖w − α1‖² of weights that make β, each coordinate by the root λ of its own equation.

    λ itself below |β| = α², 1 − λ above: the one of the two that is small keeps its digits. Either is the
    fixed point of a map that brings guesses nearer by a factor of 3 at the least.
    """
    sizes = np.abs(beta) / alpha**2
    below, above = np.minimum(sizes, 1.0), np.maximum(sizes, 1.0)
    root, rest = below / 4, 1 / np.sqrt(above)
    for _ in range(_ROUNDS):
        root = below / 4 * (1 - root**2) ** 2
        rest = 1 / np.sqrt(above + (2 - rest) ** -2.0)
    root, rest = np.where(sizes < 1, root, 1 - rest), np.where(sizes < 1, 1 - root, rest)
    return alpha**2 * float(np.sum((root / rest) ** 2 + (root / (1 + root)) ** 2))


@theorem(
    "woodworth2020/explicit",
    "The least that weights must move to fit, ‖w − α1‖² = α²Σr(βᵢ/α²) in β^R, has ‖β^R‖₁/‖β_ℓ1‖₁ ≤ (a + "
    "√(1+a²))², a = α√(d/‖β_ℓ1‖₁), and tends to β_ℓ2 as α → ∞; the flow moves them farther.",
    printed="r is the unique real root of a quartic, and R = Σr(β/α²): there are two, r is the smaller one, "
    "and R has the factor α².",
    flows=0,
)
def explicit(model: Any, X: Any, y: Any) -> Parts:
    """(8) and (9) for w₀ = 1, at the scale of the model and at small and large ones."""
    plain = plain_diagonal(model)
    yield (setting := Setting(f"{plain.text}, of depth 2", plain.holds and model.depth == 2))
    if not setting.holds:
        return
    X, y = check_problem(X, y)
    try:
        rich, kernel = (
            tacit.limit(each, X, y).predictor
            for each in (tacit.potentials.L1(), tacit.potentials.Quadratic())
        )
    except tacit.InconsistentDataError as refusal:
        yield unmet(refusal)
        return
    yield Assumption("the targets are not zero", bool(np.any(rich)))
    floats = abs(log_alpha(model)) <= _LOGS
    yield Assumption("floats hold the squares of weights at the start", floats)
    if not (np.any(rich) and floats):
        return
    yield from _moves(model, X, y)
    unit = math.sqrt(float(np.abs(rich).sum()) / X.shape[1])
    alphas = [math.exp(log_alpha(model)), *(each * unit for each in _SMALL)]
    shares = max(_excess(alpha, rich, X, y) for alpha in alphas)
    yield Bound("‖β^R‖₁/‖β_ℓ1‖₁ over its bound, the largest over scales", shares, at_most=1 + _EXACT)
    size = float(np.linalg.norm(kernel))
    scales = [math.sqrt(each * float(np.abs(kernel).max())) for each in _LARGE]
    gaps = [float(np.linalg.norm(_explicit(alpha, X, y) - kernel)) / size for alpha in scales]
    text = "distance of β^R to β_ℓ2 at the larger of two large scales, over that at the smaller"
    yield Bound(text, gaps[1] / max(gaps[0], _EXACT), at_most=_LARGE[0] / _LARGE[1])


def _moves(model: tacit.Diagonal, X: Float, y: Float) -> Parts:
    """How far weights move to β^R, by the potential and by themselves, and how far by the flow."""
    alpha = math.exp(log_alpha(model))
    R = tacit.potentials.WeightDistance(2 * log_alpha(model))
    explicit, found = _explicit(alpha, X, y), tacit.limit(model, X, y).predictor
    least = least_move(explicit, alpha)
    off = abs(float(R.value(explicit)) / least - 1)
    yield Bound("(9) |R(β^R) − ‖w − α1‖²|, relative, w by the root λ of each coordinate", off, at_most=_EXACT)
    moved = least_move(found, alpha)
    yield Bound("(8) R(β^R)/R(β(∞))", least / moved, at_most=1 + _EXACT)
    half = np.arcsinh(found / (2 * alpha**2)) / 2  # w± = α·exp(±half): (17)
    flow = float(np.sum((alpha * np.expm1(half)) ** 2 + (alpha * np.expm1(-half)) ** 2))
    yield Bound("R(β(∞)) over the squared way of the flow's weights", moved / flow, at_most=1 + _EXACT)
    apart = float(np.linalg.norm(explicit - found) / np.linalg.norm(found))
    yield Bound("distance of β^R to β(∞), relative (no claim)", apart)


def _excess(alpha: float, rich: Float, X: Float, y: Float) -> float:
    """‖β^R‖₁/‖β_ℓ1‖₁ over its bound."""
    norm = float(np.abs(rich).sum())
    a = alpha * math.sqrt(X.shape[1] / norm)
    return float(np.abs(_explicit(alpha, X, y)).sum()) / norm / (a + math.hypot(1, a)) ** 2


def _explicit(alpha: float, X: Float, y: Float) -> Float:
    """β^R at the scale α."""
    found = tacit.limit(tacit.potentials.WeightDistance(2 * math.log(alpha)), X, y)
    if not found.converged:
        raise tacit.NotConvergedError(f"β^R at α = {alpha:.4g} did not converge")
    return np.asarray(found.predictor)
