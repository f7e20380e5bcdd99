r"""Estimate how often a claim of a figure would fail at another seed, from its values at some seeds.

Counting failures among fifty draws cannot show that something happens once in a thousand draws. The
estimate uses how far the worst values are from the threshold, relative to their spread. Let u be the (k+1)-th
worst of n values, S = Σ(x_i − u) over the k worst, and t the threshold. The probability that the next value
exceeds t is

    P = (k+1)/(n+1) · (1 + (t − u)/S)^(−k),    k = 10, or n/2 if that is smaller.

The first factor is the probability of exceeding u, for any distribution. The second assumes an exponential
tail whose scale is known from k values only: (1 + e/S)^(−k) is the probability that an exponential variable
exceeds e = t − u, averaged over that uncertainty. It is too large for lighter tails. It is itself a power law
of index k, so heavier tails change it little: thresholds at which P = 1/1000 are exceeded by 0.16 in 1000
normal draws, 1.0 exponential draws, and 1.4 draws of Student's t with 5 degrees of freedom
(`tests/papers/test_failure_rate.py`; n = 50). For claims with two thresholds the probabilities are added.

Positive values with a positive threshold are errors, distances and ratios, which vary by factors; their
logarithms are used. Values at the level of round-off count as ROUNDING, known to a factor of two. If
many values are equal (no decrease at all, for example) and fewer than k are worse, k is the number of worse
values.

Shares of m cases, of which c may be bad, are counted: with B bad cases among n·m, the probability of more
than c bad cases in m is that of the beta-binomial distribution with B + ½ and n·m − B + ½ (Jeffreys' prior).
The cases are separate draws, hence independent.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.data.arrays import Float

ROUNDING = 1e-15  # round-off of a quantity of order 1
TAIL = 10  # number of worst values to which the tail is fitted
MOST = 1e-3  # largest probability of failure that a claim may have


def chance_of_failure(
    values: Sequence[float] | Float,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    of: int | None = None,
) -> float:
    """The probability that a claim with these values at some seeds fails at another seed.

    of: the number of cases, if the values are shares of cases. The module docstring has the formulas.
    """
    x = np.asarray(values, float)
    failed = _failed(x, at_least, at_most)
    if failed.any():
        return float((failed.sum() + 0.5) / (x.size + 1))
    sides = [(x, at_most)] if at_most is not None else []
    if at_least is not None:
        sides.append((-x, -at_least))
    if of is not None:
        return min(1.0, sum(_too_many(*side, of) for side in sides))
    return min(1.0, sum(_beyond(*_scaled(*side)) for side in sides))


def _failed(x: Float, at_least: float | None, at_most: float | None) -> np.ndarray:
    """Which values fail the claim."""
    above = np.inf if at_most is None else at_most
    below = -np.inf if at_least is None else at_least
    return ~(np.isfinite(x) & (x >= below) & (x <= above))


def _scaled(x: Float, threshold: float) -> tuple[Float, float, float]:
    """Values and threshold on a scale where large is bad, and the smallest spread to assume on it."""
    if threshold < 0 and x.max() < 0:  # a lower bound of a positive quantity
        return -np.log(-x), -np.log(-threshold), 0.0
    rounded = bool(np.abs(x).max() <= 100 * ROUNDING)
    positive = x.min() > -ROUNDING and np.median(x) > ROUNDING
    if threshold > 0 and (rounded or positive):
        return np.log(np.maximum(x, ROUNDING)), np.log(threshold), np.log(2) * rounded
    return x, threshold, 0.0


def _beyond(x: Float, threshold: float, least: float) -> float:
    """The probability that the next value exceeds the threshold, from the tail of the worst values."""
    n, ordered = x.size, np.sort(x)
    k = max(1, min(TAIL, n // 2))
    if least == 0:
        k = int((x > ordered[-k - 1]).sum())  # smaller if other values are equal to u
    if k == 0:  # all values are equal
        return 0.0
    u = ordered[-k - 1]
    spread = max(float((ordered[-k:] - u).sum()), k * least)
    return float((k + 1) / (n + 1) * (1 + (threshold - u) / spread) ** -k)


def _too_many(x: Float, threshold: float, of: int) -> float:
    """The probability of more bad cases than allowed; x: shares of bad cases, or −(shares of good)."""
    from scipy.stats import betabinom

    shift = 0.0 if threshold >= 0 else 1.0
    bad = round(float((x + shift).sum() * of))
    allowed = int(np.floor((threshold + shift) * of + 1e-9))
    return float(betabinom.sf(allowed, of, bad + 0.5, x.size * of - bad + 0.5))
