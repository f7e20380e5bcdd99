"""Predictions of results at new inputs, against the raw weights and the data themselves."""

import numpy as np
import pandas as pd
import pytest

import tacit

RNG = np.random.default_rng(5)
X, Y, NEW = RNG.standard_normal((6, 9)), RNG.standard_normal(6), RNG.standard_normal((4, 9))
MODEL = tacit.Diagonal(scale=0.1)
UNITS = [{}, {"intercept": True}, {"intercept": True, "standardize": True}]
ROUND_OFF = 1e-12  # of sums of ten products of order 1, which is 1e-15, and of the fit at the end of a limit


@pytest.mark.parametrize("units", UNITS)
def test_limits_predict_in_the_original_units(units):
    limit = tacit.limit(MODEL, 30 * X + 7, Y, **units)
    np.testing.assert_allclose(limit.predict(30 * X + 7), Y, atol=1e-10)
    w, b = limit.predictor, limit.intercept
    np.testing.assert_allclose(limit.predict(NEW), [float(x @ w) + b for x in NEW], atol=ROUND_OFF)


@pytest.mark.parametrize("units", UNITS)
def test_trajectories_predict_at_any_accuracy(units):
    levels = [2.0, 3.0, 5.0]
    run = tacit.flow(MODEL, X, Y, at=levels, **units)
    for i, level in enumerate(levels):
        np.testing.assert_allclose(run.predict(X, at=level), run.outputs[i], atol=ROUND_OFF)
    np.testing.assert_allclose(run.predict(X), run.outputs[-1], atol=ROUND_OFF)
    between = 0.75 * run.outputs[0] + 0.25 * run.outputs[1]
    np.testing.assert_allclose(run.predict(X, at=2.25), between, atol=ROUND_OFF)
    for level in (1.9, 5.1, np.nan):
        with pytest.raises(tacit.InputError, match="at"):
            run.predict(X, at=level)


@pytest.mark.parametrize("sign", [1, -1])
def test_leaky_neurons_predict_with_their_kink(sign):
    neuron = tacit.Neuron.from_scale(0.5, 0.3, RNG.standard_normal(9), sign=sign, slope=0.3)
    run = tacit.flow(neuron, X, sign * np.abs(Y))
    a, w = run.weights_at(-1)["a"], run.weights_at(-1)["w"]
    t = NEW @ w
    np.testing.assert_allclose(run.predict(NEW), a * np.where(t > 0, t, 0.3 * t), atol=ROUND_OFF)
    limit = tacit.limit(neuron, X, sign * np.abs(Y))
    np.testing.assert_allclose(limit.predict(X), sign * np.abs(Y), atol=1e-10)
    np.testing.assert_allclose(limit.predict(NEW), run.predict(NEW), atol=1e-5)  # the flow's tolerance


@pytest.mark.parametrize("outputs", [1, 2])
def test_networks_of_layers_predict_every_output(outputs):
    model = tacit.LinearNetwork.gaussian(9, 20, outputs, seed=1)
    run = tacit.flow(model, X, RNG.standard_normal((6, outputs))[:, 0] if outputs == 1 else X[:, :outputs])
    assert run.predict(NEW).shape == ((4,) if outputs == 1 else (4, 2))
    weights = run.weights_at(-1)
    expected = NEW @ weights["U"] @ weights["V"].T
    np.testing.assert_allclose(run.predict(NEW).reshape(4, -1), expected, atol=1e-9)  # lifted weights


def test_matrices_predict_entries():
    matrix = np.outer([1.0, 2, 3, 4], [1, -1, 2])
    matrix[0, 0] = matrix[2, 1] = np.nan
    entries, values = tacit.observed(matrix)
    run = tacit.flow(tacit.Factorization.gaussian((4, 3), 5, 0.1), entries, values)
    np.testing.assert_allclose(run.predict(entries), run.outputs[-1], atol=ROUND_OFF)
    np.testing.assert_allclose(run.predict(np.eye(12).reshape(12, 4, 3)), run.predictor[-1].ravel())


def test_named_columns_are_matched():
    names = list("abcdefghi")
    limit = tacit.limit(MODEL, pd.DataFrame(X, columns=names), Y)
    turned = pd.DataFrame(NEW, columns=names)[names[::-1]].assign(more=1.0)
    np.testing.assert_allclose(limit.predict(turned), limit.predict(NEW), rtol=ROUND_OFF)
    with pytest.raises(tacit.InputError, match="lacks 1 of the 9 features by name: 'a'"):
        limit.predict(pd.DataFrame(X, columns=names).rename(columns={"a": "z"}))


@pytest.mark.parametrize("bad", [X[:, :3], X[0], np.full((2, 9), np.nan)])
def test_inputs_that_do_not_match_are_refused(bad):
    for result in (tacit.limit(MODEL, X, Y), tacit.max_margin(X, np.sign(Y), "l2")):
        with pytest.raises(tacit.InputError, match="X"):
            result.predict(bad)


def test_margins_predict_classes():
    margin = tacit.max_margin(X + 3, np.sign(Y), "l1", intercept=True)
    np.testing.assert_array_equal(margin.predict(X + 3), np.sign(Y))
    expected = [1.0 if x @ margin.predictor + margin.intercept > 0 else -1.0 for x in NEW]
    assert margin.predict(NEW).tolist() == expected


def test_runs_predict_their_end():
    run = tacit.descend(MODEL, X, Y, tacit.Training(step=0.01))
    weights = run.weights
    w = weights["w₊"] ** 2 - weights["w₋"] ** 2
    np.testing.assert_allclose(run.predict(NEW), NEW @ w, atol=ROUND_OFF)


def test_a_column_of_text_is_named():
    frame = pd.DataFrame(X).assign(sex=list("mfmfmf"))
    with pytest.raises(tacit.InputError, match="column 'sex' of X must be numbers, got 'm'"):
        tacit.limit(MODEL, frame, Y)


def test_a_scale_in_place_of_the_depth_is_recognized():
    with pytest.raises(tacit.InputError, match=r"did you mean scale=0\.001"):
        tacit.Diagonal(1e-3)
    with pytest.raises(tacit.InputError, match="depth 1 is plain linear regression"):
        tacit.Diagonal(1)
