"""Evaluate every theorem that applies to a model and its data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import tacit
from tacit.data.arrays import Float, as_floats, as_labels
from tacit.data.entries import Entries, Inputs
from tacit.data.prepared import prepare
from tacit.errors import InputError, TacitError
from tacit.models.model import Model, check_model
from tacit.papers.arguments import ParameterError
from tacit.papers.catalogue import similar_names, suggestion
from tacit.papers.statements import Theorem, selected, shared, sharing, theorems
from tacit.potentials import Potential
from tacit.results.verdicts import Verdict, Verdicts

LONG = 1_500_000  # entries of X times number of flows above which a theorem takes minutes


def check(
    model: Model | Potential,
    X: Inputs,
    y: ArrayLike,
    *,
    only: str | None = None,
    anyway: bool = False,
    **parameters: object,
) -> Verdicts:
    """Evaluate every theorem that applies to training a model on data: bounds, measured values, verdicts.

    Limits, margins and flows that several theorems use are computed once. `tacit.theorems.check` evaluates a
    single theorem, including those that are not about training. A theorem that stops with an unexpected
    exception is reported as not decided, and counts as a failure.

    Parameters
    ----------
    model : Model
        A model with its initialization.
    X : (N, d) array-like, or Prepared
        Rows are samples. For a matrix model: a stack of measurements, or the result of `tacit.observed`.
    y : (N,) array-like
        Targets, or two classes.
    only : str, optional
        The key of a paper or of a theorem. By default, all theorems except those that would take minutes on
        data of this size; `not_asked` lists these.
    anyway : bool, optional
        Also measure the bounds of theorems that do not apply (in `others`).
    **parameters
        Parameters of theorems, such as epsilon=0.05; they are passed to the theorems that take them.

    Returns
    -------
    Verdicts
        Sorted by how close a bound is to being violated, with `summary()`, `to_dict()` and `plot()`.

    Raises
    ------
    InputError
        If an argument is invalid.

    Examples
    --------
    >>> import tacit
    >>> X, y = [[1.0, 2.0, 0.5], [0.0, 1.0, -1.0]], [1.0, 2.0]
    >>> model = tacit.Diagonal(log_scale=-60)
    >>> (verdict,) = tacit.check(model, X, y, only="woodworth2020/theorem2-l1-sharp")
    >>> verdict.verdict
    'holds'
    """
    from tacit.show.progress import progress

    check_model("check(model, X, y)", model, X, y)
    if not isinstance(model, Model | Potential):
        raise InputError(f"model must be a Tacit model, got {type(model).__name__}")
    chosen = select_theorems(only, _of_matrices(model))
    validate_parameters(parameters, chosen)
    samples, targets = _data(model, X, y)
    long = [each for each in chosen if only is None and each.flows * samples.size > LONG]
    found: list[Verdict] = []
    refused: dict[str, TacitError] = {}
    refusals: list[Verdict] = []
    # This reference keeps the prepared problem in memory, so that all theorems share it.
    prepared = samples if _of_matrices(model) else prepare(samples)
    case, anyway = Case(model, getattr(prepared, "X", samples), targets), anyway or only is not None
    with sharing():
        for each in progress([each for each in chosen if each not in long], "theorems"):
            taken = {name: value for name, value in parameters.items() if name in each.options}
            try:
                found.append(each.judge(anyway, **case.arguments(each.needs), **taken))
            except TacitError as error:
                if isinstance(error, ParameterError) and taken:
                    raise  # the given parameter is invalid, not the data
                refused[each.key] = error
                refusals.append(each.refusal(error))
            except Exception as error:  # a defect in one theorem must not lose the verdicts of the others
                found.append(each.undecided(error))
    not_asked = [each.key for each in long]
    return Verdicts(found, model=repr(model), refused=refused, refusals=refusals, not_asked=not_asked)


def _of_matrices(model: Any) -> bool:
    """Whether the predictor of the model is a matrix, so that samples are measurements of it."""
    return getattr(model, "input_ndim", 2) == 3


def _data(model: Any, X: Any, y: Any) -> tuple[Any, Float]:
    """Validated arrays with one row per sample; two named classes become −1 and +1."""
    if _of_matrices(model):
        X = X if isinstance(X, Entries) else as_floats(X, "X", ndim=(3,))
        X = model.as_inputs(X) if isinstance(model, Model) else X
    else:
        X = as_floats(X, "X", ndim=(2,))
    y = as_labels(y, "check") if np.asarray(y).dtype.kind in "OUST" else as_floats(y, "y", ndim=(1, 2))
    if len(y) != len(X):
        raise InputError(f"X and y must have one row per sample: X has {len(X)} rows, y has {len(y)}")
    if not X.size:
        raise InputError("X must have at least one sample and one feature")
    if isinstance(model, Model) and not _of_matrices(model):
        with np.errstate(all="ignore"):
            model.start(X.shape[1])  # raises if the model has another number of features
    return X, y


def data_theorems(matrices: bool = False) -> list[Theorem]:
    """The theorems that can be evaluated from a model and a table, or (matrices) measurements of a matrix."""
    return [each for each in theorems() if _is_about_data(each, matrices)]


def _is_about_data(theorem: Theorem, matrices: bool) -> bool:
    return set(theorem.needs) <= _ARGUMENTS and theorem.matrices == matrices


def select_theorems(only: str | None, matrices: bool = False) -> list[Theorem]:
    """The theorem with this key, those of this paper, or all; matrices: those about matrices."""
    if only is None:
        return data_theorems(matrices)
    if not isinstance(only, str):
        raise InputError(f"only must be the key of a paper or theorem, a string, got {type(only).__name__}")
    matching = selected(only)
    if found := [each for each in matching if _is_about_data(each, matrices)]:
        return found
    if matching and matrices:
        raise InputError(f"{only} has no theorem about matrices, but this is a matrix model")
    for other in matching:
        if other.key == only:
            needs = ", ".join(name if name == "model" else f"{name}=…" for name in other.needs)
            about = "is about matrices" if other.matrices else "needs more than a model and data"
            raise InputError(f"{only} {about}; use tacit.theorems.check({only!r}, {needs}) in Python")
    known = [each.key for each in data_theorems(matrices)]
    near = suggestion(only, known)
    raise InputError(f"no theorem or paper {only!r}; {near} 'tacit check --list' shows all")


def validate_parameters(names: Any, chosen: list[Theorem]) -> None:
    """Raise InputError if none of the selected theorems takes one of these parameters."""
    known = sorted({name for each in chosen for name in each.options})
    for name in (each for each in names if each not in known):
        there = f"they take {', '.join(similar_names(name, known) or known) or 'none'}"
        text = f"none of the selected theorems takes a parameter {name!r}; {there}"
        raise InputError(f"{text} ('tacit check --list' shows all)")


@dataclass(frozen=True, eq=False)
class Case:
    """A model and its training data."""

    model: Any
    X: Any
    y: Float

    def arguments(self, names: Iterable[str]) -> dict[str, Any]:
        """The arguments of a theorem, by name."""
        return {name: DERIVED[name][1](self) if name in DERIVED else vars(self)[name] for name in names}


@shared
def _predictor(case: Case) -> Float:
    """The limit of the flow (of least squares on inconsistent data), or 0 if no limit is known."""
    try:
        return np.ravel(tacit.limit(case.model, case.X, case.y, least_squares=True).predictor)
    except tacit.TacitError:
        return np.zeros(case.X.shape[1])


DERIVED: dict[str, tuple[str, Callable[[Case], Any]]] = {  # arguments that are computed from model and data
    "predictor": ("the limit of the flow", _predictor),
    "samples": ("the number of rows", lambda case: len(case.X)),
    "features": ("the number of columns", lambda case: case.X.shape[1]),
}
_ARGUMENTS = {"model", "X", "y", *DERIVED}
