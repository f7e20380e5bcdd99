r"""Theorem 9 and Corollary 10 of Woodworth et al. 2020, with Lemmas 11 to 13 of Appendix H.

How far does a wide factorization move, and how far from its tangent flow? In the form W of `lifted.py`, with
r = ‖y(0) − y*‖, λI ⪯ 𝒳𝒳ᵀ ⪯ ΛI and ‖W(0)W(0)ᵀ − μI‖ ≤ γ, all found from model and data. Suprema are over
the whole flow, from the start until its residual is 1e-9 of what it was, and for the tangent flow to its end.

The *sharp* form rests on the length of the way. Σ = JJᵀ for the Jacobian J of the outputs, ‖W'‖ = ‖Jᵀe‖ for
e = y − y*, and ‖e‖' = −‖Jᵀe‖²/‖e‖ ≤ −‖W'‖·√λ_min(Σ), where λ_min(Σ) ≥ 4λσ_min(W)². Hence, as long as
√λ·s² ≥ 2r for s = σ_min(W(0)), no W is farther from W(0) than the smaller root ρ of 2√λ·ρ(s − ρ) = r. With
‖J − J(0)‖ ≤ 2√Λρ the same argument for y − y_TK gives the second bound, which is quadratic in r.

Errata
------
### Equations 71 to 80: the loss, a factor 2, and why Theorem 9 stands
- **Printed.** y′ = −Σ(t)(y − y*) with a factor 4 in Σ; Σ ⪰ 2μλ − …, where (74) gives 4μλ − …; and
  ‖Ẇ‖ ≤ ‖Σ_n (y_n(t) − y_n)X_nW‖ in (80).
- **Holds.** The 4 belongs to the loss ½‖y − y*‖² (for ‖y − y*‖² it is 8), and with it Ẇ = −2 Σ_n (y_n(t)
  − y_n)X_nW: (80) lacks a factor 2.
- **Why it does no harm.** With 4μλ in (75) the right-hand side of (79) is 3μλ, and 2/(3μλ) < 1/(μλ): the
  first bound of Theorem 9 holds with 2/3 of what is printed.
- **Test.** `test_equations_71_and_80_belong_to_different_losses`

### Theorem 9: the second bound says less than the first, and what holds
- **Printed.** sup‖W − W_TK‖ ≤ Λ√(1+λ/4Λ)·r²/(λ²μ^{3/2}) + 2√Λ√(1+γ/μ)·r/(λ√μ), r = ‖y(0) − y*‖.
- **Its worth.** Its second term alone is at least 1.7 times the first bound, on ‖W − W(0)‖: it does not
  tell a W that follows its tangent flow from one that moves anywhere else as far. (86) adds ‖y − y*‖ and
  ‖y_TK − y*‖, which are of first order in r, where their difference is of second.
- **Holds.** Σ = JJᵀ for the Jacobian J of the outputs; ‖W′‖ = ‖Jᵀe‖ and ‖e‖′ = −‖Jᵀe‖²/‖e‖ for e = y −
  y*; and λ_min(Σ) ≥ 4λσ_min(W)², where (75) loses the condition number Λ/λ. Hence, for s = σ_min(W(0))
  and **√λ·s² ≥ 2r**,

  > sup‖W − W(0)‖ ≤ ρ, the smaller root of 2√λ·ρ(s − ρ) = r,

  and from δ′ = −Σ(0)δ − (Σ − Σ(0))e for δ = y − y_TK, in the same way,

  > sup‖W − W_TK‖ ≤ jm + (jρ + 2√Λ‖W(0)‖·jm)/(2√λ·s), j = 2√Λρ, m = r/(4λ(s − ρ)²),

  which is O(r²/μ^{3/2}). Wherever Theorem 9 applies, this does, and both bounds are smaller.
- **Evidence.** 3×3, 5 entries observed, α²k from 1 to 1e5: the first bound is used to 45% as stated and
  to more than 99% in the sharp form; the second is 10³ to 10⁷ times what happens as stated, some 10 times
  in the sharp form. What happens falls like (α²k)^{−3/2}, as the sharp bound does.
- **So (70) is not tight.** O(1/(α³k^{3/2}) + α/√k) holds.
- **Tests.** `test_the_second_bound_of_theorem_9_exceeds_the_first`;
  `test_the_sharp_form_implies_the_stated_one` and others in
  [`test_theorems_woodworth_matrices.py`](../tests/papers/woodworth2020/test_theorems_woodworth_matrices.py).
- **In Tacit.** `tacit.theorems.check("woodworth2020/theorem9", …)` and `-sharp`; `tacit reproduce
  woodworth2020/theorem9`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.papers import Assumption, Bound, Parts, theorem
from tacit.papers.arguments import positive, whole
from tacit.papers.woodworth2020.lifted import INSTANTS, SETTLED, Lifted, Movement, factorized, followed, lift

_Assumed = Generator[Assumption, None, bool]
_ACCURACY = 10 * SETTLED  # of what is measured, relative to the movement


@theorem("woodworth2020/theorem9", flows=2, matrices=True)
def theorem9(model: Any, X: Any, y: Any, mu: float | None = None, instants: int = INSTANTS) -> Parts:
    """μ > 4Λγ/λ and r ≤ (μλ/√Λ)(1 − √((1+γ/μ)/(1+λ/4Λ))), r = ‖y(0) − y*‖, imply sup‖W − W(0)‖ ≤
    √(Λ+λ/4)·r/(λ√μ) and sup‖W − W_TK‖ ≤ Λ√(1+λ/4Λ)·r²/(λ²μ^{3/2}) + 2√Λ√(1+γ/μ)·r/(λ√μ).

    Printed: The same, and true; but the second bound exceeds the first, and so says nothing of W_TK.

    Theorem 9; mu: the middle of the spectrum of W(0)W(0)ᵀ if left out.
    """
    course = yield from _course(model, X, y, mu, instants, _wide)
    if course is None:
        return
    lifted, level, movement = course
    bounds = movement_bound(lifted, level), tangent_bound(lifted, level)
    yield Bound("sup‖W(T) − W(0)‖_F", float(movement.moved.max()), at_most=bounds[0])
    yield Bound("sup‖W(T) − W_TK(T)‖_F", float(movement.apart.max()), at_most=bounds[1])


@theorem("woodworth2020/theorem9-sharp", flows=2, matrices=True)
def theorem9_sharp(model: Any, X: Any, y: Any, instants: int = INSTANTS) -> Parts:
    """√λ·s² ≥ 2r, s = σ_min(W(0)), implies sup‖W − W(0)‖ ≤ ρ, 2√λρ(s − ρ) = r, and a bound on sup‖W − W_TK‖
    quadratic in r.

    Printed: sup‖W − W_TK‖ ≤ Λ√(1+λ/4Λ)·r²/(λ²μ^{3/2}) + 2√Λ√(1+γ/μ)·r/(λ√μ), which is true, but of first
    order in r.

    Theorem 9 by the length of the way: weaker assumptions, smaller bounds; it implies the form stated.
    """
    course = yield from _course(model, X, y, None, instants, _near)
    if course is None:
        return
    lifted, _, movement = course
    first, second = sharp_bounds(lifted)
    left = _ACCURACY * first  # of the way, where the flow is stopped
    yield Bound("sup‖W(T) − W(0)‖_F", float(movement.moved.max()), at_most=first + left)
    yield Bound("sup‖W(T) − W_TK(T)‖_F", float(movement.apart.max()), at_most=second + left)


@theorem("woodworth2020/lemma11", flows=2, matrices=True)
def lemma11(model: Any, X: Any, y: Any, mu: float | None = None, instants: int = INSTANTS) -> Parts:
    """‖W − W(0)‖ ≤ R until T implies ‖y(t) − y*‖ ≤ r·exp(−2μλt + 4Λ(γ+R²+2R√(μ+γ))t) until T, and ‖y_TK(t) −
    y*‖ ≤ r·exp(−2μλt + 4Λγt).

    Printed: The factor 4 in Σ of (71) goes with the loss ½‖y − y*‖², not ‖y − y*‖²; (75) has 2μλ where (74)
    gives 4μλ.

    Lemma 11 with the smallest R, which is measured; as rates at which the residuals fall at the least.
    """
    course = yield from _course(model, X, y, mu, instants, _independent)
    if course is None:
        return
    lifted, level, movement = course
    R, gamma = float(movement.moved.max()), lifted.gamma(level)
    still = 2 * level * lifted.low - 4 * lifted.high * gamma
    moving = still - 4 * lifted.high * (R**2 + 2 * R * math.sqrt(level + gamma))
    for name, rate, left in (("y", moving, movement.left), ("y_TK", still, movement.tangent_left)):
        yield Bound(
            f"{rate:.4g}·t over log(r/‖{name}(t) − y*‖), the largest on the way, with R = {R:.4g}",
            _share(lifted, movement, rate, left),
            at_most=1.0,
        )


@theorem("woodworth2020/lemma12", flows=2, matrices=True)
def lemma12(model: Any, X: Any, y: Any, mu: float | None = None, instants: int = INSTANTS) -> Parts:
    """The assumptions of Theorem 9 imply sup‖W(t) − W(0)‖ ≤ √(Λ+λ/4)·r/(λ√μ).

    Printed: The same, and true; but (80) lacks a factor 2 on its right-hand side, for which (75) has room.

    Lemma 12, and the radius R of (78) within which its proof keeps the flow.
    """
    course = yield from _course(model, X, y, mu, instants, _wide)
    if course is None:
        return
    lifted, level, movement = course
    moved, gamma = float(movement.moved.max()), lifted.gamma(level)
    radius = math.sqrt(level + level * lifted.low / (4 * lifted.high)) - math.sqrt(level + gamma)
    yield Bound("sup‖W(t) − W(0)‖_F", moved, at_most=movement_bound(lifted, level))
    yield Bound("(78) the same, against R = √(μ+μλ/4Λ) − √(μ+γ)", moved, at_most=radius)


def movement_bound(lifted: Lifted, mu: float) -> float:
    """√(Λ+λ/4)·r/(λ√μ): how far W moves at the most (Theorem 9, first line)."""
    return math.sqrt(lifted.high + lifted.low / 4) * lifted.residual / (lifted.low * math.sqrt(mu))


def tangent_bound(lifted: Lifted, mu: float) -> float:
    """How far W is from its tangent flow at the most (Theorem 9, second line)."""
    low, high, r = lifted.low, lifted.high, lifted.residual
    curved = high * math.sqrt(1 + low / (4 * high)) * r**2 / (low**2 * mu**1.5)
    spread = math.sqrt(1 + lifted.gamma(mu) / mu)
    return curved + 2 * math.sqrt(high) * spread * r / (low * math.sqrt(mu))


def sharp_bounds(lifted: Lifted) -> tuple[float, float]:
    """How far W is from its start and its tangent flow at the most; infinite where nothing is known."""
    if not _within(lifted):
        return math.inf, math.inf
    low, high, r = math.sqrt(lifted.low), math.sqrt(lifted.high), lifted.residual
    smallest, largest = np.sqrt(lifted.spectrum[[0, -1]])
    rho = (r / low) / (smallest + math.sqrt(smallest**2 - 2 * r / low))
    turn, mass = 2 * high * rho, r / (4 * low**2 * (smallest - rho) ** 2)  # ‖J − J(0)‖, ∫‖y − y*‖
    pushed = turn * rho + 2 * high * largest * turn * mass  # ∫‖(Σ − Σ(0))(y − y*)‖
    return float(rho), float(turn * mass + pushed / (2 * low * smallest))


def _within(lifted: Lifted) -> bool:
    return 0 < 2 * lifted.residual <= math.sqrt(lifted.low) * lifted.spectrum[0]


def _course(
    model: Any, X: Any, y: Any, mu: float | None, instants: int, assumed: Callable[[Lifted, float], _Assumed]
) -> Generator[Assumption, None, tuple[Lifted, float, Movement] | None]:
    """What is assumed of start and flow: returns the lifted form, μ and what W did; None where it stays.

    assumed: the part about the start, which tells whether bounds can be computed of it.
    """
    yield factorized(model)
    lifted = lift(model, X, y)
    level = lifted.mu if mu is None else positive(mu, "mu")
    known = yield from assumed(lifted, level)
    if not known or lifted.residual == 0:
        return None
    movement = followed(lifted, whole(instants, "instants", 2))
    yield movement.settled
    return lifted, level, movement


def _wide(lifted: Lifted, mu: float) -> _Assumed:
    """What Theorem 9 and Lemma 12 assume; without independent measurements they bound nothing."""
    rows, low, high, gamma = len(lifted.W), lifted.low, lifted.high, lifted.gamma(mu)
    yield Assumption(f"the width {lifted.width} is at least {rows}", lifted.width >= rows)
    yield from _independent(lifted, mu)
    if low == 0:
        return False
    yield Assumption(
        f"μ = {mu:.6g} is above 4Λγ/λ = {4 * high * gamma / low:.6g}", mu > 4 * high * gamma / low
    )
    most = mu * low / math.sqrt(high) * (1 - math.sqrt((1 + gamma / mu) / (1 + low / (4 * high))))
    r = lifted.residual
    yield Assumption(f"‖y(0) − y*‖ = {r:.6g} is at most {most:.6g}", r <= most)
    return True


def _near(lifted: Lifted, mu: float) -> _Assumed:
    """What the sharp form assumes."""
    yield from _independent(lifted, mu)
    reach = math.sqrt(lifted.low) * float(lifted.spectrum[0])
    yield Assumption(f"2r = {2 * lifted.residual:.6g} is at most √λ·s² = {reach:.6g}", _within(lifted))
    return True


def _independent(lifted: Lifted, mu: float) -> _Assumed:
    """What they all assume, and Lemma 11 nothing else."""
    yield Assumption(
        f"the measurements are independent: λ = {lifted.low:.4g} is above 0 (Λ = {lifted.high:.4g})",
        lifted.low > 0,
    )
    return True


def _share(lifted: Lifted, movement: Movement, rate: float, left: Float) -> float:
    """rate·t over log(r/left), the largest at instants where left is more than rounding."""
    seen = slice(0, movement.last)
    falls = np.log(lifted.residual / left[seen])
    time = movement.time[seen]
    sound = (falls > 1e-6) & (falls < 18)
    return float(np.max(rate * time[sound] / falls[sound], initial=-math.inf))
