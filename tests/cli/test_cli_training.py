"""`tacit descend`, and `tacit limit` with the options of a training."""

import json

import numpy as np
import pytest

import tacit
from tacit.cli import main

pytestmark = pytest.mark.any_cpu


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4, 8))
    path = tmp_path / "data.npz"
    np.savez(path, X=X, y=X[:, 0] - X[:, 1])
    return path


def test_descend_writes_what_the_function_returns(data, tmp_path, capsys):
    out, picture = tmp_path / "run.json", tmp_path / "run.png"
    options = ["--scale", "0.1", "--step", "0.02", "--momentum", "0.5", "--batch", "2", "--seed", "3"]
    assert main(["descend", str(data), *options, "--json", str(out), "--plot", str(picture)]) == 0
    assert "effective" in capsys.readouterr().out and picture.exists()
    found, given = json.loads(out.read_text()), np.load(data)
    run = tacit.descend(
        tacit.Diagonal(2, 0.1), given["X"], given["y"], tacit.Training(0.02, 0.5, batch=2), seed=3
    )
    np.testing.assert_allclose(found["predictor"], run.predictor, rtol=1e-12)
    assert found["steps"] == run.steps and found["effective_error"] < 1e-9


def test_limit_takes_the_options_of_a_training(data, capsys):
    options = ["--scale", "0.1", "--step", "0.02", "--momentum", "0.5", "--nesterov", "--json", "-"]
    assert main(["limit", str(data), *options]) == 0
    found, given = json.loads(capsys.readouterr().out), np.load(data)
    known = tacit.limit(
        tacit.Diagonal(2, 0.1), given["X"], given["y"], training=tacit.Training(0.02, 0.5, nesterov=True)
    )
    np.testing.assert_allclose(found["predictor"], known.predictor, rtol=1e-9)
    assert found["order"] == "second order in the step" and found["distance_to_flow"] > 0
    assert main(["limit", str(data), "--scale", "0.1", "--decay", "0.1"]) == 0
    assert "Lasso" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (["descend", "--step", "-1"], 2, "step must not be negative"),
        (["descend", "--step", "0.1", "--batch", "9"], 2, "batch must be at most"),
        (["descend", "--step", "0.1", "--momentum", "1"], 2, "momentum must lie in"),
        (["descend", "--step", "9"], 1, ""),
        (["limit", "--momentum", "0.5"], 2, "--momentum needs --step"),
        (["limit", "--step", "9"], 2, "beyond the edge of stability"),
        (["limit", "--depth", "3", "--decay", "0.1"], 2, "not convex at depth 3"),
    ],
    ids=str,
)
def test_failures_are_a_line_and_a_status(data, options, status, message, capsys):
    assert main([options[0], str(data), *options[1:]]) == status
    captured = capsys.readouterr()
    assert message in captured.err and captured.err.count("\n") == (status == 2)
    assert status == 2 or "diverged" in captured.out
