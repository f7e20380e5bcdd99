"""The result of `tacit.flow`: gradient flow at the recorded times."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.arrays import Float, as_number
from tacit.data.display import MODEL
from tacit.data.entries import Entries, Inputs
from tacit.data.json_values import as_json
from tacit.data.printable import shortened
from tacit.data.status import Status
from tacit.data.units import Units
from tacit.errors import InputError
from tacit.losses import Loss, SeparatingLoss
from tacit.models.model import Model
from tacit.models.parametrizations import Weights
from tacit.potentials.arrays import quiet
from tacit.results.delegation import delegate
from tacit.results.prediction import activation, linear_outputs, new_inputs
from tacit.results.result import Drawn, Labelled, Summarized, supports

if TYPE_CHECKING:
    pass


_NOT_FINITE = (
    "some recorded predictors are not finite: the flow leaves the floating-point range; rescale X or y"
)
_DIGITS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")

# Limits on what is computed without being requested:
_KERNEL_ENTRIES = 2000  # observed entries of a matrix; the kernel has this many rows and columns
_KERNEL_WORK = 1e11  # multiplications for the tangent kernels of all recorded times
_LABELLED_WEIGHTS = 1 << 20  # numbers; more weights than this are left out of data sets
# A limit on memory: 1 GiB of weights in one array.
_MOST_WEIGHTS = 1 << 27  # numbers
# The share of the total that defines the support, of losses that have no exact zeros.
_SUPPORT_SHARE = 0.99


def _latin(name: str) -> str:
    """The name of these weights in netCDF files, in which only Latin letters are portable."""
    plain = f"weights_{name}".translate(_DIGITS)
    return plain.replace("₊", "_plus").replace("₋", "_minus").replace("/", "_")


def _axes(name: str, weights: Float, features: tuple[int, ...]) -> tuple[str, ...]:
    """Names of the axes of weights: "feature" if there is one weight for each feature, otherwise names of
    their own."""
    own = tuple(f"{_latin(name)}_{axis}" for axis in range(weights.ndim))
    return ("feature",) if weights.shape == features else own


@dataclass(frozen=True)
class Known:
    """Computed values in place of the function that computes them: pickle stores values, not closures."""

    values: Any

    def __call__(self, which: slice = slice(None)) -> Any:
        return self.values[which]


@dataclass(frozen=True)
class SeenWeights:
    """The weights that were integrated, at each recorded time, and the map to those of the model."""

    seen: list[Weights]
    restore: Callable[[Weights], Weights]

    def at(self, instant: int) -> dict[str, Float]:
        """The weights of the model at one recorded time."""
        return {name: np.asarray(w) for name, w in self.restore(self.seen[instant]).items()}


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory(Summarized):
    """Gradient flow at T recorded times.

    `time` is (T,), infinite if it exceeds the largest float, and `log_time` its logarithm; `loss`, `margin`,
    `weights` and `kernel_distance` are computed when they are first used.

    Attributes
    ----------
    accuracy : (T,) array
        γ̃ = −log of the training loss.
    predictor : (T, …) array
        w at every recorded time; when large matrices are completed, predictor[i] is computed on access. For a
        `Network`, its outputs at the samples.
    outputs : (T, N) or (T, N, m) array
        f(x_n).
    drifts : dict of (T,) arrays
        The change of each conserved quantity, relative to the size of the terms it is made of.
    converged : bool
        Whether the requested accuracies or times were reached. If none were requested: whether the flow has
        reached its limit, where it fits the data or, if that is impossible, rests at least squares (of
        several solutions, at the one that the model's potential selects). A flow that comes to rest before
        the last requested time stays at its limit.
    reason : str
        Where the flow ended, and why it was not integrated further.
    status : Status
        The reason in one word.
    intercept : (T,) or (T, m) array
        b; 0 without an intercept.
    unfitted : float
        The residual of least squares relative to ‖y‖, if it is known beforehand; otherwise 0.
    method : str
        How the flow was computed: the unknowns, the integrator and, after a colon, how the equations depend
        on the potential Q, such as "mirror form of the same potential Q" or "independent of Q".
    uses_potential : bool
        Whether the integrated equations contain Q. If so, the trajectory tends to the minimizer of this Q
        whether or not Q is correct; only trajectories without Q (method="parameters") can confirm a limit.
    steps : int
        Number of steps.
    seconds : float
        Computing time.
    linearized : bool
        Whether the model was linearized at its initialization.
    loss_function : Loss
        The loss.
    model : Model
        The model with its initialization.
    X, y
        The data; copies, unless they are larger than 64 MB.
    units : Units or None
        The standard deviations by which the features were divided, and the means that were subtracted. The
        weights belong to the transformed features, everything else to the original data.
    features : tuple of str, or None
        Names of the columns, if they have any.

    Examples
    --------
    >>> import tacit
    >>> run = tacit.flow(tacit.Diagonal(scale=0.1), [[1, 2]], [2], at=[0, 5, 20])
    >>> run.predictor.shape, run.accuracy.tolist(), run.drift < 1e-9
    ((3, 2), [0.0, 5.0, 20.0], True)
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
    _area: Callable[[], float] = field(repr=False)
    units: Units | None = field(default=None, repr=False)
    features: tuple[str, ...] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Report a flow with a recorded number that is not finite as not converged."""
        if self.converged and not self._is_finite:
            failed = {"converged": False, "status": Status.STALLED, "reason": _NOT_FINITE}
            for name, value in failed.items():
                object.__setattr__(self, name, value)

    @property
    def _is_finite(self) -> bool:
        """Whether all recorded numbers are finite (the accuracy may be infinite: the loss is then 0)."""
        kept = self.predictor if self.is_kept else self.outputs
        return bool(
            np.isfinite(kept).all() and np.isfinite(self.outputs).all() and not np.isnan(self.accuracy).any()
        )

    def __repr__(self) -> str:
        first, last = self.accuracy[[0, -1]]
        state = "converged" if self.converged else "NOT converged"
        model = shortened(repr(self.model), MODEL)
        return (
            f"Trajectory({model}, {self.loss_function.name}, accuracy {first + 0.0:.4g} → {last:.6g}, "
            f"{len(self.accuracy)} recorded times, {state})"
        )

    def __getstate__(self) -> dict[str, Any]:
        """Replace functions that compute times and kernel distances by their values, for pickle and copy."""
        computed: dict[str, Any] = {"_times": Known((self.time, self.log_time))}
        if self.kernel_is_small:
            computed["_kernels"] = Known(self.kernel_distance)
        computed["_area"] = partial(float, self._area())
        return {**vars(self), **computed}

    @cached_property
    def _clock(self) -> tuple[Float, Float]:
        return self._times()

    @property
    def log_time(self) -> Float:
        """The natural logarithm of the recorded training times; −∞ at the start."""
        return self._clock[1]

    @property
    def time(self) -> Float:
        """The recorded training times."""
        return self._clock[0]

    @cached_property
    def weights(self) -> dict[str, Float]:
        """The weights of the model at each recorded time, by name, each of shape (T, …).

        `Diagonal`: w₊, w₋. `UntiedDiagonal`: u₊, v₊, u₋, v₋. `Neuron`: a, w. `LinearNetwork` and
        `Factorization`: U, V; `SymmetricFactorization`: W; `Network`: its layers. For a linearized flow, the
        weights of the linearized model, θ(0) + Jᵀν.
        """
        size = sum(w.size for w in self.weights_at(0).values()) * len(self.accuracy)
        if size > _MOST_WEIGHTS:
            raise InputError(
                f"the weights at {len(self.accuracy)} recorded times are {size:.2g} numbers, too many for "
                "one array; weights_at(i) gives those of one time"
            )
        each = [self.weights_at(i) for i in range(len(self.accuracy))]
        return {name: np.array([weights[name] for weights in each]) for name in each[0]}

    def weights_at(self, instant: int) -> dict[str, Float]:
        """The weights of the model at one recorded time, by name.

        Parameters
        ----------
        instant : int
            Index of the recorded time; −1 is the last.

        Returns
        -------
        dict of arrays
            The weights, with the names of `weights`.
        """
        return self._weights.at(instant)

    @cached_property
    @quiet
    def loss(self) -> Float:
        """The training loss exp(−accuracy); 0 if it is below the smallest float."""
        return np.exp(-self.accuracy)

    @cached_property
    def area(self) -> float:
        """The area under the square loss up to the last recorded time, ∫L dt (by integrating once more).

        If the data cannot be fitted, the area above the least-squares loss. `Limit.area` predicts it for the
        whole flow. Raises `InputError` for other losses, for networks and for gradient descent.
        """
        found = self._area()
        if np.isnan(found):
            raise InputError(
                "the area under the loss is available for gradient flow on the square loss of models "
                "with a predictor, not for other losses, networks and gradient descent"
            )
        return found

    @cached_property
    def margins(self) -> Float:
        """y_n f(x_n), (T, N), for labels −1 and +1; f_y − max_{k≠y} f_k for several classes."""
        return np.asarray(self.loss_function.margins(self.outputs, self.y))

    @cached_property
    def margin(self) -> Float:
        """The smallest margin at each recorded time."""
        return np.asarray(self.margins.reshape(len(self.accuracy), -1).min(axis=1))

    @cached_property
    @quiet
    def shares(self) -> Float:
        """Each sample's share of Σ −ℓ'(m_n), the negative slopes of the loss at the margins, (T, N).

        Only for losses that are functions of margins.
        """
        loss = self.loss_function
        if not isinstance(loss, SeparatingLoss):
            raise InputError(
                "shares are defined for losses of margins only, such as the exponential and the logistic loss"
            )
        if self._shares is not None:
            return self._shares
        log_slopes = loss.log_slope(self.margins.reshape(len(self.accuracy), -1))
        slopes = np.exp(log_slopes - log_slopes.max(axis=1, keepdims=True))
        return np.asarray(slopes / slopes.sum(axis=1, keepdims=True))

    @cached_property
    def support(self) -> NDArray[np.bool_]:
        """The smallest set of samples with 99% of the total of `shares`, at each recorded time, (T, N)."""
        order = np.argsort(-self.shares, axis=1)
        before = np.cumsum(np.take_along_axis(self.shares, order, axis=1), axis=1)
        needed = np.roll(before, 1, axis=1) < _SUPPORT_SHARE
        needed[:, 0] = True
        support = np.zeros(needed.shape, dtype=bool)
        np.put_along_axis(support, order, needed, axis=1)
        return support

    @property
    def drift(self) -> float:
        """The largest relative change of a conserved quantity at any recorded time."""
        worst = [float(np.max(drift)) for drift in self.drifts.values()]
        return max(worst, default=0.0)

    @cached_property
    def kernel_distance(self) -> Float:
        """1 − cos∠(K(0), K(t)) of the tangent kernels at each time (Moroshko et al. 2020, Appendix H.4)."""
        return self._kernels(slice(None))

    @property
    def kernel_is_small(self) -> bool:
        """Whether the tangent kernel is cheap enough to compute by default."""
        work = self.model.kernel_work(self.X) * len(self.accuracy) if isinstance(self.model, Model) else 0.0
        return (not isinstance(self.X, Entries) or len(self.X) <= _KERNEL_ENTRIES) and work <= _KERNEL_WORK

    @property
    def is_kept(self) -> bool:
        """Whether the predictor is an array over all recorded times, rather than computed on access."""
        return isinstance(self.predictor, np.ndarray)

    @cached_property
    def final_kernel_distance(self) -> float:
        """The last of the kernel distances, without computing the others."""
        return float(self._kernels(slice(-1, None))[0])

    def predict(self, X: Inputs, at: float | None = None) -> Float:
        """Predict the outputs at new inputs, at the end of the flow or when it reached an accuracy.

        Parameters
        ----------
        X : (N, d) array-like
            Rows are samples, in the original units; (N, d₁, d₂) or the entries of a matrix for models of
            matrices, inputs of the network for a `Network`. Named columns are matched by name.
        at : float, optional
            An accuracy γ̃ = −log(loss) between the first and the last recorded one. Between two recorded
            accuracies the outputs are interpolated; `tacit.flow(…, at=…)` records given ones exactly.

        Returns
        -------
        (N,) array
            Predictions; (N, m) for m outputs. For classification, their signs are the classes.

        Raises
        ------
        InputError
            If the flow did not reach the accuracy, or X does not match the data.
        """
        last = len(self.accuracy) - 1
        if at is None:
            return self._outputs_at(last, X)
        level, reached = as_number(at, "at"), np.maximum.accumulate(self.accuracy)
        if not reached[0] <= level <= reached[-1]:
            raise InputError(
                f"the recorded accuracies are {reached[0]:.6g} to {reached[-1]:.6g}; at = {level:g} is not "
                "among them"
            )
        after = min(int(np.searchsorted(reached, level)), last)
        before = max(after - 1, 0)
        if reached[after] == level or not np.isfinite(reached[after]):
            return self._outputs_at(after, X)
        share = (level - reached[before]) / (reached[after] - reached[before])
        return np.asarray((1 - share) * self._outputs_at(before, X) + share * self._outputs_at(after, X))

    def _outputs_at(self, instant: int, X: Inputs) -> Float:
        """The outputs at new inputs at one recorded time."""
        if not self.model.has_predictor:
            inputs = self.model.as_inputs(X)
            return np.asarray(self.model.parametrization.outputs(self.weights_at(instant), inputs))
        w = self.predictor[instant]
        outputs = linear_outputs(w, new_inputs(X, w, self.features)) + self.intercept[instant]
        outputs = outputs[:, 0] if outputs.ndim == 2 and self.outputs.ndim == 2 else outputs
        sign = 0 if self.model.linear else int(np.sign(self.weights_at(instant)["a"]))
        return activation(self.model, sign, outputs)

    def _run(self) -> dict[str, Any]:
        """The method of the flow and the reason for its end."""
        names = ("method", "uses_potential", "linearized", "converged", "status", "reason", "unfitted")
        return self._values(*names, "steps", "seconds")

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON; None for infinities, such as log_time at the start."""
        content: dict[str, Any] = {
            "model": repr(self.model),
            "loss": self.loss_function.name,
            **self._run(),
            **self._values("drift", "accuracy", "log_time", "time", "margin"),
            "kernel_distance": self.kernel_distance if self.kernel_is_small else None,
            "predictor": self.predictor if self.is_kept else None,
            "intercept": self.intercept,
        }
        if not self.is_kept:
            content["end"] = self.predictor[-1]
        if self.loss_function.separating:
            content |= {"margins": self.margins, "support": supports(self.support)}
        found: dict[str, Any] = as_json(content)
        return found

    def _arrays(self) -> Labelled:
        """Arrays over the recorded times.

        The weights are weights_w_plus, weights_U and so on; more than a million numbers are left out. If the
        predictors are too large to keep, `end` is the last one.
        """
        samples = ("sample",) if self.outputs.ndim == 2 else ("sample", "output")
        axes = ("feature",) if self.predictor.ndim == 2 else ("row", "column")
        axes = axes if self.model.has_predictor else samples
        arrays: Labelled = {"loss": (("instant",), self.loss), "margin": (("instant",), self.margin)}
        if self.kernel_is_small:
            arrays["kernel_distance"] = (("instant",), self.kernel_distance)
        if self.is_kept:
            arrays["predictor"] = (("instant", *axes), self.predictor)
        else:
            arrays["end"] = (axes, self.predictor[-1])
        drifts = np.array(list(self.drifts.values())).reshape(len(self.drifts), len(self.accuracy))
        return {
            **arrays,
            "outputs": (("instant", *samples), self.outputs),
            "intercept": (("instant", *samples[1:]), self.intercept),
            **self._labelled_weights(),
            "drift": (("conserved", "instant"), drifts),
        }

    def _coordinates(self) -> Labelled:
        times = {name: (("instant",), getattr(self, name)) for name in ("accuracy", "time", "log_time")}
        return {**times, "conserved": (("conserved",), list(self.drifts))}

    def _attributes(self) -> dict[str, Any]:
        return {"model": repr(self.model), "loss_function": self.loss_function.name, **self._run()}

    def _labelled_weights(self) -> dict[str, Any]:
        """The weights with the names of their axes; nothing if there are too many."""
        axes, features = {"U": ("row", "unit"), "V": ("column", "unit")}, self.predictor.shape[1:]
        if not self.model.has_predictor:
            axes, features = {}, (-1,)
        each = self.weights_at(0)
        if sum(w.size for w in each.values()) * len(self.accuracy) > _LABELLED_WEIGHTS:
            return {}
        return {
            _latin(name): (("instant", *(axes.get(name) or _axes(name, each[name], features))), weights)
            for name, weights in self.weights.items()
        }

    def picture(self, clock: str | None = None, names: Sequence[str] | None = None) -> Drawn:
        """Draw loss, predictor, margins and conserved quantities against time or accuracy.

        Parameters
        ----------
        clock : "time" | "accuracy", optional
            The horizontal axis; by default time for the square loss and accuracy for others.
        names : sequence of str, optional
            Names of the features; x0, x1, … by default.

        Returns
        -------
        Drawn
            The picture that `plot` writes.
        """
        end = delegate(self, "predicted_end")
        return self._draw(end, clock=clock, names=names or self.features)


@dataclass(frozen=True, eq=False, repr=False)
class Predictors:
    """Predictors at T recorded times, computed from the weights on access.

    Indices and slices work as for an array: predictors[-1] is the last predictor.
    """

    makers: list[Callable[[], Float]]
    shape: tuple[int, ...]

    def __repr__(self) -> str:
        return f"Predictors(<{'×'.join(map(str, self.shape))}>)"

    @property
    def ndim(self) -> int:
        """The number of axes, including that of the recorded times."""
        return len(self.shape)

    def __len__(self) -> int:
        return len(self.makers)

    def __getitem__(self, which: Any) -> Float:
        if isinstance(which, int | np.integer):
            return np.asarray(self.makers[which]())
        if isinstance(which, tuple):
            return np.asarray(
                self[which[0]][which[1:] if np.ndim(which[0]) == 0 else (slice(None), *which[1:])]
            )
        return np.array([self.makers[i]() for i in np.arange(len(self))[which]])

    def __iter__(self) -> Iterator[Float]:
        return (np.asarray(make()) for make in self.makers)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Float:
        return np.array(list(self), dtype=dtype)


def predictors(observations: Sequence[Any]) -> Any:
    """The predictors of observations: an array, or `Predictors` if they are functions."""
    makers = [each.predictor for each in observations if callable(each.predictor)]
    if len(makers) < len(observations):
        return np.array([each.predictor for each in observations])
    return Predictors(makers, (len(observations), *np.shape(makers[-1]())))
