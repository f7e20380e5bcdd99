"""The regime of a network on data: `probe`, and probes of the same network at other scales."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.data.arrays import Float, as_floats, kept
from tacit.data.entries import Inputs
from tacit.errors import InputError
from tacit.losses import Loss, as_loss
from tacit.networks.backend import as_samples
from tacit.networks.measurements import ProbeProblem, measure
from tacit.networks.network import Network, check_network
from tacit.results.probe import Probe, ProbeSweep
from tacit.show.progress import Meter, progress
from tacit.verbs.flow import check_data

HELD_OUT = 0.25  # fraction of the samples
_ROWS = 1000  # rows of the tangent kernel (samples times outputs), whose eigenvectors are computed
_TEST = 1000  # held-out samples, at most
STEPS = 2000  # of gradient descent, at most, by default


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
    """Measure whether a network learns features (rich regime) or stays near its linearization (kernel).

    The network and its linearization are trained until the residual is 1e-2 of the targets (other losses:
    until the loss is 5% of that of outputs 0), by full-batch gradient descent in double precision with steps
    small enough to follow gradient flow. They are compared at the same training loss, on held-out inputs. If
    the kernel would have more than 1,000 rows (samples times outputs), a random subset of samples is used.

    Parameters
    ----------
    network : Network
        The network with its initial weights; `Network.from_torch(module)` for PyTorch.
    X : (N, …) array-like
        Inputs, samples first, of the shape that the network takes.
    y : (N,) or (N, m) array-like
        Targets, or classes, as for `tacit.flow`.
    loss : "square" | "exp" | "logistic" | "cross-entropy" or a Loss, optional
        The training loss.
    seed : int, optional
        Seed for the choice of the held-out samples, a quarter of all, and of a subset of large data.
    X_test : array-like, optional
        Inputs on which to compare, instead of the held-out samples.
    most_steps : int, optional
        The largest number of steps of gradient descent.

    Returns
    -------
    Probe
        The regime, the distances that decide it, and the tangent kernel.

    Raises
    ------
    InputError
        If an argument is invalid.

    See Also
    --------
    Monitor : Measurements during your own training.

    Examples
    --------
    >>> import numpy as np, tacit
    >>> X = np.random.default_rng(0).standard_normal((8, 2))
    >>> network = tacit.Network(lambda w, X: X @ w["v"], {"v": np.ones(2)})  # linear in its weights
    >>> tacit.probe(network, X, X[:, 0]).regime
    'kernel'
    """
    check_network(network)
    loss = as_loss(loss)
    X, y = check_data(network, X, y, loss)
    if not (isinstance(most_steps, int | np.integer) and most_steps > 0):
        raise InputError(f"most_steps must be a positive whole number, got {most_steps!r}")
    test = None if X_test is None else network.as_inputs(as_samples(X_test, "X_test"))
    problem, notes = _split(X, y, test, loss, network.n_outputs(X), seed, int(most_steps))
    return _probe(network, problem, notes)


def doubled(result: Probe) -> Probe:
    """Probe the doubled network on the same data."""
    return _probe(result.network.doubled(), result.problem, result.names)


def _probe(network: Network, problem: ProbeProblem, notes: tuple[str, ...]) -> Probe:
    begun = time.perf_counter()
    network = network.with_weights(np.asarray(network.weights, dtype=np.float64))
    measured = measure(network, problem, meter_of(problem))
    return Probe(network, problem, measured, notes, time.perf_counter() - begun)


def meter_of(problem: ProbeProblem) -> Callable[[str], Meter]:
    """A function that makes a progress bar for training, given its label."""
    zero = np.zeros((len(problem.y), 1)) * problem.y.reshape(len(problem.y), -1)
    first = float(problem.loss.accuracy(zero.reshape(problem.y.shape), problem.y))
    return lambda label: Meter(label, first, problem.goal(zero))


def _split(
    X: Any, y: Float, test: Any, loss: Loss, outputs: int, seed: int, most_steps: int
) -> tuple[ProbeProblem, tuple[str, ...]]:
    """Split the data into training and held-out samples; notes say which samples were left out."""
    order = np.random.default_rng(seed).permutation(len(X))
    held = 0 if test is not None else max(int(HELD_OUT * len(X)), 1)
    if test is None and len(X) < 2:
        raise InputError("probe needs held-out inputs: give two samples or more, or X_test")
    train, notes = order[held:], []
    most = max(_ROWS // outputs, 1)
    if len(train) > most:
        notes.append(f"{most:,} of {len(train):,} training samples, to limit the size of the kernel")
    chosen = np.sort(train[:most])
    test = X[np.sort(order[:held][:_TEST])] if test is None else test
    return ProbeProblem(kept(X[chosen]), kept(y[chosen]), kept(test), loss, most_steps), tuple(notes)


def sweep_of(probe: Probe, scales: Any, layers: Sequence[str] | str | None) -> ProbeSweep:
    """Probe the same network at other scales of its weights."""
    begun = time.perf_counter()
    factors = as_floats(scales, "scales", ndim=(1,))
    if not (len(factors) and (factors > 0).all()):
        raise InputError(f"scales must be one or more positive numbers, got {scales!r}")
    names = _selected(probe.network, layers)
    meter, points = meter_of(probe.problem), []
    for factor in progress(factors.tolist(), "scales"):
        network = probe.network.with_weights(_rescaled(probe.network, factor, names))
        points.append(measure(network, probe.problem, meter))
    seconds = time.perf_counter() - begun
    return ProbeSweep(probe.network, factors, tuple(points), names, probe.loss.name, seconds)


def _selected(network: Network, layers: Sequence[str] | str | None) -> tuple[str, ...]:
    """The names of the layers to rescale; empty for all."""
    chain = network._backend.chain()
    known = [each.name for each in chain]
    if layers is None:
        return ()
    if layers == "last":
        matrices = [each.name for each in chain if len(each.shape) > 1]
        return ((matrices or known)[-1],)
    wanted = (layers,) if isinstance(layers, str) else tuple(layers)
    if wrong := [name for name in wanted if name not in known]:
        raise InputError(f"the network has no layer {wrong[0]!r}; its layers are {', '.join(known)}")
    return wanted


def _rescaled(network: Network, factor: float, names: tuple[str, ...]) -> Any:
    """The weights with those of the named layers (all if empty) multiplied by a factor."""
    weights = np.array(network.weights)
    for layer in network.layers:
        if not names or layer.name in names:
            weights[layer.slice] *= factor
    return weights
