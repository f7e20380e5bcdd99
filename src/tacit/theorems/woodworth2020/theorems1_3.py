r"""Theorems 1 and 3 of Woodworth et al. 2020: where a diagonal network ends, against its flow.

    β(∞) = argmin Q(β) s.t. Xβ = y,    Q(β) = Σ αᴰw₀ᵢ²·q_D(βᵢ/(αᴰw₀ᵢᴰ)),

with q₂ of equation 21 and q_D = ∫h_D⁻¹ of equation 59. Both theorems assume that the flow fits the data. The
flow is followed on the raw weights, which assumes nothing, where that takes about a second; and else in
mirror space, ∇Q(β) = Xᵀν, at any scale, a form that is part of the proofs (equations 18 and 58). Q itself is
held against the weights by its metric (`tacit.theorems.metric`). method="parameters" takes raw weights,
however long that is.
"""

from __future__ import annotations

from typing import Any

import tacit
from tacit.theorems.agreement import compared
from tacit.theorems.arguments import check_method
from tacit.theorems.registry import Parts, Setting, theorem


@theorem(
    "woodworth2020/theorem1",
    "β(∞) = argmin Q_{α,w₀}(β) s.t. Xβ = y for a diagonal network of depth 2 whose flow fits the data.",
)
def theorem1(model: Any, X: Any, y: Any, method: str = "auto") -> Parts:
    """Theorem 1 in its general case: any scale α and profile w₀; method: "auto" or "parameters"."""
    check_method(method)
    yield (setting := Setting("the model is Diagonal of depth 2", _depth(model) == 2))
    if setting.holds:
        yield from compared(model, X, y, method)


@theorem(
    "woodworth2020/theorem3",
    "β(∞) = argmin Q^D_α(β) s.t. Xβ = y for a diagonal network of depth D > 2 whose flow fits the data.",
    flows=2,
)
def theorem3(model: Any, X: Any, y: Any, method: str = "auto") -> Parts:
    """Theorem 3, printed for whole D ≥ 3 and w₀ = 1; method: "auto" or "parameters".

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
