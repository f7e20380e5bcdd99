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
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.stats import beta, binom

import tacit
from tacit.data.arrays import Float
from tacit.data.problems import sparse_regression
from tacit.papers import Bound, Parts, Premise, Setting, theorem
from tacit.papers.arguments import ParameterError, whole
from tacit.papers.moroshko2020.separation import plain_diagonal

_MAX_FEATURES = 60  # of the draws without noise, to limit their time
_ERRORS = 5.0  # allowed deviation of a mean in standard errors: exceeded less than once in a million seeds
_FAILING = 1e-3  # the probability of failure for which N is chosen
_CHANCE = 1e-6  # probability that more draws fail than are allowed to
_RECOVERED = 0.025  # the error at which Figures 1c and 3c consider the truth recovered
_LOG_SCALE = {True: -4000.0, False: -90.0}  # log α^D at which networks of depth 2, or deeper, are rich


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
    yield Bound(
        f"mean of ‖β_ℓ2 − β*‖² over {draws} draws, ‖β*‖ = 1",
        float(np.mean(errors)),
        at_least=expected - margin,
        at_most=expected + margin,
    )
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
        limits = [tacit.limit(each, problem.X, problem.y) for each in models]
        errors.append([problem.population_error(limit.predictor) for limit in limits])
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
