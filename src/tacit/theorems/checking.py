"""Every theorem about training, asked about one model and its data."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.data.arrays import Float, as_floats, as_labels
from tacit.errors import InputError, TacitError
from tacit.keys import meant, nearest
from tacit.models.model import Model, check_model
from tacit.potentials import Potential
from tacit.theorems.arguments import ParameterError
from tacit.theorems.registry import Theorem, Verdict, selected, theorems
from tacit.theorems.sharing import sharing
from tacit.theorems.verdicts import Verdicts

LONG = 1_500_000  # entries of X times flows, from which on a theorem takes minutes


def check(
    model: Any, X: Any, y: Any, *, only: str | None = None, anyway: bool = False, **parameters: Any
) -> Verdicts:
    """Every theorem that applies to training a model on data: its bounds, what is measured, and the verdict.

    A tuple of verdicts, the nearest to broken first, with `summary()`, `to_dict()` and `plot()`; what limits,
    margins and flows several theorems need is computed once. only: a paper, or one theorem of it; else those
    that would take minutes on data of this size are left out, and named in `not_asked`. anyway: measure the
    bounds of theorems that do not apply, too (in `others`). Other names are parameters of theorems, such as
    epsilon=0.05; those that have no such parameter do without. `tacit.theorems.check` asks a single one, and
    also those that are not about training.
    """
    from tacit.show.progress import progress

    check_model("check(model, X, y)", model, X, y)
    if not isinstance(model, Model | Potential):
        raise InputError(f"model must be a Tacit model, got {type(model).__name__}")
    chosen = chosen_by(only)
    check_parameters(parameters, chosen)
    X, y = _data(X, y)
    long = [each for each in chosen if only is None and each.flows * X.size > LONG]
    found: list[Verdict] = []
    refused: dict[str, TacitError] = {}
    with sharing():
        for each in progress([each for each in chosen if each not in long], "theorems"):
            taken = {name: value for name, value in parameters.items() if name in each.options}
            try:
                found.append(each.ask(anyway or only is not None, model=model, X=X, y=y, **taken))
            except ParameterError:
                raise  # a value that was asked for is what is wrong, not the data
            except TacitError as error:
                refused[each.key] = error
    return Verdicts(found, model=repr(model), refused=refused, not_asked=[each.key for each in long])


def _data(X: Any, y: Any) -> tuple[Float, Float]:
    """Numbers, one row for each sample; two classes by name are −1 and +1."""
    X = as_floats(X, "X", ndim=(2,))
    y = as_labels(y, "check") if np.asarray(y).dtype.kind in "OUST" else as_floats(y, "y", ndim=(1, 2))
    if len(y) != len(X):
        raise InputError(f"X and y must have one row per sample: X has {len(X)} rows, y has {len(y)}")
    return X, y


def about_training() -> list[Theorem]:
    """The theorems that ask for a model and a table of data."""
    return [each for each in theorems() if _is_about_training(each)]


def _is_about_training(theorem: Theorem) -> bool:
    return set(theorem.needs) == {"model", "X", "y"} and not theorem.matrices


def chosen_by(only: str | None) -> list[Theorem]:
    """The theorem about training with this key, those of this paper, or all."""
    if only is None:
        return about_training()
    if not isinstance(only, str):
        raise InputError(f"only must be a paper or one theorem of it, a string, got {type(only).__name__}")
    asked = selected(only)
    if found := [each for each in asked if _is_about_training(each)]:
        return found
    for other in asked:
        if other.key == only:
            needs = ", ".join(name if name == "model" else f"{name}=…" for name in other.needs)
            about = "about matrices" if other.matrices else "not about training"
            raise InputError(f"{only} is {about}; ask it in Python: tacit.theorems.check({only!r}, {needs})")
    known = [each.key for each in about_training()]
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
