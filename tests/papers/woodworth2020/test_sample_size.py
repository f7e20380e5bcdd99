"""The kernel end's error below half as many samples as features."""

import pytest

import tacit
from tacit.theorems import check


def test_few_samples_leave_the_share_that_they_do_not_see():
    """E‖β_ℓ2 − β*‖² = 1 − N/d without noise, at N = (d − 1)//2 of d = 20 features."""
    verdict = check("woodworth2020/sample-size", tacit.Diagonal(), samples=4, features=20, draws=400)
    few = verdict.bounds[-1]
    assert "d = 20" in few.text
    # 0.55, and a standard deviation of a single draw below 0.2, of the mean of 400 below 0.01
    assert few.measured == pytest.approx(1 - 9 / 20, abs=0.05)
