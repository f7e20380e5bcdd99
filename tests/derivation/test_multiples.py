"""The multiples λθ at which verdicts are checked, for λ far below and far above 1."""

import numpy as np

from tacit.derivation.examination import multiples
from tacit.derivation.smooth_map import checked_model


def test_multiples_are_smaller_and_larger():
    _, jets, start = checked_model(lambda t: t[:1] * t[1:], np.array([0.5, 2.0]))
    found = list(multiples(jets, start))
    factors = np.array([factor for factor, _, _ in found])
    np.testing.assert_allclose(np.sort(np.log10(factors)), np.delete(np.arange(-12.0, 13.0), 12), atol=1e-9)
    for factor, here, beside in found:
        np.testing.assert_array_equal(here, factor * start)
        assert 0 < np.abs(beside / here - 1).max() < 1e-12


def test_multiples_end_where_the_map_is_not_defined():
    """√(1 − θ) ends at 1."""
    _, jets, start = checked_model(lambda t: (1 - t) ** 0.5, np.array([0.09]))
    factors = [factor for factor, _, _ in multiples(jets, start)]
    np.testing.assert_allclose(np.sort(factors), [*np.logspace(-12, -1, 12), 10.0], rtol=1e-9)
