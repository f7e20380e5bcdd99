"""Stability of the support (Condition 5), paths of untied models, and their distances to the ends."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from scipy.optimize import brentq, minimize

import tacit
from tacit.cli import main

STABLE = np.array([[0.9, 0.5, -0.2], [1.5, 0.8, 0.1], [1.2, 0.8, 0.2]])
LEAVES = np.array([[1.18, 1.37, -0.27], [0.83, 0.76, 0.7], [1.06, -0.49, 1.39]])
ALL = np.ones(3)


def directions(predictors):
    return predictors / np.linalg.norm(predictors, axis=-1, keepdims=True)


def separable(samples, features, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((samples, features))
    return X, np.sign(X @ rng.standard_normal(features))


def margins_over_accuracy(X, y, depth, log_lambda, mu):
    """y_n x_n·w/γ̃ on the flow itself, at accuracies α^D/μ."""
    model = tacit.Diagonal(depth=depth, log_scale=log_lambda / depth)
    flow = tacit.flow(model, X, y, loss="exp", at=np.exp(log_lambda) / np.asarray(mu))
    assert flow.converged
    return flow.margins[-len(mu) :] / flow.accuracy[-len(mu) :, None]


def test_a_stable_support_is_reported_stable():
    found = tacit.support_stability(STABLE, ALL)
    assert found.holds and not found.breaches and found.holds_at(1e-3)
    assert "stable" in found.summary() and "not" not in found.summary()


@pytest.mark.parametrize(("depth", "first"), [(2, 0.189146), (3, 0.3209)])
def test_the_sample_that_leaves_is_the_one_whose_margin_rises_on_the_flow(depth, first):
    found = tacit.support_stability(LEAVES, ALL, depth=depth)
    assert not found.holds
    breach = found.breaches[0]
    assert breach.sample == 0 and breach.returns == 0
    assert breach.leaves == pytest.approx(first, rel=1e-3)
    mu = breach.leaves * np.array([3.0, 1.2, 0.5, 0.2])
    ratio = margins_over_accuracy(LEAVES, ALL, depth, np.log(1e6), mu)[:, 0]
    assert (np.abs(ratio[:2] - 1) < 1e-4).all() and (ratio[2:] > 1.005).all()
    assert found.holds_at(1.01 * breach.leaves) and not found.holds_at(0.99 * breach.leaves)
    assert f"sample 0 leaves at μ = {breach.leaves:.4g}" in found.summary()


def test_a_sample_that_returns_closes_the_breach_and_the_flow_is_back_on_the_path():
    found = None
    for seed in range(40):  # data in which the first sample to leave enters again before another one leaves
        X, y = separable(30, 8, seed)
        found = tacit.support_stability(X, y, down_to=1e-4)
        events = found.sweeping.events
        returned = [b for b in found.breaches if b.returns > 0]
        others = [e.mu for e in events if not e.enters]
        if (
            returned
            and returned[0] == found.breaches[0]
            and len([m for m in others if m > returned[0].returns]) == 1
        ):
            break
    else:
        pytest.fail("no draw with a sample that leaves and returns")
    breach = found.breaches[0]
    below = [e.mu for e in events if e.mu < breach.returns * (1 - 1e-9)]
    back = np.sqrt(breach.returns * max(below, default=breach.returns / 4))
    away = np.sqrt(breach.returns * breach.leaves)
    mu = [away, back]
    path, sweep = (verb(X, y, mu) for verb in (tacit.margin_path, tacit.sweeping_path))
    gap = np.abs(directions(path.predictors) - directions(sweep.predictors)).max(axis=1)
    assert gap[0] > 1e-5 and gap[1] < 1e-9
    assert not found.holds_at(away) and found.holds_at(back)


def test_mu_below_what_was_looked_at_is_refused():
    with pytest.raises(tacit.InputError, match="down_to must be positive, got -1"):
        tacit.support_stability(STABLE, ALL, down_to=-1)
    found = tacit.support_stability(STABLE, ALL, down_to=1e-3)
    with pytest.raises(tacit.InputError, match="at least down_to"):
        found.holds_at(1e-4)
    assert set(found.to_dict()) == {"holds", "down_to", "converged", "breaches"}


@examples(20)
@given(st.floats(-0.99, 0.99), st.floats(1e-3, 1e3))
def test_equal_shapes_share_the_path_of_depth_two(shape, scale):
    mu = np.array([10.0, 0.3, 0.01])
    model = tacit.UntiedDiagonal(scale=scale, shape=shape)
    level = scale * (1 + shape**2) / (1 - shape**2)  # √k/4 of Azulay et al. 2021
    assert model.predictor_scale == pytest.approx(level, rel=1e-12)
    own = tacit.margin_path(LEAVES, ALL, mu / level, model=model)
    plain = tacit.margin_path(LEAVES, ALL, mu)
    np.testing.assert_allclose(own.predictors, plain.predictors, atol=1e-12)
    sweeps = tacit.sweeping_path(LEAVES, ALL, mu / level, model=model), tacit.sweeping_path(LEAVES, ALL, mu)
    np.testing.assert_allclose(sweeps[0].predictors, sweeps[1].predictors, atol=1e-10)


@pytest.mark.parametrize("mu", [3.0, 0.1, 0.004])
def test_a_general_optimizer_finds_nothing_better_for_unequal_shapes(mu):
    scale, shape = np.array([1.0, 3.0, 0.2]), np.array([0.1, 0.7, -0.5])
    model = tacit.UntiedDiagonal(scale=scale, shape=shape)
    path = tacit.margin_path(LEAVES, ALL, mu, model=model)
    root = 4 * mu * scale * (1 + shape**2) / (1 - shape**2)  # √k of each coordinate, all times μ

    def value(w):
        return float(np.sum(w * np.arcsinh(2 * w / root) / 2 - np.sqrt(root**2 + 4 * w**2) / 4 + root / 4))

    found = minimize(
        value,
        path.predictors[0] + 0.1,
        constraints={"type": "ineq", "fun": lambda w: LEAVES @ w - 1},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    )
    assert path.converged.all() and (LEAVES @ path.predictors[0]).min() > 1 - 1e-12
    assert value(path.predictors[0]) <= found.fun + 1e-9
    np.testing.assert_allclose(path.predictors[0], found.x, atol=1e-4)


def test_the_flow_of_an_untied_model_tends_to_its_own_path():
    scale, shape = np.array([1.0, 3.0, 0.2]), np.array([0.1, 0.7, -0.5])
    mu, gaps = np.array([1.0, 0.1]), []
    path = tacit.margin_path(STABLE, ALL, mu, model=tacit.UntiedDiagonal(scale=scale, shape=shape))
    for size in (1e3, 1e5, 1e7):
        flow = tacit.flow(tacit.UntiedDiagonal(size * scale, shape), STABLE, ALL, loss="exp", at=size / mu)
        gaps.append(np.abs(directions(flow.predictor[-2:]) - directions(path.predictors)).max())
    assert gaps[0] > 50 * gaps[1] > 2500 * gaps[2] and gaps[2] < 1e-6


@pytest.mark.parametrize("depth", [2, 3])
def test_deep_profiles_have_paths_of_their_own(depth):
    profile, mu = np.array([1.0, 2.0, 0.5]), np.array([1.0, 0.05])
    path = tacit.margin_path(STABLE, ALL, mu, model=tacit.Diagonal(depth=depth, profile=profile))
    alpha = 1e6 ** (1 / depth)
    model = tacit.Diagonal(depth=depth, scale=alpha, profile=profile)
    flow = tacit.flow(model, STABLE, ALL, loss="exp", at=1e6 / mu)
    assert path.converged.all() and path.depth == pytest.approx(depth)
    np.testing.assert_allclose(directions(flow.predictor[-2:]), directions(path.predictors), atol=1e-5)


@pytest.mark.parametrize("verb", [tacit.margin_path, tacit.sweeping_path])
def test_models_without_a_path_are_refused(verb):
    with pytest.raises(tacit.InputError, match="Diagonal or UntiedDiagonal"):
        verb(STABLE, ALL, 1.0, model=tacit.Neuron(1.0, np.ones(3)))
    biased = tacit.UntiedDiagonal.from_weights(np.ones(3), np.ones(3), np.ones(3), np.full(3, 0.5))
    with pytest.raises(tacit.InputError, match="must be 0 at initialization"):
        verb(STABLE, ALL, 1.0, model=biased)
    with pytest.raises(tacit.InputError, match="not both"):
        verb(STABLE, ALL, 1.0, depth=3, model=tacit.Diagonal(depth=4))


def test_nearness_to_the_ends_is_that_of_the_norms():
    mu = np.geomspace(1e2, 1e-8, 400)
    path = tacit.margin_path(STABLE, ALL, mu)
    kernel, rich = path.near(0.05)

    def excess(level, order, norm):
        w = tacit.margin_path(STABLE, ALL, level).predictors[0]
        return np.linalg.norm(w, order) / tacit.max_margin(STABLE, ALL, norm).value - 1.05

    assert kernel == pytest.approx(brentq(lambda m: excess(m, 2, "l2"), 1e-4, 1.0), rel=1e-3)
    assert rich == pytest.approx(brentq(lambda m: excess(m, 1, "l1"), 1e-5, 1.0), rel=1e-3)
    short = tacit.margin_path(STABLE, ALL, [10.0, 1.0])
    assert short.near() == (None, None)


def test_the_pull_of_samples_is_theirs_by_the_loss():
    flow = tacit.flow(tacit.Diagonal(scale=1.0), LEAVES, ALL, loss="exp", at=[1.0, 10.0])
    weights = np.exp(-flow.margins)
    np.testing.assert_allclose(flow.shares, weights / weights.sum(axis=1, keepdims=True), rtol=1e-12)
    assert (np.where(flow.support, flow.shares, 0).sum(axis=1) >= 0.99 - 1e-12).all()
    fewest = np.sort(flow.shares[-1])[::-1]
    assert flow.support[-1].sum() == np.searchsorted(np.cumsum(fewest), 0.99) + 1
    logistic = tacit.flow(tacit.Diagonal(scale=1.0), LEAVES, ALL, loss="logistic", at=[1.0, 3.0])
    pull = 1 / (1 + np.exp(logistic.margins))
    np.testing.assert_allclose(logistic.shares, pull / pull.sum(axis=1, keepdims=True), rtol=1e-12)
    square = tacit.flow(tacit.Diagonal(), LEAVES, ALL, until=5)
    with pytest.raises(tacit.InputError, match="exponential"):
        _ = square.shares


def test_the_command_tells_the_accuracies_of_an_untied_model(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "\n".join(",".join(map(str, row)) + ",1" for row in STABLE)
    (tmp_path / "data.csv").write_text(f"a,b,c,label\n{rows}\n")
    line = "path data.csv --target label --mu 10:1e-6:60 --model untied --scale 0.1 --shape 0.9"
    assert main(line.split()) == 0
    text = capsys.readouterr().out
    since = tacit.margin_path(STABLE, ALL, np.geomspace(10, 1e-6, 60)).near()[1]
    level = 0.1 * (1 + 0.81) / (1 - 0.81)
    assert f"accuracy = {level / since:.4g}" in text and "kernel end" in text
