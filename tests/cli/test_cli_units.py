"""--intercept and --standardize on every command that takes a table."""

import json

import numpy as np
import pytest

import tacit
from tacit.cli import main
from tacit.verbs.regime import predicted_end

pytestmark = pytest.mark.any_cpu

MU = [1.0, 0.1, 0.01]


@pytest.fixture
def table(tmp_path):
    """Targets with a mean, features of many units, and labels that only an intercept separates."""
    rng = np.random.default_rng(4)
    X = 5 + rng.standard_normal((7, 12)) * 10.0 ** rng.uniform(-2, 2, 12)
    y = X @ rng.standard_normal(12) / 50 + 3
    label = np.where(X[:, 0] > np.median(X[:, 0]), 1.0, -1.0)
    np.savez(tmp_path / "numbers.npz", X=X, y=y)
    np.savez(tmp_path / "labels.npz", X=np.abs(X[:, :1]) + 1, y=label)
    return tmp_path, X, y, np.abs(X[:, :1]) + 1, label


def answer(line, capsys):
    assert main([*line.split(), "--json", "-"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def test_limit_and_flow_give_what_the_library_gives(table, capsys):
    folder, X, y, *_ = table
    options = {"intercept": True, "standardize": True}
    found = tacit.limit(tacit.Diagonal(2, 0.1), X, y, **options)
    limit = answer(f"limit {folder / 'numbers.npz'} --scale 0.1 --intercept --standardize", capsys)
    np.testing.assert_allclose(limit["predictor"], found.predictor, rtol=1e-12)
    assert limit["intercept"] == pytest.approx(found.intercept, rel=1e-12)
    np.testing.assert_allclose(limit["scale"], X.std(axis=0), rtol=1e-12)
    flow = answer(f"flow {folder / 'numbers.npz'} --scale 0.1 --intercept --standardize", capsys)
    np.testing.assert_allclose(
        [*flow["predictor"][-1], flow["intercept"][-1]], [*found.predictor, found.intercept], rtol=1e-6
    )


def test_a_path_gives_what_the_library_gives_and_is_drawn(table, capsys):
    folder, *_, Z, label = table
    line = f"path {folder / 'labels.npz'} --mu {','.join(map(str, MU))}"
    assert main(line.split()) == 2 and "contradict" in capsys.readouterr().err
    found = answer(f"{line} --intercept --standardize --plot {folder / 'path.png'}", capsys)
    path = tacit.margin_path(Z, label, MU, intercept=True, standardize=True)
    np.testing.assert_allclose(found["predictors"], path.predictors, rtol=1e-12)
    np.testing.assert_allclose(found["intercept"], path.intercept, rtol=1e-12)
    assert (folder / "path.png").stat().st_size > 1000
    assert main([*line.split(), "--intercept", "--sweeping"]) == 2
    assert "--sweeping has no intercept" in capsys.readouterr().err


def test_check_asks_about_centred_data(table, capsys):
    """Norms of limits in bounds do not change if features and targets are shifted."""
    folder, X, y, *_ = table
    np.savez(folder / "moved.npz", X=(X + 1.0) * 3, y=y - 7)

    def norms(name, options):
        line = f"check {folder / name} --scale 0.3 --only woodworth2020/theorem2-l1-sharp {options}"
        (verdict,) = answer(line, capsys)["verdicts"]
        return [bound["measured"] for bound in verdict["bounds"]]

    asked = norms("numbers.npz", "--intercept --standardize")
    found = tacit.limit(tacit.Diagonal(2, 0.3), X, y, intercept=True, standardize=True)
    assert any(each == pytest.approx(np.abs(found.inside.predictor).sum(), rel=1e-6) for each in asked)
    assert norms("moved.npz", "--intercept --standardize") == pytest.approx(asked, rel=1e-6)
    assert norms("moved.npz", "") != pytest.approx(asked, rel=1e-2)


@pytest.mark.every(3)
@pytest.mark.parametrize("start", ["orthogonal", "balanced"])
@pytest.mark.parametrize("options", ["--standardize", "--intercept", "--intercept --standardize"])
def test_starts_that_depend_on_the_data_are_for_these_units(start, options, table, capsys):
    folder, X, y, *_ = table
    line = f"{folder / 'numbers.npz'} --model linear --start {start} --width 40 {options}"
    limit, flow = (answer(f"{verb} {line}", capsys) for verb in ("limit", "flow"))
    np.testing.assert_allclose(flow["predictor"][-1], limit["predictor"], rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(X @ np.ravel(limit["predictor"]) + limit["intercept"], y, rtol=1e-9)


def test_what_has_no_intercept_says_so(table, capsys):
    folder, *_ = table
    assert main(["flow", str(folder / "labels.npz"), "--loss", "exp", "--intercept"]) == 2
    assert "margin_path" in capsys.readouterr().err
    for command in ("limit", "flow", "check"):
        line = f"{command} {folder / 'numbers.npz'} --model neuron --slope 0.5 --intercept"
        assert main(line.split()) == 2
        assert "intercept is not available for a leaky neuron" in capsys.readouterr().err


def test_a_drawn_flow_has_the_limit_of_the_same_units(table):
    _, X, y, *_ = table
    run = tacit.flow(tacit.Diagonal(2, 0.1), X, y, intercept=True, standardize=True)
    np.testing.assert_allclose(predicted_end(run), run.predictor[-1], rtol=1e-6, atol=1e-8)
