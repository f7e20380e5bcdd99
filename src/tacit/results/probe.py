"""What a probe found: a network on data, before and after a short training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.data.arrays import Float
from tacit.data.json_values import as_json
from tacit.losses import Loss
from tacit.networks.measurements import Measured, ProbeProblem
from tacit.networks.network import Network
from tacit.results.delegation import ask
from tacit.results.result import Drawn, Labelled, Result

if TYPE_CHECKING:
    from tacit.results.probe_sweep import ProbeSweep


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
    problem: ProbeProblem
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

    def sweep(self, scales: ArrayLike, *, layers: Sequence[str] | str | None = None) -> ProbeSweep:
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
        found: ProbeSweep = ask(self, "sweep", scales, layers)
        return found

    def doubled(self) -> Probe:
        """The probe of the doubled network, whose outputs are 0 at the start, on the same data."""
        found: Probe = ask(self, "doubled")
        return found

    def summary(self) -> str:
        """The verdict, the numbers behind it, and what to change."""
        return str(ask(self, "summary"))

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

    def picture(self) -> Drawn:
        """Spectrum, training, held-out outputs and layers."""
        drawn: Drawn = ask(self, "picture")
        return drawn
