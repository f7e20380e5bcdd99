"""Trajectories: contents, serialization, and interruption of long runs."""

import copy
import json
import pickle
import signal
import sys
import threading
import tracemalloc

import numpy as np
import pytest
import xarray as xr
from oracles import gaussian_problem

import tacit
from tacit.flows import driver

X, Y = gaussian_problem(6, 20, nonzero=3, seed=4)
LABELS = np.sign(Y)
CLOCKS = ("time", "accuracy")
MODELS = {
    "diagonal": tacit.Diagonal(depth=3, scale=0.3),
    "untied": tacit.UntiedDiagonal(scale=0.1, shape=0.4),
    "neuron": tacit.Neuron.from_scale(0.5, 0.2, np.ones(20), slope=0.5),
    "linear": tacit.LinearNetwork.gaussian(20, 30, seed=1),
}


@pytest.mark.every(3)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("loss", ["square", "exp"])
def test_shapes_and_definitions(name, loss):
    y = Y if loss == "square" else LABELS
    run = tacit.flow(MODELS[name], X, y, loss=loss, until=15)
    count = len(run.accuracy)
    assert 50 <= count <= 200
    assert run.time[0] == 0 and (np.diff(run.time) > 0).all()
    assert (np.diff(run.accuracy) > -1e-12).all() and run.accuracy[-1] == 15
    np.testing.assert_allclose(run.loss, np.exp(-run.accuracy), rtol=1e-14)
    np.testing.assert_allclose(run.log_time[1:], np.log(run.time[1:]), rtol=1e-13, atol=1e-14)
    assert run.outputs.shape == run.margins.shape == (count, 6)
    np.testing.assert_array_equal(run.margin, (y * run.outputs).min(axis=1))
    assert run.kernel_distance.shape == (count,) and run.kernel_distance[0] == 0
    assert run.final_kernel_distance == run.kernel_distance[-1]
    assert run.drift == max(drift.max() for drift in run.drifts.values()) <= 1e-8
    assert run.converged and "15" in run.reason


@pytest.mark.parametrize("seed", range(2))
def test_instants_lie_where_the_loss_falls_also_if_most_steps_creep_at_the_end(seed):
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(6, 20)) * np.geomspace(1, 1e-2, 20)
    run = tacit.flow(
        tacit.Diagonal(depth=2, scale=1.0), inputs, inputs @ rng.normal(size=20), method="parameters"
    )
    assert run.steps > 2 * len(run.accuracy) and len(run.accuracy) == 200
    gained = np.log1p(run.accuracy - run.accuracy[0])
    # the spacing of half of the recorded times if they were evenly spread over the gain; twice that is
    # allowed
    assert np.diff(gained).max() < 2 * gained[-1] / 100


def test_kernel_distance_is_the_angle_to_the_first_tangent_kernel():
    run = tacit.flow(tacit.UntiedDiagonal(scale=0.05), X, Y, at=[3.0, 20.0])
    first = tacit.UntiedDiagonal(scale=0.05).tangent_kernel(X)
    for w, distance in zip(run.predictor, run.kernel_distance, strict=True):
        # u² + v² grows to √(w² + 4 scale²) each for u₊v₊ − u₋v₋ = w with u = v at the start
        metric = 2 * np.sqrt(w**2 + 4 * 0.05**2)
        now = (X * metric) @ X.T
        cosine = np.sum(now * first) / np.linalg.norm(now) / np.linalg.norm(first)
        assert distance == pytest.approx(1 - cosine, rel=1e-6)


@pytest.mark.every(3)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("linearized", [False, True])
def test_a_data_set_survives_netcdf(name, linearized, tmp_path):
    run = tacit.flow(MODELS[name], X, LABELS, loss="logistic", until=1e3, linearized=linearized)
    data = run.to_xarray()
    data.to_netcdf(tmp_path / "flow.nc", engine="scipy")
    with xr.open_dataset(tmp_path / "flow.nc", engine="scipy") as read:
        read.load()
    xr.testing.assert_identical(read, data)
    np.testing.assert_array_equal(read.predictor, run.predictor)
    np.testing.assert_array_equal(read.log_time, run.log_time)
    assert read.attrs["model"] == repr(run.model) and read.attrs["converged"] == 1


def test_matrix_predictors_survive_too(tmp_path):
    rng = np.random.default_rng(0)
    model = tacit.Factorization.gaussian((3, 4), 5, 0.3, seed=2)
    run = tacit.flow(model, rng.standard_normal((5, 3, 4)), rng.standard_normal(5))
    assert run.predictor.shape[1:] == (3, 4)
    run.to_xarray().to_netcdf(tmp_path / "flow.nc", engine="scipy")
    with xr.open_dataset(tmp_path / "flow.nc", engine="scipy") as read:
        np.testing.assert_array_equal(read.predictor, run.predictor)


@pytest.mark.every(6)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("loss", "clock"), [("square", "time"), ("exp", "accuracy")])
def test_every_trajectory_has_a_picture(name, loss, clock, tmp_path):
    """With the default clock of the loss, which other losses may also use."""
    run = tacit.flow(MODELS[name], X, Y if loss == "square" else LABELS, loss=loss, until=12)
    path = run.plot(tmp_path / "flow.png")
    assert path.read_bytes().startswith(b"\x89PNG")
    default, same, other = (
        [axes.get_xlabel() for axes in run.plot(**given).axes]
        for given in ({}, *({"clock": c} for c in sorted(CLOCKS, key=clock.__ne__)))
    )
    assert same == default != other


def test_a_picture_of_another_clock_is_refused(tmp_path):
    run = tacit.flow(MODELS["diagonal"], X, Y, until=2.0)
    with pytest.raises(tacit.InputError, match="clock must be"):
        run.plot(tmp_path / "flow.png", clock="sun")


def test_a_picture_of_times_beyond_all_floats(tmp_path):
    run = tacit.flow(tacit.Diagonal(scale=10.0), X, LABELS, loss="exp", until=1e7)
    assert run.time[-1] == np.inf and run.loss[-1] == 0 and np.isfinite(run.log_time[1:]).all()
    path = run.plot(tmp_path / "flow.pdf", names=[f"cost in $ of {i}" for i in range(20)])
    assert path.read_bytes().startswith(b"%PDF-")


@pytest.mark.every(3)
@pytest.mark.parametrize("name", MODELS)
def test_the_summary_says_where_it_ended(name):
    text = tacit.flow(MODELS[name], X, LABELS, loss="exp", until=2e3).summary()
    for word in (
        "6 samples × 20 features",
        "exponential loss",
        "2000",
        "10^-868",
        "margin",
        "conserved",
    ):
        assert word in text


def test_the_summary_says_where_rounding_stopped_it():
    stuck = tacit.flow(tacit.Diagonal(), X, Y, until=1e3)
    assert not stuck.converged and "NOT CONVERGED" in stuck.summary() and "round-off" in stuck.reason


def test_ctrl_c_raises_with_what_was_computed():
    """The signal arrives while the flow runs, as from a keyboard (background processes ignore it)."""
    model = tacit.Diagonal(depth=4, scale=1e-3)
    big, target = gaussian_problem(40, 400, seed=0)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt) as stopped:
            tacit.flow(model, big, target)
    finally:
        signal.signal(signal.SIGINT, before)
    run = stopped.value.trajectory
    assert not run.converged and run.reason == "interrupted"
    assert len(run.accuracy) >= 2 and np.isfinite(run.predictor).all()
    assert "interrupted" in run.summary()


def test_memory_does_not_grow_with_the_number_of_steps():
    """Ten times as many steps give a record of the same size."""
    data, sizes = gaussian_problem(2, 800, nonzero=1, seed=1), []
    for rtol in (1e-4, 1e-11):
        tracemalloc.start()
        run = tacit.flow(tacit.Diagonal(scale=1e-2), *data, rtol=rtol)
        sizes.append((run.steps, len(run.accuracy), tracemalloc.get_traced_memory()[1]))
        tracemalloc.stop()
    (few, _, small), (many, kept, large) = sizes
    assert many > 10 * few and kept <= 200
    assert large < 2 * small


def test_thousands_of_steps_without_any_gain_are_a_stall(monkeypatch):
    monkeypatch.setattr(driver, "LIMITS", driver.Limits(patience=3))
    # the first steps, on the plateau, do not increase the accuracy
    run = tacit.flow(tacit.Diagonal(scale=1e-9), X, Y)
    assert not run.converged and "no gain" in run.reason


def test_progress_is_shown_only_at_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr("tacit.show.progress._PATIENCE", 0.0)
    tacit.flow(tacit.Diagonal(), X, Y)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    tacit.flow(tacit.Diagonal(), X, Y)
    shown = capsys.readouterr()
    assert shown.out == "" and "gradient flow" in shown.err


def test_start_alone_when_nothing_is_left_to_do():
    run = tacit.flow(tacit.Diagonal(), X, np.zeros(6))
    assert run.converged and len(run.accuracy) == 1 and run.accuracy[0] == np.inf
    assert not run.predictor.any() and run.steps == 0


@pytest.mark.every(3)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("linearized", [False, True])
def test_trajectories_survive_pickling_and_copying(name, linearized):
    run = tacit.flow(MODELS[name], X, Y, linearized=linearized, until=5)
    for other in (pickle.loads(pickle.dumps(run)), copy.deepcopy(run)):
        assert repr(other) == repr(run) and len(repr(run)) < 300
        np.testing.assert_array_equal(other.log_time, run.log_time)
        np.testing.assert_array_equal(other.kernel_distance, run.kernel_distance)
        assert other.final_kernel_distance == run.final_kernel_distance
        assert json.dumps(other.to_dict(), allow_nan=False) == json.dumps(run.to_dict(), allow_nan=False)


@pytest.mark.every(2)
@pytest.mark.parametrize("matrices", [False, True])
def test_a_flow_is_drawn_with_its_limit_of_many_numbers(matrices, tmp_path):
    """Predictors with several outputs and matrices have one mark per entry."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((4, 6)), rng.standard_normal((4, 2))
    model = tacit.LinearNetwork.orthogonal(X, 10, outputs=2)
    if matrices:
        X, y = np.array([np.diag([1.0, -1.0, 0.5])]), np.array([1.0])
        model = tacit.Factorization.gaussian((3, 3), 6, 0.5)
    run = tacit.flow(model, X, y)
    assert np.abs(tacit.limit(model, X, y).predictor - run.predictor[-1]).max() < 1e-6
    assert run.plot(tmp_path / "run.svg").exists()
