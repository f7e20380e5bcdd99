"""Condition 5 of Moroshko et al. 2020: no sample that is off the support was on it before.

Errata
------
### Section 5, Figure 3(d): until where Condition 5 holds
- **Printed.** For μ above the kink μ₀ of the Q_μ path.
- **Holds.** Until a multiplier of the path begins to fall, which is earlier.
- **Evidence.** On our data the kink is at μ₀ = 0.0404 and a sample leaves the flow at 0.1891. As α → ∞
  the gap to Q_μ, relative to its margin, tends to 2.14e-3, 1.45e-2 and 5.12e-2 at μ = 0.15, 0.1 and 0.05
  (at α^D = 7.7e3 it is 2.47e-3, 1.48e-2 and 5.15e-2); at μ = 0.19 it falls like α^{−D}.
- **Tests.** `test_a_multiplier_that_falls_is_enough`, `test_the_gap_that_is_left_where_a_sample_has_gone`,
  `test_with_condition_5_the_theorem_goes`.
"""

from __future__ import annotations

from typing import Any

from tacit.papers import Assumption, Bound, Parts, theorem
from tacit.papers.arguments import positive
from tacit.papers.moroshko2020.separation import far_down, plain_diagonal, separation, stability


@theorem("moroshko2020/condition5", flows=2, about=("Condition 8",))
def condition5(model: Any, X: Any, y: Any, mu: float | None = None, down_to: float | None = None) -> Parts:
    """Condition 5 as α → ∞: no sample off the support was on it at a larger μ = α^D/γ̃.

    Printed: It holds for μ above the kink of the Q_μ path (Figure 3d); it fails before, where a multiplier
    begins to fall.

    Condition 5 for accuracies α^D/μ, or, without mu, uniformly: for every μ from ∞ to down_to.

    A statement about the data and the depth, whatever the scale of the model. As α → ∞ the flow is the
    sweeping process of `tacit.sweeping_path`, on which a sample may leave the support and stay behind.
    down_to: 1e-9 of ‖w_ℓ2‖₂, if left out. It is a condition and no claim: where it fails, the verdict is that
    it does not apply.
    """
    mu = None if mu is None else positive(mu, "mu")
    down_to = None if down_to is None else positive(down_to, "down_to")
    yield plain_diagonal(model)
    down_to = far_down(separation(X, y)) if down_to is None else down_to
    lowest = down_to if mu is None else min(down_to, mu)
    breaches = stability(X, y, model.depth, lowest).breaches
    if mu is None:
        found, text = breaches, f"no sample leaves the support, for μ from ∞ to {down_to:.3g}"
    else:
        found = tuple(b for b in breaches if b.returns < mu < b.leaves)
        text = f"no sample off the support at μ = {mu:.4g} was on it at a larger μ"
    which = "".join(f"; {b.sample} leaves at μ = {b.leaves:.4g}" for b in found[:6])
    yield Assumption(text + which, not found)
    first = max((breach.leaves for breach in breaches), default=0.0)
    yield Bound("largest μ at which a sample leaves the support (0: none does)", first)
