r"""Corollary 10 of Woodworth et al. 2020, with the constants of its proof, and Lemma 13.

For weights from N(0, α²) of width k: μ = α²k and, with D = d₁ + d₂ rows of W = [U; V], γ = 8α²√(kD) by
Lemma 13. The corollary states O(1/(α√k) + α) and Ω(1/k). The constants used here are those of Appendix H.2,
with its errata corrected ((89), (94), and the lifted λ and Λ): with r² = 2Y² + 64kD²α⁴Λ for Y = ‖y*‖,

    μ > 4Λγ/λ,   r ≤ (μλ/√(2Λ))·(1 − √((1+γ/μ)/(1+λ/4Λ)))                           (91), (92)
    sup‖W − W(0)‖ ≤ √2·√(Λ+λ/4)·r/(λα√k)                                            (98)
    sup‖W − W_TK‖ ≤ 2Λ√(1+λ/4Λ)·r²/(λ²(α²k)^{3/2}) + 2√2·√Λ√(1+γ/μ)·r/(λα√k)        (99)

where λ and Λ are the smallest and largest eigenvalues of 𝒳𝒳ᵀ, and 𝒳 has the rows vec X_n.

Errata
------
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
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.papers import Assumption, Bound, Parts, theorem
from tacit.papers.arguments import positive, whole
from tacit.papers.woodworth2020.lifted import INSTANTS, Lifted, asymmetric, factorized, followed, lift


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
        spread = math.sqrt((1 + self.gamma / self.mu) / (1 + self.low / (4 * self.high)))
        return self.mu * self.low / math.sqrt(2 * self.high) * (1 - spread)

    @property
    def movement(self) -> float:
        """The bound of sup‖W − W(0)‖, equation 98."""
        wide = math.sqrt(self.high + self.low / 4) / (self.low * math.sqrt(self.mu))
        return math.sqrt(2) * wide * self.residual

    @property
    def tangent(self) -> float:
        """The bound of sup‖W − W_TK‖, equation 99."""
        low, high, r = self.low, self.high, self.residual
        curved = 2 * high * math.sqrt(1 + low / (4 * high)) * r**2 / (low**2 * self.mu**1.5)
        spread = math.sqrt(1 + self.gamma / self.mu)
        return curved + 2 * math.sqrt(2 * high) * spread * r / (low * math.sqrt(self.mu))


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
    yield Bound(
        f"‖WWᵀ − σ²kI‖_op / σ²√(kd); Gaussian weights satisfy this with probability ≥ {probability:.6g}",
        8 * lifted.gamma(proof.mu) / proof.gamma,
        at_most=8.0,
    )


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
