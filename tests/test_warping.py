"""The metric of a neuron in training time and in the warped clock."""

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

import tacit
from tacit.potentials import NeuronPotential
from tacit.warping import hessian_violation, metric, warp, warped_clock


@pytest.mark.parametrize("delta", [-0.4, 0.0, 0.7, 5.0])
def test_only_the_warped_metric_is_a_hessian(delta):
    w = np.array([0.3, -1.1, 0.6])
    assert hessian_violation(lambda v: metric(delta, v), w) > 0.1
    assert hessian_violation(lambda v: warp(delta, v) * metric(delta, v), w) < 1e-9
    np.testing.assert_allclose(
        warp(delta, w) * metric(delta, w), NeuronPotential(delta).hessian(w), rtol=1e-12
    )


def test_the_metric_agrees_with_the_layers():
    a, inner = -0.8, np.array([0.5, 1.2])
    found = metric(a * a - inner @ inner, a * inner)
    np.testing.assert_allclose(found, np.linalg.inv(a * a * np.eye(2) + np.outer(inner, inner)), rtol=1e-12)
    np.testing.assert_allclose(warp(a * a - inner @ inner, a * inner), 1.5 * abs(a), rtol=1e-12)


def test_a_hessian_passes_and_a_permuted_one_does_not():
    hessian = lambda v: np.diag(np.exp(v))  # noqa: E731  of Σ exp
    assert hessian_violation(hessian, [0.1, 0.7]) < 1e-9
    assert hessian_violation(lambda v: np.diag(np.exp(v[::-1])), [0.1, 0.7]) > 0.5


def test_the_clock_is_the_integral_of_the_warp():
    X, y = np.array([[1.0, 0.2], [-0.3, 0.8]]), np.array([1.0, -0.5])
    model = tacit.Neuron(0.7, [0.2, 0.4])
    run = tacit.flow(model, X, y, at=np.linspace(1.3, 12.0, 400))
    tau = warped_clock(run)

    def rates(_, state):
        a, inner = state[0], state[1:]
        descent = X.T @ (y - a * (X @ inner)) / 2
        return np.concatenate([[inner @ descent], a * descent])

    raw = solve_ivp(rates, (0, run.time[-1]), [0.7, 0.2, 0.4], rtol=1e-11, atol=1e-13, dense_output=True)
    exact = [
        quad(lambda t: 1.5 * abs(raw.sol(t)[0]), run.time[0], t, epsabs=1e-9)[0] for t in run.time[::100]
    ]
    np.testing.assert_allclose(tau[::100], exact, atol=1e-5)
    with pytest.raises(tacit.InputError, match="defined for a Neuron only"):
        warped_clock(tacit.flow(tacit.Diagonal(), X, y, until=2.0))


def test_the_metric_is_undefined_if_the_output_weight_is_zero():
    with pytest.raises(tacit.InputError, match="output weight a is 0"):
        metric(-1.0, [0.0, 0.0])
