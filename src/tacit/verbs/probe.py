"""Kernel or rich: does this network, from this initialization, on these data, learn features?"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.data.arrays import Float, kept
from tacit.errors import InputError
from tacit.losses import Loss, as_loss
from tacit.networks.inputs import as_samples
from tacit.networks.network import Network
from tacit.show.outputs import as_json
from tacit.show.progress import Meter
from tacit.verbs.flow import check_data
from tacit.verbs.probing import Measured, Problem, measure
from tacit.verbs.results import Labelled, Result

if TYPE_CHECKING:
    from tacit.show.figures import Picture
    from tacit.verbs.probe_sweep import ProbeSweep

HELD_OUT = 0.25  # of the samples
_ROWS = 1000  # of the kernel, whose eigenvectors are computed: samples times outputs
_TEST = 1000  # held-out samples
STEPS = 2000


@dataclass(frozen=True, eq=False)
class Probe(Result):
    """What a network does on data: before training, and after a short one beside its linearization.

    Besides its fields it has, by name: `regime`, "kernel", "rich" or "intermediate" by the thresholds of
    `tacit.regime`, and "unknown" where training did not halve the loss; `linearization_gap`, the distance of
    the trained network from the linearized one at the same training loss, and `distance_to_rich`, that from
    the end of the same network with weights a tenth as large (NaN where it was not needed or not reached),
    both on held-out inputs, ‖f − g‖/max(‖f‖, ‖g‖). An end within 10% gives its name; where both are one, or
    the second is not known, the kernel does. `kernel` and `eigenvalues` are of the tangent kernel on the
    training inputs, at the start, and `time_scales` 1/(λᵢ·slope of the loss), in the time of `tacit.flow`.
    `kernel_movement` is ‖K(θ₀ + Δθ) − K‖/‖K‖ for the Δθ that trains the linearized model; `scale_criterion` κ
    of Chizat et al. 2019, small in the kernel regime; `output_size` ‖f(θ₀)‖/‖y‖; `kernel_distance` 1 − cos of
    the angle between the tangent kernels before and after; `layers` how far each moved, ‖W' − W‖/‖W‖;
    `converged` whether training has reached its goal.

    Attributes
    ----------
    network : Network
        As it was given.
    problem : object
        The data, parted into those for training and those held out, and the loss.
    measured : object
        All numbers, and the trained weights.
    names : tuple of str
        What was left out of the data, in words.
    seconds : float
        How long it took.
    """

    network: Network
    problem: Problem
    measured: Measured
    names: tuple[str, ...]  # of what was left out of the data, in words
    seconds: float

    @property
    def regime(self) -> str:
        """The verdict."""
        return self.measured.regime

    @property
    def loss(self) -> Loss:
        """What was trained."""
        return self.problem.loss

    @property
    def kernel(self) -> Float:
        """The tangent kernel at the start, (N·m, N·m)."""
        return self.measured.linear.kernel

    @property
    def eigenvalues(self) -> Float:
        """Of the kernel, from the largest on."""
        return self.measured.linear.eigenvalues

    @property
    def time_scales(self) -> Float:
        """1/(λᵢ·slope of the loss)."""
        return self.measured.linear.time_scales

    @property
    def kernel_movement(self) -> float:
        """How far first-order training would move the kernel, relative."""
        return self.measured.kernel_movement

    @property
    def scale_criterion(self) -> float:
        """κ of Chizat et al. 2019."""
        return self.measured.scale_criterion

    @property
    def output_size(self) -> float:
        """‖f(θ₀)‖/‖y‖; of losses with classes, the typical size of an output."""
        start, y = self.measured.start, self.problem.y
        if not self.loss.quadratic:
            return float(np.sqrt(np.mean(start**2)))
        size = float(np.linalg.norm(y))
        return float(np.linalg.norm(start)) / size if size > 0 else math.inf

    @property
    def linearization_gap(self) -> float:
        """Distance from the linearized model."""
        return self.measured.linearization_gap

    @property
    def distance_to_rich(self) -> float:
        """Distance from the end of a small start."""
        return self.measured.distance_to_rich

    @property
    def kernel_distance(self) -> float:
        """1 − cos between the kernels before and after."""
        return self.measured.kernel_distance

    @property
    def layers(self) -> dict[str, float]:
        """How far each layer moved."""
        return self.measured.layers

    @property
    def converged(self) -> bool:
        """Did training reach its goal?"""
        return self.measured.trained.reached

    @cached_property
    def degree(self) -> float:
        """The degree of homogeneity L that fits best, by ∇f(cθ) = c^{L−1}∇f(θ); 0 where there is none.

        Of doubled networks too, whose outputs are 0.
        """
        X, cotangent = self.problem.X, np.ones((len(self.problem.X), self.measured.start.shape[1]))
        sizes = [float(np.linalg.norm(self.network.rescaled(c).vjp(X, cotangent))) for c in (0.5, 2)]
        degree = 1 + math.log(sizes[1] / sizes[0]) / math.log(4) if min(sizes) > 0 else 0.0
        return degree if 0.5 < degree < 100 else 0.0

    @property
    def trained(self) -> Network:
        """The network after the short training."""
        return self.network.with_weights(self.measured.trained.state)

    def __getstate__(self) -> dict[str, Any]:
        """With what the summary computes on demand: not every function can be pickled."""
        _ = self.degree
        return vars(self)

    def __repr__(self) -> str:
        return (
            f"Probe({self.regime}: linearization gap {self.linearization_gap:.2g}, kernel distance "
            f"{self.kernel_distance:.2g}, κ {self.scale_criterion:.2g})"
        )

    def sweep(self, scales: Any, *, layers: Sequence[str] | str | None = None) -> ProbeSweep:
        """The same network with its weights times each of the scales, trained anew on the same data.

        Parameters
        ----------
        scales : sequence of float
            What the weights are multiplied by.
        layers : sequence of str, or str, optional
            Names of those that are rescaled, all others staying as they are; "last" is the last matrix.

        Returns
        -------
        ProbeSweep
            What the probe measures, over the scales.
        """
        from tacit.verbs.probe_sweep import sweep_of

        return sweep_of(self, scales, layers)

    def doubled(self) -> Probe:
        """The probe of the doubled network, whose outputs are 0 at the start, on the same data."""
        return _probe(self.network.doubled(), self.problem, self.names)

    def summary(self) -> str:
        """The verdict, the numbers behind it, and what to change."""
        from tacit.show.probe_text import probe_report

        return probe_report(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON."""
        trained = self.measured.trained
        content = {
            "regime": self.regime,
            "linearization_gap": self.linearization_gap,
            "distance_to_rich": self.distance_to_rich,
            "kernel_distance": self.kernel_distance,
            "scale_criterion": self.scale_criterion,
            "kernel_movement": self.kernel_movement,
            "output_size": self.output_size,
            "layers": self.layers,
            "eigenvalues": self.eigenvalues,
            "time_scales": self.time_scales,
            "network": repr(self.network),
            "loss": self.loss.name,
            "samples": len(self.problem.X),
            "held_out": len(self.problem.X_test),
            "accuracy": trained.accuracy,
            "time": trained.time,
            "steps": trained.steps,
            "converged": self.converged,
            "reason": trained.reason,
            "seconds": self.seconds,
        }
        found: dict[str, Any] = as_json(content)
        return found

    def _arrays(self) -> Labelled:
        trained = self.measured.trained
        return {
            "eigenvalue": (("mode",), self.eigenvalues),
            "time_scale": (("mode",), self.time_scales),
            "kernel": (("output_here", "output_there"), self.kernel),
            "movement": (("layer",), np.array(list(self.layers.values()))),
            "layer_name": (("layer",), list(self.layers)),
            "training_time": (("step",), trained.times),
            "training_accuracy": (("step",), trained.accuracies),
            "outputs": (("held_out_sample", "output"), self.measured.outputs),
            "linearized_outputs": (("held_out_sample", "output"), self.measured.linearized_outputs),
        }

    def picture(self) -> Picture:
        """Spectrum, training, held-out outputs and layers."""
        from tacit.show.probes import probe_picture

        return probe_picture(self)


def probe(
    network: Any,
    X: Any,
    y: Any,
    *,
    loss: Any = "square",
    seed: int = 0,
    X_test: Any = None,
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
    _check_network(network)
    loss = as_loss(loss)
    X, y = check_data(network, X, y, loss)
    if not (isinstance(most_steps, int | np.integer) and most_steps > 0):
        raise InputError(f"most_steps must be a positive whole number, got {most_steps!r}")
    test = None if X_test is None else network.as_inputs(as_samples(X_test, "X_test"))
    problem, words = _split(X, y, test, loss, network.n_outputs(X), seed, int(most_steps))
    return _probe(network, problem, words)


def _probe(network: Network, problem: Problem, words: tuple[str, ...]) -> Probe:
    begun = time.perf_counter()
    network = network.with_weights(np.asarray(network.weights, dtype=np.float64))
    measured = measure(network, problem, meter_of(problem))
    return Probe(network, problem, measured, words, time.perf_counter() - begun)


def meter_of(problem: Problem) -> Callable[[str], Meter]:
    """What makes a bar for training."""
    zero = np.zeros((len(problem.y), 1)) * problem.y.reshape(len(problem.y), -1)
    first = float(problem.loss.accuracy(zero.reshape(problem.y.shape), problem.y))
    return lambda label: Meter(label, first, problem.goal(zero))


def _check_network(network: Any) -> None:
    """Refuse what is not a Network, saying how it becomes one."""
    if isinstance(network, Network):
        return
    if hasattr(network, "named_parameters"):
        raise InputError("wrap the module: tacit.probe(tacit.Network.from_torch(module), X, y)")
    if isinstance(network, tuple) and len(network) == 2 and callable(network[0]):
        raise InputError("wrap the pair: tacit.probe(tacit.Network(apply, params), X, y)")
    raise InputError(
        f"probe takes a tacit.Network, got {type(network).__name__}: Network(apply, params) for JAX, "
        "Network.from_torch(module) for PyTorch; of a model of the theory, tacit.regime(model, X, y) tells"
    )


def _split(
    X: Any, y: Float, test: Any, loss: Loss, outputs: int, seed: int, most_steps: int
) -> tuple[Problem, tuple[str, ...]]:
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
    return Problem(kept(X[chosen]), kept(y[chosen]), kept(test), loss, most_steps), tuple(words)
