r"""Theorem 1 of Min et al. 2021: the imbalance bounds the rate of convergence from below.

The evolution of the weights in Min et al. 2021: Λ is conserved, and they converge, also in the NTK
parametrization.

The statements concern Z = [V; U₁], Z' = A_Z Z with ‖A_Z‖ = ‖Σ_x^{1/2}E‖ (equation 27). The flow depends on Z
Zᵀ only, so it is computed with as many columns as Z has rows, for any width of the network.

Errata
------
### Theorem 1: which λ_r, and how tight
λ_r(Σ_x) is the square of the smallest nonzero singular value of X; no 1/n divides it, and the factor 2 in
the rate is tight (targets 0 and equal singular values attain it). The proof writes λ_n for λ_r. In 200 random
runs, including runs with more samples than the rank and fewer hidden units than r + m, the bound was never
violated (largest share 0.99992). `test_no_number_of_samples_divides_the_rate`

### Equations 28 and 29: a sign
- **Printed.** −∂L/∂U = −Xᵀ(Y − XUVᵀ)V and −∂L/∂V = −(Y − XUVᵀ)ᵀXU. **Holds.** Both without the minus on the
  right, also in the second lines; (30) and (31) do not use it.
  `test_equations_28_and_29_have_one_minus_too_many`
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tacit
from tacit.data.arrays import Float
from tacit.papers import Bound, Parts, Premise, theorem
from tacit.papers.agreement import AGREE
from tacit.papers.arguments import between
from tacit.papers.min2021.network import (
    LOSS,
    RTOL,
    SETTLED,
    Split,
    above_minimum,
    errors_of,
    followed,
    guaranteed_rate,
    imbalance_level,
    linear_network,
    narrow,
    power_of,
    rounding,
    split,
    stacked,
)

_INSTANTS = 121  # recorded times, evenly in the logarithm of log((L(0) − L*)/(L − L*))
_EARLY = 1e-3  # log((L(0) − L*)/(L − L*)) at the first of them
_NOISE = 5.0  # the absolute accuracy of E along the flow, in units of its round-off


@theorem("min2021/theorem1", flows=2)
def theorem1(model: Any, X: Any, y: Any, down_to: float = 1e-12) -> Parts:
    """L(t) − L* ≤ exp(−2λ_r(Σ_x)ct)·(L(0) − L*), c = [λ_r(Λ)]₊ + [λ_m(−Λ)]₊, for L = ½‖Y − XUVᵀ‖².

    Printed: The proof has λ_n(Σ_x) for λ_r(Σ_x), the smallest that is not 0.

    Theorem 1, equation 10, until (L − L*)/(L(0) − L*) = down_to.

    The bound holds where the share 2λ_r(Σ_x)ct / log((L(0) − L*)/(L − L*)) is at most 1, and the proof bounds
    the rate at every time, too. The factor 2 is tight: if the targets are 0 and X has equal singular values,
    a network of width r + m or more tends to U₁Vᵀ = 0. There c = λ_r(U₁U₁ᵀ) + λ_m(VVᵀ), and the slowest part
    of E decreases at exactly the guaranteed rate.
    """
    yield linear_network(model)
    down_to = between(down_to, "down_to", 0, 0.9)
    parts = split(model, X, y)
    yield above_minimum(parts)
    level, rate = imbalance_level(model, X), guaranteed_rate(model, X)
    fall, time = _fall(model, parts, np.geomspace(_EARLY, -math.log(down_to), _INSTANTS))
    if level > 0 and len(fall) < _INSTANTS:
        raise tacit.NotConvergedError(f"the flow of {model!r} ended early; no bound can be checked")
    text = f"2λ_r(Σ_x)ct over log((L(0) − L*)/(L − L*)), the largest along the flow, with c = {level:.4g}"
    yield Bound(text, float(np.max(rate * time / fall, initial=0.0)), at_most=1.0)
    if len(fall) == _INSTANTS:
        left = math.sqrt(down_to) * float(np.linalg.norm(parts.error))
        yield Bound(
            "rate of decrease of L − L* at the end, compared with 2λ_r(Σ_x)c minus the accuracy of "
            "the flow there",
            float((fall[-1] - fall[-2]) / (time[-1] - time[-2])),
            at_least=rate * max(1 - _NOISE * rounding(parts) / left, 0.0),
        )


def _fall(model: tacit.LinearNetwork, parts: Split, falls: Float) -> tuple[Float, Float]:
    """log((L(0) − L*)/(L − L*)) at the recorded times, and the times."""
    start = math.log(2) - 2 * math.log(float(np.linalg.norm(parts.error)))
    flow = tacit.flow(model, parts.inputs, parts.targets, loss=LOSS, at=start + falls, rtol=RTOL)
    return flow.accuracy - start, flow.time


_CONSERVED = 1e-8  # relative tolerance for the change of Λ along an integrated flow


@theorem("min2021/imbalance", about=("Claim",))
def imbalance(model: Any, X: Any, y: Any) -> Parts:
    """Λ = U₁ᵀU₁ − VᵀV does not change along the flow.

    The Claim of Section 2.2: the largest ‖Λ(t) − Λ(0)‖ along the flow, relative to ‖U₁‖² + ‖V‖².
    """
    parts, Z = yield from _course(model, X, y)
    rank = len(parts.sizes)
    first = _level(Z[0], rank)
    drift = max(float(np.linalg.norm(_level(z, rank) - first) / np.sum(z**2)) for z in Z)
    yield Bound("‖Λ(t) − Λ(0)‖_F/(‖U₁‖² + ‖V‖²), the largest along the flow", drift, at_most=_CONSERVED)


@theorem("min2021/weights", about=("Appendix C",))
def weights(model: Any, X: Any, y: Any) -> Parts:
    """c > 0 implies that Z = [V; U₁] converges with E(∞) = 0: ‖Z(t)‖² ≤ exp(2λ₁^{½}‖E(0)‖/(cλ_r))‖Z(0)‖² and
    ‖Z(t) − Z(∞)‖ ≤ λ₁^{½}‖E(t)‖/(cλ_r)·sup‖Z‖.

    Printed: λ_n(Σ_x) for λ_r(Σ_x), the smallest that is not 0, in the bound after (27).

    The last statement of Theorem 1, with the bound that follows (27), where λ_n is printed for λ_r.

    The second bound is the same argument from time t on: ‖Z'‖ ≤ λ₁^{½}‖E‖‖Z‖ and ∫‖E‖ ≤ ‖E(t)‖/(cλ_r), which
    implies that the weights converge.
    """
    parts, Z = yield from _course(model, X, y)
    level = imbalance_level(model, X)
    yield Premise(f"the imbalance c = {level:.4g} is above 0", level > 0)
    rate = float(parts.sizes[0]) / (float(parts.sizes[-1]) ** 2 * level)
    errors = errors_of(parts, Z)
    norms = np.linalg.norm(Z, axis=(1, 2))
    grown = 2 * math.log(float(norms.max() / norms[0]))
    yield Bound(
        "log(‖Z(t)‖²/‖Z(0)‖²), the largest along the flow", grown, at_most=2 * rate * float(errors[0])
    )
    apart, allowed = np.linalg.norm(Z - Z[-1], axis=(1, 2)), rate * errors * float(norms.max())
    text = "‖Z(t) − Z(∞)‖ over λ₁^{½}‖E(t)‖/(cλ_r)·sup‖Z‖, the largest along the flow"
    yield Bound(text, float(np.max(apart[:-1] / allowed[:-1])), at_most=1.0)
    yield Bound("‖E‖/‖E(0)‖ at the end", float(errors[-1] / errors[0]), at_most=10 * SETTLED)


@theorem("min2021/appendixD", flows=2)
def appendix_d(model: Any, X: Any, y: Any, alpha: float = 0.5) -> Parts:
    """Ũ = h^αU, Ṽ = h^αV follow the flow of ½‖Y − h^{−2α}XŨṼᵀ‖², h^{2α} times as fast.

    Printed: (28) and (29) have a superfluous minus on the right; (30) and (31) do not use it.

    Appendix D, equations 30 and 31: the NTK parametrization, compared at twenty times.

    (28) and (29) have a superfluous minus on the right, with which the flow would ascend; (30) and (31) do
    not use it.
    """
    power = power_of(alpha)
    parts, Z = yield from _course(model, X, y)
    unit = float(model.inner.shape[1]) ** power
    times, small = followed(parts).time[5::6], narrow(parts)
    other = tacit.LinearNetwork(unit * small.inner, unit * small.outer)
    scaled = tacit.flow(
        other, np.diag(parts.sizes) / unit**2, parts.targets, loss=LOSS, times=unit**2 * times, rtol=RTOL
    )
    apart = stacked(other, scaled)[1:] / unit - Z[6::6]
    yield Bound(
        f"‖h^−α[Ũ; Ṽ](h^2α·t) − [U; V](t)‖ over ‖[U; V](t)‖, the largest, h^α = {unit:.4g}",
        float(np.max(np.linalg.norm(apart, axis=(1, 2)) / np.linalg.norm(Z[6::6], axis=(1, 2)))),
        at_most=AGREE,
    )


def _course(model: Any, X: Any, y: Any) -> Any:
    """Yield the assumptions; return the split and Z at all recorded times."""
    yield linear_network(model)
    parts = split(model, X, y)
    yield above_minimum(parts, 100)
    flow = followed(parts)
    yield Premise("the flow reaches the least loss", bool(flow.converged))
    return parts, stacked(narrow(parts), flow)


def _level(Z: Float, rank: int) -> Float:
    """U₁ᵀU₁ − VᵀV of Z = [U₁; V]."""
    return np.asarray(Z[:rank].T @ Z[:rank] - Z[rank:].T @ Z[rank:])
