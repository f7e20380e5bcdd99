"""Sign changes of functions are found in a bounded number of evaluations."""

import math

import numpy as np
import pytest

from tacit.numerics.roots import crossing

_BRENT, _FLOATS = 100, 64 + 4  # evaluations by interpolation, and by bisection of all floats between two


class Counted:
    """A function that counts its calls."""

    def __init__(self, function):
        self.function, self.calls = function, 0

    def __call__(self, x):
        self.calls += 1
        return self.function(x)


def noisy(x):
    """Within 1e-9 of the root the sign looks random, as near the end of a flow."""
    return x - 0.3 + 1e-9 * math.sin(1e15 * x)


@pytest.mark.parametrize(
    ("function", "low", "high", "root"),
    [
        (lambda x: x * x - 2, 0.0, 2.0, math.sqrt(2)),
        (lambda x: (x - 0.3) ** 9, -1.0, 1.0, 0.3),  # Brent's method alone needs more than 100
        (lambda x: math.log(x / 1e-250), 1e-300, 1.0, 1e-250),  # so here
        (lambda x: 1.0 if x > 1e-290 else -1.0, 0.0, 1.0, 1e-290),
        (lambda x: math.inf if x >= 0.3 else -1.0, 0.0, 1.0, 0.3),
        (lambda x: -math.inf if x >= 0.3 else 1.0, 0.0, 1.0, 0.3),
        (lambda x: math.copysign(math.exp(-1 / abs(x + 7)), x + 7) if x != -7 else 0.0, -1e5, 1e3, -7.0),
    ],
)
def test_a_root_is_found_in_a_bounded_number_of_evaluations(function, low, high, root):
    counted = Counted(function)
    found = crossing(counted, low, high)
    assert counted.calls <= _BRENT + _FLOATS
    assert np.sign(function(found * (1 - 1e-13))) != np.sign(function(found * (1 + 1e-13))) or (
        abs(function(found)) <= abs(function(root)) + 1e-300
    )


def test_roundoff_near_the_root_does_not_matter():
    counted = Counted(noisy)
    assert abs(crossing(counted, 0.0, 1.0) - 0.3) <= 1e-9 * (1 + 1e-6)
    assert counted.calls <= _BRENT + _FLOATS


@pytest.mark.parametrize("tolerance", [{"xtol": 1e-3}, {"rtol": 1e-3}])
def test_a_tolerance_saves_evaluations(tolerance):
    def flat(x):
        return (x - 0.3) ** 9

    tight, loose = Counted(flat), Counted(flat)
    crossing(tight, -1.0, 1.0)
    assert abs(crossing(loose, -1.0, 1.0, **tolerance) - 0.3) <= 1e-3
    assert loose.calls < tight.calls


def test_ends_of_the_same_sign_are_refused():
    with pytest.raises(ValueError, match="sign"):
        crossing(lambda x: x * x + 1, -1.0, 1.0)
