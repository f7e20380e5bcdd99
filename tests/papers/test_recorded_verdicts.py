"""Every number of every verdict on a dozen cases equals the recorded one."""

import json

import pytest
from recorded_verdicts import RECORD, cases, differences, numbers

KEPT = json.loads(RECORD.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", cases())
def test_verdicts_have_the_recorded_numbers(name):
    """After a change of a formula, run tests/support/recorded_verdicts.py --write."""
    assert differences(name, numbers(cases()[name]()), KEPT[name]) == []


def test_the_record_has_no_other_cases():
    assert set(KEPT) == set(cases())
