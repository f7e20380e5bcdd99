"""Planted faults: `tacit.check`, figures and default tests must detect each one."""

import pytest
import referees
from catalogue import FAULTS
from planting import REFEREES, plant

import tacit

pytestmark = pytest.mark.any_cpu

CONCERNED = [
    (name, referee) for name, fault in FAULTS.items() for referee in REFEREES if getattr(fault, referee)
]
CASES, FIGURES, TESTS = (
    list(dict.fromkeys(each for fault in FAULTS.values() for each in getattr(fault, referee)))
    for referee in REFEREES
)


@pytest.mark.parametrize("name", FAULTS)
def test_every_referee_is_asked_or_left_out_for_a_reason(name):
    """The default tests are always used."""
    fault = FAULTS[name]
    asked = {referee for referee in REFEREES if getattr(fault, referee)}
    assert "tests" in asked
    assert asked.isdisjoint(fault.unconcerned) and asked | set(fault.unconcerned) == set(REFEREES)


def test_there_are_thirty():
    assert len(FAULTS) >= 30


@pytest.mark.parametrize("name", FAULTS)
def test_what_a_fault_replaces_is_there(name, monkeypatch):
    plant(FAULTS[name], monkeypatch.setattr)


def test_a_fault_is_noticed_and_gone_when_it_is_taken_back(monkeypatch):
    """One fault runs in the default tests, in this process."""
    fault = FAULTS["distance"]
    with monkeypatch.context() as planted:
        plant(fault, planted.setattr)
        assert all(map(referees.broken, fault.check))
        assert all(map(referees.false_claims, fault.figures))
    assert not any(map(referees.broken, fault.check))
    assert not any(map(referees.false_claims, fault.figures))


def test_tests_fail_of_a_process_with_a_fault():
    failed, said = referees.tests_fail(FAULTS["slope-rate"], FAULTS["slope-rate"].tests)
    assert failed, said


@pytest.mark.faults
@pytest.mark.parametrize(("name", "referee"), CONCERNED)
def test_it_is_noticed(name, referee):
    fault = FAULTS[name]
    if referee == "tests":
        failed, said = referees.tests_fail(fault, fault.tests)
        assert failed, said
    else:
        said = referees.in_a_process(fault, referee)
        assert said and all(said), said


@pytest.mark.faults
@pytest.mark.parametrize("asked", CASES, ids=str)
def test_theorems_hold_without_a_fault(asked):
    assert referees.broken(asked) == []
    (verdict,) = tacit.check(*referees.cases.CASES[asked.case](), only=asked.key)
    assert verdict.holds


@pytest.mark.faults
@pytest.mark.parametrize("shown", FIGURES, ids=str)
def test_claims_hold_without_a_fault(shown):
    assert referees.false_claims(shown) == []


@pytest.mark.faults
@pytest.mark.parametrize("test", TESTS)
def test_tests_pass_without_a_fault(test):
    failed, said = referees.tests_fail(None, (test,))
    assert not failed, said
