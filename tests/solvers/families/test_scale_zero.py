"""The limit at scale 0: the ℓ1 minimizer that vanishing scales select, and methods that are undefined
there."""

import copy
import pickle

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

import tacit

X = np.array([[1, 1, 1, 1, 0.4, 0.08], [2, 0.4, -0.5, -2, 0.12, -0.4], [-2.6, -0.6, -0.2, -0.2, 0.2, 0.32]])
Y = np.array([1.5, 0.42, -1.86])
PROFILE = np.array([1.0, 0.6, 1.3, 0.8, 2.0, 0.7])


def tied(seed, profile=False):
    """Whole numbers whose ℓ1 minimizers are a face: equal columns, and Xᵀν = ±1 on more columns than rows."""
    rng = np.random.default_rng(seed)
    features = rng.integers(-3, 4, (3, 9)).astype(float)
    features[0] = rng.choice([-1.0, 1.0], 9)  # ν = e₀ is a multiplier, of which all |slopes| are 1
    w = features[0] * rng.exponential(1.0, 9)
    return features, features @ w, rng.uniform(0.5, 2, 9) if profile else None


def test_numbers_that_were_computed_elsewhere():
    found = tacit.limit(tacit.Diagonal(scale=0), X, Y)
    assert found.converged
    expected = [0.607537778, 0.254773331, 0.252261929, 0.385426962, 0, 0]
    np.testing.assert_allclose(found.predictor, expected, atol=1e-9)
    np.testing.assert_allclose(found.value, 1.5, rtol=1e-15)


CASES = [
    (X, Y, None),
    (X, Y, PROFILE),
    *(tied(seed) for seed in range(6)),
    *(tied(seed, True) for seed in (6, 7)),
]


@pytest.mark.parametrize("depth", [2, 2.5, 3, 6])
@pytest.mark.parametrize("case", range(len(CASES)))
def test_vanishing_scales_tend_to_it(case, depth):
    """At depth 2 the distance at log scale −L is of the order e^{−2L·slack}, and of L's round-off."""
    features, y, profile = CASES[case]
    if depth > 2 and case >= 2:
        profile = None  # a profile would give a weighted norm with a unique minimizer
    found = tacit.limit(tacit.Diagonal(depth, 0, profile), features, y)
    assert found.converged, found.reason
    near = tacit.limit(tacit.Diagonal(depth, log_scale=-3000.0, profile=profile), features, y)
    np.testing.assert_allclose(found.predictor, near.predictor, atol=1e-8 * np.abs(near.predictor).max())
    assert found.error < 1e-9
    assert found.stationarity < 1e-10
    assert tacit.certify(found.model, features, y, found.predictor).holds


@pytest.mark.parametrize("depth", [3, 4])
def test_a_profile_weights_the_norm_of_deep_networks_but_not_its_ties(depth):
    """Σ p^{2−D}|w| is the norm; of its minimizers, the one of maximum Σ|w|^{2/D}, without p."""
    features, _, _ = tied(3)
    profile = np.exp2(np.arange(9) % 3 - 1)  # powers of 2, so that ties remain exact
    features = features * profile ** (2 - depth)  # so that slopes of ν = e₀ are at their bounds again
    y = features @ (np.sign(features[0]) * np.linspace(1, 2, 9))
    found = tacit.limit(tacit.Diagonal(depth, 0, profile), features, y)
    assert found.converged
    sizes, signs = np.abs(found.predictor), np.sign(features[0])
    assert sizes.min() > 0
    slope = sizes ** (2 / depth - 1)
    A = (features * signs).T
    rest = slope - A @ np.linalg.lstsq(A, slope, rcond=None)[0]
    assert np.abs(rest).max() < 1e-10
    near = tacit.limit(tacit.Diagonal(depth, log_scale=-3000.0, profile=profile), features, y)
    np.testing.assert_allclose(found.predictor, near.predictor, atol=1e-8)


@pytest.mark.parametrize("depth", [2, 3])
def test_a_general_optimizer_agrees(depth):
    """SLSQP over the set of ℓ1 minimizers, which is described by linear programming."""
    features, y, _ = tied(1)
    program = linprog(np.ones(18), A_eq=np.hstack([features, -features]), b_eq=y)
    np.testing.assert_allclose(program.fun, np.abs(features[0] @ (program.x[:9] - program.x[9:])), rtol=1e-9)
    A = features * features[0]

    def value(v):
        v = np.maximum(v, 1e-12)
        return (v * np.log(v)).sum() if depth == 2 else -(v ** (2 / depth)).sum()

    start = np.linalg.lstsq(A, y, rcond=None)[0]
    constraint = {"type": "eq", "fun": lambda v: A @ v - y}
    best = minimize(value, start, method="SLSQP", bounds=[(0, None)] * 9, constraints=constraint, tol=1e-12)
    found = tacit.limit(tacit.Diagonal(depth, 0), features, y)
    np.testing.assert_allclose(np.abs(found.predictor), best.x, atol=1e-4)
    assert value(np.abs(found.predictor)) <= best.fun + 1e-9


@pytest.mark.parametrize("depth", [2, 3, 4.5])
def test_its_potential_is_the_sum_of_absolute_values_weighted_by_the_profile(depth):
    w = np.array([1.0, -2.0, 0.5, 0.0, 4.0, -1.0])
    assert tacit.Diagonal(depth, 0).potential(6).value(w) == 8.5
    expected = np.abs(w) @ PROFILE ** (2 - depth)
    assert tacit.Diagonal(depth, 0, profile=PROFILE).potential(6).value(w) == pytest.approx(
        expected, rel=1e-14
    )


def test_a_unique_minimizer_is_basis_pursuit():
    rng = np.random.default_rng(0)
    features, y = rng.standard_normal((10, 30)), rng.standard_normal(10)
    found = tacit.limit(tacit.Diagonal(3, 0), features, y)
    expected = tacit.limit(tacit.potentials.L1(), features, y)
    np.testing.assert_array_equal(found.predictor, expected.predictor)
    np.testing.assert_allclose(tacit.saddle_path(features, y).predictors[-1], found.predictor, atol=1e-12)


def test_other_minimizers_are_told_apart():
    """A vertex satisfies the conditions of the norm, but it is not what small scales select."""
    vertex = tacit.limit(tacit.potentials.L1(), X, Y).predictor
    certificate = tacit.certify(tacit.Diagonal(scale=0), X, Y, vertex)
    assert certificate.stationarity < 1e-9
    assert certificate.error > 0.05


def test_nearly_tied_features_are_in_doubt():
    """Two features that differ in the 11th digit, which is all that distinguishes them at small scales."""
    features, y = np.array([[1.0, 1 + 1e-11, 0.3], [0.5, 0.5 - 3e-11, 0.9]]), np.array([1.0, 0.5])
    assert not tacit.limit(tacit.Diagonal(scale=0), features, y).converged


def test_units_intercepts_and_least_squares():
    found = tacit.limit(tacit.Diagonal(scale=0), X, Y, intercept=True, standardize=True)
    near = tacit.limit(tacit.Diagonal(log_scale=-1e4), X, Y, intercept=True, standardize=True)
    np.testing.assert_allclose(found.predictor, near.predictor, atol=1e-10)
    tall = np.vstack([X, X[:1]])
    with pytest.raises(tacit.InconsistentDataError):
        tacit.limit(tacit.Diagonal(scale=0), tall, np.append(Y, 0))
    assert tacit.limit(tacit.Diagonal(scale=0), tall, np.append(Y, 0), least_squares=True).converged
    zero = tacit.limit(tacit.Diagonal(scale=0), X, np.zeros(3))
    assert zero.converged and not zero.predictor.any()


def test_it_is_the_rich_end():
    found = tacit.limit(tacit.Diagonal(2, 0, PROFILE), X, Y)
    assert found.regime == "rich" and found.regime.distance_to_rich == 0
    kernel = PROFILE * (np.linalg.pinv(X * PROFILE) @ Y)  # least Σ (w/p)²
    gap = np.linalg.norm(kernel - found.predictor)
    expected = gap / max(np.linalg.norm(kernel), np.linalg.norm(found.predictor))
    np.testing.assert_allclose(found.regime.distance_to_kernel, expected, rtol=1e-9)
    assert "the limit of the solutions as the scale of the weights vanishes" in found.summary()
    assert "scale=0" in repr(found.model)
    for other in (copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        np.testing.assert_array_equal(other.predictor, found.predictor)


def test_a_flow_does_not_start_at_zero():
    model, labels = tacit.Diagonal(scale=0), np.sign(Y)
    for call in (
        lambda: tacit.flow(model, X, Y),
        lambda: tacit.flow(model, X, Y, method="parameters"),
        lambda: tacit.flow(model, X, Y, linearized=True),
        lambda: tacit.flow(model, X, labels, loss="exp", until=3),
        lambda: model.predictor(),
        lambda: model.conserved(),
        lambda: model.tangent_kernel(X),
        lambda: tacit.saddle_path(X, Y).time(model),
        lambda: tacit.limit(model, X, Y, training=tacit.Training(0.01)),
        lambda: tacit.descend(model, X, Y, tacit.Training(0.01)),
    ):
        with pytest.raises(tacit.InputError, match=r"weights that start at 0 stay at 0.*saddle_path"):
            call()
    with pytest.raises(tacit.InputError, match=r"scale must be positive, or 0 .*got -1"):
        tacit.Diagonal(scale=-1)
    margin = tacit.max_margin(X, labels, model)
    np.testing.assert_allclose(margin.value, tacit.max_margin(X, labels, "l1").value, rtol=1e-12)
