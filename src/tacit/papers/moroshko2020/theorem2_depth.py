r"""Theorem 2 of Moroshko et al. 2020 and the role of depth: directions of weights, and the accuracy needed.

For a model of degree D, ρ = ‖u‖ and the smoothed margin γ̂ = (γ̃ − log N)/ρ^D, Lyu and Li 2020 show

    (log γ̂)' ≥ D·tan²∠(u, u')·(log ρ)',                                                      (∗)

so that γ̂ does not decrease once γ̃ > log N, and the smallest tan² on an interval of the flow is at most
log(γ̂₂/γ̂₁)/(D·log(ρ₂/ρ₁)), which vanishes as ρ grows. If u and −∇L are parallel, u is a KKT point of
min ‖u‖₂ subject to margins of at least 1, except for complementarity, which is at most log N/γ.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import softmax

import tacit
from tacit.data.arrays import Float
from tacit.papers import Assumption, Bound, Parts, theorem
from tacit.papers.arguments import between, log_alpha
from tacit.papers.moroshko2020.separation import (
    plain_diagonal,
    rich_excess,
    separation,
    settled_flow,
    settled_margin,
    steady,
)

_INSTANTS = 61
_LATE = 1e4  # largest accuracy, in units of max(1, α^D)
_RISES = 1e-9  # relative decrease of γ̂ that may be round-off
_SMALLEST = 600.0  # log B/μ above which every bound counts as met
_DOWN = np.geomspace(1e2, 1e-8, 81)  # values of μ in units of ‖w_ℓ2‖₂


@theorem("moroshko2020/theorem2", flows=4)
def theorem2(model: Any, X: Any, y: Any) -> Parts:
    """As L → 0 directions u/‖u‖ tend to KKT points of min ‖u‖₂ s.t. y_n f(u, x_n) ≥ 1 (Lyu and Li).

    Theorem 2 by the inequality of its proof, from γ̃ = 2 log N + 1 to 1e4·max(1, α^D).
    """
    yield plain_diagonal(model)
    data, scale = separation(X, y), math.exp(min(model.depth * log_alpha(model), 50.0))
    yield steady(model, data)
    first = 2 * math.log(data.samples) + 1
    flow = settled_flow(model, X, y, np.geomspace(first, max(_LATE * max(1.0, scale), 10 * first), _INSTANTS))
    D, Z = model.depth, flow.y[:, None] * np.asarray(flow.X)
    log_u = np.log(np.concatenate([flow.weights["w₊"], flow.weights["w₋"]], axis=1))
    log_rho = np.log(np.linalg.norm(np.exp(log_u), axis=1))
    margins = flow.y * flow.outputs
    slopes = tangents(log_u, softmax(-margins, axis=1) @ np.hstack([Z, -Z]), D)
    log_hat = np.log(flow.accuracy - math.log(data.samples)) - D * log_rho
    yield Bound("smallest increase of log γ̂", float(np.diff(log_hat).min()), at_least=-_RISES)
    half = _INSTANTS // 2
    allowed = (log_hat[-1] - log_hat[half]) / (D * (log_rho[-1] - log_rho[half]))
    text = f"tan²∠(u, −∇L), the smallest from γ̃ = {flow.accuracy[half]:.4g} to {flow.accuracy[-1]:.4g}"
    yield Bound(text, float(slopes[half:].min()), at_most=float(allowed) + _RISES)
    pulls = softmax(-margins[-1])
    spread = float(pulls @ (margins[-1] / margins[-1].min() - 1))
    most = math.log(data.samples) / float(margins[-1].min())
    yield Bound("complementarity Σp_n(m_n/γ − 1) at the end", spread, at_most=most + _RISES)


def tangents(log_u: Float, force: Float, depth: float) -> Float:
    """tan² of the angle between u and u^{D−1}∘force at each recorded time, from log u."""
    unit = log_u - log_u.max(axis=1, keepdims=True)
    u, velocity = np.exp(unit), np.exp((depth - 1) * unit) * force
    along = np.sum(u * velocity, axis=1)
    across = velocity - u * (along / np.sum(u**2, axis=1))[:, None]
    return np.asarray(np.sum(across**2, axis=1) * np.sum(u**2, axis=1) / along**2)


def digits(log_scale: float, mu: float) -> float:
    """log₁₀(1/ε), ε = exp(−α^D/μ): the digits of the loss at which a flow reaches the margin of Q_μ."""
    return math.exp(log_scale) / (mu * math.log(10))


def log_enough(norm: float, features: int, depth: float, delta: float) -> float:
    """The largest log μ at which `rich_excess` is at most δ."""
    low, high = math.log(norm) - _SMALLEST, math.log(norm) + 3
    for _ in range(60):
        middle = (low + high) / 2
        enough = rich_excess(norm, features, depth, math.exp(middle)) <= delta
        low, high = (middle, high) if enough else (low, middle)
    return low


@theorem("moroshko2020/depth", flows=2, about=("Role of depth",))
def depth(model: Any, X: Any, y: Any, delta: float = 0.05) -> Parts:
    """An excess ℓ1 norm of δ requires γ̃ = α^D/μ with 1/μ = exp(O(1/δ)) for D = 2 and poly(1/δ) for D > 2.

    The role of depth, Section 4: the μ below which the margin of Q_μ is within δ of the ℓ1 margin.

    `rich_excess` bounds the excess at every μ: about log(ed)/log(B/μ) for D = 2, B = ‖w_ℓ1‖₁, and
    (D/2)(dμ/B)^{1−2/D} for D > 2. The excess on given data may decrease faster and is measured.
    """
    delta = between(delta, "delta", 0, 1)
    yield plain_diagonal(model)
    data, D = separation(X, y), model.depth
    norm = float(np.abs(settled_margin(X, y, "l1").predictor).sum())
    mu = _DOWN * data.norm
    excess = np.abs(tacit.margin_path(X, y, mu, depth=D).predictors).sum(axis=1) / norm - 1
    allowed = np.array([rich_excess(norm, data.features, D, each) for each in mu.tolist()])
    shares = excess / allowed
    yield Bound("excess ℓ1 norm over its bound, the largest over μ", float(shares.max()), at_most=1.0)
    within = np.flatnonzero(excess > delta)
    reached = int(within[-1]) + 1 if within.size else 0
    yield Assumption(f"an excess of {delta:g} is reached above μ = {mu[-1]:.3g}", reached < len(mu))
    if reached < len(mu):
        yield Bound(
            f"log 1/μ, in units of 1/‖w_ℓ2‖₂, at which the excess is {delta:g}",
            math.log(data.norm / float(mu[reached])),
            at_most=math.log(data.norm) - log_enough(norm, data.features, D, delta),
        )
        asked = digits(min(D * log_alpha(model), 700.0), float(mu[reached]))
        yield Bound("decimal digits of the training loss that this requires at the model's scale", asked)
