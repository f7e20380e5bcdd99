"""Monitors of training loops."""

import json
import pickle

import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

import tacit
from tacit.results import monitor as module

RNG = np.random.default_rng(0)
X = RNG.standard_normal((50, 4))
START = {"W1": RNG.standard_normal((4, 6)), "W2": RNG.standard_normal((6, 2))}


def net(p, X):
    return jnp.tanh(X @ p["W1"]) @ p["W2"]


def at(t):
    """Weights on a straight line."""
    return {"W1": START["W1"] * (1 + t), "W2": START["W2"] - t}


def watched(steps=40, **options):
    with tacit.Monitor(tacit.Network(net, START), X, share=None, **options) as found:
        for step in range(steps):
            found.record(step, at(step / 100), loss=1 / (1 + step))
    return found


def test_records_are_the_measures_of_networks():
    found = watched()
    start, now = tacit.Network(net, START), tacit.Network(net, at(found.steps[-1] / 100))
    seen = found.watched.X
    assert (found.steps[0], found.steps[-1], len(seen)) == (0, 39, 32)
    assert found.kernel_distance[0] < 1e-15 and found.loss[-1] == 1 / 40
    assert found.kernel_distance[-1] == pytest.approx(start.kernel_distance(now, seen), rel=1e-9)
    assert found.kernel_angle[-1] == pytest.approx(start.kernel_angle(now, seen), rel=1e-9)
    assert found.output_norm[-1] == pytest.approx(np.sqrt(np.mean(now.outputs(seen) ** 2)), rel=1e-12)
    for name, value in start.movement(now).items():
        assert found.movement[name][-1] == pytest.approx(value, rel=1e-9)
    for name, value in now.balance().items():
        assert found.balance[name][-1] == pytest.approx(value, rel=1e-12)


def test_steps_are_logarithmic_and_most_are_passed_over_at_once():
    found, looks = tacit.Monitor(tacit.Network(net, START), X, share=None), 0
    for step in range(10_000):
        looks += found.record(step, START)
    assert looks == len(found) < 40
    gaps = np.diff(np.log10(found.steps[-16:]))
    np.testing.assert_allclose(gaps, 1 / 8, atol=0.01)


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(module, "_MOST", 10)
    found = watched(3000)
    assert len(found) <= 11
    assert (found.steps[0], found.steps[-1]) == (0, 2999)
    assert np.all(np.diff(found.steps) > 0)


def test_records_wait_for_training(monkeypatch):
    """On this clock, each record takes a second, and each training step a tenth of a second."""
    clock = iter(np.arange(0, 1e5, 1.0))
    monkeypatch.setattr(module.time, "perf_counter", lambda: next(clock))
    found = tacit.Monitor(tacit.Network(net, START), X, share=0.1)
    taken = [found.record(step, START) for step in range(200)]
    assert taken.count(True) <= 0.12 * 200


def test_a_slow_set_up_does_not_blind_it_to_short_trainings(monkeypatch):
    """On this clock, the set-up takes 100 seconds, and each record or training step 0.01 seconds."""
    ticks = iter([0.0, 100.0, *(100 + 0.01 * np.arange(1, 10_000))])
    monkeypatch.setattr(module.time, "perf_counter", lambda: next(ticks))
    found = tacit.Monitor(tacit.Network(net, START), X, share=0.1)
    for step in range(100):
        found.record(step, START)
    assert len(found) >= 10


def test_what_was_recorded_stays_when_training_fails():
    found = tacit.Monitor(tacit.Network(net, START), X)

    def train():
        with found:
            found.record(0, START)
            found.record(1, at(1))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        train()
    assert found.steps == [0, 1]


def test_weights_that_are_not_finite_are_recorded_as_such():
    found = tacit.Monitor(tacit.Network(net, START), X)
    found.record(0, START)
    found.record(1, {**START, "W1": np.full((4, 6), np.inf)})
    assert np.isnan(found.kernel_distance[1]) and np.isnan(found.movement["W1"][1])
    assert json.dumps(found.to_dict(), allow_nan=False)


def test_it_can_be_read_saved_drawn_and_pickled(tmp_path):
    found = watched()
    assert "32 of the inputs" in found.summary() and " 39 " in found.summary()
    found.to_xarray().to_netcdf(tmp_path / "m.nc", engine="scipy")
    with xr.open_dataset(tmp_path / "m.nc", engine="scipy") as data:
        np.testing.assert_array_equal(data.step, found.steps)
        np.testing.assert_array_equal(data.movement.sel(layer="W2"), found.movement["W2"])
    assert found.plot(tmp_path / "m.png").stat().st_size > 10_000
    assert pickle.loads(pickle.dumps(found)).to_dict() == found.to_dict()


def test_callbacks_record_steps():
    found = tacit.Monitor(tacit.Network(net, START), X)
    assert found.callback(0, START) and found.callback(1, at(1), loss=0.5)
    assert found.loss[1] == 0.5
    assert found.callback.on_fit_start(None, None) is None
    assert found.callback.state_key
    with pytest.raises(AttributeError):
        found.callback.nothing  # noqa: B018


def test_what_cannot_be_watched_is_refused():
    found = tacit.Monitor(tacit.Network(net, START), X)
    with pytest.raises(tacit.InputError, match=r"record\(step, params\)"):
        found.record(0)
    found.record(5, START)
    assert not found.record(5, START)
    with pytest.raises(tacit.InputError, match="steps must increase"):
        found.record(4, START)
    for step in (-1, np.nan, np.inf):
        with pytest.raises(tacit.InputError, match="0 or more"):
            found.record(step, START)
    with pytest.raises(tacit.InputError, match="shapes of params differ"):
        found.record(9, {"W1": np.ones((2, 2)), "W2": np.ones((2, 2))})
    with pytest.raises(tacit.InputError, match=r"must be a tacit\.Network"):
        tacit.Monitor(net, X)
    with pytest.raises(tacit.InputError, match="nothing was recorded"):
        tacit.Monitor(tacit.Network(net, START), X).plot()
