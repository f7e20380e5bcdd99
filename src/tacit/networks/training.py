"""Training a classifier as practice does: minibatches, cross-entropy, constant steps, until all is right."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

Apply = Callable[[Any, Any], Any]
_BLOCK = 1000  # samples that are looked at together
_NEARLY = 0.998  # of a batch right on average over an epoch: time to look at all training samples


@dataclass(frozen=True, eq=False)
class Course:
    """How training went, for so many runs (R) over so many epochs (E).

    loss, accuracy: of batches before their step, on average over an epoch, (E, R). test_error: after it.
    fitted: after which epoch all training samples were right, 0 for never (R,). end_error: the test error
    then, NaN for never. end_loss: the loss of all training samples then. moved: how far weights were then
    from where they started, relative to it. lost: nothing more was to be expected. weights: the last ones.
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
    """Batches of so many samples, so many epochs at the most, in an order that the seed decides.

    Training ends earlier when all runs are fitted or lost: their loss is no number, or does not change at
    all (no unit is active any more), or after `patience` epochs less than a fifth is right.
    """

    batch: int
    epochs: int
    patience: int | None
    seed: int


def train(
    apply: Apply, weights: Any, data: Sequence[Any], steps: Any, schedule: Schedule, *, together: bool = True
) -> Course:
    """Stochastic gradient descent on the mean cross-entropy, w ← w − η ∇L.

    data: training samples, their classes, test samples, theirs. weights: with a leading axis of runs, and
    as many steps η. together: all runs in one product (vmap); otherwise there must be one run, and arrays
    have their own axes only.
    """
    from tacit.autodiff import jax, jnp

    X, y, X_test, y_test = (jnp.asarray(each) for each in data)
    epoch, look = _compiled(apply, together)
    first = jax.tree.map(jnp.asarray, weights)
    now = jax.tree.map(jnp.copy, first)
    steps = jnp.asarray(steps, jnp.float32)
    rng = np.random.default_rng(schedule.seed)
    course: list[Any] = []
    ends = np.full((4, *np.shape(steps)), np.nan)
    for number in range(1, schedule.epochs + 1):
        now, *seen = epoch(now, X, y, _batches(rng, len(X), schedule.batch), steps)
        course.append(np.array([*seen, np.asarray(look(now, X_test, y_test)[0]) / len(X_test)]))
        loss, right, _ = course[-1]
        fresh = (right >= _NEARLY) & ~np.isfinite(ends[0])
        if fresh.any():
            wrong, mean = map(np.asarray, look(now, X, y))
            fresh &= wrong == 0
            reached = [np.full_like(loss, number), course[-1][2], mean, _moved(first, now, together)]
            ends = np.where(fresh, np.array(reached), ends)
        lost = ~np.isfinite(loss)
        if schedule.patience is not None and number >= schedule.patience:
            lost |= right < 0.2
        if number > 1:
            lost |= loss == course[-2][0]
        if np.all(lost | np.isfinite(ends[0])):
            break
    loss, right, test = np.stack(course, 1)
    fitted = np.nan_to_num(ends[0]).astype(int)
    return Course(loss, right, test, fitted, ends[1], ends[2], ends[3], lost & (fitted == 0), now)


def train_last(
    features: Apply, weights: Any, data: Sequence[Any], steps: Sequence[float], schedule: Schedule
) -> Course:
    """The last layer learns, on the features of a network as it is, with every step at once.

    features(weights, X) is what the last of the weights multiply. They are divided by their mean square
    length, and the layer multiplied by it, so that steps do not depend on what makes them.
    """
    from tacit.autodiff import jax, jnp

    make = jax.jit(features)
    parts = [[each[k : k + _BLOCK] for k in range(0, len(each), _BLOCK)] for each in (data[0], data[2])]
    seen = [jnp.concatenate([make(weights, part) for part in each]) for each in parts]
    length = jnp.sqrt(jnp.mean(jnp.sum(seen[0] ** 2, 1)))
    start = jnp.repeat((jnp.asarray(weights[-1]) * length)[None], len(steps), 0)
    held = (seen[0] / length, data[1], seen[1] / length, data[3])
    return train(_linear, start, held, steps, schedule)


def _linear(weights: Any, X: Any) -> Any:
    return X @ weights


@lru_cache(maxsize=8)
def _compiled(apply: Apply, together: bool) -> tuple[Any, Any]:
    """An epoch of training, and a look at a set of samples: how many are wrong, and the mean loss."""
    from tacit.autodiff import jax, jnp

    def judged(weights: Any, X: Any, y: Any) -> tuple[Any, Any]:
        outputs = apply(weights, X).astype(jnp.float32)
        picked = jnp.take_along_axis(outputs, y[:, None].astype(jnp.int32), 1)[:, 0]
        loss = jnp.mean(jax.nn.logsumexp(outputs, 1) - picked)
        return loss, jnp.sum(jnp.argmax(outputs, 1) == y)

    def epoch(weights: Any, X: Any, y: Any, order: Any, step: Any) -> tuple[Any, Any, Any]:
        def move(weights: Any, rows: Any) -> tuple[Any, Any]:
            seen, slope = jax.value_and_grad(judged, has_aux=True)(weights, X[rows], y[rows])
            return jax.tree.map(lambda w, g: w - step * g, weights, slope), seen

        weights, (loss, right) = jax.lax.scan(move, weights, order)
        return weights, loss.mean(), right.sum() / order.size

    def look(weights: Any, X: Any, y: Any) -> tuple[Any, Any]:
        block = math.gcd(len(X), _BLOCK)
        parts = X.reshape(-1, block, *X.shape[1:]), y.reshape(-1, block)
        loss, right = jax.lax.map(lambda part: judged(weights, *part), parts)
        return len(X) - right.sum(), loss.mean()

    if together:
        epoch, look = jax.vmap(epoch, (0, None, None, None, 0)), jax.vmap(look, (0, None, None))
    return jax.jit(epoch, donate_argnums=0), jax.jit(look)


def _batches(rng: np.random.Generator, samples: int, batch: int) -> np.ndarray:
    """All samples in random order, but for a rest that fills no batch; all in one if they are fewer."""
    batch = min(batch, samples)
    count = samples // batch
    return rng.permutation(samples)[: count * batch].reshape(count, batch).astype(np.int32)


def _moved(first: Any, now: Any, together: bool) -> np.ndarray:
    """‖w − w(0)‖/‖w(0)‖ of all weights of a run."""
    from tacit.autodiff import jax, jnp

    def size(*trees: Any) -> Any:
        axis = (lambda leaf: tuple(range(1, leaf.ndim))) if together else (lambda leaf: None)
        parts = jax.tree.map(lambda *leaves: (leaves[0] - sum(leaves[1:])) ** 2, *trees)
        return jnp.sqrt(sum(jnp.sum(leaf, axis(leaf)) for leaf in jax.tree.leaves(parts)))

    return np.asarray(size(now, first) / size(first))
