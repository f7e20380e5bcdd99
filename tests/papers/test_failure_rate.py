"""The estimated failure rate of claims, tested on known distributions."""

import numpy as np
import pytest
from failure_rate import MOST, chance_of_failure
from scipy import stats
from scipy.optimize import brentq

DRAWS, SEEDS = 500, 50
# A distribution, and the range of its failures in 1000 if 1 in 1000 is estimated; in theory 1 for exponential
# tails.
# The mean of 500 draws has a standard error of 0.1 for these and for the t distribution, for which 20,000
# draws gave 1.41.
KNOWN = {
    "normal": (stats.norm, 0.0, 0.5),
    "exponential": (stats.expon(-1), 0.6, 1.4),
    "t5": (stats.t(5), 0.9, 2.0),
}


def threshold(x):
    """The threshold at which the estimate is 1 in 1000."""
    far = x.max() + 100 * np.ptp(x)
    return brentq(lambda t: chance_of_failure(x, at_most=t) - MOST, x.max() + 1e-9, far, rtol=1e-4)


@pytest.mark.parametrize("name", KNOWN)
def test_the_estimate_matches_known_distributions(name):
    known, low, high = KNOWN[name]
    drawn = known.rvs(size=(DRAWS, SEEDS), random_state=np.random.default_rng(5))
    high_risk = [chance_of_failure(x, at_most=x.max() + 1e-9) > MOST for x in drawn]
    assert all(high_risk)  # the worst of fifty values is exceeded far more often than once in 1000
    failures = np.mean([known.sf(threshold(x)) for x in drawn])
    assert low * MOST <= failures <= high * MOST


def test_the_estimate_does_not_depend_on_side_and_unit():
    x = np.random.default_rng(0).normal(size=50)
    above = chance_of_failure(x, at_most=5.0)
    assert 0 < above < 1e-3
    assert chance_of_failure(-x, at_least=-5.0) == pytest.approx(above, rel=1e-12)
    assert chance_of_failure(7 * x, at_most=35.0) == pytest.approx(above, rel=1e-12)
    both = above + chance_of_failure(x, at_least=-4.0)
    assert chance_of_failure(x, at_least=-4.0, at_most=5.0) == pytest.approx(both, rel=1e-12)


def test_positive_values_vary_by_factors():
    x = np.random.default_rng(0).normal(size=50)
    plain = chance_of_failure(x, at_most=5.0)
    assert chance_of_failure(1e-7 * np.exp(x), at_most=1e-7 * np.exp(5.0)) == pytest.approx(plain, rel=1e-9)
    assert chance_of_failure(np.exp(-x), at_least=np.exp(-5.0)) == pytest.approx(plain, rel=1e-9)


def test_failed_claims_have_a_large_estimate():
    x = np.linspace(0.1, 1, 50)
    for bad in (2.0, np.nan, np.inf):
        x[7] = bad
        assert chance_of_failure(x, at_most=1.5) == pytest.approx(1.5 / 51)


def test_mostly_equal_values_use_the_tail_of_the_others():
    """Three of fifty are larger by 1: P = (3+1)/(50+1)·(1 + e/3)^−3 for a threshold at e."""
    x = np.zeros(50)
    x[:3] = 1.0
    assert chance_of_failure(x, at_most=9.0) == pytest.approx(4 / 51 * (1 + 9 / 3) ** -3)


def test_round_off_and_constant_values_have_small_estimates():
    rounding = np.random.default_rng(0).uniform(0, 3e-16, 50)
    assert chance_of_failure(rounding, at_most=1e-12) < MOST < chance_of_failure(rounding, at_most=1e-14)
    assert chance_of_failure(np.full(50, 2.0), at_most=2.0) == 0


def test_shares_are_counted():
    """Compared with simulation: draw the rate from its posterior, then cases at that rate."""
    x = np.ones(50)
    x[:4] = 2 / 3  # 4 of 150 cases were bad
    rng = np.random.default_rng(1)
    bad = rng.binomial(3, rng.beta(4.5, 146.5, 400_000))
    for at_least, allowed in ((0.6, 1), (0.3, 2)):
        found = chance_of_failure(x, at_least=at_least, of=3)
        assert found == pytest.approx((bad > allowed).mean(), rel=0.1 if allowed == 1 else 0.5)
    assert chance_of_failure(1 - x, at_most=0.4, of=3) == pytest.approx(
        chance_of_failure(x, at_least=0.6, of=3)
    )
