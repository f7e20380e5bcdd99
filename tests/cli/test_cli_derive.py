"""tacit derive on the command line."""

import json

import numpy as np
import pytest

from tacit.cli import main

SOURCE = """
def neuron(theta):
    return theta[0] * theta[1:]


def balance(theta):
    return theta[0] ** 2 - (theta[1:] ** 2).sum()


answer = 42
"""


@pytest.fixture
def maps(tmp_path):
    path = tmp_path / "maps.py"
    path.write_text(SOURCE)
    return str(path)


def test_a_verdict_is_printed_and_written(maps, tmp_path, capsys):
    (tmp_path / "start.txt").write_text("2.0 1.0\n0.5\n")
    target = tmp_path / "verdict.json"
    arguments = [f"{maps}:neuron", "--at", str(tmp_path / "start.txt"), "--samples", "3"]
    arguments += ["--candidates", f"{maps}:balance", "--plot", str(tmp_path / "levels.png")]
    assert main(["derive", *arguments, "--json", str(target)]) == 0
    assert (tmp_path / "levels.png").stat().st_size > 1000
    printed = capsys.readouterr().out
    assert "warped" in printed and "θ₁² − θ₂² − θ₃²" in printed and "accurate to about" in printed
    told = json.loads(target.read_text())
    assert told["kind"] == "warped" and told["theta0"] == [2.0, 1.0, 0.5]
    assert "balance: held" in printed and told["candidates"][0]["verdict"] == "held"
    assert told["conserved_number"] == 1 and told["reachable_dimension"] == 2


def test_json_alone_on_standard_output(maps, tmp_path, capsys):
    np.save(tmp_path / "start.npy", [0.0, 1.0, 2.0])
    assert main(["derive", f"{maps}:neuron", "--at", str(tmp_path / "start.npy"), "--json", "-"]) == 1
    assert json.loads(capsys.readouterr().out)["kind"] == "undecided"


@pytest.mark.parametrize(
    ("function", "at", "words"),
    [
        ("{maps}:neuron", "random:0", "random:P needs"),
        ("{maps}:neuron", "random:100000000000", "at most 1,000,000"),
        ("{maps}:neuron", f"random:{'9' * 5000}", "at most 1,000,000"),
        ("{maps}:neuron", "nowhere.txt", "no file nowhere.txt"),
        ("{maps}:neuron", "{maps}", "not a file of numbers"),
        ("{maps}:nothing", "random:3", "has no 'nothing'"),
        ("{maps}:answer", "random:3", "must be a function"),
        ("neuron", "random:3", "FILE.py:FUNCTION"),
        ("no.such.module:neuron", "random:3", "cannot be loaded"),
    ],
)
def test_what_cannot_be_read_is_one_line(maps, capsys, function, at, words):
    assert main(["derive", function.format(maps=maps), "--at", at.format(maps=maps)]) == 2
    error = capsys.readouterr().err
    assert words in error and error.count("\n") == 1


def test_a_radius_that_no_float_resolves_is_one_line(maps, capsys):
    assert main(["derive", f"{maps}:neuron", "--at", "random:4", "--radius", "1e-300"]) == 2
    error = capsys.readouterr().err
    assert "too short to resolve at θ₀" in error and error.count("\n") == 1


def test_help_says_that_the_file_is_run(capsys):
    for command in ("derive", "probe"):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        assert "runs the file" in " ".join(capsys.readouterr().out.split())
