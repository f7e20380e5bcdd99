r"""Number of samples for a sparse truth in both regimes, Woodworth et al. 2020, Section 4.

**Kernel regime.** "N = Ω(d) samples would be needed" for β_ℓ2. For Gaussian features β_ℓ2 is the projection
of β* on a uniformly random subspace of dimension N, plus noise multiplied by an inverse Wishart matrix: for
N < d − 1

    E‖β_ℓ2 − β*‖² = (1 − N/d)‖β*‖² + σ²N/(d − N − 1).

An error of a fraction e of ‖β*‖² therefore needs at least N = (1 − e)d samples, for any sparsity: with fewer
than d/2 samples the error exceeds ‖β*‖²/2 even for a single nonzero entry, which the rich regime finds from a
few samples.

**Rich regime.** "In the rich limit, N = Ω(r* log d) samples suffices for β_ℓ1 to generalize well", for r*
nonzero entries of β*. For Gaussian features and y = Xβ* the constant is known (Chandrasekaran, Recht,
Parrilo, Willsky 2012, Corollary 3.3 and Proposition 3.10): if N/√(N+1) ≥ ω, β_ℓ1 differs from β* with
probability at most

    exp(−(N/√(N+1) − ω)²/2),    ω² = 2r*log(d/r*) + 5r*/4.

The limit of a network with small initialization is close to β_ℓ1. In the kernel regime, ‖β_ℓ2 − β*‖² has the
distribution Beta((d−N)/2, N/2), so the same number of samples leaves a large error.

The time that a diagonal network stays near the saddle w = 0, Woodworth et al. 2020, Section 4.

"Taking α → 0 will likely increase the time needed to escape the vicinity of zero." Under L = ½‖Xβ − y‖² the
residual never exceeds ‖y‖. Hence |Xᵀ∫r|ᵢ ≤ ‖Xᵢ‖‖y‖t for the columns Xᵢ, and by equations 17 and 57

    |βᵢ(t)| ≤ α^D·h_D(c_D·‖Xᵢ‖‖y‖·t),      c₂ = 4, h₂ = 2 sinh,      c_D = α^{D−2}D(D−2).

The loss cannot have halved before Σ‖Xᵢ‖|βᵢ| reaches (1 − 1/√2)‖y‖. This is the lower bound of the time. For
the upper bound, ∇Q(β)' = −c_D·Xᵀr implies that the divergence D_Q(β*, β) of an interpolating β* decreases at
the rate c_D‖r‖², from Q(β*) at initialization. Until the loss has halved, this rate is at least c_D‖y‖²/2, so
the loss halves within the time 2Q(β*)/(c_D‖y‖²), where β* is the limit. As α → 0 the lower bound is
proportional to log(1/α²) at depth 2 and to α^{2−D} for D > 2. So is the upper bound, since Q tends to
log(1/α²)‖β‖₁ or ‖β‖₁. The distance of both bounds from this asymptotic form tells whether a scale is small.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import beta, binom

import tacit
from tacit.data.arrays import Float, check_problem
from tacit.data.problems import sparse_regression
from tacit.numerics.roots import crossing
from tacit.papers import Bound, Parts, Premise, Setting, theorem
from tacit.papers.arguments import ParameterError, whole
from tacit.papers.measures import limit_error
from tacit.papers.moroshko2020.separation import log_clock, log_mirror, plain_diagonal

_MAX_FEATURES = 60  # of the draws without noise, to limit their time
_ERRORS = 5.0  # allowed deviation of a mean in standard errors: exceeded less than once in a million seeds
_FAILING = 1e-3  # the probability of failure for which N is chosen
_CHANCE = 1e-6  # probability that more draws fail than are allowed to
_RECOVERED = 0.025  # the error at which Figures 1c and 3c consider the truth recovered
# log α^D at which networks of depth 2, or of larger depth, are rich
_LOG_SCALE = {True: -4000.0, False: -90.0}


def expected_error(samples: int, features: int, noise: float) -> float:
    """E‖β_ℓ2 − β*‖² for ‖β*‖ = 1."""
    return 1 - samples / features + noise**2 * samples / (features - samples - 1)


@theorem("woodworth2020/sample-size", flows=0, about=("Section 4, generalization",))
def sample_size(
    model: Any, samples: int, features: int, noise: float = 0.1, draws: int = 100, seed: int = 0
) -> Parts:
    """E‖β_ℓ2 − β*‖² = (1 − N/d)‖β*‖² + σ²N/(d−N−1) for Gaussian features: the kernel regime needs N = Ω(d).

    The sample size of Section 4 for the limit at infinite scale, on data like those of Figure 1c.
    """
    samples, features = whole(samples, "samples", 1), whole(features, "features", 1)
    draws = whole(draws, "draws", 10)
    if not (isinstance(noise, (int, float, np.number)) and 0 <= noise < math.inf):
        raise ParameterError(f"noise must be a finite number of at least 0, got {noise!r}")
    known = isinstance(model, tacit.Diagonal) and model.profile is None
    yield Setting("the model is Diagonal with equal initial weights", known)
    yield Premise(f"N = {samples} is below d − 1 = {features - 1}", samples < features - 1)
    rng = np.random.default_rng(seed)
    kernel = [tacit.potentials.Quadratic()]
    (errors,) = _errors(kernel, samples, features, min(5, features), noise, draws, rng)
    expected = expected_error(samples, features, noise)
    margin = _ERRORS * float(np.std(errors, ddof=1)) / math.sqrt(draws)
    text = f"mean of ‖β_ℓ2 − β*‖² over {draws} draws, ‖β*‖ = 1"
    yield Bound(text, float(np.mean(errors)), at_least=expected - margin, at_most=expected + margin)
    size = min(features, _MAX_FEATURES)
    (errors,) = _errors(kernel, max((size - 1) // 2, 1), size, 1, 0.0, draws, rng)
    margin = _ERRORS * float(np.std(errors, ddof=1)) / math.sqrt(draws)
    text = f"the same with fewer than d/2 samples, a single nonzero entry and no noise (d = {size})"
    yield Bound(text, float(np.mean(errors)), at_least=0.5 - margin)


def _errors(
    models: list[Any], samples: int, features: int, nonzero: int, noise: float, draws: int, rng: Any
) -> Float:
    """‖β − β*‖² of the limit of every model, for every draw: (models, draws)."""
    errors = []
    for _ in range(draws):
        problem = sparse_regression(samples, features, nonzero=nonzero, noise=noise, seed=rng)
        errors.append([limit_error(problem, each) for each in models])
    return np.transpose(errors)


def samples_needed(features: int, nonzero: int) -> int:
    """The smallest N with exp(−(N/√(N+1) − ω)²/2) ≤ 1e-3."""
    width = math.sqrt(2 * nonzero * math.log(features / nonzero) + 1.25 * nonzero)
    needed = width + math.sqrt(-2 * math.log(_FAILING))
    return math.ceil((needed**2 + math.sqrt(needed**4 + 4 * needed**2)) / 2)  # N² = needed²·(N+1)


@theorem("woodworth2020/sample-size-rich", flows=10, about=("Section 4, generalization",))
def sample_size_rich(model: Any, features: int, nonzero: int = 5, draws: int = 10, seed: int = 0) -> Parts:
    """Gaussian features, r* nonzero entries: β_ℓ1 = β* except with probability exp(−(N/√(N+1) − ω)²/2), ω² =
    2r*log(d/r*) + 5r*/4, so that the rich regime needs N = O(r* log d).

    The sample size of Section 4 for a network of this depth and small initialization, on data without noise.
    """
    features, draws = whole(features, "features", 3), whole(draws, "draws", 10)
    nonzero = whole(nonzero, "nonzero", 1)
    yield plain_diagonal(model)
    yield Premise(f"r* = {nonzero} nonzero entries are fewer than d = {features}", nonzero < features)
    samples = samples_needed(features, nonzero)
    yield Premise(f"N = {samples} samples are fewer than d = {features}", samples < features)
    rich = tacit.Diagonal(model.depth, log_scale=_LOG_SCALE[model.depth == 2] / model.depth)
    models, rng = [rich, tacit.potentials.Quadratic()], np.random.default_rng(seed)
    errors, kernel_errors = _errors(models, samples, features, nonzero, 0.0, draws, rng)
    failed = float(np.mean(errors > _RECOVERED))
    text = f"fraction of {draws} draws with {samples} samples and ‖β − β*‖² above {_RECOVERED}, ‖β*‖ = 1"
    yield Bound(text, failed, at_most=float(binom.isf(_CHANCE, draws, _FAILING)) / draws)
    law = beta((features - samples) / 2, samples / 2)
    margin = _ERRORS * float(law.std()) / math.sqrt(draws)
    mean, expected = float(np.mean(kernel_errors)), 1 - samples / features
    text = f"mean of ‖β_ℓ2 − β*‖² over these draws (1 − N/d = {expected:.4g})"
    yield Bound(text, mean, at_least=expected - margin, at_most=expected + margin)


_LOSS = tacit.losses.Square("half-sum")

# Scales are log α^D in units of ‖y‖/max‖Xᵢ‖, the size of a coefficient that fits y alone.
_FIRST = math.log(1e-2)  # the largest scale
_FACTOR = 1.5  # multiplies the logarithm of the scale until both bounds are asymptotic
_STEP = math.log(1e-2)  # from one scale to the next above depth 2
_SMALLEST = math.log(1e-250)  # the smallest scale that can be simulated in double precision
_FITTED = 1e-6  # relative residual below which the data count as fitted
_SLACK = 0.1  # relative distance of the bounds from their asymptotic form, and of the growth from its power


@dataclass(frozen=True, eq=False)
class Escape:
    """Times in which flows of a given depth halve the loss, as functions of log_scale = log α^D."""

    X: Float
    y: Float
    depth: float

    @property
    def log_unit(self) -> float:
        """log ‖y‖/max‖Xᵢ‖, the size of a coefficient that fits y alone."""
        return math.log(float(np.linalg.norm(self.y)) / float(np.linalg.norm(self.X, axis=0).max()))

    def model(self, log_scale: float) -> tacit.Diagonal:
        """The network of this scale."""
        return tacit.Diagonal(depth=self.depth, log_scale=log_scale / self.depth)

    def lower_bound(self, log_scale: float) -> float:
        """A time before which the loss cannot have halved."""
        return waiting_time(self.X, self.y, self.depth, log_scale / self.depth)

    def upper_bound(self, log_scale: float) -> tuple[float, float]:
        """A time after which the loss has halved, and the ratio of Q to its asymptotic form."""
        limit = tacit.limit(self.model(log_scale), self.X, self.y)
        size = float(self.y @ self.y) * math.exp(self._log_rate(log_scale))
        end = float(np.abs(limit.predictor).sum()) * self._growth(log_scale)
        return 2 * float(limit.value) / size, float(limit.value) / end

    def halved(self, log_scale: float) -> tuple[float, bool]:
        """The time in which the simulated flow halves the loss, and whether it does."""
        half = math.log(4) - 2 * math.log(float(np.linalg.norm(self.y)))
        flow = tacit.flow(self.model(log_scale), self.X, self.y, loss=_LOSS, at=[half])
        return float(flow.time[-1]), bool(flow.converged)

    def scales(self) -> list[float]:
        """Three decreasing scales at which both bounds are close to their asymptotic form."""
        relative = _FIRST
        while relative > _SMALLEST and self._deviation(relative + self.log_unit) > _SLACK:
            relative *= _FACTOR
        steps = (relative, 3 * relative) if self.depth == 2 else (_STEP, 2 * _STEP)
        return [relative + step + self.log_unit for step in (0.0, *steps)]

    def resolves(self, scales: list[float]) -> bool:
        """Whether the scales are small enough, but large enough for double precision."""
        simulated = self.depth == 2 or scales[-1] - self.log_unit >= _SMALLEST
        return simulated and self._deviation(scales[0]) <= _SLACK

    def _deviation(self, log_scale: float) -> float:
        """The larger relative distance of the two bounds from their asymptotic form as α → 0."""
        size = float(np.linalg.norm(self.y)) ** 2 * math.exp(self._log_rate(log_scale) - self.log_unit)
        least = self.lower_bound(log_scale) * size / self._growth(log_scale)
        return max(abs(least - 1), abs(self.upper_bound(log_scale)[1] - 1))

    def _growth(self, log_scale: float) -> float:
        """The growth of Q as α → 0: log(1/α²) at depth 2; 1 above, where c_D contains the power of α."""
        return self.log_unit - log_scale if self.depth == 2 else 1.0

    def _log_rate(self, log_scale: float) -> float:
        return log_clock(self.depth, log_scale / self.depth)


def waiting_time(X: Float, y: Float, depth: float, log_alpha: float) -> float:
    """A time before which the loss ½‖Xβ − y‖² cannot have halved."""
    columns = np.linalg.norm(X, axis=0)
    size = float(np.linalg.norm(y))
    log_needed = math.log((1 - math.sqrt(0.5)) * size)
    columns = columns[columns > 0]
    largest = float(columns.max())

    def missing(log_z: float) -> float:
        """log of Σ‖Xᵢ‖|βᵢ| relative to its required value, if the largest argument of h_D is exp(log_z)."""
        z = np.exp(log_z) * columns / largest
        return (
            float(np.logaddexp.reduce(np.log(columns) + depth * log_alpha + log_mirror(z, depth)))
            - log_needed
        )

    high = -1e-14 if depth > 2 else math.log(700.0)
    log_z = high if missing(high) < 0 else crossing(missing, -700.0, high, xtol=1e-12)
    return math.exp(log_z - log_clock(depth, log_alpha) - math.log(largest * size))


@theorem("woodworth2020/escape-time", flows=6, about=("Section 4, optimization",))
def escape_time(model: Any, X: Any, y: Any) -> Parts:
    """The time in which the loss halves is at least that of |βᵢ| ≤ α^D·h_D(c_D‖Xᵢ‖‖y‖t), at most
    2Q(β(∞))/(c_D‖y‖²), and grows like log(1/α²) as α → 0 at depth 2, like α^{2−D} beyond.

    Section 4, before Theorem 1, at three small scales; the model gives the depth.
    """
    yield plain_diagonal(model)
    X, y = check_problem(X, y)
    least = np.linalg.lstsq(X, y, rcond=None)[0]
    size, missing = float(np.linalg.norm(y)), float(np.linalg.norm(X @ least - y))
    yield Premise("the targets are not zero", size > 0)
    fits = missing <= _FITTED * size
    yield Premise(f"some w has Xw = y (best relative residual: {missing / size:.2g})", fits)
    escape = Escape(X, y, model.depth)
    scales = escape.scales()
    text = f"double precision resolves the scales at which depth {model.depth:g} grows like its power"
    yield Premise(text, escape.resolves(scales))
    times, halved = zip(*map(escape.halved, scales), strict=True)
    yield Premise("the flows halve the loss", all(halved))
    ratio = max(escape.lower_bound(scale) / time for scale, time in zip(scales, times, strict=True))
    yield Bound("lower bound over the time in which the loss halves, the largest ratio", ratio, at_most=1.0)
    ratio = max(time / escape.upper_bound(scale)[0] for scale, time in zip(scales, times, strict=True))
    yield Bound("time in which the loss halves over its upper bound, the largest ratio", ratio, at_most=1.0)
    yield _growth(model.depth, scales, times)


def _growth(depth: float, scales: list[float], times: tuple[float, ...]) -> Bound:
    """The growth of times as the scale decreases, compared with the asymptotic growth."""
    if depth == 2:
        growth = (times[2] - times[1]) / (times[1] - times[0]) * (scales[1] - scales[0])
        growth /= scales[2] - scales[1]
        text, expected = "growth of the time per factor of α², from one scale to the next", 1.0
    else:
        growth = math.log(times[2] / times[1]) / (scales[1] - scales[2]) * depth
        text, expected = "power of 1/α by which the time grows", depth - 2
    slack = expected * _SLACK
    return Bound(text, growth, at_least=expected - slack, at_most=expected + slack)
