"""Commands report the elapsed time, and announce long computations in advance."""

import re

import numpy as np
import pytest
from oracles import gaussian_problem

from tacit.cli import main
from tacit.cli.terminal import in_words
from tacit.show import progress

pytestmark = pytest.mark.any_cpu


@pytest.fixture
def clock(monkeypatch):
    """A clock that advances with each item."""
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def worked_through(items, clock, seconds):
    for _ in progress.progress(items, "points"):
        clock[0] += seconds


@pytest.mark.parametrize(("count", "hours"), [(10_000, "5.6"), (2_000, "1.1")])
def test_a_grid_that_takes_hours_says_so_once(count, hours, clock, capsys):
    with progress.announcing():
        worked_through(range(count), clock, 2.0)
    line = f"points: 2 of {count:,} took 4 s, the rest will take about {hours} hours; Ctrl-C stops"
    assert capsys.readouterr().err == f"tacit: {line}\n"


def test_others_say_nothing(clock, capsys):
    worked_through(range(10_000), clock, 2.0)  # in Python, without a command line
    with progress.announcing():
        worked_through(range(100), clock, 2.0)
    assert capsys.readouterr().err == ""


def test_times_have_two_digits_in_a_unit_that_suits():
    seconds = [0.0123, 0.0996, 0.4567, 0.996, 9.94, 59.6, 130, 4000, 9000]
    words = ["12 ms", "0.10 s", "0.46 s", "1.0 s", "9.9 s", "60 s", "2 min", "67 min", "2.5 hours"]
    assert [in_words(each) for each in seconds] == words


@pytest.mark.parametrize("command", ["limit", "flow", "path --mu 1,0.1", "check --only woodworth2020"])
def test_every_command_tells_the_wait(command, tmp_path, capsys):
    X, y = gaussian_problem(4, 9, seed=1)
    np.savez(tmp_path / "data.npz", X=X, y=np.sign(y))
    name, *options = command.split()
    assert main([name, str(tmp_path / "data.npz"), *options]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert re.search(r"[\d.]+ m?s in total, [\d.]+ m?s of it for reading the data", last)
