"""Statements about vanishing scales, decay, margins and risk: they hold, and detect faults."""

import numpy as np
import pytest

import tacit
from tacit.theorems import check

X, Y = [[1, 0.5, 0.7, 0], [0.5, 1, 0.1, 0.7]], [1.0, 0.0]
TIED = [[1, 1, 1, 1, 0.4, 0.08], [2, 0.4, -0.5, -2, 0.12, -0.4], [-2.6, -0.6, -0.2, -0.2, 0.2, 0.32]]
TIED_Y = [1.5, 0.42, -1.86]
KEYS = ["practice/saddle-path", "practice/early-stopping", "practice/scale-zero"]


def gaussian(seed, samples=10, features=30):
    rng = np.random.default_rng(seed)
    inputs = rng.standard_normal((samples, features))
    return inputs, inputs[:, :2] @ [1.0, -2.0] + 0.3 * rng.standard_normal(samples)


CASES = [(2, None), (3, None), (4, None), (3, "profile"), (2, "profile")]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(("depth", "profile"), CASES)
def test_they_hold(key, depth, profile):
    for number, (inputs, y) in enumerate([gaussian(0), gaussian(1), (np.array(TIED), TIED_Y)]):
        if profile is not None and number == 2 and depth > 2:
            continue  # a profile removes ties except for round-off, where no scale can distinguish them
        sizes = None if profile is None else np.linspace(0.5, 2, inputs.shape[1])
        verdict = check(key, tacit.Diagonal(depth, 0.1, sizes), X=inputs, y=y)
        assert verdict.verdict == "holds", verdict.summary()


def planted(path, fault):
    """A saddle path with a fault."""
    from dataclasses import replace

    if fault == "end":
        predictors = path.predictors.copy()
        predictors[-1] = np.linalg.pinv(path.X) @ path.y
        return replace(path, predictors=predictors)
    if fault == "time":
        return replace(path, times=1.5 * path.times)
    return replace(path, slopes=1.01 * path.slopes)


@pytest.mark.parametrize(("fault", "key"), [("end", KEYS[0]), ("slopes", KEYS[0]), ("time", KEYS[1])])
def test_a_wrong_path_is_noticed(fault, key, monkeypatch):
    right = tacit.saddle_path
    monkeypatch.setattr(
        tacit, "saddle_path", lambda *given, **options: planted(right(*given, **options), fault)
    )
    assert check(key, tacit.Diagonal(2, 0.1), X=X, y=Y).verdict == "violated"


def test_a_wrong_choice_between_minimizers_is_noticed(monkeypatch):
    from tacit.solvers.families import scale_zero
    from tacit.solvers.interpolation.face_selection import select

    monkeypatch.setattr(
        scale_zero, "select", lambda A, y, depth, prior: select(A, y, 3.0 if depth == 2 else 2.0, prior)
    )
    assert check(KEYS[2], tacit.Diagonal(2, 0.1), X=TIED, y=TIED_Y).verdict == "violated"


def test_depth_and_scale_are_found_again():
    for depth, scale in ((2, 0.1), (3, 0.4)):
        assert (
            check(
                "practice/inverse", tacit.Diagonal(depth, scale), X=gaussian(2)[0], y=gaussian(2)[1]
            ).verdict
            == "holds"
        )
    verdict = check(
        "practice/inverse", tacit.Diagonal(2, 0.1, np.ones(30)), X=gaussian(2)[0], y=gaussian(2)[1]
    )
    assert verdict.verdict == "does not apply"


@pytest.mark.parametrize(("depth", "scale"), [(2, 1.0), (3, 1.5)])
def test_slow_decay_is_a_clock(depth, scale, monkeypatch):
    model, (inputs, y) = tacit.Diagonal(depth, scale), gaussian(3, 6, 20)
    assert check("practice/slow-decay", model, X=inputs, y=y).verdict == "holds"
    monkeypatch.setattr("tacit.papers.practice.slow_decay._simulated", twice_the_decay(monkeypatch))
    assert check("practice/slow-decay", model, X=inputs, y=y).verdict == "violated"


def twice_the_decay(monkeypatch):
    """The simulation with a decay that acts on the predictor's scale as if the network had one layer."""
    from tacit.papers.practice import slow_decay

    right = slow_decay._simulated

    def wrong(model, X, y, decay, rtol):
        monkeypatch.setattr(slow_decay, "_CLOCK", 0.6)
        found = right(model, X, y, decay, rtol)
        monkeypatch.setattr(slow_decay, "_CLOCK", 0.5)
        return found

    return wrong


def test_sign_descent_obeys_its_bound():
    rng = np.random.default_rng(0)
    inputs, y = rng.standard_normal((10, 30)), np.repeat([1.0, -1.0], 5)
    (verdict,) = tacit.check(tacit.Diagonal(), inputs, y, only="practice/sign-descent")
    assert verdict.verdict == "holds", verdict.summary()
    assert verdict.bounds[1].measured < 0.05


def test_state_evolution_on_average():
    signal = np.repeat([1.0, 0.0], [3, 57])
    given = {"signal": signal, "noise": 0.3, "sample_size": 20, "draws": 10}
    assert check("practice/state-evolution", tacit.Diagonal(2, 0.3), **given).verdict == "holds"


def test_they_apply_to_diagonal_networks_that_fit_the_data():
    for key in (*KEYS, "practice/slow-decay", "practice/inverse"):
        assert check(key, tacit.UntiedDiagonal(0.1), X=X, y=Y).verdict == "does not apply"
        assert check(key, tacit.Diagonal(2, 1.0), X=X, y=[0.0, 0.0]).verdict == "does not apply"
