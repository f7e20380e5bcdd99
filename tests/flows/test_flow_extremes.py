"""Flows at depths from 2 + 1e-7 to 50 and scales from 1e-60 to 1e9, on degenerate data too.

They follow the flow or report that they cannot; all rows are finite, and every computation terminates without
an exception.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from extreme_flows import extreme_case, ray
from flow_oracles import power_network, raw_flow, square
from mpmath import mp, mpf
from oracles import gaussian_problem
from properties import some
from scipy.linalg import expm

import tacit
from tacit.data.status import Status
from tacit.numerics.rounding import EPS

_STEPS = 20_000  # ten times what most of 1,000 flows take and twice the worst: each takes 1 or 2 milliseconds
_NEAR_2 = 2 + 1e-7
_UNDERFLOW = "step size underflow: at this depth and scale the transition is too fast"


def rounded(X, w, y):
    """Bound on the round-off of ‖Xw − y‖: of the terms, and of w, amplified by the power."""
    return 16 * EPS * float(np.linalg.norm(np.abs(X) @ np.abs(w) + np.abs(y)))


def follows(found):
    """Check that rows are finite, accuracies increase and time does not decrease."""
    assert np.isfinite(found.predictor).all() and np.isfinite(found.accuracy).all()
    assert (np.diff(found.accuracy) >= 0).all() and (np.diff(found.log_time) >= 0).all()
    assert not np.isnan(found.log_time).any() and found.steps <= _STEPS and found.reason


@pytest.mark.parametrize("seed", some(range(1000), 250))
def test_no_flow_is_lost_without_a_word(seed):
    case = extreme_case(seed)
    model = tacit.Diagonal(case.depth, case.scale)
    found = tacit.flow(model, case.X, case.y, until=case.until)
    follows(found)
    w = found.predictor[-1]
    if not found.converged:
        assert found.status in (Status.STALLED, Status.STATIONARY, Status.ROUNDING)
        return
    assert found.accuracy[-1] == case.until
    residual = math.sqrt(2 * len(case.y)) * math.exp(-case.until / 2)
    recomputed = float(np.linalg.norm(case.X @ w - case.y))
    assert abs(recomputed - residual) <= 1e-6 * residual + rounded(case.X, w, case.y)
    if (
        case.until >= 30 and case.kind != "near"
    ):  # for nearly equal rows, the direction that decides the limit is learned last
        limit = tacit.limit(model, case.X, case.y)
        assert np.linalg.norm(w - limit.predictor) <= 1e-4 * np.linalg.norm(limit.predictor)


@pytest.mark.parametrize("seed", some(range(100), 50))
@pytest.mark.parametrize("loss", ["exp", "logistic"])
def test_no_flow_of_margins_is_lost_without_a_word(seed, loss):
    """Labels of a linear predictor; the accuracy must agree with the final margins y_n x_n·w."""
    case = extreme_case(seed)
    labels = np.where(case.X @ np.where(np.arange(case.X.shape[1]) % 2, 1.0, -1.0) >= 0, 1.0, -1.0)
    found = tacit.flow(tacit.Diagonal(case.depth, case.scale), case.X, labels, loss=loss, until=case.until)
    follows(found)
    if found.converged:
        margins = labels * (case.X @ found.predictor[-1])
        small = np.log(np.log1p(np.exp(-np.minimum(margins, 30.0))))  # for larger margins it is −m
        logs = np.where((margins < 30) & (loss == "logistic"), small, -margins)
        told = np.log(len(labels)) - np.logaddexp.reduce(logs)
        assert abs(told - case.until) <= 1e-6 * case.until + 1e-6


@pytest.mark.every(3)
@pytest.mark.parametrize("until", [20.0, 100.0, 1000.0])
@pytest.mark.parametrize("scale", [10.0, 1e9])
def test_a_residual_of_exactly_zero_is_no_accuracy(scale, until):
    """Some doubles fit rows of ones exactly; no accuracy between 75 and infinity is possible."""
    found = tacit.flow(tacit.Diagonal(2, scale), np.ones((2, 25)), np.ones(2), until=until)
    follows(found)
    assert found.converged == (until == 20)
    assert found.converged or (found.status == Status.ROUNDING and 55 < found.accuracy[-1] < 80)
    np.testing.assert_allclose(found.predictor[-1], 1 / 25, rtol=1e-4 if until == 20 else 1e-13)


@pytest.mark.every(4)
@pytest.mark.parametrize(("depth", "scale"), [(20, 1e-10), (50, 1e-4), (10, 1e-24), (6, 1e-50)])
def test_a_transition_that_floats_cannot_resolve_is_named(depth, scale):
    """After the first jump its slope is within 1e-40 of the end of its domain, and must stay there."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6, 15))
    found = tacit.flow(tacit.Diagonal(depth, scale), X, X[:, :3] @ rng.standard_normal(3), until=3)
    follows(found)
    assert not found.converged and found.status == Status.STALLED
    assert found.reason.startswith(_UNDERFLOW)


@pytest.mark.parametrize("loss", ["exp", "logistic"])
@pytest.mark.parametrize(("depth", "scale"), [(10, 1e-17), (4, 1e-46), (3, 1e-57)])
def test_a_transition_of_margins_is_not_blamed_on_features_of_one_size(loss, depth, scale):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((7, 19))
    found = tacit.flow(tacit.Diagonal(depth, scale), X, np.sign(X[:, 0] + X[:, 1]), loss=loss, until=1000)
    follows(found)
    assert not found.converged and found.reason.startswith(_UNDERFLOW)


@pytest.mark.parametrize(("depth", "scale"), [(2, 1.0), (2, 1e-3), (3, 0.1)])
def test_features_that_differ_in_size_are_named(depth, scale):
    """The first feature must cancel to one part in 1e8 before the others matter."""
    X = np.array([[1e8, 1, 0.3], [1e8, -1, 0.2], [1e8, 0.3, 1]])
    found = tacit.flow(tacit.Diagonal(depth, scale), X, [1, -1, 1], loss="exp", until=30)
    follows(found)
    assert not found.converged and found.reason.startswith("the features differ so much in size")


@pytest.mark.every(2)
@pytest.mark.parametrize("seed", [2, 5])
def test_steps_that_lead_nowhere_are_named(seed):
    """A slope is within 4e-18 of its end: round-off keeps steps short, and the flow stagnates."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((6, 19))
    found = tacit.flow(tacit.Diagonal(10, 6.65e-3), X, X[:, :3] @ rng.standard_normal(3), until=20)
    follows(found)
    assert not found.converged and found.status == Status.STALLED and found.reason.startswith(_UNDERFLOW)


def test_margins_that_stand_still_beside_an_end_are_named():
    """A slope is within 1e-180 of its end, and the others change by less than their round-off."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((3, 11)) * 10 ** rng.uniform(-4, 4, 11)
    labels = np.where(X @ rng.standard_normal(11) >= 0, 1.0, -1.0)
    found = tacit.flow(tacit.Diagonal(6, 1e-47), X, labels, loss="exp", until=100)
    follows(found)
    assert not found.converged and found.steps < 2000 and found.reason.startswith(_UNDERFLOW)


@pytest.mark.parametrize("scale", [1e-53, 1e-20, 1e-3])
def test_the_accuracy_that_is_said_to_be_reached_is_the_last_one(scale):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4, 19))
    X[1] = -X[0]
    found = tacit.flow(tacit.Diagonal(2, scale), X, X @ rng.standard_normal(19), until=500)
    assert not found.converged and found.reason.endswith(f"the accuracy reached is {found.accuracy[-1]:.6g}")


@pytest.mark.parametrize("scale", [1e-50, 9e-7, 1.0, 1e4])
def test_depth_2_and_a_little_is_depth_2(scale):
    """Both flows differ by (D − 2)·log², 1e-7 to 2e-3, in time and predictor; at equal loss, by less."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((8, 6))
    X[1] = X[0]
    y = X @ rng.standard_normal(6)
    at = np.array([0.5, 3.0, 10.0, 30.0]) - np.log(np.mean(y**2) / 2)
    first, other = (tacit.flow(tacit.Diagonal(D, scale), X, y, at=at) for D in (2, _NEAR_2))
    assert first.converged and other.converged
    logs = 1 + abs(2 * math.log(scale))
    np.testing.assert_allclose(other.predictor, first.predictor, rtol=0, atol=1e-7 * logs**2 + 1e-6)
    assert other.drift < 1e-8


def test_depth_2_and_a_little_takes_no_more_steps():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((8, 6))
    X[1] = X[0]
    y = X @ rng.standard_normal(6)
    first, other = (tacit.flow(tacit.Diagonal(D, 9e-7), X, y, until=1000) for D in (2, _NEAR_2))
    # the residual is round-off, because of its size or because many lifetimes have passed
    for found in (first, other):
        assert found.status in (Status.ROUNDING, Status.STATIONARY) and found.accuracy[-1] > 55
    assert other.steps <= 2 * first.steps


@pytest.mark.every(4)
@pytest.mark.parametrize("depth", [_NEAR_2, 2.01, 10, 20])
def test_unusual_depths_agree_with_the_raw_weights(depth):
    X, y = gaussian_problem(5, 9, nonzero=2, seed=4)
    weights, network = [np.full(9, 0.9)] * 2, power_network(depth)
    at = square(np.zeros(5), y)[0] + np.array([0.3, 2.0, 8.0])
    raw = raw_flow(weights, network, X, y, square, at)
    found = tacit.flow(tacit.Diagonal(depth, 0.9), X, y, at=at)
    assert np.abs(found.predictor - raw.predictor).max() <= 1e-6 * np.abs(raw.predictor).max()
    np.testing.assert_allclose(found.log_time, raw.log_time, atol=1e-6)
    assert found.drift < 1e-8


@pytest.mark.every(7)
@pytest.mark.parametrize("samples", [1, 4])
@pytest.mark.parametrize(
    ("depth", "log10_scale"),
    [
        (2, -60),
        (2, 4),
        (_NEAR_2, -60),
        (2.1, -30),
        (3, -60),
        (4, -34),
        (10, -20),
        (20, -10),
        (50, -5),
        (50, 1),
    ],
)
def test_one_sample_follows_the_ray(depth, log10_scale, samples):
    """The whole path is w = m·h(θx) for every loss; equal rows count as one.

    Near the end of a jump a step may end beyond y, where the loss is equally small, at a distance of twice
    the residual.
    """
    x, output = np.array([1.0, -0.7, 0.999, 0.2]), -1.5
    at = np.array([0.1, 5.0, 20.0]) - math.log(output**2 / 2)
    model = tacit.Diagonal(depth, 10.0**log10_scale)
    found = tacit.flow(model, np.tile(x, (samples, 1)), np.full(samples, output), at=at)
    assert found.converged
    for accuracy, w in zip(at, found.predictor, strict=True):
        target = output + math.sqrt(2) * math.exp(-accuracy / 2)
        exact = ray(x, target, depth, depth * log10_scale * math.log(10))[1]
        beyond = 2.1 * abs(target - output) if accuracy == at[-1] else 0.0
        assert np.linalg.norm(w - exact) <= 1e-9 * np.linalg.norm(exact) + beyond


@pytest.mark.every(3)
@pytest.mark.parametrize(("depth", "scale"), [(6, 3e50), (20, 1e9), (50, 1e9)])
def test_scales_beyond_all_floats_follow_their_tangent_kernel(depth, scale):
    """m = scale^depth is up to 1e450: y − f = exp(−Kt/N) y with K = 2D²·scale^{2D−2}·XXᵀ; t has a log."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((4, 9)), rng.standard_normal(4)
    found = tacit.flow(tacit.Diagonal(depth, scale), X, y, until=20)
    follows(found)
    assert found.converged and found.drift < 1e-8
    log_kernel = math.log(2 * depth**2) + (2 * depth - 2) * math.log(scale)
    for i in (20, 100, len(found.accuracy) - 1):
        left = expm(-(X @ X.T) / 4 * math.exp(found.log_time[i] + log_kernel)) @ y
        np.testing.assert_allclose(found.predictor[i], np.linalg.pinv(X) @ (y - left), atol=1e-8)


def test_a_function_may_start_at_zero():
    """w = θ from 0 is least squares by gradient flow, in closed form, to the solution of least norm."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((4, 6)), rng.standard_normal(4)
    for method in ("auto", "parameters"):
        found = tacit.flow(tacit.model(lambda t: t, np.zeros(6)), X, y, method=method)
        assert found.converged
        for i in (50, 150, len(found.accuracy) - 1):
            left = expm(-(X @ X.T) / 4 * found.time[i]) @ y
            np.testing.assert_allclose(found.predictor[i], np.linalg.pinv(X) @ (y - left), atol=1e-7)


def test_what_starts_at_a_saddle_stays_there_and_says_so():
    found = tacit.flow(tacit.model(lambda t: t * t, np.zeros(3)), np.eye(3), np.ones(3))
    assert not found.converged and "gradient is zero at the start" in found.reason


@pytest.mark.parametrize(("log_scale", "word"), [(-1000.0, "underflow"), (800.0, "overflow")])
def test_weights_that_are_no_floats_are_named(log_scale, word):
    model = tacit.Diagonal(2, log_scale=log_scale)
    with pytest.raises(tacit.InputError, match=word):
        tacit.flow(model, np.eye(2), np.ones(2), method="parameters")


@pytest.mark.parametrize("place", ["predictor", "outputs", "accuracy"])
def test_a_row_that_is_not_finite_has_not_converged(place):
    found = tacit.flow(tacit.Diagonal(), np.eye(3), np.ones(3), until=5)
    assert found.converged
    values = getattr(found, place).copy()
    values[len(values) // 2] = np.nan
    lost = replace(found, **{place: values})
    assert not lost.converged and lost.status == Status.STALLED and "not finite" in lost.reason


@pytest.mark.parametrize("depth", [2, _NEAR_2, 2.001, 3, 10])
def test_weights_at_a_predictor_keep_their_digits(depth):
    """w₊ᴰ − w₋ᴰ is the predictor, and the power mean of both with exponent 2 − D is conserved."""
    X = np.array([[1.0, -2.0, 0.3]])
    found = tacit.flow(tacit.Diagonal(depth, 0.01), X, [1.5], until=20)
    plus, minus = (found.weights[name][-1] for name in ("w₊", "w₋"))
    np.testing.assert_allclose(plus**depth - minus**depth, found.predictor[-1], rtol=1e-9, atol=1e-15)
    with mp.workdps(40):
        for one, other in zip(plus, minus, strict=True):
            exponent = 2 - mpf(depth)
            powers = [mpf(float(each)) ** exponent for each in (one, other)]
            mean = (
                mp.sqrt(mpf(float(one)) * mpf(float(other)))
                if depth == 2
                else (sum(powers) / 2) ** (1 / exponent)
            )
            assert abs(mean / mpf(0.01) - 1) < 1e-12
    assert found.drift < 1e-12


@pytest.mark.parametrize("features", [7, 16, 25])
@pytest.mark.parametrize("loss", ["square", "exp"])
@pytest.mark.parametrize(("depth", "scale"), [(3, 1e-42), (4, 1e-27), (2.5, 1e-60)])
def test_equal_features_share_the_predictor_at_any_scale(features, loss, depth, scale):
    """By symmetry. BLAS rounds the last columns of a product differently from the first ones."""
    rng = np.random.default_rng(features)
    sign = rng.choice([-1.0, 1.0], features)
    X = np.outer(rng.uniform(1, 2, 8), sign)
    y = X[:, 0] * sign[0] if loss == "square" else np.ones(8)
    found = tacit.flow(tacit.Diagonal(depth, scale), X, y, loss=loss, until=10)
    w = found.predictor[-1] * sign
    assert w.max() > 0.01 / features
    np.testing.assert_allclose(w, w[0], rtol=1e-10)


@pytest.mark.filterwarnings("error")
@pytest.mark.every(2)
@pytest.mark.parametrize("layers", [3, 4])
def test_a_step_out_of_range_is_taken_again_without_a_warning(layers):
    """With unequal layers, a slope may pass the end of its domain within a trial step."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((5, 12)), rng.standard_normal(5)
    plus, minus = (np.random.default_rng(seed).uniform(0.5, 1.5, (layers, 12)) for seed in (1, 2))
    model = tacit.UntiedDiagonal.from_layers(list(plus), list(minus))
    found = tacit.flow(model, X, 1e30 * y)
    follows(found)
    assert found.converged
    expected = tacit.limit(model, X, 1e30 * y).predictor
    assert np.linalg.norm(found.predictor[-1] - expected) <= 1e-6 * np.linalg.norm(expected)


@pytest.mark.parametrize(("depth", "scale"), [(4, 1e-3), (10, 0.1), (6, 1e-16), (4, 1e-30)])
def test_a_transition_of_raw_weights_is_told_or_named(depth, scale):
    """At tiny scales a jump takes a few units of round-off of time: no instant has this accuracy."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((5, 9)), rng.standard_normal(5)
    y *= math.sqrt(10) / np.linalg.norm(y)  # accuracy 0 at the start
    found = tacit.flow(tacit.Diagonal(depth, scale), X, y, at=[0.1], method="parameters")
    assert found.converged == (scale > 1e-10)
    if not found.converged:
        assert found.status == Status.STALLED and found.reason.startswith(_UNDERFLOW)
    for w, accuracy in zip(found.predictor, found.accuracy, strict=True):
        assert abs(-math.log(np.mean((X @ w - y) ** 2) / 2) - accuracy) < 1e-6


def test_raw_weights_may_move_at_rates_whose_squares_are_no_floats():
    """A rate is a product of 49 weights of size 4e-4, which is 1e-167."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((3, 5)), rng.standard_normal(3)
    found = tacit.flow(tacit.Diagonal(50, 3.9e-4), X, y, until=5, method="parameters")
    assert np.isfinite(found.predictor).all() and np.isfinite(found.accuracy).all() and found.reason
