r"""Lemmas 1 to 3 of Azulay et al. 2021: scale, shape and balance of a neuron, and its warp near zero.

α = |a|·‖w‖, s = (|a| − ‖w‖)/(|a| + ‖w‖) and δ = a² − ‖w‖². They are statements about initial weights, so
they need no data.

Lemmas 3.1 (ICML) and 4, Definition 1 and the joint limit of Section 7.1 of Azulay et al. 2021.

Properties of a limit: finite multipliers, the KKT conditions, a norm of the tangent kernel; and the joint
limit of scale and shape.

Errata
------
### Lemma 3: the limit of the warp
- **Stated.** ĝ(x) → 0 as x → 0. **Proved, and true.** ĝ(x) → √δ.
- **What the warp is.** ĝ = |a|, the size of the output weight; with the q̂ of Theorem 2 it is (3/2)|a|. H
  fails the test of a Hessian (equation 6), |a|·H passes.
- **Tests.** `test_lemma_3_has_the_limit_root_delta`, `test_the_warp_is_the_size_of_the_output_weight`.

### Section 7.1 and Appendix E / F, k → ∞: a factor 2
- **Printed.** q_k(w) → w²/√k = w²/(2(u₊² + v₊²)).
- **Holds.** q_k(w) → w²/(2√k) = w²/(4(u₊² + v₊²)).
- **Why.** q_k′(w) = ½ arcsinh(2w/√k) ≈ w/√k. The minimizer does not change, and K = 2Xdiag(u₊² + v₊²)Xᵀ
  makes the corrected form exactly half the squared RKHS norm.
- **Evidence.** k = 10³⁰, w = 3: q_k·2√k/w² = 1 to 20 digits.
- **Test.** `test_kernel_end_is_half_of_what_is_printed`

### Section 7.1 and Appendix E / F, k → 0: a sign, and the slow convergence
- **Printed.** q_k(w) → +|w|/2 + (|w|/2)·log(4|w|/√k) (the line after has −|w| again); Section 7.1: Q(w) =
  ‖w‖₁.
- **Holds.** −|w|/2 + (|w|/2)·log(4|w|/√k), and the ℓ1 norm only after division by ½log(1/√k), with an error
  |w|(log(4|w|) − 1)/log(1/√k).
- **Why.** −√(k/16 + w²/4) → −|w|/2.
- **Evidence.** k = 10⁻⁴⁰, w = 3: q_k = 71.3049, with the printed sign 74.3049. The divided potential is
  still 0.097 from |w| there, and 0.019 at k = 10⁻²⁰⁰.
- **Test.** `test_rich_end_has_a_minus_and_comes_at_the_rate_of_a_logarithm`
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import tacit
from tacit.data.arrays import Float, check_problem
from tacit.numerics.rounding import EPS
from tacit.papers import Assumption, Bound, Parts, Premise, Setting, theorem
from tacit.papers.agreement import AGREE, ended, limit_of, steady
from tacit.papers.arguments import check_method
from tacit.papers.measures import exponent

_EXACT = 1e-12  # relative to α + |δ|
_FLOWN = 1e-8  # tolerance for conserved quantities of the integrated flow
_NEAR = 1e-6  # an x near 0, relative to α + |δ|


def _sizes(model: tacit.Neuron) -> tuple[float, float, float]:
    """α, s and δ from their definitions."""
    a, w = abs(float(model.output)), float(np.linalg.norm(model.weights))
    return a * w, (a - w) / (a + w), (a - w) * (a + w)


def _neuron(model: Any) -> Setting:
    return Setting("the model is a Neuron", isinstance(model, tacit.Neuron))


@theorem("azulay2021/lemma1", flows=0)
def lemma1(model: Any) -> Parts:
    """δ = a(0)² − ‖w(0)‖² = 4αs/(1−s²).

    Lemma 1 with the scale and shape of the model, for its initial weights and along a flow.
    """
    yield _neuron(model)
    _, _, delta = _sizes(model)
    alpha, s = float(model.scale), float(model.shape)
    size = alpha + abs(delta)
    told = 4 * alpha * s / (1 - s * s)
    room = _EXACT / (1 - s * s)
    yield Bound("|δ − 4αs/(1−s²)| over α + |δ|", abs(delta - told) / size, at_most=room)
    if size == 0:
        return
    moved, kept = _moved(model, size)
    text = f"the same after a flow by which a² + ‖w‖² has changed by {moved:.2g} of α + |δ|"
    yield Bound(text, abs(kept - told / size), at_most=_FLOWN + room)


def _moved(model: tacit.Neuron, size: float) -> tuple[float, float]:
    """The change of a² + ‖w‖² by a flow, and δ after it, for weights in units of √(α + |δ|).

    The flow of the raw weights uses one sample, chosen such that it avoids the kink of a leaky neuron.
    """
    unit = math.sqrt(size)
    start = np.append(model.weights, model.output) / unit
    sideways = np.cos(np.arange(len(start) - 1)) / math.sqrt(len(start))
    x = start[:-1] + math.copysign(1.0, float(sideways @ start[:-1])) * sideways
    X, y = x[None] / np.linalg.norm(x), np.array([math.copysign(3.0, model.output)])

    def velocity(_: float, flat: Any) -> Any:
        weights = {"a": flat[-1], "w": flat[:-1]}
        pulled = model.parametrization.pull(weights, X, y - model.parametrization.outputs(weights, X))
        return np.append(pulled["w"], pulled["a"])

    end = solve_ivp(velocity, (0, 1), start, "DOP853", rtol=1e-10, atol=1e-12).y[:, -1]
    return abs(float(end @ end - start @ start)), float(end[-1] ** 2 - end[:-1] @ end[:-1])


@theorem("azulay2021/lemma2", flows=0)
def lemma2(model: Any) -> Parts:
    """√(α²+δ²/4) = α(1+s²)/(1−s²), and less or plus δ/2 it is α(1∓s)/(1±s).

    Lemma 2: the second is ‖w(0)‖², the third a(0)².
    """
    yield _neuron(model)
    alpha, s, delta = _sizes(model)
    root = math.hypot(alpha, delta / 2)
    pairs = {
        "√(α²+δ²/4)": (root, alpha * (1 + s * s) / (1 - s * s)),
        "√(α²+δ²/4) − δ/2": (root - delta / 2, alpha * (1 - s) / (1 + s)),
        "√(α²+δ²/4) + δ/2": (root + delta / 2, alpha * (1 + s) / (1 - s)),
    }
    for text, (left, right) in pairs.items():
        room = _EXACT / (1 - s * s)
        yield Bound(f"error of {text}, over √(α²+δ²/4)", abs(left - right) / root, at_most=room)


@theorem("azulay2021/lemma3", flows=0)
def lemma3(model: Any) -> Parts:
    """The warp ĝ(x) = (√P/x)·(δ/2 + √(δ²/4+x²)), P = √(x²+δ²/4) − δ/2, tends to √δ as x → 0.

    Printed: ĝ(x) → 0; the proof gives √δ, which is correct.

    Lemma 3 with the limit from its proof: ĝ is |a|, which is √δ where ‖w‖ = 0 (errata).
    """
    yield _neuron(model)
    alpha, _, delta = _sizes(model)
    yield Assumption(f"δ = {delta:.4g} is not negative", delta >= 0)
    if delta < 0 or alpha == 0:
        return
    size = math.sqrt(alpha + delta)
    near = warp(_NEAR * (alpha + delta), delta)
    apart = abs(near - math.sqrt(delta)) / size
    yield Bound("|ĝ(x) − √δ| near 0, over √(α+δ)", apart, at_most=2 * math.sqrt(_NEAR))
    yield Bound("the same for the printed limit 0 (no claim)", near / size)
    start = abs(warp(alpha, delta) - abs(float(model.output))) / size
    yield Bound("|ĝ(‖w̃(0)‖) − |a(0)||, over √(α+δ)", start, at_most=_EXACT)


def warp(x: float, delta: float) -> float:
    """ĝ as it is printed, with P = x²/(√(x²+δ²/4) + δ/2), which does not cancel for δ ≥ 0."""
    above = math.hypot(x, delta / 2) + delta / 2
    return math.sqrt(x * x / above) / x * above


_SMALL = (1e-1, 1e-2, 1e-3)  # values of α/k̂ towards the joint limit
_TWO_WAYS = 1e-8  # relative difference of norms computed in two ways
_NOISE = 1e-9
_TINY = float(np.finfo(np.float64).tiny)  # smaller numbers are subnormal or 0


@theorem("azulay2021/lemma3.1")
def lemma31(model: Any, X: Any, y: Any, method: str = "auto") -> Parts:
    """If w̃(t) converges to a global minimum, w̃(∞) is finite, and so is a ν with ∇Q(w̃(∞)) − ∇Q(w̃(0)) = Xᵀν.

    Lemma 3.1 (ICML), for networks whose metric is a Hessian; method: "auto" or "parameters".

    If samples are linearly dependent, ν is not unique, and the one of minimum norm is used.
    """
    check_method(method)
    mirror = isinstance(model, tacit.Diagonal | tacit.UntiedDiagonal)
    yield Setting("the model is Diagonal or UntiedDiagonal, whose metric is a Hessian", mirror)
    X, y = check_problem(X, y)
    try:
        potential = model.potential(X.shape[1])
    except tacit.NoPotentialError as refusal:
        yield Premise(f"a potential describes the flow: {refusal}", False)
    missing = float(np.linalg.norm(X @ np.linalg.lstsq(X, y, rcond=None)[0] - y))
    missing /= float(np.linalg.norm(y)) or 1.0
    fits = missing <= AGREE
    yield Assumption(f"some w has Xw = y (best relative residual: {missing:.2g})", fits)
    yield (followed := steady(model, X, y))
    if not (fits and followed.holds):
        return
    end = ended(model, X, y, method)
    yield end.fits
    yield Bound("‖w̃(∞)‖₂", float(np.linalg.norm(end.predictor)))
    slope = np.asarray(potential.gradient(end.predictor))
    size = float(np.abs(slope).max()) or 1.0
    lost = np.abs(end.predictor) < _TINY
    lost &= np.abs(potential.gradient(np.full(len(slope), _TINY))) > AGREE / 10 * size
    nu = np.linalg.lstsq(X[:, ~lost].T, slope[~lost], rcond=None)[0]
    note = f"; without {lost.sum()} entries that underflow, whose slopes are not known" if lost.any() else ""
    text = f"‖∇Q(w̃(∞)) − ∇Q(w̃(0)) − Xᵀν‖∞, relative, ‖ν‖ = {np.linalg.norm(nu):.4g}{note}"
    yield Bound(text, float(np.abs(slope - X.T @ nu)[~lost].max(initial=0.0)) / size, at_most=AGREE)


@theorem("azulay2021/definition1", flows=0)
def definition1(model: Any, X: Any, y: Any) -> Parts:
    """The limit is a KKT point of min Q(w) s.t. Xw = y: feasible, with ∇Q(w) = Xᵀν.

    Definition 1 at the limit, by `tacit.certify`, which computes its own multipliers.
    """
    try:
        limit = yield from limit_of(model, X, y)
    except tacit.InputError as refusal:
        yield Premise(f"the model is about data of this shape: {refusal}", False)
    yield Assumption("the limit has converged", bool(limit.converged))
    certificate = tacit.certify(model, X, y, limit.predictor)
    yield Bound("stationarity, ‖∇Q(w) − Xᵀν‖∞/‖∇Q(w)‖∞", float(certificate.stationarity), at_most=AGREE)
    yield Bound("feasibility, ‖Xw − y‖/‖y‖", float(certificate.feasibility), at_most=AGREE)


@theorem("azulay2021/lemma4", flows=14)
def lemma4(model: Any, X: Any, y: Any) -> Parts:
    """‖f‖²_K = wᵀA⁻¹w for f(x) = w·x and K(x, x') = xᵀAx'; w_K = AXᵀ(XAXᵀ)⁻¹y has the smallest norm of all
    solutions.

    Lemma 4 for the initial tangent kernel: yᵀK(X, X)⁻¹y is the norm of w_K, and no limit has a smaller one.
    """
    X, y = check_problem(X, y)
    A, K = _kernels(model, X)
    linear = A is not None and bool(np.abs(X @ A @ X.T - K).max() <= _TWO_WAYS * np.abs(K).max())
    yield Setting("the tangent kernel is that of a linear predictor of one output", linear)
    if A is None or not linear:
        return
    values = np.linalg.eigvalsh(A)
    yield Assumption("A is positive definite", bool(values[0] > 1e-12 * values[-1]))
    spread = np.linalg.eigvalsh(K)
    yield Assumption("the samples are independent", bool(spread[0] > 1e-10 * spread[-1]))
    yield Assumption("the targets are not zero", bool(np.any(y)))
    if values[0] <= 1e-12 * values[-1] or spread[0] <= 1e-10 * spread[-1] or not np.any(y):
        return
    norm = float(y @ np.linalg.solve(K, y))
    least = A @ X.T @ np.linalg.solve(K, y)
    own = float(least @ np.linalg.solve(A, least))
    worst = values[-1] / values[0] + spread[-1] / spread[0]  # the factor by which solving amplifies round-off
    room = _TWO_WAYS + 4 * X.shape[1] * EPS * float(worst)
    yield Bound("w_KᵀA⁻¹w_K over yᵀK(X, X)⁻¹y", own / norm, at_least=1 - room, at_most=1 + room)
    try:
        limit = np.asarray(tacit.limit(model, X, y).predictor).ravel()
    except tacit.NoPotentialError:
        return
    other = float(limit @ np.linalg.solve(A, limit)) / norm
    yield Bound("wᵀA⁻¹w of the limit over that of w_K", other, at_least=1 - room)


def _kernels(model: Any, X: Float) -> tuple[Float | None, Float]:
    """A and K(X, X), from tangent kernels of unit vectors and of the samples."""
    try:
        A, K = (np.asarray(model.tangent_kernel(each)) for each in (np.eye(X.shape[1]), X))
    except (AttributeError, tacit.TacitError):
        return None, np.zeros((0, 0))
    return (A if A.shape == (X.shape[1],) * 2 and K.shape == (len(X),) * 2 else None), K


@theorem("azulay2021/section7.1", flows=0, shell="--model untied")
def section71(model: Any, X: Any, y: Any) -> Parts:
    """As α → 0 and |s| → 1 with k̂ = α/(1−s²) fixed, the limit tends to the minimizer of Q_k with √k = 8k̂.

    Printed: q_k → w²/√k as k → ∞, which is twice the correct value; as k → 0 a term +|w|/2 instead of −|w|/2,
    and ‖w‖₁ without the division by ½log(1/√k).

    The joint limit of Section 7.1 at the k̂ of the model, which is that of Diagonal(depth=2, scale=√(2k̂)).

    √k = 4α(1+s²)/(1−s²) = 8k̂ − 4α, so that the distance falls like α.
    """
    plain = isinstance(model, tacit.UntiedDiagonal) and np.ndim(model.scale) == np.ndim(model.shape) == 0
    plain = plain and bool(np.all(np.asarray(model.predictor()) == 0))
    yield Setting("the model is UntiedDiagonal with one scale and one shape, unbiased", plain)
    X, y = check_problem(X, y)
    k = float(model.scale) / ((1 - float(model.shape)) * (1 + float(model.shape)))
    goal = (yield from limit_of(tacit.Diagonal(depth=2, scale=math.sqrt(2 * k)), X, y)).predictor
    size = float(np.linalg.norm(goal))
    yield Premise("the targets are not zero", size > 0)
    gaps = []
    for small in _SMALL:
        joint = tacit.UntiedDiagonal(scale=small * k, shape=math.sqrt(1 - small))
        gaps.append(float(np.linalg.norm(tacit.limit(joint, X, y).predictor - goal)) / size)
    text = f"distance to the joint limit at α = {_SMALL[-1] * k:.3g}, k̂ = {k:.4g}, relative"
    yield Bound(text, gaps[-1], at_most=max(gaps[0], _NOISE))
    if gaps[-1] > _NOISE:
        yield Bound("exponent of α in it", exponent(_SMALL, gaps), at_least=0.8, at_most=1.2)
