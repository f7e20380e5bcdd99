"""Rapidities at the ends of the domain of slopes."""

import numpy as np
import pytest

from tacit.potentials.rapidity import rapidity_of_slope

pytestmark = pytest.mark.any_cpu


@pytest.mark.parametrize("power", [3.0, 1.25])
def test_the_ends_of_the_domain_are_infinite_and_there_is_nothing_beyond(power):
    slopes = np.array([-2.0, -1.0, 0.5, 1.0, 2.0])
    expected = [np.nan, -np.inf, power * np.arctanh(0.5), np.inf, np.nan]
    np.testing.assert_allclose(rapidity_of_slope(np, slopes, power), expected, rtol=1e-15)
