"""Networks in PyTorch: agreement with JAX, and errors for modules that are not functions."""

import pickle
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from network_problems import differences

import tacit
from tacit.autodiff import jax, jnp

torch = pytest.importorskip("torch", reason="needs PyTorch: make test-torch")
nn = torch.nn
pytestmark = pytest.mark.torch
RNG = np.random.default_rng(7)
X = RNG.standard_normal((5, 3))
IMAGES = RNG.standard_normal((4, 2, 6, 6))


@pytest.fixture(autouse=True)
def seeded():
    torch.set_num_threads(1)
    torch.manual_seed(0)


def dense(activation, *sizes):
    layers = [nn.Linear(a, b) for a, b in pairwise(sizes)]
    inside = [each for layer in layers[:-1] for each in (layer, activation)]
    return nn.Sequential(*inside, layers[-1]).double()


def in_jax(name, p, X):
    """The same network in JAX."""
    act = {"tanh": jnp.tanh, "relu": jax.nn.relu, "gelu": lambda z: jax.nn.gelu(z, approximate=False)}[name]
    return (
        act(act(X @ p["0.weight"].T + p["0.bias"]) @ p["2.weight"].T + p["2.bias"]) @ p["4.weight"].T
        + p["4.bias"]
    )


def convolution_in_jax(p, X):
    out = jax.lax.conv_general_dilated(X, p["0.weight"], (1, 1), "VALID")
    out = jax.nn.relu(out + p["0.bias"][:, None, None])
    return out.reshape(len(X), -1) @ p["3.weight"].T + p["3.bias"]


def both(module, function):
    """The module and the function with the same weights, as networks."""
    ours = tacit.Network.from_torch(module)
    other = tacit.Network(function, {name: each.numpy() for name, each in ours.params.items()})
    order = np.concatenate(
        [np.arange(*layer.slice.indices(10**6)) for layer in sorted(ours.layers, key=lambda each: each.name)]
    )
    return ours, other, order


@pytest.mark.parametrize("name", ["tanh", "relu", "gelu", "convolution"])
def test_results_agree_with_jax(name):
    """Relative differences are at most 1e-9 in double and 1e-5 in single precision."""
    if name == "convolution":
        module = nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(48, 2)).double()
        inputs, function = IMAGES, convolution_in_jax
    else:
        module = dense({"tanh": nn.Tanh(), "relu": nn.ReLU(), "gelu": nn.GELU()}[name], 3, 8, 5, 2)
        inputs, function = X, lambda p, X: in_jax(name, p, X)
    ours, other, order = both(module, function)
    direction, cotangent = RNG.standard_normal(order.size), RNG.standard_normal((len(inputs), 2))
    for dtype, close in ((np.float64, 1e-9), (np.float32, 1e-5)):
        a, b = (each.with_weights(each.weights.astype(dtype)) for each in (ours, other))
        for one, two in (
            (a.outputs(inputs), b.outputs(inputs)),
            (a.tangent_kernel(inputs), b.tangent_kernel(inputs)),
            (a.jvp(inputs, direction), b.jvp(inputs, direction[order])),
            (a.vjp(inputs, cotangent)[order], b.vjp(inputs, cotangent)),
        ):
            assert one.dtype == dtype == two.dtype and np.abs(one - two).max() <= close * np.abs(two).max()
    assert np.abs(ours.tangent_kernel(inputs, memory=5_000) - ours.tangent_kernel(inputs)).max() < 1e-12


def test_kernels_agree_with_finite_differences():
    network = tacit.Network.from_torch(dense(nn.Tanh(), 3, 4, 2))
    J = differences(network, X)
    kernel = J @ J.T
    assert np.abs(network.tangent_kernel(X) - kernel).max() <= 1e-9 * np.abs(kernel).max()
    few = nn.Linear(1, 3, bias=False).double()
    wide = tacit.Network.from_torch(nn.Sequential(few, nn.Tanh()))
    J = differences(wide, X[:, :1])
    assert np.abs(wide.tangent_kernel(X[:, :1]) - J @ J.T).max() < 1e-9


class Tied(nn.Module):
    """A shared weight, a frozen weight and an embedding."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(7, 4)
        self.table.weight.requires_grad_(False)
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.second.weight = self.first.weight
        self.register_buffer("shift", torch.ones(4))

    def forward(self, words):
        return self.second(torch.tanh(self.first(self.table(words).mean(1)))) + self.shift


class Mirrored(nn.Module):
    """A dense layer whose weight is also used outside its module."""

    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(3, 4), nn.Linear(3, 2)

    def forward(self, X):
        return self.outer(torch.tanh(self.inner(X)) @ self.inner.weight)


def test_dense_layers_need_no_jacobian_unless_used_twice():
    dense_only, mirrored = dense(nn.Tanh(), 3, 50, 40, 2), Mirrored().double()
    frozen = dense(nn.Tanh(), 3, 4, 2)
    frozen[0].weight.requires_grad_(False)
    for module, rest in ((dense_only, 0), (mirrored, 16), (frozen, 0), (Branching(3, 2).double(), 8)):
        network = tacit.Network.from_torch(module)
        assert network.kernel_cost(X).weights == rest
        K = network.tangent_kernel(X)
        J = np.array([network.vjp(X, e.reshape(5, 2)) for e in np.eye(10)])
        assert np.abs(K - J @ J.T).max() < 1e-12 * np.abs(K).max()
        assert np.abs(network.tangent_kernel(X[:2], X) - K[:4]).max() < 1e-12 * np.abs(K).max()
    assert "no Jacobian" in tacit.Network.from_torch(dense_only).kernel_cost(X).summary()


def test_shared_weights_count_once_and_frozen_ones_not_at_all():
    network = tacit.Network.from_torch(Tied().double())
    words = np.array([[0, 1], [5, 6], [3, 3]])
    assert [layer.name for layer in network.layers] == ["first.weight", "first.bias", "second.bias"]
    assert network.weights.size == 24 and "fixed: table.weight" in repr(network)
    J = differences(network, words)
    assert np.abs(network.tangent_kernel(words) - J @ J.T).max() < 1e-9
    assert network.outputs(words).dtype == np.float64


def test_networks_stay_in_evaluation_mode_while_the_module_is_trained():
    module = nn.Sequential(
        nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Dropout(0.5), nn.Flatten(), nn.Linear(48, 2)
    )
    for each, words in (
        (module, r"batch normalization in training mode \(1 "),
        (module[3], r"dropout in training mode \(Dropout"),
    ):
        with pytest.raises(tacit.InputError, match=words):
            tacit.Network.from_torch(each.train())
    network = tacit.Network.from_torch(module.eval())
    before = network.outputs(IMAGES)
    assert np.abs(before - module(torch.as_tensor(IMAGES).float()).detach().numpy()).max() < 1e-6
    module.train()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        module(torch.as_tensor(IMAGES).float()).square().mean().backward()
        optimizer.step()
    assert np.array_equal(network.outputs(IMAGES), before) and module.training
    now = network.current().outputs(IMAGES)
    assert np.abs(now - module.eval()(torch.as_tensor(IMAGES).float()).detach().numpy()).max() < 1e-6
    assert network.movement(network.current())["0.weight"] > 0
    assert network.kernel_distance(network.current(), IMAGES) > 0


class Random(nn.Linear):
    def forward(self, X):
        return nn.functional.dropout(super().forward(X), 0.5)


class Branching(nn.Linear):
    def forward(self, X):
        found = super().forward(X)
        return found if float(found.detach().sum()) > -1e9 else -found


class Averaging(nn.Linear):
    def forward(self, X):
        return super().forward(X - X.mean(0))


def test_invalid_modules_raise_a_specific_error():
    for module, words in (
        (Random(3, 2), "not a deterministic function of its weights"),
        (Averaging(3, 2), "depends on the other samples"),
        (nn.LSTM(3, 2), "must return a tensor, got tuple"),
        (nn.Linear(4, 2), "Linear failed: RuntimeError.*4x2"),
        (nn.BatchNorm1d(3, track_running_stats=False).eval(), "keeps no running averages"),
        (nn.LazyLinear(2), "has no shape yet"),
        (nn.Flatten(), "no trainable floating-point weights"),
        (nn.Linear(3, 2).requires_grad_(False), "no trainable floating-point weights"),
        (nn.Linear(3, 2, dtype=torch.complex64), "is complex"),
        (nn.Linear(3, 2, device="meta"), "'meta'"),
        (lambda X: X, "takes a torch.nn.Module, got function"),
    ):
        with pytest.raises(tacit.InputError, match=words):
            tacit.Network.from_torch(module).outputs(X)


def test_modules_with_branches_and_attention_have_kernels():
    for module, inputs in (
        (Branching(3, 2).double(), X),
        (
            nn.Sequential(nn.TransformerEncoderLayer(4, 2, 6, batch_first=True), nn.Flatten())
            .double()
            .eval(),
            RNG.standard_normal((2, 3, 4)),
        ),
    ):
        network = tacit.Network.from_torch(module)
        assert np.linalg.eigvalsh(network.tangent_kernel(inputs)).min() > -1e-10
        u, v = RNG.standard_normal(network.weights.size), RNG.standard_normal(network.outputs(inputs).shape)
        assert np.sum(network.jvp(inputs, u) * v) == pytest.approx(network.vjp(inputs, v) @ u)
        assert network.tangent_kernel(inputs) @ v.ravel() == pytest.approx(
            network.jvp(inputs, network.vjp(inputs, v)).ravel()
        )


def test_inputs_of_any_kind():
    network = tacit.Network.from_torch(nn.Linear(3, 1))
    whole = np.arange(6).reshape(2, 3)
    assert network.outputs(whole).dtype == np.float32 and network.outputs(torch.as_tensor(whole)).shape == (
        2,
        1,
    )
    assert np.array_equal(network.outputs(whole.astype(np.uint8)), network.outputs(whole.astype(float)))


def test_measurements_agree_with_jax():
    module = dense(nn.ReLU(), 3, 8, 5, 2)
    ours, other, _ = both(module, lambda p, X: in_jax("relu", p, X))
    assert ours.balance() == pytest.approx(other.balance())
    assert list(ours.conserved()) == [
        "imbalance by unit, 0.weight → 2.weight",
        "imbalance by unit, 2.weight → 4.weight",
    ]
    for name, value in ours.conserved(X).items():
        assert value == pytest.approx(other.conserved(X)[name])
    found = ours.rebalanced()
    assert (
        np.abs(found.outputs(X) - ours.outputs(X)).max() < 1e-10
        and max(map(abs, found.balance().values())) < 1e-10
    )
    double = ours.doubled()
    assert not double.outputs(X).any()
    assert np.abs(double.tangent_kernel(X) - ours.tangent_kernel(X)).max() < 1e-12
    assert not ours.homogeneity(X).holds
    images = nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(48, 2)).double()
    network = tacit.Network.from_torch(images)
    W, b, head = (network.params[name].numpy() for name in ("0.weight", "0.bias", "3.weight"))
    by_hand = np.sum(head.reshape(2, 3, 16) ** 2, axis=(0, 2)) - np.sum(W**2, axis=(1, 2, 3)) - b**2
    assert network.conserved(IMAGES)["imbalance by unit, 0.weight → 3.weight"] == pytest.approx(by_hand)
    with pytest.raises(tacit.InputError, match="unknown: pass X"):
        network.conserved()
    assert np.abs(network.rebalanced(IMAGES).outputs(IMAGES) - network.outputs(IMAGES)).max() < 1e-10


def test_the_module_of_a_network_has_its_weights():
    module = Tied()
    network = tacit.Network.from_torch(module).rescaled(0.5)
    made, words = network.module, np.array([[0, 1], [5, 6]])
    assert np.abs(made(torch.as_tensor(words)).detach().numpy() - network.outputs(words)).max() < 1e-6
    assert made.first.weight is made.second.weight and not made.table.weight.requires_grad
    assert torch.equal(made.first.weight, module.first.weight / 2)
    with torch.no_grad():
        made.first.bias += 1
    assert not torch.equal(made.first.bias, module.first.bias)
    with pytest.raises(tacit.InputError, match="in JAX has no module"):
        _ = tacit.Network(lambda p, X: X @ p, np.ones(3)).module


def test_pytorch_is_not_imported_for_networks_in_jax():
    use = "tacit.Network(lambda p, X: X @ p, numpy.ones(3)).tangent_kernel(numpy.eye(3))"
    code = f"import sys, numpy, tacit; {use}"
    subprocess.run([sys.executable, "-c", f"{code}; assert 'torch' not in sys.modules"], check=True)


def test_a_network_survives_pickling():
    network = tacit.Network.from_torch(dense(nn.Tanh(), 3, 4, 2))
    again = pickle.loads(pickle.dumps(network))
    assert np.array_equal(again.outputs(X), network.outputs(X)) and repr(again) == repr(network)


@pytest.mark.parametrize(
    "options",
    [
        {"until": 6.0},
        {"method": "descent", "step": 0.05, "times": [0.5, 5.0]},
        {"linearized": True, "until": 6.0},
    ],
)
@pytest.mark.parametrize("loss", ["square", "cross-entropy"])
def test_flows_and_descent_agree_with_jax(loss, options):
    module = dense(nn.Tanh(), 3, 6, 5, 2)
    ours, other, _ = both(module, lambda p, X: in_jax("tanh", p, X))
    y = RNG.standard_normal((5, 2)) if loss == "square" else ["a", "b", "b", "a", "b"]
    options = {**options, "until": 2.0} if "until" in options and loss != "square" else options
    a, b = (tacit.flow(each, X, y, loss=loss, rtol=1e-6, **options) for each in (ours, other))
    assert a.converged and b.converged
    assert np.abs(a.outputs[-1] - b.outputs[-1]).max() < 1e-6 and a.time[-1] == pytest.approx(
        b.time[-1], rel=1e-5
    )
    for name, weights in a.weights_at(-1).items():
        assert np.abs(weights - b.weights_at(-1)[name]).max() < 1e-5
    assert a.kernel_distance[-1] == pytest.approx(b.kernel_distance[-1], abs=1e-6)
    assert "Network(Sequential" in a.summary() and a.to_dict()["model"] == repr(ours)
