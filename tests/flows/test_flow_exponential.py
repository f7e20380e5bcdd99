"""Flows of the exponential and logistic losses, compared with exact results and raw weights."""

import numpy as np
import pytest
from flow_oracles import (
    exact_exp_flow,
    exponential,
    logistic,
    power_network,
    product_network,
    raw_flow,
    sweeping_flow,
    tangent_network,
)
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp
from properties import examples
from scipy.optimize import linprog, nnls

import tacit

# rows yₙxₙ of 3-point problems; a sample leaves the support of KINK, one enters and one leaves that of LOCAL
PLAIN = np.array([[0.9, 0.5, -0.2], [1.5, 0.8, 0.1], [1.2, 0.8, 0.2]])
TWO = np.array([[1, 1.5, -0.5], [1.1, -0.1, 0.1], [-0.5, 1.5, 0.6]])
TIE = np.array([[1, 1, 0.3], [2.5, 0.2, 1], [1.6, 0.8, -0.4]])
KINK = np.array([[1.18, 1.37, -0.27], [0.83, 0.76, 0.7], [1.06, -0.49, 1.39]])
GLOBAL = np.array([[1.21, 0.72, 1.45], [0.37, -0.14, -0.43], [1.04, -0.33, 0.79]])
LOCAL = np.array([[0.56, 1.43, 0.41], [1.12, 1.01, -0.86], [0.34, -0.57, 1.46]])
LOSSES = {"exp": exponential, "logistic": logistic}
START = {"exp": 0.0, "logistic": -np.log(np.log(2))}
SIGNS = np.array([1.0, -1.0, 1.0])


def diagonal(depth, scale):
    """Predictor scale λ = α^D."""
    return tacit.Diagonal(depth=depth, log_scale=np.log(scale) / depth)


def separable(samples, features, seed):
    """Gaussian samples labelled by a hidden predictor, and moved away from its boundary."""
    rng = np.random.default_rng(seed)
    X, hidden = rng.standard_normal((samples, features)), rng.standard_normal(features)
    y = np.sign(X @ hidden)
    return X + 0.3 * np.outer(y, hidden) / np.linalg.norm(hidden), y


def direction(w):
    return w / np.linalg.norm(w, axis=-1, keepdims=True)


def assert_same(trajectory, exact, *, tol=1e-6):
    """Directions and lengths to `tol`; log t to 10 digits, and t itself, where it is representable, to 5%."""
    assert np.linalg.norm(direction(trajectory.predictor) - direction(exact.predictor), axis=-1).max() < tol
    lengths = np.linalg.norm(trajectory.predictor, axis=-1) / np.linalg.norm(exact.predictor, axis=-1)
    assert np.abs(lengths - 1).max() < tol
    late = np.abs(trajectory.log_time - exact.log_time)
    size = np.abs(exact.log_time)
    assert (late < 10 * tol + 4e-16 * size + np.minimum(0.05, 1e-10 * size)).all()


@pytest.mark.every(18)
@pytest.mark.parametrize(
    ("Z", "depth", "scale", "loss"),
    [
        (PLAIN, 2, 1e-6, "exp"),
        (LOCAL, 2, 1e-6, "logistic"),
        (GLOBAL, 10, 1e-6, "exp"),
        (TWO, 3, 1e-2, "logistic"),
        (KINK, 10, 1.0, "exp"),
        (LOCAL, 3, 1e2, "exp"),
        (LOCAL, 10, 1e3, "logistic"),
        (KINK, 2, 1e5, "logistic"),
        (LOCAL, 2, 1e5, "exp"),
        (PLAIN, 2, 1e8, "exp"),
        (KINK, 3, 1e8, "exp"),
        (LOCAL, 2, 1e8, "logistic"),
        (LOCAL, 3, 1e8, "exp"),
        (TIE, 10, 1e8, "exp"),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{np.ravel(value)[0]:g}",
)
def test_flow_agrees_with_many_digits(Z, depth, scale, loss):
    """From λ = 1e-6 to 1e8, and from the kernel regime to accuracies of 1e4·λ."""
    beyond = np.array([0.1, 1, 10, 100, 1e4]) * scale if scale >= 1 else np.array([1e-3, 1, 10, 100])
    at = START[loss] + beyond
    exact = exact_exp_flow(Z, depth, np.log(scale), at, loss=loss, digits=20, stages=6, tol=1e-9)
    found = tacit.flow(diagonal(depth, scale), Z * SIGNS[:, None], SIGNS, loss=loss, at=at)
    assert found.converged
    np.testing.assert_array_equal(found.accuracy, at)
    assert_same(found, exact)


@pytest.mark.every(5)
@pytest.mark.parametrize("loss", ["exp", "logistic"])
@pytest.mark.parametrize("depth", [2, 3, 10])
def test_flow_agrees_with_the_raw_weights(loss, depth):
    X, y = separable(5, 8, seed=1)
    at = [1.0, 4.0, 100.0]
    profile = np.exp(np.random.default_rng(2).uniform(-0.3, 0.3, 8))
    raw = raw_flow([0.7 * profile] * 2, power_network(depth), X, y, LOSSES[loss], at)
    found = tacit.flow(tacit.Diagonal(depth=depth, scale=0.7, profile=profile), X, y, loss=loss, at=at)
    assert_same(found, raw)
    assert found.drift < 1e-8


@pytest.mark.every(5)
@pytest.mark.parametrize("loss", ["exp", "logistic"])
@pytest.mark.parametrize("start", ["balanced", "shaped", "biased"])
def test_flow_of_untied_weights_agrees_with_the_raw_weights(loss, start):
    X, y = separable(5, 8, seed=3)
    rng = np.random.default_rng(4)
    if start == "biased":
        weights = rng.standard_normal((4, 8))
        model = tacit.UntiedDiagonal.from_weights(*weights)
    else:
        shape = np.zeros(8) if start == "balanced" else rng.uniform(-0.9, 0.9, 8)
        u, v = np.sqrt(0.5 * (1 - shape) / (1 + shape)), np.sqrt(0.5 * (1 + shape) / (1 - shape))
        weights = [u, v, u, v]
        model = tacit.UntiedDiagonal(scale=0.5, shape=shape)
    begin = LOSSES[loss](X @ product_network().predictor(weights), y)[0]
    at = begin + np.array([0.5, 3.0, 100.0])
    raw = raw_flow(weights, product_network(), X, y, LOSSES[loss], at)
    found = tacit.flow(model, X, y, loss=loss, at=at)
    assert_same(found, raw)
    assert found.drift < 1e-8


@pytest.mark.every(6)
@pytest.mark.parametrize(
    ("model", "loss"),
    [
        (tacit.Diagonal(depth=2, scale=0.5), "exp"),
        (tacit.Diagonal(depth=3, scale=1.1), "logistic"),
        (tacit.UntiedDiagonal(scale=0.3, shape=0.6), "logistic"),
        (tacit.UntiedDiagonal.from_weights(0.3, 0.8, 0.5, -0.2), "exp"),
    ],
    ids=repr,
)
def test_raw_parameters_are_another_way_to_the_same_trajectory(model, loss):
    X, y = separable(4, 6, seed=5)
    begin = tacit.flow(model, X, y, loss=loss, until=3.0).accuracy[0]
    at = begin + np.array([0.2, 2.0, 15.0])
    auto, raw = (tacit.flow(model, X, y, loss=loss, at=at, method=name) for name in ("auto", "parameters"))
    assert auto.method != raw.method
    assert_same(auto, raw)


@pytest.mark.parametrize("loss", ["exp", "logistic"])
def test_tied_and_untied_weights_are_the_same_network_at_half_the_speed(loss):
    """With u = v = α each side of w moves at the rate u² + v², with w₊ = α at 4w₊²: the predictors agree, and
    time doubles."""
    X, y = separable(6, 9, seed=6)
    at = [1.0, 10.0, 200.0]
    tied = tacit.flow(tacit.Diagonal(depth=2, scale=0.6), X, y, loss=loss, at=at)
    untied = tacit.flow(tacit.UntiedDiagonal(scale=0.36), X, y, loss=loss, at=at)
    np.testing.assert_allclose(
        untied.predictor, tied.predictor, rtol=0, atol=1e-6 * np.abs(tied.predictor).max()
    )
    np.testing.assert_allclose(untied.log_time - tied.log_time, np.log(2), atol=1e-6)


@pytest.mark.parametrize("loss", ["exp", "logistic"])
def test_the_recorded_accuracy_is_that_of_the_recorded_predictor(loss):
    X, y = separable(6, 9, seed=7)
    found = tacit.flow(tacit.Diagonal(depth=3, scale=0.8), X, y, loss=loss, until=1e4)
    recomputed = np.array([LOSSES[loss](X @ w, y)[0] for w in found.predictor])
    np.testing.assert_allclose(recomputed, found.accuracy, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found.outputs, found.predictor @ X.T, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found.margins, y * (found.predictor @ X.T), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found.margin, found.margins.min(axis=1), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found.loss, np.exp(-found.accuracy), rtol=1e-12)


@pytest.mark.parametrize("loss", ["exp", "logistic"])
@pytest.mark.parametrize("until", [1.0, 50.0])
def test_about_200_instants_are_recorded_from_start_to_end(loss, until):
    X, y = separable(4, 6, seed=8)
    found = tacit.flow(tacit.Diagonal(scale=0.5), X, y, loss=loss, until=until)
    assert 150 <= len(found.time) <= 250
    assert found.time[0] == 0 and found.log_time[0] == -np.inf and not found.predictor[0].any()
    assert abs(found.accuracy[0] - START[loss]) < 1e-12 and found.accuracy[-1] == until
    for values in (found.accuracy, found.log_time):
        assert (np.diff(values) > 0).all()
    assert found.kernel_distance[0] < 1e-12
    assert found.converged and found.reason and found.summary()


def test_the_accuracy_at_the_start_may_be_asked_for():
    found = tacit.flow(tacit.Diagonal(), LOCAL, np.ones(3), loss="exp", at=[0.0, 1.0])
    np.testing.assert_array_equal(found.accuracy, [0.0, 1.0])
    assert found.time[0] == 0 and not found.predictor[0].any() and found.converged


def test_time_overflows_and_its_logarithm_does_not():
    at = [600.0, 5000.0]
    found = tacit.flow(tacit.Diagonal(scale=1.0), PLAIN, np.ones(3), loss="exp", at=at)
    exact = exact_exp_flow(PLAIN, 2, 0.0, at, digits=20, stages=6, tol=1e-9)
    assert np.isfinite(found.time[0]) and found.time[1] == np.inf
    np.testing.assert_allclose(found.log_time, exact.log_time, rtol=1e-9)
    np.testing.assert_allclose(found.time[0], np.exp(exact.log_time[0]), rtol=1e-5)


def test_the_kernel_distance_is_that_of_the_weights():
    """Moroshko et al. 2020, Appendix H: one minus the cosine of K(t) and K(0), in the Frobenius norm."""
    X, y = separable(4, 6, seed=9)
    at = [0.5, 5.0, 100.0]
    for depth in (2, 3):
        raw = raw_flow([np.full(6, 0.9)] * 2, power_network(depth), X, y, exponential, at)
        found = tacit.flow(tacit.Diagonal(depth=depth, scale=0.9), X, y, loss="exp", at=at)
        for (plus, minus), distance in zip(raw.weights, found.kernel_distance, strict=True):
            K = (X * (plus ** (2 * depth - 2) + minus ** (2 * depth - 2))) @ X.T
            cosine = np.sum(K * (X @ X.T)) / np.linalg.norm(K) / np.linalg.norm(X @ X.T)
            assert abs(distance - (1 - cosine)) < 1e-7


def l2_margin(Z):
    """argmin ‖w‖₂ subject to Zw ≥ 1: w = Zᵀν, from the nonnegative least squares that is its dual."""
    A = np.vstack([Z.T, np.ones(len(Z))])
    target = np.zeros(len(A))
    target[-1] = 1
    nu, _ = nnls(A, target)
    residual = target - A @ nu
    return -residual[:-1] / residual[-1]


def test_the_first_predictor_at_a_huge_scale_is_the_l2_margin():
    """Moroshko et al. 2020, Theorem 6: γ̃ ≫ 1 and γ̃ ≪ λ."""
    X, y = separable(6, 10, seed=10)
    margin = direction(l2_margin(X * y[:, None]))
    gaps = []
    for depth in (2, 3, 10):
        found = tacit.flow(diagonal(depth, 1e8), X, y, loss="exp", at=[1e3, 1e5]).predictor
        gaps.append(np.linalg.norm(direction(found) - margin, axis=1))
    assert np.max(gaps, axis=0)[0] < 1e-2 and np.max(gaps, axis=0)[1] < 1e-4


def test_the_last_predictor_at_a_tiny_scale_is_the_l1_margin():
    """At depth 2 the distance decreases as 1/log(1/λ); scales that underflow are valid."""
    solution = linprog(np.ones(6), A_ub=-np.hstack([KINK, -KINK]), b_ub=-np.ones(3)).x
    margin = direction(solution[:3] - solution[3:])
    gaps = []
    for log_scale in (-10.0, -100.0, -1000.0):
        model = tacit.Diagonal(depth=2, log_scale=log_scale)
        found = tacit.flow(model, KINK, np.ones(3), loss="exp", at=[1e3])
        assert found.converged
        gaps.append(np.linalg.norm(direction(found.predictor[0]) - margin))
    assert gaps[0] > gaps[1] > gaps[2] and gaps[2] < 1e-3


def test_deep_networks_may_end_at_a_local_margin():
    """At depth 3 the scale decides which of two ℓ_{2/3} margins is found."""
    one, other = direction(np.array([1.548, 0, 0.324])), direction(np.array([2.941, 0, 0]))
    for scale, margin in [(1e-2, one), (1e-4, other), (1e-6, other)]:
        found = tacit.flow(diagonal(3, scale), LOCAL, np.ones(3), loss="exp", at=[100.0])
        assert np.linalg.norm(direction(found.predictor[0]) - margin) < 0.01


@pytest.mark.every(3)
@pytest.mark.parametrize("depth", [2, 3])
@pytest.mark.parametrize("Z", [KINK, LOCAL], ids=["kink", "local"])
def test_flow_at_a_huge_scale_is_the_sweeping_process(depth, Z):
    levels = np.array([0.1, 1, 10, 100])
    found = tacit.flow(diagonal(depth, 1e8), Z, np.ones(3), loss="exp", at=levels * 1e8)
    limit = sweeping_flow(Z, depth, levels, steps=1000)
    assert np.linalg.norm(direction(found.predictor) - direction(limit), axis=1).max() < 1e-5


@pytest.mark.every(5)
@pytest.mark.parametrize("loss", ["exp", "logistic"])
@pytest.mark.parametrize("kind", ["tied", "deep", "biased"])
def test_linearized_flow_is_that_of_the_tangent(loss, kind):
    X, y = separable(4, 6, seed=11)
    network, weights, model = {
        "tied": (power_network(2), [np.full(6, 0.6)] * 2, tacit.Diagonal(scale=0.6)),
        "deep": (power_network(3), [np.full(6, 0.6)] * 2, tacit.Diagonal(depth=3, scale=0.6)),
        "biased": (
            product_network(),
            np.random.default_rng(1).standard_normal((4, 6)),
            tacit.UntiedDiagonal.from_weights(*np.random.default_rng(1).standard_normal((4, 6))),
        ),
    }[kind]
    tangent = tangent_network(network, weights)
    at = LOSSES[loss](tangent.outputs(weights, X), y)[0] + np.array([0.3, 3.0, 100.0])
    raw = raw_flow(weights, tangent, X, y, LOSSES[loss], at)
    found = tacit.flow(model, X, y, loss=loss, at=at, linearized=True)
    assert found.linearized
    assert_same(found, raw)
    if kind == "tied":
        curved = tacit.flow(model, X, y, loss=loss, at=at).predictor
        assert np.linalg.norm(curved - found.predictor) > 0.1 * np.linalg.norm(curved)


@examples(6)
@given(st.integers(0, 10**6), st.sampled_from([2, 3, 10]), st.floats(-4, 4))
def test_order_and_signs_do_not_matter_and_units_scale(seed, depth, log_unit):
    """(X, λ) → (cX, λ/c) takes w to w/c and t to t·c^{−2/D}; flipping (xₙ, yₙ) together changes nothing."""
    X, y = separable(4, 5, seed)
    rng, unit, at = np.random.default_rng(seed), np.exp(log_unit), [1.0, 10.0, 100.0]
    rows, columns, signs = rng.permutation(4), rng.permutation(5), rng.choice([-1.0, 1.0], 4)
    plain = tacit.flow(diagonal(depth, 1.0), X, y, loss="exp", at=at)
    other_X = unit * (signs[:, None] * X)[np.ix_(rows, columns)]
    other = tacit.flow(diagonal(depth, 1 / unit), other_X, (signs * y)[rows], loss="exp", at=at)
    gap = np.abs(unit * other.predictor - plain.predictor[:, columns]).max()
    assert gap < 1e-6 * np.abs(plain.predictor).max()
    np.testing.assert_allclose(other.log_time, plain.log_time - 2 / depth * log_unit, atol=1e-6)


def test_a_feature_that_is_never_seen_stays_at_zero_and_equal_features_stay_equal():
    X, y = separable(4, 5, seed=12)
    X = np.column_stack([X, X[:, 0], np.zeros(4)])
    found = tacit.flow(tacit.Diagonal(scale=0.3), X, y, loss="exp", until=100.0)
    assert not found.predictor[:, 6].any()
    np.testing.assert_allclose(found.predictor[:, 5], found.predictor[:, 0], rtol=1e-12, atol=1e-300)


def test_equal_samples_count_twice():
    """Repeating a single sample changes the mean loss; repeating the whole data set does not."""
    at = [1.0, 10.0, 1000.0]
    once = tacit.flow(tacit.Diagonal(scale=0.7), KINK, np.ones(3), loss="exp", at=at)
    twice = tacit.flow(tacit.Diagonal(scale=0.7), np.vstack([KINK, KINK]), np.ones(6), loss="exp", at=at)
    np.testing.assert_allclose(twice.predictor, once.predictor, rtol=1e-6)
    np.testing.assert_allclose(twice.log_time, once.log_time, atol=1e-6)
    first = tacit.flow(tacit.Diagonal(scale=0.7), KINK[[0, 0, 1, 2]], np.ones(4), loss="exp", at=at)
    raw = raw_flow([np.full(3, 0.7)] * 2, power_network(2), KINK[[0, 0, 1, 2]], np.ones(4), exponential, at)
    assert_same(first, raw)


@pytest.mark.parametrize("loss", ["exp", "logistic"])
def test_coordinates_without_a_potential_are_followed_too(loss):
    """u₊ = v₊ and u₋ = −v₋ leave k = 0: that coordinate never changes its sign."""
    X, y = separable(4, 5, seed=16)
    weights = np.random.default_rng(17).standard_normal((4, 5))
    weights[1, 1], weights[3, 1], weights[:, 2] = weights[0, 1], -weights[2, 1], 0
    at = LOSSES[loss](X @ product_network().predictor(weights), y)[0] + np.array([0.5, 3.0, 10.0])
    raw = raw_flow(weights, product_network(), X, y, LOSSES[loss], at)
    assert_same(tacit.flow(tacit.UntiedDiagonal.from_weights(*weights), X, y, loss=loss, at=at), raw)


def test_untied_weights_and_profiles_at_a_huge_scale():
    at, profile = np.array([1e6, 1e8]), np.array([0.5, 1.0, 2.0])
    exact = exact_exp_flow(LOCAL, 2, np.log(1e6), at, digits=20, stages=6, tol=1e-9)
    untied = tacit.flow(tacit.UntiedDiagonal(scale=1e6), LOCAL, np.ones(3), loss="exp", at=at)
    np.testing.assert_allclose(direction(untied.predictor), direction(exact.predictor), atol=1e-6)
    exact = exact_exp_flow(LOCAL, 3, np.log(1e6), at, profile=profile, digits=20, stages=6, tol=1e-9)
    model = tacit.Diagonal(depth=3, scale=1e2, profile=profile)
    assert_same(tacit.flow(model, LOCAL, np.ones(3), loss="exp", at=at), exact)


def test_more_samples_than_features():
    X, y = separable(30, 4, seed=13)
    at = [1.0, 5.0, 50.0]
    raw = raw_flow([np.full(4, 0.9)] * 2, power_network(2), X, y, exponential, at)
    assert_same(tacit.flow(tacit.Diagonal(scale=0.9), X, y, loss="exp", at=at), raw)


@pytest.mark.parametrize("loss", ["exp", "logistic"])
def test_data_that_cannot_be_separated_are_refused_with_a_certificate(loss):
    rng = np.random.default_rng(14)
    X, y = rng.standard_normal((12, 3)), rng.choice([-1.0, 1.0], 12)
    for model in (tacit.Diagonal(), tacit.UntiedDiagonal(shape=0.3), tacit.LinearNetwork.gaussian(3, 5)):
        with pytest.raises(tacit.NotSeparableError) as caught:
            tacit.flow(model, X, y, loss=loss, until=50.0)
        weights = caught.value.combination
        assert weights.shape == (12,) and (weights >= 0).all() and abs(weights.sum() - 1) < 1e-9
        assert np.abs(weights @ (y[:, None] * X)).max() < 1e-9


def test_a_sample_and_its_opposite_cannot_be_separated():
    with pytest.raises(tacit.NotSeparableError) as caught:
        tacit.flow(tacit.Diagonal(), [[1.0, 2.0], [1.0, 2.0]], [1, -1], loss="exp", until=5.0)
    np.testing.assert_allclose(caught.value.combination, [0.5, 0.5])


def test_barely_separable_data_are_followed():
    """The samples (±1, 10⁻⁴) leave w₁ at 0: γ̃ = 10⁻⁴w₂ and t = ∫ e^{γ̃} dw₂ / (10⁻⁴·4√(w₂² + 4))."""
    at, exact = [1.0, 10.0], []
    for accuracy in at:
        ends = [0, 10, 1e3, *np.linspace(1e3, 1e4 * accuracy, 4)[1:]]
        exact.append(mp.log(mp.quad(lambda w: mp.exp(w / 1e4) / (4e-4 * mp.sqrt(w * w + 4)), ends)))
    found = tacit.flow(tacit.Diagonal(scale=1.0), [[1, 1e-4], [-1, 1e-4]], [1, 1], loss="exp", at=at)
    np.testing.assert_allclose(found.predictor, [[0, 1e4], [0, 1e5]], rtol=1e-8, atol=1e-3)
    np.testing.assert_allclose(found.log_time, np.array(exact, float), atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"y": [1, 0, 2]}, "class"),
        ({"y": [1, -1]}, "y"),
        ({"y": [1, np.nan, 1]}, "y"),
        ({"X": [[1, 2, np.nan], [1, 2, 3], [3, 2, 1]]}, "X"),
        ({"X": [1.0, 2.0, 3.0]}, "X"),
        ({"at": [3.0, 2.0]}, "at"),
        ({"at": [2.0, 2.0]}, "at"),
        ({"at": [-1.0, 2.0]}, "at"),
        ({"at": []}, "at"),
        ({"at": [1.0, np.inf]}, "at"),
        ({"at": [[1.0, 2.0]]}, "at"),
        ({"until": -1.0}, "until"),
        ({"until": np.nan}, "until"),
        ({"until": np.inf}, "until"),
        ({"rtol": 0.0}, "rtol"),
        ({"rtol": np.nan}, "rtol"),
        ({"loss": "hinge"}, "loss"),
        ({"method": "magic"}, "method"),
        ({"model": tacit.Diagonal(profile=[1, 2])}, "profile"),
        ({"model": "diagonal"}, "model"),
        ({"step": 0.0, "method": "descent"}, "step"),
        ({"step": -1.0, "method": "normalized"}, "step"),
    ],
    ids=str,
)
def test_bad_arguments_are_refused_by_name(arguments, words):
    given = {"model": tacit.Diagonal(), "X": LOCAL, "y": [1, 1, 1], "loss": "exp", **arguments}
    with pytest.raises(tacit.InputError, match=words):
        tacit.flow(given.pop("model"), given.pop("X"), given.pop("y"), **given)


@pytest.mark.every(3)
@pytest.mark.parametrize("method", ["descent", "normalized"])
@pytest.mark.parametrize("loss", ["exp", "logistic"])
def test_small_steps_approach_the_flow_at_first_order(method, loss):
    model, y, errors = tacit.Diagonal(scale=0.8), np.ones(3), []
    for step in (2e-3, 1e-3, 5e-4):
        steps = tacit.flow(model, KINK, y, loss=loss, at=[2.0, 4.0], method=method, step=step)
        assert steps.converged and (steps.accuracy >= [2.0, 4.0]).all()
        flow = tacit.flow(model, KINK, y, loss=loss, at=steps.accuracy, rtol=1e-10)
        errors.append(np.abs(steps.predictor - flow.predictor).max())
        lag = np.abs(steps.log_time - flow.log_time).max() if method == "descent" else 0
        assert lag < 20 * step
    ratios = np.array(errors[:-1]) / errors[1:]
    assert min(ratios) > 1.8 and max(ratios) < 2.2


@pytest.mark.parametrize("loss", ["exp", "logistic"])
def test_descent_takes_the_steps_it_says(loss):
    """θ ← θ − η∇L(θ), by hand."""
    X, y = separable(4, 5, seed=15)
    network, weights = power_network(2), [np.full(5, 0.7)] * 2
    accuracy, iterates = -np.inf, 0
    while accuracy < 2.0:
        outputs = network.outputs(weights, X)
        level, slope = LOSSES[loss](outputs, y)
        pulled = network.pull(weights, X, slope)
        weights = [w + 0.01 * np.exp(-level) * g for w, g in zip(weights, pulled, strict=True)]
        accuracy, iterates = LOSSES[loss](network.outputs(weights, X), y)[0], iterates + 1
    found = tacit.flow(tacit.Diagonal(scale=0.7), X, y, loss=loss, at=[2.0], method="descent", step=0.01)
    np.testing.assert_allclose(found.predictor[0], network.predictor(weights), rtol=1e-10)
    np.testing.assert_allclose(found.accuracy[0], accuracy, rtol=1e-10)
    np.testing.assert_allclose(found.time[0], 0.01 * iterates, rtol=1e-12)


def test_features_in_very_different_units_are_followed_or_refused():
    """Round-off of θ is relative to the largest feature, and can hide the effect of a small one."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(12) % 2, 1.0, -1.0)
    A, B = rng.standard_normal(12), y + 0.1 * rng.standard_normal(12)
    for unit in (1e3, 1e4, 1e6, 1e8):
        X = np.column_stack([unit * A, B])
        run = tacit.flow(tacit.Diagonal(scale=1.0), X, y, loss="exp", until=5)
        assert run.converged == (unit < 1e5)
        if run.converged:
            (w,) = raw_flow([np.ones(2), np.ones(2)], power_network(2), X, y, exponential, [5.0]).predictor
            # ten times the flow's tolerance, which is relative to the whole
            found, right = run.predictor[-1] * [unit, 1], w * [unit, 1]
            np.testing.assert_allclose(found, right, rtol=0, atol=1e-7 * np.abs(right).max())
        else:
            assert "rescale each feature" in run.reason


def test_accuracies_are_met_exactly_wherever_they_lie_in_a_long_step():
    """−log of the loss at the margins found, by its definition, at 160 accuracies over 17 decades."""
    rows, at = np.array([[0.9, 0.5, -0.2], [1.5, 0.8, 0.1], [1.2, 0.8, 0.2]]), np.geomspace(1e-3, 1e14, 160)
    run = tacit.flow(tacit.Diagonal(2, 1e4), rows, np.ones(3), loss="exp", at=at)
    least = run.margins.min(axis=1)
    accuracy = least - np.log(np.mean(np.exp(least[:, None] - run.margins), axis=1))
    np.testing.assert_allclose(accuracy, at, rtol=1e-12)
