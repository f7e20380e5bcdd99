"""The results of `tacit.probe` and `Probe.sweep`: measurements of a network, at one scale or at several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.data.arrays import Float
from tacit.data.json_values import as_json
from tacit.losses import Loss
from tacit.networks.measurements import Measured, ProbeProblem
from tacit.networks.network import Network
from tacit.results.delegation import delegate
from tacit.results.result import Labelled, Result

_NUMBERS = ("linearization_gap", "kernel_distance", "distance_to_rich", "scale_criterion")


@dataclass(frozen=True, eq=False, repr=False)
class Probe(Result):
    """Measurements of a network on data, before and after a short training run, and of its linearization.

    The regime is decided by two relative distances ‖f − g‖/max(‖f‖, ‖g‖) on held-out inputs:
    `linearization_gap`, between the trained network and its trained linearization at the same training loss,
    and `distance_to_rich`, between the trained network and the same network trained from weights a tenth as
    large. If one of them is below 10%, as in `tacit.regime`, the regime is "kernel" or "rich"; if neither is,
    "intermediate". If both ends coincide, or the second is unknown, the change of the tangent kernel decides.
    The regime is "unknown" if training did not halve the loss.

    Attributes
    ----------
    network : Network
        The network with its initial weights.
    problem : object
        Training and held-out data, and the loss.
    measured : object
        All measurements, and the trained weights.
    names : tuple of str
        Notes on data that were left out.
    seconds : float
        Computing time.

    Examples
    --------
    >>> import numpy as np, tacit
    >>> X = np.random.default_rng(0).standard_normal((8, 2))
    >>> network = tacit.Network(lambda w, X: X @ w["v"], {"v": np.ones(2)})  # linear in its weights
    >>> probe = tacit.probe(network, X, X[:, 0])
    >>> probe.regime, probe.kernel.shape, probe.converged
    ('kernel', (6, 6), True)
    """

    network: Network
    problem: ProbeProblem
    measured: Measured
    names: tuple[str, ...]
    seconds: float

    @property
    def regime(self) -> str:
        """The regime: "kernel", "rich", "intermediate" or "unknown"."""
        return self.measured.regime

    @property
    def loss(self) -> Loss:
        """The training loss function."""
        return self.problem.loss

    @property
    def kernel(self) -> Float:
        """The tangent kernel at initialization on the training inputs, (N·m, N·m)."""
        return self.measured.linear.kernel

    @property
    def eigenvalues(self) -> Float:
        """Eigenvalues of `kernel`, the largest first."""
        return self.measured.linear.eigenvalues

    @property
    def time_scales(self) -> Float:
        """1/(λᵢ·curvature of the loss), in the time of `tacit.flow`."""
        return self.measured.linear.time_scales

    @property
    def kernel_movement(self) -> float:
        """‖K(θ₀ + Δθ) − K‖/‖K‖ for the Δθ that trains the linearized model."""
        return self.measured.kernel_movement

    @property
    def scale_criterion(self) -> float:
        """κ of Chizat et al. 2019, small in the kernel regime."""
        return self.measured.scale_criterion

    @property
    def output_size(self) -> float:
        """‖f(θ₀)‖/‖y‖; for classification losses, the root mean square of the outputs."""
        start, y = self.measured.start, self.problem.y
        if not self.loss.quadratic:
            return float(np.sqrt(np.mean(start**2)))
        size = float(np.linalg.norm(y))
        return float(np.linalg.norm(start)) / size if size > 0 else math.inf

    @property
    def linearization_gap(self) -> float:
        """Relative distance between the trained network and its trained linearization, on held-out inputs."""
        return self.measured.linearization_gap

    @property
    def distance_to_rich(self) -> float:
        """Relative distance to the network trained from weights a tenth as large, on held-out inputs.

        NaN if it was not needed, or if that training did not reach the same loss.
        """
        return self.measured.distance_to_rich

    @property
    def kernel_distance(self) -> float:
        """1 − cos∠(K₀, K₁) of the tangent kernels before and after training."""
        return self.measured.kernel_distance

    @property
    def layers(self) -> dict[str, float]:
        """Relative change of each layer, ‖W' − W‖/‖W‖."""
        return self.measured.layers

    @property
    def converged(self) -> bool:
        """Whether training reached its target loss."""
        return self.measured.trained.reached

    @cached_property
    def degree(self) -> float:
        """The degree of homogeneity L that fits ∇f(cθ) = c^{L−1}∇f(θ) best; 0 if none does.

        Gradients also give the degree of doubled networks, whose outputs are 0.
        """
        X, cotangent = self.problem.X, np.ones((len(self.problem.X), self.measured.start.shape[1]))
        sizes = [float(np.linalg.norm(self.network.rescaled(c).vjp(X, cotangent))) for c in (0.5, 2)]
        degree = 1 + math.log(sizes[1] / sizes[0]) / math.log(4) if min(sizes) > 0 else 0.0
        return degree if 0.5 < degree < 100 else 0.0

    @property
    def trained(self) -> Network:
        """The network after training."""
        return self.network.with_weights(self.measured.trained.state)

    def __getstate__(self) -> dict[str, Any]:
        """Compute `degree` before pickling, because the network's function may not be picklable."""
        _ = self.degree
        return vars(self)

    def __repr__(self) -> str:
        return (
            f"Probe({self.regime}: linearization gap {self.linearization_gap:.2g}, kernel distance "
            f"{self.kernel_distance:.2g}, κ {self.scale_criterion:.2g})"
        )

    def sweep(self, scales: ArrayLike, *, layers: Sequence[str] | str | None = None) -> ProbeSweep:
        """Probe the network with its weights multiplied by each of the scales, on the same data.

        Parameters
        ----------
        scales : sequence of float
            Factors for the weights.
        layers : sequence of str, or str, optional
            Names of the layers to rescale, all by default; "last" is the last weight matrix.

        Returns
        -------
        ProbeSweep
            The measurements at each scale.
        """
        found: ProbeSweep = delegate(self, "sweep", scales, layers)
        return found

    def doubled(self) -> Probe:
        """Probe the doubled network, whose outputs are 0 at initialization, on the same data."""
        found: Probe = delegate(self, "doubled")
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON."""
        trained = self.measured.trained
        distances = ("regime", "linearization_gap", "distance_to_rich", "kernel_distance")
        criteria = ("scale_criterion", "kernel_movement", "output_size", "layers")
        content = {
            **self._values(*distances, *criteria, "eigenvalues", "time_scales"),
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


@dataclass(frozen=True, eq=False, repr=False)
class ProbeSweep(Result):
    """The measurements of `Probe` for a network with its weights multiplied by several factors.

    Attributes
    ----------
    network : Network
        The network with its initial weights.
    scales : (S,) array
        The factors of its weights.
    points : tuple
        All measurements, one entry for each scale.
    rescaled : tuple of str
        The layers that were rescaled; all if empty.
    loss : str
        The name of the training loss.
    seconds : float
        Computing time.

    Examples
    --------
    >>> import numpy as np, tacit
    >>> X = np.random.default_rng(0).standard_normal((8, 2))
    >>> network = tacit.Network(lambda w, X: X @ w["v"], {"v": np.ones(2)})  # linear in its weights
    >>> tacit.probe(network, X, X[:, 0]).sweep([0.1, 10]).regimes
    ('kernel', 'kernel')
    """

    network: Network
    scales: Float
    points: tuple[Measured, ...]
    rescaled: tuple[str, ...]
    loss: str
    seconds: float

    @property
    def regimes(self) -> tuple[str, ...]:
        """The regime at each scale."""
        return tuple(each.regime for each in self.points)

    @property
    def linearization_gap(self) -> Float:
        """`Probe.linearization_gap` at each scale."""
        return self._of("linearization_gap")

    @property
    def kernel_distance(self) -> Float:
        """`Probe.kernel_distance` at each scale."""
        return self._of("kernel_distance")

    @property
    def distance_to_rich(self) -> Float:
        """`Probe.distance_to_rich` at each scale; NaN if it was not needed or not reached."""
        return self._of("distance_to_rich")

    @property
    def scale_criterion(self) -> Float:
        """`Probe.scale_criterion`, κ, at each scale."""
        return self._of("scale_criterion")

    @property
    def reached(self) -> Any:
        """Whether training reached its target loss, at each scale."""
        return np.array([each.trained.reached for each in self.points])

    @property
    def converged(self) -> bool:
        """Whether training reached its target loss at all scales."""
        return bool(self.reached.all())

    def _of(self, name: str) -> Float:
        return np.array([getattr(each, name) for each in self.points], dtype=np.float64)

    def __repr__(self) -> str:
        return (
            f"ProbeSweep({', '.join(f'{s:g}: {r}' for s, r in zip(self.scales, self.regimes, strict=True))})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON."""
        content = {
            **self._values("scales", "regimes", *_NUMBERS, "reached", "rescaled"),
            "network": repr(self.network),
            **self._values("loss", "seconds"),
        }
        found: dict[str, Any] = as_json(content)
        return found

    def _arrays(self) -> Labelled:
        return {
            "scale": (("scale",), self.scales),
            "regime": (("scale",), list(self.regimes)),
            **{name: (("scale",), self._of(name)) for name in _NUMBERS},
            "reached": (("scale",), self.reached.astype(np.int8)),
        }
