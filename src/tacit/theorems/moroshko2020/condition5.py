"""Condition 5 of Moroshko et al. 2020: no sample that is off the support was on it before."""

from __future__ import annotations

from typing import Any

from tacit.theorems.arguments import positive
from tacit.theorems.moroshko2020.separation import far_down, plain_diagonal, separation, stability
from tacit.theorems.registry import Assumption, Bound, Parts, theorem


@theorem(
    "moroshko2020/condition5",
    "Condition 5 as α → ∞: no sample off the support was on it at a larger μ = α^D/γ̃.",
    printed="It holds for μ above the kink of the Q_μ path (Figure 3d); it fails before, where a multiplier "
    "begins to fall.",
    flows=2,
)
def condition5(model: Any, X: Any, y: Any, mu: float | None = None, down_to: float | None = None) -> Parts:
    """Condition 5 for accuracies α^D/μ, or, without mu, uniformly: for every μ from ∞ to down_to.

    A statement about the data and the depth, whatever the scale of the model. As α → ∞ the flow is the
    sweeping process of `tacit.sweeping_path`, on which a sample may leave the support and stay behind.
    down_to: 1e-9 of ‖w_ℓ2‖₂, if left out. It is a condition and no claim: where it fails, the verdict is that
    it does not apply.
    """
    mu = None if mu is None else positive(mu, "mu")
    down_to = None if down_to is None else positive(down_to, "down_to")
    yield (setting := plain_diagonal(model))
    if not setting.holds:
        return
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
