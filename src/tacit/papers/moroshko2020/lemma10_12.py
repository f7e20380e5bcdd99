"""Lemmas 10 and 12 of Moroshko et al. 2020 and the inequalities of Appendix B, along a flow."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tacit.papers import Bound, Parts, Premise, Setting, theorem
from tacit.papers.agreement import AGREE
from tacit.papers.arguments import log_alpha
from tacit.papers.moroshko2020.exponential_flow import settled_course
from tacit.papers.moroshko2020.separation import followed, plain_diagonal, separation, steady

_LEAST = -20.0  # log α^D from which on the nodes are not too many
_ROUNDING = 1e-7  # relative: ten times the rtol to which outputs and the clock γ̃ of the flow agree


@theorem("moroshko2020/lemma10", flows=4)
def lemma10(model: Any, X: Any, y: Any) -> Parts:
    """D = 2: w(t) = 2α² sinh(4Zᵀ∫r) and w' = A Zᵀr at all times.

    Lemma 10, equations 13 and 14, until γ̃ = 20, as slopes asinh(w/2α²) of the potential.
    """
    return _solution(model, X, y, deep=False)


@theorem("moroshko2020/lemma12", flows=4, shell="--depth 3")
def lemma12(model: Any, X: Any, y: Any) -> Parts:
    """D > 2: w(t) = α^D·h_D(α^{D−2}D(D−2)Zᵀ∫r) and w' = A_D Zᵀr at all times.

    Lemma 12, equations 23 to 26, until γ̃ = 20, as slopes h_D⁻¹(w/α^D) of the potential.
    """
    return _solution(model, X, y, deep=True)


@theorem("moroshko2020/inequalities", flows=2, about=("Useful inequalities",))
def inequalities(model: Any, X: Any, y: Any) -> Parts:
    """γ ≤ γ̃ ≤ γ + log N and ‖w‖₂ ≥ γ̃/x_max at all times, γ the smallest margin.

    Equations 10 and 12, along the flow of Lemma 3.

    Equal samples attain the first, one support vector far from all others the second, and equal samples along
    which w points the third.
    """
    yield plain_diagonal(model)
    data = separation(X, y)
    yield steady(model, data)
    flow = followed(model, X, y, data, None)
    gaps = flow.accuracy - (flow.y * flow.outputs).min(axis=1)
    yield Bound("(10) (γ̃ − γ)/γ̃, the smallest", float(np.min(gaps / flow.accuracy)), at_least=-_ROUNDING)
    room = float(np.max(gaps - _ROUNDING * flow.accuracy))
    yield Bound("(10) γ̃ − γ, the largest, against log N", room, at_most=math.log(data.samples))
    shares = flow.accuracy / (data.longest * np.linalg.norm(flow.predictor, axis=1))
    yield Bound("(12) γ̃/(x_max‖w‖₂), the largest", float(shares.max()), at_most=1 + _ROUNDING)


def _solution(model: Any, X: Any, y: Any, deep: bool) -> Parts:
    """Lemma 10, or Lemma 12 of a deep network."""
    plain = plain_diagonal(model)
    fits = plain.holds and deep == (model.depth > 2)
    yield Setting(f"{plain.text}, of depth {'above 2' if deep else '2'}", fits)
    separation(X, y)  # which refuses what is not separable
    log_scale = model.depth * log_alpha(model)
    yield Premise(f"log α^D = {log_scale:.4g} is at least {_LEAST:g}", log_scale >= _LEAST)
    course, settled = settled_course(model, X, y)
    yield settled
    way, time = (float(each) for each in course.apart())
    yield Bound("‖∇Q(w(t)) − c_D·Zᵀ∫r‖∞ over ‖∇Q(w(t))‖∞, the largest on the way", way, at_most=AGREE)
    yield Bound("|t − ∫dγ̃/γ̃'|/t, γ̃' that of w' = c_D·H⁻¹Zᵀr, the largest", time, at_most=AGREE)
