r"""Lemmas 10 and 12 of Moroshko et al. 2020 and the inequalities of Appendix B: along a flow of the exp loss.

With p_n = r_n/‖r‖₁, the pull of each sample, and H = ∇²Q, both lemmas say ∇Q(w(t)) = c_D·Zᵀ∫r, where c₂ = 4
and c_D = α^{D−2}D(D−2), and w' = c_D·H⁻¹Zᵀr. In the clock γ̃ of the flow itself

    c_D·∫r dt = ∫ p/(pᵀZ H⁻¹ Zᵀp) dγ̃,                        rows of Z: y_n x_n

where no loss and no scale is left: it is integrated by Gauss's rule from the outputs at the nodes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import softmax

from tacit.data.arrays import Float
from tacit.theorems.agreement import AGREE
from tacit.theorems.arguments import log_alpha
from tacit.theorems.moroshko2020.separation import followed, plain_diagonal, separation, settled_flow
from tacit.theorems.quadrature import Panels
from tacit.theorems.registry import Assumption, Bound, Parts, theorem

_UNTIL = 20.0  # accuracy until which integrals are followed: later, supports hardly change
_EARLY, _GROWTH, _WIDEST = 1e-3, 1.15, 0.8  # the first panel, in units of min(1, α^D), and how they widen
_LEAST = -20.0  # log α^D from which on the nodes are not too many
_ROUNDING = 1e-9  # relative


@theorem("moroshko2020/lemma10", "D = 2: w(t) = 2α² sinh(4Zᵀ∫r) and w' = A Zᵀr at all times.", flows=14)
def lemma10(model: Any, X: Any, y: Any) -> Parts:
    """Lemma 10, equations 13 and 14, until γ̃ = 20, as slopes asinh(w/2α²) of the potential."""
    return _solution(model, X, y, deep=False)


@theorem(
    "moroshko2020/lemma12",
    "D > 2: w(t) = α^D·h_D(α^{D−2}D(D−2)Zᵀ∫r) and w' = A_D Zᵀr at all times.",
    flows=14,
)
def lemma12(model: Any, X: Any, y: Any) -> Parts:
    """Lemma 12, equations 23 to 26, until γ̃ = 20, as slopes h_D⁻¹(w/α^D) of the potential."""
    return _solution(model, X, y, deep=True)


@theorem(
    "moroshko2020/inequalities",
    "γ ≤ γ̃ ≤ γ + log N and ‖w‖₂ ≥ γ̃/x_max at all times, γ the smallest margin.",
    flows=14,
)
def inequalities(model: Any, X: Any, y: Any) -> Parts:
    """Equations 10 and 12, along the flow of Lemma 3.

    Equal samples attain the first, one support vector far from all others the second, and equal samples along
    which w points the third.
    """
    yield (setting := plain_diagonal(model))
    if not setting.holds:
        return
    data = separation(X, y)
    flow = followed(model, X, y, data, None)
    gaps = flow.accuracy - (flow.y * flow.outputs).min(axis=1)
    yield Bound("(10) (γ̃ − γ)/γ̃, the smallest", float(np.min(gaps / flow.accuracy)), at_least=-_ROUNDING)
    room = float(np.max(gaps - _ROUNDING * flow.accuracy))
    yield Bound("(10) γ̃ − γ, the largest, against log N", room, at_most=math.log(data.samples))
    shares = flow.accuracy / (data.longest * np.linalg.norm(flow.predictor, axis=1))
    yield Bound("(12) γ̃/(x_max‖w‖₂), the largest", float(shares.max()), at_most=1.0)


def _solution(model: Any, X: Any, y: Any, deep: bool) -> Parts:
    """Lemma 10, or Lemma 12 of a deep network."""
    plain = plain_diagonal(model)
    fits = plain.holds and deep == (model.depth > 2)
    yield Assumption(f"{plain.text}, of depth {'above 2' if deep else '2'}", fits)
    if not fits:
        return
    separation(X, y)  # which refuses what is not separable
    log_scale = model.depth * log_alpha(model)
    yield (seen := Assumption(f"log α^D = {log_scale:.4g} is at least {_LEAST:g}", log_scale >= _LEAST))
    if not seen.holds:
        return
    panels = _panels(log_scale)
    flow = settled_flow(model, X, y, panels.instants[1:], rtol=1e-9)
    Z = flow.y[:, None] * np.asarray(flow.X)
    w = np.concatenate([np.zeros((1, Z.shape[1])), np.asarray(flow.predictor)])
    potential = model.potential(Z.shape[1])
    pulls = _pulls(Z, w, potential.hessian(w))
    promised = panels.integral(pulls) @ Z
    slopes = potential.gradient(panels.at_ends(w))
    apart = np.abs(slopes - promised)[1:].max(axis=1) / np.abs(slopes)[1:].max(axis=1)
    yield Bound(
        "‖∇Q(w(t)) − c_D·Zᵀ∫r‖∞ over ‖∇Q(w(t))‖∞, the largest on the way",
        float(apart.max()),
        at_most=AGREE,
    )


def _pulls(Z: Float, w: Float, hessian: Float) -> Float:
    """p/(pᵀZ H⁻¹ Zᵀp) at each instant."""
    p = softmax(-w @ Z.T, axis=1)
    force = p @ Z
    return np.asarray(p / np.sum(force**2 / hessian, axis=1)[:, None])


def _panels(log_scale: float) -> Panels:
    """From γ̃ = 0: growing from a part of min(1, α^D), and of width 0.8 in the end."""
    ends = [0.0, _EARLY * min(1.0, math.exp(min(max(log_scale, -300.0), 0.0)))]
    while ends[-1] < _UNTIL:
        ends.append(ends[-1] + min((_GROWTH - 1) * ends[-1], _WIDEST))
    return Panels(np.array(ends))
