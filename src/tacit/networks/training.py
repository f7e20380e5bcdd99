"""Training of classifiers to zero error, by minibatch SGD with a constant step on the cross-entropy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

Apply = Callable[[Any, Any], Any]
_BLOCK = 1000  # samples evaluated at a time
_NEARLY_FITTED = 0.998  # mean accuracy of the batches of an epoch above which all samples are evaluated
_CHANCE = 0.2  # accuracy after `patience` epochs below which a run has failed


@dataclass(frozen=True, eq=False)
class Course:
    """Record of a training with R runs over E epochs.

    loss, accuracy: mean over the batches of an epoch, each before its step, (E, R). test_error: after each
    epoch, (E, R). fitted: first epoch after which all training samples are classified correctly, or 0 if
    there is none, (R,). end_error, end_loss, moved: test error, training loss and relative change of the
    weights after that epoch, NaN if there is none. lost: whether the run failed. weights: the final weights.
    """

    loss: np.ndarray
    accuracy: np.ndarray
    test_error: np.ndarray
    fitted: np.ndarray
    end_error: np.ndarray
    end_loss: np.ndarray
    moved: np.ndarray
    lost: np.ndarray
    weights: Any


@dataclass(frozen=True)
class Schedule:
    """The batch size, the largest number of epochs, and the seed for the order of the samples.

    Training ends early when every run is fitted or lost. A run is lost if its loss is not finite, if its loss
    no longer changes (no unit is active), or if its accuracy is below a fifth after `patience` epochs.
    """

    batch: int
    epochs: int
    patience: int | None
    seed: int


def train(
    apply: Apply, weights: Any, data: Sequence[Any], steps: Any, schedule: Schedule, *, together: bool = True
) -> Course:
    """Stochastic gradient descent on the mean cross-entropy, w ← w − η ∇L.

    data: training samples and classes, test samples and classes. weights: arrays with a leading axis of runs,
    and as many steps η. together: train all runs at once (vmap); otherwise there is a single run, and the
    arrays have no such axis.
    """
    from tacit.autodiff import jax, jnp

    X, y, X_test, y_test = (jnp.asarray(each) for each in data)
    epoch, evaluate = _compiled(apply, together)
    first = jax.tree.map(jnp.asarray, weights)
    now = jax.tree.map(jnp.copy, first)
    steps = jnp.asarray(steps, jnp.float32)
    rng = np.random.default_rng(schedule.seed)
    course: list[Any] = []
    ends = np.full((4, *np.shape(steps)), np.nan)  # epoch, test error, loss and change of weights when fitted
    for number in range(1, schedule.epochs + 1):
        now, *means = epoch(now, X, y, _batches(rng, len(X), schedule.batch), steps)
        course.append(np.array([*means, np.asarray(evaluate(now, X_test, y_test)[0]) / len(X_test)]))
        loss, accuracy, test_error = course[-1]
        fitted_now = (accuracy >= _NEARLY_FITTED) & ~np.isfinite(ends[0])
        if fitted_now.any():
            wrong, mean = map(np.asarray, evaluate(now, X, y))
            fitted_now &= wrong == 0
            values = [np.full_like(loss, number), test_error, mean, _moved(first, now, together)]
            ends = np.where(fitted_now, np.array(values), ends)
        lost = ~np.isfinite(loss)
        if schedule.patience is not None and number >= schedule.patience:
            lost |= accuracy < _CHANCE
        if number > 1:
            lost |= loss == course[-2][0]
        if np.all(lost | np.isfinite(ends[0])):
            break
    fitted = np.nan_to_num(ends[0]).astype(int)
    means = np.stack(course, 1)
    return Course(means[0], means[1], means[2], fitted, ends[1], ends[2], ends[3], lost & (fitted == 0), now)


def train_last(
    features: Apply, weights: Any, data: Sequence[Any], steps: Sequence[float], schedule: Schedule
) -> Course:
    """Train only the last layer, on fixed features of a network, with all steps at once.

    features(weights, X): the inputs of the last layer. They are divided by their root mean square norm, and
    the layer is multiplied by it, so that step sizes are comparable between networks.
    """
    from tacit.autodiff import jax, jnp

    compute = jax.jit(features)
    blocks = [[each[k : k + _BLOCK] for k in range(0, len(each), _BLOCK)] for each in (data[0], data[2])]
    train_X, test_X = (jnp.concatenate([compute(weights, block) for block in each]) for each in blocks)
    length = jnp.sqrt(jnp.mean(jnp.sum(train_X**2, 1)))
    start = jnp.repeat((jnp.asarray(weights[-1]) * length)[None], len(steps), 0)
    return train(_linear, start, (train_X / length, data[1], test_X / length, data[3]), steps, schedule)


def _linear(weights: Any, X: Any) -> Any:
    return X @ weights


@lru_cache(maxsize=8)
def _compiled(apply: Apply, together: bool) -> tuple[Any, Any]:
    """Compiled functions for an epoch of training and for the errors and mean loss of a set of samples."""
    from tacit.autodiff import jax, jnp

    def loss_and_correct(weights: Any, X: Any, y: Any) -> tuple[Any, Any]:
        outputs = apply(weights, X).astype(jnp.float32)
        picked = jnp.take_along_axis(outputs, y[:, None].astype(jnp.int32), 1)[:, 0]
        loss = jnp.mean(jax.nn.logsumexp(outputs, 1) - picked)
        return loss, jnp.sum(jnp.argmax(outputs, 1) == y)

    def epoch(weights: Any, X: Any, y: Any, order: Any, step: Any) -> tuple[Any, Any, Any]:
        def update(weights: Any, rows: Any) -> tuple[Any, Any]:
            values, gradient = jax.value_and_grad(loss_and_correct, has_aux=True)(weights, X[rows], y[rows])
            return jax.tree.map(lambda w, g: w - step * g, weights, gradient), values

        weights, (loss, correct) = jax.lax.scan(update, weights, order)
        return weights, loss.mean(), correct.sum() / order.size

    def evaluate(weights: Any, X: Any, y: Any) -> tuple[Any, Any]:
        block = math.gcd(len(X), _BLOCK)
        parts = X.reshape(-1, block, *X.shape[1:]), y.reshape(-1, block)
        loss, correct = jax.lax.map(lambda part: loss_and_correct(weights, *part), parts)
        return len(X) - correct.sum(), loss.mean()

    if together:
        epoch, evaluate = jax.vmap(epoch, (0, None, None, None, 0)), jax.vmap(evaluate, (0, None, None))
    return jax.jit(epoch, donate_argnums=0), jax.jit(evaluate)


def _batches(rng: np.random.Generator, samples: int, batch: int) -> np.ndarray:
    """Random batches (count, batch) without the remainder; one batch if there are too few samples."""
    batch = min(batch, samples)
    count = samples // batch
    return rng.permutation(samples)[: count * batch].reshape(count, batch).astype(np.int32)


def _moved(first: Any, now: Any, together: bool) -> np.ndarray:
    """The relative change ‖w − w(0)‖/‖w(0)‖ of all weights, for each run."""
    from tacit.autodiff import jax, jnp

    def size(*trees: Any) -> Any:
        axis = (lambda leaf: tuple(range(1, leaf.ndim))) if together else (lambda leaf: None)
        parts = jax.tree.map(lambda *leaves: (leaves[0] - sum(leaves[1:])) ** 2, *trees)
        return jnp.sqrt(sum(jnp.sum(leaf, axis(leaf)) for leaf in jax.tree.leaves(parts)))

    return np.asarray(size(now, first) / size(first))
