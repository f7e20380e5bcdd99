"""The verdict for numbers that are 0, clearly nonzero, or neither, case by case."""

from types import SimpleNamespace

import pytest

from tacit.derivation.judging import judge, judge_unmeasured
from tacit.derivation.metric import Metric

NOTHING, LITTLE, MUCH = 1e-15, 1e-7, 1e-2  # 0, undecided, clear
D = 3
CASES = {  # orbit: dimension, commutator, borderline; spread, drift, violation, residual, curl; verdict, text
    "commuting": (D, NOTHING, 0.0, 0, 0, NOTHING, 0, 0, "mirror", "fields commute"),
    "more weights": (D + 2, MUCH, 0.0, NOTHING, NOTHING, NOTHING, 0, 0, "mirror", "is a function of w on it"),
    "warped": (
        D,
        MUCH,
        0.0,
        0,
        0,
        MUCH,
        NOTHING,
        NOTHING,
        "warped",
        "of dimension 3, w is a coordinate",
    ),
    "warped, more weights": (D + 1, MUCH, 0.0, NOTHING, NOTHING, MUCH, NOTHING, NOTHING, "warped", "4 > 3"),
    "changes where w does not": (D + 1, MUCH, 0.0, MUCH, MUCH, MUCH, MUCH, MUCH, "none", "in no clock"),
    "a spread decides first": (
        D + 1,
        MUCH,
        LITTLE,
        MUCH,
        MUCH,
        0,
        0,
        0,
        "none",
        "in no clock",
    ),
    "nothing moves beside w": (D, NOTHING, 0.0, MUCH, MUCH, NOTHING, 0, 0, "mirror", "fields commute"),
    "borderline brackets": (D + 1, MUCH, LITTLE, LITTLE, 0, 0, 0, 0, "undecided", "a bracket outside"),
    "borderline spread": (D + 1, MUCH, 0.0, LITTLE, 0, 0, 0, 0, "undecided", "where w does not change"),
    "a factor that is none": (
        D + 1,
        MUCH,
        0.0,
        NOTHING,
        LITTLE,
        0,
        0,
        0,
        "undecided",
        "a clock that depends",
    ),
    "borderline Hessian": (D, MUCH, 0.0, 0, 0, LITTLE, 0, 0, "undecided", "∂_kH_ij − ∂_jH_ik of the metric"),
    "no warp": (D, MUCH, 0.0, 0, 0, MUCH, MUCH, 0, "none", "no v solves"),
    "borderline warp": (D, MUCH, 0.0, 0, 0, MUCH, LITTLE, 0, "undecided", "the residual of the warp"),
    "a warp that turns": (D, MUCH, 0.0, 0, 0, MUCH, NOTHING, MUCH, "none", "has a curl"),
    "borderline curl": (D, MUCH, 0.0, 0, 0, MUCH, NOTHING, LITTLE, "undecided", "the curl of the warp"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_verdict_and_its_reason(name):
    dimension, commutator, borderline, *sizes, verdict, words = CASES[name]
    closure = SimpleNamespace(dimension=dimension, closed=True, commutator=commutator, borderline=borderline)
    found, reason = judge(closure, Metric(*map(float, sizes)), D)
    assert found == verdict and words in reason


@pytest.mark.parametrize("closed", [True, False])
def test_an_uncertain_dimension_is_given_as_a_lower_bound(closed):
    closure = SimpleNamespace(dimension=5, closed=closed, commutator=MUCH, borderline=0.0)
    assert ("at least 5 > 3" in judge(closure, Metric(MUCH, MUCH, 0.0, 0.0, 0.0), D)[1]) is not closed


@pytest.mark.parametrize(
    ("dimension", "commutator", "borderline", "verdict"),
    [
        (D, NOTHING, 0.0, "mirror"),
        (D, MUCH, 0.0, "undecided"),
        (D, LITTLE, 0.0, "undecided"),
        (D, NOTHING, LITTLE, "undecided"),
        (D + 1, NOTHING, 0.0, "undecided"),
    ],
)
def test_without_a_metric_only_commuting_fields_decide(dimension, commutator, borderline, verdict):
    closure = SimpleNamespace(dimension=dimension, closed=True, commutator=commutator, borderline=borderline)
    assert judge_unmeasured(closure, D, 1e9)[0] == verdict
