"""Free intercepts with degenerate data: constant features and targets, dependent samples, too few samples."""

import numpy as np
import pytest
from intercept_oracles import between, by_differences, pairs, raw, raw_flow, shifted_problem, units
from test_intercept import EVERY, MODELS, D, near, predictions
from test_intercept_margins import SMALL, check, free

import tacit
from tacit.potentials import L1, Hypentropy, Power, Quadratic

ends = pytest.mark.parametrize("name", EVERY)
unbiased = pytest.mark.parametrize("name", [name for name in EVERY if name not in ("biased", "neuron")])
KINDS = {  # samples as means of four others, weights of which add up to 1
    "given twice": np.eye(4)[[0, 1, 2, 3, 3]],
    "at the mean": np.vstack([np.eye(4), np.full(4, 1 / 4)]),
    "half way": np.vstack([np.eye(4), [0.5, 0.5, 0, 0]]),
    "a third of the way": np.vstack([np.eye(4), [1 / 3, 0, 2 / 3, 0]]),
    "beyond": np.vstack([np.eye(4), [2, -1, 0, 0], [-3, 2, 1, 1]]),
}


def on_a_grid(seed, **sizes):
    """Numbers of few digits: sums and halves of them are exact."""
    return tuple(np.round(64 * array) / 64 for array in shifted_problem(seed, **sizes))


@pytest.mark.every(5)
@pytest.mark.parametrize("constant", [0.0, 0.1, -1e3 / 3, 1e6 + 0.1])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("samples", [3, 5, 6])
def test_a_constant_feature_changes_nothing(samples, standardize, constant):
    """The mean of equal numbers may be rounded: the remaining deviations must not count as a feature."""
    X, y = shifted_problem(9, samples=samples)
    wider = np.insert(X, 2, constant, axis=1)
    for model in (tacit.Diagonal(2, 0.3), tacit.Diagonal(3, 0.1), tacit.UntiedDiagonal(0.3, 0.5), L1()):
        plain, found = (tacit.limit(model, A, y, intercept=True, standardize=standardize) for A in (X, wider))
        assert found.converged and abs(found.predictor[2] * max(1.0, abs(constant))) <= 1e-12
        near(np.delete(found.predictor, 2), plain.predictor)
        near(predictions(found, wider), y)


@pytest.mark.parametrize("constant", [0.0, 0.1, -1e3 / 3, 1e6 + 0.1])
@pytest.mark.parametrize("samples", [3, 6])
def test_constant_features_keep_their_unit(samples, constant):
    X, y = shifted_problem(10, samples=samples)
    X = np.insert(X[:, :-1], 2, constant, axis=1)
    assert units(X)[2] == 1.0
    found, plain = (
        tacit.limit(MODELS["deep"], X, y, standardize=True),
        tacit.limit(MODELS["deep"], X / units(X), y),
    )
    near(found.predictor * units(X), plain.predictor)


@unbiased
def test_targets_that_are_all_the_same_need_no_weights(name):
    X, _ = shifted_problem(12)
    found = tacit.limit(EVERY[name], X, np.full(len(X), 0.1), intercept=True)
    assert found.converged and np.abs(found.predictor).max() <= 1e-15
    assert found.intercept == pytest.approx(0.1, rel=1e-14)


@ends
def test_one_sample_moves_the_intercept_alone(name):
    """The weights need not move: x·w + b = y already holds for some b."""
    X, y = shifted_problem(13, samples=1)
    start = MODELS[name].predictor() if name in ("biased", "neuron") else np.zeros(D)
    found = tacit.limit(EVERY[name], X, y, intercept=True)
    np.testing.assert_allclose(found.predictor, start, atol=1e-15)
    assert found.intercept == pytest.approx(y[0] - X[0] @ start, rel=1e-12)


def test_an_intercept_fits_one_sample_more_than_there_are_features():
    X, y = np.array([[1.0], [2.0]]), np.array([3.0, 5.0])
    with pytest.raises(tacit.InconsistentDataError):
        tacit.limit(tacit.Diagonal(), X, y)
    found = tacit.limit(tacit.Diagonal(), X.tolist(), y.tolist(), intercept=True)
    np.testing.assert_allclose([*found.predictor, found.intercept], [2, 1], rtol=1e-12)
    with pytest.raises(tacit.InconsistentDataError):
        tacit.limit(tacit.Diagonal(), [[1.0], [2.0], [3.0]], [3.0, 5.0, 8.0], intercept=True)


def test_least_squares_of_several_solutions():
    """Repeated samples with different targets give the same result as their means."""
    X, y = shifted_problem(15, samples=6)
    X = np.repeat(X[:3], 2, axis=0)
    for model in (MODELS["diagonal"], MODELS["deep"], MODELS["biased"], L1()):
        expected = by_differences(model, X[::2], (y[::2] + y[1::2]) / 2)
        found = tacit.limit(model, X, y, intercept=True, least_squares=True)
        near(found.predictor, expected.predictor)
        assert found.intercept == pytest.approx(expected.intercept, rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["rich", "deep", "biased", "neuron", "l1", "metric", "power"])
def test_samples_between_others_say_nothing_new(name, kind):
    """A centred sample at the mean is round-off, and must not count as an equation."""
    X, y = on_a_grid(19)
    plain = tacit.limit(EVERY[name], X, y, intercept=True)
    found = tacit.limit(EVERY[name], KINDS[kind] @ X, KINDS[kind] @ y, intercept=True)
    near(found.predictor, plain.predictor)
    assert found.intercept == pytest.approx(plain.intercept, rel=1e-9)
    assert found.converged and found.rank == 3


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("shift", [0.0, 1000.0])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(2))
def test_samples_between_others_however_they_are_rounded(seed, kind, shift, standardize):
    """Round-off is relative to the original numbers, including their means."""
    X, y = shifted_problem(seed)
    A = KINDS[kind] @ (X + shift)
    unit = units(A) if standardize else np.ones(D)
    expected = by_differences(MODELS["diagonal"], X + shift, y, unit)
    found = tacit.limit(MODELS["diagonal"], A, KINDS[kind] @ y, intercept=True, standardize=standardize)
    near(found.predictor * unit, expected.predictor * unit)
    assert found.converged and found.rank == 3


@pytest.mark.every(2)
@pytest.mark.parametrize("kind", KINDS)
def test_flows_count_samples_between_others(kind):
    """They contribute to the gradient, but the flow has the same limit without them."""
    X, y = on_a_grid(20)
    A, targets, times = KINDS[kind] @ X, KINDS[kind] @ y, [0.1, 1.0, 5.0]
    w, b = raw_flow(raw("diagonal", np.full(D, 0.3), np.full(D, 0.3)), A, targets, times)
    found = tacit.flow(MODELS["diagonal"], A, targets, times=times, intercept=True)
    near(found.predictor, w, 1e-6)
    near(found.intercept, b, 1e-6)
    end, limit = (
        verb(MODELS["diagonal"], *data, intercept=True)
        for verb, data in ((tacit.flow, (A, targets)), (tacit.limit, (X, y)))
    )
    assert end.converged
    near(end.predictor[-1], limit.predictor, 1e-7)


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "grid", [(0.1, 0.2, 0.3), (1.1, 1.2, 1.3), (0.7, 0.8, 0.9), (0.1, 0.2, 0.3, 0.4, 0.5)]
)
@pytest.mark.parametrize("least_squares", [False, True])
def test_a_straight_line_through_points_at_equal_distances(grid, least_squares):
    """The middle sample is at the mean, and y on the line, up to their last digits."""
    X = np.array(grid)[:, None]
    for model in (tacit.Diagonal(), tacit.Diagonal(3), tacit.Neuron(1.5, [0.1]), L1()):
        found = tacit.limit(model, X, 3 * X[:, 0] + 1, intercept=True, least_squares=least_squares)
        np.testing.assert_allclose([*found.predictor, found.intercept], [3, 1], rtol=1e-12)
        assert found.converged
    labels = np.where(np.arange(len(grid)) > len(grid) // 2 - 1, 1, -1)
    low, high = grid[len(grid) // 2 - 1], grid[len(grid) // 2]
    for norm in ("l1", "l2", 0.5, tacit.Diagonal()):
        margin = tacit.max_margin(X, labels, norm, intercept=True)
        expected = [2 / (high - low), -(high + low) / (high - low)]
        np.testing.assert_allclose([*margin.predictor, margin.intercept], expected, rtol=1e-9)


@pytest.mark.parametrize("norm", [1.5, Hypentropy(-3.0), Quadratic(2.0), Power(1.5)], ids=str)
@pytest.mark.parametrize("name", SMALL)
def test_margins_of_few_samples_in_other_norms(name, norm):
    X, y = SMALL[name]
    found, Z = free(X, y, norm), pairs(X, y)
    check(found, X, y, norm)
    near(found.predictor, tacit.max_margin(Z, np.ones(len(Z)), norm).predictor)


@pytest.mark.parametrize("depth", [2, 3])
@pytest.mark.parametrize("name", SMALL)
def test_paths_of_few_samples(name, depth):
    (X, y), mu = SMALL[name], [10.0, 0.1, 1e-4]
    found, Z = tacit.margin_path(X, y, mu, depth=depth, intercept=True), pairs(X, y)
    assert found.converged.all() and np.abs(found.duals @ y).max() <= 1e-9 * found.duals.max()
    near(found.predictors, tacit.margin_path(Z, np.ones(len(Z)), mu, depth=depth).predictors)
    near(found.intercept, between(X, y, found.predictors))


def test_features_that_are_all_constant_leave_the_intercept_alone():
    X, y = np.tile([1.0, 0.1], (3, 1)), np.array([1.0, 2.0, 4.0])
    with pytest.raises(tacit.InconsistentDataError):
        tacit.limit(tacit.Diagonal(), X, y, intercept=True)
    for model in (tacit.Diagonal(), tacit.Diagonal(3), L1()):
        found = tacit.limit(model, X, y, intercept=True, least_squares=True)
        np.testing.assert_allclose([*found.predictor, found.intercept], [0, 0, 7 / 3], rtol=1e-12, atol=1e-15)
    flow = tacit.flow(tacit.Diagonal(), X, y, intercept=True)
    np.testing.assert_allclose(flow.intercept[-1], 7 / 3, rtol=1e-12)
    with pytest.raises(tacit.NotSeparableError):
        tacit.max_margin(X, [-1, 1, 1], "l1", intercept=True)
