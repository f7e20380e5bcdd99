"""Kernel or rich: does this network, from this initialization, on these data, learn features?"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.data.arrays import Float, kept
from tacit.data.inputs import Inputs
from tacit.errors import InputError
from tacit.losses import Loss, as_loss
from tacit.networks.inputs import as_samples
from tacit.networks.measurements import ProbeProblem, measure
from tacit.networks.network import Network, check_network
from tacit.results.probe import Probe
from tacit.show.progress import Meter
from tacit.verbs.flow import check_data

if TYPE_CHECKING:
    pass

HELD_OUT = 0.25  # of the samples
_ROWS = 1000  # of the kernel, whose eigenvectors are computed: samples times outputs
_TEST = 1000  # held-out samples
STEPS = 2000


def probe(
    network: Network,
    X: Inputs,
    y: ArrayLike,
    *,
    loss: Loss | str = "square",
    seed: int = 0,
    X_test: Inputs | None = None,
    most_steps: int = STEPS,
) -> Probe:
    """Does the network learn features on these data, or stay near its linearization? A verdict with numbers.

    The network and its linearization are trained to 1e-2 of the targets (other losses: to 5% of the loss at
    outputs of 0), by gradient descent that stays on the flow, on all samples at once, in double precision.
    They are compared at the same training loss, on inputs that were held out. Of kernels of more than 1,000
    rows (samples times outputs), samples are drawn.

    Parameters
    ----------
    network : Network
        With its weights at the start; `Network.from_torch(module)` for PyTorch.
    X : (N, …) array-like
        Inputs, samples first, of the shape that the network takes.
    y : (N,) or (N, m) array-like
        Targets, or classes, as for `tacit.flow`.
    loss : "square" | "exp" | "logistic" | "cross-entropy" or a Loss, optional
        What is minimized.
    seed : int, optional
        Draws what is held out, a quarter of the samples, and what stands for data that are too large.
    X_test : array-like, optional
        Inputs to compare on, instead of those held out.
    most_steps : int, optional
        The largest number of steps of gradient descent.

    Returns
    -------
    Probe
        The regime, the distances that decide it, and the tangent kernel.

    Raises
    ------
    InputError
        Where an argument is not what it should be.

    See Also
    --------
    Monitor : The same questions along your own training.
    """
    check_network(network)
    loss = as_loss(loss)
    X, y = check_data(network, X, y, loss)
    if not (isinstance(most_steps, int | np.integer) and most_steps > 0):
        raise InputError(f"most_steps must be a positive whole number, got {most_steps!r}")
    test = None if X_test is None else network.as_inputs(as_samples(X_test, "X_test"))
    problem, words = _split(X, y, test, loss, network.n_outputs(X), seed, int(most_steps))
    return _probe(network, problem, words)


def doubled(result: Probe) -> Probe:
    """The probe of the doubled network on the same data."""
    return _probe(result.network.doubled(), result.problem, result.names)


def _probe(network: Network, problem: ProbeProblem, words: tuple[str, ...]) -> Probe:
    begun = time.perf_counter()
    network = network.with_weights(np.asarray(network.weights, dtype=np.float64))
    measured = measure(network, problem, meter_of(problem))
    return Probe(network, problem, measured, words, time.perf_counter() - begun)


def meter_of(problem: ProbeProblem) -> Callable[[str], Meter]:
    """What makes a bar for training."""
    zero = np.zeros((len(problem.y), 1)) * problem.y.reshape(len(problem.y), -1)
    first = float(problem.loss.accuracy(zero.reshape(problem.y.shape), problem.y))
    return lambda label: Meter(label, first, problem.goal(zero))


def _split(
    X: Any, y: Float, test: Any, loss: Loss, outputs: int, seed: int, most_steps: int
) -> tuple[ProbeProblem, tuple[str, ...]]:
    """What is trained on and what is held out, and what was left out, in words."""
    order = np.random.default_rng(seed).permutation(len(X))
    held = 0 if test is not None else max(int(HELD_OUT * len(X)), 1)
    if test is None and len(X) < 2:
        raise InputError("a probe compares on held-out inputs: give two samples or more, or X_test")
    train, words = order[held:], []
    most = max(_ROWS // outputs, 1)
    if len(train) > most:
        words.append(f"{most:,} of {len(train):,} training samples, for a kernel that fits")
    chosen = np.sort(train[:most])
    test = X[np.sort(order[:held][:_TEST])] if test is None else test
    return ProbeProblem(kept(X[chosen]), kept(y[chosen]), kept(test), loss, most_steps), tuple(words)
