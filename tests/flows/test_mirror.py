"""The mirror map of diagonal networks, compared with its definition in multiple precision."""

import math

import numpy as np
import pytest
from mpmath import mp, mpf

from tacit.flows.forms.mirror import MirrorMap
from tacit.potentials.arrays import quiet


def exact(here, change, i):
    """Predictor and rapidity of one coordinate with their derivatives, from s or from the distance to the
    nearer end.

    m·((1−s)^{−p} − (1+s)^{−p}) and p·artanh(s), or 2m·sinh(s) and s.
    """
    p, s, m = here.power, mpf(here.slope[i]) + mpf(change[i]), mp.exp(mpf(here.log_scale[i]))
    if p == np.inf:
        return 2 * m * mp.sinh(s), 2 * m * mp.cosh(s), s, 1
    below, above = mpf(here.below[i]) - mpf(change[i]), mpf(here.above[i]) + mpf(change[i])
    below, above = (1 - s, 1 + s) if abs(s) < 0.5 else (below, 2 - below) if s > 0 else (2 - above, above)
    w, stiffness = m * (below**-p - above**-p), m * p * (below ** (-p - 1) + above ** (-p - 1))
    return w, stiffness, p / 2 * mp.log(above / below), p / (above * below)


@pytest.mark.parametrize("power", [np.inf, 3.0, 2.0, 1.25])
@pytest.mark.parametrize("log_scale", [0.0, -40.0, -400.0, 350.0])
def test_the_map_is_that_of_the_definition(power, log_scale):
    """Slopes of every size, up to 1e-12 from their ends, and changes in both directions."""
    rng = np.random.default_rng(0)
    u = rng.choice([-1, 1], 60) * 10 ** rng.uniform(-9, 1.2, 60)
    here = MirrorMap.at(power, np.full(60, log_scale), u)
    gap = np.minimum(here.below, here.above) if power < np.inf else np.ones(60)
    for size in (0.0, 1e-12, 1e-3, 0.9):
        change = size * gap * rng.uniform(-1, 1, 60)
        with mp.workdps(60):
            known = np.array([[float(each) for each in exact(here, change, i)] for i in range(60)])
        there = here.moved(change)
        found = there.predictor, there.stiffness, there.rapidity, there.rapidity_rate
        # round-off of the distance to an end, multiplied by the power, and of the exponent
        room = 1e-13 * (1 + min(power, 10)) * (1 + abs(log_scale) / 100)
        for one, other in zip(found, known.T, strict=True):
            np.testing.assert_allclose(one * np.ones(60), other, rtol=room)
        assert there.farthest() == pytest.approx(np.abs(known[:, 2]).max(), rel=room)


@pytest.mark.parametrize("power", [math.inf, 2e12, 2e7, 2e3, 21.0])
@pytest.mark.parametrize("log_scale", [0.0, -40.0, -290.0])
def test_near_depth_2_slopes_keep_their_digits(power, log_scale):
    """At depth 2 + 2·10⁻⁷, p = 10⁷: a^{−p} has that many times the round-off of a, and slopes are 10⁻⁷·u.

    The round-off of rapidities and exponents is relative to their size, 7e-14 at |u| = 330; 1e-12 is ten
    times that.
    """
    rng = np.random.default_rng(1)
    u = rng.choice([-1, 1], 60) * rng.uniform(0.01, 40 - log_scale, 60)
    here = MirrorMap.at(power, np.full(60, log_scale), u)
    change = rng.uniform(-0.5, 0.5, 60) / here.rapidity_rate
    with mp.workdps(80):
        known = np.array([[float(each) for each in exact(here, change, i)] for i in range(60)])
    there = here.moved(change)
    found = there.predictor, there.stiffness, there.rapidity, there.rapidity_rate
    for one, other in zip(found, known.T, strict=True):
        np.testing.assert_allclose(one * np.ones(60), other, rtol=1e-12)


@pytest.mark.parametrize("power", [2.0, 10 / 8, 50 / 48])
def test_predictors_of_tiny_scales_are_rounded_as_distances_are(power):
    """One unit of round-off of a changes w by p units; log m = −300 must not add 300 more."""
    log_scale, distance = -300.0 * power, np.exp(-300.0)
    steps = distance * (1 + np.spacing(1.0) * np.arange(64))
    here = MirrorMap(power, np.full(64, log_scale), np.ones(64), steps, np.full(64, 2.0))
    changes = np.abs(np.diff(here.predictor)) / here.predictor[0]
    assert changes.max() <= 4 * power * np.spacing(1.0)


@pytest.mark.parametrize("log_scale", [0.0, -600.0])
@pytest.mark.parametrize("power", [5.0, 3.0, 2.0, 1.25])
@quiet
def test_beyond_the_domain_there_is_no_predictor(power, log_scale):
    here = MirrorMap.at(power, np.full(3, log_scale), np.array([0.3, -1.0, 2.0]))
    for change in (3.0, -3.0):
        there = here.moved(np.full(3, change))
        assert np.isnan(there.predictor).all() and np.isnan(there.stiffness).all() and not there.inside()
    assert np.isfinite(here.moved(np.full(3, 3.0), floor=1e-8).predictor).all()
