r"""Theorems 4, 6 and 7 of Moroshko et al. 2020: stopped flows as the initialization scale grows.

Stopped at the accuracy γ̃(α), the flow is at ŵ = w/min y_n x_n·w. As α → ∞ it tends to a maximum margin:

    γ̃ = o(α^D): of ℓ2 (Theorem 4)      γ̃ = α^D/μ: of Q_μ (Theorem 6)      γ̃ = ω(α^D): of ℓ1 (Theorem 7)

the last two under Condition 5. A limit cannot be checked, so each theorem is evaluated at increasing scales.
The model gives the depth; scales are values s of α^D in units of ‖w_ℓ2‖₂, so that the units of X do not
matter.

Theorems 4 and 7 have bounds at every finite scale, `kernel_gap` and `rich_excess`. For Theorem 6 the rate can
be tested. Since w = α^D·h_D(Zᵀθ) with θ ≥ 0 and rows z_n = y_n x_n, convexity gives

    Q(ŵ) − Q(w*)  ≤  Σ θₙ(z_n·ŵ − 1)                                                               (∗)

for every w* with margins of at least 1. Under Condition 5, and if its γ̃* does not depend on α (as in the
kernel regime, Appendix E), the right side is O(1/γ̃), and strong convexity makes the distance
O(γ̃^{−1/2}) = O(α^{−D/2}). Usually it is O(α^{−D}).

Condition 5 of Moroshko et al. 2020: no sample that is off the support was on it before.

Errata
------
### Theorem 14 (4 for D = 2), last display: a missing γ̃
- **Printed.** (2α²γ₂²/x̄)·sinh(…) − 1. **Holds.** (2α²γ₂²/(x̄γ̃))·sinh(…) − 1.
- **Evidence.** Data of Figure 3d, α² = 7.7e3, γ̃ = 100: printed 99.0, corrected 2.3e-5. Theorem 17 has
  γ̃/α² for γ̃/α^D.
- **Test.** `test_kernel_gap_is_the_inequality_of_the_proof`. The proof gives a bound at every α, which
  the check of Theorem 4 uses; observed is a gap of α^{−D·min(p, 2−2p)} for γ̃ = α^{Dp}.

### Theorem 7: its conditions, and an open case
- At D = 2 Condition 9 holds whenever the support changes finitely often: support vectors may leave. Test:
  `test_at_depth_2_a_support_vector_may_leave`.
- Where the ℓ1 margin is not unique, γ̃ = ω(α^D) does not determine ŵ, the scale does. Test:
  `test_among_many_l1_margins_the_scale_decides`.
- Appendix H.2 says that large scales select the ℓ1 margin of least ℓ2 norm. They select that of largest
  entropy, which is the same on an edge between two coordinates and not in general. Test:
  `test_what_large_scales_select_is_entropy_and_only_on_an_edge_the_least_l2_norm` in
  `test_moroshko_norms.py`.

### Section 5, Figure 3(d): the range in which Condition 5 holds
- **Printed.** For μ above the kink μ₀ of the Q_μ path.
- **Holds.** Until a multiplier of the path begins to fall, which is earlier.
- **Evidence.** On our data the kink is at μ₀ = 0.0404 and a sample leaves the flow at 0.1891. As α → ∞
  the gap to Q_μ, relative to its margin, tends to 2.14e-3, 1.45e-2 and 5.12e-2 at μ = 0.15, 0.1 and 0.05
  (at α^D = 7.7e3 it is 2.47e-3, 1.48e-2 and 5.15e-2); at μ = 0.19 it falls like α^{−D}.
- **Tests.** `test_a_multiplier_that_falls_is_enough`, `test_the_gap_that_is_left_where_a_sample_has_gone`,
  `test_with_condition_5_the_theorem_goes`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tacit
from tacit.numerics.nonnegative import nonnegative_least_squares
from tacit.papers import Assumption, Bound, Parts, theorem
from tacit.papers.arguments import arrived, increasing, positive
from tacit.papers.measures import exponent
from tacit.papers.moroshko2020.separation import (
    Float,
    Separation,
    far_down,
    log_mirror,
    mirror_argument,
    plain_diagonal,
    rich_excess,
    separation,
    settled_flow,
    settled_margin,
    stability,
)

_NOISE = 1e-8  # smaller gaps may be errors of the flow
_ACCURATELY, _ROUGHLY = 1e-8, 1e-6  # tolerances of flows, and the largest tolerance that saves time
_OF_THE_BOUND = 1e-3  # allowed error of a norm, relative to the bound with which it is compared
_STATIONARY = 1e-6  # relative residual below which a point is stationary
_LOOKS = 19  # points of the sweeping path at which samples that have left are examined
_BETWEEN = 0.25  # a μ, relative to the largest entry of w_ℓ2, at which Q_μ is neither ℓ2 nor ℓ1


def kernel_gap(data: Separation, depth: float, log_scale: float, accuracy: float) -> float:
    """An upper bound of ‖ŵ − w_ℓ2‖₂/‖w_ℓ2‖₂ at this accuracy γ̃ and log_scale = log α^D.

    From the proof of Theorem 4 before its last step: (46) with (49), or (71) with (74), give
    ‖w‖₂/γ̃ ≤ 1/γ₂ + (x_max/γ₂²)·(h_D(z)/(h_D′(0)z) − 1) with the z of Lemmas 11 and 13, and the smallest
    margin is at least γ̃ − log N (10). So ‖ŵ‖₂ ≤ (1 + e)‖w_ℓ2‖₂, and since w_ℓ2 is the shortest of the
    vectors with margins of at least 1, ‖ŵ − w_ℓ2‖₂² ≤ ‖ŵ‖₂² − ‖w_ℓ2‖₂².
    """
    shortfall = math.log(data.samples) / accuracy
    if shortfall >= 1:
        return math.inf
    bend = _bend(float(mirror_argument(data, depth, log_scale, accuracy)), depth)
    excess = (1 + data.longest / data.margin * bend) / (1 - shortfall) - 1
    return math.sqrt(excess * (2 + excess))


def _bend(z: float, depth: float) -> float:
    """h_D(z)/(h_D′(0)z) − 1, the nonlinearity of h_D; from its series for small z, to avoid cancellation."""
    p = math.inf if depth == 2 else depth / (depth - 2)
    if depth == 2 and z < 1e-2:
        return z**2 / 6 * (1 + z**2 / 20)
    if (p + 4) * z < 1e-2:
        return (p + 1) * (p + 2) * z**2 / 6 * (1 + (p + 3) * (p + 4) * z**2 / 20)
    slope = 2.0 if depth == 2 else 2 * p
    with np.errstate(over="ignore"):
        return float(np.expm1(log_mirror(z, depth) - math.log(slope * z)))


@theorem("moroshko2020/theorem4", flows=5, about=("Theorem 14", "Theorem 17"))
def theorem4(
    model: Any, X: Any, y: Any, power: float = 0.5, scales: Any = (1e4, 1e5, 1e6, 1e7, 1e8)
) -> Parts:
    """γ̃ = o(α^D) as α → ∞: the flow stops at the ℓ2 maximum margin.

    Printed: The last display of Theorem 14 is (2α²γ₂²/x̄)·sinh(…) − 1, which does not vanish; the denominator
    must be x̄γ̃.

    Theorem 4 for γ̃ = s^power, α^D = s·‖w_ℓ2‖₂, 0 < power < 1.

    There are two sources of error. The margins of support vectors differ by constants, which are divided by
    γ̃; and h_D is nonlinear, by (γ̃/α^D)². The gap is therefore about s^{−min(power, 2−2·power)};
    `kernel_gap` is about its square root.
    """
    power, scales = positive(power, "power"), increasing(scales)
    yield plain_diagonal(model)
    yield Assumption(f"γ̃ = s^{power:g}, s = α^D/‖w_ℓ2‖₂, is o(α^D)", power < 1)
    data = separation(X, y)
    rtol = _tolerated(scales ** -min(power, 2 - 2 * power) if power < 1 else 0 * scales)
    gaps = _gaps(_flows(model, X, y, data.norm * scales, scales**power, rtol), data.predictor)
    sizes = zip((scales * data.norm).tolist(), (scales**power).tolist(), strict=True)
    allowed = np.array([kernel_gap(data, model.depth, math.log(size), at) for size, at in sizes])
    where = f"α^D = {scales[-1] * data.norm:.4g}, γ̃ = {scales[-1] ** power:.4g}"
    text = f"‖ŵ − w_ℓ2‖₂/‖w_ℓ2‖₂ at {where}, against the proof"
    yield Bound(text, float(gaps[-1]), at_most=max(float(allowed[-1]), _NOISE))
    shares = gaps / np.maximum(allowed, _NOISE)
    yield Bound("largest share of what the proof allows, at any scale", float(shares.max()), at_most=1.0)
    seen = gaps > _NOISE
    if power < 1 and seen.sum() > 1:
        fitted = exponent(scales[seen], gaps[seen])
        yield Bound("exponent of α^D in the gap", fitted, at_most=-min(power, 2 - 2 * power) / 2)


@theorem("moroshko2020/theorem6", flows=5, about=("Theorem 15", "Theorem 18"))
def theorem6(
    model: Any, X: Any, y: Any, mu: float | None = None, scales: Any = (1e2, 1e3, 1e4, 1e5, 1e6)
) -> Parts:
    """γ̃ = α^D/μ as α → ∞, under Condition 5: the flow stops at the Q_μ maximum margin.

    Theorem 6 at one μ; by default, a quarter of the largest entry of w_ℓ2.

    The gap to the Q_μ margin must decrease at least like α^{−D/2} (see the module), and usually decreases
    like α^{−D}. If Condition 5 fails it does not vanish: the flow tends to `tacit.sweeping_path` instead.
    """
    scales, mu = increasing(scales), None if mu is None else positive(mu, "mu")
    yield plain_diagonal(model)
    data = separation(X, y)
    mu = _BETWEEN * float(np.abs(data.predictor).max()) if mu is None else mu
    stable = stability(X, y, model.depth, mu)
    yield Assumption(f"Condition 5 holds at μ = {mu:.4g}", stable.holds_at(mu))
    path = tacit.margin_path(X, y, [mu], depth=model.depth)
    arrived(path, f"the Q_μ margin at μ = {mu:g} did not converge; choose another μ")
    flows = _flows(model, X, y, data.norm * scales, data.norm * scales / mu, _tolerated(1 / scales))
    gaps = _gaps(flows, path.predictors[0])
    first, last = (f"α^D = {s * data.norm:.4g}" for s in scales[[0, -1]])
    slow = max(float(gaps[0] * math.sqrt(scales[0] / scales[-1])), _NOISE)
    text = f"‖ŵ − w_Q‖₂/‖w_Q‖₂ at {last}, against a decrease like the square root of α^D since {first}"
    yield Bound(text, float(gaps[-1]), at_most=slow)
    if gaps[-2:].min() > _NOISE:
        steepest = math.log(gaps[-1] / gaps[-2]) / math.log(scales[-1] / scales[-2])
        yield Bound("exponent of α^D in the gap, at the largest scales", steepest, at_most=-0.5)


@theorem("moroshko2020/theorem7", flows=4, about=("Theorem 16", "Theorem 19"))
def theorem7(model: Any, X: Any, y: Any, power: float = 2.0, scales: Any = (1e1, 1e2, 1e3, 1e4)) -> Parts:
    """γ̃ = ω(α^D) as α → ∞, under Condition 5 (D = 2: the weaker Condition 9): the flow stops at an ℓ1 margin.

    Printed: Large scales select the ℓ1 margin of least ℓ2 norm (Appendix H.2); they select that of largest
    entropy.

    Theorem 7 for γ̃ = s^power, α^D = s·‖w_ℓ2‖₂, power > 1: the excess of ‖ŵ‖₁ over the least ℓ1 norm.

    Norms are compared instead of predictors, because the ℓ1 margin need not be unique.
    The bound is `rich_excess`. For D > 2 the right side of (∗) is left out: under Condition 5 it is O(1/γ̃),
    of smaller order than the bound, (α^D/γ̃)^{1−2/D}. For D = 2 a sample may leave the support if it does so
    by γ̃ = o(α² log(γ̃/α²)) (Condition 9), which makes the right side of (∗) o(log(γ̃/α²)) (64). As γ̃/α² →
    ∞, samples may leave at any fixed μ = α²/γ̃; but they may leave at ever smaller μ (dozens were seen, down
    to 1e-37), and no finite μ shows which is the last. Therefore (64) itself is checked on the sweeping path.

    For D > 2 the paper concludes that a unique ℓ1 margin must be stationary for ‖w‖_{2/D}; this is checked,
    too.
    """
    power, scales = positive(power, "power"), increasing(scales)
    yield plain_diagonal(model)
    D, data = model.depth, separation(X, y)
    yield Assumption(f"γ̃ = s^{power:g}, s = α^D/‖w_ℓ2‖₂, is ω(α^D)", power > 1)
    least = settled_margin(X, y, "l1")
    stable = stability(X, y, D, far_down(data))
    yield _vanishing(X, y, data.norm, least.value, stable) if D == 2 else _stable_to_the_end(stable)

    bounds = [rich_excess(least.value, data.features, D, data.norm * s ** (1 - power)) for s in scales]
    rtol = _tolerated(np.array(bounds))
    flows = _flows(model, X, y, data.norm * scales, scales**power, rtol)
    excess = np.array([_excess(flow, least.value) for flow in flows])
    mus = np.array([s * data.norm / flow.margin[-1] for s, flow in zip(scales, flows, strict=True)])
    left = _left_behind(X, y, mus) if D == 2 else np.zeros(len(mus))
    allowed = np.array(
        [rich_excess(least.value, data.features, D, *each) for each in zip(mus, left, strict=True)]
    )
    allowed = np.maximum(allowed, _NOISE)
    where = f"α^D = {scales[-1] * data.norm:.4g}, γ̃ = {scales[-1] ** power:.4g}"
    yield Bound(f"‖ŵ‖₁/‖w_ℓ1‖₁ − 1 at {where}", float(excess[-1]), at_most=float(allowed[-1]))
    text = "largest share of what is allowed, at any scale"
    yield Bound(text, float((excess / allowed).max()), at_most=1.0)
    if D > 2 and least.unique:
        residual = quasi_stationarity(least, D)
        yield Bound("how far w_ℓ1 is from stationary for ‖w‖_{2/D}", residual, at_most=_STATIONARY)


def quasi_stationarity(margin: tacit.Margin, depth: float) -> float:
    """The relative residual of Σ νₙ y_n x_nᵢ = sgn(wᵢ)|wᵢ|^{2/D−1} where wᵢ ≠ 0, ν ≥ 0 on margins of 1."""
    w, Z = margin.predictor, margin.y[:, None] * margin.X
    moving = np.abs(w) > 1e-9 * np.abs(w).max()
    tight = Z @ w <= 1 + 1e-9
    slope = np.sign(w[moving]) * (np.abs(w[moving]) / np.abs(w).max()) ** (2 / depth - 1)
    _, misfit = nonnegative_least_squares(Z[np.ix_(tight, moving)].T, slope)
    return misfit / float(np.linalg.norm(slope))


def _stable_to_the_end(stable: tacit.Stability) -> Assumption:
    """Condition 5 for μ → 0."""
    text = f"Condition 5 holds for μ → 0 (checked down to {stable.down_to:.3g})"
    return Assumption(text, stable.holds_at(stable.down_to))


def _vanishing(X: Any, y: Any, first: float, norm: float, stable: tacit.Stability) -> Assumption:
    """The consequence (64) of Condition 9: samples that have left contribute o(log 1/μ) as μ → 0.

    Their contribution relative to B·log(1 + B/μ), B = ‖w_ℓ1‖₁, in `rich_excess` must finally decrease.
    """
    mu = np.geomspace(first, stable.down_to, _LOOKS)
    shares = np.maximum(_left_behind(X, y, mu), 0.0) / (norm * np.log1p(norm / mu))
    if shares.max() <= _NOISE:
        return Assumption("Condition 9: no sample is left behind", True)
    largest = int(np.argmax(shares))
    then = f", at most {shares[largest]:.2g} before" if largest < _LOOKS - 1 else ", and it rises"
    return Assumption(
        f"Condition 9: Σθₙ(z_n·ŵ − 1) is o(log 1/μ), of samples left behind: {shares[-1]:.2g} of "
        f"‖w_ℓ1‖₁·log(1/μ) at μ = {mu[-1]:.2g}{then}",
        largest < _LOOKS - 1,
    )


def _left_behind(X: Any, y: Any, mu: Float) -> Float:
    """The right side of (∗) at each μ for the flow at infinite scale."""
    sweep = tacit.sweeping_path(X, y, mu)
    margins = sweep.predictors @ (sweep.y[:, None] * sweep.X).T
    return np.asarray((sweep.duals * (margins - 1)).sum(axis=1))


def _flows(
    model: Any, X: Any, y: Any, scales: Float, accuracies: Float, rtol: Float
) -> list[tacit.Trajectory]:
    """The flows from each α^D to its accuracy."""
    D, found = model.depth, []
    for scale, at, tolerance in zip(scales, accuracies, rtol, strict=True):
        start = tacit.Diagonal(depth=D, log_scale=math.log(scale) / D)
        found.append(settled_flow(start, X, y, [at], float(tolerance)))
    return found


def _stop(flow: tacit.Trajectory) -> Float:
    """ŵ, the last predictor divided by its smallest margin."""
    if not flow.margin[-1] > 0:
        raise tacit.InputError(
            f"the flow does not yet classify every sample at γ̃ = {flow.accuracy[-1]:.4g}; take larger scales"
        )
    return np.asarray(flow.predictor[-1] / flow.margin[-1])


def _excess(flow: tacit.Trajectory, least: float) -> float:
    """‖ŵ‖₁/‖w_ℓ1‖₁ − 1."""
    return float(np.abs(_stop(flow)).sum()) / least - 1


def _tolerated(sizes: Float) -> Float:
    """The tolerance of flows that resolves gaps of these sizes."""
    return np.clip(_OF_THE_BOUND * sizes, _ACCURATELY, _ROUGHLY)


def _gaps(flows: list[tacit.Trajectory], goal: Float) -> Float:
    """Relative distances between a predictor and stopped flows."""
    stops = np.array([_stop(flow) for flow in flows])
    return np.asarray(np.linalg.norm(stops - goal, axis=1) / np.linalg.norm(goal))


@theorem("moroshko2020/condition5", flows=2, about=("Condition 8",))
def condition5(model: Any, X: Any, y: Any, mu: float | None = None, down_to: float | None = None) -> Parts:
    """Condition 5 as α → ∞: no sample off the support was on it at a larger μ = α^D/γ̃.

    Printed: It holds for μ above the kink of the Q_μ path (Figure 3d); it fails earlier, where a multiplier
    begins to decrease.

    Condition 5 for accuracies α^D/μ; without mu, uniformly for every μ from ∞ to down_to.

    The condition depends on the data and the depth, but not on the scale of the model. As α → ∞ the flow
    becomes the sweeping process of `tacit.sweeping_path`, in which samples may leave the support.
    down_to: by default 1e-9·‖w_ℓ2‖₂. Since this is a condition and not a claim, the verdict is "does not
    apply" if it fails.
    """
    mu = None if mu is None else positive(mu, "mu")
    down_to = None if down_to is None else positive(down_to, "down_to")
    yield plain_diagonal(model)
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
