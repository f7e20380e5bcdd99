"""Gradient flow: `flow`, and the choice of its form (the unknowns that are integrated) for model and loss."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.data.arrays import (
    Float,
    as_classes,
    as_floats,
    as_labels,
    as_targets,
    check_squares,
    feature_names,
    kept,
)
from tacit.data.entries import Entries, Inputs
from tacit.data.prepared import Design, design_of
from tacit.data.status import Status
from tacit.errors import InputError, Interrupted, NoPotentialError
from tacit.flows.driver import record
from tacit.flows.fitting import fitting
from tacit.flows.form import Form, Problem
from tacit.flows.forms.descent import Descent
from tacit.flows.forms.dual import DualSquare
from tacit.flows.forms.parameters import Gradients, Parameters
from tacit.flows.forms.reduced import Reduced
from tacit.flows.forms.separating import DualSeparating
from tacit.flows.forms.sliding import Sliding
from tacit.flows.forms.tangent import TangentSeparating, TangentSmooth, TangentSquare
from tacit.flows.goals import goal_of
from tacit.losses import Loss, as_loss
from tacit.models.model import MirrorForm, Model, as_model, check_intercept, check_model
from tacit.packages import is_installed
from tacit.potentials.arrays import quiet
from tacit.results.trajectory import Trajectory
from tacit.show.progress import Meter
from tacit.verbs.assemble_trajectory import assemble, in_original_units

_METHODS = ("auto", "parameters", "descent", "normalized")

_LOG = logging.getLogger(__name__)


def flow(
    model: Model,
    X: Inputs,
    y: ArrayLike,
    *,
    loss: Loss | str = "square",
    until: float | None = None,
    at: ArrayLike | None = None,
    times: ArrayLike | None = None,
    rtol: float = 1e-8,
    linearized: bool = False,
    method: str = "auto",
    step: float | None = None,
    most_steps: int = 1_000_000,
    intercept: bool = False,
    standardize: bool = False,
) -> Trajectory:
    """Integrate gradient flow on the training loss, θ' = −∇L(θ), from the model's initialization.

    If the flow cannot reach the requested accuracies or times, the trajectory ends where it stalls, with
    converged=False and a reason. Ctrl-C raises `tacit.Interrupted`, a KeyboardInterrupt whose `trajectory`
    contains the flow computed so far.

    Parameters
    ----------
    model : Model
        A model with its initialization, such as `Diagonal`, `tacit.Network` or the result of `tacit.model`.
    X : (N, d) array-like, or Prepared
        Rows are samples. For models of matrices and for networks, of the shape that the model takes.
    y : (N,) or (N, m) array-like
        Targets. "exp" and "logistic" take two classes: −1 and +1, or any two names or whole numbers; the
        first in sorted order stands for −1. "cross-entropy" takes as many classes as the model has outputs,
        numbered from 0, or names in sorted order.
    loss : "square" | "exp" | "logistic" | "cross-entropy" or a Loss, optional
        The training loss L; `tacit.losses` has them with other normalizations.
    until : float, optional
        The accuracy −log L at which to stop. By default a relative residual of rtol/100 for the square loss,
        and γ̃ = 30 for other losses.
    at : sequence of float, optional
        Increasing accuracies at which to record the flow. By default about 200 times are recorded, including
        the start and the end.
    times : sequence of float, optional
        Increasing training times at which to record the flow, instead of accuracies; 0 is allowed.
    rtol : float, optional
        Relative accuracy of the predictor.
    linearized : bool, optional
        Linearize the model at its initialization (the kernel regime).
    method : "auto" | "parameters" | "descent" | "normalized", optional
        "auto" chooses the best form of the flow for model and loss. For diagonal networks this is a mirror
        form of the same potential Q that `limit` minimizes, so that its agreement with `limit` is no evidence
        for Q. "parameters" integrates the raw weights of any model, which is slower and independent of Q.
        "descent" and "normalized" run plain or normalized gradient descent (Moroshko et al. 2020, Appendix
        H.5), compiled by JAX if it is installed, and record the first iterate at or beyond each requested
        accuracy or time. `Trajectory.method` describes the method that was used.
    step : float, optional
        Step size of descent, in units of time; for normalized descent, step/L.
    most_steps : int, optional
        The largest number of steps of descent.
    intercept : bool, optional
        For the square loss: fit f(x) = w·x + b with the optimal b at all times, which is the flow on centred
        X and y.
    standardize : bool, optional
        Integrate the flow of the weights of features divided by their standard deviation. Predictor and
        intercept of the trajectory belong to the original data.

    Returns
    -------
    Trajectory
        Time, accuracy, predictor, weights and conserved quantities at the recorded times.

    Raises
    ------
    InputError
        If an argument is invalid.
    NotSeparableError
        If the loss is one of margins and no linear predictor classifies all samples correctly.
    Interrupted
        If Ctrl-C is pressed.

    See Also
    --------
    limit : The end of the flow on the square loss, without integration. Check it with method="parameters".
    sweeping_path : The flow on the exponential loss at infinite scale.

    Examples
    --------
    >>> import tacit
    >>> X, y = [[1, 2]], [2]
    >>> run = tacit.flow(tacit.Diagonal(scale=0.1), X, y, at=[0, 5, 20], method="parameters")
    >>> run.accuracy.tolist(), run.converged
    ([0.0, 5.0, 20.0], True)
    >>> end = tacit.limit(tacit.Diagonal(scale=0.1), X, y).predictor
    >>> bool(abs(run.predictor[-1] - end).max() < 1e-4)
    True
    """
    begun, names, loss = time.perf_counter(), feature_names(X), as_loss(loss)
    samples, targets = check_data(model, X, y, loss)
    model, names = model.on(samples), names if model.has_predictor else None
    _check_method(method, step, most_steps, linearized)
    _check_intercept(model, loss, intercept)
    if not model.has_predictor and (intercept or standardize):
        raise InputError(
            "intercept and standardize are not available for networks: add a bias to the network, or scale X "
            "yourself"
        )
    design, seen = _design(model, X, samples, intercept, standardize), targets
    if design is not None and not design.plain:
        samples, seen = design.rounded, kept(design.targets(targets))
    problem = Problem(model, samples, seen, loss, _number_between(rtol, "rtol", 1e-13, 0.1))
    trajectory = _run(problem, design, (until, at, times), linearized, (method, step, most_steps), begun)
    if design is not None and not design.plain:
        trajectory = in_original_units(trajectory, design.units(targets), design.X, targets)
    _LOG.info("flow of %r: %s, %d steps: %s", model, trajectory.method, trajectory.steps, trajectory.reason)
    if trajectory.status == Status.INTERRUPTED:
        raise Interrupted(replace(trajectory, features=names))
    return replace(trajectory, features=names)


@quiet  # a step that leaves the floating-point range gives an accuracy of NaN, which ends the flow
def _run(
    problem: Problem,
    design: Design | None,
    requested: tuple[Any, Any, Any],
    linearized: bool,
    how: tuple[str, float | None, int],
    begun: float,
) -> Trajectory:
    """Integrate the flow. requested: until, at, times. how: method, step, most_steps."""
    if problem.loss.separating and design is not None:
        design.check_separable(problem.y)
    fit = fitting(problem, design.range if design else None)
    form = _form(fit.problem, linearized, *how)

    def level_of(form: Form) -> Callable[[Any], float]:
        return lambda state: float(fit.problem.loss.accuracy(form.outputs(state), fit.problem.y))

    level = level_of(form)
    first = level(form.begin())
    goal = goal_of(*requested, first, fit)

    @quiet
    def area() -> float:
        """∫L dt, by a second integration, since accumulating it would make every flow a quarter slower."""
        if not (problem.loss.quadratic and problem.model.has_predictor):
            return math.nan
        again = _form(fit.problem, linearized, *how)
        return record(again, level_of(again), goal, fit, area=True).area

    with Meter("gradient flow", 0.0 if goal.timed else first, goal.end) as meter:
        recording = record(form, level, goal, fit, meter.update)
    return assemble(recording, goal, form, fit, problem, linearized, begun, area)


def _form(problem: Problem, linearized: bool, method: str, step: float | None, most_steps: int) -> Form:
    """Choose the form of the flow for this model and loss."""
    if method in ("descent", "normalized"):
        return _descent(problem)(problem, method == "normalized", step, most_steps, linearized)
    parametrization, loss = problem.model.parametrization, problem.loss
    known = loss.separating or loss.quadratic
    if linearized:
        kind = TangentSeparating if loss.separating else TangentSquare if loss.quadratic else TangentSmooth
        return kind(problem)
    mirror = _mirror_form(problem) if method == "auto" and known else None
    if mirror is not None:
        return (DualSeparating if loss.separating else DualSquare)(problem, mirror)
    if method == "parameters" or not parametrization.written_out or (parametrization.kinked and not known):
        return _parameters(problem)
    return Sliding(problem) if parametrization.kinked else Reduced(problem)


def _mirror_form(problem: Problem) -> MirrorForm | None:
    """The mirror form of the model; None if it has no potential, so that the weights must be integrated.

    A diagonal network has none if a coordinate of the predictor can never change its sign.
    """
    try:
        return None if problem.features is None else problem.model.mirror_form(problem.features)
    except NoPotentialError:
        return None


def _parameters(problem: Problem) -> Form:
    """The flow of the raw weights; derivatives that are not written out need JAX, imported only then."""
    parametrization = problem.model.parametrization
    if problem.model.has_predictor and parametrization.written_out:
        return Parameters(problem)
    if not parametrization.traceable:
        return Gradients(problem)
    from tacit.flows.forms.traced import TracedGradients, TracedParameters

    return (TracedParameters if problem.model.has_predictor else TracedGradients)(problem)


def _descent(problem: Problem) -> type[Descent]:
    """Gradient descent in NumPy, or in loops compiled by JAX, about forty times as fast."""
    parametrization = problem.model.parametrization
    if not parametrization.traceable or (parametrization.written_out and not is_installed("jax")):
        return Descent
    from tacit.flows.forms.traced import TracedDescent

    return TracedDescent


def check_data(model: Any, X: Any, y: Any, loss: Loss) -> tuple[Any, Float]:
    """Validate X and y, and convert them to the arrays that model and loss expect."""
    check_model("flow(model, X, y)", model, X, y, functions=True)
    X = as_model(model).as_inputs(X)
    outputs = model.n_outputs(X)
    if loss.separating and outputs > 1:
        raise InputError(
            f"the {loss.name} is for models with one output and for two classes; the model has {outputs} "
            'outputs: use loss="cross-entropy" for several classes'
        )
    if X.size == 0:
        raise InputError(f"X must have at least one sample and one feature, got {X.shape}")
    if loss.classes:
        return X if isinstance(X, Entries) else kept(X), kept(as_classes(y, len(X), outputs))
    y = as_targets(as_labels(y, f"the {loss.name}") if loss.separating else y, len(X), outputs)
    y = y[:, 0] if outputs == 1 else y
    check_squares(y if isinstance(X, Entries) else X, y)
    return X if isinstance(X, Entries) else kept(X), kept(y)


def _design(model: Any, given: Any, X: Any, intercept: bool, standardize: bool) -> Design | None:
    """The centred and standardized features; None for entries of a matrix and for networks."""
    if not isinstance(X, Entries):
        return design_of(given, X, intercept, standardize) if model.has_predictor else None
    if intercept or standardize:
        raise InputError(
            "intercept and standardize are for tables of features, not for entries of a matrix: leave "
            "them out"
        )
    return None


def _check_intercept(model: Any, loss: Loss, intercept: bool) -> None:
    if intercept and loss.separating:
        raise InputError(
            f"intercept is not available for the {loss.name}: the optimal intercept has no closed "
            "form, and a separate flow for it would depend on its initialization and speed. Leave "
            "intercept out, or call "
            "tacit.margin_path or tacit.max_margin with intercept=True, which compute limits of such flows"
        )
    if intercept and loss.classes:
        raise InputError(
            f"intercept is not available for the {loss.name}, whose optimal intercept has no closed form: "
            "leave intercept out"
        )
    check_intercept(model, intercept)


def _number_between(value: Any, name: str, low: float, high: float) -> float:
    number = float(as_floats(value, name, ndim=(0,)))
    if not low <= number <= high:
        raise InputError(f"{name} must lie between {low:g} and {high:g}, got {value!r}")
    return number


def _check_method(method: str, step: float | None, most_steps: int, linearized: bool) -> None:
    if method not in _METHODS:
        raise InputError(f"method must be one of {', '.join(map(repr, _METHODS))}, got {method!r}")
    if step is not None and method not in ("descent", "normalized"):
        raise InputError(
            f"step is for the methods 'descent' and 'normalized'; {method!r} controls its own step size: "
            "leave step out"
        )
    if step is not None and not float(as_floats(step, "step", ndim=(0,))) > 0:
        raise InputError(f"step must be positive, got {step!r}")
    if not (isinstance(most_steps, int | np.integer) and most_steps > 0):
        raise InputError(f"most_steps must be a positive whole number, got {most_steps!r}")
    if linearized and method == "parameters":
        raise InputError("method='parameters' is not available for linearized flows: leave method out")
