"""Properties of separable data, and of flows on them, for the statements of Moroshko et al. 2020."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tacit
from tacit.numerics.roots import crossing
from tacit.papers import Premise, Setting
from tacit.papers.agreement import suddenness
from tacit.papers.arguments import arrived, log_alpha, positive
from tacit.papers.statements import shared

Float = NDArray[np.float64]
_EARLY_END = "the flow of {!r} ended early ({}); no bound can be checked"
_INSTANTS = 41  # recorded states of the flow, evenly in log γ̃
_EARLY = 1e-3  # accuracy of the first, relative to min(1, α^D, the accuracy at which z = 1)
_FAR = 10.0  # default final accuracy in units of α^D, but at least _ACCURATE
_ACCURATE = 50.0
_LOGS = 600.0  # largest absolute logarithm of an accuracy
_STEADY = 1e-8  # below this, round-off of a slope changes margins by more than 1e-8, at which flows stop
_RICH = 1e-9  # smallest μ, relative to ‖w_ℓ2‖₂


@dataclass(frozen=True, eq=False)
class Separation:
    """Quantities of the data that appear in the bounds.

    margin: γ₂ = max over ‖w‖₂ = 1 of the smallest y_n x_n·w. predictor: w_ℓ2, of norm 1/γ₂ and smallest
    margin 1. spread: x̄, the largest column sum of |X|. longest: x_max = maxₙ‖xₙ‖₂. samples: N. features: d.
    """

    margin: float
    predictor: Float
    spread: float
    longest: float
    samples: int
    features: int

    @property
    def norm(self) -> float:
        """‖w_ℓ2‖₂."""
        return 1 / self.margin


def separation(X: Any, y: Any) -> Separation:
    """γ₂, w_ℓ2, x̄ and x_max of labelled data."""
    best = settled_margin(X, y, "l2")
    inputs = np.asarray(best.X)
    return Separation(
        margin=1 / best.value,
        predictor=best.predictor,
        spread=float(np.abs(inputs).sum(axis=0).max()),
        longest=float(np.linalg.norm(inputs, axis=1).max()),
        samples=len(inputs),
        features=inputs.shape[1],
    )


def log_mirror(z: Any, depth: float) -> Float:
    """log h_D(z) for z > 0; +∞ from z = 1 on where D > 2."""
    z = np.asarray(z, dtype=np.float64)
    if depth == 2:
        return np.asarray(z + np.log(-np.expm1(-2 * z)))
    power, inside = depth / (depth - 2), z < 1
    z = np.where(inside, z, 0.5)
    finite = np.log(-np.expm1(power * (np.log1p(-z) - np.log1p(z)))) - power * np.log1p(-z)
    return np.where(inside, finite, np.inf)


def mirror_argument(data: Separation, depth: float, log_scale: float, accuracy: Any) -> Float:
    """z = x̄γ̃/(h_D′(0)γ₂²α^D) of Lemmas 11 and 13, with h_D′(0) = 2D/(D−2), or 2 for D = 2.

    log_scale: of the predictor, log α^D.
    """
    slope = 2.0 if depth == 2 else 2 * depth / (depth - 2)
    log_unit = math.log(data.spread / (slope * data.margin**2)) - log_scale
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.exp(log_unit + np.log(np.asarray(accuracy, dtype=np.float64))))


def far_down(data: Separation) -> float:
    """A μ so small that Q_μ agrees with ℓ1 up to round-off (for D > 2)."""
    return _RICH * data.norm


def plain_diagonal(model: Any, deep: bool | None = None) -> Setting:
    """Whether the model is a diagonal network with equal initial weights. deep: of depth above 2, or 2."""
    plain = isinstance(model, tacit.Diagonal)
    plain = plain and (model.profile is None or bool(np.all(model.profile == 1)))
    text = "the model is Diagonal with equal initial weights"
    if deep is None:
        return Setting(text, plain)
    return Setting(f"{text}, of depth {'above 2' if deep else '2'}", plain and deep == (model.depth > 2))


def log_clock(depth: float, log_alpha: float) -> float:
    """log c_D of Lemmas 10 and 12: c₂ = 4, and c_D = α^{D−2}D(D−2) for D > 2."""
    return math.log(4) if depth == 2 else math.log(depth * (depth - 2)) + (depth - 2) * log_alpha


def steady(model: Any, data: Separation) -> Premise:
    """Whether the flow can be integrated; its transition can be too fast for double precision."""
    sudden = suddenness(model, data.predictor)
    text = (
        "double precision can resolve the flow: its transition takes "
        f"{sudden:.2g} of the time spent near the start"
    )
    return Premise(text, sudden >= _STEADY)


@shared
def settled_flow(model: Any, X: Any, y: Any, accuracies: Any, rtol: float = 1e-8) -> tacit.Trajectory:
    """The flow of the exponential loss at these accuracies; raises if it does not reach them."""
    flow = tacit.flow(model, X, y, loss="exp", at=accuracies, rtol=rtol)
    return arrived(flow, _EARLY_END.format(model, flow.reason))


@shared
def overview(model: Any, X: Any, y: Any, until: float, rtol: float) -> tacit.Trajectory:
    """The flow of the exponential loss to this accuracy, at the states that it records by default."""
    flow = tacit.flow(model, X, y, loss="exp", until=until, rtol=rtol)
    return arrived(flow, _EARLY_END.format(model, flow.reason))


@shared
def settled_margin(X: Any, y: Any, norm: str) -> tacit.Margin:
    """The maximum margin in this norm; raises if it is not certified."""
    words = f"the {norm} margin did not converge; no bound can be checked with it"
    return arrived(tacit.max_margin(X, y, norm), words)


@shared
def stability(X: Any, y: Any, depth: float, down_to: float) -> tacit.Stability:
    """The stability of the support down to this μ."""
    return tacit.support_stability(X, y, depth=depth, down_to=down_to)


def edge_of(data: Separation, depth: float, log_scale: float) -> float:
    """The accuracy at which the argument of h_D is 1."""
    with np.errstate(over="ignore"):
        return float(1 / mirror_argument(data, depth, log_scale, 1.0))


def followed(model: Any, X: Any, y: Any, data: Separation, until: float | None) -> tacit.Trajectory:
    """The flow of the exponential loss at accuracies from the kernel regime to `until`.

    The first is well below the accuracy at which z = 1, so that Lemma 13 is not vacuous there.
    """
    log_scale = model.depth * log_alpha(model)
    scale = math.exp(min(max(log_scale, -_LOGS), _LOGS))
    last = max(_ACCURATE, _FAR * scale) if until is None else positive(until, "until")
    edge = max(edge_of(data, model.depth, log_scale), math.exp(-_LOGS))
    first = _EARLY * min(1.0, scale, edge, last)
    return settled_flow(model, X, y, np.geomspace(first, last, _INSTANTS))


def rich_excess(norm: float, features: int, depth: float, mu: float, left: float = 0.0) -> float:
    """An upper bound of ‖ŵ‖₁/‖w_ℓ1‖₁ − 1 at μ = α^D/min z_n·w, where norm = ‖w_ℓ1‖₁.

    left: the right side of (∗) with w* = w_ℓ1. From |z|log|z| − |z| ≤ q₂(z) ≤ |z|log(1 + |z|), for D > 2
    from |z| − (D/2)|z|^{2/D} ≤ q_D(z) ≤ |z|, and Jensen's inequality, S = ‖ŵ‖₁ and B = ‖w_ℓ1‖₁ satisfy

        S·log(S/(edμ)) ≤ B·log(1 + B/μ) + left        S − (D/2)(dμ)^{1−2/D}S^{2/D} ≤ B + left

    for D = 2 and D > 2. Returns the largest S/B − 1: about log(ed)/log(B/μ), or (D/2)(dμ/B)^{1−2/D}.
    """
    rest, share = left / norm, features * mu / norm

    def beyond(ratio: float) -> float:
        if depth == 2:
            return ratio * (math.log(ratio / share) - 1) - math.log1p(features / share) - rest
        return ratio - depth / 2 * share ** (1 - 2 / depth) * ratio ** (2 / depth) - 1 - rest

    low = high = max(1.0, share)  # beyond() is negative here and increases
    while beyond(high) < 0:
        high *= 2
    return crossing(beyond, low, high, rtol=1e-13) - 1
