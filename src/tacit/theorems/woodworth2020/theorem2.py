r"""Theorem 2 of Woodworth et al. 2020, and the lemmas of its Appendix E.

How small must α be for the limit of a depth-2 diagonal network to have the least ℓ1 norm up to a factor
1 + ε, how large for the least squared ℓ2 norm? Each answer comes in three forms: *stated* in the theorem;
*proved* by the argument of Appendix E, which is not the same; and *sharp*, from the two-sided inequalities

    |z| log|z| − |z|  ≤  q(z)  ≤  |z| log(1 + |z|),        (z²/4)(1 − z²/48)  ≤  q(z)  ≤  z²/4.

The sharp forms imply the stated ones, so that Theorem 2 is true as printed. Scales are logarithms throughout:
exp(−d/(ε‖β‖₁)) is soon below every float.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tacit
from tacit.theorems.arguments import ParameterError, log_alpha, positive
from tacit.theorems.registry import Assumption, Bound, Parts, Setting, theorem
from tacit.theorems.sharing import shared

_LARGEST = 150.0  # log α beyond which q(1/α²) is 1/(4α⁴) to more digits than a float has


def rich_log_scale(X: Any, y: Any, epsilon: float = 0.1, form: str = "stated") -> float:
    """The largest log α for which Theorem 2 promises ‖β‖₁ ≤ (1 + ε)‖β_ℓ1‖₁ on these data.

    form: "stated", "proved" or "sharp". −∞ where y = 0.
    """
    end = _limit(tacit.potentials.L1(), X, y)
    return _rich_threshold(form, float(np.abs(end).sum()), len(end), positive(epsilon, "epsilon"))


def kernel_log_scale(X: Any, y: Any, epsilon: float = 0.1, form: str = "stated") -> float:
    """The smallest log α for which Theorem 2 promises ‖β‖₂² ≤ (1 + ε)‖β_ℓ2‖₂² on these data.

    form: "stated", "proved" or "sharp". −∞ where y = 0.
    """
    end = _limit(tacit.potentials.Quadratic(), X, y)
    return _kernel_threshold(form, float(np.linalg.norm(end)), positive(epsilon, "epsilon"))


def lemma5_log_scale(norm: float, features: int, epsilon: float) -> float:
    """log α₁(ε, ‖β‖₁, d) = min{0, ½log‖β‖₁, −log(2‖β‖₁)/2ε, −d/(2ε‖β‖₁)} of Lemma 5; −∞ at norm 0."""
    if norm == 0:
        return -math.inf
    smallness = [0.0, math.log(norm) / 2, -math.log(2 * norm) / (2 * epsilon)]
    return min(*smallness, -features / (2 * epsilon * norm))


def _rich_stated(norm: float, features: int, epsilon: float) -> float:
    power = (2 + epsilon) / (2 * epsilon)
    return min(-power * math.log(2 * (1 + epsilon) * norm), -features / (epsilon * norm))


def _rich_proved(norm: float, features: int, epsilon: float) -> float:
    """Lemma 5 with ε/(2+ε), for every norm between ‖β_ℓ1‖₁ and (1+2ε)‖β_ℓ1‖₁."""
    power = (2 + epsilon) / (2 * epsilon)
    least, largest = norm, (1 + 2 * epsilon) * norm
    return min(0.0, math.log(least) / 2, -power * math.log(2 * largest), -power * features / least)


def _rich_sharp(norm: float, features: int, epsilon: float) -> float:
    """ε·log(B/α²) = (1+ε)·log(ed/(1+ε)) + log 2; an ε of d or more promises no more than ε = d."""
    epsilon = min(epsilon, features)
    spread = 1 + math.log(features) - math.log1p(epsilon)
    return (math.log(norm) - ((1 + epsilon) * spread + math.log(2)) / epsilon) / 2


_RICH: dict[str, Callable[[float, int, float], float]] = {
    "stated": _rich_stated,
    "proved": _rich_proved,
    "sharp": _rich_sharp,
}


def _kernel_sharp(epsilon: float) -> float:
    """α⁴ = ‖β_ℓ2‖₂²·(1+ε)²/48ε, which is least at ε = 1 and then serves every larger ε."""
    epsilon = min(epsilon, 1.0)
    return math.log((1 + epsilon) ** 2 / (48 * epsilon)) / 4


_KERNEL: dict[str, Callable[[float], float]] = {  # log α − ½log‖β_ℓ2‖₂
    "stated": lambda epsilon: math.log(2 * (1 + epsilon) * (1 + 2 / epsilon)) / 2,
    "proved": lambda epsilon: math.log(1 + 2 * epsilon) / 2 + math.log1p((1 + 2 / epsilon) ** 0.25),
    "sharp": _kernel_sharp,
}


def _rich_threshold(form: str, norm: float, features: int, epsilon: float) -> float:
    _check_form(form)
    return _RICH[form](norm, features, epsilon) if norm > 0 else -math.inf


def _kernel_threshold(form: str, norm: float, epsilon: float) -> float:
    _check_form(form)
    return math.log(norm) / 2 + _KERNEL[form](epsilon) if norm > 0 else -math.inf


def _rich_parts(form: str, model: Any, X: Any, y: Any, epsilon: float) -> Parts:
    epsilon = positive(epsilon, "epsilon")
    yield (setting := _setting(model))
    if not setting.holds:
        return
    end = _limit(tacit.potentials.L1(), X, y)
    norm = float(np.abs(end).sum())
    yield Assumption(f"ε = {epsilon:g} is below d = {len(end)}", epsilon < len(end))
    yield _at_most(log_alpha(model), _rich_threshold(form, norm, len(end), epsilon))

    measured = float(np.abs(_limit(model, X, y)).sum())
    yield Bound("‖β‖₁ against (1 + ε)‖β_ℓ1‖₁", measured, at_most=(1 + epsilon) * norm)
    if norm > 0:
        yield Bound("share of ε that is used", (measured / norm - 1) / epsilon, at_most=1.0)


def _kernel_parts(form: str, model: Any, X: Any, y: Any, epsilon: float) -> Parts:
    epsilon = positive(epsilon, "epsilon")
    yield (setting := _setting(model))
    if not setting.holds:
        return
    end = _limit(tacit.potentials.Quadratic(), X, y)
    norm = float(np.linalg.norm(end))
    yield Assumption(f"ε = {epsilon:g} is below d = {len(end)}", epsilon < len(end))
    yield _at_least(log_alpha(model), _kernel_threshold(form, norm, epsilon))

    measured = float(np.linalg.norm(_limit(model, X, y))) ** 2
    yield Bound("‖β‖₂² against (1 + ε)‖β_ℓ2‖₂²", measured, at_most=(1 + epsilon) * norm**2)
    if norm > 0:
        yield Bound("share of ε that is used", (measured / norm**2 - 1) / epsilon, at_most=1.0)


@theorem(
    "woodworth2020/theorem2-l1",
    "α ≤ min{(2(1+ε)B)^(−(2+ε)/2ε), exp(−d/(εB))}, B = ‖β_ℓ1‖₁, implies ‖β‖₁ ≤ (1+ε)B.",
    printed="The same, and true; but its proof reaches only the smaller scale of theorem2-l1-proved.",
)
def rich(model: Any, X: Any, y: Any, epsilon: float = 0.1) -> Parts:
    """Theorem 2, first line, as stated."""
    return _rich_parts("stated", model, X, y, epsilon)


@theorem(
    "woodworth2020/theorem2-l1-proved",
    "α ≤ min{1, √B, (2(1+2ε)B)^(−(2+ε)/2ε), exp(−d(2+ε)/(2εB))}, B = ‖β_ℓ1‖₁, implies ‖β‖₁ ≤ (1+ε)B.",
    printed="α ≤ min{(2(1+ε)B)^(−(2+ε)/2ε), exp(−d/(εB))}, which is true, but more than (44) to (46) prove.",
)
def rich_proved(model: Any, X: Any, y: Any, epsilon: float = 0.1) -> Parts:
    """Theorem 2, first line, with the scale at which (44) to (46) go through.

    (46) applies Lemma 5 to the limit, whose norm may be as small as B, and (44) to norms up to (1+2ε)B.
    """
    return _rich_parts("proved", model, X, y, epsilon)


@theorem(
    "woodworth2020/theorem2-l1-sharp",
    "α² ≤ B·(ed/(1+ε))^(−(1+ε)/ε)·2^(−1/ε), B = ‖β_ℓ1‖₁, implies ‖β‖₁ ≤ (1+ε)B.",
    printed="α ≤ min{(2(1+ε)B)^(−(2+ε)/2ε), exp(−d/(εB))}, true, but a far smaller scale than is needed.",
)
def rich_sharp(model: Any, X: Any, y: Any, epsilon: float = 0.1) -> Parts:
    """Theorem 2, first line, without the exponential in d; it implies the form stated.

    Jensen's inequality for |z|log|z| gives S·log(S/(edα²)) ≤ Q_α(β) for S = ‖β‖₁, and Q_α(β_ℓ1) is at most
    B·log(1 + B/α²). The limit minimizes Q_α, so S·log(S/(edα²)) ≤ B·log(1 + B/α²), which at this α no
    S > (1+ε)B satisfies.
    """
    return _rich_parts("sharp", model, X, y, epsilon)


@theorem(
    "woodworth2020/theorem2-l2",
    "α ≥ √(2(1+ε)(1+2/ε)B), B = ‖β_ℓ2‖₂, implies ‖β‖₂² ≤ (1+ε)B².",
    printed="The same, and true; but its proof arrives at the threshold of theorem2-l2-proved.",
)
def kernel(model: Any, X: Any, y: Any, epsilon: float = 0.1) -> Parts:
    """Theorem 2, second line, as stated."""
    return _kernel_parts("stated", model, X, y, epsilon)


@theorem(
    "woodworth2020/theorem2-l2-proved",
    "α ≥ √((1+2ε)B)·(1 + (1+2/ε)^(1/4)), B = ‖β_ℓ2‖₂, implies ‖β‖₂² ≤ (1+ε)B².",
    printed="α ≥ √(2(1+ε)(1+2/ε)B), which is true, but not the threshold that the proof arrives at.",
)
def kernel_proved(model: Any, X: Any, y: Any, epsilon: float = 0.1) -> Parts:
    """Theorem 2, second line, with the scale at which (47) to (49) go through: α₂(ε/(2+ε), (1+2ε)B)."""
    return _kernel_parts("proved", model, X, y, epsilon)


@theorem(
    "woodworth2020/theorem2-l2-sharp",
    "α⁴ ≥ B²(1+ε)²/(48ε), B = ‖β_ℓ2‖₂ and ε ≤ 1, implies ‖β‖₂² ≤ (1+ε)B²; ε = 1 serves for ε > 1.",
    printed="α ≥ √(2(1+ε)(1+2/ε)B), which is true, but a larger scale than is needed.",
)
def kernel_sharp(model: Any, X: Any, y: Any, epsilon: float = 0.1) -> Parts:
    """Theorem 2, second line, from ‖β‖₂²(1 − ‖β‖₂²/48α⁴) ≤ 4α²Q_α(β) ≤ ‖β‖₂²; it implies the form stated.

    A solution with ‖β‖₂² = (1+ε)B² has at this α no smaller Q_α than β_ℓ2. Q_α is strictly convex, so its
    minimizer is not on that sphere or beyond it.
    """
    return _kernel_parts("sharp", model, X, y, epsilon)


@theorem(
    "woodworth2020/lemma5",
    "α ≤ α₁(ε, ‖β‖₁, d) implies (1−ε)‖β‖₁ ≤ Q_α(β)/log(1/α²) ≤ (1+ε)‖β‖₁.",
    printed="The same, and true; but its proof has x·arcsin(x/2) for x·arcsinh(x/2).",
)
def lemma5(model: Any, predictor: Any, epsilon: float = 0.1) -> Parts:
    """Lemma 5 of Appendix E: how close the potential is to a multiple of the ℓ1 norm, at one β."""
    epsilon, beta = positive(epsilon, "epsilon"), _vector(predictor)
    yield (setting := _setting(model))
    if not setting.holds:
        return
    norm, level = float(np.abs(beta).sum()), log_alpha(model)
    yield _at_most(level, lemma5_log_scale(norm, len(beta), epsilon))
    if level < 0:
        value = float(model.potential(len(beta)).value(beta)) / (-2 * level)
        yield Bound("Q_α(β)/log(1/α²)", value, at_most=(1 + epsilon) * norm, at_least=(1 - epsilon) * norm)


@theorem(
    "woodworth2020/lemma6",
    "α ≥ d^(−1/4−1/8ε) and d ≥ max{e, 12^(4ε)} imply Q_α(e₁)/‖e₁‖₁ ≥ (1+ε)·Q_α(𝟏)/‖𝟏‖₁ for 𝟏 of ℓ2 norm 1.",
)
def lemma6(model: Any, features: int, epsilon: float = 0.1) -> Parts:
    """Lemma 6 of Appendix E: at larger scales the potential is no multiple of the ℓ1 norm.

    (37) holds because the logarithmic derivative of q(z)/z is 1/(u·coth(u/2) − 1) at z = 2 sinh u, which
    decreases.
    """
    epsilon, size = positive(epsilon, "epsilon"), positive(features, "features")
    yield (setting := _setting(model))
    if not setting.holds:
        return
    log_size = math.log(size)
    yield Assumption(
        f"d = {size:g} is at least max(e, 12^(4ε))", log_size >= max(1, 4 * epsilon * math.log(12))
    )
    yield _at_least(log_alpha(model), -(1 / 4 + 1 / (8 * epsilon)) * log_size)

    potential = tacit.Diagonal(log_scale=min(log_alpha(model), _LARGEST)).potential()
    concentrated = float(potential.value([1.0]))
    spread = math.sqrt(size) * float(potential.value([1 / math.sqrt(size)]))
    yield Bound("Q_α(e₁)/‖e₁‖₁ over Q_α(𝟏)/‖𝟏‖₁", concentrated / spread, at_least=1 + epsilon)


@theorem(
    "woodworth2020/lemma7",
    "α ≥ √‖β‖₂·(1 + ε^(−1/4)) implies (1−ε)‖β‖₂² ≤ 4α²Q_α(β) ≤ (1+ε)‖β‖₂².",
)
def lemma7(model: Any, predictor: Any, epsilon: float = 0.1) -> Parts:
    """Lemma 7 of Appendix E: how close the potential is to a multiple of the squared ℓ2 norm, at one β."""
    epsilon, beta = positive(epsilon, "epsilon"), _vector(predictor)
    yield (setting := _setting(model))
    if not setting.holds:
        return
    norm = float(np.linalg.norm(beta))
    threshold = math.log(norm) / 2 + math.log1p(epsilon**-0.25) if norm > 0 else -math.inf
    yield _at_least(log_alpha(model), threshold)

    # In units of ‖β‖₂ both sides are of order 1, whatever α.
    unit = norm or 1.0
    log_scale = min(log_alpha(model) - math.log(unit) / 2, _LARGEST)
    potential = tacit.Diagonal(log_scale=log_scale).potential()
    share = 4 * math.exp(2 * log_scale) * float(potential.value(beta / unit))
    limits = {"at_most": (1 + epsilon) * norm**2, "at_least": (1 - epsilon) * norm**2}
    yield Bound("4α²Q_α(β)", share * unit**2, **limits)


def _setting(model: Any) -> Setting:
    plain = isinstance(model, tacit.Diagonal) and model.depth == 2
    plain = plain and (model.profile is None or bool(np.all(model.profile == 1)))
    return Setting("the model is Diagonal of depth 2 with equal initial weights (w₀ = 1)", plain)


def _at_most(level: float, threshold: float) -> Assumption:
    return Assumption(f"log α = {level:.6g} is at most {threshold:.6g}", level <= threshold)


def _at_least(level: float, threshold: float) -> Assumption:
    return Assumption(f"log α = {level:.6g} is at least {threshold:.6g}", level >= threshold)


@shared
def _limit(model: Any, X: Any, y: Any) -> NDArray[np.float64]:
    result = tacit.limit(model, X, y)
    if not result.converged:
        raise tacit.NotConvergedError(
            f"the limit of {model!r} did not converge ({result.reason}); no bound can be checked with it"
        )
    return result.predictor


def _vector(predictor: Any) -> NDArray[np.float64]:
    message = f"predictor must be a vector of finite numbers, got {predictor!r}"
    try:
        beta = np.asarray(predictor, dtype=np.float64)
    except (TypeError, ValueError):
        raise tacit.InputError(message) from None
    if beta.ndim != 1 or not np.isfinite(beta).all():
        raise tacit.InputError(message)
    return beta


def _check_form(form: str) -> None:
    if form not in _RICH:
        raise ParameterError(f"form must be one of {', '.join(_RICH)}, got {form!r}")
