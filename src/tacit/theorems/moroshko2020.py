r"""Lemmas 3, 11 and 13 of Moroshko et al. 2020, and their Condition 5.

A diagonal network of depth D from weights α, on the exponential loss of separable data. With γ̃ = −log L,
γ₂ the ℓ2 margin of the data and x̄ = maxᵢ Σₙ|xₙᵢ|, at every time t

    γ̃ ≥ log(1 + 2D²α^{2D−2}γ₂²t)                             (Lemma 3)
    ‖w‖∞ ≤ α^D·h_D(z),    z = x̄γ̃/(h_D′(0)γ₂²α^D)              (Lemma 11 for D = 2, Lemma 13 for D > 2)

where h₂(z) = 2 sinh z and h_D(z) = (1−z)^{−D/(D−2)} − (1+z)^{−D/(D−2)}. The second says that w = α^D·h_D(s)
with |s| ≤ z. For D > 2 no s reaches 1, but z does: from there on Lemma 13 is empty, and its right side is
read as +∞ here. Losses may be exp(−1e8) and less: everything is compared in logarithms.

Theorems 4, 6 and 7 are in `moroshko2020_regimes`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tacit
from tacit.theorems.arguments import log_alpha, positive
from tacit.theorems.registry import Assumption, Bound, Parts, theorem
from tacit.theorems.sharing import shared

Float = NDArray[np.float64]

_INSTANTS = 41  # of the flow that are looked at, evenly in log γ̃
_EARLY = 1e-3  # of min(1, α^D, the accuracy at which z = 1): the accuracy of the first of them
_FAR = 10.0  # times α^D: how accurate the flow becomes if not told otherwise, but at least _ACCURATE
_ACCURATE = 50.0
_LOGS = 600.0  # logarithms of accuracies stay within ±this
_RICH = 1e-9  # of ‖w_ℓ2‖₂: the smallest μ looked at


@dataclass(frozen=True, eq=False)
class Separation:
    """What the bounds need to know of the data.

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


@theorem(
    "moroshko2020/lemma3",
    "L(t) ≤ 1/(1 + 2D²α^{2D−2}γ₂²t) at all times, γ₂ the ℓ2 margin.",
    flows=2,
)
def lemma3(model: Any, X: Any, y: Any, until: float | None = None) -> Parts:
    """Lemma 3 as γ̃ ≥ log(1 + 2D²α^{2D−2}γ₂²t), which never underflows; until: the last accuracy γ̃ looked at.

    As t → 0 the share log(…)/γ̃ tends to γ₂²/‖mean y_n x_n‖², which is 1 where the mean of the samples is the
    shortest vector of their convex hull, such as for equal samples. Those keep it at 1 for ever as α → ∞.
    """
    yield (setting := plain_diagonal(model))
    if not setting.holds:
        return
    D, data = model.depth, separation(X, y)
    flow = _followed(model, X, y, data, until)
    log_rate = math.log(2 * (D * data.margin) ** 2) + (2 * D - 2) * log_alpha(model)
    promised = np.logaddexp(0.0, log_rate + flow.log_time)
    share = promised / flow.accuracy
    tight = int(np.argmax(share))
    rate = "log(1 + 2D²α^{2D−2}γ₂²t)"
    yield Bound(f"{rate}/γ̃, largest at γ̃ = {flow.accuracy[tight]:.4g}", float(share[tight]), at_most=1.0)
    yield Bound(f"{rate} at the end, against γ̃", float(promised[-1]), at_most=float(flow.accuracy[-1]))


@theorem("moroshko2020/lemma11", "D = 2: ‖w(t)‖∞ ≤ 2α² sinh(x̄γ̃(t)/(2γ₂²α²)) at all times.", flows=2)
def lemma11(model: Any, X: Any, y: Any, until: float | None = None) -> Parts:
    """Lemma 11; until: the last accuracy γ̃ looked at.

    The proof bounds |Σ rₙxₙᵢ| by x̄‖r‖∞ and ‖r‖∞ by ‖r‖₁; max|xₙᵢ| may therefore stand in for the sum x̄.
    """
    return _size(model, X, y, until, deep=False)


@theorem(
    "moroshko2020/lemma13",
    "D > 2: ‖w(t)‖∞ ≤ α^D·h_D((D−2)x̄γ̃(t)/(2Dγ₂²α^D)) while the argument of h_D is below 1.",
    flows=2,
)
def lemma13(model: Any, X: Any, y: Any, until: float | None = None) -> Parts:
    """Lemma 13, printed for all times; until: the last accuracy γ̃ looked at.

    h_D is defined on (−1, 1), and its argument reaches 1 at γ̃ = 2Dγ₂²α^D/((D−2)x̄). Beyond, the proof gives
    |h_D⁻¹(w/α^D)| ≤ 1, which every w satisfies.
    """
    return _size(model, X, y, until, deep=True)


def _size(model: Any, X: Any, y: Any, until: float | None, deep: bool) -> Parts:
    """Lemma 11, or Lemma 13 of a deep network, along the flow."""
    plain = plain_diagonal(model)
    fits = plain.holds and deep == (model.depth > 2)
    yield Assumption(f"{plain.text}, of depth {'above 2' if deep else '2'}", fits)
    if not fits:
        return
    D, data, log_scale = model.depth, separation(X, y), model.depth * log_alpha(model)
    flow = _followed(model, X, y, data, until)
    size = np.log(np.abs(flow.predictor).max(axis=1))
    limit = log_scale + log_mirror(mirror_argument(data, D, log_scale, flow.accuracy), D)
    tight = int(np.argmax(size - limit))
    note = "" if D == 2 else f"; it is +∞ from γ̃ = {_edge(data, D, log_scale):.4g} on"
    yield Bound(
        f"‖w‖∞ over its bound, largest at γ̃ = {flow.accuracy[tight]:.4g}{note}",
        float(np.exp(size[tight] - limit[tight])),
        at_most=1.0,
    )
    yield Bound(f"log‖w‖∞ at γ̃ = {flow.accuracy[-1]:.4g}", float(size[-1]), at_most=float(limit[-1]))


def _edge(data: Separation, depth: float, log_scale: float) -> float:
    """The accuracy at which the argument of h_D is 1."""
    with np.errstate(over="ignore"):
        return float(1 / mirror_argument(data, depth, log_scale, 1.0))


@theorem(
    "moroshko2020/condition5",
    "Condition 5 as α → ∞: no sample off the support was on it at a larger μ = α^D/γ̃.",
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


def far_down(data: Separation) -> float:
    """A μ so small that Q_μ is as good as ℓ1 (for D > 2)."""
    return _RICH * data.norm


def plain_diagonal(model: Any) -> Assumption:
    """Is the model a diagonal network that starts from equal weights?"""
    plain = isinstance(model, tacit.Diagonal)
    plain = plain and (model.profile is None or bool(np.all(model.profile == 1)))
    return Assumption("the model is Diagonal with equal initial weights", plain)


def _followed(model: Any, X: Any, y: Any, data: Separation, until: float | None) -> tacit.Trajectory:
    """The flow of the exponential loss at instants from the kernel regime to the accuracy `until`.

    The first lies well before z reaches 1, so that Lemma 13 is looked at where it says something.
    """
    log_scale = model.depth * log_alpha(model)
    scale = math.exp(min(max(log_scale, -_LOGS), _LOGS))
    last = max(_ACCURATE, _FAR * scale) if until is None else positive(until, "until")
    edge = max(_edge(data, model.depth, log_scale), math.exp(-_LOGS))
    first = _EARLY * min(1.0, scale, edge, last)
    return settled_flow(model, X, y, np.geomspace(first, last, _INSTANTS))


@shared
def settled_flow(model: Any, X: Any, y: Any, accuracies: Any, rtol: float = 1e-8) -> tacit.Trajectory:
    """The flow of the exponential loss at these accuracies, all of them reached."""
    flow = tacit.flow(model, X, y, loss="exp", at=accuracies, rtol=rtol)
    if not flow.converged:
        raise tacit.NotConvergedError(
            f"the flow of {model!r} ended early ({flow.reason}); no bound can be checked"
        )
    return flow


@shared
def settled_margin(X: Any, y: Any, norm: str) -> tacit.Margin:
    """The maximum margin in this norm, with its certificate met."""
    margin = tacit.max_margin(X, y, norm)
    if not margin.converged:
        raise tacit.NotConvergedError(f"the {norm} margin did not converge; no bound can be checked with it")
    return margin


@shared
def stability(X: Any, y: Any, depth: float, down_to: float) -> tacit.Stability:
    """Which samples leave the support of the path down to this μ."""
    return tacit.support_stability(X, y, depth=depth, down_to=down_to)
