"""Measurements of `tacit.probe` on a network: criteria before training, and distances after a short one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.losses import Loss
from tacit.networks.descent import Descent, Trained, WeightTraining
from tacit.networks.kernels import distance_between
from tacit.networks.linearization import Linearization
from tacit.networks.network import Network

NEAR = 0.1  # relative distance within which an end gives the regime its name, as in `tacit.regime`
SAME = 2e-2  # relative distance below which two ends are the same: twice the residual of training
SMALL = 0.1  # factor of the weights for the rich end: closer to it, but training still leaves the plateau
RESIDUAL = 1e-2  # square loss: residuals at the end, relative to the start or to outputs of 0 if that is less
LOSS = 5e-2  # other losses: the loss at the end, relative to the same
_FOR_SPREAD = 8  # samples needed to measure the spread of the outputs
HALVED = math.log(2)  # the least gain in accuracy of a training from which a regime is concluded
_DIFFERENCE = 1e-6  # change of the weights in finite differences of Jacobian products, relative to their norm
_POWERS = 12  # iterations of the power method, which give the norm to a few percent


@dataclass(frozen=True, eq=False)
class ProbeProblem:
    """The data and the training of a probe: training inputs and targets, held-out inputs, loss and steps."""

    X: Any
    y: Float
    X_test: Any
    loss: Loss
    most_steps: int

    def goal(self, start: Float) -> float:
        """The accuracy at which training ends, given the outputs at the start."""
        levels = [self.loss.accuracy(f.reshape(self.y.shape), self.y) for f in (start, np.zeros_like(start))]
        most = max(float(level) for level in levels)
        return most - (2 * math.log(RESIDUAL) if self.loss.quadratic else math.log(LOSS))

    def distance(self, first: Float, second: Float) -> float:
        """The relative distance ‖f − g‖/max(‖f‖, ‖g‖) of outputs f and g.

        For the square loss, means are subtracted before taking the norms in the denominator: a large mean of
        the targets, such as an octane number of 87, would hide every difference.
        """
        centred = self.loss.quadratic and len(first) >= _FOR_SPREAD
        size = max(float(np.linalg.norm(f - centred * f.mean(axis=0))) for f in (first, second))
        difference = float(np.linalg.norm(first - second))
        return difference / size if size > 0 else 0.0


@dataclass(frozen=True, eq=False)
class Measured:
    """Measurements of a network on data, with the names of `Probe`."""

    start: Float  # outputs on the training inputs
    linear: Linearization
    scale_criterion: float
    kernel_movement: float
    trained: Trained
    linearized: Trained  # its state is the coefficients of the linearized model
    outputs: Float  # outputs of the trained network on the held-out inputs
    linearized_outputs: Float
    linearization_gap: float
    distance_to_rich: float
    kernel_distance: float
    layers: dict[str, float]

    @property
    def regime(self) -> str:
        """The name of the regime, or "unknown" if training did not get far enough."""
        gained = self.trained.accuracy - self.trained.accuracies[0]
        if not (self.trained.reached or gained >= HALVED) or math.isnan(self.linearization_gap):
            return "unknown"
        return regime_name(self.linearization_gap, self.distance_to_rich, self.kernel_distance)


def regime_name(gap: float, to_rich: float, moved: float) -> str:
    """The regime by the distances to both ends, with the names and thresholds of `tacit.regime`.

    gap: distance to the linearized model. to_rich: distance to the rich end, NaN if unknown. moved: distance
    between the tangent kernels before and after training, which decides if both ends are the same or the rich
    end is unknown.
    """
    if math.isnan(to_rich):
        if gap <= NEAR:
            return "kernel"
        return "rich" if moved >= NEAR else "intermediate"
    if max(gap, to_rich) < SAME:
        return "kernel" if moved < NEAR else "rich"
    if min(gap, to_rich) > NEAR:
        return "intermediate"
    return "kernel" if gap < to_rich else "rich"


def measure(
    network: Network, problem: ProbeProblem, watch: Callable[[str], Any], linear: Linearization | None = None
) -> Measured:
    """Measure a network in double precision. watch: returns the progress meter of a training by its name."""
    linear = linear or Linearization.of(network, problem.X, problem.y, problem.loss)
    goal = problem.goal(linear.start)
    first = linear.until(goal, problem.most_steps)
    criteria = _before_training(linear, linear.change(first.state))
    trained = _train(network, problem, goal, linear.top, watch("training"))
    last = network.with_weights(trained.state)
    at = first if trained.accuracy == goal else linear.until(trained.accuracy, problem.most_steps)
    ends = last.outputs(problem.X_test), linear.outputs(problem.X_test, linear.change(at.state))
    gap = problem.distance(*ends)
    moved = distance_between(linear.kernel, last.tangent_kernel(problem.X))
    is_kernel = gap < SAME and moved < NEAR  # then the name does not depend on the rich end
    return Measured(
        linear.start,
        linear,
        *criteria,
        trained,
        at,
        *ends,
        gap,
        math.nan if is_kernel else _rich_distance(network, problem, trained, ends[0], watch),
        moved,
        network.movement(last),
    )


def _before_training(linear: Linearization, change: Float) -> tuple[float, float]:
    """The scale criterion, and the relative change of the kernel in first-order training."""
    network, X = linear.network, linear.X
    misfit = float(np.linalg.norm(network.jvp(X, change)))  # ‖h(θ₀) − y‖ if y is reached
    criterion = scale_criterion(network, X, misfit, float(linear.eigenvalues[0]), change)
    return criterion, moved_kernel(network, X, linear.kernel, change)


def _train(network: Network, problem: ProbeProblem, goal: float, top: Float, meter: Any) -> Trained:
    subject = WeightTraining(network, problem.X, top)
    with meter:
        descent = Descent(problem.loss, problem.y, goal, problem.most_steps, meter.update)
        return descent.run(subject, np.array(network.weights, dtype=np.float64))


def _rich_distance(
    network: Network, problem: ProbeProblem, trained: Trained, end: Float, watch: Callable[[str], Any]
) -> float:
    """The distance to the end of training from weights a tenth as large, at equal loss, or NaN."""
    small = network.rescaled(SMALL)
    if not small.vjp(problem.X, np.ones((len(problem.X), end.shape[1]))).any():
        return math.nan
    linear = Linearization.of(small, problem.X, problem.y, problem.loss)
    rich = _train(small, problem, trained.accuracy, linear.top, watch("training from a small start"))
    if not rich.reached:
        return math.nan
    return problem.distance(end, small.with_weights(rich.state).outputs(problem.X_test))


def curvature(network: Network, X: Any, change: Float) -> float:
    r"""The operator norm ‖D²h(θ₀)[u, ·]‖ of the Jacobian's derivative along u = change/‖change‖.

    Computed by the power method on finite differences of Jacobian products.
    """
    length = float(np.linalg.norm(change))
    if not length > 0:
        return 0.0
    h = _DIFFERENCE * (float(np.linalg.norm(network.weights)) or 1.0)
    before, after = (network.with_weights(network.weights + sign * h * change / length) for sign in (-1, 1))
    v = np.random.default_rng(0).standard_normal(network.outputs(X).shape)
    size = 0.0
    for _ in range(_POWERS):
        v = v / (float(np.linalg.norm(v)) or 1.0)
        u = (after.vjp(X, v) - before.vjp(X, v)) / (2 * h)
        size = float(np.linalg.norm(u))
        if not size > 0:
            return 0.0
        v = (after.jvp(X, u / size) - before.jvp(X, u / size)) / (2 * h)
    return size


def scale_criterion(network: Network, X: Any, misfit: float, largest: float, change: Float) -> float:
    r"""The scale criterion κ = ‖h(θ₀) − y‖·‖D²h(θ₀)‖/‖Dh(θ₀)‖² of Chizat et al. 2019, Section 1.

    It is small in the kernel regime. D²h is taken along the change of weights in first-order training, and
    ‖Dh‖² is the largest eigenvalue of the tangent kernel. misfit: ‖h(θ₀) − y‖, or the norm of the change of
    the outputs in training for losses without targets.
    """
    return misfit * curvature(network, X, change) / largest if largest > 0 else np.inf


def moved_kernel(network: Network, X: Any, kernel: Float, change: Float) -> float:
    """The relative change ‖K(θ₀ + change) − K(θ₀)‖/‖K(θ₀)‖ of the kernel in first-order training."""
    with np.errstate(over="ignore", invalid="ignore"):
        after = np.asarray(network.with_weights(network.weights + change).tangent_kernel(X))
        moved = float(np.linalg.norm(after - kernel)) / (float(np.linalg.norm(kernel)) or 1.0)
    return moved if np.isfinite(moved) else np.inf
