"""Data near the limits of the float range give a result or an error with a remedy, never a warning."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.cli import main
from tacit.verbs.regime import Regime

X = np.random.default_rng(0).standard_normal((4, 8))
Y = X[:, 0] + X[:, 1]
LABELS = np.sign(Y)
UNIT = "outside the range of double precision; use another unit"
MODELS = (
    tacit.Diagonal(2, 0.1),
    tacit.Diagonal(3, 0.1),
    tacit.UntiedDiagonal(0.1, 0.3),
    tacit.UntiedDiagonal.from_weights(0.3, 0.2, 0.1, 0.4),  # with an initial predictor other than 0
    tacit.UntiedDiagonal.from_layers([0.3, 0.2, 0.5], [0.1, 0.4, 0.6]),
    tacit.Neuron.from_scale(0.1, 0.2, X[0]),
    tacit.LinearNetwork.orthogonal(X, 12),
)


def spoilt(what, size):
    """The data with a column, a row (and its target), all of X or all of y multiplied by a factor."""
    inputs, targets = X.copy(), Y.copy()
    match what:
        case "column":
            inputs[:, 0] *= size
        case "row":
            inputs[0] *= size
            targets[0] *= size
        case "X":
            inputs *= size
        case "y":
            targets *= size
    return inputs, targets


@pytest.mark.parametrize("size", [1e300, 1e200, 1e154, 1e-200, 1e-300])
@pytest.mark.parametrize("what", ["column", "row", "X", "y"])
def test_limits_are_right_or_in_doubt_and_then_know_no_regime(what, size):
    inputs, targets = spoilt(what, size)
    sizes = np.maximum(np.abs(inputs).max(axis=1) / np.abs(X).max(axis=1), np.abs(targets / Y))
    for model in MODELS[:-1]:
        found = tacit.limit(model, inputs, targets)
        summary = found.summary()
        if found.converged:
            left = inputs / sizes[:, None] @ found.predictor - targets / sizes
            assert np.abs(left).max() < 1e-8 and "NOT CONVERGED" not in summary
        else:
            assert found.regime == "unknown" and "not known" in summary and UNIT in summary
            assert found.to_dict()["regime"]["distance_to_kernel"] is None


def test_a_row_in_another_unit_is_the_same_equation():
    """The tangent kernel changes as for the largest row alone, because the others are negligible."""
    for model in MODELS[:3]:
        expected, found = tacit.limit(model, X, Y), tacit.limit(model, *spoilt("row", 1e300))
        np.testing.assert_allclose(found.predictor, expected.predictor, rtol=1e-10, atol=1e-14)
        assert found.converged and found.regime.name == expected.regime.name
        assert found.regime.distance_to_rich == pytest.approx(expected.regime.distance_to_rich, rel=1e-8)


def test_the_regime_of_a_limit_in_doubt_is_not_told():
    found = tacit.limit(MODELS[0], X, 1e300 * Y)
    assert not found.converged and str(tacit.regime(MODELS[0], X, 1e300 * Y)) == "unknown"
    assert tacit.limit(MODELS[0], 1e300 * X, Y).error == np.inf
    assert Regime("rich", 0.1, 0.05, 0.3).summary().startswith("rich")


def test_networks_in_huge_units_have_an_end_but_no_flow():
    found = tacit.limit(MODELS[-1], X, 1e200 * Y)
    assert found.converged and "‖w‖₂ inf" not in found.summary()
    assert np.isnan(found.regime.kernel_distance)


def beyond_floats(*places):
    """The place and the factor; a column with a tiny factor is equivalent to zeros."""
    return [pair for pair in product(places, (1e300, 1e154, 1e-200)) if pair != ("column", 1e-200)]


@pytest.mark.parametrize(("what", "size"), beyond_floats("column", "X", "y"))
def test_flows_that_floats_cannot_follow_are_refused(what, size):
    inputs, targets = spoilt(what, size)
    for model in MODELS:
        for method in ("auto", "descent"):
            with pytest.raises(tacit.InputError, match=UNIT):
                tacit.flow(model, inputs, targets, method=method)
        if what != "y":
            with pytest.raises(tacit.InputError, match=UNIT):
                tacit.flow(model, inputs, LABELS, loss="exp")


@pytest.mark.parametrize(("what", "size"), beyond_floats("column", "row", "X"))
def test_margins_that_floats_cannot_hold_are_refused(what, size):
    inputs = spoilt(what, size)[0]
    for verb in (
        lambda: tacit.margin_path(inputs, LABELS, [1.0]),
        lambda: tacit.sweeping_path(inputs, LABELS, [1.0]),
        lambda: tacit.max_margin(inputs, LABELS, "l1"),
        lambda: tacit.max_margin(inputs, LABELS, 0.5),
    ):
        with pytest.raises(tacit.InputError, match=r"use another unit|rescale it"):
            verb()


@pytest.mark.parametrize("size", [1e130, 1e-130])
def test_margins_in_large_and_small_units(size):
    found, expected = (tacit.max_margin(unit * X, LABELS, "l2") for unit in (size, 1.0))
    assert found.converged
    np.testing.assert_allclose(found.predictor * size, expected.predictor, rtol=1e-9, atol=1e-12)


def test_a_path_that_no_memory_holds_is_refused_with_its_cost():
    levels = np.broadcast_to(1.0, 10_000_000)
    with pytest.raises(tacit.InputError, match=r"10,000,000 values of μ needs [\d,]+ GiB .* has \d"):
        tacit.margin_path(np.broadcast_to(1.0, (2, 1_000_000)), [1, 1], levels)


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(spoilt("column", 1e300)[0]).assign(y=Y).to_csv("huge.csv", index=False)
    pd.DataFrame(X).assign(label=LABELS.astype(int)).to_csv("cells.csv", index=False)

    def run(line):
        try:
            status = main(line.split())
        except SystemExit as stop:
            status = stop.code
        return status, *capsys.readouterr()

    return run


def test_on_the_command_line_the_line_of_doubt_says_what_to_do(command):
    status, out, err = command("limit huge.csv --target y")
    words = " ".join(out.split())  # lines are folded
    assert (
        (status, err) == (1, "")
        and "not known" in words
        and f"(column 0) is 9e+299, whose square is {UNIT}" in words
    )
    status, out, err = command("flow huge.csv --target y")
    assert (status, out) == (2, "") and UNIT in err and err.count("\n") == 1
    status, out, err = command("check huge.csv --target y")
    assert status == 1 and "did not converge" in out


@pytest.mark.parametrize(
    ("mu", "word"),
    [
        ("1:1e-3:1000000000", "asks for 1,000,000,000 values; at most 100,000 are allowed"),
        ("1:1e-3:100001", "asks for 100,001 values"),
        ("1:1e-3:" + "9" * 40, "at most 100,000"),
        ("1:inf:3", "FROM:TO:COUNT with positive ends"),
        ("nan:1:3", "FROM:TO:COUNT with positive ends"),
        ("-1:-2:3", "FROM:TO:COUNT with positive ends"),
        ("1:2:0", "FROM:TO:COUNT with positive ends"),
        ("1:2:-5", "FROM:TO:COUNT with positive ends"),
        ("1:2", "FROM:TO:COUNT with positive ends"),
        ("1:2:3:4", "FROM:TO:COUNT with positive ends"),
        ("1:2:1e3", "FROM:TO:COUNT with positive ends"),
        ("1,x", "numbers separated by commas"),
    ],
)
def test_ranges_without_end_or_sense_are_refused_at_once(command, mu, word):
    status, out, err = command(f"path cells.csv --target label --mu {mu}")
    assert (status, out) == (2, "") and word in err and err.count("\n") == 1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [1e155, 1e200, 1e300])
@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (4, 4), (4, 8)])
def test_limits_that_floats_cannot_hold_are_in_doubt(shape, size):
    """w = y/x is a float for 1e300·Y and X of ordinary size, but overflows for tiny X."""
    inputs, targets = X[: shape[0], -shape[1] :], Y[: shape[0]]
    for model in MODELS[:5]:
        for unit in (1e-200, 1.0, 1e200):
            found = tacit.limit(model, unit * inputs, size * targets)
            assert np.isfinite(found.predictor).all() and found.converged == ("NOT" not in found.summary())
            if found.converged:
                left = inputs @ (found.predictor * unit / size) - targets
                assert np.abs(left).max() < 1e-8
