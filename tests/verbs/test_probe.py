"""Regimes of probes against theory, and linearizations against other computations."""

import json
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tacit
from tacit.losses import as_loss
from tacit.networks.linearization import Linearization
from tacit.networks.measurements import NEAR, curvature, regime_name

N, d = 8, 20
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, d))
Y = X[:, 0] - X[:, 1]
X_TEST = RNG.standard_normal((300, d))


def diagonal(p, X):
    return X @ (p["a"] ** 2 - p["b"] ** 2)


def linear(p, X):
    return X @ p["U"] @ p["V"]


def relu(p, X):
    return jnp.maximum(X @ p["W"] + p["b"], 0) @ p["v"]


def relu_network(scale=1.0, width=12, seed=0):
    rng = np.random.default_rng(seed)
    W, v = rng.standard_normal((d, width)) / np.sqrt(d), rng.standard_normal(width) / np.sqrt(width)
    return tacit.Network(relu, {"W": scale * W, "b": np.zeros(width), "v": scale * v})


@pytest.fixture(scope="module")
def probe():
    return tacit.probe(relu_network().doubled(), X, Y, X_test=X_TEST[:20], most_steps=300)


@pytest.mark.every(2)
@pytest.mark.parametrize("scale", [1e-3, 1e-2, 0.1, 1.0, 1e3])
def test_verdicts_on_diagonal_networks_are_those_of_theory(scale):
    """The distances agree as well, although the probe has only the function."""
    network = tacit.Network(diagonal, {"a": np.full(d, scale), "b": np.full(d, scale)})
    found = tacit.probe(network, X, Y, X_test=X_TEST)
    theory = tacit.regime(tacit.Diagonal(2, scale), X, Y)
    assert found.kernel_distance == pytest.approx(theory.kernel_distance, rel=0.1, abs=1e-5)
    assert found.linearization_gap == pytest.approx(theory.distance_to_kernel, rel=0.25, abs=0.01)
    if theory.distance_to_rich > 2 * NEAR or theory.name == "kernel":  # clear cases
        assert found.regime == theory.name
    else:
        assert found.regime != "kernel"


@pytest.mark.every(2)
@pytest.mark.parametrize("scale", [1e-3, 0.1, 1.0, 1e3])
def test_verdicts_on_linear_networks_are_those_of_theory(scale):
    """Both ends are the minimum-norm solution, so that the change of the kernel decides."""
    start = tacit.LinearNetwork.orthogonal(X, width=40)
    U, V = scale * start.inner, scale * start.outer
    theory = tacit.limit(tacit.LinearNetwork(U, V), X, Y, tol=1e-6).regime
    found = tacit.probe(tacit.Network(linear, {"U": U, "V": V.T}), X, Y, X_test=X_TEST)
    assert found.kernel_distance == pytest.approx(theory.kernel_distance, rel=0.1, abs=1e-3)
    assert found.regime == {"anti-kernel": "rich"}.get(theory.name, theory.name)


def test_the_names_are_decided_by_both_ends():
    assert regime_name(0.05, 0.5, 0.3) == "kernel"
    assert regime_name(0.5, 0.05, 0.3) == "rich"
    assert regime_name(0.5, 0.5, 0.3) == "intermediate"
    assert (regime_name(1e-3, 1e-3, 0.01), regime_name(1e-3, 1e-3, 0.3)) == ("kernel", "rich")
    assert (regime_name(0.5, np.nan, 0.01), regime_name(0.5, np.nan, 0.3)) == ("intermediate", "rich")


def test_the_linearization_under_the_square_loss_is_the_flow_of_its_tangent():
    """Against an integrator that does not use eigenvalues."""
    network = relu_network()
    found = Linearization.of(network, X, Y, as_loss("square"))
    run = tacit.flow(network, X, Y, linearized=True, until=4.0, rtol=1e-10)
    at = found.until(4.0, 100)
    np.testing.assert_allclose((found.start[:, 0] + found.kernel @ at.state), run.outputs[-1], rtol=1e-7)
    assert at.time == pytest.approx(run.time[-1], rel=1e-7)
    np.testing.assert_allclose(found.outputs(X, found.change(at.state))[:, 0], run.outputs[-1], rtol=1e-7)


@pytest.mark.every(2)
@pytest.mark.parametrize("loss", ["logistic", "exp", "cross-entropy"])
def test_the_linearization_under_other_losses_is_near_the_flow_of_its_tangent(loss):
    """Steps of 1/(4λ) do not resolve the flow, but stay within a few percent of it."""
    labels = (Y > 0).astype(int)
    network = relu_network()
    if loss == "cross-entropy":
        W = {**network.params, "v": np.stack([network.params["v"], -network.params["v"][::-1]], axis=1)}
        network = tacit.Network(relu, W)
    y = np.eye(2)[labels] if loss == "cross-entropy" else 2.0 * labels - 1
    run = tacit.flow(network, X, labels, loss=loss, linearized=True, until=3.0)
    found = Linearization.of(network, X, y, as_loss(loss))
    at = found.until(3.0, 2000)
    assert at.accuracy == pytest.approx(3.0, abs=1e-8)
    ends = (found.start.ravel() + found.kernel @ at.state), np.ravel(run.outputs[-1])
    assert np.linalg.norm(ends[0] - ends[1]) < 0.05 * np.linalg.norm(ends[1])
    assert at.time == pytest.approx(run.time[-1], rel=0.2)


def test_curvature_is_the_norm_of_the_second_derivative():
    """Against the full Jacobian, by JAX."""
    network = relu_network()
    rng = np.random.default_rng(1)
    u = rng.standard_normal(network.weights.size)
    with jax.enable_x64(True):

        def outputs(flat):
            return network._backend.traced(network._backend.parts(flat), X)[:, 0]

        second = jax.jacfwd(jax.jacrev(outputs))(jnp.asarray(network.weights))
        whole = np.linalg.norm(np.asarray(second) @ (u / np.linalg.norm(u)), 2)
    assert curvature(network, X, 3 * u) == pytest.approx(whole, rel=0.05)


def test_time_scales_are_those_of_the_loss():
    times = {}
    for loss, curvature_at_zero in (("square", 1 / N), ("exp", 1 / N), ("logistic", 1 / (4 * N))):
        found = Linearization.of(relu_network().doubled(), X, np.sign(Y), as_loss(loss))
        times[loss] = found.time_scales
        expected = 1 / (np.linalg.eigvalsh(found.kernel)[::-1] * curvature_at_zero)
        np.testing.assert_allclose(found.time_scales, expected, rtol=1e-4)


def test_a_probe_says_what_it_found(probe):
    text = probe.summary()
    assert "VERDICT" in text and probe.regime in text and "to change" in text
    assert "‖f(θ₀)‖ = 0·" in text
    content = json.loads(json.dumps(probe.to_dict(), allow_nan=False))
    assert content["regime"] == probe.regime == probe.measured.regime
    assert content["kernel_distance"] == probe.kernel_distance
    assert set(probe.layers) == {layer.name for layer in probe.network.layers}
    np.testing.assert_allclose(probe.kernel, probe.network.tangent_kernel(X), rtol=1e-12)


def test_a_probe_survives_pickling_netcdf_and_drawing(probe, tmp_path):
    again = pickle.loads(pickle.dumps(probe))
    assert again.to_dict() == probe.to_dict()
    probe.to_xarray().to_netcdf(tmp_path / "probe.nc", engine="scipy")
    assert probe.plot(tmp_path / "probe.png").stat().st_size > 10_000


def test_the_advice_is_true(probe, tmp_path):
    """Smaller weights leave the kernel, larger ones keep it."""
    sweep = probe.sweep([0.1, 10.0])
    assert sweep.kernel_distance[0] > 0.1 > 1e-3 > sweep.kernel_distance[1]
    assert sweep.scale_criterion[0] > probe.scale_criterion > sweep.scale_criterion[1]
    assert sweep.regimes[1] == "kernel"
    assert "kernel" in sweep.summary()
    assert json.dumps(sweep.to_dict(), allow_nan=False)
    sweep.to_xarray().to_netcdf(tmp_path / "sweep.nc", engine="scipy")
    assert sweep.plot(tmp_path / "sweep.png").stat().st_size > 5_000


def test_the_last_layer_alone_can_be_rescaled():
    found = tacit.probe(relu_network(), X, Y, X_test=X_TEST[:5], most_steps=5)
    sweep = found.sweep([2.0], layers="last")
    assert sweep.rescaled == ("v",) or sweep.rescaled == ("W",)
    start = sweep.points[0].linear.network.params
    for name in ("W", "b", "v"):
        factor = 2.0 if name in sweep.rescaled else 1.0
        np.testing.assert_allclose(start[name], factor * found.network.params[name])
    with pytest.raises(tacit.InputError, match="no layer 'x'; its layers are W, b, v"):
        found.sweep([1.0], layers="x")


def test_training_that_goes_nowhere_is_no_verdict():
    found = tacit.probe(relu_network(1e-3), X, Y, most_steps=2)
    assert (found.regime, found.converged) == ("unknown", False)
    assert "NOT REACHED" in found.summary()


def test_the_same_seed_holds_out_the_same_samples():
    found = [tacit.probe(relu_network(), X, Y, seed=seed, most_steps=3) for seed in (0, 0, 1)]
    assert found[0].linearization_gap == found[1].linearization_gap != found[2].linearization_gap
    assert len(found[0].problem.X_test) == 2
    assert found[0].kernel.shape == (6, 6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((tacit.Diagonal(), X, Y), "takes a tacit.Network.*tacit.regime"),
        (((relu, {}), X, Y), r"Network\(apply, params\)"),
        ((relu_network(), X[:1], Y[:1]), "two samples or more"),
        ((relu_network(), X[:, :3], Y), "failed"),
        ((relu_network(), X, ["a"] * N), "numbers"),
    ],
)
def test_what_cannot_be_probed_is_refused(arguments, message):
    with pytest.raises(tacit.InputError, match=message):
        tacit.probe(*arguments)
