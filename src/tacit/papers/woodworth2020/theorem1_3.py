r"""Theorems 1 and 3 of Woodworth et al. 2020: the limit of diagonal networks, compared with the flow.

    β(∞) = argmin Q(β) s.t. Xβ = y,    Q(β) = Σ αᴰw₀ᵢ²·q_D(βᵢ/(αᴰw₀ᵢᴰ)),

with q₂ of equation 21 and q_D = ∫h_D⁻¹ of equation 59. Both theorems assume that the flow fits the data. The
flow is simulated with the raw weights, which makes no assumption, if that takes about a second; otherwise in
mirror space, ∇Q(β) = Xᵀν, at any scale, a form that is part of the proofs (equations 18 and 58). Q itself is
compared with the metric of the weights (`tacit.papers.agreement`). method="parameters" always uses raw
weights.

**Limits of Theorem 3 as α → 0 and α → ∞.** As α → 0 the limit tends to a solution of minimum ℓ1 norm. If there
are several, the paper does not say which: it is the one with the largest Σ|βᵢ|^{2/D} among them, for D = 2
with the largest entropy −Σ|βᵢ|log|βᵢ|. Both functions are concave, so a gradient orthogonal to the face of
minimizers characterizes it. As α → ∞ the limit tends to the solution of minimum ℓ2 norm.

Errata
------
### Equations 15 to 17: a factor 2 in the clock
- **Printed.** −∇‖X̃w² − y‖² = −2X̃ᵀr∘w, hence β(t) = 2α²w₀² sinh(−4Xᵀ∫r).
- **Holds.** −4X̃ᵀr∘w and sinh(−8Xᵀ∫r). The printed formulas belong to the loss ½‖X̃w² − y‖².
- **Why.** ∂(w²)/∂w = 2w and ∂‖r‖²/∂r = 2r; one of the two factors is missing. This only rescales time: ν
  absorbs any constant, and the limit is the same.
- **Evidence.** Along the flow of the loss as written, the relative error of the printed sinh is 50%, of the
  corrected one 3e-14.
- **Test.** `test_equation_15_belongs_to_half_the_square_loss`

### Equations 11 to 14: a sign, and a square
- **Printed.** d|u|/dt = −sign(u)·u̇ = −2 Σ_n (f(x_n) − y_n)² sign(u)∘v∘x_n, and the same for v.
- **Holds.** d|u|/dt = sign(u)·u̇ = −2 Σ_n (f(x_n) − y_n) sign(u)∘v∘x_n. The conclusion, that |u| = |v| is
  preserved, is correct.
- **Test.** `test_equations_11_to_14_have_a_wrong_sign_and_a_square`

### Equation 55: a sign
- **Printed.** ẇ = dL/dw = −D X̃ᵀr∘w^{D−1}.
- **Holds.** ẇ = −dL/dw = −D X̃ᵀr∘w^{D−1}, for L = ½‖X̃w^D − y‖². (50) and (52) have the minus sign.
- **Evidence.** A step of 1e-6 along +dL/dw increases the loss, a step along the right-hand side decreases
  it.
- **Test.** `test_equation_55_lacks_its_minus`

### Equation 57: X, not X̃
- **Printed.** β(t) in terms of X̃ᵀ∫r, with X̃ = [X −X].
- **Holds.** The same with Xᵀ∫r.
- **Why.** β = w₊^D − w₋^D has d entries, X̃ᵀ∫r has 2d. Its two halves are ±Xᵀ∫r, for w₊ and w₋; they give
  the two terms of (57).
- **Evidence.** The corrected formula follows the simulated weights to better than 1e-8 at D = 3 and 4.
- **Test.** `test_equation_57_holds_with_X_instead_of_both_copies`

Remarks
-------
### Above depth 2 the rich limit depends on the shape of the start Woodworth et al. show for depth 2 that the
shape w₀ of the initialization does not matter as α → 0 (after equation 7), and study deeper networks with w₀
= 1 only. For D > 2 the shape does matter: the limit as α → 0 minimizes Σ w₀ᵢ^{2−D}|βᵢ|. In (51), (αw₀)^{2−D}
replaces α^{2−D}, so each coordinate of Xᵀν is bounded by w₀^{2−D} instead of 1, and reaches the bound where β
does not vanish. At depth 2 the slope of Q at a given β is about log(|β|/(α²w₀²)), in which w₀ is negligible
compared with log(1/α²). On 10 Gaussian samples with 30 features and w₀ between ½ and 2, the relative distance
of the limit to the weighted minimizer is 3e-15, and to the unweighted one 1.08 (D = 3) and 1.32 (D = 4).
Test:
`test_a_profile_matters_in_the_rich_limit_above_depth_two_only` in
[`tests/models/test_models.py`](../tests/models/test_models.py).

### The potential of depth D has a closed form in its slope
Theorem 3 leaves q_D as an integral of h_D⁻¹. With s = h_D⁻¹(z) it is
q_D = zs − ((D−2)/2)·[(1−s)^{−2/(D−2)} + (1+s)^{−2/(D−2)} − 2], with (D−2)z²/(4D) at small z and
|z| − (D/2)|z|^{2/D} + (D−2)(1 − 2^{−D/(D−2)}) at large. Test: `test_deep_potential_in_closed_form_and_at_both_ends`.
"""  # noqa: E501

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import null_space

import tacit
from tacit.data.arrays import Float, check_problem
from tacit.papers import Bound, Parts, Premise, Setting, theorem
from tacit.papers.agreement import compared, limit_of
from tacit.papers.arguments import arrived, check_method
from tacit.papers.measures import exponent
from tacit.papers.moroshko2020.separation import plain_diagonal, rich_excess

# Scales α^D of theorem3-ends, in units of the largest entry of β_ℓ2.
_SMALL = (1e-2, 1e-4, 1e-6, 1e-8)
_LARGE = (1e1, 1e2, 1e3)
_SMALLEST = -4000.0  # log of the smallest, at depth 2, where the distance to the end decreases like 1/log α
# Above depth 2 the distance decreases like the slacks α^{D−2} of the slopes. The last bits of X change
# slopes by 1e-16. They therefore decide between ℓ1 minimizers up to about 1e-9 at this slack, and entirely
# below 1e-16.
_SLACK = 1e-6
_ON_FACE = 1e-4  # relative size of entries that do not vanish as α → 0
_SELECTED = 1e-4  # relative gradient along the face below which a point counts as the maximizer
_NOISE = 1e-10  # relative distance to β_ℓ2 below which round-off hides its exponent
_TINY = 1e-300  # replaces the size of a row of zeros


@theorem("woodworth2020/theorem1")
def theorem1(model: Any, X: Any, y: Any, method: str = "auto") -> Parts:
    """β(∞) = argmin Q_{α,w₀}(β) s.t. Xβ = y for a diagonal network of depth 2 whose flow fits the data.

    Theorem 1 (general case), for any scale α and profile w₀. method: "auto" or "parameters".
    """
    check_method(method)
    yield Setting("the model is Diagonal of depth 2", _depth(model) == 2)
    yield from compared(model, X, y, method)


@theorem("woodworth2020/theorem3", flows=2, shell="--depth 3")
def theorem3(model: Any, X: Any, y: Any, method: str = "auto") -> Parts:
    """β(∞) = argmin Q^D_α(β) s.t. Xβ = y for a diagonal network of depth D > 2 whose flow fits the data.

    Theorem 3, stated for integers D ≥ 3 and w₀ = 1. method: "auto" or "parameters".

    The proof holds for every real D > 2, and for any w₀ with the weights w₀² above. The limits α → 0 and α
    → ∞ are not statements about a single scale; `tacit.regime` measures the distance of a limit to both.
    """
    check_method(method)
    yield Setting("the model is Diagonal of depth above 2", _depth(model) > 2)
    yield from compared(model, X, y, method)


def _depth(model: Any) -> float:
    """The depth of a diagonal network; 0 for other models."""
    return float(model.depth) if isinstance(model, tacit.Diagonal) else 0.0


@theorem("woodworth2020/theorem3-ends", flows=0)
def theorem3_ends(model: Any, X: Any, y: Any) -> Parts:
    """β tends to a solution of minimum ℓ1 norm as α → 0 (of several, to the one of largest Σ|β|^{2/D}, or
    entropy for D = 2), and to the solution of minimum ℓ2 norm as α → ∞.

    The second sentence of Theorem 3, for D ≥ 2, at small and large scales; the model gives the depth.

    The excess ℓ1 norm has a bound at every scale (`rich_excess`). The distance to β_ℓ2 decreases like
    α^{−2D}.
    """
    yield plain_diagonal(model)
    X, y = check_problem(X, y)
    nearest = yield from limit_of(tacit.potentials.Quadratic(), X, y)
    least = nearest.predictor
    unit = float(np.abs(least).max())
    yield Premise("the targets are not zero", unit > 0)
    D = model.depth
    norm = float(np.abs(tacit.limit(tacit.potentials.L1(), X, y).predictor).sum())
    rich = [_limit(D, math.log(scale * unit), X, y).predictor for scale in _SMALL]
    ratios = [
        (float(np.abs(beta).sum()) / norm - 1) / rich_excess(norm, X.shape[1], D, scale * unit)
        for beta, scale in zip(rich, _SMALL, strict=True)
    ]
    yield Bound("excess ℓ1 norm over its bound, the largest over small scales", max(ratios), at_most=1.0)
    yield Bound(
        f"gradient of {'the entropy' if D == 2 else 'Σ|β|^(2/D)'} along the face of ℓ1 minimizers, relative",
        along_face(X, _limit(D, _smallest(D) + math.log(unit), X, y).predictor, D),
        at_most=_SELECTED,
    )
    kernel = [_limit(D, math.log(scale * unit), X, y) for scale in _LARGE]
    gaps = [float(np.linalg.norm(each.predictor - least) / np.linalg.norm(least)) for each in kernel]
    # Error estimates, with a safety margin.
    noise = max(_NOISE, 10 * max(each.error for each in (nearest, *kernel)))
    yield Bound("distance to β_ℓ2 at the largest scale, relative", gaps[-1], at_most=max(gaps[0], noise))
    if gaps[-1] > noise:
        text = "fitted exponent of α^D in this distance"
        yield Bound(text, exponent(_LARGE, np.maximum(gaps, 1e-300)), at_most=-1.0)


def _smallest(depth: float) -> float:
    """log α^D, in units of the predictor, at which the limit cannot be distinguished from its limit α → 0."""
    return _SMALLEST if depth == 2 else max(_SMALLEST, depth / (depth - 2) * math.log(_SLACK))


def along_face(X: Float, beta: Float, depth: float) -> float:
    """The relative gradient, along the face of ℓ1 minimizers, of the function maximized there; 0 on a point.

    Directions are relative changes of |β|, which do not depend on the units of features and targets; they
    keep the outputs and the ℓ1 norm.
    """
    largest = np.abs(beta).max()
    on = np.abs(beta) > _ON_FACE * largest
    size, sign = np.abs(beta[on]) / largest, np.sign(beta[on])
    gradient = -(np.log(size) + 1) * size if depth == 2 else size ** (2 / depth)
    kept = np.vstack([X[:, on] * (sign * size), size])
    directions = null_space(kept / np.abs(kept).max(axis=1, keepdims=True, initial=_TINY))
    return float(np.linalg.norm(directions.T @ gradient) / np.linalg.norm(gradient))


def _limit(depth: float, log_scale: float, X: Float, y: Float) -> tacit.Limit:
    """The limit at log α^D = log_scale."""
    found = tacit.limit(tacit.Diagonal(depth=depth, log_scale=log_scale / depth), X, y)
    return arrived(found, f"the limit at α^D = e^{log_scale:.4g} did not converge ({found.reason})")
