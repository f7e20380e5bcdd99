"""Train the image classifiers of Figures 6(c), 6(d) and 8 of Woodworth et al. 2020 at many scales.

Input and output are plain arrays, so that a machine with a GPU needs JAX and NumPy only. Inputs are
standardized (CIFAR-10: by channel; MNIST: to [0, 1]). Docstrings state the differences from Appendix B.2.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tacit.data.images import Images, cifar10, mnist
from tacit.networks.architectures import (
    VGG11,
    convolutional_features,
    convolutional_shapes,
    dense,
    dense_features,
    dense_shapes,
    he_normal,
    he_uniform,
)
from tacit.networks.training import Course, Schedule, train, train_last
from tacit.papers import Progress
from tacit.papers.reproduction import presets

_LOG = logging.getLogger(__name__)
Runs = dict[str, np.ndarray]
MNIST = presets(
    scales=([0.1, 1.0, 30.0], [0.05, 0.2, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]),
    steps=([0.1, 1.0], [0.01, 0.03, 0.1, 0.2, 0.5, 1.0, 2.0]),  # the large scale needs the small step
    last_steps=([3.0, 30.0], [10.0, 30.0, 100.0, 300.0]),
    seeds=(2, 3),
    width=(300, 5000),
    epochs=(100, 150),
    last_epochs=(50, 200),
    samples=([2000, 2000], [60_000, 10_000]),
)
CIFAR = presets(
    scales=([0.7, 1.0, 1.5], [0.4, 0.5, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0]),
    steps=([0.03], [0.006, 0.03]),
    last_steps=([3.0, 30.0], [3.0, 10.0, 30.0, 100.0]),
    seeds=(1, 2),
    narrower=(16, 1),
    batch=(16, 128),
    pilot=(1, 4),
    epochs=(80, 280),
    last_epochs=(30, 300),
    samples=([256, 500], [50_000, 10_000]),
    precision=("float32", "float32"),
)
_CLASSES = 10
# Mean and standard deviation of the training images, by channel.
_MEAN = np.array([0.4914, 0.4822, 0.4465], np.float32)
_STD = np.array([0.2470, 0.2435, 0.2616], np.float32)


def mnist_runs(
    scales: Sequence[float],
    steps: Sequence[float],
    last_steps: Sequence[float],
    seeds: int,
    width: int,
    epochs: int,
    last_epochs: int,
    samples: Sequence[int],
    *,
    seed: int,
    progress: Progress,
) -> Runs:
    """Train networks with one hidden layer for every scale α, step and seed, and their last layer alone.

    Weights N(0, 2/n) times α, batches of 256, until all training samples are classified correctly, as in the
    paper. The best step is chosen later. Test errors (scale, step, seed) are those after the first epoch with
    all training samples correct; NaN if there is none.
    """
    images = mnist().first(*samples)
    data = _flat(images)
    starts = [
        he_normal(dense_shapes(data[0].shape[1], width, _CLASSES), np.random.default_rng([seed, k]))
        for k in range(seeds)
    ]
    shape = len(scales), len(steps)
    ends: dict[Any, Any] = {}
    for i, j in progress(list(np.ndindex(shape)), "scales and steps"):
        weights = _scaled([np.stack(layer) for layer in zip(*starts, strict=True)], scales[i])
        schedule = Schedule(256, epochs, 20, seed)
        course = train(dense, weights, data, np.full(seeds, steps[j]), schedule)
        ends[i, j] = _end_of_run(course)
        _log_run(f"MNIST, α = {scales[i]:g}, step {steps[j]:g}", course)
    return {
        "scale": np.array(scales, float),
        "step": np.array(steps, float),
        **_stacked(ends, shape),
        **_last_layer(dense_features, starts, data, last_steps, Schedule(256, last_epochs, None, seed)),
        "samples": np.array(len(data[0])),
        "width": np.array(width),
    }


def _scaled(weights: Sequence[np.ndarray], scale: float) -> tuple[np.ndarray, ...]:
    return tuple(np.float32(scale) * np.asarray(layer, np.float32) for layer in weights)


def _stacked(found: dict[Any, dict[str, Any]], shape: tuple[int, ...]) -> Runs:
    """Arrays by name, whose first axes have this shape; NaN for combinations that were not run."""
    (first, *_) = found.values()
    arrays = {name: np.full((*shape, *np.shape(value)), np.nan) for name, value in first.items()}
    for index, values in found.items():
        for name, value in values.items():
            arrays[name][index] = value
    return arrays


def _flat(images: Images) -> list[np.ndarray]:
    """Images as rows of pixels in [0, 1], and their labels."""
    rows = [(part.reshape(len(part), -1) / 255).astype(np.float32) for part in (images.train, images.test)]
    return [rows[0], images.train_labels.astype(np.int32), rows[1], images.test_labels.astype(np.int32)]


def _end_of_run(course: Course) -> dict[str, np.ndarray]:
    """The quantities of a run that are recorded."""
    return {
        "error": course.end_error,
        "end_loss": course.end_loss,
        "moved": course.moved,
        "fitted": course.fitted.astype(float),
        "accuracy": course.accuracy[-1],
    }


def _log_run(name: str, course: Course) -> None:
    """Log the end of a run, because runs take long."""
    _LOG.info(
        "%s: %d epochs, batch accuracy %s, fitted after %s, test error %s, moved %s",
        name,
        len(course.loss),
        np.round(course.accuracy[-1], 5),
        course.fitted,
        np.round(course.test_error[-1], 4),
        np.round(course.moved, 3),
    )


def _last_layer(features: Any, starts: Any, data: Any, steps: Sequence[float], schedule: Schedule) -> Runs:
    """Train the last layer alone: test error and training accuracy after the last epoch (step, seed)."""
    courses = [train_last(features, _scaled(start, 1.0), data, steps, schedule) for start in starts]
    return {
        "last_step": np.array(steps, float),
        "last_error": np.stack([course.test_error[-1] for course in courses], 1),
        "last_accuracy": np.stack([course.accuracy[-1] for course in courses], 1),
    }


def cifar_runs(
    scales: Sequence[float],
    steps: Sequence[float],
    last_steps: Sequence[float],
    seeds: int,
    narrower: int,
    batch: int,
    pilot: int,
    epochs: int,
    last_epochs: int,
    samples: Sequence[int],
    precision: str,
    *,
    seed: int,
    progress: Progress,
) -> Runs:
    """Train the VGG11-like network for every scale α and seed, and its last layer alone.

    Uniform He weights times α and batches of 128, without augmentation, as in the paper. The paper used steps
    of 10⁻⁴ for 2000 epochs; here steps are larger, and training stops when all training samples are
    classified correctly. The step is the one with the most correct samples after a pilot of a few epochs; a
    run that fails starts again with a third of its step. Steps are in units of α^{2−D} (D layers): at large
    scales, where outputs are of order α^D and only signs of errors matter, such a step changes weights by the
    same fraction. Scales below 1 use the step of α = 1, because the plateau on which they start does not
    distinguish steps. narrower divides the number of channels. Convolutions are in `precision`, weights in
    float32.
    """
    images = cifar10().first(*samples)
    plan = tuple(entry if isinstance(entry, str) else entry // narrower for entry in VGG11)
    network, features = _vgg(plan, precision)
    data = [images.train, images.train_labels, images.test, images.test_labels]
    data[1::2] = [labels.astype(np.int32) for labels in data[1::2]]
    shapes = convolutional_shapes(plan, 3, _CLASSES)
    starts = [he_uniform(shapes, np.random.default_rng([seed, k])) for k in range(seeds)]
    ends: dict[Any, Any] = {}
    step_sizes: dict[float, float] = {}
    for k, i in progress(list(np.ndindex(seeds, len(scales))), "seeds and scales"):
        weights = _scaled(starts[k], scales[i])
        trial = max(scales[i], 1.0)
        if trial not in step_sizes:
            tried = [step * trial ** (2 - len(shapes)) for step in steps]
            schedule = Schedule(batch, pilot, None, seed)
            step_sizes[trial] = _best_step(network, _scaled(starts[k], trial), data, tried, schedule)
        schedule = Schedule(batch, epochs, None, seed + k)
        course, step = _train_with_restarts(network, weights, data, step_sizes[trial], schedule)
        ends[i, k] = {**_curves(course, epochs), "step": step}
        _log_run(f"CIFAR-10, α = {scales[i]:g}, step {step:g}", course)
    return {
        "scale": np.array(scales, float),
        **_stacked(ends, (len(scales), seeds)),
        **_last_layer(features, starts, data, last_steps, Schedule(batch, last_epochs, None, seed)),
        "samples": np.array(len(images.train)),
        "narrower": np.array(narrower),
    }


@lru_cache
def _vgg(plan: tuple[int | str, ...], precision: str) -> tuple[Any, Any]:
    """The network as a function of bytes, and the input features of its last layer."""

    def features(weights: Any, X: Any) -> Any:
        X = ((X.astype("float32") / 255 - _MEAN) / _STD).astype(precision)
        filters = tuple(layer.astype(precision) for layer in weights[:-1])
        return convolutional_features(filters, X, plan).astype("float32")

    return lambda weights, X: features(weights, X) @ weights[-1], features


def _best_step(network: Any, weights: Any, data: Any, steps: Sequence[float], schedule: Schedule) -> float:
    """The step with the most correctly classified training samples after a few epochs.

    The loss would be misleading: at large scales it is lowest for the step that makes outputs small soonest.
    """
    if len(steps) == 1:
        return steps[0]
    correct = []
    for step in steps:
        course = train(network, weights, data, step, schedule, together=False)
        correct.append(-1.0 if course.lost else course.accuracy[-1])
        _log_run(f"CIFAR-10, trying step {step:g}", course)
    return steps[int(np.argmax(correct))]


def _train_with_restarts(
    network: Any, weights: Any, data: Any, step: float, schedule: Schedule
) -> tuple[Course, float]:
    """Train; if the run fails (see `Schedule`), restart with a third of the step, at most three times."""
    for _ in range(4):
        course = train(network, weights, data, step, schedule, together=False)
        if not course.lost:
            return course, step
        _log_run(f"CIFAR-10, failed with step {step:g}", course)
        step /= 3
    return course, 3 * step


def _curves(course: Course, epochs: int) -> dict[str, Any]:
    """The end of a run and its curves, NaN after the last epoch."""
    rest = np.full(epochs - len(course.loss), np.nan)
    return {
        "error": course.test_error[-1],
        "fitted": float(course.fitted),
        "end_loss": course.loss[-1],
        "moved": course.moved,
        "loss": np.concatenate([course.loss, rest]),
        "accuracy": np.concatenate([course.accuracy, rest]),
        "test_error": np.concatenate([course.test_error, rest]),
    }
