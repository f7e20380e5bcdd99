r"""Lemmas B.1 to B.4 of Min et al. 2021, on the matrices to which its proofs apply them.

They are well-known facts about matrices; the measured values show how much each step of the proofs loses.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tacit
from tacit.data.arrays import Float
from tacit.papers import Assumption, Bound, Parts, Premise, theorem
from tacit.papers.min2021.network import (
    LOSS,
    RTOL,
    Split,
    above_minimum,
    errors_of,
    followed,
    linear_network,
    narrow,
    split,
    stacked,
)
from tacit.papers.quadrature import Panels

_FALL = 12.0  # log(‖E(0)‖²/‖E‖²) up to which (25) is checked; later E is close to the accuracy of the flow
_ZERO = 1e-12  # relative singular values below this are round-off


@theorem("min2021/lemmaB.1", flows=2)
def lemma_b1(model: Any, X: Any, y: Any) -> Parts:
    """u' ≤ βu implies u(t) ≤ u(0)exp(∫β), here for (25): u = ‖E‖², β = −2λ_r(Σ_x)(λ_r(U₁U₁ᵀ) + λ_m(VVᵀ)).

    Grönwall's inequality with (25), before the time-dependent rate is replaced by the imbalance.

    The share ∫|β|/log(u(0)/u) is between that of Theorem 1 and 1.
    """
    yield linear_network(model)
    parts = split(model, X, y)
    yield above_minimum(parts, 1e4)
    first = followed(parts)
    fallen = 2 * np.log(np.linalg.norm(parts.error) / errors_of(parts, stacked(narrow(parts), first)[1:]))
    panels = Panels(np.append(0.0, first.time[fallen < _FALL]))
    yield Premise("the loss falls", len(panels.ends) > 2)
    flow = tacit.flow(
        narrow(parts), np.diag(parts.sizes), parts.targets, loss=LOSS, times=panels.instants, rtol=RTOL
    )
    Z = np.concatenate([flow.weights["U"], flow.weights["V"]], axis=1)
    promised = panels.integral(np.array([_rate(parts, z) for z in Z]))[1:]
    fall = 2 * np.log(np.linalg.norm(parts.error) / errors_of(parts, panels.at_ends(Z)[1:]))
    yield Bound(
        "∫|β|/log(u(0)/u(t)), the largest along the flow", float(np.max(promised / fall)), at_most=1.0
    )


@theorem("min2021/lemmaB.2", flows=0)
def lemma_b2(model: Any, X: Any, y: Any) -> Parts:
    """σ_{i+j−1}(ABᵀ) ≤ σᵢ(A)σⱼ(B), here for A = Σ_x^{½}U₁ and B = V.

    Weyl's inequality for singular values; smaller matrices are padded with zeros.
    """
    yield linear_network(model)
    parts = split(model, X, y)
    A, B = parts.sizes[:, None] * parts.seen, parts.outer
    product, left, right = _singular(A @ B.T), _singular(A), _singular(B)
    shares = [
        product[i + j] / (left[i] * right[j])
        for i in range(len(left))
        for j in range(len(right))
        if i + j < len(product) and left[i] * right[j] > _ZERO * left[0] * right[0]
    ]
    yield Assumption("neither matrix is zero", bool(shares))
    yield Bound("σ_{i+j−1}(ABᵀ)/(σᵢ(A)σⱼ(B)), the largest", max(shares, default=0.0), at_most=1.0)


@theorem("min2021/lemmaB.3", flows=0)
def lemma_b3(model: Any, X: Any, y: Any) -> Parts:
    """σᵢ(A)σ_n(B) ≤ σᵢ(AB) for B of n rows and at least as many columns, here for A = Σ_x^{½} and B = U₁.

    Lemma B.3, printed with <; it is an equality if X has equal singular values.
    """
    yield linear_network(model)
    parts = split(model, X, y)
    rank, width = parts.seen.shape
    yield Premise(f"U₁ has no more rows than columns: {rank} ≤ {width}", rank <= width)
    smallest = _singular(parts.seen)[-1]
    yield Bound(
        "σᵢ(A)σ_n(B)/σᵢ(AB), the largest",
        float(np.max(parts.sizes * smallest / _singular(parts.sizes[:, None] * parts.seen))),
        at_most=1.0,
    )


@theorem("min2021/lemmaB.4", flows=0)
def lemma_b4(model: Any, X: Any, y: Any) -> Parts:
    """λ_n(A)tr B ≤ tr AB ≤ λ₁(A)tr B for symmetric A and B ⪰ 0, here A = U₁U₁ᵀ and B = Σ_x^{½}EEᵀΣ_x^{½}.

    The trace inequality as in (23), at initialization.
    """
    yield linear_network(model)
    parts = split(model, X, y)
    half = parts.sizes[:, None] * parts.error
    yield above_minimum(parts)
    values = np.linalg.eigvalsh(parts.seen @ parts.seen.T)
    mean = float(np.sum((parts.seen.T @ half) ** 2) / np.sum(half**2))
    slack = 10 * np.finfo(float).eps * float(values[-1])
    yield Bound("tr AB/tr B", mean, at_least=float(values[0] - slack), at_most=float(values[-1] + slack))


def _rate(parts: Split, Z: Float) -> float:
    """2λ_r(Σ_x)(λ_r(U₁U₁ᵀ) + λ_m(VVᵀ))."""
    rank = len(parts.sizes)
    least = [np.linalg.eigvalsh(block @ block.T)[0] for block in (Z[:rank], Z[rank:])]
    return 2 * float(parts.sizes[-1]) ** 2 * float(max(least[0], 0.0) + max(least[1], 0.0))


def _singular(matrix: Float) -> Float:
    return np.asarray(np.linalg.svd(matrix, compute_uv=False))
