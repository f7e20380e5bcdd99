"""Registered theorems, and how they are evaluated for a model and data.

Compute limits, margins and flows that several theorems need only once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

import tacit
from tacit.models.model import check_model
from tacit.papers import catalogue
from tacit.papers.catalogue import Catalogue, Item, items_listed, named_after, suggestion
from tacit.results.claims import Bound
from tacit.results.verdicts import Assumption, Premise, Verdict

_PRINTED = "Printed:"  # begins the paragraph of a docstring that gives the printed form of a statement
Parts = Iterator[Assumption | Bound]
_Statement = TypeVar("_Statement", bound=Callable[..., Parts])


@dataclass(frozen=True)
class Theorem:
    """A registered theorem.

    `needs` are the names of its required arguments ("model", "X", "y" for a statement about training; others
    for statements about the potential alone), `options` the names of those with defaults.

    Attributes
    ----------
    key : str
        Its key, "paper/theorem".
    statement : str
        What it states.
    function : callable
        Yields its Assumptions and Bounds.
    flows : int
        The largest number of flows that it simulates (or an equivalent number), as a measure of time.
    matrices : bool
        Whether X is a stack of matrices instead of a table.
    printed : str or None
        The form printed in the paper and why it does not hold; None if the statement is as printed.
    about : tuple of str
        Items of the paper to which it belongs, besides the one that its key is named after.
    shell : str or None
        Options of `tacit check` that make a model to which it applies, "--depth 3"; None if no options do.

    Examples
    --------
    >>> from tacit.theorems import theorems
    >>> entry = next(each for each in theorems() if each.key == "woodworth2020/theorem1")
    >>> entry.needs, entry.options, entry.place
    (('model', 'X', 'y'), ('method',), ('Theorem 1', '4 to 5, 15 to 21'))
    """

    key: str
    statement: str
    function: Callable[..., Parts]
    flows: int = 1
    matrices: bool = False
    printed: str | None = None
    about: tuple[str, ...] = ()
    shell: str | None = ""

    @property
    def items(self) -> tuple[Item, ...]:
        """The items of the paper to which it belongs, in the order of the paper."""
        return items_of(self.key, self.about)

    @property
    def says(self) -> str:
        """The description used in lists of items: the statement."""
        return self.statement

    @property
    def place(self) -> tuple[str | None, str | None]:
        """Its items and their equations in the paper; None if there are none."""
        names = ", ".join(each.name for each in self.items)
        equations = ", ".join(each.ranges for each in self.items if each.equations)
        return names or None, equations or None

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of the arguments without a default."""
        parameters = inspect.signature(self.function).parameters.values()
        return tuple(p.name for p in parameters if p.default is p.empty)

    @property
    def defaults(self) -> dict[str, Any]:
        """The default values of the arguments that have one, by name."""
        parameters = inspect.signature(self.function).parameters.values()
        return {p.name: p.default for p in parameters if p.default is not p.empty}

    @property
    def options(self) -> tuple[str, ...]:
        """Names of the arguments with a default."""
        return tuple(self.defaults)

    def ask(self, anyway: bool = True, **given: Any) -> Verdict:
        """Evaluate the theorem; raise an error if the data cannot be fitted or separated.

        Parameters
        ----------
        anyway : bool, optional
            Also measure the bounds if an assumption fails.
        **given
            Model, data and other arguments of the statement, by name.

        Returns
        -------
        Verdict
            Assumptions and bounds, with numbers.
        """
        parts, error = self._evaluate(anyway, given)
        if error is not None:
            raise error
        return self._verdict(parts)

    def judge(self, anyway: bool = True, **given: Any) -> Verdict:
        """Evaluate the theorem; data that cannot be fitted or separated are an assumption that fails.

        Parameters
        ----------
        anyway : bool, optional
            Also measure the bounds if an assumption fails.
        **given
            As for `ask`.

        Returns
        -------
        Verdict
            Assumptions and bounds, with numbers.
        """
        parts, error = self._evaluate(anyway, given)
        return self._verdict(parts if error is None else [*parts, unmet(error)])

    def _verdict(self, parts: list[Assumption | Bound], error: str | None = None) -> Verdict:
        assumptions = tuple(part for part in parts if isinstance(part, Assumption))
        bounds = tuple(part for part in parts if isinstance(part, Bound))
        return Verdict(self.key, self.statement, assumptions, bounds, self.printed, error, *self.place)

    def undecided(self, error: Exception) -> Verdict:
        """The verdict after an unexpected exception: not decided, which counts as a failure.

        Parameters
        ----------
        error : Exception
            The exception.

        Returns
        -------
        Verdict
            With the exception as its error.
        """
        return self._verdict([], f"{type(error).__name__}: {error}".removesuffix(": "))

    def refusal(self, error: tacit.TacitError) -> Verdict:
        """The verdict if evaluation raised an error: not decided without convergence, else does not apply.

        Parameters
        ----------
        error : TacitError
            The error.

        Returns
        -------
        Verdict
            "not decided" for a NotConvergedError, otherwise "does not apply".
        """
        if isinstance(error, tacit.NotConvergedError):
            return self._verdict([], str(error))
        return self._verdict([Assumption(str(error), False)])

    def _evaluate(
        self, anyway: bool, given: dict[str, Any]
    ) -> tuple[list[Assumption | Bound], tacit.TacitError | None]:
        """The parts up to the first that ends the evaluation, and the error if data cannot be fitted."""
        parts = list[Assumption | Bound]()
        try:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                for part in self.function(**given):
                    parts.append(part)
                    required = Assumption if not anyway else Premise
                    if isinstance(part, required) and not part.holds:
                        break
        except (tacit.InconsistentDataError, tacit.NotSeparableError) as error:
            return parts, error
        except (ArithmeticError, np.linalg.LinAlgError) as error:
            raise tacit.InputError(
                f"{self.key} overflows or underflows on these data ({error}); rescale features and targets"
            ) from error
        return parts, None


def unmet(error: tacit.TacitError) -> Premise:
    """The premise that fails if no predictor fits or separates the data, without the advice of the error."""
    if isinstance(error, tacit.InconsistentDataError):
        return Premise(f"some w has Xw = y (best relative residual: {error.residual:.2g})", False)
    return Premise(f"the labels can be separated: {str(error).partition(' (')[0]}", False)


_THEOREMS = Catalogue[Theorem]("theorem")


def theorem(
    key: str,
    statement: str | None = None,
    *,
    printed: str | None = None,
    flows: int = 1,
    matrices: bool = False,
    about: tuple[str, ...] = (),
    shell: str | None = "",
) -> Callable[[_Statement], _Statement]:
    """Register a generator function that yields the Assumptions and Bounds of one statement.

    Its docstring begins with the statement; a paragraph that begins with "Printed:" gives the form printed in
    the paper, if it differs.

    Parameters
    ----------
    key : str
        "paper/theorem".
    statement : str, optional
        What it states. Default: the first paragraph of the docstring.
    printed : str, optional
        The form printed in the paper, and why it does not hold. Default: from the docstring.
    flows : int, optional
        The largest number of flows that it simulates, as a measure of time.
    matrices : bool, optional
        Whether it is about measurements of matrices.
    about : tuple of str, optional
        Items of the paper to which it belongs, besides the one that its key is named after: "Theorem 14".
    shell : str or None, optional
        Options of `tacit check` that make a model to which it applies; None if no options do.

    Returns
    -------
    callable
        A decorator.

    Examples
    --------
    The decorator registers a generator function of a model, and usually of X and y:

    >>> from tacit.theorems import theorem
    >>> register = theorem("paper2030/theorem1", shell="--depth 3")
    """

    def register(function: _Statement) -> _Statement:
        says, *notes = (" ".join(part.split()) for part in (inspect.getdoc(function) or "").split("\n\n"))
        original = next((note for note in notes if note.startswith(_PRINTED)), None)
        original = original and original.removeprefix(_PRINTED).strip()
        entry = Theorem(key, statement or says, function, flows, matrices, printed or original, about, shell)
        _THEOREMS.register(key, entry, function.__module__)
        return function

    return register


def items_of(key: str, about: tuple[str, ...] = ()) -> tuple[Item, ...]:
    """The items of a paper to which a figure or theorem belongs: that of its key, and those in `about`.

    If a paper lists no items, they are made from the names.
    """
    paper = key.partition("/")[0]
    if paper not in catalogue.papers():
        return ()
    listed = items_listed(paper)
    names = [*filter(None, [named_after(key, listed)]), *about]
    if not listed:
        return tuple(Item(name, "") for name in names)
    if missing := set(about) - {item.name for item in listed}:
        raise tacit.InputError(f"{key} is about {', '.join(missing)}, which ITEMS of {paper} does not have")
    return tuple(item for item in listed if item.name in names)


def theorems() -> tuple[Theorem, ...]:
    """All theorems: by paper, in the order of its items, then theorems registered elsewhere.

    Returns
    -------
    tuple of Theorem
        With their keys, statements and required arguments.

    Examples
    --------
    >>> from tacit.theorems import theorems
    >>> theorems()[0].key
    'woodworth2020/theorem1'
    """
    return tuple(sorted((_THEOREMS[key] for key in _THEOREMS.known()), key=_reading_order))


def selected(selection: str) -> list[Theorem]:
    """The theorem with this key, or those of this paper; only their modules are imported."""
    return sorted(_THEOREMS.selected(selection), key=_reading_order)


def _reading_order(theorem: Theorem) -> tuple[int, int]:
    """Sort key: the paper, then its first item; theorems without a paper or an item come last."""
    paper = theorem.key.partition("/")[0]
    listed = [item.name for item in items_listed(paper)]
    places = [listed.index(item.name) for item in theorem.items if item.name in listed]
    return [*catalogue.papers(), paper].index(paper), min(places, default=len(listed))


def check(key: str, model: Any, X: Any = None, y: Any = None, **options: Any) -> Verdict:
    """Evaluate the theorem `key` for a model and the other arguments of its statement.

    Theorems about training take the data X, y. Statements about the potential alone take other arguments,
    such as predictor= or features= (`theorems()` lists all theorems with the arguments that they need).

    Parameters
    ----------
    key : str
        "paper/theorem".
    model : Model
        A model with its initialization.
    X : (N, d) array-like, optional
        Rows are samples.
    y : (N,) array-like, optional
        Targets, or two classes.
    **options
        Other arguments of the statement, by name.

    Returns
    -------
    Verdict
        Assumptions and bounds, with numbers.

    Raises
    ------
    InputError
        If there is no theorem with this key, or the theorem does not take one of the arguments.

    Examples
    --------
    >>> import tacit
    >>> from tacit.theorems import check
    >>> verdict = check("woodworth2020/lemma5", tacit.Diagonal(log_scale=-60), predictor=[1.0, 0.0])
    >>> verdict.verdict
    'holds'
    """
    if key not in _THEOREMS:
        near = suggestion(key, _THEOREMS.known())
        raise tacit.InputError(f"no theorem {key!r}; {near} theorems() lists them all")
    check_model(f"check({key!r}, model, X, y)", model, X, y)
    found = _THEOREMS[key]
    data = {name: value for name, value in (("X", X), ("y", y)) if value is not None}
    given = {"model": model} | data | options
    if missing := [name for name in found.needs if name not in given]:
        raise tacit.InputError(f"{key} needs {', '.join(found.needs)}; missing: {', '.join(missing)}")
    if extra := [name for name in given if name not in found.needs + found.options]:
        takes = ", ".join(found.needs + found.options)
        raise tacit.InputError(f"{key} takes {takes}; it does not take {', '.join(extra)}")
    return found.ask(**given)


_P = ParamSpec("_P")
_R = TypeVar("_R")
_SMALL = 1000  # arrays with more entries are compared by identity, not by value
_memory: ContextVar[dict[Any, tuple[Any, Any]] | None] = ContextVar("memory", default=None)


@contextmanager
def sharing() -> Iterator[None]:
    """While this context is active, functions marked `shared` remember their results by arguments."""
    token = _memory.set({})
    try:
        yield
    finally:
        _memory.reset(token)


def shared(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Share the results of a function that depends on its arguments only; they must not be modified."""

    @wraps(function)
    def remembered(*arguments: _P.args, **options: _P.kwargs) -> _R:
        memory = _memory.get()
        if memory is None:
            return function(*arguments, **options)
        key = (function, *map(_key, arguments), *((name, _key(each)) for name, each in options.items()))
        if key not in memory:  # the arguments are stored, too, so that no new object gets the identity of one
            memory[key] = (function(*arguments, **options), (arguments, options))
        found: _R = memory[key][0]
        return found

    return remembered


def _key(value: Any) -> Any:
    """The identification of an argument: small values by value, data and models by identity."""
    if value is None or isinstance(value, str | float | int):
        return value
    if isinstance(value, list | np.ndarray) and np.size(value) <= _SMALL:
        return np.shape(value), np.asarray(value).tobytes()
    return id(value)
