"""Hyperbolic functions, compared with mpmath, from the smallest doubles to overflow."""

import mpmath
import numpy as np

from tacit.flows.forms.mirror import cosh, sinh
from tacit.numerics.rounding import EPS

SIZES = np.concatenate([np.geomspace(1e-300, 700, 60), [0.0, 0.4999, 0.5, 0.5001, 1.0]])
SLOPES = np.concatenate([SIZES, -SIZES])


def test_all_digits_at_every_size():
    # e^s has an error of one or two ulp (from the exponential, not from s); the worst measured error is 1.5
    # EPS
    grown = np.exp(SLOPES)
    with mpmath.workdps(40):
        sines = np.array([float(mpmath.sinh(float(s))) for s in SLOPES])
        cosines = np.array([float(mpmath.cosh(float(s))) for s in SLOPES])
    assert np.all(np.abs(sinh(SLOPES, grown) - sines) <= 8 * EPS * np.abs(sines))
    assert np.all(np.abs(cosh(grown) - cosines) <= 8 * EPS * cosines)


def test_beyond_the_floats_are_infinities_of_the_right_sign():
    slopes = np.array([800.0, -800.0])
    with np.errstate(over="ignore", divide="ignore"):
        grown = np.exp(slopes)
        assert sinh(slopes, grown).tolist() == [np.inf, -np.inf]
        assert cosh(grown).tolist() == [np.inf, np.inf]
