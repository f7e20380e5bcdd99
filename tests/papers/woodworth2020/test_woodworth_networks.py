"""Figures of ReLU networks: comparison with explicit descent, claims that fail for wrong software, data."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from figure_claims import failing, judged

import tacit
from tacit.cli import main
from tacit.data.images import Images
from tacit.networks.architectures import dense, dense_shapes, he_uniform, univariate
from tacit.papers import figures
from tacit.papers.woodworth2020 import classifiers
from tacit.papers.woodworth2020 import figure6 as figure6_synthetic
from tacit.papers.woodworth2020 import figure6c_6d_8 as cifar
from tacit.papers.woodworth2020 import figure6c_6d_8 as figure6_mnist
from tacit.papers.woodworth2020 import figure7 as figure7_univariate

SMALL = {
    "fig7": {"width": 150, "scales": [1e-2, 0.3, 300.0], "layers": [1.0, 0.5], "grid": 41},
    "fig6a": {"depths": [2], "scales": 4, "seeds": 2},
    "fig6b": {"depths": [2], "scales": 4, "seeds": 2},
}
SETTLE = figure7_univariate.settle


def judge(name, seed=0):
    (entry,) = figures(f"woodworth2020/{name}")
    return judged(entry, seed, SMALL[name])


@pytest.mark.every(4)
@pytest.mark.parametrize("name", SMALL)
def test_claims_hold_for_small_networks(name):
    assert failing(judge(name)) == []


def first_step(network, X, y, **options):
    """A wrong flow: it ends at the limit of the linearized model at any scale."""
    end = SETTLE(network, X, y, **options)
    K = network.tangent_kernel(X)
    moved = network.vjp(X, np.linalg.solve(K, y - network.outputs(X)[:, 0]))
    return replace(end, network=network.with_weights(network.weights + 1e-9 * moved))


def scale_forgotten(network, X, y, **options):
    """A wrong flow: it starts all networks at the same scale."""
    size = np.sqrt(np.mean(network.weights**2))
    return SETTLE(network.with_weights(network.weights / size), X, y, **options)


@pytest.mark.thorough
@pytest.mark.parametrize("wrong", [first_step, scale_forgotten])
@pytest.mark.parametrize("name", SMALL)
def test_claims_of_networks_fail_for_wrong_software(name, wrong, monkeypatch):
    figure6_synthetic._of_depth.cache_clear()
    monkeypatch.setattr(figure6_synthetic, "settle", wrong)
    monkeypatch.setattr(figure7_univariate, "settle", wrong)
    assert failing(judge(name)) != []
    figure6_synthetic._of_depth.cache_clear()


def hinges(weights, x):
    inner, bias, outer, offset = weights
    return np.maximum(np.multiply.outer(x, inner) + bias, 0) @ outer + offset


def descended(weights, x, y, step, count):
    """Gradient descent on ½Σ(f − y)² for a pair of univariate networks, (f₁ − f₂)/√2."""
    pair = [[np.array(w) for w in weights] for _ in range(2)]
    for _ in range(count):
        r = (hinges(pair[0], x) - hinges(pair[1], x)) / np.sqrt(2) - y
        for sign, net in zip((1, -1), pair, strict=True):
            inner, bias, outer, _ = net
            pull = step * sign * r / np.sqrt(2)
            h = np.multiply.outer(x, inner) + bias
            back = pull[:, None] * (h > 0) * outer
            net[2] = outer - pull @ np.maximum(h, 0)
            net[0], net[1], net[3] = inner - x @ back, bias - back.sum(0), net[3] - pull.sum()
    return lambda at: (hinges(pair[0], at) - hinges(pair[1], at)) / np.sqrt(2)


@pytest.mark.every(2)
@pytest.mark.parametrize("scale", [0.3, 1.0])
def test_functions_of_figure_7_equal_those_of_gradient_descent(scale):
    weights = [scale * w for w in figure7_univariate._start(40, 1.0, 3)]
    x = np.linspace(-1, 1, 21)
    found = figure7_univariate._learned(tacit.Network(univariate, tuple(weights)).doubled(), x)
    learned = descended(weights, figure7_univariate.POINTS, figure7_univariate.VALUES, 1e-2, 6_000)
    left = np.abs(learned(figure7_univariate.POINTS) - figure7_univariate.VALUES).max()
    assert left < 1e-2 and np.abs(found - learned(x)).max() < 3e-2


def test_the_kernel_interpolant_is_the_nearest_fit_of_the_linearized_model():
    weights = figure7_univariate._start(30, 0.7, 1)
    points, values, x = figure7_univariate.POINTS, figure7_univariate.VALUES, np.linspace(-1, 1, 9)

    def features(at):
        inner, bias, outer, _ = weights
        h = np.multiply.outer(at, inner) + bias
        slopes = (h > 0) * outer
        return np.hstack([slopes * at[:, None], slopes, np.maximum(h, 0), np.ones((len(at), 1))])

    nearest = np.linalg.pinv(features(points)) @ values
    found = figure7_univariate._kernel_interpolant(tacit.Network(univariate, weights), x)
    np.testing.assert_allclose(found, features(x) @ nearest, rtol=0, atol=1e-9)


def test_distances_of_figure_6_equal_those_of_explicit_features():
    rng = np.random.default_rng(5)
    problem = figure6_synthetic._Circle.drawn(rng, test=50)
    start = tuple(0.3 * w for w in he_uniform(dense_shapes(2, 30, 1), rng))
    network = tacit.Network(dense, start)
    error, distance, kernel, fitted = figure6_synthetic._outcome(network, problem)
    W, a = SETTLE(network, problem.X, problem.y).network.params
    wrong = np.maximum(problem.X_test @ W, 0) @ a[:, 0] - problem.y_test

    def features(W, a):
        h = problem.X @ W
        return np.hstack(
            [(problem.X[:, :, None] * ((h > 0) * a[:, 0])[:, None]).reshape(10, -1), np.maximum(h, 0)]
        )

    first, last = features(*start), features(W, a)

    def apart(A, B):
        return 1 - np.sum(A * B) / np.linalg.norm(A) / np.linalg.norm(B)

    assert fitted == 1 and error == pytest.approx(np.mean(wrong**2) / np.mean(problem.y_test**2), rel=1e-6)
    assert distance == pytest.approx(apart(first, last), rel=1e-6)
    assert kernel == pytest.approx(apart(first @ first.T, last @ last.T), rel=1e-6)


def test_a_network_that_does_not_fit_has_nan(monkeypatch):
    monkeypatch.setattr(
        figure6_synthetic, "settle", lambda *a, **o: replace(SETTLE(*a, **o), converged=False)
    )
    problem = figure6_synthetic._Circle.drawn(np.random.default_rng(0))
    network = tacit.Network(dense, he_uniform(dense_shapes(2, 30, 1), np.random.default_rng(1)))
    assert np.isnan(figure6_synthetic._outcome(network, problem)[:3]).all()


def stripes(size, shape, seed=0):
    """Images of easily separable classes: one bright row each."""
    rng = np.random.default_rng(seed)
    labels = (np.arange(size) % min(10, shape[0])).astype(np.uint8)
    pictures = rng.integers(0, 40, (size, *shape), np.uint8)
    pictures[np.arange(size), labels] = 250
    return pictures, labels


def some_images(shape):
    return Images(*stripes(300, shape), *stripes(100, shape, 1))


@pytest.fixture
def small_photographs(monkeypatch):
    """Images of 4 × 4 pixels, for a network with two layers of filters."""
    monkeypatch.setattr(classifiers, "cifar10", lambda: some_images((4, 4, 3)))
    monkeypatch.setattr(classifiers, "VGG11", (64, "M", 64, "M"))


@pytest.mark.thorough
def test_runs_on_digits_end_when_all_samples_are_correct(monkeypatch):
    monkeypatch.setattr(classifiers, "mnist", lambda: some_images((28, 28, 1)))
    sizes = {"scales": [0.3, 3.0], "steps": [1e-6, 0.3], "last_steps": [3.0], "seeds": 2, "width": 50}
    sizes |= {"epochs": 60, "last_epochs": 20, "samples": [300, 100]}
    (entry,) = figures("woodworth2020/fig6c")
    data = entry.make().data(**sizes, seed=0, progress=lambda items, label: items)
    assert np.isnan(data.error.sel(step=1e-6)).all() and (data.fitted.sel(step=0.3) > 0).all()
    np.testing.assert_array_equal(data.best_step, [0.3, 0.3])
    np.testing.assert_array_equal(data.best_error, data.error.sel(step=0.3))
    assert (
        data.best_moved[0] > data.best_moved[1]
    ).all()  # small initializations move farther relative to their size
    assert data.last_error.shape == (1, 2) and (data.last_error < 0.9).all()


def test_the_best_step_has_the_smallest_mean_error():
    runs = {name: np.zeros((2, 3, 2)) for name in ("end_loss", "fitted", "accuracy")}
    runs["error"] = np.array([[[0.3, 0.3], [0.1, 0.2], [0.0, np.nan]], np.full((3, 2), np.nan)])
    runs["moved"] = np.arange(12.0).reshape(2, 3, 2)
    runs |= {
        "scale": np.array([1.0, 9.0]),
        "step": np.array([1.0, 2.0, 3.0]),
        "last_step": np.array([1.0, 2.0]),
    }
    runs |= {"last_error": np.array([[0.5, 0.4], [0.3, 0.2]]), "last_accuracy": np.ones((2, 2))}
    data = figure6_mnist.with_best(figure6_mnist.as_dataset({**runs, "samples": 1, "width": 1}))
    np.testing.assert_array_equal(data.best_error, [[0.1, 0.2], [np.nan, np.nan]])
    np.testing.assert_array_equal(data.best_moved[0], [2.0, 3.0])
    np.testing.assert_array_equal(data.best_step, [2.0, np.nan])
    np.testing.assert_array_equal(data.best_last_error, [0.3, 0.2])


@pytest.mark.thorough
def test_runs_on_photographs_are_shared_by_both_figures(small_photographs, monkeypatch):
    sizes = {"scales": [0.5, 1.0], "steps": [0.01, 0.03], "last_steps": [3.0], "seeds": 1, "narrower": 32}
    sizes |= {
        "batch": 20,
        "pilot": 1,
        "epochs": 3,
        "last_epochs": 2,
        "samples": [60, 20],
        "precision": "float32",
    }
    count = []
    monkeypatch.setattr(cifar, "cifar_runs", lambda **o: count.append(1) or classifiers.cifar_runs(**o))
    parts = [figures(f"woodworth2020/fig{name}")[0].make() for name in ("6d", "8")]
    first, second = (each.data(**sizes, seed=0, progress=lambda items, label: items) for each in parts)
    assert len(count) == 1 and first.identical(second)
    assert first.loss.shape == (2, 1, 3) and set(np.unique(first.step)) <= {0.01, 0.03}
    np.testing.assert_array_equal(first.end_accuracy, first.accuracy[..., -1])
    np.testing.assert_array_equal(first.error, first.test_error[..., -1])


def test_combinations_that_were_not_run_have_nan(small_photographs):
    """With the time limit exceeded: the first seed of all scales comes first."""
    sizes = {
        "scales": [0.5, 1.0],
        "steps": [0.01],
        "last_steps": [3.0],
        "seeds": 2,
        "narrower": 32,
        "batch": 20,
    }
    sizes |= {"pilot": 1, "epochs": 2, "last_epochs": 1, "samples": [40, 20], "precision": "float32"}
    runs = classifiers.cifar_runs(**sizes, seed=0, progress=lambda items, label: items[:3])
    np.testing.assert_array_equal(np.isfinite(runs["error"]), [[True, True], [True, False]])
    assert np.isnan(cifar.as_dataset(runs).end_accuracy[1, 1])


@pytest.fixture
def no_data(monkeypatch, tmp_path):
    monkeypatch.delenv("TACIT_DATA", raising=False)
    for name in ("sklearn", "sklearn.datasets"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.chdir(tmp_path)


def test_without_data_the_error_says_what_to_do(no_data, capsys):
    assert main(["reproduce", "woodworth2020/fig6c"]) == 2
    assert "MNIST was not found: set TACIT_DATA" in capsys.readouterr().err


def test_without_data_the_other_figures_are_made(no_data, monkeypatch, capsys):
    (fast,), (missing,) = figures("woodworth2020/fig3a"), figures("woodworth2020/fig6d")
    monkeypatch.setattr(tacit.papers, "figures", lambda selection: [missing, fast])
    assert main(["reproduce", "woodworth2020", "--json", "all.json"]) == 0
    told = capsys.readouterr()
    assert "woodworth2020/fig6d is skipped: CIFAR-10 was not found" in told.err and "fig3a.png" in told.out
    with open("all.json") as file:
        made = json.load(file)["figures"]
    assert [entry["figure"] for entry in made] == ["woodworth2020/fig6d", "woodworth2020/fig3a"]
    assert "left_out" in made[0] and made[1]["holds"]
