"""Location of instants within a segment of a flow, compared with known roots."""

import math

import numpy as np
import pytest

from tacit.flows.segments import Reader, Segment
from tacit.flows.termination import Rounded


@pytest.mark.parametrize("root", [1e-200, 1e-30, 0.3])
@pytest.mark.parametrize("rough", [False, True])
def test_a_gauge_that_hardly_rises_but_at_one_instant(root, rough):
    """Interpolation fails there, and ordinary bisection from 1 to 1e-200 would take 700 steps."""

    def gauge(clock):
        return math.tanh(1e3 * math.log(clock / root)) if clock > 0 else -1.0

    segment = Segment(0.0, 1.0, lambda clock: clock, rough=(lambda clock: clock) if rough else None)
    (state, level), before = Reader(segment, gauge).locate(0.5)
    assert level == 0.5 and before.segment.end == state
    assert state == pytest.approx(root * math.exp(math.atanh(0.5) / 1e3), rel=1e-12)


def test_a_gauge_that_jumps_across_the_target_does_not_reach_it():
    """With residuals of one unit of round-off and of 0, the state before the jump is the last one that is
    returned."""
    segment = Segment(0.0, 1.0, lambda clock: clock)
    reader = Reader(segment, lambda clock: 70 + clock if clock < 0.3 else math.inf)
    with pytest.raises(Rounded) as caught:
        reader.locate(100.0)
    clock, level = caught.value.last
    assert clock < 0.3 and level == 70 + clock


def test_instants_are_inside_where_a_level_is_infinite():
    segment = Segment(0.0, 1.0, lambda clock: clock)
    clocks = Reader(segment, lambda clock: clock if clock < 0.5 else math.inf).inside(20, 0.0)
    assert len(clocks) == 20 and (clocks > 0).all() and (clocks < 1).all()


@pytest.mark.parametrize("power", [1, 3])
def test_many_instants_are_spread_by_the_clock_and_by_the_gain(power):
    """Evenly spaced in c + log₂(1 + cᵏ), the sum of the clock and the gain of a gauge cᵏ."""
    segment = Segment(0.0, 1.0, lambda clock: clock)
    clocks = Reader(segment, lambda clock: clock**power).inside(99, 0.0)
    assert len(clocks) == 99
    ways = np.linspace(0, 2, 101)[1:-1]
    np.testing.assert_allclose(
        clocks + np.log2(1 + clocks**power), ways, atol=0.01
    )  # the gain is evaluated 17 times
