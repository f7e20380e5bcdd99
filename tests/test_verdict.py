"""Claims of figures and bounds of theorems: they differ in their treatment of round-off and ∞."""

import math
import pickle

import pytest

from tacit.papers import Claim
from tacit.results.claims import Measured
from tacit.theorems import Bound

pytestmark = pytest.mark.any_cpu


@pytest.mark.parametrize("kind", [Claim, Bound])
def test_both_are_a_sentence_a_number_and_thresholds(kind):
    found = kind("a sentence", 0.5, at_least=0.25, at_most=1.0)
    assert isinstance(found, Measured) and found.holds
    assert found.looseness == (2 if kind is Claim else 3)  # of the value; of its distance from the mean
    assert found.threshold == "at least 0.25 and at most 1"
    assert found.summary() == "holds  a sentence: 0.5 (at least 0.25 and at most 1)"
    assert pickle.loads(pickle.dumps(found)) == found != kind("a sentence", 0.5, at_most=1.0)
    assert kind("both sides are one", 2.0, at_least=2.0, at_most=2.0).threshold == "exactly 2"
    assert kind("nearly so", 2.0, at_least=2 - 1e-9, at_most=2 + 1e-9).threshold == "within 1e-09 of 2"
    assert kind("no side", 2.0).threshold == ""


def test_a_bound_is_met_up_to_a_billionth_and_a_claim_is_not():
    for sides in ({"at_most": 2.0}, {"at_least": -2.0}):
        (side,) = sides.values()
        over, far = side * (1 + 0.9e-9), side * (1 + 1.1e-9)
        assert [kind("", over, **sides).holds for kind in (Claim, Bound)] == [False, True]
        assert [kind("", far, **sides).holds for kind in (Claim, Bound)] == [False, False]


def test_what_is_infinite_decides_no_claim_and_may_be_within_a_bound():
    assert [kind("", -math.inf, at_most=1.0).holds for kind in (Claim, Bound)] == [False, True]
    assert Claim("", 1.0, at_most=math.inf).holds and Bound("", 1.0, at_most=math.inf).holds
    assert not Bound("", math.nan, at_least=0.0).holds and not Claim("", math.nan).holds


def test_each_has_the_json_that_it_always_had():
    claim, bound = (kind("a sentence", 0.5, at_most=math.inf) for kind in (Claim, Bound))
    assert claim.to_dict() == {
        "text": "a sentence",
        "measured": 0.5,
        "at_least": None,
        "at_most": math.inf,
        "threshold": "at most inf",
        "verdict": "holds",
    }
    expected = {"measured": 0.5, "at_most": None, "at_least": None, "holds": True, "looseness": None}
    assert bound.to_dict() == {"text": "a sentence"} | expected
    assert list(bound.to_dict()) == ["text", *expected]
