r"""How many samples the rich regime needs for a sparse truth, Woodworth et al. 2020, Section 4.

"In the rich limit, N = Ω(r* log d) samples suffices for β_ℓ1 to generalize well", for r* nonzero entries of
β*. For Gaussian features and y = Xβ* the constant is known (Chandrasekaran, Recht, Parrilo, Willsky 2012,
Corollary 3.3 and Proposition 3.10): where N/√(N+1) ≥ ω, β_ℓ1 differs from β* with a probability of at most

    exp(−(N/√(N+1) − ω)²/2),    ω² = 2r*log(d/r*) + 5r*/4.

A network that starts small enough ends near it. The kernel regime sees N of d directions, drawn evenly:
‖β_ℓ2 − β*‖² has the distribution Beta((d−N)/2, N/2), and so many samples teach it little.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.stats import beta, binom

import tacit
from tacit.data.problems import sparse_regression
from tacit.theorems.arguments import whole
from tacit.theorems.moroshko2020.separation import plain_diagonal
from tacit.theorems.registry import Assumption, Bound, Parts, theorem

_FAILING = 1e-3  # the probability of the theorem, for which N is chosen
_CHANCE = 1e-6  # that more draws fail than are allowed to
_WELL = 0.025  # the error at which the paper's Figures 1c and 3c say that the truth is found
_LOG_SCALE = {True: -4000.0, False: -90.0}  # log α^D at which networks of depth 2, or deeper ones, are rich
_DEVIATIONS = 5.0  # of a mean


def samples_needed(features: int, nonzero: int) -> int:
    """The least N with exp(−(N/√(N+1) − ω)²/2) ≤ 1e-3."""
    width = math.sqrt(2 * nonzero * math.log(features / nonzero) + 1.25 * nonzero)
    needed = width + math.sqrt(-2 * math.log(_FAILING))
    return math.ceil((needed**2 + math.sqrt(needed**4 + 4 * needed**2)) / 2)  # N² = needed²·(N+1)


@theorem(
    "woodworth2020/sample-size-rich",
    "Gaussian features, r* nonzero entries: β_ℓ1 = β* but for a probability of exp(−(N/√(N+1) − ω)²/2), ω² = "
    "2r*log(d/r*) + 5r*/4, so that the rich regime needs N = O(r* log d).",
    flows=10,
)
def sample_size_rich(model: Any, features: int, nonzero: int = 5, draws: int = 10, seed: int = 0) -> Parts:
    """The sample size of Section 4 for a network of this depth and a small start, on data without noise."""
    features, draws = whole(features, "features", 3), whole(draws, "draws", 10)
    nonzero = whole(nonzero, "nonzero", 1)
    yield (setting := plain_diagonal(model))
    yield Assumption(f"r* = {nonzero} entries are fewer than d = {features}", nonzero < features)
    if not (setting.holds and nonzero < features):
        return
    samples = samples_needed(features, nonzero)
    yield (fewer := Assumption(f"N = {samples} samples are fewer than d = {features}", samples < features))
    if not fewer.holds:
        return
    errors = _errors(model.depth, samples, features, nonzero, draws, seed)
    failed = float(np.mean(errors[0] > _WELL))
    text = f"share of {draws} draws in which {samples} samples leave ‖β − β*‖² above {_WELL}, ‖β*‖ = 1"
    yield Bound(text, failed, at_most=float(binom.isf(_CHANCE, draws, _FAILING)) / draws)
    law = beta((features - samples) / 2, samples / 2)
    room = _DEVIATIONS * float(law.std()) / math.sqrt(draws)
    mean, expected = float(np.mean(errors[1])), 1 - samples / features
    text = f"mean of ‖β_ℓ2 − β*‖² over the same, 1 − N/d = {expected:.4g}"
    yield Bound(text, mean, at_least=expected - room, at_most=expected + room)


def _errors(depth: float, samples: int, features: int, nonzero: int, draws: int, seed: int) -> Any:
    """‖β − β*‖² of a network of small scale, and of β_ℓ2, in each draw."""
    rng = np.random.default_rng(seed)
    rich = tacit.Diagonal(depth, log_scale=_LOG_SCALE[depth == 2] / depth)
    errors = []
    for _ in range(draws):
        problem = sparse_regression(samples, features, nonzero=nonzero, noise=0.0, seed=rng)
        ends = (tacit.limit(each, problem.X, problem.y) for each in (rich, tacit.potentials.Quadratic()))
        errors.append([problem.population_error(end.predictor) for end in ends])
    return np.transpose(errors)
