r"""Theorem 2 of Woodworth et al. 2020, and the lemmas of its Appendix E.

How small must α be for the limit of a diagonal network of depth 2 to have the minimum ℓ1 norm up to a factor
1 + ε, and how large for the minimum squared ℓ2 norm? There are three answers: *stated* in the theorem; *proved*
by the argument of Appendix E, which is different; and *sharp*, from the two-sided inequalities

    |z| log|z| − |z|  ≤  q(z)  ≤  |z| log(1 + |z|),        (z²/4)(1 − z²/48)  ≤  q(z)  ≤  z²/4.

The sharp forms imply the stated ones, so Theorem 2 is true as printed. All scales are logarithms, because
exp(−d/(ε‖β‖₁)) underflows easily.

Errata
------
### Before equation 7: the growth of q
- **Printed.** q(z) = |z| log|z| + O(1/|z|) for large |z|.
- **Holds.** q(z) = |z| log|z| − |z| + 2 − 1/|z| + O(|z|⁻³).
- **Why.** √(4 + z²) = |z| + 2/|z| − … and |z|·arcsinh(|z|/2) = |z| log|z| + 1/|z| − …. Equation (7)
  still holds, because its O(1/log(1/α²)) covers −|z|.
- **Evidence.** q(1000) = 5909.754; the printed leading term is 6907.755; the corrected expansion agrees in all
  these digits.
- **Test.** `test_large_argument_of_q_has_a_linear_term`

### Proof of Lemma 5: arcsin for arcsinh
- **Printed.** g(x) = x·arcsin(x/2). **Holds.** x·arcsinh(x/2), as in (22) below it; arcsin is not real
  beyond 2.
- **Test.** `test_the_even_function_of_lemma_5_has_arcsinh`

### Theorem 2, ℓ1: the proof gives a smaller scale than stated, but the theorem is true Write B = ‖β_ℓ1‖₁.
- **Stated.** α ≤ min{(2(1+ε)B)^{−(2+ε)/2ε}, exp(−d/(εB))} implies ‖β‖₁ ≤ (1+ε)B.
- **Proved in Appendix E.** The same for
  α ≤ min{1, √B, (2(1+2ε)B)^{−(2+ε)/2ε}, exp(−d(2+ε)/(2εB))}, which is always smaller. (The first two
  entries are never the smallest for ε < d.)
- **Why the proof gives less.** (46) applies Lemma 5, with ε′ = ε/(2+ε), to the limit β itself. Of its norm only
  B ≤ ‖β‖₁ ≤ (1+2ε)B is known, so exp(−d/(2ε′‖β‖₁)) in Lemma 5 must be evaluated at B and (2‖β‖₁)^{−1/2ε′} at
  (1+2ε)B. The theorem has the first at (1+ε/2)B and the second at (1+ε)B.
- **Evidence.** d = 1, ε = 0.1, B = 1: at the stated α the ratio Q/(log(1/α²)‖β‖₁) is 0.9500, while (44) states
  at least 0.9524; at the proved α it is 0.9524.
- **Holds.** The stated theorem, by a different argument, and a much stronger statement. From

  > |z| log|z| − |z| ≤ q(z) ≤ |z| log(1 + |z|)

  and Jensen's inequality, S·log(S/(edα²)) ≤ Q_α(β) for S = ‖β‖₁, while Q_α(β_ℓ1) ≤ B·log(1 + B/α²). The
  limit has Q_α(β) ≤ Q_α(β_ℓ1). With u = log(B/α²) this excludes S > (1+ε)B if

  > εu + (1+ε)·log(1+ε) ≥ (1+ε)(1 + log d) + log(1 + e^{−u}).

  In closed form: **α² ≤ B·(ed/(1+ε))^{−(1+ε)/ε}·2^{−1/ε} suffices.** The condition does not change if y and α²
  are multiplied by the same number, and neither does the flow.
- **The stated scale satisfies it.** Let x = d/B. The stated scale has ε·log(1/α²) ≥ 2x and
  ε·log(1/α²) ≥ (2+ε)·log(2(1+ε)d/x), hence at least their average. Insert it in the condition above, minimize
  over x (at x = 1 + 3ε/2), and use 1 + 3ε/2 ≤ 3(1+ε)/2 and e^{−u} ≤ ε/(2ed) ≤ 1/2e: the condition holds with a
  margin of at least 0.1186 + 0.2384ε > 0.
- **How large the difference is.** d = 1000, ε = 0.1, B = 1: the theorem requires log α ≤ −10000, its proof
  −10500, the sharp form −46.4. On the single sample (1, c, …, c) with c = 0.893, the worst found, the
  conclusion fails above −25.1. The exponent −(1+ε)/2ε of d is optimal: for such a sample with c near 1/(1+ε)
  the bound fails for any larger power if d is large. So α must be exponentially small in 1/ε, as Lemma 6
  states, but not in d.
- **Tests.** `test_l1_bound_of_theorem_2_is_not_the_one_proved`,
  `test_conclusion_of_theorem_2_holds_below_the_proved_bound`; in
  [`test_theorems_woodworth.py`](../tests/papers/woodworth2020/test_theorems_woodworth.py) the classes
  `TestTheorem2` and `TestWhyTheorem2IsTrue`.
- **In Tacit.** `tacit.theorems.check("woodworth2020/theorem2-l1", …)`, and `-proved` and `-sharp`;
  `tacit.theorems.woodworth2020.rich_log_scale` gives the largest log α.

### Equation 44: for which β
- **Printed.** At α ≤ α₁(ε′, (1+2ε)B, d), (1−ε′)‖β‖₁ ≤ Q_α(β)/log(1/α²) ≤ (1+ε′)‖β‖₁ for all ‖β‖₁ ≤ (1+2ε)B.
- **Holds.** For B ≤ ‖β‖₁ ≤ (1+2ε)B, with the scale "proved" above.
- **Why.** α₁ decreases to 0 with the norm: near β = 0 the potential is a parabola, not a norm.
- **Evidence.** ε = ½, B = 1, d = 2, a β of norm α²/100: the ratio is 3.6e-4, while (44) states at least 0.8.
- **Test.** `test_equation_44_fails_for_small_norms` in `test_theorems_woodworth.py`

### Theorem 2, ℓ2: the stated threshold differs from that of the proof, but the theorem is true Write B =
‖β_ℓ2‖₂.
- **Stated.** α ≥ √(2(1+ε)(1+2/ε)B) implies ‖β‖₂² ≤ (1+ε)B².
- **Proved in Appendix E.** The same for α ≥ √((1+2ε)B)·(1 + (1+2/ε)^{1/4}). This is a weaker requirement than
  that of the theorem if ε < 0.648, and a stronger one otherwise. (The second line of (48) has 1+2ε where its
  square is sufficient.)
- **Holds.** Both. (z²/4)(1 − z²/48) ≤ q(z) ≤ z²/4 gives ‖β‖₂²(1 − ‖β‖₂²/48α⁴) ≤ 4α²Q_α(β) ≤ ‖β‖₂². On the
  sphere ‖β‖₂² = (1+ε)B², no solution therefore has a smaller Q_α than β_ℓ2 if **α⁴ ≥ B²(1+ε)²/(48ε)**; Q_α is
  strictly convex, so its minimizer is inside the sphere. For ε > 1 use ε = 1. The stated and proved scales
  are larger.
- **Evidence.** ε = 0.1: the theorem requires α ≥ 6.80√B, its proof 3.44√B, the sharp form 0.71√B.
- **Test.** `test_stated_and_proved_scales_are_within_the_sharp_ones` in `test_theorems_woodworth.py`

### Lemmas 5, 6 and 7 hold as printed
Verified in 40-digit arithmetic for random, sparse, constant and critical vectors, up to α within 1e-9 of 1
and at the ends of every range, and by `test_lemma_5_as_printed`, `test_lemma_6_as_printed` and
`test_lemma_7_as_printed_with_a_factor_of_48_to_spare` in `test_theorems_woodworth.py`.

| Statement | Tightness | Remark |
| --- | --- | --- |
| Lemma 5, lower bound | attained at d = 1, β = 1, up to e^{−1/ε} | exp(−d/(2ε‖β‖₁)) may be replaced by (‖β‖₁/(ed))^{1/2ε}, which is larger |
| Lemma 5, upper bound | for d = 1 a fraction (log‖β‖₁ − 1)/log(2‖β‖₁) of ε is attained, which tends to 1 | α₁ < 1 always, so log(1/α²) never vanishes |
| Lemma 6 | the ratio is above 1 + 2ε in all cases tried, and tends to it | see below |
| Lemma 7, lower bound | holds with ε/48 in place of ε | the upper bound holds with 0 in place of ε |

- Equation (31) has √(c²α⁴ + ½) in the copy that we used; it must be √(c²α⁴ + ¼), while (32) is correct. With
  ½ the expression is too large by 0.06 to 0.19 for cα² ≤ 1, and (32) would not follow. Test:
  `test_equation_31_has_a_quarter_under_the_root`.
- Equation (37), that the ratio increases with α, is stated without proof. With z = 2 sinh u the derivative of
  log(q(z)/z) with respect to log z is 1/(u·coth(u/2) − 1), which decreases in u. Test:
  `test_equation_37_is_a_decreasing_elasticity`.
"""  # noqa: E501

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import tacit
from tacit.papers import Assumption, Bound, Parts, Setting, theorem
from tacit.papers.arguments import ParameterError, arrived, log_alpha, positive
from tacit.papers.moroshko2020.separation import plain_diagonal
from tacit.papers.statements import shared

_LARGEST = 150.0  # log α above which q(1/α²) equals 1/(4α⁴) in double precision


def rich_log_scale(X: Any, y: Any, epsilon: float = 0.1, form: str = "stated") -> float:
    """The largest log α for which Theorem 2 guarantees ‖β‖₁ ≤ (1 + ε)‖β_ℓ1‖₁ on these data.

    form: "stated", "proved" or "sharp". −∞ if y = 0.

    Examples
    --------
    >>> from tacit.theorems import woodworth2020
    >>> for form in ("stated", "proved", "sharp"):
    ...     print(form, round(woodworth2020.rich_log_scale([[1.0, 2.0]], [2.0], form=form), 1))
    stated -20.0
    proved -21.0
    sharp -12.3
    """
    return _log_scale(_L1, X, y, epsilon, form)


def kernel_log_scale(X: Any, y: Any, epsilon: float = 0.1, form: str = "stated") -> float:
    """The smallest log α for which Theorem 2 guarantees ‖β‖₂² ≤ (1 + ε)‖β_ℓ2‖₂² on these data.

    form: "stated", "proved" or "sharp". −∞ if y = 0.

    Examples
    --------
    >>> from tacit.theorems import woodworth2020
    >>> for form in ("stated", "proved", "sharp"):
    ...     print(form, round(woodworth2020.kernel_log_scale([[1.0, 2.0]], [2.0], form=form), 2))
    stated 1.86
    proved 1.18
    sharp -0.4
    """
    return _log_scale(_L2, X, y, epsilon, form)


def _log_scale(line: _Line, X: Any, y: Any, epsilon: float, form: str) -> float:
    end = _limit(line.end, X, y)
    return line.threshold(form, line.size(end), len(end), positive(epsilon, "epsilon"))


def lemma5_log_scale(norm: float, features: int, epsilon: float) -> float:
    """log α₁(ε, ‖β‖₁, d) = min{0, ½log‖β‖₁, −log(2‖β‖₁)/2ε, −d/(2ε‖β‖₁)} of Lemma 5; −∞ at norm 0."""
    if norm == 0:
        return -math.inf
    scales = (math.log(norm) / 2, -math.log(2 * norm) / (2 * epsilon), -features / (2 * epsilon * norm))
    return min(0.0, *scales)


def _rich_stated(norm: float, features: int, epsilon: float) -> float:
    power = (2 + epsilon) / (2 * epsilon)
    return min(-power * math.log(2 * (1 + epsilon) * norm), -features / (epsilon * norm))


def _rich_proved(norm: float, features: int, epsilon: float) -> float:
    """Lemma 5 with ε/(2+ε), for every norm between ‖β_ℓ1‖₁ and (1+2ε)‖β_ℓ1‖₁."""
    power = (2 + epsilon) / (2 * epsilon)
    least, largest = norm, (1 + 2 * epsilon) * norm
    return min(0.0, math.log(least) / 2, -power * math.log(2 * largest), -power * features / least)


def _rich_sharp(norm: float, features: int, epsilon: float) -> float:
    """ε·log(B/α²) = (1+ε)·log(ed/(1+ε)) + log 2; ε > d guarantees no more than ε = d."""
    epsilon = min(epsilon, features)
    spread = 1 + math.log(features) - math.log1p(epsilon)
    return (math.log(norm) - ((1 + epsilon) * spread + math.log(2)) / epsilon) / 2


_Thresholds = dict[str, Callable[[float, int, float], float]]  # log α by norm, number of features and ε
_RICH: _Thresholds = {"stated": _rich_stated, "proved": _rich_proved, "sharp": _rich_sharp}


def _kernel_sharp(epsilon: float) -> float:
    """α⁴ = ‖β_ℓ2‖₂²·(1+ε)²/48ε, which is smallest at ε = 1; this value is used for larger ε."""
    epsilon = min(epsilon, 1.0)
    return math.log((1 + epsilon) ** 2 / (48 * epsilon)) / 4


def _kernel(excess: Callable[[float], float]) -> Callable[[float, int, float], float]:
    """The threshold with this log α − ½log‖β_ℓ2‖₂."""
    return lambda norm, _, epsilon: math.log(norm) / 2 + excess(epsilon)


_KERNEL: _Thresholds = {
    "stated": _kernel(lambda epsilon: math.log(2 * (1 + epsilon) * (1 + 2 / epsilon)) / 2),
    "proved": _kernel(lambda e: math.log(1 + 2 * e) / 2 + math.log1p((1 + 2 / e) ** 0.25)),
    "sharp": _kernel(_kernel_sharp),
}


def _setting(model: Any) -> Setting:
    plain = plain_diagonal(model).holds and model.depth == 2
    return Setting("the model is Diagonal of depth 2 with equal initial weights (w₀ = 1)", plain)


def _at_most(level: float, threshold: float) -> Assumption:
    return Assumption(f"log α = {level:.6g} is at most {threshold:.6g}", level <= threshold)


def _at_least(level: float, threshold: float) -> Assumption:
    return Assumption(f"log α = {level:.6g} is at least {threshold:.6g}", level >= threshold)


class _Line(NamedTuple):
    """A line of Theorem 2: its minimum norm solution, the bounded norm and its power, and the threshold."""

    end: Any
    size: Callable[[Any], float]
    power: int
    thresholds: _Thresholds
    condition: Callable[[float, float], Assumption]
    text: str

    def threshold(self, form: str, norm: float, features: int, epsilon: float) -> float:
        """The threshold of log α in one of the forms; −∞ at norm 0."""
        if form not in self.thresholds:
            raise ParameterError(f"form must be one of {', '.join(self.thresholds)}, got {form!r}")
        return self.thresholds[form](norm, features, epsilon) if norm > 0 else -math.inf


def _l1(beta: Any) -> float:
    return float(np.abs(beta).sum())


def _l2(beta: Any) -> float:
    return float(np.linalg.norm(beta))


_L1 = _Line(tacit.potentials.L1(), _l1, 1, _RICH, _at_most, "‖β‖₁, at most (1 + ε)‖β_ℓ1‖₁")
_L2 = _Line(tacit.potentials.Quadratic(), _l2, 2, _KERNEL, _at_least, "‖β‖₂², at most (1 + ε)‖β_ℓ2‖₂²")


def _parts(line: _Line, form: str, model: Any, X: Any, y: Any, epsilon: float) -> Parts:
    """The parts of one line of Theorem 2, in one of its forms."""
    epsilon = positive(epsilon, "epsilon")
    yield _setting(model)
    end = _limit(line.end, X, y)
    least = line.size(end)
    yield Assumption(f"ε = {epsilon:g} is below d = {len(end)}", epsilon < len(end))
    yield line.condition(log_alpha(model), line.threshold(form, least, len(end), epsilon))
    measured, guaranteed = (each**line.power for each in (line.size(_limit(model, X, y)), least))
    yield Bound(line.text, measured, at_most=(1 + epsilon) * guaranteed)
    if guaranteed > 0:
        text = "excess over the minimum, relative to ε"
        yield Bound(text, (measured / guaranteed - 1) / epsilon, at_most=1.0)


@theorem("woodworth2020/theorem2-l1", shell="--log-scale -100")
def rich(model: Any, X: Any, y: Any, epsilon: float = 0.1) -> Parts:
    """α ≤ min{(2(1+ε)B)^(−(2+ε)/2ε), exp(−d/(εB))}, B = ‖β_ℓ1‖₁, implies ‖β‖₁ ≤ (1+ε)B.

    Printed: The same, and true; but its proof gives only the smaller scale of theorem2-l1-proved.

    Theorem 2, first line, as stated.
    """
    return _parts(_L1, "stated", model, X, y, epsilon)


@theorem("woodworth2020/theorem2-l1-proved", shell="--log-scale -100")
def rich_proved(model: Any, X: Any, y: Any, epsilon: float = 0.1) -> Parts:
    """α ≤ min{1, √B, (2(1+2ε)B)^(−(2+ε)/2ε), exp(−d(2+ε)/(2εB))}, B = ‖β_ℓ1‖₁, implies ‖β‖₁ ≤ (1+ε)B.

    Printed: α ≤ min{(2(1+ε)B)^(−(2+ε)/2ε), exp(−d/(εB))}, which is true, but not proved by (44) to (46).

    Theorem 2, first line, with the scale for which (44) to (46) are a proof.

    (46) applies Lemma 5 to the limit, whose norm may be as small as B, and (44) to norms up to (1+2ε)B.
    """
    return _parts(_L1, "proved", model, X, y, epsilon)


@theorem("woodworth2020/theorem2-l1-sharp", shell="--log-scale -100")
def rich_sharp(model: Any, X: Any, y: Any, epsilon: float = 0.1) -> Parts:
    """α² ≤ B·(ed/(1+ε))^(−(1+ε)/ε)·2^(−1/ε), B = ‖β_ℓ1‖₁, implies ‖β‖₁ ≤ (1+ε)B.

    Printed: α ≤ min{(2(1+ε)B)^(−(2+ε)/2ε), exp(−d/(εB))}, which is true, but far smaller than necessary.

    Theorem 2, first line, without the exponential in d; it implies the stated form.

    Jensen's inequality for |z|log|z| gives S·log(S/(edα²)) ≤ Q_α(β) for S = ‖β‖₁, and Q_α(β_ℓ1) is at most
    B·log(1 + B/α²). The limit minimizes Q_α, so S·log(S/(edα²)) ≤ B·log(1 + B/α²), which at this α no
    S > (1+ε)B satisfies.
    """
    return _parts(_L1, "sharp", model, X, y, epsilon)


@theorem("woodworth2020/theorem2-l2", shell="--scale 100")
def kernel(model: Any, X: Any, y: Any, epsilon: float = 0.1) -> Parts:
    """α ≥ √(2(1+ε)(1+2/ε)B), B = ‖β_ℓ2‖₂, implies ‖β‖₂² ≤ (1+ε)B².

    Printed: The same, and true; but its proof gives the threshold of theorem2-l2-proved.

    Theorem 2, second line, as stated.
    """
    return _parts(_L2, "stated", model, X, y, epsilon)


@theorem("woodworth2020/theorem2-l2-proved", shell="--scale 100")
def kernel_proved(model: Any, X: Any, y: Any, epsilon: float = 0.1) -> Parts:
    """α ≥ √((1+2ε)B)·(1 + (1+2/ε)^(1/4)), B = ‖β_ℓ2‖₂, implies ‖β‖₂² ≤ (1+ε)B².

    Printed: α ≥ √(2(1+ε)(1+2/ε)B), which is true, but not the threshold given by the proof.

    Theorem 2, second line, with the scale for which (47) to (49) are a proof: α₂(ε/(2+ε), (1+2ε)B).
    """
    return _parts(_L2, "proved", model, X, y, epsilon)


@theorem("woodworth2020/theorem2-l2-sharp", shell="--scale 100")
def kernel_sharp(model: Any, X: Any, y: Any, epsilon: float = 0.1) -> Parts:
    """α⁴ ≥ B²(1+ε)²/(48ε), B = ‖β_ℓ2‖₂ and ε ≤ 1, implies ‖β‖₂² ≤ (1+ε)B²; for ε > 1 use ε = 1.

    Printed: α ≥ √(2(1+ε)(1+2/ε)B), which is true, but larger than necessary.

    Theorem 2, second line, from ‖β‖₂²(1 − ‖β‖₂²/48α⁴) ≤ 4α²Q_α(β) ≤ ‖β‖₂²; it implies the stated form.

    At this α no solution with ‖β‖₂² = (1+ε)B² has a smaller Q_α than β_ℓ2. Q_α is strictly convex, so its
    minimizer is inside that sphere.
    """
    return _parts(_L2, "sharp", model, X, y, epsilon)


@theorem("woodworth2020/lemma5")
def lemma5(model: Any, predictor: Any, epsilon: float = 0.1) -> Parts:
    """α ≤ α₁(ε, ‖β‖₁, d) implies (1−ε)‖β‖₁ ≤ Q_α(β)/log(1/α²) ≤ (1+ε)‖β‖₁.

    Printed: The same, and true; but its proof has x·arcsin(x/2) instead of x·arcsinh(x/2).

    Lemma 5 of Appendix E: how close the potential is to a multiple of the ℓ1 norm, at one β.
    """
    epsilon, beta = positive(epsilon, "epsilon"), _vector(predictor)
    yield _setting(model)
    norm, level = _l1(beta), log_alpha(model)
    yield _at_most(level, lemma5_log_scale(norm, len(beta), epsilon))
    if level < 0:
        value = float(model.potential(len(beta)).value(beta)) / (-2 * level)
        yield Bound("Q_α(β)/log(1/α²)", value, at_most=(1 + epsilon) * norm, at_least=(1 - epsilon) * norm)


@theorem("woodworth2020/lemma6")
def lemma6(model: Any, features: int, epsilon: float = 0.1) -> Parts:
    """α ≥ d^(−1/4−1/8ε) and d ≥ max{e, 12^(4ε)} imply Q_α(e₁)/‖e₁‖₁ ≥ (1+ε)·Q_α(𝟏)/‖𝟏‖₁ for 𝟏 of ℓ2 norm 1.

    Lemma 6 of Appendix E: at larger scales the potential is not a multiple of the ℓ1 norm.

    (37) holds because the logarithmic derivative of q(z)/z is 1/(u·coth(u/2) − 1) at z = 2 sinh u, which
    decreases.
    """
    epsilon, size = positive(epsilon, "epsilon"), positive(features, "features")
    yield _setting(model)
    log_size = math.log(size)
    needed = max(1, 4 * epsilon * math.log(12))
    yield Assumption(f"d = {size:g} is at least max(e, 12^(4ε))", log_size >= needed)
    yield _at_least(log_alpha(model), -(1 / 4 + 1 / (8 * epsilon)) * log_size)

    potential = tacit.Diagonal(log_scale=min(log_alpha(model), _LARGEST)).potential()
    sparse = float(potential.value([1.0]))
    dense = math.sqrt(size) * float(potential.value([1 / math.sqrt(size)]))
    yield Bound("Q_α(e₁)/‖e₁‖₁ over Q_α(𝟏)/‖𝟏‖₁", sparse / dense, at_least=1 + epsilon)


@theorem("woodworth2020/lemma7")
def lemma7(model: Any, predictor: Any, epsilon: float = 0.1) -> Parts:
    """α ≥ √‖β‖₂·(1 + ε^(−1/4)) implies (1−ε)‖β‖₂² ≤ 4α²Q_α(β) ≤ (1+ε)‖β‖₂².

    Lemma 7 of Appendix E: how close the potential is to a multiple of the squared ℓ2 norm, at one β.
    """
    epsilon, beta = positive(epsilon, "epsilon"), _vector(predictor)
    yield _setting(model)
    norm = _l2(beta)
    threshold = math.log(norm) / 2 + math.log1p(epsilon**-0.25) if norm > 0 else -math.inf
    yield _at_least(log_alpha(model), threshold)

    # In units of ‖β‖₂ both sides are of order 1 for all α, so nothing overflows.
    unit = norm or 1.0
    log_scale = min(log_alpha(model) - math.log(unit) / 2, _LARGEST)
    potential = tacit.Diagonal(log_scale=log_scale).potential()
    scaled = 4 * math.exp(2 * log_scale) * float(potential.value(beta / unit))
    limits = {"at_most": (1 + epsilon) * norm**2, "at_least": (1 - epsilon) * norm**2}
    yield Bound("4α²Q_α(β)", scaled * unit**2, **limits)


@shared
def _limit(model: Any, X: Any, y: Any) -> NDArray[np.float64]:
    result = tacit.limit(model, X, y)
    return arrived(result, f"the limit of {model!r} did not converge ({result.reason})").predictor


def _vector(predictor: Any) -> NDArray[np.float64]:
    message = f"predictor must be a vector of finite numbers, got {predictor!r}"
    try:
        beta = np.asarray(predictor, dtype=np.float64)
    except (TypeError, ValueError):
        raise tacit.InputError(message) from None
    if beta.ndim != 1 or not np.isfinite(beta).all():
        raise tacit.InputError(message)
    return beta
