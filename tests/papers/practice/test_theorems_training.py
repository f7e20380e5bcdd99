"""Statements about training with steps: they hold, and detect a wrong theory."""

import numpy as np
import pytest

import tacit
from tacit.theorems import check

KEYS = ("effective-start", "second-order", "area-law", "area-bound", "decay-off", "lasso", "fine-tuning")


def problem(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((3, 7))
    return X, X[:, :2] @ [1.0, -0.5]


@pytest.mark.every(3)
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("depth", "scale"), [(2, 0.1), (2, 1.0), (3, 0.3), (4, 0.5)])
def test_they_hold(key, depth, scale, seed):
    X, y = problem(seed)
    verdict = check(f"practice/{key}", tacit.Diagonal(depth, scale), X=X, y=y)
    applies = depth == 2 or key not in ("area-bound", "lasso")
    assert verdict.verdict == ("holds" if applies else "does not apply"), verdict.summary()


@pytest.mark.parametrize("momentum", [0.5, 0.9])
def test_with_momentum(momentum):
    X, y = problem(0)
    for key in ("effective-start", "second-order")[: 2 if momentum == 0.5 else 1]:
        verdict = check(f"practice/{key}", tacit.Diagonal(2, 0.1), X=X, y=y, momentum=momentum)
        assert verdict.verdict == "holds", verdict.summary()


def test_the_common_constant_of_momentum_is_noticed(monkeypatch):
    """γ/(1 − β)² instead of γ(1 + β)/(2(1 − β)²)."""
    X, y = problem(0)
    wrong = property(lambda self: self.step / (1 - self.momentum) ** 2)
    monkeypatch.setattr(tacit.Training, "delay", wrong)
    verdict = check("practice/second-order", tacit.Diagonal(2, 0.1), X=X, y=y, momentum=0.5)
    assert verdict.verdict == "violated"


def test_a_wrong_sum_along_the_run_is_noticed(monkeypatch):
    from tacit.training.descent import Descent

    def without_the_sum(self):
        self.state.total[:], self.state.lost[:] = 0.9 * self.state.total, 0.0
        plus, minus = np.abs(self.state.W)
        return self.pair.model(plus * np.exp(self.state.total * 1.1), minus * np.exp(-self.state.total))

    monkeypatch.setattr(Descent, "effective", without_the_sum)
    X, y = problem(0)
    verdict = check("practice/effective-start", tacit.Diagonal(2, 0.1), X=X, y=y)
    assert verdict.verdict == "violated"


def test_a_wrong_clock_is_noticed_by_the_area_law(monkeypatch):
    from dataclasses import replace

    right = tacit.Diagonal.mirror_form
    monkeypatch.setattr(
        tacit.Diagonal,
        "mirror_form",
        lambda self, d: replace(right(self, d), log_speed=right(self, d).log_speed + 0.01),
    )
    X, y = problem(0)
    assert check("practice/area-law", tacit.Diagonal(2, 0.1), X=X, y=y).verdict == "violated"


@pytest.mark.parametrize("depth", [2, 3])
def test_the_simulated_weights_descend_the_loss_with_decay(depth, monkeypatch):
    """The velocity is −∇(L + λ/2·‖W‖²), by central differences; the end does not depend on ∇L."""
    from tacit.papers.practice import decay_and_tasks

    velocities = []

    def noted(velocity, *settings):
        velocities.append(velocity)
        raise tacit.NotConvergedError("not needed")

    monkeypatch.setattr(decay_and_tasks, "simulated", noted)
    X, y = problem(0)
    check("practice/decay-off", tacit.Diagonal(depth, 0.5), X=X, y=y, time=2.0)
    decay = decay_and_tasks._DECAYED / 2.0

    def loss(weights):
        plus, minus = weights.reshape(2, -1)
        return np.mean((X @ (plus**depth - minus**depth) - y) ** 2) / 2 + decay / 2 * weights @ weights

    weights = np.random.default_rng(1).uniform(0.2, 1.5, 14)
    downhill = [(loss(weights - each) - loss(weights + each)) / 2e-5 for each in 1e-5 * np.eye(14)]
    np.testing.assert_allclose(velocities[0](0.3, weights), downhill, rtol=1e-7, atol=1e-8)
