"""`descend` against `torch.optim.SGD`, step by step, with PyTorch's own conventions."""

import itertools

import numpy as np
import pytest

import tacit
from tacit import Training

torch = pytest.importorskip("torch", reason="needs PyTorch: make test-torch")
pytestmark = pytest.mark.torch

STEPS = 60
OPTIMIZERS = [
    {"lr": 0.02},
    {"lr": 0.01, "momentum": 0.9},
    {"lr": 0.01, "momentum": 0.9, "nesterov": True},
    {"lr": 0.02, "weight_decay": 0.1},
    {"lr": 0.01, "momentum": 0.5, "weight_decay": 0.1},
    {"lr": 0.01, "momentum": 0.5, "nesterov": True, "weight_decay": 0.1},
]


def problem():
    rng = np.random.default_rng(0)
    return rng.standard_normal((6, 10)), rng.standard_normal(6)


class TwoVectors(torch.nn.Module):
    """w₊^D − w₋^D."""

    def __init__(self, plus, minus, depth):
        super().__init__()
        self.plus, self.minus = (torch.nn.Parameter(torch.tensor(w)) for w in (plus, minus))
        self.depth = depth

    def forward(self, X):
        return X @ (self.plus**self.depth - self.minus**self.depth)


class Product(torch.nn.Module):
    """u∘v."""

    def __init__(self, u, v):
        super().__init__()
        self.u, self.v = torch.nn.Parameter(torch.tensor(u)), torch.nn.Parameter(torch.tensor(v))

    def forward(self, X):
        return X @ (self.u * self.v)


def trained(module, X, y, options, batches=None, steps=STEPS):
    """The parameters after training by PyTorch, with the mean of squares as loss."""
    X, y = torch.tensor(X), torch.tensor(y)
    optimizer = torch.optim.SGD(module.parameters(), **options)
    chosen = itertools.repeat(slice(None)) if batches is None else iter(batches)
    for batch in itertools.islice(chosen, steps):
        optimizer.zero_grad()
        torch.nn.MSELoss()(module(X[batch]), y[batch]).backward()
        optimizer.step()
    return [p.detach().numpy() for p in module.parameters()]


@pytest.mark.parametrize("options", OPTIMIZERS, ids=str)
@pytest.mark.parametrize("depth", [2, 3])
def test_the_weights_are_those_of_pytorch(options, depth):
    X, y = problem()
    model, training = tacit.Diagonal(depth, 0.4), Training.from_torch(**options)
    for steps in (1, 2, STEPS):
        start = np.full(10, 0.4)
        weights = trained(TwoVectors(start, start, depth), X, y, options, steps=steps)
        run = tacit.descend(model, X, y, training, until=0, max_steps=steps)
        for found, known in zip(run.weights.values(), weights, strict=True):
            np.testing.assert_allclose(found, known, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("options", OPTIMIZERS, ids=str)
def test_a_product_of_two_vectors_starts_at_zero(options):
    """β = u∘v from u = √2·α, v = 0 (Even et al. 2023): w± = (u ± v)/2."""
    X, y = problem()
    alpha = 0.3
    u, v = trained(Product(np.full(10, np.sqrt(2) * alpha), np.zeros(10)), X, y, options)
    run = tacit.descend(
        tacit.Diagonal(2, alpha / np.sqrt(2)),
        X,
        y,
        Training.from_torch(**options, product=True),
        until=0,
        max_steps=STEPS,
    )
    plus, minus = run.weights.values()
    np.testing.assert_allclose(plus, (u + v) / 2, rtol=1e-12)
    np.testing.assert_allclose(minus, (u - v) / 2, rtol=1e-12)


@pytest.mark.parametrize("options", OPTIMIZERS[:4], ids=str)
def test_batches_of_a_loader(options):
    X, y = problem()
    generator = torch.Generator().manual_seed(0)
    loader = torch.utils.data.DataLoader(torch.arange(6), batch_size=2, shuffle=True, generator=generator)
    batches = [each.numpy() for _ in range(STEPS // 3) for each in loader]
    start = np.full(10, 0.4)
    weights = trained(TwoVectors(start, start, 2), X, y, options, batches)
    training = Training.from_torch(**options)
    run = tacit.descend(tacit.Diagonal(2, 0.4), X, y, training, until=0, max_steps=STEPS, batches=batches)
    for found, known in zip(run.weights.values(), weights, strict=True):
        np.testing.assert_allclose(found, known, rtol=1e-12)


@pytest.mark.parametrize(
    "options",
    [{"lr": 0.02}, {"lr": 0.001, "momentum": 0.9}, {"lr": 0.005, "momentum": 0.5, "nesterov": True}],
    ids=str,
)
def test_the_prediction_knows_the_end(options):
    X, y = problem()
    start = np.full(10, 0.4)
    plus, minus = trained(TwoVectors(start, start, 2), X, y, options, steps=12_000)
    end = plus**2 - minus**2
    assert np.linalg.norm(X @ end - y) < 1e-6
    found = tacit.limit(tacit.Diagonal(2, 0.4), X, y, training=Training.from_torch(**options))
    error = np.linalg.norm(found.predictor - end) / np.linalg.norm(end)
    assert error < found.distance_to_flow / 4
    audit = tacit.audit((plus, minus), X)
    assert np.linalg.norm(tacit.limit(audit.model, X, X @ end).predictor - end) < 1e-9
