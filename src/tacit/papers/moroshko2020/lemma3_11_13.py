r"""Lemmas 3, 11 and 13 of Moroshko et al. 2020: along a flow of the exponential loss.

A diagonal network of depth D from weights α, on the exponential loss of separable data. With γ̃ = −log L,
γ₂ the ℓ2 margin of the data and x̄ = maxᵢ Σₙ|xₙᵢ|, at every time t

    γ̃ ≥ log(1 + 2D²α^{2D−2}γ₂²t)                             (Lemma 3)
    ‖w‖∞ ≤ α^D·h_D(z),    z = x̄γ̃/(h_D′(0)γ₂²α^D)              (Lemma 11 for D = 2, Lemma 13 for D > 2)

where h₂(z) = 2 sinh z and h_D(z) = (1−z)^{−D/(D−2)} − (1+z)^{−D/(D−2)}. The second says that w = α^D·h_D(s)
with |s| ≤ z. For D > 2 no s reaches 1, but z does: from there on Lemma 13 is empty, and its right side is
read as +∞ here. Losses may be exp(−1e8) and less: everything is compared in logarithms.

Errata
------
### Lemma 13: where it says something
- **Printed.** For all t. **Holds.** Until γ̃ = 2Dγ₂²α^D/((D−2)x̄), where the argument of h_D reaches 1
  and the bound is infinite. Test: `test_from_where_on_lemma_13_is_empty`.
- **Sharper.** In Lemmas 11 and 13 the largest |x_{n,i}| may stand for x̄ = max_i Σ_n|x_{n,i}|, up to N
  times less, and that is attained. Test: `test_the_largest_entry_may_stand_in_for_the_sum`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tacit.papers import Bound, Parts, Premise, Setting, theorem
from tacit.papers.arguments import log_alpha
from tacit.papers.moroshko2020.separation import (
    edge_of,
    followed,
    log_mirror,
    mirror_argument,
    plain_diagonal,
    separation,
    steady,
)


@theorem("moroshko2020/lemma3", flows=2)
def lemma3(model: Any, X: Any, y: Any, until: float | None = None) -> Parts:
    """L(t) ≤ 1/(1 + 2D²α^{2D−2}γ₂²t) at all times, γ₂ the ℓ2 margin.

    Lemma 3 as γ̃ ≥ log(1 + 2D²α^{2D−2}γ₂²t), which never underflows; until: the last accuracy γ̃ looked at.

    As t → 0 the share log(…)/γ̃ tends to γ₂²/‖mean y_n x_n‖², which is 1 where the mean of the samples is the
    shortest vector of their convex hull, such as for equal samples. Those keep it at 1 for ever as α → ∞.
    """
    yield plain_diagonal(model)
    D, data = model.depth, separation(X, y)
    yield steady(model, data)
    flow = followed(model, X, y, data, until)
    log_rate = math.log(2 * (D * data.margin) ** 2) + (2 * D - 2) * log_alpha(model)
    yield Premise("times are within the range of floats", bool(np.isfinite(flow.log_time).all()))
    promised = np.logaddexp(0.0, log_rate + flow.log_time)
    share = promised / flow.accuracy
    tight = int(np.argmax(share))
    rate = "log(1 + 2D²α^{2D−2}γ₂²t)"
    yield Bound(f"{rate}/γ̃, largest at γ̃ = {flow.accuracy[tight]:.4g}", float(share[tight]), at_most=1.0)
    yield Bound(f"{rate} at the end, against γ̃", float(promised[-1]), at_most=float(flow.accuracy[-1]))


@theorem("moroshko2020/lemma11", flows=2)
def lemma11(model: Any, X: Any, y: Any, until: float | None = None) -> Parts:
    """D = 2: ‖w(t)‖∞ ≤ 2α² sinh(x̄γ̃(t)/(2γ₂²α²)) at all times.

    Lemma 11; until: the last accuracy γ̃ looked at.

    The proof bounds |Σ rₙxₙᵢ| by x̄‖r‖∞ and ‖r‖∞ by ‖r‖₁; max|xₙᵢ| may therefore stand in for the sum x̄.
    """
    return _size(model, X, y, until, deep=False)


@theorem("moroshko2020/lemma13", flows=2, shell="--depth 3")
def lemma13(model: Any, X: Any, y: Any, until: float | None = None) -> Parts:
    """D > 2: ‖w(t)‖∞ ≤ α^D·h_D((D−2)x̄γ̃(t)/(2Dγ₂²α^D)) while the argument of h_D is below 1.

    Printed: For all t; from γ̃ = 2Dγ₂²α^D/((D−2)x̄) on, the argument of h_D is not below 1 and nothing is
    bounded.

    Lemma 13, printed for all times; until: the last accuracy γ̃ looked at.

    h_D is defined on (−1, 1), and its argument reaches 1 at γ̃ = 2Dγ₂²α^D/((D−2)x̄). Beyond, the proof gives
    |h_D⁻¹(w/α^D)| ≤ 1, which every w satisfies.
    """
    return _size(model, X, y, until, deep=True)


def _size(model: Any, X: Any, y: Any, until: float | None, deep: bool) -> Parts:
    """Lemma 11, or Lemma 13 of a deep network, along the flow."""
    plain = plain_diagonal(model)
    fits = plain.holds and deep == (model.depth > 2)
    yield Setting(f"{plain.text}, of depth {'above 2' if deep else '2'}", fits)
    D, data, log_scale = model.depth, separation(X, y), model.depth * log_alpha(model)
    yield steady(model, data)
    flow = followed(model, X, y, data, until)
    size = np.log(np.abs(flow.predictor).max(axis=1))
    limit = log_scale + log_mirror(mirror_argument(data, D, log_scale, flow.accuracy), D)
    tight = int(np.argmax(size - limit))
    note = "" if D == 2 else f"; it is +∞ from γ̃ = {edge_of(data, D, log_scale):.4g} on"
    yield Bound(
        f"‖w‖∞ over its bound, largest at γ̃ = {flow.accuracy[tight]:.4g}{note}",
        float(np.exp(size[tight] - limit[tight])),
        at_most=1.0,
    )
    yield Bound(f"log‖w‖∞ at γ̃ = {flow.accuracy[-1]:.4g}", float(size[-1]), at_most=float(limit[-1]))
