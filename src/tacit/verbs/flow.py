"""Gradient flow, integrated: the verb, and which form of the flow serves which model and loss."""

from __future__ import annotations

import time
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
from tacit.data.entries import Entries
from tacit.data.inputs import Inputs
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
from tacit.verbs.assemble_trajectory import as_given, assemble

_METHODS = ("auto", "parameters", "descent", "normalized")


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
    """θ' = −∇L(θ) from the model's initialization: gradient flow on the training loss.

    A flow that cannot reach what is asked for ends where it stalls, with converged=False and the reason.
    Ctrl-C raises `tacit.Interrupted`, a KeyboardInterrupt whose `trajectory` has what was computed.

    Parameters
    ----------
    model : Model
        A model with its initialization; also a `tacit.Network` and what `tacit.model` makes of a function.
    X : (N, d) array-like, or Prepared
        Rows are samples; of the shape that the model takes where it is one of matrices, or a network.
    y : (N,) or (N, m) array-like
        Targets. "exp" and "logistic" take two classes: −1 and +1, or any two names or whole numbers, of which
        the first in order becomes −1. "cross-entropy" takes as many classes as there are outputs, numbered
        from 0 or by name, in their order.
    loss : "square" | "exp" | "logistic" | "cross-entropy" or a Loss, optional
        What is minimized; `tacit.losses` has them with other normalizations.
    until : float, optional
        The accuracy −log L at which to stop; if left out, a relative residual of rtol/100 (square loss) or γ̃
        = 30.
    at : sequence of float, optional
        Increasing accuracies to record, exactly these. If left out, some 200 instants, start and end
        included.
    times : sequence of float, optional
        Increasing training times to record, instead of accuracies; 0 is allowed.
    rtol : float, optional
        Relative accuracy of the predictor.
    linearized : bool, optional
        Follow the model's tangent at initialization (the kernel regime).
    method : "auto" | "parameters" | "descent" | "normalized", optional
        "auto" takes the form of the flow that suits model and loss best. For diagonal networks that is a
        mirror form of the same potential Q that `limit` minimizes, and its agreement with `limit` is no
        evidence for Q. "parameters" integrates the raw weights of any model: slower, and independent of Q.
        "descent" and "normalized" run gradient descent, plain or normalized (Moroshko et al. 2020, Appendix
        H.5), in loops that JAX compiles where it is installed, and record the first iterate at or beyond each
        mark. `Trajectory.method` says what was done.
    step : float, optional
        Of descent: the size of a step in time; of normalized descent, step/L.
    most_steps : int, optional
        Of descent: the largest number of steps.
    intercept : bool, optional
        Square loss: f(x) = w·x + b with b at its best at every moment, which is the flow on centred X and y.
    standardize : bool, optional
        The flow of the weights that belong to features divided by their standard deviation. Predictor and
        intercept of the trajectory are for the data as they came.

    Returns
    -------
    Trajectory
        Time, accuracy, predictor, weights and what they conserve, at the recorded instants.

    Raises
    ------
    InputError
        Where an argument is not what it should be.
    NotSeparableError
        Where no linear predictor has all samples on the right side, and the flow is one of margins.
    Interrupted
        At Ctrl-C.

    See Also
    --------
    limit : Where it ends on the square loss, without running it. Compare it with method="parameters".
    sweeping_path : The exponential loss at infinite scale.

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
            "a network has biases of its own, and what X it is given is yours to scale: leave out "
            "intercept and standardize"
        )
    design, seen = _design(model, X, samples, intercept, standardize), targets
    if design is not None and not design.plain:
        samples, seen = design.rounded, kept(design.targets(targets))
    problem = Problem(model, samples, seen, loss, _number_between(rtol, "rtol", 1e-13, 0.1))
    trajectory = _run(problem, design, (until, at, times), linearized, (method, step, most_steps), begun)
    if design is not None and not design.plain:
        trajectory = as_given(trajectory, design.units(targets), design.X, targets)
    if trajectory.status == Status.INTERRUPTED:
        raise Interrupted(replace(trajectory, features=names))
    return replace(trajectory, features=names)


@quiet  # a step that leaves the range of floats has no accuracy, and ends the flow
def _run(
    problem: Problem,
    design: Design | None,
    asked: tuple[Any, Any, Any],
    linearized: bool,
    means: tuple[str, float | None, int],
    begun: float,
) -> Trajectory:
    """The flow to what is asked of it: until, at, times; by what means: method, step, most steps."""
    if problem.loss.separating and design is not None:
        design.check_separable(problem.y)
    fit = fitting(problem, design.range if design else None)
    form = _form(fit.problem, linearized, *means)

    def level(state: Any) -> float:
        return float(fit.problem.loss.accuracy(form.outputs(state), fit.problem.y))

    first = level(form.begin())
    goal = goal_of(*asked, first, fit)
    with Meter("gradient flow", 0.0 if goal.timed else first, goal.end) as meter:
        recording = record(form, level, goal, fit, meter.update)
    return assemble(recording, goal, form, fit, problem, linearized, begun)


def _form(problem: Problem, linearized: bool, method: str, step: float | None, most_steps: int) -> Form:
    """The form of the flow that serves this model and loss."""
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
    """That of the model, unless some coordinate can never change its sign: then follow the weights."""
    try:
        return None if problem.features is None else problem.model.mirror_form(problem.features)
    except NoPotentialError:
        return None


def _parameters(problem: Problem) -> Form:
    """The raw weights. Derivatives that are not written out are JAX's, which is imported only for them."""
    parametrization = problem.model.parametrization
    if problem.model.has_predictor and parametrization.written_out:
        return Parameters(problem)
    if not parametrization.traceable:
        return Gradients(problem)
    from tacit.flows.forms.traced import TracedGradients, TracedParameters

    return (TracedParameters if problem.model.has_predictor else TracedGradients)(problem)


def _descent(problem: Problem) -> type[Descent]:
    """Steps of NumPy, or of loops that JAX compiles where it is installed: some forty times as fast."""
    parametrization = problem.model.parametrization
    if not parametrization.traceable or (parametrization.written_out and not is_installed("jax")):
        return Descent
    from tacit.flows.forms.traced import TracedDescent

    return TracedDescent


def check_data(model: Any, X: Any, y: Any, loss: Loss) -> tuple[Any, Float]:
    """X and y as the model and the loss take them."""
    check_model("flow(model, X, y)", model, X, y, functions=True)
    X = as_model(model).as_inputs(X)
    outputs = model.n_outputs(X)
    if loss.separating and outputs > 1:
        raise InputError(f"the {loss.name} takes one output, with two classes; the model has {outputs}")
    if X.size == 0:
        raise InputError(f"X must have at least one sample and one feature, got {X.shape}")
    if loss.classes:
        return X if isinstance(X, Entries) else kept(X), kept(as_classes(y, len(X), outputs))
    y = as_targets(as_labels(y, f"the {loss.name}") if loss.separating else y, len(X), outputs)
    y = y[:, 0] if outputs == 1 else y
    check_squares(y if isinstance(X, Entries) else X, y)
    return X if isinstance(X, Entries) else kept(X), kept(y)


def _design(model: Any, given: Any, X: Any, intercept: bool, standardize: bool) -> Design | None:
    """The features as the flow takes them; None where the outputs are no linear function of X.

    Single entries of a matrix can have any sign, and networks any shape.
    """
    if not isinstance(X, Entries):
        return design_of(given, X, intercept, standardize) if model.has_predictor else None
    if intercept or standardize:
        raise InputError(
            "single entries of a matrix are no features: intercept and standardize mean nothing here"
        )
    return None


def _check_intercept(model: Any, loss: Loss, intercept: bool) -> None:
    if intercept and loss.separating:
        raise InputError(
            f"under the {loss.name} the best intercept for given weights has no closed form, and its own "
            "flow would depend on where it starts and how fast it moves: leave intercept out, or ask "
            "tacit.margin_path or tacit.max_margin with intercept=True, which say where such flows end"
        )
    if intercept and loss.classes:
        raise InputError(f"the {loss.name} has no intercept in closed form: leave intercept out")
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
            f"step belongs to 'descent' and 'normalized'; method {method!r} chooses its own steps"
        )
    if step is not None and not float(as_floats(step, "step", ndim=(0,))) > 0:
        raise InputError(f"step must be positive, got {step!r}")
    if not (isinstance(most_steps, int | np.integer) and most_steps > 0):
        raise InputError(f"most_steps must be a positive whole number, got {most_steps!r}")
    if linearized and method == "parameters":
        raise InputError("the linearized flow has a form of its own; leave method out")
