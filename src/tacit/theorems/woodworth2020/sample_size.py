r"""How many samples the kernel regime needs for a sparse truth, Woodworth et al. 2020, Section 4.

"N = Ω(d) samples would be needed" for β_ℓ2. For Gaussian features it sees N of d directions, drawn evenly,
and the inverse of a Wishart matrix multiplies the noise: for N < d − 1

    E‖β_ℓ2 − β*‖² = (1 − N/d)‖β*‖² + σ²N/(d − N − 1).

An error of a share e of ‖β*‖² therefore takes at least N = (1 − e)d samples, however sparse the truth is:
fewer than d/2 leave more than half of a truth with a single entry, which the rich regime finds from a few.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tacit
from tacit.data.problems import sparse_regression
from tacit.theorems.arguments import ParameterError, whole
from tacit.theorems.registry import Assumption, Bound, Parts, Setting, theorem

_SOME = 60  # features, that draws of half as many samples take little time
_ERRORS = 5.0  # standard errors that a mean may be off: less than once in a million seeds


def expected_error(samples: int, features: int, noise: float) -> float:
    """E‖β_ℓ2 − β*‖² for ‖β*‖ = 1."""
    return 1 - samples / features + noise**2 * samples / (features - samples - 1)


@theorem(
    "woodworth2020/sample-size",
    "E‖β_ℓ2 − β*‖² = (1 − N/d)‖β*‖² + σ²N/(d−N−1) for Gaussian features: the kernel regime needs N = Ω(d).",
    flows=0,
)
def sample_size(
    model: Any, samples: int, features: int, noise: float = 0.1, draws: int = 100, seed: int = 0
) -> Parts:
    """The sample size of Section 4 for the limit at infinite scale, on the data of Figure 1c."""
    samples, features = whole(samples, "samples", 1), whole(features, "features", 1)
    draws = whole(draws, "draws", 10)
    if not (isinstance(noise, (int, float, np.number)) and 0 <= noise < math.inf):
        raise ParameterError(f"noise must not be negative, got {noise!r}")
    known = isinstance(model, tacit.Diagonal) and model.profile is None
    yield Setting("the model is Diagonal with equal initial weights", known)
    yield Assumption(f"N = {samples} is below d − 1 = {features - 1}", samples < features - 1)
    if not known or samples >= features - 1:
        return
    rng = np.random.default_rng(seed)
    errors = _errors(samples, features, min(5, features), noise, draws, rng)
    expected = expected_error(samples, features, noise)
    room = _ERRORS * float(np.std(errors, ddof=1)) / math.sqrt(draws)
    yield Bound(
        f"mean of ‖β_ℓ2 − β*‖² over {draws} draws, ‖β*‖ = 1",
        float(np.mean(errors)),
        at_least=expected - room,
        at_most=expected + room,
    )
    size = min(features, _SOME)
    errors = _errors(max((size - 1) // 2, 1), size, 1, 0.0, draws, rng)
    room = _ERRORS * float(np.std(errors, ddof=1)) / math.sqrt(draws)
    text = f"the same from fewer than d/2 samples, of a single entry, without noise (d = {size})"
    yield Bound(text, float(np.mean(errors)), at_least=0.5 - room)


def _errors(
    samples: int, features: int, nonzero: int, noise: float, draws: int, rng: np.random.Generator
) -> list[float]:
    """‖β_ℓ2 − β*‖² in each draw."""
    kernel = tacit.potentials.Quadratic()
    errors = []
    for _ in range(draws):
        problem = sparse_regression(samples, features, nonzero=nonzero, noise=noise, seed=rng)
        errors.append(problem.population_error(tacit.limit(kernel, problem.X, problem.y).predictor))
    return errors
