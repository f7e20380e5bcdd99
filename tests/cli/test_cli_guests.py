"""Files of the user: their output is kept apart from results, and their errors are reported with the line."""

import json
import re

import numpy as np
import pytest

from tacit.cli import main

GUEST = """
import sys
import jax.numpy as jnp
import numpy as np
import tacit
print("I am read")

def product(theta):
    print("I am asked")
    return theta[:2] * theta[2:]

def slips(theta):
    return 1 / 0

def misfits(theta):
    return jnp.dot(theta, theta[:2])

def leaves(theta):
    sys.exit(3)

def network(features):
    print("I am made")
    return (lambda params, X: X @ params), jnp.ones(features)

def fails(features):
    raise RuntimeError("first line\\nsecond line")

def named(*, features):
    return None

def shallow(features):
    return tacit.Diagonal(depth=1)

def model():
    print("I am made")
    return tacit.Diagonal(scale=0.1)
"""
DERIVE, PROBE, LIMIT = (
    "derive guest.py:{} --at random:4",
    "probe guest.py:{} data.npz --steps 3",
    "limit data.npz --model guest.py:{}",
)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "guest.py").write_text(GUEST)
    X = np.random.default_rng(0).standard_normal((5, 9))
    np.savez("data.npz", X=X, y=X[:, 0])

    def command(line):
        try:
            status = main(line.split())
        except SystemExit as stop:
            pytest.fail(f"ended with {stop.code}")
        return status, *capsys.readouterr()

    return command


@pytest.mark.parametrize(
    ("line", "name"), [(DERIVE, "product"), (PROBE, "network"), (LIMIT, "model"), ("flow{}", "model")]
)
def test_what_a_guest_prints_does_not_spoil_json(run, line, name):
    line = LIMIT.replace("limit", "flow") if line == "flow{}" else line
    status, out, err = run(f"{line.format(name)} --json -")
    assert status == 0 and json.loads(out)["made_by"].startswith("made by Tacit [")
    assert err.startswith("I am read\nI am ")
    status, out, err = run(line.format(name))
    assert status == 0 and err == "" and "I am read\n" in out  # everything is printed without --json


WRONG = [
    (DERIVE, "slips", "1 / 0", "ZeroDivisionError: division by zero"),
    (DERIVE, "misfits", "jnp.dot", "the parametrization failed: TypeError: dot_general"),
    (DERIVE, "leaves", "sys.exit(3)", "the file calls sys.exit(3)"),
    (PROBE, "fails", "raise RuntimeError", "RuntimeError: first line"),
    (LIMIT, "fails", "raise RuntimeError", "RuntimeError: first line"),
    (PROBE, "leaves", "sys.exit(3)", "the file calls sys.exit(3)"),
    (LIMIT, "shallow", "depth=1", "depth must be at least 2"),
]


@pytest.mark.parametrize(("line", "name", "code", "words"), WRONG)
def test_what_goes_wrong_is_told_with_its_line(run, line, name, code, words):
    number = next(n for n, text in enumerate(GUEST.split("\n"), 1) if code in text)
    status, _, err = run(line.format(name))
    assert status == 2
    assert re.fullmatch(rf"tacit: guest\.py, line {number}: {re.escape(words)}.*\n", err)
    assert "second line" not in err


def test_a_guest_that_asks_for_other_arguments_is_named(run):
    for line in (PROBE, LIMIT):
        status, _, err = run(line.format("named"))
        assert status == 2 and err.startswith("tacit: guest.py:named failed: TypeError: named() ")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("import sys\nsys.exit('bye')", "other.py, line 2: the file calls sys.exit('bye')"),
        ("\nimport no_such_thing", "other.py, line 2: ModuleNotFoundError: No module named 'no_such_thing'"),
        ("\n\ndef f(:", "other.py, line 3: SyntaxError: invalid syntax"),
        ("x = 1\0", "other.py does not run: SyntaxError: source code string cannot contain null bytes"),
        ("x = 1", "other.py has no 'f'; it has x"),
    ],
)
def test_a_file_that_does_not_run_is_told_with_its_line(run, tmp_path, content, words):
    (tmp_path / "other.py").write_text(content)
    for line in (DERIVE, PROBE, LIMIT):
        assert run(line.replace("guest.py:{}", "other.py:f")) == (2, "", f"tacit: {words}\n")


def test_debug_shows_where(run, tmp_path):
    with pytest.raises(Exception, match=r"guest\.py, line 13: ZeroDivisionError") as failure:
        run(f"{DERIVE.format('slips')} --debug")
    assert isinstance(failure.value.__cause__, ZeroDivisionError)


def test_modules_are_guests_too(run, tmp_path, monkeypatch):
    (tmp_path / "some_module.py").write_text(GUEST)
    monkeypatch.syspath_prepend(tmp_path)
    assert run("derive some_module:product --at random:4")[0] == 0
    assert "some_module.py, line 13: ZeroDivisionError" in run("derive some_module:slips --at random:4")[2]
    status, _, err = run("derive no_such_module:f --at random:4")
    assert (status, err) == (
        2,
        "tacit: no_such_module:f cannot be loaded: No module named 'no_such_module'; "
        "name a file as FILE.py:FUNCTION\n",
    )


def test_starts_may_have_commas_and_candidates_are_functions(run, tmp_path):
    (tmp_path / "start.txt").write_text("1, 2,3\n4")
    status, out, _ = run("derive guest.py:product --at start.txt --json -")
    assert status == 0 and json.loads(out)["parameters"] == 4
    (tmp_path / "start.txt").write_text("1; 2")
    assert run("derive guest.py:product --at start.txt")[2].startswith(
        "tacit: start.txt is not a file of numbers"
    )
    (tmp_path / "number.py").write_text("number = 3")
    status, _, err = run(f"{DERIVE.format('product')} --candidates number.py:number")
    assert (status, err) == (2, "tacit: candidates must be functions of θ, got int\n")
