"""Neurons, linear networks and factorizations against forward functions and flows written from scratch."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from scipy.integrate import solve_ivp
from scipy.linalg import null_space, orth, sqrtm

from tacit import InputError, NoPotentialError
from tacit.models import Factorization, LinearNetwork, Neuron
from tacit.models.parametrizations import Perceptron


def neuron_forward(weights, X, slope):
    return np.array([weights["a"] * max(t, slope * t) for t in (x @ weights["w"] for x in X)])


def network_forward(weights, X):
    """One row per sample, one column per output."""
    return np.array([weights["V"] @ (weights["U"].T @ x) for x in X])


def factorization_forward(weights, X):
    return np.array([np.trace(weights["U"] @ weights["V"].T @ x.T) for x in X])


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def case(kind):
    """A model, data for it, and its forward function."""
    if kind in ("linear neuron", "leaky neuron"):
        slope = 1.0 if kind == "linear neuron" else 0.3
        model = Neuron(-0.8, normal(4, seed=1), slope=slope)
        return model, normal(5, 4), lambda weights, X: neuron_forward(weights, X, slope)
    if kind == "factorization":
        return (
            Factorization(normal(3, 5, seed=1), normal(4, 5, seed=2)),
            normal(6, 3, 4),
            factorization_forward,
        )
    outputs = int(kind.split()[-1])
    model = LinearNetwork(normal(4, 6, seed=1), normal(outputs, 6, seed=2))
    return model, normal(5, 4), network_forward


KINDS = ["linear neuron", "leaky neuron", "network 1", "network 3", "factorization"]


def packed(weights):
    return np.concatenate([np.ravel(value) for value in weights.values()])


def unpacked(theta, like):
    out, at = {}, 0
    for name, value in like.items():
        size = np.size(value)
        out[name] = theta[at : at + size].reshape(np.shape(value))
        at += size
    return out


def jacobian(f, theta, step=1e-6):
    """Central differences: one row per entry of f, flattened, and one column per weight."""
    columns = [
        (np.ravel(f(theta + e)) - np.ravel(f(theta - e))) / (2 * step) for e in step * np.eye(len(theta))
    ]
    return np.array(columns).T


def model_jacobian(model, X, forward):
    start = model.start()
    return jacobian(lambda theta: forward(unpacked(theta, start), X), packed(start))


def raw_flow(model, X, y, forward, time):
    """Gradient flow of ½Σ(f − y)² on the weights, by differences of the forward function."""
    start = model.start()

    def outputs(theta):
        return np.ravel(forward(unpacked(theta, start), X))

    def rate(_, theta):
        return -jacobian(outputs, theta).T @ (outputs(theta) - np.ravel(y))

    solution = solve_ivp(rate, (0, time), packed(start), method="DOP853", rtol=1e-8, atol=1e-10)
    return unpacked(solution.y[:, -1], start)


@pytest.mark.parametrize("kind", KINDS)
def test_outputs_are_those_of_the_forward_function(kind):
    model, X, forward = case(kind)
    found = model.parametrization.outputs(model.start(), X)
    expected = forward(model.start(), X)
    np.testing.assert_allclose(found, expected[:, 0] if kind == "network 1" else expected, rtol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_the_tangent_kernel_is_that_of_the_jacobian(kind):
    """For several outputs, rows are those of a flattened (samples, outputs) array."""
    model, X, forward = case(kind)
    J = model_jacobian(model, X, forward)
    np.testing.assert_allclose(model.tangent_kernel(X), J @ J.T, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_pull_is_the_gradient_of_the_outputs_weighted(kind):
    model, X, forward = case(kind)
    outputs = np.asarray(model.parametrization.outputs(model.start(), X))
    r = normal(*outputs.shape, seed=3)
    pulled = model.parametrization.pull(model.start(), X, r)
    assert {name: np.shape(value) for name, value in pulled.items()} == {
        name: np.shape(value) for name, value in model.start().items()
    }
    expected = model_jacobian(model, X, forward).T @ np.ravel(r)
    np.testing.assert_allclose(packed(pulled), expected, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_push_is_how_the_predictor_moves_along_pull(kind):
    model, X, _ = case(kind)
    start, p = model.start(), model.parametrization
    r = normal(*np.shape(p.outputs(start, X)), seed=3)
    direction = packed(p.pull(start, X, r))

    def predictor(step):
        weights = unpacked(packed(start) + step * direction, start)
        first, second = weights.values()
        return first * second if "neuron" in kind else first @ second.T

    slope = (predictor(1e-5) - predictor(-1e-5)) / 2e-5
    np.testing.assert_allclose(p.push(start, X, r), slope, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(model.predictor(), predictor(0.0), rtol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_conserved_stays_constant_along_the_flow(kind):
    model, X, forward = case(kind)
    if kind == "leaky neuron":  # data on both sides of the kink, and far from it
        X = X + np.sign(X @ model.weights)[:, None] * model.weights
    y = np.ravel(forward(model.start(), X)) + 0.5 * normal(forward(model.start(), X).size, seed=4)
    end = raw_flow(model, X, y, forward, time=0.3)
    if kind == "leaky neuron":
        sides = np.sign(X @ model.weights)
        np.testing.assert_array_equal(np.sign(X @ end["w"]), sides)
        assert len(set(sides)) == 2
    assert np.abs(packed(end) - packed(model.start())).max() > 0.05  # it has moved
    after = type(model)(*end.values(), **({"slope": model.slope} if "neuron" in kind else {}))
    for name, value in model.conserved().items():
        np.testing.assert_allclose(after.conserved()[name], value, atol=1e-7, err_msg=name)


def test_the_conserved_quantities_are_those_of_the_papers():
    neuron = Neuron(2.0, [1.0, -3.0])
    np.testing.assert_allclose(neuron.conserved()["δ = a² − ‖w‖²"], 4 - 10)
    network, _, _ = case("network 3")
    U, V = network.inner, network.outer
    np.testing.assert_allclose(network.conserved()["Λ = UᵀU − VᵀV"], U.T @ U - V.T @ V, rtol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_predictor_and_outputs_are_the_same_under_jax(kind):
    jax = pytest.importorskip("jax")
    model, X, _ = case(kind)
    p, start = model.parametrization, model.start()
    with jax.enable_x64(True):
        weights = {name: jax.numpy.asarray(value) for name, value in start.items()}
        predictor = jax.jit(p.predictor)(weights)
        outputs = jax.jit(p.outputs)(weights, jax.numpy.asarray(X))
        assert predictor.dtype == outputs.dtype == np.float64
        np.testing.assert_allclose(predictor, p.predictor(start), rtol=1e-13)
        np.testing.assert_allclose(outputs, p.outputs(start, X), rtol=1e-13, atol=1e-14)
        _, pull = jax.vjp(lambda w: p.outputs(w, jax.numpy.asarray(X)), weights)
        (pulled,) = pull(jax.numpy.ones_like(outputs))
        expected = p.pull(start, X, np.ones(outputs.shape))
        for name, value in expected.items():
            np.testing.assert_allclose(pulled[name], value, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("slope", [1e-12, 0.2, 1.0])
def test_activation_is_the_maximum_of_two_lines(slope):
    t = np.array([-2.0, -1e-300, 0.0, 1e-300, 3.0])
    np.testing.assert_array_equal(Perceptron(slope).activation(t), np.maximum(t, slope * t))


def test_a_rounded_kink_is_followed_by_its_derivative():
    rounded = Perceptron(0.2, smoothing=0.1)
    t = np.linspace(-0.5, 0.5, 21)
    slopes = (rounded.activation(t + 1e-6) - rounded.activation(t - 1e-6)) / 2e-6
    np.testing.assert_allclose(rounded.gate(t), slopes, rtol=1e-8)
    far = np.array([-1e6, 1e6])
    np.testing.assert_allclose(rounded.gate(far), [0.2, 1.0], rtol=1e-12)
    np.testing.assert_allclose(rounded.activation(far), Perceptron(0.2).activation(far), rtol=1e-12)


@given(
    scale=st.floats(1e-12, 1e6),
    shape=st.floats(-0.999, 0.999),
    direction=st.lists(st.floats(-1e200, 1e200), min_size=1, max_size=6).filter(any),
    sign=st.sampled_from([1, -1]),
    slope=st.floats(1e-3, 1.0),
)
@examples(60)
def test_scale_shape_and_sign_come_back(scale, shape, direction, sign, slope):
    """Azulay et al. 2021, Section 7.2, and Lemma 1: δ = 4αs/(1−s²)."""
    neuron = Neuron.from_scale(scale, shape, direction, sign=sign, slope=slope)
    a, w = neuron.output, neuron.weights
    length = np.linalg.norm(w)
    np.testing.assert_allclose(abs(a) * length, scale, rtol=1e-12)
    ratio = abs(a) / length
    np.testing.assert_allclose((ratio - 1) / (ratio + 1), shape, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose([neuron.scale, neuron.shape], [scale, shape], rtol=1e-12, atol=1e-14)
    assert np.sign(a) == sign and neuron.slope == slope
    units = np.asarray(direction) / np.max(np.abs(direction))
    np.testing.assert_allclose(w / np.abs(w).max(), units, rtol=1e-12, atol=1e-300)
    (delta,) = neuron.conserved().values()
    np.testing.assert_allclose(delta, 4 * scale * shape / (1 - shape**2), rtol=1e-9, atol=1e-12 * (a * a))


def test_the_shape_of_a_neuron_with_an_empty_layer():
    assert Neuron(0.0, [3.0, 4.0]).shape == -1 and Neuron(2.0, [0.0]).shape == 1
    assert Neuron(0.0, [3.0, 4.0]).scale == 0


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("width", [3, 8])
def test_a_balanced_network_has_the_given_predictor_and_no_imbalance(outputs, width):
    """Min et al. 2021, Section 4, with V = M^{1/4} Qᵀ: zero is U₁ᵀU₁ − VᵀV, not UᵀU − VᵀV."""
    X, theta = normal(4, 7), normal(7, outputs, seed=1)
    model = LinearNetwork.balanced(theta, X, width)
    U, V = model.inner, model.outer
    seen = orth(X.T).T
    np.testing.assert_allclose(model.predictor(), theta, atol=1e-13)
    np.testing.assert_allclose((seen @ U).T @ (seen @ U), V.T @ V, atol=1e-13)
    assert np.abs(U.T @ U - V.T @ V).max() > 0.1
    M = theta.T @ seen.T @ seen @ theta
    np.testing.assert_allclose(V @ V.T, sqrtm(M), atol=1e-13)
    np.testing.assert_allclose(U @ U.T, theta @ np.linalg.inv(sqrtm(M)) @ theta.T, atol=1e-12)


def test_balanced_networks_of_theta_in_the_row_space_are_balanced_throughout():
    X = normal(4, 7)
    model = LinearNetwork.balanced(X.T @ normal(4, seed=1), X, 5)
    assert model.predictor().shape == (7, 1)
    np.testing.assert_allclose(model.conserved()["Λ = UᵀU − VᵀV"], 0, atol=1e-13)


def test_a_balanced_network_needs_no_more_width_than_rank():
    X, theta = normal(4, 7), np.outer(normal(7, seed=1), [1.0, -2.0, 0.5])
    model = LinearNetwork.balanced(theta, X, 1)
    np.testing.assert_allclose(model.predictor(), theta, atol=1e-14)
    with pytest.raises(InputError, match="width must be at least 2, the rank of X theta, got 1"):
        LinearNetwork.balanced(normal(7, 2, seed=1), X, 1)


def test_the_outputs_of_a_balanced_network_do_not_depend_on_the_seed():
    """Min et al. 2021, Appendix A.1: the choice of Q does not affect the trajectory of the error."""
    X, theta, y = normal(3, 5), 0.5 * normal(5, seed=1), normal(3, seed=2)
    ends = []
    for seed in (0, 1):
        model = LinearNetwork.balanced(theta, X, 3, seed=seed)
        end = raw_flow(model, X, y, network_forward, time=0.5)
        ends.append(end["U"] @ end["V"].T)
    assert not np.allclose(LinearNetwork.balanced(theta, X, 3, seed=0).inner, model.inner)
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-7)
    assert np.abs(ends[0][:, 0] - theta).max() > 0.05


def test_theta_that_the_data_cannot_see_has_no_balanced_network():
    X = normal(4, 7)
    hidden = null_space(X)[:, 0]
    for theta in (hidden, np.column_stack([normal(7, seed=1), hidden]), normal(7, 5)):
        with pytest.raises(InputError, match=r"the same rank as theta.*project theta"):
            LinearNetwork.balanced(theta, X, 9)


@pytest.mark.parametrize(("samples", "outputs", "width"), [(4, 1, 5), (4, 1, 9), (4, 3, 20), (9, 2, 12)])
def test_an_orthogonal_network_meets_the_conditions_of_proposition_1(samples, outputs, width):
    """Min et al. 2021: V U₂ᵀ = 0 and U₁U₂ᵀ = 0 (equation 15), and c > 0 (Theorem 1)."""
    X = normal(samples, 7)
    model = LinearNetwork.orthogonal(X, width, outputs)
    U, V = model.inner, model.outer
    seen, unseen, rank = orth(X.T), null_space(X), np.linalg.matrix_rank(X)
    U1, U2 = seen.T @ U, unseen.T @ U
    assert V.shape == (outputs, width) and U.shape == (7, width)
    for product in (V @ U2.T, U1 @ U2.T, U1 @ V.T, model.predictor()):
        np.testing.assert_allclose(product, 0, atol=1e-14)
    eigenvalues = np.linalg.eigvalsh(U1.T @ U1 - V.T @ V)[::-1]
    np.testing.assert_allclose(eigenvalues[:rank], 1, rtol=1e-13)
    np.testing.assert_allclose(eigenvalues[width - outputs :], -1, rtol=1e-13)
    if rank < 7 and width > rank + outputs:
        assert np.linalg.norm(U2) > 0.1
    else:
        np.testing.assert_allclose(U2, 0, atol=1e-14)


def test_an_orthogonal_network_of_rank_deficient_data():
    X = np.vstack([normal(2, 6), normal(2, 6).sum(axis=0)])
    assert LinearNetwork.orthogonal(X, 3).inner.shape == (6, 3)
    with pytest.raises(InputError, match=r"at least 3 = rank of X \(2\) \+ outputs \(1\), got 2"):
        LinearNetwork.orthogonal(X, 2)


def test_an_orthogonal_network_ends_at_the_minimum_norm_solution():
    X, Y = orth(normal(4, 2)).T, normal(2, 2, seed=1)
    minimum = np.linalg.pinv(X) @ Y
    start = LinearNetwork.orthogonal(X, 6, outputs=2)
    end = raw_flow(start, X, Y, network_forward, time=9.0)
    np.testing.assert_allclose(end["U"] @ end["V"].T, minimum, atol=1e-6)
    elsewhere = LinearNetwork(start.inner + 0.3 * null_space(X) @ normal(2, 6, seed=2), start.outer)
    end = raw_flow(elsewhere, X, Y, network_forward, time=9.0)
    assert np.abs(X @ end["U"] @ end["V"].T - Y).max() < 1e-5
    assert np.abs(end["U"] @ end["V"].T - minimum).max() > 1e-2


def test_gaussian_networks_have_the_deviations_asked_for():
    model = LinearNetwork.gaussian(100, 400, outputs=50)
    np.testing.assert_allclose([model.inner.std(), model.outer.std()], 400**-0.5, rtol=0.02)
    model = LinearNetwork.gaussian(100, 400, outputs=50, std=0.3)
    np.testing.assert_allclose([model.inner.std(), model.outer.std()], 0.3, rtol=0.02)
    model = LinearNetwork.gaussian(100, 400, 50, std_inner=0.5, std_outer=0.02)
    np.testing.assert_allclose([model.inner.std(), model.outer.std()], [0.5, 0.02], rtol=0.02)
    model = LinearNetwork.gaussian(100, 400, 50, std=3.0, std_outer=0.0)
    np.testing.assert_allclose([model.inner.std(), model.outer.std()], [3.0, 0.0], rtol=0.02)
    model = Factorization.gaussian((60, 80), 200, scale=0.1)
    assert model.predictor().shape == (60, 80)
    np.testing.assert_allclose([model.left.std(), model.right.std()], 0.1, rtol=0.02)
    np.testing.assert_allclose(model.predictor().std(), 0.1**2 * np.sqrt(200), rtol=0.05)


def test_only_the_sizes_of_the_layers_depend_on_the_deviations():
    """Min et al. 2021, Appendix A.1: σ_U U₀ and σ_V V₀ with the same product σ_U σ_V have the same
    predictor."""
    first = LinearNetwork.gaussian(4, 6, 2, std_inner=0.5, std_outer=0.02, seed=3)
    second = LinearNetwork.gaussian(4, 6, 2, std=0.1, seed=3)
    np.testing.assert_allclose(first.predictor(), second.predictor(), rtol=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        lambda seed: LinearNetwork.gaussian(4, 6, seed=seed),
        lambda seed: LinearNetwork.balanced(normal(4), normal(3, 4), 6, seed=seed),
        lambda seed: LinearNetwork.orthogonal(normal(3, 4), 6, seed=seed),
        lambda seed: Factorization.gaussian((3, 4), 6, 0.1, seed=seed),
    ],
    ids=["gaussian", "balanced", "orthogonal", "factorization"],
)
def test_a_seed_gives_the_same_start_and_a_generator_moves_on(make):
    def same(first, second):
        pairs = zip(first.start().values(), second.start().values(), strict=True)
        return all(np.array_equal(a, b) for a, b in pairs)

    assert same(make(5), make(5)) and not same(make(5), make(6))
    assert same(make(5), make(np.int64(5)))
    first, second = np.random.default_rng(5), np.random.default_rng(5)
    assert same(make(first), make(second)) and not same(make(first), make(first))
    assert not same(make(5), make(np.random.default_rng(5)))
    for bad in (None, -1, 1.5, "a"):
        with pytest.raises(InputError, match="seed must be a whole number"):
            make(bad)


def test_what_is_given_is_copied_and_what_comes_back_is_a_copy():
    w, U, V = np.ones(3), np.ones((3, 2)), np.ones((4, 2))
    models = [Neuron(1.0, w), LinearNetwork(U, V), Factorization(U, V)]
    before = [model.predictor() for model in models]
    for array in (w, U, V):
        array[:] = 7.0
    for model in models:
        for value in model.start().values():
            value[...] = 7.0
    for model, predictor in zip(models, before, strict=True):
        np.testing.assert_array_equal(model.predictor(), predictor)
    with pytest.raises(dataclasses.FrozenInstanceError):
        models[0].output = 2.0


def test_lists_and_whole_numbers_are_taken():
    assert LinearNetwork([[1, 2], [3, 4]], [[1, 0]]).predictor().tolist() == [[1.0], [3.0]]
    assert Factorization([[1, 2]], [[1, 0], [0, 1]]).predictor().tolist() == [[1.0, 2.0]]
    assert Neuron(2, [1, -1]).predictor().tolist() == [2.0, -2.0]


def test_the_data_must_fit_the_model():
    messages = {
        Neuron(1.0, np.ones(5)): "the model has 5 features but the data has 9",
        LinearNetwork(np.ones((5, 2)), np.ones((1, 2))): "the model has 5 features but the data has 9",
        Factorization(
            np.ones((5, 2)), np.ones((4, 2))
        ): "the model takes matrices with 5 rows, but the data has 9",
    }
    for model, message in messages.items():
        for refuse in (model.start, model.potential):
            with pytest.raises(InputError, match=message):
                refuse(9)
        assert packed(model.start(5)).tolist() == packed(model.start()).tolist()
    for model in list(messages)[:2]:
        with pytest.raises(InputError, match="the model has 5 features but the data has 9"):
            model.tangent_kernel(np.ones((3, 9)))
    model = Factorization(np.ones((5, 2)), np.ones((4, 2)))
    with pytest.raises(InputError, match=r"X must have shape \(samples, 5, 4\)"):
        model.tangent_kernel(np.ones((3, 5, 6)))
    with pytest.raises(InputError, match="X must have 3 dimensions"):
        model.tangent_kernel(np.ones((3, 20)))


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("network 1", r"metric of its predictor.*not a function of the predictor alone.*Proposition 1"),
        ("factorization", r"commuting measurements.*Theorem 4"),
    ],
)
def test_why_there_is_no_potential(kind, reason):
    model, _, _ = case(kind)
    with pytest.raises(NoPotentialError, match=reason):
        model.potential()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Neuron(0.0, np.zeros(3)), "output and weights are all 0"),
        (lambda: Neuron([1.0], np.ones(3)), "output must be a single number"),
        (lambda: Neuron(1.0, np.ones((3, 1))), "weights must have 1 dimension"),
        (lambda: Neuron(1.0, []), "weights must have one entry per feature"),
        (lambda: Neuron(1.0, [1.0, np.nan]), r"weights must be finite.*weights\[1\]"),
        (lambda: Neuron(1.0, np.ones(3), slope=0.0), "slope must be above 0 and at most 1, got 0.0"),
        (lambda: Neuron(1.0, np.ones(3), slope=1.5), "slope must be above 0 and at most 1, got 1.5"),
        (lambda: Neuron.from_scale(0.0, 0.0, [1.0]), "scale must be positive"),
        (lambda: Neuron.from_scale(1.0, 1.0, [1.0]), "shape must lie strictly between -1 and 1, got 1"),
        (lambda: Neuron.from_scale(1.0, -1.2, [1.0]), "shape must lie strictly between -1 and 1"),
        (lambda: Neuron.from_scale(1.0, 0.0, [0.0, 0.0]), "direction must not be zero"),
        (lambda: Neuron.from_scale(1.0, 0.0, []), "direction must not be zero"),
        (lambda: Neuron.from_scale(1.0, 0.0, [1.0], sign=0), "sign must be 1 or -1, got 0"),
        (lambda: LinearNetwork(np.ones(3), np.ones((1, 3))), r"inner must be a matrix.*got shape \(3,\)"),
        (lambda: LinearNetwork(np.ones((4, 3)), np.ones(3)), r"outer must be a matrix.*got shape \(3,\)"),
        (lambda: LinearNetwork(np.ones((4, 0)), np.ones((1, 0))), "inner must be a matrix"),
        (lambda: LinearNetwork(np.ones((4, 3)), np.ones((1, 2))), "inner has 3 columns, outer has 2"),
        (lambda: LinearNetwork(np.zeros((4, 3)), np.zeros((1, 3))), "inner and outer are all 0"),
        (
            lambda: LinearNetwork(np.ones((4, 3)), [[1.0, np.inf, 0.0]]),
            r"outer must be finite.*outer\[0, 1\]",
        ),
        (lambda: LinearNetwork.gaussian(4, 0), "width must be at least 1, got 0"),
        (lambda: LinearNetwork.gaussian(4, 2.5), "width must be a whole number, got 2.5"),
        (lambda: LinearNetwork.gaussian(-1, 2), "features must be at least 1, got -1"),
        (lambda: LinearNetwork.gaussian(4, 2, outputs=0), "outputs must be at least 1"),
        (lambda: LinearNetwork.gaussian(4, 2, std_outer=-1.0), "std_outer must not be negative, got -1"),
        (lambda: LinearNetwork.gaussian(4, 2, std=0.0), "inner and outer are all 0"),
        (
            lambda: LinearNetwork.balanced(np.ones(3), np.ones((2, 4)), 5),
            r"X has 4 features, theta is \(3, 1\)",
        ),
        (lambda: LinearNetwork.balanced(np.zeros(4), np.ones((2, 4)), 5), "theta must not be zero"),
        (lambda: LinearNetwork.balanced(np.ones(4), np.ones(4), 5), "X must have 2 dimensions"),
        (lambda: LinearNetwork.balanced(np.ones(4), np.ones((0, 4)), 5), "X must have at least one sample"),
        (lambda: LinearNetwork.orthogonal(np.zeros((2, 4)), 5), "X must not be zero"),
        (lambda: Factorization(np.ones((4, 3)), np.ones((5, 2))), "left has 3 columns, right has 2"),
        (lambda: Factorization(np.ones((4, 3)), np.ones(3)), "right must be a matrix"),
        (lambda: Factorization.gaussian(4, 3, 0.1), "shape must be two whole numbers"),
        (lambda: Factorization.gaussian((4, 5, 6), 3, 0.1), "shape must be two whole numbers"),
        (lambda: Factorization.gaussian((4, 0), 3, 0.1), r"shape\[1\] must be at least 1"),
        (lambda: Factorization.gaussian((4, 5), 3, 0.0), "scale must be positive"),
        (lambda: Factorization.gaussian((4, 5), 3, -0.1), "scale must not be negative"),
    ],
)
def test_bad_input_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_models_say_what_their_numbers_mean():
    neuron = Neuron(3.0, [0.6, 0.8], slope=0.5)
    assert repr(neuron) == "Neuron(output=3, weights=<2 numbers>, slope=0.5)"
    assert neuron.describe() == f"{neuron!r}: scale |a|·‖w‖ = 3, shape 0.5, δ = a² − ‖w‖² = 8"
    assert "slope" not in repr(Neuron(3.0, [1.0]))
    network, _, _ = case("network 3")
    assert repr(network) == "LinearNetwork(inner=<4×6>, outer=<3×6>)"
    imbalance = np.linalg.norm(network.conserved()["Λ = UᵀU − VᵀV"])
    assert network.describe().startswith(f"{network!r}: 4 → 6 → 3, ‖U‖ = ")
    assert network.describe().endswith(f"imbalance ‖UᵀU − VᵀV‖ = {imbalance:.3g}")
    model, _, _ = case("factorization")
    assert repr(model) == "Factorization(left=<3×5>, right=<4×5>)"
    assert model.describe().startswith(f"{model!r}: a 3×4 predictor of rank at most 3, ‖U‖ = ")


def test_wide_networks_are_described_without_a_matrix_of_that_width():
    model = LinearNetwork.gaussian(3, 200_000)
    assert "3 → 200000 → 1" in model.describe()
