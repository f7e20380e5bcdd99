"""tacit fit and tacit predict: a model from a table, and its predictions for another."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tacit.cli import main
from tacit.estimators import FlowClassifier, FlowClassifierCV, FlowRegressor, FlowRegressorCV
from tacit.estimators.training import Training

RNG = np.random.default_rng(3)
NAMES = [f"band {i}" for i in range(24)]
X = RNG.standard_normal((30, 24))
Y = 3 * X[:, 0] - 2 * X[:, 5] + 0.1 * RNG.standard_normal(30) + 7
KINDS = np.where(Y > 8, "high", np.where(Y > 5, "middle", "low"))
TRAIN, TEST = slice(0, 20), slice(20, 30)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(X, columns=NAMES)
    for name, target in (("numbers", Y), ("words", KINDS), ("two", np.where(Y > 7, "yes", "no"))):
        frame.assign(target=target)[TRAIN].to_csv(f"{name}.csv", index=False)
        frame.assign(target=target)[TEST].to_csv(f"{name}-new.csv", index=False)

    def command(line):
        try:
            status = main(line.split())
        except SystemExit as exit:  # of argparse
            status = exit.code
        out, err = capsys.readouterr()
        return status, out, err

    return command


def test_a_fit_is_that_of_the_estimator(run):
    status, out, _ = run("fit numbers.csv --target target --scale 1e-2 --stop 0.1 --json -")
    content, own = json.loads(out), FlowRegressor(scale=1e-2, stop=0.1).fit(X[TRAIN], Y[TRAIN])
    assert status == 0 and content["fit"]["stop"] == 0.1 and content["features"] == NAMES
    np.testing.assert_array_equal(content["coefficients"], [own.coef_])
    np.testing.assert_allclose(
        content["intercepts"], [own.intercept_], rtol=1e-13
    )  # different order of summation


def test_without_a_scale_it_is_cross_validated_and_predicts(run):
    status, out, _ = run("fit numbers.csv --target target --cv 2 --save model.json")
    own = FlowRegressorCV(cv=2).fit(X[TRAIN], Y[TRAIN])
    assert status == 0 and f"scale = {own.scale_:.3g} (relative to the data), chosen by" in out
    assert "band 0 " in out and "band 5 " in out and "RMSE" in out and "2 folds" in out
    status, out, err = run("predict model.json numbers-new.csv --json -")
    content = json.loads(out)
    np.testing.assert_allclose(content["predictions"], own.predict(X[TEST]), rtol=1e-12)
    rmse = np.sqrt(np.mean((own.predict(X[TEST]) - Y[TEST]) ** 2))
    np.testing.assert_allclose(content["score"]["RMSE"], rmse, rtol=1e-10)
    assert (
        status == 0 and f"RMSE {rmse:.4g}" in err and rmse < 1.5
    )  # for a target with standard deviation 3.6


def test_stops_are_those_that_cross_validation_tries(run):
    status, out, _ = run("fit two.csv --target target --classify --cv 2 --stops 0.7,0.3,limit --json -")
    own = FlowClassifierCV(cv=2, stops=[0.7, 0.3, None]).fit(X[TRAIN], np.where(Y > 7, "yes", "no")[TRAIN])
    assert status == 0
    np.testing.assert_allclose(json.loads(out)["coefficients"], own.coef_, rtol=1e-12)
    status, out, _ = run("fit numbers.csv --target target --cv 2 --stops 3 --json -")
    own = FlowRegressorCV(cv=2, stops=3).fit(X[TRAIN], Y[TRAIN])
    np.testing.assert_allclose(json.loads(out)["coefficients"], [own.coef_], rtol=1e-12)


def test_columns_may_stand_in_any_order_and_others_are_named(run):
    run("fit numbers.csv --target target --scale 1 --save model.json")
    _, plain, _ = run("predict model.json numbers-new.csv")
    frame = pd.read_csv("numbers-new.csv").drop(columns="target").assign(plot="north", depth=3)
    frame[frame.columns[::-1]].to_csv("shuffled.csv", index=False)
    status, out, err = run("predict model.json shuffled.csv")
    assert status == 0 and out.startswith("target\n")
    np.testing.assert_allclose(
        [float(line) for line in out.split()[1:]], [float(line) for line in plain.split()[1:]]
    )
    assert (
        "the model does not use these columns of shuffled.csv: 'depth', 'plot'" in err and "RMSE" not in err
    )
    frame.drop(columns=["band 3", "band 4"]).to_csv("short.csv", index=False)
    status, out, err = run("predict model.json short.csv")
    assert (status, out) == (2, "") and "lacks 2 of the 24 features of the model: 'band 3', 'band 4'" in err


@pytest.mark.parametrize("data", ["words", "two"])
def test_classes_are_predicted_by_name(run, data):
    status, out, _ = run(f"fit {data}.csv --target target --classify --scale 0.1 --save model.json")
    assert status == 0 and ("for low" in out) == (data == "words")
    labels = pd.read_csv(f"{data}.csv")["target"]
    own = FlowClassifier(scale=0.1).fit(X[TRAIN], labels).predict(X[TEST])
    status, out, err = run(f"predict model.json {data}-new.csv")
    assert status == 0 and out.split() == ["target", *own]
    truth = pd.read_csv(f"{data}-new.csv")["target"]
    assert f"accuracy {np.mean(own == truth):.4g}" in err


def test_predictions_go_to_a_file_that_is_not_replaced(run, tmp_path):
    run("fit numbers.csv --target target --scale 1 --save model.json")
    status, out, _ = run("predict model.json numbers-new.csv --out new.csv")
    assert (status, out) == (0, "") and len(pd.read_csv("new.csv")) == 10
    before = (tmp_path / "new.csv").read_bytes()
    status, _, err = run("predict model.json numbers-new.csv --out new.csv")
    assert status == 2 and "Tacit does not replace CSV files; choose another name" in err
    assert (tmp_path / "new.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("fit numbers.csv --target target --stop 0.1", "--stop needs --scale"),
        ("fit numbers.csv --target target --scale 1 --stops 3", "--stops is for cross-validation"),
        ("fit numbers.csv --target target --stops 0.5,2", "shares between 0 and 1"),
        ("fit numbers.csv --target target --cv 1", "must be a whole number, 2 or more"),
        ("fit numbers.csv --target target --scale -1", "scale must be positive"),
        ("fit numbers.csv --target target --scale 1 --stop 2", "fraction of the loss between 0 and 1"),
        ("fit words.csv --target target", "'tacit fit --classify'"),
        ("fit numbers.csv --target target --cv 50", "with 50 folds is impossible: number of samples: 20"),
        ("fit numbers.csv --target target --save numbers.csv", "numbers.csv"),
        ("predict numbers.csv numbers-new.csv", "not JSON"),
        ("predict nothing.json numbers-new.csv", "no file at nothing.json"),
    ],
)
def test_wrong_use_is_one_line_and_writes_nothing(run, tmp_path, line, message):
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    status, out, err = run(line)
    assert status == 2 and out == "" and message in err and err.count("\n") == 1
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def few_of_one_class(counts):
    labels = np.repeat(["u", "v"], counts)
    X_few = np.random.default_rng(0).standard_normal((len(labels), 4))
    pd.DataFrame(X_few, columns=list("abcd")).assign(c=labels).to_csv("few.csv", index=False)


def test_folds_are_no_more_than_samples_of_the_smallest_class(run):
    few_of_one_class((9, 3))
    line = "fit few.csv --target c --classify"
    status, out, err = run(line)
    assert status == 0 and "(3 folds)" in out
    assert err.splitlines()[1:] == ["tacit: using 3 folds instead of 5 (samples of class 'v': 3)"]
    status, out, err = run(f"{line} --cv 3")
    assert status == 0 and err.count("\n") == 1
    for folds in (4, 10, 13):
        status, out, err = run(f"{line} --cv {folds}")
        assert (status, out) == (2, "")
        assert f"with {folds} folds is impossible: samples of class 'v': 3; give --cv 3 or less" in err
    few_of_one_class((9, 1))
    assert "samples of class 'v': 1; give --scale, which needs no cross-validation" in run(line)[2]
    assert run(f"{line} --scale 0.1")[0] == 0


def test_few_samples_of_numbers_have_fewer_folds(run):
    few_of_one_class((2, 2))
    table = pd.read_csv("few.csv")
    table.assign(c=table["a"]).to_csv("few.csv", index=False)
    status, _, err = run("fit few.csv --target c")
    assert status == 0 and "tacit: using 4 folds instead of 5 (number of samples: 4)" in err
    assert (
        "is impossible: number of samples: 4; give --cv 4 or less" in run("fit few.csv --target c --cv 5")[2]
    )


@pytest.mark.parametrize("flags", ["", "--standardize", "--scale 1", "--scale 1 --stop 0.1", "--depth 3"])
@pytest.mark.parametrize(("of_X", "of_y"), [(1e300, 1.0), (1e-300, 1.0), (1.0, 1e300), (1.0, 1e-300)])
def test_numbers_whose_squares_floats_cannot_hold_are_refused_without_warnings(run, flags, of_X, of_y):
    few_of_one_class((6, 6))
    table = pd.read_csv("few.csv")
    numbers = table.drop(columns="c") * of_X
    numbers.assign(y=of_y * table["a"]).to_csv("odd.csv", index=False)
    status, out, err = run(f"fit odd.csv --target y {flags}")
    assert (status, out) == (2, "") and err.count("\n") == 1
    assert f"the largest entry of {'y' if of_X == 1 else 'X'}" in err and "use another unit" in err
    if of_X != 1:
        numbers.assign(c=table["c"]).to_csv("odd.csv", index=False)
        status, out, err = run(f"fit odd.csv --target c --classify {flags}")
        assert (status, out) == (2, "") and "the largest entry of X" in err


def test_numbers_that_are_no_classes_are_refused(run):
    told = "tacit: --classify needs a target of text or whole numbers; leave it out for regression\n"
    assert run("fit numbers.csv --target target --classify") == (2, "", told)


def test_a_fit_that_is_not_certified_has_status_1_and_an_error_line(run, monkeypatch):
    found = Training.limit

    def doubtful(self, model, tol):
        w, result = found(self, model, tol)
        return w, replace(result, settled=False, inside=None)

    monkeypatch.setattr(Training, "limit", doubtful)
    status, out, err = run("fit numbers.csv --target target --scale 1e-2")
    assert (status, err) == (1, "tacit: the limit is not certified: the solver did not settle\n")
    assert "predictor" in out


def test_scores_beyond_the_square_root_of_floats_have_their_deviations(run):
    """They equal those of the same data in another unit; 2^332 is about 1e100."""
    few_of_one_class((8, 8))
    table, scores = pd.read_csv("few.csv").drop(columns="c"), []
    for unit in (1.0, 2.0**332):
        table.assign(y=unit * (table["a"] + table["b"] ** 2)).to_csv("scaled.csv", index=False)
        status, out, err = run("fit scaled.csv --target y --json -")
        assert (status, err) == (0, "")
        scores.append(json.loads(out)["fit"]["cross_validation"]["score"] / unit**2)
    assert scores[0] == pytest.approx(scores[1], rel=1e-9)
