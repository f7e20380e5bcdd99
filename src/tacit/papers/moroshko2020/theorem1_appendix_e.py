r"""Theorem 1 and Appendix E of Moroshko et al. 2020: how long a network follows its linearized model.

The linearized model is w̄ = Dα^{D−1}(ū₊ − ū₋), a linear predictor that is trained 2D²α^{2D−2} times as fast.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tacit
from tacit.data.arrays import Float
from tacit.papers import Bound, Parts, Premise, theorem
from tacit.papers.arguments import arrived, increasing, log_alpha
from tacit.papers.measures import exponent
from tacit.papers.moroshko2020.separation import Separation, plain_diagonal, separation

_INSTANTS = 41
# Recorded times, and the first one relative to the horizon; earlier, w and w̄ nearly coincide.
_TIMES, _SOON = 21, 1e-3
_FLAT, _FLATTER = 1e4, 1e3  # largest x_max/γ₂ for which flows to T, and to γ̃*, can be integrated
_REACHED = 3.0  # the accuracy guaranteed by Lemma 3 at the horizon, for the smallest scale
_FARTHEST = 1e7  # the largest accuracy of a linear flow
_ON = 1e-6  # relative distance from the margin below which a sample is a support vector
_POSITIVE = 1e-9  # relative size below which a multiplier is zero
_RTOL = 1e-10  # of the linear flow


@theorem("moroshko2020/theorem1", flows=6)
def theorem1(model: Any, X: Any, y: Any, scales: Any = (1e1, 1e2, 1e3)) -> Parts:
    """sup over t ≤ T of ‖w(t) − w̄(t)‖, w̄ the linearized model, vanishes as α → ∞ at fixed T.

    Theorem 1, after Chizat et al. 2019, at growing scales s = α^D/‖w_ℓ2‖₂; the model gives the depth.

    T: the time at which Lemma 3 guarantees γ̃ = 3 at the smallest scale. h_D is linear up to a cubic term, so
    that the distance is about γ̃³/α^{2D}, where γ̃(T) grows with log α. Divided by γ̃³, the exponent of α^D
    is about −2.
    """
    scales = increasing(scales)
    yield plain_diagonal(model)
    data, D = separation(X, y), model.depth
    yield _even(data, _FLAT)
    logs = np.log(scales * data.norm) / D
    log_rate = math.log(2 * (D * data.margin) ** 2) + (2 * D - 2) * logs[0]
    times = np.exp(math.log(math.expm1(_REACHED)) - log_rate) * np.geomspace(_SOON, 1, _TIMES)
    apart, reached = [], []
    for log_scale in logs:
        network = tacit.Diagonal(depth=D, log_scale=float(log_scale))
        flow, linear = (
            tacit.flow(network, X, y, loss="exp", times=times, linearized=each) for each in (False, True)
        )
        apart.append(float(np.linalg.norm(np.subtract(flow.predictor, linear.predictor), axis=1).max()))
        reached.append(float(flow.accuracy[-1]))
    text = f"sup‖w − w̄‖ at α^D = {scales[-1] * data.norm:.4g}, against that at {scales[0] * data.norm:.4g}"
    yield Bound(text, apart[-1], at_most=apart[0])
    sizes = np.maximum(apart, 1e-300) / np.power(reached, 3)
    yield Bound("exponent of α^D in sup‖w − w̄‖/γ̃(T)³", exponent(scales, sizes), at_most=-1.5)


def _even(data: Separation, most: float) -> Premise:
    """Whether one flow can resolve both the samples that are fitted fastest and slowest."""
    ratio = data.longest / data.margin
    return Premise(f"x_max/γ₂ = {ratio:.4g} is at most {most:g}", ratio <= most)


@dataclass(frozen=True, eq=False)
class Support:
    """The support S₂ of the ℓ2 margin, w_ℓ2 = Σν_n x_n, in the notation of Appendix E.

    shift: w̃ with exp(−x_n·w̃) = ν_n on S₂. ratio: θ, the smallest margin off S₂ (∞ if there is none). pull:
    c₁, the largest exp(−x_n·w̃) there. usable: all ν are positive, and w̃ exists.
    """

    off: NDArray[np.bool_]
    shift: Float
    ratio: float
    pull: float
    usable: bool


def support(Z: Float, predictor: Float) -> Support:
    """The quantities of Appendix E for rows y_n x_n and their ℓ2 margin."""
    margins = Z @ predictor
    on = margins < 1 + _ON
    nu = np.linalg.lstsq(Z[on].T, predictor, rcond=None)[0]
    usable = bool(np.linalg.matrix_rank(Z[on]) == on.sum() and (nu > _POSITIVE * np.abs(nu).max()).all())
    shift = np.linalg.lstsq(Z[on], -np.log(np.where(nu > 0, nu, 1.0)), rcond=None)[0]
    ratio = float(margins[~on].min(initial=math.inf))
    pull = float(np.exp(-(Z[~on] @ shift)).max(initial=0.0))
    return Support(~on, np.asarray(shift, dtype=np.float64), ratio, pull, usable)


@theorem("moroshko2020/appendixE", flows=2)
def appendix_e(model: Any, X: Any, y: Any) -> Parts:
    """The linearized model has log(1 + ργ₂²t) ≤ γ̄ ≤ log(1 + ρx²_max·t), ρ = 2D²α^{2D−2}, stays near
    log(ρt/N)·w_ℓ2, and satisfies Condition 5.

    Appendix E with the constants of its proof: (37), (39), (44), and ρ₀ = (θ+1)/2 above its γ̃*.

    With κ = w̄ − log(ρt/N)·w_ℓ2 − w̃ and e^{γ₀} = 1 + N·x²_max, above which (43) holds,
    ‖κ‖² ≤ ‖κ(γ₀)‖² + 2c₁(N·x²_max)^θ/(γ₂²(θ−1)(e^{γ₀}−1)^{θ−1}).
    """
    yield plain_diagonal(model)
    data = separation(X, y)
    yield _even(data, _FLATTER)
    inputs = tacit.max_margin(X, y, "l2")
    Z = inputs.y[:, None] * np.asarray(inputs.X)
    found = support(Z, data.predictor)
    yield Premise("support vectors are independent, with positive multipliers", found.usable)
    first = math.log1p(data.samples * data.longest**2)
    extra = _extra(data, found)
    _, _, begun, _ = _course(model, X, y, data, found, np.array([first]))
    bound = math.sqrt(float(begun[0]) ** 2 + extra)
    last = max(10 * first, 50.0, _stable_from(data, found, bound))
    yield Premise(f"double precision can resolve the flow up to γ̃* = {last:.4g}", last <= _FARTHEST)
    low, high, kappa, ratio = _course(model, X, y, data, found, np.geomspace(first, last, _INSTANTS))
    yield Bound("(37) log(1 + ργ₂²t)/γ̄, the largest", float(low.max()), at_most=1.0)
    yield Bound("(39) γ̄/log(1 + ρx²_max·t), the largest", float(high.max()), at_most=1.0)
    # κ is a difference of vectors of length γ̃·‖w_ℓ2‖, which are as accurate as the flow.
    error = _RTOL * last * float(np.linalg.norm(data.predictor))
    yield Bound("(44) ‖κ‖₂, the largest", float(kappa.max()), at_most=bound + error)
    if math.isfinite(found.ratio):
        text = f"smallest margin off S₂ over the one on it, at γ̃* = {last:.4g}, against (θ+1)/2"
        yield Bound(text, float(ratio[-1]), at_least=(found.ratio + 1) / 2)


def _course(
    model: Any, X: Any, y: Any, data: Separation, found: Support, accuracies: Float
) -> tuple[Float, Float, Float, Float]:
    """The linear flow at each recorded time: shares of (37) and (39), ‖κ‖ and the ratio of margins."""
    flow = tacit.flow(model, X, y, loss="exp", at=accuracies, linearized=True, rtol=_RTOL)
    arrived(flow, f"the linear flow ended early ({flow.reason}); no bound can be checked")
    log_rate = math.log(2 * model.depth**2) + (2 * model.depth - 2) * log_alpha(model)
    clock, w = log_rate + flow.log_time, np.asarray(flow.predictor)
    kappa = w - (clock - math.log(data.samples))[:, None] * data.predictor - found.shift
    margins = flow.y * flow.outputs
    off = margins[:, found.off].min(axis=1, initial=math.inf)
    low = np.logaddexp(0.0, clock + 2 * math.log(data.margin)) / flow.accuracy
    high = flow.accuracy / np.logaddexp(0.0, clock + 2 * math.log(data.longest))
    return low, high, np.linalg.norm(kappa, axis=1), off / margins.min(axis=1)


def _extra(data: Separation, found: Support) -> float:
    """2c₁(N·x²)^θ/(γ₂²(θ−1)(N·x²)^{θ−1}) = 2c₁N·x²/(γ₂²(θ−1)), the integral from γ₀ on."""
    if not math.isfinite(found.ratio):
        return 0.0
    return 2 * found.pull * data.samples * (data.longest / data.margin) ** 2 / (found.ratio - 1)


def _stable_from(data: Separation, found: Support, bound: float) -> float:
    """γ̃* above which both inequalities at the end of Appendix E hold, and hence Condition 5."""
    if not math.isfinite(found.ratio):
        return 0.0
    theta, logs = found.ratio, math.log1p(data.samples * data.longest**2)
    shift = math.log(found.pull) + data.longest * bound
    return max(4 * theta * (logs + 1) / (theta - 1), 4 * shift / (theta - 1))
