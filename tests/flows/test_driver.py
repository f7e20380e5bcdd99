"""The integration loop: events, changes of the stepper, and termination."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import LSODA

from tacit.flows.driver import drive
from tacit.flows.form import Flow
from tacit.flows.segments import Reader, Segment
from tacit.flows.steps.dormand_prince import DormandPrince
from tacit.flows.steps.stepper import ByScipy, Relay
from tacit.flows.termination import GaveUp, Rest, Stall

TOLERATED = {"rtol": 1e-10, "atol": np.full(1, 1e-12)}


def by_scipy(rate, clock=0.0, y=1.0):
    """LSODA from a given time."""
    solver = LSODA(lambda _, y: rate(y), clock, np.array([y]), 1e300, rtol=1e-10, atol=1e-12)
    return ByScipy(solver, lambda _, y: float(y[0]))


def own(rate, clock=0.0, y=1.0):
    """Dormand and Prince's pair with a least step size that is never reached."""
    made = (lambda _, y: rate(y)), clock, np.array([y]), lambda y: 0.0, lambda _, y: float(y[0])
    return DormandPrince(*made, **TOLERATED, floor=1e-12, unit=1.0)


class Bouncing(Flow):
    """x' = −1 from 1 to the event x = 0, then x' = x + 1 to x = 3, where the form reports a stationary
    point."""

    def __init__(self, make):
        self.make, self.met, self.cuts = make, False, 0

    def stepper(self):
        return self.make(lambda y: -np.ones(1))

    def cut(self, segment):
        if self.met or segment.last >= 0:
            return segment
        self.cuts += 1
        return Reader(segment, lambda x: -x).locate(0.0)[1].segment

    def after(self, segment):
        if self.met and segment.last > 3:
            raise Rest("enough")
        if not self.met and self.cuts:
            self.met = True
            return self.make(lambda y: y + 1, segment.end, 0.0)
        return None


@pytest.mark.parametrize("make", [by_scipy, own])
def test_equations_change_at_an_event(make):
    """x = 1 − t until t = 1, and e^{t−1} − 1 afterwards, at all requested times."""
    seen, flow = [], Bouncing(make)
    with pytest.raises(Rest, match="enough"):
        drive(flow, lambda segment: seen.append((segment, segment.last)))
    assert flow.cuts == 1 and seen[0][0].start == 0
    for (before, _), (after, _) in pairwise(seen):
        assert before.end == after.start
    assert any(segment.end == pytest.approx(1, rel=1e-12) for segment, _ in seen)
    for segment, last in seen:
        t = segment.end
        assert last == pytest.approx(1 - t if t <= 1 else math.expm1(t - 1), rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("make", [by_scipy, own])
def test_the_follower_ends_it(make):
    seen = []

    class Growing(Flow):
        def stepper(self):
            return make(lambda y: y)

    drive(Growing(), lambda segment: seen.append(segment.last) or len(seen) == 7)
    assert len(seen) == 7 and sorted(seen) == seen


def test_steps_that_the_clock_cannot_tell_are_followed():
    """Otherwise a flow without progress would not terminate."""
    seen = []

    class Still(Flow):
        def stepper(self):
            return Standing(1.0, np.zeros(1))

    drive(Still(), lambda segment: seen.append(segment.end) or len(seen) == 3)
    assert seen == [1.0] * 3


def test_steps_within_are_read_while_the_step_is_the_last_or_kept():
    """SciPy's solvers, whose interpolant costs evaluations."""
    stepper = by_scipy(lambda y: -y)
    for _ in range(5):
        segment = stepper.step()
    middle = (segment.start + segment.end) / 2
    assert segment.state(middle) == pytest.approx(math.exp(-middle), rel=1e-7)
    segment.keep()
    stepper.step()
    assert segment.state(middle) == pytest.approx(math.exp(-middle), rel=1e-7)


class Failing:
    """A SciPy solver that takes steps of these lengths and then fails."""

    def __init__(self, lengths):
        self.t, self.y, self.status, self.lengths = 0.0, np.zeros(1), "running", list(lengths)

    def step(self):
        if not self.lengths:
            self.status = "failed"
            return "no luck"
        self.t += self.lengths.pop(0)
        self.y = np.array([self.t])
        return None


class Standing:
    """Steps without progress."""

    def __init__(self, clock, y):
        self.clock, self.y = clock, y

    def step(self):
        return Segment(self.clock, self.clock, lambda _: self.y)


@pytest.mark.parametrize(("lengths", "before"), [([1.0] * 3, 3), ([], 0), ([1.0, 1e-9, 1e-9, 1.0], 3)])
def test_another_stepper_goes_on_where_one_gives_up_or_creeps(lengths, before):
    solver = Failing(lengths)
    relay = Relay(ByScipy(solver, lambda _, y: y), 3, lambda old, new: new < 1.001 * old, Standing)
    segments = [relay.step() for _ in range(before + 2)]
    assert all(segment.end > segment.start for segment in segments[:before])
    reached = sum(lengths[:before])
    for segment in segments[before:]:
        assert segment.start == segment.end == pytest.approx(reached) and segment.last[0] == segment.end


def test_a_stepper_without_a_step_says_where():
    stepper = ByScipy(Failing([1.0, 2.0]), lambda _, y: y)
    assert [stepper.step().end, stepper.step().end] == [1.0, 3.0]
    with pytest.raises(GaveUp, match=r"gave up at clock 3 \(no luck\)") as failed:
        stepper.step()
    assert isinstance(failed.value, Stall)
