"""What a probe measures of a network on data: before training, and after a short one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.losses import Loss
from tacit.networks.criteria import moved_kernel, scale_criterion
from tacit.networks.descent import Descent, OfWeights, Trained
from tacit.networks.distances import distance_between
from tacit.networks.linearization import Linearization, Linearized
from tacit.networks.network import Network

NEAR = 0.1  # an end within 10% gives the regime its name, as in `tacit.regime`
ONE = 2e-2  # ends nearer to each other than twice what training leaves of the targets are one
SMALL = 0.1  # of the weights: a start from which the rich end is nearer, and which training still leaves
RESIDUAL = 1e-2  # of the targets, or of the outputs at the start: where training on the square loss ends
LOSS = 5e-2  # of the loss at outputs of 0: where training on other losses does
_SPREAD = 8  # samples that have one
HALVED = math.log(2)  # a loss that has not come down by this much tells nothing


@dataclass(frozen=True, eq=False)
class Problem:
    """Training inputs and targets, held-out inputs, and the training."""

    X: Any
    y: Float
    X_test: Any
    loss: Loss
    most_steps: int

    def goal(self, start: Float) -> float:
        """The accuracy at which training ends, from these outputs at the start."""
        levels = [self.loss.accuracy(f.reshape(self.y.shape), self.y) for f in (start, np.zeros_like(start))]
        most = max(float(level) for level in levels)
        return most - (2 * math.log(RESIDUAL) if self.loss.quadratic else math.log(LOSS))

    def apart(self, first: Float, second: Float) -> float:
        """‖f − g‖/max(‖f‖, ‖g‖) of outputs; of a square loss, ‖f‖ is their spread around their mean.

        What all targets have in common, such as an octane number around 87, would hide every difference.
        """
        spread = self.loss.quadratic and len(first) >= _SPREAD
        size = max(float(np.linalg.norm(f - spread * f.mean(axis=0))) for f in (first, second))
        far = float(np.linalg.norm(first - second))
        return far / size if size > 0 else 0.0


@dataclass(frozen=True, eq=False)
class Measured:
    """A network on data: see `Probe`, which has the same under the same names."""

    start: Float  # outputs on the training inputs
    linear: Linearization
    scale_criterion: float
    kernel_movement: float
    trained: Trained
    linearized: Linearized
    outputs: Float  # of the trained network, held out
    linearized_outputs: Float
    linearization_gap: float
    distance_to_rich: float
    kernel_distance: float
    layers: dict[str, float]

    @property
    def regime(self) -> str:
        """The name."""
        gained = self.trained.accuracy - self.trained.accuracies[0]
        if not (self.trained.reached or gained >= HALVED) or math.isnan(self.linearization_gap):
            return "unknown"
        return regime_name(self.linearization_gap, self.distance_to_rich, self.kernel_distance)


def regime_name(gap: float, to_rich: float, moved: float) -> str:
    """As `tacit.regime` names limits, by the distances from both ends; where both are one, by the kernel.

    Where nothing is known of the rich end, the kernel has to tell too.
    """
    if math.isnan(to_rich):
        if gap <= NEAR:
            return "kernel"
        return "rich" if moved >= NEAR else "intermediate"
    if max(gap, to_rich) < ONE:
        return "kernel" if moved < NEAR else "rich"
    if min(gap, to_rich) > NEAR:
        return "intermediate"
    return "kernel" if gap < to_rich else "rich"


def measure(
    network: Network, problem: Problem, watch: Callable[[str], Any], linear: Linearization | None = None
) -> Measured:
    """Everything, of a network in double precision. watch: makes a meter for training, by its name."""
    linear = linear or Linearization.of(network, problem.X, problem.y, problem.loss)
    goal = problem.goal(linear.start)
    first = linear.until(goal, problem.most_steps)
    moves = _pushes(linear, linear.change(first.coefficients))
    trained = _train(network, problem, goal, linear.top, watch("training"))
    last = network.with_weights(trained.state)
    at = first if trained.accuracy == goal else linear.until(trained.accuracy, problem.most_steps)
    ends = last.outputs(problem.X_test), linear.outputs(problem.X_test, linear.change(at.coefficients))
    gap = problem.apart(*ends)
    moved = distance_between(linear.kernel, last.tangent_kernel(problem.X))
    clear = gap < ONE and moved < NEAR  # whatever the rich end is
    return Measured(
        linear.start,
        linear,
        *moves,
        trained,
        at,
        *ends,
        gap,
        math.nan if clear else _rich_distance(network, problem, trained, ends[0], watch),
        moved,
        network.movement(last),
    )


def _pushes(linear: Linearization, change: Float) -> tuple[float, float]:
    """The scale criterion, and how far first-order training moves the kernel."""
    network, X = linear.network, linear.X
    misfit = float(np.linalg.norm(network.jvp(X, change)))  # ‖h(θ₀) − y‖ where y is reached
    criterion = scale_criterion(network, X, misfit, float(linear.eigenvalues[0]), change)
    return criterion, moved_kernel(network, X, linear.kernel, change)


def _train(network: Network, problem: Problem, goal: float, top: Float, meter: Any) -> Trained:
    subject = OfWeights(network, problem.X, top)
    with meter:
        descent = Descent(problem.loss, problem.y, goal, problem.most_steps, meter.update)
        return descent.run(subject, np.array(network.weights, dtype=np.float64))


def _rich_distance(
    network: Network, problem: Problem, trained: Trained, end: Float, watch: Callable[[str], Any]
) -> float:
    """How far the end is from that of weights a tenth as large at the same loss; NaN if not reached."""
    small = network.rescaled(SMALL)
    if not small.vjp(problem.X, np.ones((len(problem.X), end.shape[1]))).any():
        return math.nan
    linear = Linearization.of(small, problem.X, problem.y, problem.loss)
    found = _train(small, problem, trained.accuracy, linear.top, watch("training from a small start"))
    if not found.reached:
        return math.nan
    return problem.apart(end, small.with_weights(found.state).outputs(problem.X_test))
