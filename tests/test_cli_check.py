"""tacit check on the command line, and limits of neurons and networks there."""

import json

import numpy as np
import pytest

import tacit
from tacit.cli import main
from tacit.theorems import check, theorems


def run(line):
    return main(line.split())


@pytest.fixture
def regression(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    X = rng.standard_normal((5, 12))
    y = X[:, 0] - X[:, 1]
    np.savez("data.npz", X=X, y=y)
    return X, y


@pytest.fixture
def classification(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = np.array([[0.9, 0.5, -0.2], [1.5, 0.8, 0.1], [-1.2, -0.8, -0.2]])
    y = np.array([1.0, 1.0, -1.0])
    np.savez("data.npz", X=X, y=y)
    return X, y


def test_theorems_that_apply_are_printed_and_the_others_counted(regression, capsys):
    assert run("check data.npz --log-scale -60") == 0
    text = capsys.readouterr().out
    assert "woodworth2020/theorem2-l1-sharp: holds" in text
    assert "min2021/theorem1" not in text
    asked = [t for t in theorems() if set(t.needs) == {"model", "X", "y"}]
    assert f"of {len(asked)} theorems apply" in text and "--all shows the others" in text
    assert run("check data.npz --log-scale -60 --all") == 0
    text = capsys.readouterr().out
    assert all(t.key in text for t in asked) and "does not apply" in text


def test_json_has_the_verdicts_of_the_library(classification, capsys):
    assert run("check data.npz --scale 2 --only moroshko2020/lemma3 --json -") == 0
    content = json.loads(capsys.readouterr().out)
    verdict = check("moroshko2020/lemma3", tacit.Diagonal(scale=2.0), *classification)
    assert content["verdicts"] == [json.loads(json.dumps(verdict.to_dict()))]
    assert content["refused"] == {} and verdict.holds


def test_labels_are_asked_for_where_a_theorem_needs_them(regression, capsys):
    assert run("check data.npz --only moroshko2020 --json -") == 0
    content = json.loads(capsys.readouterr().out)
    assert not any(verdict["applies"] for verdict in content["verdicts"])
    assert len(content["refused"]) >= 4 and all("labels" in reason for reason in content["refused"].values())


def test_linear_networks_have_their_own_theorems(regression, capsys):
    assert run("check data.npz --model linear --width 40 --only min2021/theorem1") == 0
    assert "min2021/theorem1: holds" in capsys.readouterr().out


def test_a_theorem_that_fails_is_status_1(regression, capsys, monkeypatch):
    from tacit.theorems import registry

    def broken(model, X, y):
        yield registry.Bound("more than it may be", 2.0, at_most=1.0)

    entry = registry.Theorem("woodworth2020/broken", "A statement that is false.", broken)
    monkeypatch.setitem(registry._THEOREMS, entry.key, entry)
    assert main(["check", "data.npz", "--only", entry.key]) == 1
    assert "FAILS" in capsys.readouterr().out


def test_an_unknown_theorem_is_refused_with_those_there_are(regression, capsys):
    assert run("check data.npz --only nope") == 2
    assert "min2021/theorem1" in capsys.readouterr().err


def test_limits_of_neurons_on_the_command_line(regression, capsys):
    X, y = regression
    line = (
        "limit data.npz --model neuron --scale 0.2 --shape 0.5 --slope 0.3 --seed 4 --json - --plot limit.png"
    )
    assert run(line) == 0
    content = json.loads(capsys.readouterr().out)
    direction = np.random.default_rng(4).standard_normal(12)
    model = tacit.Neuron.from_scale(0.2, 0.5, direction, slope=0.3)
    np.testing.assert_allclose(content["predictor"], tacit.limit(model, X, y).predictor, rtol=1e-12)
    assert content["regime"]["name"] in ("kernel", "intermediate", "anti-kernel")


def test_networks_without_a_limit_are_refused_with_what_is_known(regression, capsys):
    assert run("limit data.npz --model linear --width 30") == 2
    error = capsys.readouterr().err
    assert "conserves the imbalance" in error and "of the solution of least norm" in error
    assert run("limit data.npz --model linear --width 30 --std 1e-13 --plot limit.png") == 0
    assert "anti-kernel" in capsys.readouterr().out
