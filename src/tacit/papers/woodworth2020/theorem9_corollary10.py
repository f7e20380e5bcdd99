r"""Theorem 9 and Corollary 10 of Woodworth et al. 2020, with Lemmas 11 to 13 of Appendix H.

How far do the weights of a wide factorization move, and how far from the linearized flow? In the form W of
`lifted.py`, with r = ‖y(0) − y*‖, λI ⪯ 𝒳𝒳ᵀ ⪯ ΛI and ‖W(0)W(0)ᵀ − μI‖ ≤ γ, all computed from model and data.
Suprema are over the whole flow, until its residual is 1e-9 of the initial one, and over the linearized flow
up to its limit.

The *sharp* form uses the length of the path. Σ = JJᵀ for the Jacobian J of the outputs, ‖W'‖ = ‖Jᵀe‖ for
e = y − y*, and ‖e‖' = −‖Jᵀe‖²/‖e‖ ≤ −‖W'‖·√λ_min(Σ), where λ_min(Σ) ≥ 4λσ_min(W)². Hence, if √λ·s² ≥ 2r for
s = σ_min(W(0)), the distance of W from W(0) is at most the smaller root ρ of 2√λ·ρ(s − ρ) = r. With
‖J − J(0)‖ ≤ 2√Λρ the same argument for y − y_TK gives the second bound, which is quadratic in r.

Corollary 10 of Woodworth et al. 2020, with the constants of its proof, and Lemma 13.

For weights from N(0, α²) of width k: μ = α²k and, with D = d₁ + d₂ rows of W = [U; V], γ = 8α²√(kD) by
Lemma 13. The corollary states O(1/(α√k) + α) and Ω(1/k). The constants used here are those of Appendix H.2,
with its errata corrected ((89), (94), and the lifted λ and Λ): with r² = 2Y² + 64kD²α⁴Λ for Y = ‖y*‖,

    μ > 4Λγ/λ,   r ≤ (μλ/√(2Λ))·(1 − √((1+γ/μ)/(1+λ/4Λ)))                           (91), (92)
    sup‖W − W(0)‖ ≤ √2·√(Λ+λ/4)·r/(λα√k)                                            (98)
    sup‖W − W_TK‖ ≤ 2Λ√(1+λ/4Λ)·r²/(λ²(α²k)^{3/2}) + 2√2·√Λ√(1+γ/μ)·r/(λα√k)        (99)

where λ and Λ are the smallest and largest eigenvalues of 𝒳𝒳ᵀ, and 𝒳 has the rows vec X_n.

Errata
------
### Equations 71 to 80: the loss, a factor 2, and why Theorem 9 remains valid
- **Printed.** y′ = −Σ(t)(y − y*) with a factor 4 in Σ; Σ ⪰ 2μλ − …, where (74) gives 4μλ − …; and
  ‖Ẇ‖ ≤ ‖Σ_n (y_n(t) − y_n)X_nW‖ in (80).
- **Holds.** The 4 belongs to the loss ½‖y − y*‖² (for ‖y − y*‖² it is 8), and with it Ẇ = −2 Σ_n (y_n(t)
  − y_n)X_nW: (80) lacks a factor 2.
- **Why Theorem 9 is unaffected.** With 4μλ in (75) the right-hand side of (79) is 3μλ, and 2/(3μλ) < 1/(μλ):
  the first bound of Theorem 9 holds with 2/3 of the printed value.
- **Test.** `test_equations_71_and_80_belong_to_different_losses`

### Theorem 9: the second bound is weaker than the first
- **Printed.** sup‖W − W_TK‖ ≤ Λ√(1+λ/4Λ)·r²/(λ²μ^{3/2}) + 2√Λ√(1+γ/μ)·r/(λ√μ), r = ‖y(0) − y*‖.
- **What it implies.** Its second term alone is at least 1.7 times the first bound, of ‖W − W(0)‖, so it
  does not distinguish a W that follows the linearized flow from one that moves equally far in another
  direction. (86) adds ‖y − y*‖ and ‖y_TK − y*‖, which are of first order in r, while their difference is of
  second order.
- **Holds.** Σ = JJᵀ for the Jacobian J of the outputs; ‖W′‖ = ‖Jᵀe‖ and ‖e‖′ = −‖Jᵀe‖²/‖e‖ for e = y −
  y*; and λ_min(Σ) ≥ 4λσ_min(W)², where (75) loses the condition number Λ/λ. Hence, for s = σ_min(W(0))
  and **√λ·s² ≥ 2r**,

  > sup‖W − W(0)‖ ≤ ρ, the smaller root of 2√λ·ρ(s − ρ) = r,

  and from δ′ = −Σ(0)δ − (Σ − Σ(0))e for δ = y − y_TK, in the same way,

  > sup‖W − W_TK‖ ≤ jm + (jρ + 2√Λ‖W(0)‖·jm)/(2√λ·s), j = 2√Λρ, m = r/(4λ(s − ρ)²),

  which is O(r²/μ^{3/2}). Whenever Theorem 9 applies, this does too, and both bounds are smaller.
- **Evidence.** 3×3, 5 entries observed, α²k from 1 to 1e5: the measured movement is 45% of the first bound as
  stated, and more than 99% of the sharp form. The second bound is 10³ to 10⁷ times the measured distance as
  stated, and about 10 times in the sharp form. The measured distance decreases like (α²k)^{−3/2}, and so does
  the sharp bound.
- **Consequence.** (70) is not tight: O(1/(α³k^{3/2}) + α/√k) holds.
- **Tests.** `test_the_second_bound_of_theorem_9_exceeds_the_first`;
  `test_the_sharp_form_implies_the_stated_one` and others in
  [`test_theorems_woodworth_matrices.py`](../tests/papers/woodworth2020/test_theorems_woodworth_matrices.py).
- **In Tacit.** `tacit.theorems.check("woodworth2020/theorem9", …)` and `-sharp`; `tacit reproduce
  woodworth2020/theorem9`.

### Corollary 10: constants
- **λ and Λ.** The corollary defines them for 𝒳 with rows vec X_n, but applies Theorem 9 to the lifted X̄_n,
  whose Gram matrix is half as large. (91) is unchanged, (92) has √(2Λ) instead of √Λ, and (98) and (99) need
  a factor √2, for which their constants are large enough.
- **(89).** Printed: ‖y(0) − y*‖² ≤ 2Y² + 256kd³α⁴Λ². This has the wrong degree in the measurements and
  fails for small Λ. Holds: 2Y² + 256kd²α⁴Λ, since Σ⟨A, X̄_n⟩² ≤ ½Λ‖A‖_F².
- **(93)** has 8√(2kd)/√k instead of 8√(2kd)/k.
- **(94).** The third width is inverted: printed Y/(2α²√Λ(λ+4Λ)), while (97) needs 8Y√Λ(λ+4Λ)/(α²λ²).
  With all corrections, and D = d₁ + d₂, k ≥ max{4096DΛ²/λ², 256D²Λ²c²/λ², 8√2·Y√Λ(λ+4Λ)/(α²λ²)}, c = 4 +
  16Λ/λ, suffices.
- **The sentence after it.** "α goes to zero slower than 1/k" must read: slower than k^{−1/2}, because
  σ = α²√k must be larger than k^{−1/2}.
- **Tests.** `test_the_lifted_gram_matrix_is_half_of_that_of_the_measurements`,
  `test_equation_89_has_the_wrong_dimension`, `test_equation_94_is_upside_down_in_its_third_term`,
  `test_the_kernel_regime_needs_a_scale_above_the_root_of_one_over_the_width`;
  `test_from_enough_width_on_both_conditions_hold` in `test_theorems_woodworth_matrices.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.papers import Assumption, Bound, Parts, theorem
from tacit.papers.arguments import positive, whole
from tacit.papers.woodworth2020.lifted import (
    INSTANTS,
    SETTLED,
    Lifted,
    Movement,
    asymmetric,
    factorized,
    followed,
    lift,
)

_Assumed = Generator[Assumption, None, bool]
_Assumptions = Callable[[Lifted, float], _Assumed]
_Bounds = Callable[[Lifted, float, Movement], Iterator[Bound]]
_ACCURACY = 10 * SETTLED  # error of the measured distances, relative to the movement
_MIN_DECREASE, _MAX_DECREASE = 1e-6, 18.0  # log(r/residual) that round-off of the residual does not affect


@theorem("woodworth2020/theorem9", flows=2, matrices=True)
def theorem9(model: Any, X: Any, y: Any, mu: float | None = None, instants: int = INSTANTS) -> Parts:
    """μ > 4Λγ/λ and r ≤ (μλ/√Λ)(1 − √((1+γ/μ)/(1+λ/4Λ))), r = ‖y(0) − y*‖, imply sup‖W − W(0)‖ ≤
    √(Λ+λ/4)·r/(λ√μ) and sup‖W − W_TK‖ ≤ Λ√(1+λ/4Λ)·r²/(λ²μ^{3/2}) + 2√Λ√(1+γ/μ)·r/(λ√μ).

    Printed: The same, and true; but the second bound exceeds the first, so it implies nothing about W_TK.

    Theorem 9. mu: by default the midpoint of the spectrum of W(0)W(0)ᵀ.
    """

    def bounds(lifted: Lifted, level: float, movement: Movement) -> Iterator[Bound]:
        yield Bound("sup‖W(T) − W(0)‖_F", float(movement.moved.max()), at_most=movement_bound(lifted, level))
        text = "sup‖W(T) − W_TK(T)‖_F"
        yield Bound(text, float(movement.apart.max()), at_most=tangent_bound(lifted, level))

    return _along(model, X, y, mu, instants, _wide, bounds)


@theorem("woodworth2020/theorem9-sharp", flows=2, matrices=True)
def theorem9_sharp(model: Any, X: Any, y: Any, instants: int = INSTANTS) -> Parts:
    """√λ·s² ≥ 2r, s = σ_min(W(0)), implies sup‖W − W(0)‖ ≤ ρ, 2√λρ(s − ρ) = r, and a bound on sup‖W − W_TK‖
    quadratic in r.

    Printed: sup‖W − W_TK‖ ≤ Λ√(1+λ/4Λ)·r²/(λ²μ^{3/2}) + 2√Λ√(1+γ/μ)·r/(λ√μ), which is true, but of first
    order in r.

    Theorem 9 by the length of the path: weaker assumptions and smaller bounds; it implies the stated form.
    """

    def bounds(lifted: Lifted, level: float, movement: Movement) -> Iterator[Bound]:
        first, second = sharp_bounds(lifted)
        left = _ACCURACY * first  # the movement after the flow is stopped
        yield Bound("sup‖W(T) − W(0)‖_F", float(movement.moved.max()), at_most=first + left)
        yield Bound("sup‖W(T) − W_TK(T)‖_F", float(movement.apart.max()), at_most=second + left)

    return _along(model, X, y, None, instants, _near, bounds)


@theorem("woodworth2020/lemma11", flows=2, matrices=True)
def lemma11(model: Any, X: Any, y: Any, mu: float | None = None, instants: int = INSTANTS) -> Parts:
    """‖W − W(0)‖ ≤ R until T implies ‖y(t) − y*‖ ≤ r·exp(−2μλt + 4Λ(γ+R²+2R√(μ+γ))t) until T, and ‖y_TK(t) −
    y*‖ ≤ r·exp(−2μλt + 4Λγt).

    Printed: The factor 4 in Σ of (71) belongs to the loss ½‖y − y*‖², not to ‖y − y*‖²; (75) has 2μλ, while
    (74) gives 4μλ.

    Lemma 11 with the measured radius R, stated as lower bounds of the rates at which residuals decrease.
    """

    def bounds(lifted: Lifted, level: float, movement: Movement) -> Iterator[Bound]:
        R, gamma = float(movement.moved.max()), lifted.gamma(level)
        linearized = 2 * level * lifted.low - 4 * lifted.high * gamma
        moving = linearized - 4 * lifted.high * (R**2 + 2 * R * math.sqrt(level + gamma))
        for name, rate, left in (("y", moving, movement.left), ("y_TK", linearized, movement.tangent_left)):
            text = f"{rate:.4g}·t over log(r/‖{name}(t) − y*‖), the largest ratio, with R = {R:.4g}"
            yield Bound(text, _largest_ratio(lifted, movement, rate, left), at_most=1.0)

    return _along(model, X, y, mu, instants, _independent, bounds)


@theorem("woodworth2020/lemma12", flows=2, matrices=True)
def lemma12(model: Any, X: Any, y: Any, mu: float | None = None, instants: int = INSTANTS) -> Parts:
    """The assumptions of Theorem 9 imply sup‖W(t) − W(0)‖ ≤ √(Λ+λ/4)·r/(λ√μ).

    Printed: The same, and true; but (80) lacks a factor 2 on its right-hand side, which (75) compensates.

    Lemma 12, and the radius R of (78), within which the flow stays according to the proof.
    """

    def bounds(lifted: Lifted, level: float, movement: Movement) -> Iterator[Bound]:
        moved, gamma = float(movement.moved.max()), lifted.gamma(level)
        radius = math.sqrt(level + level * lifted.low / (4 * lifted.high)) - math.sqrt(level + gamma)
        yield Bound("sup‖W(t) − W(0)‖_F", moved, at_most=movement_bound(lifted, level))
        yield Bound("(78) the same, at most R = √(μ+μλ/4Λ) − √(μ+γ)", moved, at_most=radius)

    return _along(model, X, y, mu, instants, _wide, bounds)


def movement_bound(lifted: Lifted, mu: float) -> float:
    """√(Λ+λ/4)·r/(λ√μ), the bound of sup‖W − W(0)‖ (Theorem 9, first line)."""
    return _movement(lifted.low, lifted.high, mu) * lifted.residual


def tangent_bound(lifted: Lifted, mu: float) -> float:
    """The bound of sup‖W − W_TK‖ (Theorem 9, second line)."""
    curved, straight = _tangent(lifted.low, lifted.high, mu, lifted.gamma(mu))
    return curved * lifted.residual**2 + straight * lifted.residual


def _movement(low: float, high: float, mu: float) -> float:
    """√(Λ+λ/4)/(λ√μ)."""
    return math.sqrt(high + low / 4) / (low * math.sqrt(mu))


def _tangent(low: float, high: float, mu: float, gamma: float) -> tuple[float, float]:
    """Λ√(1+λ/4Λ)/(λ²μ^{3/2}) and 2√Λ√(1+γ/μ)/(λ√μ)."""
    curved = high * math.sqrt(1 + low / (4 * high)) / (low**2 * mu**1.5)
    return curved, 2 * math.sqrt(high) * math.sqrt(1 + gamma / mu) / (low * math.sqrt(mu))


def _most(low: float, high: float, mu: float, gamma: float) -> float:
    """(μλ/√Λ)(1 − √((1+γ/μ)/(1+λ/4Λ))), the largest r of Theorem 9."""
    return mu * low / math.sqrt(high) * (1 - math.sqrt((1 + gamma / mu) / (1 + low / (4 * high))))


def sharp_bounds(lifted: Lifted) -> tuple[float, float]:
    """The sharp bounds of sup‖W − W(0)‖ and sup‖W − W_TK‖; infinite if √λ·s² < 2r."""
    if not _within(lifted):
        return math.inf, math.inf
    low, high, r = math.sqrt(lifted.low), math.sqrt(lifted.high), lifted.residual
    smallest, largest = np.sqrt(lifted.spectrum[[0, -1]])
    rho = (r / low) / (smallest + math.sqrt(smallest**2 - 2 * r / low))
    turn, mass = 2 * high * rho, r / (4 * low**2 * (smallest - rho) ** 2)  # ‖J − J(0)‖, ∫‖y − y*‖
    pushed = turn * rho + 2 * high * largest * turn * mass  # ∫‖(Σ − Σ(0))(y − y*)‖
    return float(rho), float(turn * mass + pushed / (2 * low * smallest))


def _within(lifted: Lifted) -> bool:
    return 0 < 2 * lifted.residual <= math.sqrt(lifted.low) * lifted.spectrum[0]


def _along(
    model: Any, X: Any, y: Any, mu: float | None, instants: int, assumed: _Assumptions, bounds: _Bounds
) -> Parts:
    """The assumptions, then the bounds of a lifted form, μ and the movement, if they are defined.

    assumed: yields the assumptions about the initialization, and returns whether its bounds are defined.
    """
    yield factorized(model)
    lifted = lift(model, X, y)
    level = lifted.mu if mu is None else positive(mu, "mu")
    known = yield from assumed(lifted, level)
    if known and lifted.residual:
        movement = followed(lifted, whole(instants, "instants", 2))
        yield movement.settled
        yield from bounds(lifted, level, movement)


def _wide(lifted: Lifted, mu: float) -> _Assumed:
    """The assumptions of Theorem 9 and Lemma 12; their bounds need independent measurements."""
    rows, low, high, gamma = len(lifted.W), lifted.low, lifted.high, lifted.gamma(mu)
    yield Assumption(f"the width {lifted.width} is at least {rows}", lifted.width >= rows)
    yield from _independent(lifted, mu)
    if low == 0:
        return False
    text = f"μ = {mu:.6g} is above 4Λγ/λ = {4 * high * gamma / low:.6g}"
    yield Assumption(text, mu > 4 * high * gamma / low)
    most, r = _most(low, high, mu, gamma), lifted.residual
    yield Assumption(f"‖y(0) − y*‖ = {r:.6g} is at most {most:.6g}", r <= most)
    return True


def _near(lifted: Lifted, mu: float) -> _Assumed:
    """The assumptions of the sharp form."""
    yield from _independent(lifted, mu)
    reach = math.sqrt(lifted.low) * float(lifted.spectrum[0])
    yield Assumption(f"2r = {2 * lifted.residual:.6g} is at most √λ·s² = {reach:.6g}", _within(lifted))
    return True


def _independent(lifted: Lifted, mu: float) -> _Assumed:
    """The assumption of all statements here, and the only one of Lemma 11."""
    text = f"the measurements are independent: λ = {lifted.low:.4g} is above 0 (Λ = {lifted.high:.4g})"
    yield Assumption(text, lifted.low > 0)
    return True


def _largest_ratio(lifted: Lifted, movement: Movement, rate: float, left: Float) -> float:
    """The largest rate·t/log(r/left), over instants at which round-off does not affect the logarithm."""
    recorded = slice(0, movement.last)
    decrease = np.log(lifted.residual / left[recorded])
    time = movement.time[recorded]
    accurate = (decrease > _MIN_DECREASE) & (decrease < _MAX_DECREASE)
    return float(np.max(rate * time[accurate] / decrease[accurate], initial=-math.inf))


@dataclass(frozen=True)
class Constants:
    """The constants in the proof of Corollary 10 for given weights.

    alpha: their standard deviation. width: k. rows: D. low, high: λ, Λ of the measurements. size: Y = ‖y*‖.
    """

    alpha: float
    width: float
    rows: int
    low: float
    high: float
    size: float

    @property
    def mu(self) -> float:
        """α²k."""
        return self.alpha**2 * self.width

    @property
    def gamma(self) -> float:
        """8α²√(kD), equation 90."""
        return 8 * self.alpha**2 * math.sqrt(self.width * self.rows)

    @property
    def residual(self) -> float:
        """Upper bound of ‖y(0) − y*‖, equation 89: Σ⟨A, X̄_n⟩² ≤ ½Λ‖A‖_F² ≤ ½ΛDγ² for A = WWᵀ − μI."""
        return math.sqrt(2 * self.size**2 + self.high * self.rows * self.gamma**2)

    @property
    def max_residual(self) -> float:
        """The largest ‖y(0) − y*‖ that the corollary allows, equation 92."""
        return _most(self.low, self.high, self.mu, self.gamma) / math.sqrt(2)

    @property
    def movement(self) -> float:
        """The bound of sup‖W − W(0)‖, equation 98."""
        return math.sqrt(2) * _movement(self.low, self.high, self.mu) * self.residual

    @property
    def tangent(self) -> float:
        """The bound of sup‖W − W_TK‖, equation 99."""
        curved, straight = _tangent(self.low, self.high, self.mu, self.gamma)
        return 2 * curved * self.residual**2 + math.sqrt(2) * straight * self.residual


def enough_width(low: float, high: float, rows: int, size: float, alpha: float) -> float:
    """The width above which Corollary 10 holds, equation 94 as its proof needs it.

    max{4096DΛ²/λ², 256D²Λ²c²/λ², 8√2·Y√Λ(λ+4Λ)/(α²λ²)}, c = 4 + 16Λ/λ.
    """
    c = 4 + 16 * high / low
    spread = 4096 * rows * (high / low) ** 2
    outputs = 256 * (rows * high * c / low) ** 2
    targets = 8 * math.sqrt(2 * high) * size * (low + 4 * high) / (alpha * low) ** 2
    return max(spread, outputs, targets)


@theorem("woodworth2020/corollary10", flows=2, matrices=True)
def corollary10(
    model: Any,
    X: Any,
    y: Any,
    width: float | None = None,
    alpha: float | None = None,
    instants: int = INSTANTS,
) -> Parts:
    """Weights of N(0, α²) and width k, α²k large, have sup‖W − W(0)‖ ≤ O(1/(α√k) + α) and sup‖W − W_TK‖ ≤
    O(1/(α³k^{3/2}) + 1/(α√k) + α), with probability 1 − 2exp(−(d₁+d₂)/2).

    Printed: (89) has 256kd³α⁴Λ² instead of 256kd²α⁴Λ and fails for small Λ, (92) has √Λ instead of √(2Λ), and
    the third width in (94) is inverted.

    Corollary 10 with the constants of its proof.

    width: of the weights as drawn, if the model is a narrow factor with the same flow. alpha: their standard
    deviation; estimated from their mean square if left out.
    """
    yield asymmetric(model)
    lifted = lift(model, X, y)
    yield Assumption(f"the measurements are independent: λ = {2 * lifted.low:.4g} is above 0", lifted.low > 0)
    if lifted.low == 0 or lifted.residual == 0:
        return
    proof = constants(lifted, width, alpha)
    needed = 4 * proof.high * proof.gamma / proof.low
    yield Assumption(f"(91) μ = α²k = {proof.mu:.6g} is above 4Λγ/λ = {needed:.6g}", proof.mu > needed)
    small = proof.residual <= proof.max_residual
    yield Assumption(f"(92) r = {proof.residual:.6g} is at most {proof.max_residual:.6g}", small)
    yield concentrated(lifted, proof)
    movement = followed(lifted, whole(instants, "instants", 2))
    yield movement.settled
    yield Bound("(89) ‖y(0) − y*‖", lifted.residual, at_most=proof.residual)
    yield Bound("(98) sup‖W(T) − W(0)‖_F", float(movement.moved.max()), at_most=proof.movement)
    yield Bound("(99) sup‖W(T) − W_TK(T)‖_F", float(movement.apart.max()), at_most=proof.tangent)


@theorem("woodworth2020/lemma13", flows=0, matrices=True)
def lemma13(model: Any, X: Any, y: Any, width: float | None = None, alpha: float | None = None) -> Parts:
    """W, d×k with k ≥ d, from N(0, σ²) has ‖WWᵀ − σ²kI‖ ≤ 8σ²√(kd) with probability 1 − 2exp(−d/2).

    Lemma 13 for these weights; width and alpha as for Corollary 10. It does not depend on X and y.
    """
    yield factorized(model)
    lifted = lift(model, X, y)
    proof = constants(lifted, width, alpha)
    yield Assumption(f"the width {proof.width:g} is at least {proof.rows}", proof.width >= proof.rows)
    probability = 1 - 2 * math.exp(-proof.rows / 2)
    text = f"‖WWᵀ − σ²kI‖_op / σ²√(kd); Gaussian weights satisfy this with probability ≥ {probability:.6g}"
    yield Bound(text, 8 * lifted.gamma(proof.mu) / proof.gamma, at_most=8.0)


def constants(lifted: Lifted, width: float | None, alpha: float | None) -> Constants:
    """α, k, D, λ, Λ and Y of a factorization and its data."""
    k = float(lifted.width) if width is None else positive(width, "width")
    mean_square = float(np.sum(lifted.W**2)) / (len(lifted.W) * k)
    deviation = math.sqrt(mean_square) if alpha is None else positive(alpha, "alpha")
    size = float(np.linalg.norm(lifted.y))
    return Constants(deviation, k, len(lifted.W), 2 * lifted.low, 2 * lifted.high, size)


def concentrated(lifted: Lifted, proof: Constants) -> Assumption:
    """Equation 88 for these weights."""
    spread = lifted.gamma(proof.mu)
    return Assumption(
        f"(88) ‖WWᵀ − α²kI‖ = {spread:.6g} is at most 8α²√(kD) = {proof.gamma:.6g} (for weights of N(0, α²) "
        "with probability 1 − 2exp(−D/2))",
        spread <= proof.gamma,
    )
