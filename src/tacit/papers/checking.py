"""Every theorem, asked about one model and its data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import tacit
from tacit.data.arrays import Float, as_floats, as_labels
from tacit.data.entries import Entries
from tacit.data.inputs import Inputs
from tacit.data.prepared import prepare
from tacit.errors import InputError, TacitError
from tacit.models.model import Model, check_model
from tacit.papers.arguments import ParameterError
from tacit.papers.catalogue import meant, nearest
from tacit.papers.shared_results import shared, sharing
from tacit.papers.statements import Theorem, selected, theorems
from tacit.potentials import Potential
from tacit.results.verdicts import Verdict, Verdicts

LONG = 1_500_000  # entries of X times flows, from which on a theorem takes minutes


def check(
    model: Model | Potential,
    X: Inputs,
    y: ArrayLike,
    *,
    only: str | None = None,
    anyway: bool = False,
    **parameters: object,
) -> Verdicts:
    """Every theorem that applies to training a model on data: its bounds, what is measured, and the verdict.

    What limits, margins and flows several theorems need is computed once. `tacit.theorems.check` asks a
    single theorem, and also those that are not about training. A theorem that stops with an error that nobody
    foresaw is not decided, which is no success.

    Parameters
    ----------
    model : Model
        A model with its initialization.
    X : (N, d) array-like, or Prepared
        Rows are samples; for a model of matrices a stack of measurements, or what `tacit.observed` makes.
    y : (N,) array-like
        Targets, or two classes.
    only : str, optional
        A paper, or one theorem of it. If left out, all but those that would take minutes on data of this
        size, which `not_asked` names.
    anyway : bool, optional
        Measure the bounds of theorems that do not apply, too (in `others`).
    **parameters
        Of theorems, such as epsilon=0.05; those that have no such parameter do without.

    Returns
    -------
    Verdicts
        The nearest to broken first, with `summary()`, `to_dict()` and `plot()`.

    Raises
    ------
    InputError
        Where an argument is not what it should be.
    """
    from tacit.show.progress import progress

    check_model("check(model, X, y)", model, X, y)
    if not isinstance(model, Model | Potential):
        raise InputError(f"model must be a Tacit model, got {type(model).__name__}")
    chosen = chosen_by(only, _of_matrices(model))
    check_parameters(parameters, chosen)
    samples, targets = _data(model, X, y)
    long = [each for each in chosen if only is None and each.flows * samples.size > LONG]
    found: list[Verdict] = []
    refused: dict[str, TacitError] = {}
    refusals: list[Verdict] = []
    # Held here, so that every theorem finds what others found out about X.
    prepared = samples if _of_matrices(model) else prepare(samples)
    case, anyway = Case(model, getattr(prepared, "X", samples), targets), anyway or only is not None
    with sharing():
        for each in progress([each for each in chosen if each not in long], "theorems"):
            taken = {name: value for name, value in parameters.items() if name in each.options}
            try:
                found.append(each.judge(anyway, **case.supply(each.needs), **taken))
            except TacitError as error:
                if isinstance(error, ParameterError) and taken:
                    raise  # a value that was asked for is what is wrong, not the case
                refused[each.key] = error
                refusals.append(each.refusal(error))
            except Exception as error:  # one that is broken must not lose what the others say
                found.append(each.undecided(error))
    left = [each.key for each in long]
    return Verdicts(found, model=repr(model), refused=refused, refusals=refusals, not_asked=left)


def _of_matrices(model: Any) -> bool:
    """Is the predictor of the model a matrix, and are samples measurements of it?"""
    return getattr(model, "input_ndim", 2) == 3


def _data(model: Any, X: Any, y: Any) -> tuple[Any, Float]:
    """Numbers, one row for each sample, that fit the model; two classes by name are −1 and +1."""
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
            model.start(X.shape[1])  # which says so where it is about other features
    return X, y


def askable(matrices: bool = False) -> list[Theorem]:
    """The theorems that can be asked about a model and a table of data, or measurements of a matrix."""
    return [each for each in theorems() if _is_askable(each, matrices)]


def _is_askable(theorem: Theorem, matrices: bool) -> bool:
    return answers(theorem.needs) and theorem.matrices == matrices


def chosen_by(only: str | None, matrices: bool = False) -> list[Theorem]:
    """The theorem with this key, those of this paper, or all; matrices: those about them."""
    if only is None:
        return askable(matrices)
    if not isinstance(only, str):
        raise InputError(f"only must be a paper or one theorem of it, a string, got {type(only).__name__}")
    asked = selected(only)
    if found := [each for each in asked if _is_askable(each, matrices)]:
        return found
    if asked and matrices:
        raise InputError(f"{only} has no theorem about matrices, which this model is about")
    for other in asked:
        if other.key == only:
            needs = ", ".join(name if name == "model" else f"{name}=…" for name in other.needs)
            about = "about matrices" if other.matrices else "about more than a model and data"
            raise InputError(f"{only} is {about}; ask it in Python: tacit.theorems.check({only!r}, {needs})")
    known = [each.key for each in askable(matrices)]
    raise InputError(f"no theorem or paper {only!r}; {meant(only, known)} 'tacit check --list' shows all")


def check_parameters(names: Any, chosen: list[Theorem]) -> None:
    """Refuse a parameter that no theorem has which is asked."""
    known = sorted({name for each in chosen for name in each.options})
    for name in names:
        if name not in known:
            close = nearest(name, known) or known
            there = f"they have {', '.join(close)}" if close else "they have none"
            raise InputError(
                f"no theorem that is asked has a parameter {name!r}; {there} ('tacit check --list' shows all)"
            )


@dataclass(frozen=True, eq=False)
class Case:
    """A model and data to train it on."""

    model: Any
    X: Any
    y: Float

    def supply(self, names: Iterable[str]) -> dict[str, Any]:
        """The arguments of a theorem, by name."""
        return {name: _FROM_THE_CASE[name](self) for name in names}


@shared
def _reached(case: Case) -> Float:
    """Where the flow ends, on data that nothing fits at least squares; 0 where no limit is known."""
    try:
        return np.ravel(tacit.limit(case.model, case.X, case.y, least_squares=True).predictor)
    except tacit.TacitError:
        return np.zeros(case.X.shape[1])


_FROM_THE_CASE: dict[str, Callable[[Case], Any]] = {
    "model": lambda case: case.model,
    "X": lambda case: case.X,
    "y": lambda case: case.y,
    "predictor": _reached,
    "samples": lambda case: len(case.X),
    "features": lambda case: case.X.shape[1],
}

DERIVED = {
    "predictor": "that at the end of the flow",
    "samples": "the number of rows",
    "features": "the number of columns",
}


def answers(names: Iterable[str]) -> bool:
    """Are these arguments of a theorem known of every case?"""
    return set(names) <= set(_FROM_THE_CASE)
