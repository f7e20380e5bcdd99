"""What gradient flow did: the trajectory, as numbers, text, table and picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.arrays import Float
from tacit.data.entries import Entries
from tacit.data.json_values import MADE_BY, as_json
from tacit.data.status import Status
from tacit.data.units import Units
from tacit.errors import InputError
from tacit.losses import Loss, SeparatingLoss
from tacit.models.model import Model
from tacit.models.parametrizations import Weights
from tacit.potentials.arrays import quiet
from tacit.results.delegation import ask
from tacit.results.result import Drawn, Result

if TYPE_CHECKING:
    import xarray as xr


_LOST = "some recorded predictors are not finite: the flow leaves the range of floats; rescale X or y"
_KERNEL = 2000  # entries of a matrix, of which kernels are looked at
_KERNEL_WORK = 1e11  # multiplications that kernels of all instants are worth, unless they are asked for
_MOST_WEIGHTS = 1 << 27  # numbers, 1 GiB of them
_DIGITS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_LABELLED_WEIGHTS = 1 << 20  # numbers in a data set; beyond this the weights are left out of it


def _plain(name: str) -> str:
    """What weights of that name are called in files, whose format knows Latin letters only."""
    plain = f"weights_{name}".translate(_DIGITS)
    return plain.replace("₊", "_plus").replace("₋", "_minus").replace("/", "_")


def _axes(name: str, weights: Float, features: tuple[int, ...]) -> tuple[str, ...]:
    """Names of the axes of weights: of the features, where there is one for each, or their own."""
    own = tuple(f"{_plain(name)}_{axis}" for axis in range(weights.ndim))
    return ("feature",) if weights.shape == features else own


@dataclass(frozen=True)
class Known:
    """Values that need not be computed any more."""

    values: Any

    def __call__(self, which: slice = slice(None)) -> Any:
        return self.values[which]


@dataclass(frozen=True)
class SeenWeights:
    """The weights that were followed, at each instant, and how they make those of the model."""

    seen: list[Weights]
    restore: Callable[[Weights], Weights]

    def at(self, instant: int) -> dict[str, Float]:
        """The weights of the model at one instant."""
        return {name: np.asarray(w) for name, w in self.restore(self.seen[instant]).items()}


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory(Result):
    """Gradient flow at T recorded instants.

    `time` is (T,), infinite where it exceeds the largest float, and `log_time` its logarithm; `loss`,
    `margin`, `weights` and `kernel_distance` are computed when first asked for.

    Attributes
    ----------
    accuracy : (T,) array
        γ̃ = −log of the training loss.
    predictor : (T, …) array
        w at every instant; made when asked for, predictor[i], where large matrices are completed; of a
        `Network` its outputs at the samples.
    outputs : (T, N) or (T, N, m) array
        f(x_n).
    drifts : dict of (T,) arrays
        By how much each conserved quantity has changed, relative to the size of the terms that make it.
    converged : bool
        What was asked for was reached. Where nothing was asked for, the flow has arrived: the data are fitted
        or, if they cannot be, it is at rest where they are fitted best: at least squares, of several
        solutions at the one that the model's potential prefers. A flow that rests before the last of the
        times asked for stays where it is.
    reason : str
        Where the flow ended, and why no later.
    status : Status
        The reason as one of a few words.
    intercept : (T,) or (T, m) array
        0 where none was asked for.
    unfitted : float
        The residual, relative to ‖y‖, that no predictor can fit, where this is known beforehand, else 0.
    method : str
        How it was computed: the unknowns with their integrator and, after a colon, what it knows of the
        potential Q, such as "mirror form of the same potential Q" or "independent of Q".
    uses_potential : bool
        Do the equations that were integrated contain Q? Then the trajectory leads to the limit of this Q,
        be Q right or wrong; only trajectories without it (method="parameters") can confirm a limit.
    steps : int
        In how many steps.
    seconds : float
        How long it took.
    linearized : bool
        Was the tangent at the start followed, in place of the model?
    loss_function : Loss
        The loss.
    model : Model
        What was followed.
    X, y
        The data; copies, unless they are larger than 64 MB.
    units : Units or None
        What was done to the features, if anything; the weights are those of features in these units,
        everything else is for the data as they came.
    features : tuple of str, or None
        Names of columns, if they have any.
    """

    accuracy: Float
    predictor: Any
    outputs: Float
    drifts: dict[str, Float]
    converged: bool
    reason: str
    status: Status
    intercept: Float
    unfitted: float
    method: str
    uses_potential: bool
    steps: int
    seconds: float
    linearized: bool
    loss_function: Loss
    model: Any = field(repr=False)
    X: Any = field(repr=False)
    y: Float = field(repr=False)
    _times: Callable[[], tuple[Float, Float]] = field(repr=False)
    _shares: Float | None = field(repr=False)
    _weights: SeenWeights = field(repr=False)
    _kernels: Callable[[slice], Float] = field(repr=False)
    units: Units | None = field(default=None, repr=False)
    features: tuple[str, ...] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Take back `converged` where a recorded number is none: no flow that is followed leads there."""
        if self.converged and not self._is_finite:
            lost = {"converged": False, "status": Status.STALLED, "reason": _LOST}
            for name, value in lost.items():
                object.__setattr__(self, name, value)

    @property
    def _is_finite(self) -> bool:
        """Are all recorded numbers finite? The accuracy is infinite where the loss is 0."""
        kept = self.predictor if self.is_kept else self.outputs
        return bool(
            np.isfinite(kept).all() and np.isfinite(self.outputs).all() and not np.isnan(self.accuracy).any()
        )

    def __repr__(self) -> str:
        first, last = self.accuracy[[0, -1]]
        state = "converged" if self.converged else "NOT converged"
        return (
            f"Trajectory({self.model!r}, {self.loss_function.name}, accuracy {first + 0.0:.4g} → {last:.6g}, "
            f"{len(self.accuracy)} instants, {state})"
        )

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled and copied: what would be computed on demand is computed."""
        told = {"_times": Known((self.time, self.log_time))}
        if self.kernel_is_small:
            told["_kernels"] = Known(self.kernel_distance)
        return {**vars(self), **told}

    @cached_property
    def _clock(self) -> tuple[Float, Float]:
        return self._times()

    @property
    def log_time(self) -> Float:
        """The natural logarithm of training time at each instant; −∞ at the start."""
        return self._clock[1]

    @property
    def time(self) -> Float:
        """Training time at each instant."""
        return self._clock[0]

    @cached_property
    def weights(self) -> dict[str, Float]:
        """The weights of the model at each instant, by name, (T, …) each, computed when first asked for.

        `Diagonal`: w₊, w₋. `UntiedDiagonal`: u₊, v₊, u₋, v₋. `Neuron`: a, w. `LinearNetwork` and
        `Factorization`: U, V; `SymmetricFactorization`: W; `Network`: its layers. Of a linearized
        flow, those that move along the tangent, θ(0) + Jᵀν.
        """
        size = sum(w.size for w in self.weights_at(0).values()) * len(self.accuracy)
        if size > _MOST_WEIGHTS:
            raise InputError(
                f"the weights at {len(self.accuracy)} instants are {size:.2g} numbers; weights_at(i) gives "
                "those of one instant"
            )
        each = [self.weights_at(i) for i in range(len(self.accuracy))]
        return {name: np.array([weights[name] for weights in each]) for name in each[0]}

    def weights_at(self, instant: int) -> dict[str, Float]:
        """The weights of the model at one of the recorded instants, by name.

        Parameters
        ----------
        instant : int
            Its number in the record; −1 is the last.

        Returns
        -------
        dict of arrays
            As `weights` has them, of one instant.
        """
        return self._weights.at(instant)

    @cached_property
    @quiet
    def loss(self) -> Float:
        """The training loss, exp(−accuracy): 0 where that is below the smallest float."""
        return np.exp(-self.accuracy)

    @cached_property
    def margins(self) -> Float:
        """y_n f(x_n), (T, N): meaningful for labels −1 and +1. Of classes, f_y − max_{k≠y} f_k."""
        return np.asarray(self.loss_function.margins(self.outputs, self.y))

    @cached_property
    def margin(self) -> Float:
        """The smallest of the margins at each instant."""
        found: Float = self.margins.reshape(len(self.accuracy), -1).min(axis=1)
        return found

    @cached_property
    @quiet
    def shares(self) -> Float:
        """Each sample's share of the pull −ℓ'(m_n) on the predictor, (T, N): who is in the support.

        For losses of margins only.
        """
        loss = self.loss_function
        if not isinstance(loss, SeparatingLoss):
            raise InputError("shares belong to losses of margins, such as the exponential and the logistic")
        if self._shares is not None:
            return self._shares
        pull = loss.log_slope(self.margins.reshape(len(self.accuracy), -1))
        weights = np.exp(pull - pull.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    @cached_property
    def support(self) -> NDArray[np.bool_]:
        """The fewest samples that make up 99% of the pull at each instant, (T, N)."""
        order = np.argsort(-self.shares, axis=1)
        before = np.cumsum(np.take_along_axis(self.shares, order, axis=1), axis=1)
        needed = np.roll(before, 1, axis=1) < 0.99
        needed[:, 0] = True
        support = np.zeros(needed.shape, dtype=bool)
        np.put_along_axis(support, order, needed, axis=1)
        return support

    @property
    def drift(self) -> float:
        """The worst relative change of a conserved quantity anywhere on the way."""
        worst = [float(np.max(drift)) for drift in self.drifts.values()]
        return max(worst, default=0.0)

    @cached_property
    def kernel_distance(self) -> Float:
        """1 − cos of the angle from the first tangent kernel to each (Moroshko et al. 2020, Appendix H.4)."""
        return self._kernels(slice(None))

    @property
    def kernel_is_small(self) -> bool:
        """Are the samples few enough for their tangent kernels to be looked at without being asked for?"""
        work = self.model.kernel_work(self.X) * len(self.accuracy) if isinstance(self.model, Model) else 0.0
        return (not isinstance(self.X, Entries) or len(self.X) <= _KERNEL) and work <= _KERNEL_WORK

    @property
    def is_kept(self) -> bool:
        """Is the predictor an array over all instants, and not made when one of them is asked for?"""
        return isinstance(self.predictor, np.ndarray)

    @cached_property
    def final_kernel_distance(self) -> float:
        """The last of the kernel distances, without all the others."""
        return float(self._kernels(slice(-1, None))[0])

    def summary(self, names: Sequence[str] | None = None) -> str:
        """The trajectory in a few lines.

        Parameters
        ----------
        names : sequence of str, optional
            Of the features; x0, x1, … if left out.

        Returns
        -------
        str
            What `tacit flow` prints.
        """
        return str(ask(self, "summary", names or self.features))

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON; None for infinities, such as log_time at the start."""
        content = {
            "model": repr(self.model),
            "loss": self.loss_function.name,
            "method": self.method,
            "uses_potential": self.uses_potential,
            "linearized": self.linearized,
            "converged": self.converged,
            "status": self.status.value,
            "reason": self.reason,
            "unfitted": self.unfitted,
            "steps": self.steps,
            "seconds": self.seconds,
            "drift": self.drift,
            "accuracy": self.accuracy.tolist(),
            "log_time": self.log_time.tolist(),
            "time": self.time.tolist(),
            "margin": self.margin.tolist(),
            "kernel_distance": self.kernel_distance.tolist() if self.kernel_is_small else None,
            "predictor": self.predictor if self.is_kept else None,
            "intercept": self.intercept.tolist(),
            **({} if self.is_kept else {"end": self.predictor[-1]}),
            **self._held(),
        }
        return {key: as_json(value) for key, value in content.items()}

    def _held(self) -> dict[str, Any]:
        """Margins and supports, for losses of margins."""
        if not self.loss_function.separating:
            return {}
        support = [np.flatnonzero(row).tolist() for row in self.support]
        return {"margins": self.margins.tolist(), "support": support}

    def to_xarray(self) -> xr.Dataset:
        """A labelled data set over the recorded instants, which netCDF keeps as it is.

        The weights are weights_w_plus, weights_U and so on, left out where they are over a million numbers.
        Of predictors that are too large to keep, `end` is the last.
        """
        import xarray as xr

        samples = ("sample",) if self.outputs.ndim == 2 else ("sample", "output")
        axes = ("feature",) if self.predictor.ndim == 2 else ("row", "column")
        axes = axes if self.model.has_predictor else samples
        series = {"loss": self.loss, "margin": self.margin}
        if self.kernel_is_small:
            series["kernel_distance"] = self.kernel_distance
        variables: dict[str, Any] = {name: (("instant",), values) for name, values in series.items()}
        if self.is_kept:
            variables["predictor"] = (("instant", *axes), self.predictor)
        else:
            variables["end"] = (axes, self.predictor[-1])
        variables["outputs"] = (("instant", *samples), self.outputs)
        variables["intercept"] = (("instant", *samples[1:]), self.intercept)
        variables |= self._labelled_weights()
        drifts = np.array(list(self.drifts.values())).reshape(len(self.drifts), len(self.accuracy))
        variables["drift"] = (("conserved", "instant"), drifts)
        coordinates = {
            "accuracy": (("instant",), self.accuracy),
            "time": (("instant",), self.time),
            "log_time": (("instant",), self.log_time),
            "conserved": (("conserved",), list(self.drifts)),
        }
        if self.features is not None and axes == ("feature",):
            coordinates["feature"] = (("feature",), list(self.features))
        attributes = {
            "made_by": MADE_BY,
            "model": repr(self.model),
            "loss_function": self.loss_function.name,
            "method": self.method,
            "uses_potential": int(self.uses_potential),
            "linearized": int(self.linearized),
            "converged": int(self.converged),
            "status": self.status.value,
            "reason": self.reason,
            "unfitted": self.unfitted,
            "steps": self.steps,
            "seconds": self.seconds,
        }
        return xr.Dataset(variables, coordinates, attributes)

    def _labelled_weights(self) -> dict[str, Any]:
        """The weights with the names of their axes, unless there are too many."""
        axes, features = {"U": ("row", "unit"), "V": ("column", "unit")}, self.predictor.shape[1:]
        if not self.model.has_predictor:
            axes, features = {}, (-1,)
        each = self.weights_at(0)
        if sum(w.size for w in each.values()) * len(self.accuracy) > _LABELLED_WEIGHTS:
            return {}
        return {
            _plain(name): (("instant", *(axes.get(name) or _axes(name, each[name], features))), weights)
            for name, weights in self.weights.items()
        }

    def picture(self, clock: str | None = None, names: Sequence[str] | None = None) -> Drawn:
        """Loss, predictor, margins and conserved quantities against a clock.

        Parameters
        ----------
        clock : "time" | "accuracy", optional
            The horizontal axis; if left out, time for the square loss and accuracy for others.
        names : sequence of str, optional
            Of the features; x0, x1, … if left out.

        Returns
        -------
        Drawn
            What `plot` draws.
        """
        end = ask(self, "predicted_end")
        drawn: Drawn = ask(self, "picture", end, clock=clock, names=names or self.features)
        return drawn
