"""Stochastic gradient descent: agreement with NumPy and explicit gradients, and stopping."""

import numpy as np
import pytest

from tacit.networks.architectures import dense, dense_shapes, he_normal
from tacit.networks.training import Schedule, train


def clouds(rng, samples, spread=0.3):
    """Three classes around three points."""
    y = np.arange(samples) % 3
    centres = np.array([[2.0, 0.0], [-1.0, 1.7], [-1.0, -1.7]])
    return (centres[y] + spread * rng.standard_normal((samples, 2))).astype(np.float32), y.astype(np.int32)


def problem(seed=0):
    rng = np.random.default_rng(seed)
    X, y = clouds(rng, 40)
    X_test, y_test = clouds(rng, 30)
    return X, y, X_test, y_test


def starts(runs, width=5):
    weights = [he_normal(dense_shapes(2, width, 3), np.random.default_rng(k)) for k in range(runs)]
    return tuple(np.stack(layer).astype(np.float32) for layer in zip(*weights, strict=True))


def by_hand(weights, X, y, step, epochs, batch, seed):
    W, V = (w.astype(float) for w in weights)
    rng, losses = np.random.default_rng(seed), []
    for _ in range(epochs):
        order = rng.permutation(len(X))
        for first in range(0, len(X) - batch + 1, batch):
            rows = order[first : first + batch]
            h = X[rows] @ W
            outputs = np.maximum(h, 0) @ V
            shares = np.exp(outputs) / np.exp(outputs).sum(1, keepdims=True)
            losses.append(-np.mean(np.log(shares[np.arange(batch), y[rows]])))
            error = (shares - np.eye(3)[y[rows]]) / batch
            W, V = W - step * X[rows].T @ (error @ V.T * (h > 0)), V - step * np.maximum(h, 0).T @ error
    return W, V, np.array(losses).reshape(epochs, -1).mean(1)


@pytest.mark.every(2)
@pytest.mark.parametrize("together", [True, False])
def test_steps_agree_with_numpy(together):
    X, y, X_test, y_test = data = problem()
    weights, steps = starts(2), np.array([0.1, 0.3])
    if together:
        course = train(dense, weights, data, steps, Schedule(12, 3, None, 5))
    for k in range(2):
        own = tuple(layer[k] for layer in weights)
        if not together:
            course = train(dense, own, data, steps[k], Schedule(12, 3, None, 5), together=False)
        W, V, losses = by_hand(own, X, y, steps[k], 3, 12, 5)
        found = [layer[k] if together else layer for layer in course.weights]
        for mine, expected in zip(found, (W, V), strict=True):
            np.testing.assert_allclose(mine, expected, rtol=0, atol=1e-5)
        wrong = np.argmax(np.maximum(X_test @ W, 0) @ V, 1) != y_test
        at = (slice(None), k) if together else slice(None)
        np.testing.assert_allclose(course.loss[at], losses, rtol=1e-5)
        assert course.test_error[at][-1] == pytest.approx(wrong.mean(), abs=1e-6)


def test_training_stops_when_all_samples_are_fitted():
    data = problem(1)
    weights = starts(3, width=20)
    course = train(dense, weights, data, np.full(3, 0.3), Schedule(10, 100, None, 0))
    assert (course.fitted > 0).all() and len(course.loss) == course.fitted.max() < 100
    for k in range(3):  # training up to this epoch fits all samples and has the recorded error
        again = train(dense, weights, data, np.full(3, 0.3), Schedule(10, int(course.fitted[k]), None, 0))
        W, V = (np.asarray(layer[k]) for layer in again.weights)
        outputs = np.maximum(data[0] @ W, 0) @ V
        assert (np.argmax(outputs, 1) == data[1]).all()
        assert course.end_error[k] == again.test_error[-1, k]
        loss = np.mean(np.log(np.exp(outputs).sum(1)) - outputs[np.arange(40), data[1]])
        assert course.end_loss[k] == pytest.approx(loss, rel=1e-4)
        first = np.concatenate([weights[0][k].ravel(), weights[1][k].ravel()])
        last = np.concatenate([W.ravel(), V.ravel()])
        assert course.moved[k] == pytest.approx(
            np.linalg.norm(last - first) / np.linalg.norm(first), rel=1e-4
        )
    assert not course.lost.any()


def test_failed_runs_are_stopped():
    data = problem(2)
    huge = train(dense, starts(1), data, [1e30], Schedule(10, 50, None, 0))
    dead = tuple(-np.abs(layer) for layer in starts(1))
    positive = (np.abs(data[0]), data[1], *data[2:])
    silent = train(dense, dead, positive, [0.1], Schedule(40, 50, None, 0))  # no unit is active
    for course, epochs in ((huge, 1), (silent, 2)):
        assert course.lost.all() and len(course.loss) == epochs and np.isnan(course.end_error).all()
    right = train(dense, starts(1, 20), data, [0.3], Schedule(10, 100, None, 0))
    other = (data[0], (data[1] + 1) % 3, *data[2:])  # all learned classes are now wrong
    slow = train(dense, right.weights, other, [1e-4], Schedule(10, 50, 4, 0))
    assert slow.lost.all() and len(slow.loss) == 4 and slow.accuracy.max() < 0.2
