"""The interface of models: a parametrization with its initialization."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from tacit.data.arrays import Float, as_floats
from tacit.data.entries import Entries, Inputs
from tacit.errors import InputError, NoPotentialError
from tacit.models.mirror_form import MirrorForm as MirrorForm
from tacit.models.parametrizations import Weights
from tacit.models.weight_pair import WeightPair
from tacit.potentials import Potential
from tacit.potentials.arrays import quiet


def check_model(call: str, model: Any, X: Any, y: Any, *, functions: bool = False) -> None:
    """Raise an error if arguments are in the wrong order, or if the model has no predictor and needs one."""
    if any(isinstance(each, Model | Potential) for each in (X, y)):
        raise InputError(f"the model comes first: {call}")
    if isinstance(model, list | tuple) or hasattr(model, "__array__"):
        raise InputError(f"the model comes first: {call}; got {type(model).__name__} instead")
    if isinstance(model, Model) and not (model.has_predictor or functions):
        model.potential()  # raises NoPotentialError with the reason


def as_model(given: Any) -> Model:
    """Raise `InputError` unless the argument is a model."""
    if isinstance(given, Model):
        return given
    found = (
        f"the class {given.__name__}: write {given.__name__}(…)" if isinstance(given, type) else repr(given)
    )
    raise InputError(f"model must be a Tacit model with its initialization, got {found}")


def fixed_start(
    weights: Weights,
    features: int,
    d: int | None,
    wrong: str = "the model has {} features but the data has {}",
) -> Weights:
    """Copies of the weights of a model that fixes its number of features; raise if the data has others."""
    if d not in (None, features):
        raise InputError(wrong.format(features, d))
    return {name: np.array(each) for name, each in weights.items()}


class Model:
    """Base class of models: a parametrization with its initialization. Subclass it to add your own model.

    A subclass must implement two attributes:

        parametrization   the map from weights to the predictor (see `tacit.models.parametrizations`)
        start(d)          the weights at initialization, a dict of arrays

    `predictor`, `conserved` and `tangent_kernel` follow from them, and `tacit.flow` can integrate the raw
    weights. Optional methods provide more: `potential(d)` limits, margins and certificates; `mirror_form(d)`
    fast flows; `two_layers()` the solvers for networks with a hidden layer; `describe()` a line of text.

    Examples
    --------
    >>> import tacit
    >>> model = tacit.Diagonal(scale=0.1)
    >>> model.tangent_kernel([[1, 2], [3, 4]]).round(6).tolist()  # 4·α²·(X Xᵀ), summed over w₊ and w₋
    [[0.4, 0.88], [0.88, 2.0]]
    >>> {name: value.round(6).tolist() for name, value in model.conserved().items()}
    {'power mean of w₊ and w₋': [0.1]}
    """

    has_predictor: bool = True  # whether a vector or matrix w determines the outputs at all inputs
    input_ndim: int = 2  # number of axes of X: 2 for samples × features, 3 for samples × matrices

    path_clock: str | None = None  # the formula for μ along its flow, in LaTeX

    @property
    def family(self) -> str:
        """The row of `tacit.solvers.table` with the solver for its limit."""
        if self.input_ndim == 3:
            return "factorization"
        hidden = self.two_layers() is not None or self.as_neuron() is not None
        return "connected" if hidden else "potential"

    @property
    def linear(self) -> bool:
        """Whether its outputs are a linear function of X."""
        return bool(self.parametrization.linear)

    def _store(self, **values: Any) -> None:
        """Store checked arguments in a frozen dataclass."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def parametrization(self) -> Any:
        """The map from weights to the predictor."""
        raise TypeError(f"{type(self).__name__} must implement parametrization")

    def start(self, d: int | None = None) -> Weights:
        """The weights at initialization.

        Parameters
        ----------
        d : int, optional
            The number of features, for models that do not fix it; 1 by default.

        Returns
        -------
        dict of arrays
            The weights, by name.
        """
        raise TypeError(f"{type(self).__name__} must implement start(d)")

    def describe(self) -> str:
        """The model and the meaning of its parameters, in one line."""
        return repr(self)

    def potential(self, d: int | None = None) -> Potential:
        """The potential Q that gradient flow minimizes implicitly.

        Parameters
        ----------
        d : int, optional
            The number of features, for models that do not fix it.

        Returns
        -------
        Potential
            Q, for `tacit.limit`, `tacit.max_margin` and `tacit.certify`.

        Raises
        ------
        NoPotentialError
            If none is known; the message gives the reason.
        """
        raise NoPotentialError(
            f"no potential is known for {type(self).__name__}; tacit.flow integrates its flow"
        )

    def mirror_form(self, d: int) -> MirrorForm | None:
        """The flow in mirror space, for models with the potential of a diagonal network.

        Parameters
        ----------
        d : int
            The number of features.

        Returns
        -------
        MirrorForm or None
            None for other models.
        """
        return None

    def weight_pair(self, d: int) -> WeightPair:
        """The two weight vectors that stand for all weights along gradient descent, for diagonal networks.

        Parameters
        ----------
        d : int
            The number of features.

        Returns
        -------
        WeightPair
            The weights w₊ and w₋ at initialization, and how they move.

        Raises
        ------
        NoPotentialError
            If the model is not a diagonal network, or its layers do not move like two vectors.
        """
        raise NoPotentialError(
            f"the weights during and after training are known for Diagonal and UntiedDiagonal only, not for "
            f"{type(self).__name__}; tacit.flow integrates them"
        )

    def moved_to(self, w: Float) -> Model:
        """The model with the weights that its flow has where the predictor is w.

        Parameters
        ----------
        w : (d,) array
            A predictor.

        Returns
        -------
        Model
            The same network, with the weights there as its initialization.

        Raises
        ------
        NoPotentialError
            If these weights are not determined by the predictor.
        """
        pair = self.weight_pair(len(w))
        plus, minus = pair.at(np.asarray(w, dtype=float))
        found: Model = pair.model(plus, minus)
        return found

    # the predictor at the end of the flow, set in the models of results of `tacit.limit`
    _end: Float | None = None

    def ending_at(self, w: Float) -> Model:
        """This model, called by `limit.model()` to be the one at the end.

        Parameters
        ----------
        w : array
            The predictor at the end of the flow.

        Returns
        -------
        Model
            A copy of the model.
        """
        found = copy(self)
        object.__setattr__(found, "_end", w)
        return found

    def __call__(self) -> Model:
        """The model at the end of training, whose weights are those where the flow ends."""
        if self._end is None:
            raise InputError("only the model of a limit has an end: call tacit.limit(model, X, y).model()")
        return self.moved_to(self._end)

    @property
    def predictor_scale(self) -> Any:
        """The scale m in the potential of a diagonal network; an array if it differs between coordinates.

        For `Diagonal`, the α^D of Moroshko et al. 2020. For `UntiedDiagonal` √k/4, which plays the same role;
        it is scale·(1+s²)/(1−s²) if the initialization is unbiased.
        """
        potential = self.potential().base
        if potential.family != "separable":
            raise NoPotentialError(f"the potential of {type(self).__name__} has no scale")
        with np.errstate(under="ignore", over="ignore"):
            scale = np.exp(np.asarray(potential.log_scale))  # type: ignore[attr-defined]
        return float(scale.flat[0]) if scale.size == 1 else scale

    def shifted(self, shift: float, d: int | None = None) -> Model | Potential | None:
        """The model with the scale of its predictor multiplied by e^shift, or the potential of that model.

        Parameters
        ----------
        shift : float
            Logarithm of the factor of the scale.
        d : int, optional
            The number of features, for models that do not fix it.

        Returns
        -------
        Model, Potential or None
            None if the model has no scale.
        """
        return self.potential(d).shifted(shift, d)

    def lifted(self) -> Float:
        """M̄ = [U; V][U; V]ᵀ at initialization (W Wᵀ for symmetric models), for models of matrices."""
        self.potential()  # raises NoPotentialError with the reason
        raise TypeError(f"{type(self).__name__} must implement lifted()")

    def two_layers(self) -> tuple[Float, Float] | None:
        """U and V of the predictor UVᵀ, if the model has a fully connected hidden layer; otherwise None."""
        return None

    def as_neuron(self) -> Any:
        """The equivalent `Neuron`, or None if there is none."""
        return None

    def n_outputs(self, X: Inputs | None = None) -> int:
        """The number of outputs per sample.

        Parameters
        ----------
        X : array-like, optional
            Inputs, samples first; required by networks that are given as a function.

        Returns
        -------
        int
            m, the number of outputs.
        """
        return 1

    def on(self, X: Inputs) -> Model:
        """The model restricted to these samples; most models do not depend on them.

        Parameters
        ----------
        X : array-like
            Inputs, samples first.

        Returns
        -------
        Model
            The model itself, or one whose predictor is the vector of its outputs at these samples.
        """
        return self

    def kernel_work(self, X: Inputs) -> float:
        """An estimate of the cost of the tangent kernel, for models for which it is large.

        Parameters
        ----------
        X : array-like
            Inputs, samples first.

        Returns
        -------
        float
            The number of multiplications; 0 if they are few.
        """
        return 0.0

    def as_inputs(self, X: Inputs) -> Any:
        """Convert X to an array of floats, of the shape that the model takes.

        Parameters
        ----------
        X : array-like
            Inputs, samples first.

        Returns
        -------
        array
            X in double precision.

        Raises
        ------
        InputError
            If the shape does not match the model, or entries are not finite.
        """
        if isinstance(X, Entries):
            raise InputError(
                f"{type(self).__name__} does not take entries of a matrix as data; use tacit.Factorization"
            )
        X = as_floats(X, "X", ndim=(2,))
        self.start(X.shape[1])
        return X

    @quiet
    def predictor(self) -> Float:
        """The predictor at initialization."""
        return np.asarray(self.parametrization.predictor(self.start()))

    @quiet
    def conserved(self) -> dict[str, Float]:
        """The conserved quantities of gradient flow, by name."""
        found = self.parametrization.invariants(self.start())
        return {name: np.asarray(value) for name, (value, _) in found.items()}

    @quiet
    def tangent_kernel(self, X: Inputs) -> Float:
        """The neural tangent kernel at initialization, K(x, x') = ⟨∇f(x), ∇f(x')⟩.

        Parameters
        ----------
        X : (N, d) array-like
            Inputs, samples first.

        Returns
        -------
        (N, N) array
            K; (N·m, N·m) for m outputs, with the outputs of a sample in adjacent rows.
        """
        samples = self.as_inputs(X)
        d = None if isinstance(samples, Entries) else samples.shape[1]
        return np.asarray(self.parametrization.kernel(self.start(d), samples))


def is_linear(model: Any) -> bool:
    """Whether the outputs are a linear function of X; True for potentials."""
    return bool(getattr(model, "linear", True))


def check_units(model: Any, intercept: bool, standardize: bool) -> None:
    """Raise `InputError` if the model does not support an intercept or standardized features."""
    if (intercept or standardize) and getattr(model, "input_ndim", 2) == 3:
        name = "intercept" if intercept else "standardize"
        raise InputError(f"{name} is for tables of features, not for measurements of a matrix; leave it out")
    check_intercept(model, intercept)


def check_intercept(model: Any, intercept: bool) -> None:
    """Raise `InputError` for an intercept if the model is not linear, because centring does not give one."""
    if intercept and not is_linear(model):
        raise InputError(
            "intercept is not available for a leaky neuron, because centred features give another model; "
            "leave intercept out, or add a column of ones as another feature"
        )
