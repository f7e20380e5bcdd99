"""Step sizes for errors c·hᵏ, whose optimal step size is h = c^(−1/k)."""

import math

import numpy as np
import pytest

from tacit.numerics.step_control import StepControl, Taken

ORDER = 4
PLAIN = StepControl(-1 / ORDER)


def attempts_of(size):
    """Attempts with error (size·h)⁴, and a list of the step sizes tried."""
    tried = []

    def attempt(h):
        tried.append(h)
        error = (size * h) ** ORDER
        return ("step" if error <= 1 else None), error

    return attempt, tried


@pytest.mark.parametrize("size", [1e-20, 1.0, 1e20])
def test_a_step_that_is_too_long_is_shortened_to_what_its_error_allows(size):
    attempt, tried = attempts_of(size)
    taken = PLAIN.search(attempt, 5 / size)
    np.testing.assert_allclose(tried, [5 / size, 0.9 / size])
    assert taken.step == "step" and taken.h == tried[-1]
    assert taken.error == pytest.approx(0.9**ORDER) and taken.next_h == pytest.approx(0.9 / size)


def test_factors_have_bounds():
    control = StepControl(-1 / ORDER, shortened=(0.1, 0.5), growth=(0.2, 3.0))
    assert control.shorter(1e9) == 0.1 and control.shorter(1.0001) == 0.5
    attempt, _ = attempts_of(1.0)
    assert control.search(attempt, 1e-6).next_h == 3e-6
    assert control.search(lambda h: ("step", 1e9), 1.0).next_h == 0.2  # accepted for any error


@pytest.mark.parametrize("error", [math.inf, math.nan, 0.5])
def test_without_an_error_above_1_a_length_is_divided_by_4(error):
    tried = []

    def attempt(h):
        tried.append(h)
        return ("step" if h < 0.1 else None), error

    assert PLAIN.search(attempt, 1.0).step == "step"
    assert tried == [1.0, 0.25, 0.0625]


def test_the_search_ends():
    """The search ends after the allowed attempts, at the least step size, and at step size 0."""
    tried = []
    refuse = lambda h: tried.append(h) or (None, math.inf)  # noqa: E731
    assert StepControl(-1.0, attempts=3).search(refuse, 1.0) is None and len(tried) == 3
    tried.clear()
    assert PLAIN.search(refuse, 1.0, least=0.1) is None and tried == [1.0, 0.25]
    assert PLAIN.search(refuse, 1e-301) is None and PLAIN.search(refuse, math.nan) is None


def test_a_floor_is_tried_before_any_shorter_length():
    tried = []
    StepControl(-1.0, unsolved=0.5, attempts=4).search(
        lambda h: tried.append(h) or (None, 1e9), 1.0, floor=0.3
    )
    assert tried == [1.0, 0.3, 0.15, 0.075]


@pytest.mark.parametrize(("predictive", "rejected"), [(False, 1), (True, 0)])
def test_errors_that_grow_steadily_are_foreseen(predictive, rejected):
    """Errors grow by 1.2⁴ per step at the same step size, which the safety factor 0.9 does not cover."""
    control, last, h, counts = StepControl(-1 / ORDER, predictive=predictive), None, 0.9, []
    for size in 1.2 ** np.arange(12):
        attempt, tried = attempts_of(size)
        last = control.search(attempt, h, last)
        h = last.next_h
        counts.append(len(tried) - 1)
    assert counts[2:] == [rejected] * 10


def test_an_error_that_happens_to_vanish_does_not_shorten_the_next_step():
    control = StepControl(-1 / ORDER, predictive=True, least=(1e-8, 1e-2))
    attempt, _ = attempts_of(0.9)
    by_chance = control.search(lambda h: ("step", 0.0), 1.0)
    assert by_chance.error == 1e-2
    remembered = control.search(attempt, 1.0, Taken("step", 1.0, 1e-12, 1.0))
    assert control.search(attempt, 1.0, by_chance).next_h > 100 * remembered.next_h
