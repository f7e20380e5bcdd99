r"""How often a claim of a figure would fail at another seed, estimated from its values at some.

Fifty draws cannot show by counting that something happens once in a thousand: what they show is how far
their worst stay from the threshold, in units of how far these spread. With u the (k+1)-th worst of n values,
S = Σ(x_i − u) over the k worst and t the threshold, the chance that the next value is beyond t is

    P = (k+1)/(n+1) · (1 + (t − u)/S)^(−k),    k = 10, or n/2 where that is less.

The first factor is the chance of being beyond u, for any distribution. The second is that of an exponential
tail whose scale is known from k values only: averaged over what these may be, (1 + e/S)^(−k) is the chance
that an exponential variable exceeds e = t − u, exactly. Where tails are lighter it is too large, and it
is itself a power law of index k, so that heavier ones do not fool it much: thresholds at which P = 1/1000 are
crossed by 0.16 in 1000 normal draws, 1.0 exponential ones and 1.4 of Student's t with 5 degrees of freedom
(`tests/papers/test_failure_rate.py`; n = 50). Two sides add up.

Positive values with a positive threshold are errors, distances and ratios, which vary by factors: their
logarithms are taken. Values that are rounding count as ROUNDING, known to a factor of two. Where many values
are the same (no fall at all, say) and fewer than k are worse, k is the number of these.

A share of m cases, of which c may be bad, is counted instead: with B bad ones among n·m, the chance of more
than c in m is that of the beta-binomial distribution with B + ½ and n·m − B + ½ (Jeffreys' prior). Cases are
draws of their own, hence independent.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.data.arrays import Float

ROUNDING = 1e-15
TAIL = 10  # values that the tail is fitted to
MOST = 1e-3  # chance of failure that a claim may have


def chance_of_failure(
    values: Sequence[float] | Float,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    of: int | None = None,
) -> float:
    """The chance that a claim with these values at some seeds fails at another; see the module.

    of: the number of cases, where values are shares of cases.
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
    """Which values are outside, or none."""
    above = np.inf if at_most is None else at_most
    below = -np.inf if at_least is None else at_least
    return ~(np.isfinite(x) & (x >= below) & (x <= above))


def _scaled(x: Float, threshold: float) -> tuple[Float, float, float]:
    """Values and threshold on the scale on which they spread, large is bad; and the least of that spread."""
    if threshold < 0 and x.max() < 0:  # at least so much that is positive
        return -np.log(-x), -np.log(-threshold), 0.0
    rounded = bool(np.abs(x).max() <= 100 * ROUNDING)
    positive = x.min() > -ROUNDING and np.median(x) > ROUNDING
    if threshold > 0 and (rounded or positive):
        return np.log(np.maximum(x, ROUNDING)), np.log(threshold), np.log(2) * rounded
    return x, threshold, 0.0


def _beyond(x: Float, threshold: float, least: float) -> float:
    """The chance that the next value is beyond the threshold, by the tail of the worst."""
    n, ordered = x.size, np.sort(x)
    k = max(1, min(TAIL, n // 2))
    if least == 0:
        k = int((x > ordered[-k - 1]).sum())  # fewer where others are the same as u
    if k == 0:  # it does not vary
        return 0.0
    u = ordered[-k - 1]
    spread = max(float((ordered[-k:] - u).sum()), k * least)
    return float((k + 1) / (n + 1) * (1 + (threshold - u) / spread) ** -k)


def _too_many(x: Float, threshold: float, of: int) -> float:
    """The chance of more bad cases than the threshold allows; x: the share of bad ones, or −(of good)."""
    from scipy.stats import betabinom

    shift = 0.0 if threshold >= 0 else 1.0
    bad = round(float((x + shift).sum() * of))
    allowed = int(np.floor((threshold + shift) * of + 1e-9))
    return float(betabinom.sf(allowed, of, bad + 0.5, x.size * of - bad + 0.5))
