"""Networks in JAX: outputs, Jacobian products and tangent kernels, compared with finite differences."""

import pickle
import sys

import numpy as np
import pytest
from network_problems import Perceptron, differences, params

import tacit
from tacit.autodiff import jax, jnp
from tacit.networks.kernels import distance_between

RNG = np.random.default_rng(3)
X = RNG.standard_normal((5, 3))


def images(p, X):
    """A convolution, averaged over pixels."""
    out = jax.lax.conv_general_dilated(
        X, p["kernel"], (1, 1), "SAME", dimension_numbers=("NCHW", "HWIO", "NHWC")
    )
    return jnp.tanh(out).mean((1, 2)) @ p["head"]


IMAGES = {"kernel": RNG.standard_normal((2, 2, 3, 4)), "head": RNG.standard_normal((4, 2))}
NETWORKS = {
    "one output": (tacit.Network(Perceptron("tanh"), params(3, 6, 1)), X),
    "two outputs": (tacit.Network(Perceptron("tanh"), params(3, 4, 5, 2)), X),
    "images": (tacit.Network(images, IMAGES), RNG.standard_normal((3, 3, 4, 4))),
    "fewer weights than outputs": (
        tacit.Network(lambda p, X: jnp.outer(X[:, 0], p[0] ** jnp.arange(4.0)), [np.array([0.7])]),
        X,
    ),
}


@pytest.mark.every(2)
@pytest.mark.parametrize("name", NETWORKS)
def test_products_and_kernels_agree_with_finite_differences(name):
    """Fourth-order differences with steps of 1e-3 have errors of 3e-11 here."""
    network, inputs = NETWORKS[name]
    J = differences(network, inputs)
    direction, cotangent = RNG.standard_normal(J.shape[1]), RNG.standard_normal(J.shape[0])
    m = network.n_outputs(inputs)
    assert network.jvp(inputs, direction).ravel() == pytest.approx(J @ direction, abs=1e-9)
    assert network.vjp(inputs, cotangent.reshape(-1, m)) == pytest.approx(cotangent @ J, abs=1e-9)
    kernel = J @ J.T
    assert np.abs(network.tangent_kernel(inputs) - kernel).max() <= 1e-9 * np.abs(kernel).max()
    one = network.with_weights(network.weights.astype(np.float32))
    assert one.tangent_kernel(inputs).dtype == np.float32 == one.outputs(inputs).dtype
    assert np.abs(one.tangent_kernel(inputs) - kernel).max() <= 1e-5 * np.abs(kernel).max()


@pytest.mark.parametrize("memory", [1, 2_000, 9_000, 10**9])
@pytest.mark.parametrize("name", ["one output", "two outputs"])
def test_kernels_do_not_depend_on_the_block_size(name, memory):
    network, inputs = NETWORKS[name]
    whole = network.tangent_kernel(inputs)
    m, cost = network.n_outputs(inputs), network.kernel_cost(inputs, memory=memory)
    blocks = network.tangent_kernel(inputs, memory=memory)
    assert np.abs(blocks - whole).max() <= 1e-13 * np.abs(whole).max() and (blocks == blocks.T).all()
    part = network.tangent_kernel(inputs[:2], inputs[1:], memory=memory)
    assert np.abs(part - whole[: 2 * m, m:]).max() <= 1e-13 * np.abs(whole).max()
    assert cost.rows == len(inputs) * m and cost.jacobian_bytes == cost.rows * network.weights.size * 8
    assert (cost.passes > cost.rows) == (cost.jacobian_bytes > memory)


@pytest.mark.parametrize("memory", [500, 3_000])
def test_the_number_of_rows_agrees_with_the_estimated_cost(monkeypatch, memory):
    network, inputs = NETWORKS["two outputs"]
    made, held, rows = [], [], type(network._backend).rows

    def counted(self, weights, X, basis):
        found = rows(self, weights, X, basis)
        made.append(len(found))
        held.append(found.nbytes)
        return found

    monkeypatch.setattr(type(network._backend), "rows", counted)
    for others in (None, inputs[:3]):
        made.clear()
        cost = network.kernel_cost(inputs, others, memory=memory)
        network.tangent_kernel(inputs, others, memory=memory)
        assert sum(made) == cost.passes and (2 * max(held) <= memory or cost.block == 1)


def test_a_kernel_that_is_too_large_raises_an_error_with_its_cost():
    network, _ = NETWORKS["two outputs"]
    many = np.zeros((40_000, 3))
    assert not network.kernel_cost(many).fits
    with pytest.raises(tacit.InputError, match=r"is too large: kernel 80,000 × 80,000 \(51.2 GB\).*fewer"):
        network.tangent_kernel(many)


def test_linear_and_diagonal_networks_agree_with_the_built_in_models():
    U, V = RNG.standard_normal((3, 7)), RNG.standard_normal((2, 7))
    plain = tacit.Network(lambda p, X: X @ p["U"] @ p["V"].T, {"U": U, "V": V})
    built_in = tacit.LinearNetwork(U, V)
    assert np.abs(plain.tangent_kernel(X) - built_in.tangent_kernel(X)).max() < 1e-12
    (kept,), (other,) = plain.conserved().values(), built_in.conserved().values()
    assert np.abs(kept + other).max() < 1e-12  # the other way round
    diagonal = tacit.UntiedDiagonal.from_weights(*RNG.standard_normal((4, 3)))
    plain = tacit.Network(lambda p, X: X @ (p["u₊"] * p["v₊"] - p["u₋"] * p["v₋"]), diagonal.start(3))
    assert np.abs(plain.tangent_kernel(X) - diagonal.tangent_kernel(X)).max() < 1e-12
    kept, known = plain.conserved(), diagonal.conserved()
    assert len(kept) == 2
    for sign in "₊₋":
        ours = kept[f"imbalance by unit, u{sign} → v{sign}"]
        assert np.abs(ours - known[f"δ{sign} = v{sign}² − u{sign}²"]).max() < 1e-12


@jax.tree_util.register_pytree_with_keys_class
class Module:
    """A pytree of arrays, numbers, functions and None, like equinox modules."""

    def __init__(self, weight, table, rate, function, nothing):
        self.parts = (weight, table, rate, function, nothing)

    def tree_flatten_with_keys(self):
        names = ("weight", "table", "rate", "function", "nothing")
        return [(jax.tree_util.GetAttrKey(n), p) for n, p in zip(names, self.parts, strict=True)], None

    @classmethod
    def tree_unflatten(cls, _, parts):
        return cls(*parts)

    def __call__(self, X):
        weight, table, rate, function, _ = self.parts
        return rate * function(X @ weight)[:, table]


def test_leaves_that_are_not_weights_are_unchanged():
    module = Module(RNG.standard_normal((3, 4)), np.array([2, 0]), 0.5, jnp.tanh, None)
    network = tacit.Network(lambda module, X: module(X), module)
    weight = module.parts[0]
    assert network.outputs(X) == pytest.approx(0.5 * np.tanh(X @ weight)[:, [2, 0]])
    assert [layer.name for layer in network.layers] == ["weight"]
    assert "fixed: table, rate" in repr(network) and "12 weights in 1 layer," in repr(network)
    assert network.rescaled(2.0).params.parts[1] is module.parts[1]
    assert np.array_equal(network.rescaled(2.0).params.parts[0], 2 * weight)


def test_layers_describe_the_flat_weights():
    given = {"b": np.arange(3.0), "a": [np.ones((2, 2)), np.array(7.0)]}
    network = tacit.Network(lambda p, X: X[:, :1] * p["b"].sum(), given)
    assert [(layer.name, layer.shape) for layer in network.layers] == [
        ("a.0", (2, 2)),
        ("a.1", ()),
        ("b", (3,)),
    ]
    assert network.weights.tolist() == [1, 1, 1, 1, 7, 0, 1, 2]
    for layer, part in zip(network.layers, [given["a"][0], given["a"][1], given["b"]], strict=True):
        assert np.array_equal(layer.of(network.weights), part)
    assert network.params["a"][1] == 7 and network.current().weights.tolist() == network.weights.tolist()
    with pytest.raises(ValueError, match="read-only"):
        network.weights[0] = 5


def test_embeddings_take_integers_and_weights_set_the_precision():
    table = RNG.standard_normal((9, 4)).astype(np.float32)
    network = tacit.Network(lambda p, X: p[X].sum(1), table)
    words = np.array([[1, 2], [8, 8], [0, 1]])
    assert np.abs(network.outputs(words) - table[words].sum(1)).max() < 1e-6
    assert network.outputs(words).dtype == np.float32
    assert network.tangent_kernel(words)[0, 4] == 0 and network.tangent_kernel(words)[4, 4] == 4
    dense = tacit.Network(lambda p, X: X @ p, np.ones(3))
    assert (
        dense.outputs(X.astype(np.float32)).dtype == dense.outputs(np.ones((2, 3), int)).dtype == np.float64
    )
    assert dense.outputs([[1, 2, 3]]).tolist() == [[6.0]]


def test_kernel_distances_agree_with_the_angle():
    weights = [W for W, _ in params(3, 6, 2)]
    network = tacit.Network(lambda p, X: jax.nn.relu(X @ p[0]) @ p[1] + p[2], [*weights, np.zeros(2)])
    constant = tacit.Network(lambda p, X: jax.nn.relu(X @ p[0]) @ p[1], weights)
    assert constant.kernel_distance(constant.rescaled(3.0), X) < 1e-30
    assert network.kernel_distance(network.rescaled(3.0), X) > 1e-3  # the bias has another degree
    other = network.with_weights(network.weights + 0.1 * RNG.standard_normal(network.weights.size))
    first, second = network.tangent_kernel(X), other.tangent_kernel(X)
    cosine = np.sum(first * second) / np.linalg.norm(first) / np.linalg.norm(second)
    assert network.kernel_distance(other, X) == pytest.approx(1 - cosine, rel=1e-10)
    assert network.kernel_angle(other, X) == pytest.approx(np.arccos(cosine), rel=1e-10)
    moved = network.movement(other)
    W = network.params[0]
    assert moved["0"] == pytest.approx(np.linalg.norm(other.params[0] - W) / np.linalg.norm(W))
    assert set(moved) == {"0", "1", "2"} and moved["2"] == np.inf
    with pytest.raises(tacit.InputError, match="same layers"):
        network.kernel_distance(tacit.Network(Perceptron("relu"), params(3, 5, 2)), X)


def test_distances_of_kernels_with_zeros():
    """The angle is undefined for a kernel of zeros only, not for a kernel with some zeros."""
    units, ones, zeros = np.eye(2), np.ones((2, 2)), np.zeros((2, 2))
    assert distance_between(units, ones) == pytest.approx(1 - 1 / np.sqrt(2), rel=1e-14)
    assert distance_between(units, -units) == pytest.approx(2, rel=1e-14)
    assert distance_between(units, zeros) == distance_between(zeros, ones) == 1
    assert distance_between(zeros, zeros) == 0


BAD = {
    "traced": (lambda p, X: np.asarray(X @ p), "cannot be traced by JAX"),
    "branch": (lambda p, X: X @ p if p.sum() > 0 else X, "cannot be traced by JAX"),
    "random": (
        lambda p, X: X @ p * np.random.default_rng().random(),
        "not a deterministic function of its weights and inputs",
    ),
    "mixed": (lambda p, X: (X - X.mean(0)) @ p, "depends on the other samples"),
    "nan": (lambda p, X: jnp.log(-jnp.abs(X @ p)), "returns nan at sample 0"),
    "shape": (lambda p, X: (X @ p)[None], r"got shape \(1, 5\)"),
    "failing": (lambda p, X: X @ p[:2], "failed: TypeError"),
}


@pytest.mark.parametrize("name", BAD)
def test_invalid_functions_raise_a_specific_error(name):
    function, words = BAD[name]
    with pytest.raises(tacit.InputError, match=words):
        tacit.Network(function, np.ones(3)).outputs(X)


def test_arguments_are_checked():
    network = NETWORKS["two outputs"][0]
    for call, words in (
        (lambda: tacit.Network(3, 4), "apply must be a function"),
        (lambda: tacit.Network(Perceptron("relu"), {"n": 3}), "no trainable floating-point weights"),
        (lambda: tacit.Network(Perceptron("relu"), np.ones(2) * 1j), "complex"),
        (lambda: tacit.Network(Perceptron("relu"), [np.array([1.0, np.nan])]), "layer 0 has NaN"),
        (lambda: network.outputs([[1.0, np.nan, 2.0]]), r"X must be finite, got nan at X\[0, 1\]"),
        (lambda: network.outputs([["a", "b", "c"]]), "must be numbers"),
        (lambda: network.outputs(np.zeros((0, 3))), "at least one sample"),
        (lambda: network.jvp(X, np.ones(3)), "direction must have shape"),
        (lambda: network.vjp(X, np.ones((5, 3))), "cotangent must have shape"),
        (lambda: network.with_weights(np.ones(3)), "one array of .* numbers; got float64"),
        (lambda: network.predictor(), "no predictor without inputs"),
        (lambda: network.potential(), "tacit.probe"),
    ):
        with pytest.raises(tacit.TacitError, match=words):
            call()


def test_networks_with_zero_initial_outputs_pass_the_check():
    """Round-off in an output of 0 does not count as dependence on other samples."""
    half = RNG.standard_normal(3)
    network = tacit.Network(lambda p, X: X @ (p[0] ** 2 - p[1] ** 2), [half, half])
    assert np.abs(network.outputs(X)).max() < 1e-14


def test_a_network_survives_pickling():
    network = tacit.Network(Perceptron("relu"), params(3, 6, 2))
    again = pickle.loads(pickle.dumps(network))
    assert np.array_equal(again.outputs(X), network.outputs(X)) and repr(again) == repr(network)


def test_without_pytorch_the_error_says_what_to_install(monkeypatch):
    for name in [name for name in sys.modules if name == "tacit.networks.in_torch"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(tacit.InputError, match=r"PyTorch, which is not installed: pip install 'torch>=2.3'"):
        tacit.Network.from_torch(object())


def test_the_configuration_of_jax_is_unchanged():
    before = jax.config.jax_enable_x64
    NETWORKS["two outputs"][0].tangent_kernel(X)
    assert jax.config.jax_enable_x64 == before and jnp.ones(1).dtype == np.float32
