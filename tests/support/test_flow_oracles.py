"""The reference implementations of flows agree with each other."""

import numpy as np
import pytest
from flow_oracles import (
    exact_exp_flow,
    exponential,
    factor_network,
    layer_network,
    linear_neuron,
    logistic,
    power_network,
    product_network,
    raw_flow,
    rounded_neuron,
    smoothed_leaky_flow,
    square,
    sweeping_flow,
    tangent_network,
)
from oracles import exact_limit, gaussian_problem, parameter_flow, powers, relative_error
from scipy.integrate import solve_ivp

# rows yₙxₙ of 3-point problems whose support changes along the way
KINK = np.array([[1.18, 1.37, -0.27], [0.83, 0.76, 0.7], [1.06, -0.49, 1.39]])
LOCAL = np.array([[0.56, 1.43, 0.41], [1.12, 1.01, -0.86], [0.34, -0.57, 1.46]])
LOSSES = {"exp": exponential, "logistic": logistic}


def distance(found, exact):
    return np.linalg.norm(found - exact, axis=-1).max() / np.linalg.norm(exact, axis=-1).max()


@pytest.mark.parametrize("network", ["powers", "products", "neuron", "leaky", "layers", "factors", "tangent"])
@pytest.mark.parametrize("loss", [square, exponential, logistic])
def test_pull_is_the_gradient_of_the_loss(network, loss):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((3, 4)), np.array([1.0, -1.0, 1.0])
    network, shapes = {
        "powers": (power_network(3), [4, 4]),
        "products": (product_network(), [4] * 4),
        "neuron": (linear_neuron(), [(), 4]),
        "leaky": (rounded_neuron(0.3, 0.5), [(), 4]),
        "layers": (layer_network(), [(4, 2), (1, 2)]),
        "factors": (factor_network(), [(2, 3), (2, 3)]),
        "tangent": (tangent_network(product_network(), rng.standard_normal((4, 4))), [4] * 4),
    }[network]
    X = X.reshape(3, 2, 2) if shapes[0] == (2, 3) else X
    weights = [rng.uniform(0.5, 1.5, shape) for shape in shapes]

    def objective(weights):
        accuracy = loss(network.outputs(weights, X), y)[0]
        return -np.exp(-accuracy) if loss is square else accuracy

    pulled = network.pull(weights, X, loss(network.outputs(weights, X), y)[1])
    for layer, gradient in enumerate(pulled):
        numerical = np.zeros(np.shape(weights[layer]))
        for index in np.ndindex(numerical.shape):
            up, down = ([w.copy() for w in weights] for _ in range(2))
            up[layer][index] += 1e-6
            down[layer][index] -= 1e-6
            numerical[index] = (objective(up) - objective(down)) / 2e-6
        np.testing.assert_allclose(gradient, numerical, rtol=1e-7, atol=1e-8)


@pytest.mark.every(4)
@pytest.mark.parametrize("depth", [2, 10])
@pytest.mark.parametrize("loss", ["exp", "logistic"])
def test_many_digits_agree_with_the_raw_weights(depth, loss):
    """The raw weights do not use θ, h_D or the accuracy as a clock."""
    profile = np.array([0.8, 1.0, 1.3])
    accuracies = [0.5, 3.0, 40.0]
    weights = [2.0 ** (1 / depth) * profile] * 2
    raw = raw_flow(weights, power_network(depth), KINK, np.ones(3), LOSSES[loss], accuracies)
    exact = exact_exp_flow(
        KINK, depth, np.log(2), accuracies, loss=loss, profile=profile, digits=22, tol=1e-12
    )
    assert distance(raw.predictor, exact.predictor) < 1e-9
    np.testing.assert_allclose(raw.log_time, exact.log_time, rtol=1e-9, atol=1e-9)


def test_many_digits_agree_with_radau_in_double_precision():
    """dθ/dγ̃ = p/(pᵀKp) with p the softmax of −f, at a scale where explicit methods no longer move."""
    scale, accuracies = 1e3, np.array([100.0, 1e3, 1e5])

    def velocity(x, theta):
        s = LOCAL.T @ theta
        f = scale * LOCAL @ (2 * np.sinh(s))
        p = np.exp(f.min() - f) / np.exp(f.min() - f).sum()
        return np.exp(x) * p / (p @ ((LOCAL * (2 * scale * np.cosh(s))) @ (LOCAL.T @ p)))

    clock = np.log1p(accuracies)
    run = solve_ivp(velocity, (0, clock[-1]), np.zeros(3), "Radau", clock, rtol=1e-8, atol=1e-12)
    exact = exact_exp_flow(LOCAL, 2, np.log(scale), accuracies, digits=22, stages=6, tol=1e-12)
    np.testing.assert_allclose(run.y.T, exact.dual, rtol=0, atol=1e-8)


@pytest.mark.thorough
def test_many_digits_at_a_huge_scale_do_not_depend_on_the_steps():
    coarse, fine = (
        exact_exp_flow(LOCAL, 3, np.log(1e8), [1e8, 1e10], digits=20, stages=stages, tol=tol)
        for stages, tol in [(5, 1e-9), (6, 1e-10)]
    )
    assert distance(coarse.predictor, fine.predictor) < 1e-7
    np.testing.assert_allclose(coarse.log_time, fine.log_time, rtol=1e-12)


@pytest.mark.thorough
def test_many_digits_at_a_huge_scale_agree_with_the_sweeping_process():
    """A process without λ, loss or differential equation."""
    levels = np.array([0.1, 1, 10, 100])
    exact = exact_exp_flow(LOCAL, 3, np.log(1e8), levels * 1e8, digits=22, stages=5, tol=1e-9)
    assert distance(exact.predictor / 1e8, sweeping_flow(LOCAL, 3, levels, steps=500)) < 1e-5


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_raw_weights_end_where_other_references_end(depth):
    X, y = gaussian_problem(5, 12, nonzero=2, seed=3)
    raw = raw_flow([np.full(12, 0.3)] * 2, power_network(depth), X, y, square, [50.0])
    assert (
        relative_error(raw.predictor[0], exact_limit(X, y, depth=depth, log_scale=depth * np.log(0.3))) < 1e-9
    )
    other = parameter_flow(np.full((2, 12), 0.3), powers(depth), X, y)
    assert relative_error(raw.predictor[0], other) < 1e-9


def test_raw_time_is_that_of_the_kernel_flow_under_the_square_loss():
    """The tangent of a tied network: residuals decay as exp(−8α²XXᵀt/N)."""
    X, y = gaussian_problem(3, 5, nonzero=2, seed=1)
    start = [np.full(5, 0.7)] * 2
    raw = raw_flow(start, tangent_network(power_network(2), start), X, y, square, [2.0, 5.0, 9.0])
    values, vectors = np.linalg.eigh(8 * 0.7**2 * X @ X.T / 3)
    for log_time, predictor in zip(raw.log_time, raw.predictor, strict=True):
        residual = vectors @ (np.exp(-values * np.exp(log_time)) * (vectors.T @ y))
        np.testing.assert_allclose(y - X @ predictor, residual, rtol=0, atol=1e-9)


def test_raw_time_is_that_of_the_kernel_flow_under_the_exponential_loss():
    """One sample x = 1: w' = 8e^{−w}, so that t = (e^{γ̃} − 1)/8, also where it overflows."""
    accuracies, start = np.array([1.0, 30.0, 900.0]), [np.ones(1)] * 2
    network = tangent_network(power_network(2), start)
    raw = raw_flow(start, network, np.ones((1, 1)), np.ones(1), exponential, accuracies)
    exact = accuracies + np.log(-np.expm1(-accuracies) / 8)
    np.testing.assert_allclose(raw.log_time, exact, rtol=1e-10)


@pytest.mark.every(2)
@pytest.mark.parametrize("seed", [1, 9])
def test_rounded_kinks_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    X, y, w = rng.standard_normal((4, 7)), rng.standard_normal(4), 0.4 * rng.standard_normal(7)
    sharp, round_ = (
        smoothed_leaky_flow(0.7, w, 0.3, X, y, [2.0, 6.0, 20.0], eps=eps) for eps in (1e-8, 1e-7)
    )
    assert distance(round_.predictor, sharp.predictor) < 1e-5
    assert distance(round_.predictor[-1], sharp.predictor[-1]) < 1e-7


def test_two_integrators_slide_alike():
    rng = np.random.default_rng(1)
    X, y, w = rng.standard_normal((4, 7)), rng.standard_normal(4), 0.4 * rng.standard_normal(7)
    at = square(0.7 * np.maximum(X @ w, 0.3 * X @ w), y)[0] + np.array([0.5, 2.0, 8.0])
    radau = smoothed_leaky_flow(0.7, w, 0.3, X, y, at, eps=1e-7)
    lsoda = raw_flow([np.array(0.7), w], rounded_neuron(0.3, 1e-7), X, y, square, at, rtol=1e-10)
    assert radau.slid
    assert distance(lsoda.predictor, radau.predictor) < 1e-7
    np.testing.assert_allclose(lsoda.log_time, radau.log_time, atol=1e-6)


def test_rounded_kinks_are_none_at_slope_one():
    X, y = gaussian_problem(4, 6, nonzero=2, seed=2)
    w = 0.3 * np.random.default_rng(0).standard_normal(6)
    leaky = smoothed_leaky_flow(-0.5, w, 1.0, X, y, [3.0, 8.0, 20.0])
    linear = raw_flow([np.array(-0.5), w], linear_neuron(), X, y, square, [3.0, 8.0, 20.0])
    assert distance(leaky.predictor, linear.predictor) < 1e-8
    np.testing.assert_allclose(leaky.log_time, linear.log_time, atol=1e-7)
