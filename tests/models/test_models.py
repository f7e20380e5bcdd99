"""Diagonal models: properties at initialization against differentiation and simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import gaussian_problem, relative_error
from properties import examples
from scipy.integrate import solve_ivp

import tacit


def diagonal_weights(model, features):
    """w₊ and w₋ at initialization, from the definition."""
    profile = np.ones(features) if model.profile is None else np.asarray(model.profile)
    return np.tile(model.scale * profile, 2)


def diagonal_predictor(theta, depth):
    plus, minus = np.split(theta, 2)
    return plus**depth - minus**depth


def untied_predictor(theta):
    u, v, u_minus, v_minus = np.split(theta, 4)
    return u * v - u_minus * v_minus


def numerical_jacobian(f, theta, step=1e-6):
    columns = []
    for i in range(len(theta)):
        shift = np.zeros_like(theta)
        shift[i] = step * max(1.0, abs(theta[i]))
        columns.append((f(theta + shift) - f(theta - shift)) / (2 * shift[i]))
    return np.array(columns).T


def run_flow(f, theta, X, y, time):
    """Gradient flow on ½‖X f(θ) − y‖² with a numerical Jacobian of f: slow, but independent."""

    def rate(_, point):
        return -numerical_jacobian(f, point).T @ (X.T @ (X @ f(point) - y))

    return solve_ivp(rate, (0, time), theta, method="LSODA", rtol=1e-10, atol=1e-12).y[:, -1]


@pytest.mark.parametrize("depth", [2, 3, 5])
@pytest.mark.parametrize("profile", [None, [0.5, 1.0, 2.0, 0.7]])
def test_tangent_kernel_of_a_diagonal_network_is_that_of_its_jacobian(depth, profile):
    X, _ = gaussian_problem(3, 4, nonzero=2, seed=1)
    model = tacit.Diagonal(depth=depth, scale=0.8, profile=profile)
    J = X @ numerical_jacobian(lambda t: diagonal_predictor(t, depth), diagonal_weights(model, 4))
    np.testing.assert_allclose(model.tangent_kernel(X), J @ J.T, rtol=1e-8)


def test_tangent_kernel_at_depth_two_is_the_one_in_print():
    """Woodworth et al. 2020, Section 4: K(x, x') = 8α²⟨x, x'⟩."""
    X, _ = gaussian_problem(5, 9, seed=2)
    np.testing.assert_allclose(tacit.Diagonal(scale=0.3).tangent_kernel(X), 8 * 0.09 * X @ X.T, rtol=1e-13)


def test_tangent_kernel_of_an_untied_network_is_that_of_its_jacobian():
    X, _ = gaussian_problem(3, 4, nonzero=2, seed=1)
    theta = np.random.default_rng(0).standard_normal(16)
    J = X @ numerical_jacobian(untied_predictor, theta)
    model = tacit.UntiedDiagonal.from_weights(*np.split(theta, 4))
    np.testing.assert_allclose(model.tangent_kernel(X), J @ J.T, rtol=1e-8)
    np.testing.assert_allclose(model.predictor(), untied_predictor(theta), rtol=1e-14)


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_the_power_mean_of_the_weights_is_conserved(depth):
    X, y = gaussian_problem(3, 5, nonzero=2, seed=3)
    model = tacit.Diagonal(depth=depth, scale=0.7, profile=[0.8, 1.0, 1.3, 1.0, 0.9])
    theta = run_flow(lambda t: diagonal_predictor(t, depth), diagonal_weights(model, 5), X, y, 0.7)
    plus, minus = np.split(theta, 2)
    assert np.abs(plus - minus).max() > 0.1  # it has moved
    if depth == 2:
        mean = np.sqrt(plus * minus)
    else:
        mean = ((plus ** (2 - depth) + minus ** (2 - depth)) / 2) ** (1 / (2 - depth))
    (conserved,) = model.conserved().values()
    np.testing.assert_allclose(mean, conserved, rtol=1e-7)


def test_the_three_invariants_of_untied_networks_are_conserved():
    X, y = gaussian_problem(3, 4, nonzero=2, seed=3)
    theta = np.random.default_rng(4).standard_normal(16)
    before = tacit.UntiedDiagonal.from_weights(*np.split(theta, 4)).conserved()
    moved = run_flow(untied_predictor, theta, X, y, 0.5)
    assert np.abs(moved - theta).max() > 0.05
    after = tacit.UntiedDiagonal.from_weights(*np.split(moved, 4)).conserved()
    for name, value in before.items():
        np.testing.assert_allclose(after[name], value, atol=1e-6, err_msg=name)


@examples(100)
@given(st.lists(st.floats(-10, 10).filter(lambda x: abs(x) > 1e-3), min_size=4, max_size=4))
def test_k_without_cancellation_is_the_k_of_appendix_a(weights):
    """Azulay et al. 2021, Appendix A: k = (δ₊ − δ₋)² + 4c²."""
    u, v, u_minus, v_minus = weights
    k = (v**2 - u**2 - v_minus**2 + u_minus**2) ** 2 + 4 * (u * u_minus + v * v_minus) ** 2
    total = sum(w**2 for w in weights)
    if k < 1e-6 * total**2:
        return
    potential = tacit.UntiedDiagonal.from_weights(*weights).potential(1)
    base = getattr(potential, "potential", potential)
    np.testing.assert_allclose(4 * np.exp(base.log_scale), np.sqrt(k), rtol=1e-8)
    # the identity between k and the tangent metric: k + 4w̃² = (u₊² + v₊² + u₋² + v₋²)²
    w = u * v - u_minus * v_minus
    np.testing.assert_allclose(1 / base.hessian([w]), total, rtol=1e-8)


@examples(100)
@given(scale=st.floats(1e-6, 1e3), shape=st.floats(-0.99, 0.99))
def test_scale_and_shape_make_root_k(scale, shape):
    """Azulay et al. 2021, Section 7.1: √k = 4α(1+s²)/(1−s²)."""
    potential = tacit.UntiedDiagonal(scale=scale, shape=shape).potential(3)
    expected = 4 * scale * (1 + shape**2) / (1 - shape**2)
    np.testing.assert_allclose(4 * np.exp(potential.log_scale), expected, rtol=1e-12)


def test_an_untied_network_of_equal_layers_is_a_tied_one():
    X, y = gaussian_problem(8, 30, seed=5)
    tied = tacit.limit(tacit.Diagonal(depth=2, scale=0.2), X, y)
    untied = tacit.limit(tacit.UntiedDiagonal(scale=0.04), X, y)
    np.testing.assert_allclose(untied.predictor, tied.predictor, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(untied.value, tied.value / 2, rtol=1e-12)


def test_a_profile_matters_in_the_rich_limit_above_depth_two_only():
    """At depth 2 the rich end is ℓ1 for any profile; at larger depths it is ℓ1 weighted by profile^(2−D)."""
    X, y = gaussian_problem(8, 30, seed=6)
    profile = np.random.default_rng(0).uniform(0.5, 2.0, 30)
    plain = tacit.limit(tacit.potentials.L1(), X, y).predictor
    for depth, log_scale in ((3, -40.0), (4, -30.0)):
        weighted = tacit.limit(tacit.potentials.L1(profile ** (2.0 - depth)), X, y).predictor
        found = tacit.limit(tacit.Diagonal(depth=depth, log_scale=log_scale, profile=profile), X, y).predictor
        assert relative_error(found, weighted) < 1e-9
        assert relative_error(plain, weighted) > 1e-2
    shallow = tacit.limit(tacit.Diagonal(depth=2, log_scale=-1e5, profile=profile), X, y).predictor
    assert relative_error(shallow, plain) < 1e-3


def test_the_extreme_log_scale_is_legal():
    X, y = gaussian_problem(8, 30, seed=6)
    for depth in (2, 3, 10):
        assert tacit.limit(tacit.Diagonal(depth=depth, log_scale=-1000), X, y).converged


@pytest.mark.parametrize(
    "model",
    [
        tacit.Diagonal(2, 0.1),
        tacit.Diagonal(3, 0.1, profile=np.linspace(0.5, 2, 12)),
        tacit.UntiedDiagonal(0.1, 0.5),
        tacit.UntiedDiagonal(np.linspace(0.1, 1, 12), 0.5),
        tacit.UntiedDiagonal.from_weights(1.0, 0.5, 0.7, -0.2),
        tacit.UntiedDiagonal.from_weights(np.linspace(1, 2, 12), 0.5, 0.7, -0.2),
    ],
    ids=repr,
)
def test_the_potential_of_a_model_can_be_used_in_its_place(model):
    X, y = gaussian_problem(4, 12, nonzero=2, seed=7)
    potential = model.potential(12)
    found = tacit.limit(model, X, y)
    np.testing.assert_array_equal(tacit.limit(potential, X, y).predictor, found.predictor)
    assert tacit.certify(potential, X, y, found.predictor).holds
