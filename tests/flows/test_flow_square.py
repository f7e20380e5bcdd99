"""Flows of the square loss: limits, paths and times."""

from dataclasses import replace

import numpy as np
import pytest
from flow_oracles import power_network, product_network, raw_flow, square, tangent_network
from hypothesis import given
from hypothesis import strategies as st
from oracles import gaussian_problem
from properties import examples
from scipy.linalg import expm

import tacit
from tacit.flows import driver
from tacit.flows.form import Problem
from tacit.flows.forms.dual import DualSquare
from tacit.flows.termination import Rest, Rounded


def distance(found, exact):
    """The largest distance along a trajectory, relative to the largest predictor on it."""
    axes = tuple(range(1, np.ndim(exact)))
    return np.sqrt(((found - exact) ** 2).sum(axis=axes)).max() / np.sqrt((exact**2).sum(axis=axes)).max()


def accuracies(model_outputs, y, *beyond):
    return square(model_outputs, y)[0] + np.array(beyond)


@pytest.mark.every(5)
@pytest.mark.parametrize("depth", [2, 3, 4])
@pytest.mark.parametrize("scale", [1e-3, 0.1, 1.0, 100.0])
def test_flow_ends_at_the_limit(depth, scale):
    X, y = gaussian_problem(8, 20, nonzero=3, seed=1)
    model = tacit.Diagonal(depth=depth, scale=scale)
    found, limit = tacit.flow(model, X, y), tacit.limit(model, X, y).predictor
    assert found.converged
    assert np.linalg.norm(found.predictor[-1] - limit) < 1e-7 * np.linalg.norm(limit)
    assert np.linalg.norm(X @ found.predictor[-1] - y) < 1.01e-10 * np.linalg.norm(y)
    assert found.drift < 1e-8


@pytest.mark.every(8)
@pytest.mark.parametrize(
    "model",
    [tacit.Diagonal(4, 1e-2), tacit.Diagonal(10, 0.3), tacit.Diagonal(2, log_scale=-1e5)],
    ids=["depth 4", "depth 10", "vanishing"],
)
@pytest.mark.parametrize("seed", range(2))
def test_small_scales_and_large_depths_take_few_steps(model, seed):
    """Deep networks alternate between plateaus and jumps; between jumps the system is stiff."""
    X, y = gaussian_problem(20, 60, nonzero=3, seed=seed)
    found, limit = tacit.flow(model, X, y), tacit.limit(model, X, y).predictor
    assert found.converged and found.steps < 5000  # 500 or so; multistep methods take 50,000
    assert np.linalg.norm(found.predictor[-1] - limit) < 1e-8 * np.linalg.norm(limit)


@pytest.mark.every(5)
@pytest.mark.parametrize("scale", [1e-6, 1e-2, 1e3])
@pytest.mark.parametrize("shape", [-0.9, 0.0, 0.6, "mixed"])
def test_flow_of_untied_weights_ends_at_the_limit(scale, shape):
    X, y = gaussian_problem(8, 20, nonzero=3, seed=2)
    shape = np.random.default_rng(0).uniform(-0.9, 0.9, 20) if shape == "mixed" else shape
    model = tacit.UntiedDiagonal(scale=scale, shape=shape)
    found, limit = tacit.flow(model, X, y), tacit.limit(model, X, y).predictor
    assert found.converged
    assert np.linalg.norm(found.predictor[-1] - limit) < 1e-7 * np.linalg.norm(limit)
    assert found.drift < 1e-8


@pytest.mark.parametrize("size", [1e-3, 0.1, 1.0, 5.0])
def test_flow_of_biased_weights_ends_at_the_bregman_projection(size):
    X, y = gaussian_problem(8, 20, nonzero=3, seed=3)
    model = tacit.UntiedDiagonal.from_weights(*size * np.random.default_rng(1).standard_normal((4, 20)))
    found, limit = tacit.flow(model, X, y), tacit.limit(model, X, y).predictor
    np.testing.assert_allclose(found.predictor[0], model.predictor(), rtol=1e-12)
    assert found.converged and found.drift < 1e-8
    assert np.linalg.norm(found.predictor[-1] - limit) < 1e-7 * np.linalg.norm(limit)


@pytest.mark.every(6)
@pytest.mark.parametrize(
    ("network", "weights", "model"),
    [
        (power_network(2), [np.full(9, 1e-2)] * 2, tacit.Diagonal(scale=1e-2)),
        (power_network(2), [np.full(9, 3.0)] * 2, tacit.Diagonal(scale=3.0)),
        (power_network(3), [np.full(9, 0.2)] * 2, tacit.Diagonal(depth=3, scale=0.2)),
        (power_network(2.5), [np.full(9, 0.7)] * 2, tacit.Diagonal(depth=2.5, scale=0.7)),
        (
            power_network(4),
            [np.linspace(0.3, 0.6, 9)] * 2,
            tacit.Diagonal(depth=4, scale=0.3, profile=np.linspace(1, 2, 9)),
        ),
        (
            product_network(),
            np.random.default_rng(2).standard_normal((4, 9)),
            tacit.UntiedDiagonal.from_weights(*np.random.default_rng(2).standard_normal((4, 9))),
        ),
        (
            product_network(),
            [np.full(9, 0.1), np.full(9, 0.4)] * 2,
            tacit.UntiedDiagonal(scale=0.04, shape=0.6),
        ),
    ],
    ids=["tiny", "large", "deep", "real", "profile", "biased", "shaped"],
)
def test_flow_agrees_with_the_raw_weights_all_along(network, weights, model):
    X, y = gaussian_problem(5, 9, nonzero=2, seed=4)
    at = accuracies(network.outputs(weights, X), y, 0.01, 0.3, 2.0, 8.0, 20.0)
    raw = raw_flow(weights, network, X, y, square, at)
    for method in ("auto", "parameters"):
        found = tacit.flow(model, X, y, at=at, method=method)
        np.testing.assert_array_equal(found.accuracy, at)
        assert found.converged and distance(found.predictor, raw.predictor) < 1e-6
        np.testing.assert_allclose(found.log_time, raw.log_time, atol=1e-6)
        np.testing.assert_allclose(found.time, np.exp(raw.log_time), rtol=1e-6)
        assert found.drift < 1e-8


def test_the_two_methods_are_two():
    X, y = gaussian_problem(5, 9, nonzero=2, seed=4)
    auto, raw = (
        tacit.flow(tacit.Diagonal(), X, y, until=3.0, method=name) for name in ("auto", "parameters")
    )
    assert auto.method != raw.method


def test_what_is_recorded_belongs_together():
    X, y = gaussian_problem(5, 9, nonzero=2, seed=5)
    found = tacit.flow(tacit.Diagonal(scale=0.1), X, y)
    assert 150 <= len(found.time) <= 250
    assert found.time[0] == 0 and not found.predictor[0].any()
    assert (np.diff(found.time) > 0).all() and (np.diff(found.accuracy) > 0).all()
    outputs = found.predictor @ X.T
    np.testing.assert_allclose(found.outputs, outputs, rtol=1e-9, atol=1e-12)
    early = found.accuracy < 30  # later the residual is below the round-off of the predictor
    recomputed = -np.log(((outputs - y) ** 2).sum(axis=1) / 10)
    np.testing.assert_allclose(found.accuracy[early], recomputed[early], atol=1e-6)
    np.testing.assert_allclose(found.loss, np.exp(-found.accuracy), rtol=1e-12)
    np.testing.assert_allclose(found.log_time[1:], np.log(found.time[1:]), rtol=1e-12)
    assert found.kernel_distance[0] < 1e-12 and found.kernel_distance.shape == found.time.shape
    assert found.summary() and found.reason
    table = found.to_xarray()
    for name in ("time", "accuracy", "loss", "predictor", "margin"):
        np.testing.assert_array_equal(np.asarray(table[name]), getattr(found, name))


@pytest.mark.parametrize("linearized", [False, True])
def test_about_200_instants_are_recorded_on_short_ways_too(linearized):
    X, y = gaussian_problem(5, 9, nonzero=2, seed=5)
    until = accuracies(np.zeros(5), y, 1.0)[0]
    found = tacit.flow(tacit.Diagonal(scale=0.7), X, y, until=until, linearized=linearized)
    assert found.accuracy[-1] == until
    assert 150 <= len(found.time) <= 250


def test_the_kernel_distance_is_that_of_the_weights():
    X, y = gaussian_problem(4, 7, nonzero=2, seed=6)
    weights = [np.full(7, 0.3)] * 2
    at = accuracies(np.zeros(4), y, 0.5, 3.0, 15.0)
    for depth in (2, 3):
        raw = raw_flow(weights, power_network(depth), X, y, square, at)
        found = tacit.flow(tacit.Diagonal(depth=depth, scale=0.3), X, y, at=at)
        for (plus, minus), turned in zip(raw.weights, found.kernel_distance, strict=True):
            K = (X * (plus ** (2 * depth - 2) + minus ** (2 * depth - 2))) @ X.T
            cosine = np.sum(K * (X @ X.T)) / np.linalg.norm(K) / np.linalg.norm(X @ X.T)
            assert abs(turned - (1 - cosine)) < 1e-7


@pytest.mark.parametrize(
    ("name", "factor"),
    [("half-mean", 1.0), ("mean", 2.0), ("half-sum", 5.0), ("sum", 10.0)],
)
def test_normalization_changes_time_and_nothing_else(name, factor):
    """The loss is multiplied by the factor, and time divided by it; N = 5."""
    X, y = gaussian_problem(5, 9, nonzero=2, seed=7)
    model, at = tacit.Diagonal(scale=0.2), accuracies(np.zeros(5), y, 0.1, 1.0, 5.0, 20.0)
    plain = tacit.flow(model, X, y, at=at)
    loss = tacit.losses.Square(normalization=name)
    found = tacit.flow(model, X, y, loss=loss, at=at - np.log(factor))
    assert distance(found.predictor, plain.predictor) < 1e-6
    np.testing.assert_allclose(found.time * factor, plain.time, rtol=1e-6)
    np.testing.assert_allclose(found.loss, plain.loss * factor, rtol=1e-9)


@pytest.mark.parametrize(
    ("network", "weights", "model"),
    [
        (power_network(2), [np.full(6, 0.4)] * 2, tacit.Diagonal(scale=0.4)),
        (power_network(3), [np.full(6, 0.4)] * 2, tacit.Diagonal(depth=3, scale=0.4)),
        (
            product_network(),
            np.random.default_rng(3).standard_normal((4, 6)),
            tacit.UntiedDiagonal.from_weights(*np.random.default_rng(3).standard_normal((4, 6))),
        ),
    ],
    ids=["tied", "deep", "biased"],
)
def test_linearized_flow_is_a_matrix_exponential(network, weights, model):
    """y − f(t) = exp(−Kt/N)(y − f(0)) with the kernel at the start; the predictor is w₀ + M(w)Xᵀ∫r/N."""
    X, y = gaussian_problem(4, 6, nonzero=2, seed=8)
    found = tacit.flow(model, X, y, linearized=True, until=30.0)
    assert found.linearized and found.converged
    K, first = model.tangent_kernel(X), y - X @ network.predictor(weights)
    slopes = np.array(network.pull(weights, np.eye(6), np.ones(6)))
    metric = (slopes**2).sum(axis=0)
    for time, predictor in zip(found.time[::20], found.predictor[::20], strict=True):
        decay = expm(-K * time / 4)
        dual = np.linalg.solve(K, first - decay @ first)
        exact = network.predictor(weights) + metric * (X.T @ dual)
        np.testing.assert_allclose(predictor, exact, rtol=0, atol=1e-7 * max(1, np.abs(exact).max()))
    np.testing.assert_allclose(X @ found.predictor[-1], y, rtol=0, atol=1e-5)
    at = accuracies(network.outputs(weights, X), y, 0.1, 2.0, 10.0)
    raw = raw_flow(weights, tangent_network(network, weights), X, y, square, at)
    again = tacit.flow(model, X, y, linearized=True, at=at)
    assert distance(again.predictor, raw.predictor) < 1e-7
    np.testing.assert_allclose(again.log_time, raw.log_time, atol=1e-7)


def test_the_flow_is_the_linearized_one_at_a_huge_scale_only():
    X, y = gaussian_problem(5, 9, nonzero=2, seed=9)
    gaps = []
    for scale in (0.1, 1.0, 100.0):
        model = tacit.Diagonal(scale=scale)
        curved, straight = (tacit.flow(model, X, y, linearized=flag).predictor[-1] for flag in (False, True))
        gaps.append(np.linalg.norm(curved - straight) / np.linalg.norm(curved))
    assert gaps[0] > 0.1 and gaps[2] < 1e-6


@pytest.mark.every(2)
@pytest.mark.parametrize("log_scale", [-20.0, -300.0, -1000.0])
def test_tiny_scales_wait_long_and_then_arrive(log_scale):
    X, y = gaussian_problem(6, 12, nonzero=2, seed=10)
    model = tacit.Diagonal(log_scale=log_scale)
    found, limit = tacit.flow(model, X, y), tacit.limit(model, X, y).predictor
    assert found.converged
    assert np.linalg.norm(found.predictor[-1] - limit) < 1e-6 * np.linalg.norm(limit)


@examples(8)
@given(st.integers(0, 10**6), st.sampled_from([2, 3]), st.floats(-4, 4))
def test_order_does_not_matter_and_units_scale(seed, depth, log_unit):
    """(X, λ) → (cX, λ/c) takes w to w/c and t to t·c^{−2/D}."""
    rng, unit = np.random.default_rng(seed), np.exp(log_unit)
    X, y = rng.standard_normal((4, 6)), rng.standard_normal(4)
    rows, columns = rng.permutation(4), rng.permutation(6)
    at = accuracies(np.zeros(4), y, 0.5, 3.0, 12.0)
    plain = tacit.flow(tacit.Diagonal(depth=depth, scale=0.5), X, y, at=at)
    model = tacit.Diagonal(depth=depth, scale=0.5 * unit ** (-1 / depth))
    other = tacit.flow(model, unit * X[np.ix_(rows, columns)], y[rows], at=at)
    assert distance(unit * other.predictor, plain.predictor[:, columns]) < 1e-6
    np.testing.assert_allclose(other.log_time, plain.log_time - 2 / depth * log_unit, atol=1e-6)


@examples(8)
@given(st.integers(0, 10**6), st.floats(-3, 3))
def test_the_flow_of_a_multiple_is_a_multiple(seed, log_unit):
    """(y, α) → (cy, √c α) at depth 2: w, the loss and time go to cw, c²L and t/c."""
    rng, unit = np.random.default_rng(seed), np.exp(log_unit)
    X, y = rng.standard_normal((4, 6)), rng.standard_normal(4)
    at = accuracies(np.zeros(4), y, 0.5, 3.0, 12.0)
    plain = tacit.flow(tacit.Diagonal(scale=0.5), X, y, at=at)
    other = tacit.flow(tacit.Diagonal(scale=0.5 * np.sqrt(unit)), X, unit * y, at=at - 2 * log_unit)
    assert distance(other.predictor / unit, plain.predictor) < 1e-6
    np.testing.assert_allclose(other.log_time, plain.log_time - log_unit, atol=1e-6)


def test_an_accuracy_beyond_all_floats_is_not_reached():
    X, y = gaussian_problem(5, 9, nonzero=2, seed=12)
    found = tacit.flow(tacit.Diagonal(scale=0.5), X, y, until=500.0)
    assert not found.converged and found.reason
    limit = tacit.limit(tacit.Diagonal(scale=0.5), X, y).predictor
    assert np.linalg.norm(found.predictor[-1] - limit) < 1e-7 * np.linalg.norm(limit)


def test_a_start_that_already_fits_has_nowhere_to_go():
    X = np.array([[1.0, 2.0, 0.5]])
    model = tacit.UntiedDiagonal.from_weights([1.0, 1, 1], [2.0, 1, 1], [0.0, 0, 0], [1.0, 1, 1])
    found = tacit.flow(model, X, X @ model.predictor())
    assert found.converged
    np.testing.assert_allclose(found.predictor[-1], model.predictor(), rtol=1e-12)


def test_zero_targets_are_fitted_from_a_biased_start():
    X, _ = gaussian_problem(4, 7, nonzero=2, seed=13)
    weights = 0.5 * np.random.default_rng(4).standard_normal((4, 7))
    model = tacit.UntiedDiagonal.from_weights(*weights)
    at = accuracies(X @ product_network().predictor(weights), np.zeros(4), 0.5, 4.0, 12.0)
    raw = raw_flow(weights, product_network(), X, np.zeros(4), square, at)
    found = tacit.flow(model, X, np.zeros(4), at=at)
    assert distance(found.predictor, raw.predictor) < 1e-6


def test_descent_approaches_the_flow_at_first_order():
    X, y = gaussian_problem(4, 6, nonzero=2, seed=14)
    model, at, errors = tacit.Diagonal(scale=0.6), accuracies(np.zeros(4), y, 0.5, 3.0), []
    for step in (8e-3, 4e-3, 2e-3):
        steps = tacit.flow(model, X, y, at=at, method="descent", step=step)
        assert steps.converged and (steps.accuracy >= at).all()
        flow = tacit.flow(model, X, y, at=steps.accuracy, rtol=1e-10)
        errors.append(np.abs(steps.predictor - flow.predictor).max())
    ratios = np.array(errors[:-1]) / errors[1:]
    assert min(ratios) > 1.8 and max(ratios) < 2.2


def test_descent_takes_the_steps_it_says():
    X, y = gaussian_problem(4, 6, nonzero=2, seed=14)
    network, weights, count = power_network(2), [np.full(6, 0.6)] * 2, 0
    goal = accuracies(np.zeros(4), y, 3.0)
    while square(network.outputs(weights, X), y)[0] < goal:
        pulled = network.pull(weights, X, square(network.outputs(weights, X), y)[1])
        weights, count = [w + 0.01 * g for w, g in zip(weights, pulled, strict=True)], count + 1
    found = tacit.flow(tacit.Diagonal(scale=0.6), X, y, at=goal, method="descent", step=0.01)
    np.testing.assert_allclose(found.predictor[0], network.predictor(weights), rtol=1e-10)
    np.testing.assert_allclose(found.time, [0.01 * count], rtol=1e-12)


def test_steps_that_are_too_long_do_not_converge():
    X, y = gaussian_problem(4, 6, nonzero=2, seed=15)
    found = tacit.flow(tacit.Diagonal(scale=0.6), X, y, method="descent", step=50.0)
    assert not found.converged and found.reason


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"X": [[1.0, np.inf], [2, 1]]}, "X"),
        ({"y": [1.0, np.nan]}, "y"),
        ({"y": [1.0, 2.0, 3.0]}, "y"),
        ({"y": [[1.0, 2.0], [3.0, 4.0]]}, "y"),
        ({"X": np.ones((2, 2, 2))}, "X"),
        ({"at": [5.0, 4.0]}, "at"),
        ({"at": [-50.0, 4.0]}, "at"),
        ({"until": -50.0}, "until"),
        ({"loss": tacit.losses.Square}, "loss"),
        ({"model": tacit.Diagonal(profile=[1, 1, 1])}, "profile"),
        ({"model": tacit.UntiedDiagonal(scale=[1, 1, 1])}, "coordinates|features"),
    ],
    ids=str,
)
def test_bad_arguments_are_refused_by_name(arguments, words):
    given = {"model": tacit.Diagonal(), "X": [[1.0, 2.0], [2.0, 1.0]], "y": [1.0, -1.0], **arguments}
    with pytest.raises(tacit.InputError, match=words):
        tacit.flow(given.pop("model"), given.pop("X"), given.pop("y"), **given)


def test_an_unknown_normalization_is_refused():
    with pytest.raises(tacit.InputError, match="normalization"):
        tacit.losses.Square(normalization="median")


def test_slopes_that_would_leave_their_domain_shorten_the_step(monkeypatch):
    """Ten layers and a predictor scale of 1e-30: a coordinate jumps, and step size underflow is reported."""
    monkeypatch.setattr(driver, "LIMITS", driver.Limits(patience=300))
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6, 15)) * 10 ** rng.uniform(-0.5, 0.5, 15)
    run = tacit.flow(tacit.Diagonal(depth=10, scale=1e-3), X, X[:, :3] @ rng.standard_normal(3))
    assert not run.converged and np.isfinite(run.predictor).all() and run.accuracy[-1] >= run.accuracy[0]


@pytest.mark.every(3)
@pytest.mark.parametrize("scale", [1e2, 1e3, 1e5])
@pytest.mark.parametrize("depth", [2, 3, 5])
def test_huge_starts_follow_their_tangent_kernel_all_the_way(depth, scale):
    """w(t) = Xᵀ(XXᵀ)⁻¹(1 − e^{−XXᵀt})y at equal loss, along the whole flow and not only at the end.

    The kernel is constant to 1e-10 if predictors are 1e-7 of scale^depth. The round-off of slopes near 0
    is relative to their size, not to that of their domain; otherwise errors of steps would count as
    round-off.
    """
    X, y = gaussian_problem(6, 15, nonzero=3, seed=1)
    y = y * 1e-3
    values, turn = np.linalg.eigh(X @ X.T)
    seen = turn.T @ y
    instants = np.array([0.02, 0.2, 1.0]) / values.mean()
    left = np.exp(-values * instants[:, None]) * seen
    accuracy = -np.log((left**2).sum(axis=1) / (2 * len(y)))
    found = tacit.flow(tacit.Diagonal(depth, scale), X, y, at=accuracy, rtol=1e-9)
    exact = (seen - left) / values @ turn.T @ X
    for w, kernel in zip(found.predictor[-3:], exact, strict=True):
        assert np.linalg.norm(w - kernel) < 1e-9 * np.linalg.norm(kernel)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_flows_rest_where_the_residual_may_be_its_own_rounding(side):
    """The round-off is that of |X||w| and |y|; a slightly larger residual is not round-off."""
    problem = Problem(tacit.Diagonal(), np.eye(1), np.array([side]), tacit.losses.Square("sum"), 1e-8)
    flow = DualSquare(problem, problem.model.mirror_form(1))
    begun = flow.begin()

    def near(off):
        slope = np.arcsinh(side * (1 + off) / 2)  # w = 2 sinh(∇Q), at scale 1
        return replace(begun, nu=np.array([slope]) / flow.reach.item())

    with pytest.raises(Rounded):
        flow._check_stall(near(2e-16), 1.0)
    flow._check_stall(near(1e-14), 1.0)
    with pytest.raises(Rest):
        flow._check_stall(near(1e-14), 1e7)
