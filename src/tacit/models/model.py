"""What every model has: a parametrization, and the weights at its start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.data.arrays import Float, as_floats
from tacit.data.entries import Entries
from tacit.data.inputs import Inputs
from tacit.errors import InputError, NoPotentialError
from tacit.models.parametrizations import Weights
from tacit.potentials import Potential
from tacit.potentials.arrays import quiet
from tacit.potentials.geometry import Geometry


@dataclass(frozen=True, eq=False)
class MirrorForm(Geometry):
    r"""The flow of a model with a separable potential, in mirror space.

        weight·s(u(t)) = weight·s(u(0)) + Xᵀν(t),    dν/dt = e^{log_speed}·(−∂L/∂f)

    u: the rapidity of every coordinate, from which the map of power and log_scale makes the predictor and
    `lift` the weights.
    """

    power: float
    log_scale: Float
    weight: Float
    start: Float
    log_speed: float
    lift: Callable[[Float], Weights]

    def own_map(self) -> Any:
        """The mirror map at the start, of flows of another geometry; None of tied and two-layer ones."""
        return None


def check_model(call: str, model: Any, X: Any, y: Any, *, functions: bool = False) -> None:
    """Refuse arguments in another order than that of the call, and models that are functions and no more."""
    if any(isinstance(each, Model | Potential) for each in (X, y)):
        raise InputError(f"the model comes first: {call}")
    if isinstance(model, list | tuple) or hasattr(model, "__array__"):
        raise InputError(f"the model comes first: {call}; got {type(model).__name__} in its place")
    if isinstance(model, Model) and not (model.has_predictor or functions):
        model.potential()  # which says why there is none


def as_model(given: Any) -> Model:
    """What flows run; `InputError` names what is none."""
    if isinstance(given, Model):
        return given
    what = (
        f"the class {given.__name__}: write {given.__name__}(…)" if isinstance(given, type) else repr(given)
    )
    raise InputError(f"model must be a Tacit model with its initialization, got {what}")


class Model:
    """A parametrization with its initialization, to be written by whoever has one of their own.

    Two things must be given, and what holds at initialization follows from them:

        parametrization   how weights make a predictor (see `tacit.models.parametrizations`)
        start(d)          the weights at initialization, a dict of arrays

    The rest is what a model may know besides: its `potential(d)`, from which limits, margins and certificates
    follow; its `mirror_form(d)`, in which flows are fast; its `two_layers()`; words in `describe()`.
    """

    has_predictor: bool = True  # are its outputs decided by a vector or a matrix, whatever the inputs?
    input_ndim: int = 2  # axes of X: samples and features, or samples and the two of a matrix

    path_clock: str | None = None  # what μ is for its flow, in symbols

    @property
    def family(self) -> str:
        """Which row of `tacit.solvers.table` knows where its flow ends: that of its potential, or its own."""
        if self.input_ndim == 3:
            return "factorization"
        hidden = self.two_layers() is not None or self.as_neuron() is not None
        return "connected" if hidden else "potential"

    @property
    def linear(self) -> bool:
        """Are its outputs a linear function of X?"""
        return bool(self.parametrization.linear)

    @property
    def parametrization(self) -> Any:
        """How weights make a predictor."""
        raise TypeError(f"{type(self).__name__} must implement parametrization")

    def start(self, d: int | None = None) -> Weights:
        """The weights at initialization.

        Parameters
        ----------
        d : int, optional
            The number of features, where the model leaves it open; one if nothing tells it.

        Returns
        -------
        dict of arrays
            The weights, by name.
        """
        raise TypeError(f"{type(self).__name__} must implement start(d)")

    def describe(self) -> str:
        """What the numbers mean, in a line."""
        return repr(self)

    def potential(self, d: int | None = None) -> Potential:
        """The Q that gradient flow minimizes.

        Parameters
        ----------
        d : int, optional
            The number of features, where the model leaves it open.

        Returns
        -------
        Potential
            Q, for `tacit.limit`, `tacit.max_margin` and `tacit.certify`.

        Raises
        ------
        NoPotentialError
            Where none is known, saying why.
        """
        raise NoPotentialError(
            f"{type(self).__name__} names no potential that its flow minimizes; tacit.flow runs it"
        )

    def mirror_form(self, d: int) -> MirrorForm | None:
        """The flow in mirror space, for potentials of diagonal networks.

        Parameters
        ----------
        d : int
            The number of features.

        Returns
        -------
        MirrorForm or None
            None where there is none.
        """
        return None

    @property
    def predictor_scale(self) -> Any:
        """m of a potential of diagonal networks, for each coordinate where they differ.

        The α^D of Moroshko et al. 2020 for `Diagonal`; for `UntiedDiagonal` √k/4, scale·(1+s²)/(1−s²) from an
        unbiased start, which takes its place in everything that the start decides.
        """
        potential = self.potential().base
        if potential.family != "separable":
            raise NoPotentialError(f"the potential of {type(self).__name__} has no scale")
        with np.errstate(under="ignore", over="ignore"):
            scale = np.exp(np.asarray(potential.log_scale))  # type: ignore[attr-defined]
        return float(scale.flat[0]) if scale.size == 1 else scale

    def shifted(self, shift: float, d: int | None = None) -> Model | Potential | None:
        """The same at another scale, or what its flow then minimizes, if known.

        Parameters
        ----------
        shift : float
            The predictor's scale is e^shift times as large.
        d : int, optional
            The number of features, where the model leaves it open.

        Returns
        -------
        Model, Potential or None
            None where there is no scale.
        """
        return self.potential(d).shifted(shift, d)

    def lifted(self) -> Float:
        """M̄ = [U; V][U; V]ᵀ at initialization (W Wᵀ of a symmetric model), of models of matrices."""
        self.potential()  # which says why there is none
        raise TypeError(f"{type(self).__name__} must implement lifted()")

    def two_layers(self) -> tuple[Float, Float] | None:
        """U and V of the predictor UVᵀ, where the model has a hidden layer that sees all features."""
        return None

    def as_neuron(self) -> Any:
        """The `Neuron` that the model is; None if it is not one."""
        return None

    def n_outputs(self, X: Inputs | None = None) -> int:
        """How many numbers it gives for each of these samples.

        Parameters
        ----------
        X : array-like, optional
            Inputs, samples first; a network that is given as a function needs them.

        Returns
        -------
        int
            m.
        """
        return 1

    def on(self, X: Inputs) -> Model:
        """The model of these samples; most do not ask which.

        Parameters
        ----------
        X : array-like
            Inputs, samples first.

        Returns
        -------
        Model
            Itself, or one whose predictor are its outputs there.
        """
        return self

    def kernel_work(self, X: Inputs) -> float:
        """Multiplications for a tangent kernel, where that may be worth knowing.

        Parameters
        ----------
        X : array-like
            Inputs, samples first.

        Returns
        -------
        float
            How many; 0 where they are few.
        """
        return 0.0

    def as_inputs(self, X: Inputs) -> Any:
        """X as floats of the shape that the model takes.

        Parameters
        ----------
        X : array-like
            Inputs, samples first.

        Returns
        -------
        array
            The same in double precision.

        Raises
        ------
        InputError
            Where the shape is another, or entries are not finite.
        """
        if isinstance(X, Entries):
            raise InputError(
                f"entries of a matrix are data for a Factorization, not for {type(self).__name__}"
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
        """What gradient flow keeps constant, by name."""
        found = self.parametrization.invariants(self.start())
        return {name: np.asarray(value) for name, (value, _) in found.items()}

    @quiet
    def tangent_kernel(self, X: Inputs) -> Float:
        """K(x, x') = ⟨∇f(x), ∇f(x')⟩ at initialization.

        Parameters
        ----------
        X : (N, d) array-like
            Inputs, samples first.

        Returns
        -------
        (N, N) array
            K; (N·m, N·m) for m outputs, those of a sample side by side.
        """
        samples = self.as_inputs(X)
        d = None if isinstance(samples, Entries) else samples.shape[1]
        return np.asarray(self.parametrization.kernel(self.start(d), samples))


def is_linear(model: Any) -> bool:
    """Are the outputs a linear function of X? Those of potentials are."""
    return bool(getattr(model, "linear", True))


def check_units(model: Any, intercept: bool, standardize: bool) -> None:
    """Refuse units of features where X measures a matrix, and an intercept as `check_intercept` does."""
    if (intercept or standardize) and getattr(model, "input_ndim", 2) == 3:
        name = "intercept" if intercept else "standardize"
        raise InputError(f"{name} is for tables of features, not for measurements of a matrix; leave it out")
    check_intercept(model, intercept)


def check_intercept(model: Any, intercept: bool) -> None:
    """Refuse an intercept where centring is no way to have one."""
    if intercept and not is_linear(model):
        raise InputError(
            "a leaky neuron bends at 0, so that centred features give another model and not an intercept: "
            "leave intercept out, or add a column of ones, which then is a feature like any other"
        )
