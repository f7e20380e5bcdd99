"""Instants within a segment of a flow, against roots that are known."""

import math

import pytest

from tacit.flows.reading import Reader
from tacit.flows.segments import Segment


@pytest.mark.parametrize("root", [1e-200, 1e-30, 0.3])
@pytest.mark.parametrize("rough", [False, True])
def test_a_gauge_that_hardly_rises_but_at_one_instant(root, rough):
    """Interpolation is of no use there, and bisection from 1 to 1e-200 takes 700 steps."""

    def gauge(clock):
        return math.tanh(1e3 * math.log(clock / root)) if clock > 0 else -1.0

    segment = Segment(0.0, 1.0, lambda clock: clock, rough=(lambda clock: clock) if rough else None)
    (state, level), before = Reader(segment, gauge).locate(0.5)
    assert level == 0.5 and before.segment.end == state
    assert state == pytest.approx(root * math.exp(math.atanh(0.5) / 1e3), rel=1e-12)
