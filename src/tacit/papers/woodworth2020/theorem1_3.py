r"""Theorems 1 and 3 of Woodworth et al. 2020: where a diagonal network ends, against its flow.

    β(∞) = argmin Q(β) s.t. Xβ = y,    Q(β) = Σ αᴰw₀ᵢ²·q_D(βᵢ/(αᴰw₀ᵢᴰ)),

with q₂ of equation 21 and q_D = ∫h_D⁻¹ of equation 59. Both theorems assume that the flow fits the data. The
flow is followed on the raw weights, which assumes nothing, where that takes about a second; and else in
mirror space, ∇Q(β) = Xᵀν, at any scale, a form that is part of the proofs (equations 18 and 58). Q itself is
held against the weights by its metric (`tacit.papers.agreement`). method="parameters" takes raw weights,
however long that is.

The ends of Theorem 3 of Woodworth et al. 2020: where limits go as α → 0 and as α → ∞.

As α → 0 the limit tends to a solution of least ℓ1 norm. Which, where there are several, the paper leaves
open: on the face of all of them it is the one of largest Σ|βᵢ|^{2/D}, for D = 2 of largest entropy
−Σ|βᵢ|log|βᵢ|. Both are concave, so that a gradient orthogonal to the face decides it. As α → ∞ it tends to
the solution of least ℓ2 norm.

Errata
------
### Equations 15 to 17: a factor 2 in the clock
- **Printed.** −∇‖X̃w² − y‖² = −2X̃ᵀr∘w, hence β(t) = 2α²w₀² sinh(−4Xᵀ∫r).
- **Holds.** −4X̃ᵀr∘w and sinh(−8Xᵀ∫r). The printed pair belongs to the loss ½‖X̃w² − y‖².
- **Why.** ∂(w²)/∂w = 2w and ∂‖r‖²/∂r = 2r; one of the two factors is missing. Only time changes: ν takes up
  any constant, and the limit is the same.
- **Evidence.** Along the flow of the loss as written, the printed sinh is off by 50%, the corrected one by
  3e-14.
- **Test.** `test_equation_15_belongs_to_half_the_square_loss`

### Equations 11 to 14: a sign, and a square
- **Printed.** d|u|/dt = −sign(u)·u̇ = −2 Σ_n (f(x_n) − y_n)² sign(u)∘v∘x_n, and the same for v.
- **Holds.** d|u|/dt = sign(u)·u̇ = −2 Σ_n (f(x_n) − y_n) sign(u)∘v∘x_n. The conclusion, that |u| = |v| is
  kept, stands.
- **Test.** `test_equations_11_to_14_have_a_wrong_sign_and_a_square`

### Equation 55: a sign
- **Printed.** ẇ = dL/dw = −D X̃ᵀr∘w^{D−1}.
- **Holds.** ẇ = −dL/dw = −D X̃ᵀr∘w^{D−1}, for L = ½‖X̃w^D − y‖². (50) and (52) have the minus.
- **Evidence.** A step of 1e-6 along +dL/dw increases the loss, a step along the right-hand side decreases
  it.
- **Test.** `test_equation_55_lacks_its_minus`

### Equation 57: X, not X̃
- **Printed.** β(t) in terms of X̃ᵀ∫r, with X̃ = [X −X].
- **Holds.** The same with Xᵀ∫r.
- **Why.** β = w₊^D − w₋^D has d entries, X̃ᵀ∫r has 2d. Its two halves are ±Xᵀ∫r, one for w₊ and one for w₋,
  and they are the two terms of (57).
- **Evidence.** The corrected formula follows the simulated weights to better than 1e-8 at D = 3 and 4.
- **Test.** `test_equation_57_holds_with_X_instead_of_both_copies`

Remarks
-------
### Above depth 2 the shape of the start survives in the rich limit
Woodworth et al. show for depth 2 that as α → 0 the shape w₀ of the initialization no longer matters
(after equation 7), and study deeper networks from w₀ = 1 only. The remark does not carry over: for D > 2
the limit as α → 0 minimizes Σ w₀ᵢ^{2−D}|βᵢ|. Here (αw₀)^{2−D} takes the place of α^{2−D} in (51), so Xᵀν
is bounded by w₀^{2−D} instead of 1, coordinate by coordinate, and reaches the bound where β does not
vanish. At depth 2 the slope of Q at a given β is about log(|β|/(α²w₀²)), and w₀ drops out against
log(1/α²). On 10 Gaussian samples with 30 features and w₀ between ½ and 2, the limit is within 3e-15 of
the weighted minimizer and 1.08 (D = 3) and 1.32 (D = 4), relative, from the unweighted one. Test:
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
from tacit.papers.agreement import compared
from tacit.papers.arguments import arrived, check_method
from tacit.papers.moroshko2020.separation import plain_diagonal, rich_excess
from tacit.papers.statements import unmet


@theorem("woodworth2020/theorem1")
def theorem1(model: Any, X: Any, y: Any, method: str = "auto") -> Parts:
    """β(∞) = argmin Q_{α,w₀}(β) s.t. Xβ = y for a diagonal network of depth 2 whose flow fits the data.

    Theorem 1 in its general case: any scale α and profile w₀; method: "auto" or "parameters".
    """
    check_method(method)
    yield (setting := Setting("the model is Diagonal of depth 2", _depth(model) == 2))
    if setting.holds:
        yield from compared(model, X, y, method)


@theorem("woodworth2020/theorem3", flows=2, shell="--depth 3")
def theorem3(model: Any, X: Any, y: Any, method: str = "auto") -> Parts:
    """β(∞) = argmin Q^D_α(β) s.t. Xβ = y for a diagonal network of depth D > 2 whose flow fits the data.

    Theorem 3, printed for whole D ≥ 3 and w₀ = 1; method: "auto" or "parameters".

    Its proof serves every real D > 2, and any w₀ with the weights w₀² above. Its two limits, α → 0 and
    α → ∞, are no statements about one scale; `tacit.regime` tells how near a limit is to either end.
    """
    check_method(method)
    yield (setting := Setting("the model is Diagonal of depth above 2", _depth(model) > 2))
    if setting.holds:
        yield from compared(model, X, y, method)


def _depth(model: Any) -> float:
    """The depth of a diagonal network; 0 for other models."""
    return float(model.depth) if isinstance(model, tacit.Diagonal) else 0.0


_SMALL = (1e-2, 1e-4, 1e-6, 1e-8)  # α^D in units of the largest entry of β_ℓ2
_LARGE = (1e1, 1e2, 1e3)
_SMALLEST = -4000.0  # log α^D at depth 2, where the distance to the end falls like 1/log α
# Above depth 2 it falls like the slacks α^{D−2} of the slopes. The last bits of X move these by 1e-16, and so
# decide ties between ℓ1 minimizers to 1e-9 or so at this slack, and wholly at slacks below 1e-16.
_SLACK = 1e-6
_ON = 1e-4  # of the largest: entries that are on the face as α → 0
_SELECTED = 1e-4  # relative: a gradient this small along the face is that of a maximizer
_NOISE = 1e-10
_TINY = 1e-300  # in place of a row of zeros


@theorem("woodworth2020/theorem3-ends", flows=0)
def theorem3_ends(model: Any, X: Any, y: Any) -> Parts:
    """β tends to a solution of least ℓ1 norm as α → 0, of several to that of largest Σ|β|^{2/D} (entropy for
    D = 2), and to that of least ℓ2 norm as α → ∞.

    The second sentence of Theorem 3, for D ≥ 2, at small and large scales; the model gives the depth.

    The excess ℓ1 norm has a bound at every scale (`rich_excess`). The distance to β_ℓ2 falls like α^{−2D}.
    """
    yield plain_diagonal(model)
    X, y = check_problem(X, y)
    try:
        nearest = tacit.limit(tacit.potentials.Quadratic(), X, y)
    except tacit.InconsistentDataError as refusal:
        yield unmet(refusal)
    least = nearest.predictor
    unit = float(np.abs(least).max())
    yield Premise("the targets are not zero", unit > 0)
    D = model.depth
    norm = float(np.abs(tacit.limit(tacit.potentials.L1(), X, y).predictor).sum())
    rich = [_limit(D, math.log(scale * unit), X, y).predictor for scale in _SMALL]
    shares = [
        (float(np.abs(beta).sum()) / norm - 1) / rich_excess(norm, X.shape[1], D, scale * unit)
        for beta, scale in zip(rich, _SMALL, strict=True)
    ]
    yield Bound("excess ℓ1 norm over its bound, the largest over small scales", max(shares), at_most=1.0)
    yield Bound(
        f"gradient of {'the entropy' if D == 2 else 'Σ|β|^(2/D)'} along the face of ℓ1 minimizers, relative",
        along_face(X, _limit(D, _smallest(D) + math.log(unit), X, y).predictor, D),
        at_most=_SELECTED,
    )
    kernel = [_limit(D, math.log(scale * unit), X, y) for scale in _LARGE]
    gaps = [float(np.linalg.norm(each.predictor - least) / np.linalg.norm(least)) for each in kernel]
    noise = max(_NOISE, 10 * max(each.error for each in (nearest, *kernel)))  # estimates, so with room
    exponent = float(np.polyfit(np.log(_LARGE), np.log(np.maximum(gaps, 1e-300)), 1)[0])
    yield Bound("distance to β_ℓ2 at the largest scale, relative", gaps[-1], at_most=max(gaps[0], noise))
    if gaps[-1] > noise:
        yield Bound("exponent of α^D in it", exponent, at_most=-1.0)


def _smallest(depth: float) -> float:
    """log α^D, in units of the predictor, at which the limit is at its end α → 0 for all that can be told."""
    return _SMALLEST if depth == 2 else max(_SMALLEST, depth / (depth - 2) * math.log(_SLACK))


def along_face(X: Float, beta: Float, depth: float) -> float:
    """The part along the face of the gradient of what is largest there, relative; 0 where it is one point.

    Directions are those of relative changes u of |β|, which no units of features or targets move; they keep
    the outputs and the ℓ1 norm.
    """
    largest = np.abs(beta).max()
    on = np.abs(beta) > _ON * largest
    size, sign = np.abs(beta[on]) / largest, np.sign(beta[on])
    gradient = -(np.log(size) + 1) * size if depth == 2 else size ** (2 / depth)
    kept = np.vstack([X[:, on] * (sign * size), size])
    directions = null_space(kept / np.abs(kept).max(axis=1, keepdims=True, initial=_TINY))
    return float(np.linalg.norm(directions.T @ gradient) / np.linalg.norm(gradient))


def _limit(depth: float, log_scale: float, X: Float, y: Float) -> tacit.Limit:
    """The limit at log α^D = log_scale."""
    found = tacit.limit(tacit.Diagonal(depth=depth, log_scale=log_scale / depth), X, y)
    words = f"the limit at α^D = e^{log_scale:.4g} did not converge ({found.reason}); no end can be told"
    return arrived(found, words)
