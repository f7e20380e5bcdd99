"""Written-out derivatives of parametrizations and losses, against JAX and finite differences."""

import numpy as np
import pytest
from guests import Quartic, Tempered, Twins

import tacit
from tacit.losses import CrossEntropy, Exponential, Logistic, Loss, Square
from tacit.models.parametrizations import Parametrization, Perceptron

RNG = np.random.default_rng(3)
D, N = 5, 4
X = RNG.standard_normal((N, D))
MATRICES = RNG.standard_normal((N, 2, 3))
SYMMETRIC = MATRICES[:, :, :2] + MATRICES[:, :, :2].transpose(0, 2, 1)
MODELS = {
    "diagonal": (tacit.Diagonal(2, 0.7, profile=RNG.uniform(0.5, 2, D)), X),
    "deep": (tacit.Diagonal(3, 0.7, profile=RNG.uniform(0.5, 2, D)), X),
    "between": (tacit.Diagonal(2.5, 0.7, profile=RNG.uniform(0.5, 2, D)), X),
    "untied": (tacit.UntiedDiagonal.from_weights(*RNG.standard_normal((4, D))), X),
    "layers": (tacit.UntiedDiagonal.from_layers(*RNG.standard_normal((2, 4, D))), X),
    "neuron": (tacit.Neuron(0.8, RNG.standard_normal(D)), X),
    "leaky": (tacit.Neuron(-0.8, RNG.standard_normal(D), slope=0.3), X),
    "network": (tacit.LinearNetwork(RNG.standard_normal((D, 3)), RNG.standard_normal((1, 3))), X),
    "outputs": (tacit.LinearNetwork(RNG.standard_normal((D, 3)), RNG.standard_normal((2, 3))), X),
    "wide outputs": (tacit.LinearNetwork(RNG.standard_normal((D, 2)), RNG.standard_normal((3, 2))), X),
    "factors": (tacit.Factorization(RNG.standard_normal((2, 4)), RNG.standard_normal((3, 4))), MATRICES),
    "symmetric": (tacit.SymmetricFactorization(RNG.standard_normal((2, 3))), SYMMETRIC),
}
METHODS = ("jacobian", "curvature", "kernel", "pull", "push")


def case(name):
    """Parametrization, weights other than the initial ones, inputs, and slopes of a loss."""
    model, X = MODELS[name]
    start = model.start(D if X.ndim == 2 else None)
    weights = {key: each + 0.1 * RNG.standard_normal(np.shape(each)) for key, each in start.items()}
    p = model.parametrization.smoothed(weights, X)
    p = Perceptron(p.slope, 0.5) if name == "leaky" else p  # smooth enough for finite differences
    return p, weights, X, RNG.standard_normal(np.shape(p.outputs(weights, X)))


def flat(weights):
    return np.concatenate([np.ravel(each) for each in weights.values()])


def at(weights, place):
    """Weights from a flat vector."""
    ends = np.cumsum([np.size(each) for each in weights.values()])[:-1]
    parts = zip(weights.items(), np.split(place, ends), strict=True)
    return {name: part.reshape(np.shape(each)) for (name, each), part in parts}


def slopes(function, place, step=1e-6):
    """By central differences, with an error of about step² + 1e-16/step."""
    columns = [(function(place + e) - function(place - e)) / (2 * step) for e in step * np.eye(len(place))]
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("name", MODELS)
def test_every_derivative_is_written_out(name):
    """A derivative that is not written out would import JAX in the middle of a flow."""
    kind = type(MODELS[name][0].parametrization)
    assert kind.written_out
    for method in METHODS:
        assert getattr(kind, method) is not getattr(Parametrization, method), method


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("method", METHODS)
def test_derivatives_are_those_of_jax(name, method):
    p, weights, X, r = case(name)
    given = (weights, X) if method in ("jacobian", "kernel") else (weights, X, r)
    found, expected = (getattr(kind, method)(p, *given) for kind in (type(p), Parametrization))
    if method == "pull":
        assert list(found) == list(weights)
        found, expected = (flat({key: each[key] for key in weights}) for each in (found, expected))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_derivatives_are_those_of_differences(name):
    p, weights, X, r = case(name)
    J = slopes(lambda place: np.ravel(p.outputs(at(weights, place), X)), flat(weights))
    np.testing.assert_allclose(p.jacobian(weights, X), J, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(flat(p.pull(weights, X, r)), J.T @ np.ravel(r), rtol=1e-7, atol=1e-7)
    H = slopes(lambda place: flat(p.pull(at(weights, place), X, r)), flat(weights))
    np.testing.assert_allclose(p.curvature(weights, X, r), H, rtol=1e-7, atol=1e-7)


def test_curvature_is_seen_in_every_model():
    """A comparison of zeros would not test anything."""
    for name in MODELS:
        p, weights, X, r = case(name)
        assert np.abs(p.curvature(weights, X, r)).max() > 0.1, name


LABELS = np.where(X[:, 0] > 0, 1.0, -1.0)
CLASSES = np.eye(3)[[0, 2, 1, 2]]
TARGETS = {
    "square": (Square(), X[:, 1]),
    "squares": (Square("sum"), X[:, :2]),
    "exp": (Exponential(), LABELS),
    "logistic": (Logistic(), LABELS),
    "guest of margins": (Tempered(), LABELS),
    "guest": (Quartic(), X[:, 1]),
    "classes": (CrossEntropy(), CLASSES),
}


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("size", [0.1, 1.0])
def test_jacobians_of_losses_are_those_of_differences(name, size):
    loss, y = TARGETS[name]
    f = size * RNG.standard_normal(y.shape)
    expected = slopes(lambda place: np.ravel(loss.pull(place.reshape(y.shape), y)), np.ravel(f))
    found = loss.pull_jacobian(f, y)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-8)
    assert (type(loss).pull_jacobian is Loss.pull_jacobian) == (name == "guest")


def test_jacobians_of_losses_below_the_smallest_float_are_numbers():
    for loss, f in ((Exponential(), 1e5), (Logistic(), 1e5), (CrossEntropy(), 1e5 * CLASSES)):
        y = CLASSES if loss.classes else LABELS
        f = f if loss.classes else f * LABELS * [1.0, 1.1, 1.2, 1.3]
        pull = np.ravel(loss.pull(f, y))
        assert np.isfinite(loss.pull_jacobian(f, y)).all() and np.abs(pull).max() > 0.1


@pytest.mark.every(5)
@pytest.mark.parametrize("loss", ["square", "exp", "logistic"])
@pytest.mark.parametrize("name", ["diagonal", "network", "leaky", "layers"])
def test_flows_and_steps_are_those_with_derivatives_by_jax(name, loss):
    """The same equations in the same integrator differ by round-off only."""
    from tacit.flows.form import Problem
    from tacit.flows.forms.descent import Descent
    from tacit.flows.forms.parameters import Parameters
    from tacit.flows.forms.traced import TracedDescent, TracedParameters

    model, X = MODELS[name]
    loss = tacit.losses.as_loss(loss)
    problem = Problem(model, X, X[:, 1] if loss.quadratic else LABELS, loss, 1e-8)
    written, traced = Parameters(problem), TracedParameters(problem)
    theta = written.start * 1.01
    np.testing.assert_allclose(written.velocity(theta), traced.velocity(theta), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(written.jacobian(theta), traced.jacobian(theta), rtol=1e-11, atol=1e-11)
    for normalized in (False, True) if loss.relative else (False,):
        written, traced = (kind(problem, normalized, 0.01, 100, False) for kind in (Descent, TracedDescent))
        ends = [form._state(form.begin(), 0, 100) for form in (written, traced)]
        np.testing.assert_allclose(ends[0].flat, ends[1].flat, rtol=1e-11, atol=1e-13)
        assert ends[0].log_time == pytest.approx(ends[1].log_time, rel=1e-12)


def test_functions_of_ones_own_are_left_to_jax():
    model = Twins()
    run = tacit.flow(model, X, X[:, 1], method="parameters", until=3.0)
    known = tacit.flow(tacit.Diagonal(2, 0.1), X, X[:, 1], method="parameters", until=3.0)
    np.testing.assert_allclose(run.predictor[-1], known.predictor[-1], rtol=1e-6, atol=1e-8)
