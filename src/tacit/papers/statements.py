"""What a theorem is made of, and how it is asked about a model and data."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

import tacit
from tacit.models.model import check_model
from tacit.papers import catalogue
from tacit.papers.catalogue import Catalogue, Item, meant, named_after, package_of
from tacit.results.claims import Bound
from tacit.results.verdicts import Assumption, Premise, Verdict

_PRINTED = "Printed:"  # begins the paragraph of a docstring on what the paper has instead
Parts = Iterator[Assumption | Bound]
_Parted = TypeVar("_Parted", bound=Callable[..., Parts])


@dataclass(frozen=True)
class Theorem:
    """A registered statement.

    `needs` are the arguments it must be given ("model", "X", "y" for a statement about training; others for
    one about the potential alone), `options` those with defaults.

    Attributes
    ----------
    key : str
        Its name, "paper/theorem".
    statement : str
        What it says.
    function : callable
        Yields its Assumptions and Bounds.
    flows : int
        How many it follows at the most, which is what takes long, or as many as take its time.
    matrices : bool
        X is a stack of them, which no table is.
    printed : str or None
        What the paper has instead, and in which way it does not hold; None where that is the statement.
    about : tuple of str
        Items of the paper that it belongs to, besides the one that its key is named after.
    shell : str or None
        Options of `tacit check` that make a model it is about, "--depth 3"; None where no options do.
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
        """Those of the paper's items that it belongs to, in their order."""
        return items_of(self.key, self.about)

    @property
    def says(self) -> str:
        """What an item says that it stands for."""
        return self.statement

    @property
    def place(self) -> tuple[str | None, str | None]:
        """Where it stands in its paper: its items and their equations; None where there are none."""
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
        """The arguments with a default, and it."""
        parameters = inspect.signature(self.function).parameters.values()
        return {p.name: p.default for p in parameters if p.default is not p.empty}

    @property
    def options(self) -> tuple[str, ...]:
        """Names of the arguments with a default."""
        return tuple(self.defaults)

    def ask(self, anyway: bool = True, **given: Any) -> Verdict:
        """What it says about this case.

        Parameters
        ----------
        anyway : bool, optional
            How its bounds fare, too, where an assumption fails.
        **given
            Model, data and whatever else the statement is about, by name.

        Returns
        -------
        Verdict
            Assumptions and bounds, with numbers.
        """
        parts, refusal = self._asked(anyway, given)
        if refusal is not None:
            raise refusal
        return self._verdict(parts)

    def judge(self, anyway: bool = True, **given: Any) -> Verdict:
        """What it says; data that nothing fits, or nothing separates, are an assumption that fails.

        Parameters
        ----------
        anyway : bool, optional
            How its bounds fare, too, where an assumption fails.
        **given
            As for `ask`.

        Returns
        -------
        Verdict
            Assumptions and bounds, with numbers.
        """
        parts, refusal = self._asked(anyway, given)
        return self._verdict(parts if refusal is None else [*parts, unmet(refusal)])

    def _verdict(self, parts: list[Assumption | Bound]) -> Verdict:
        assumptions = tuple(part for part in parts if isinstance(part, Assumption))
        bounds = tuple(part for part in parts if isinstance(part, Bound))
        return self._told(assumptions, bounds)

    def _told(self, assumptions: Any = (), bounds: Any = (), error: str | None = None) -> Verdict:
        return Verdict(self.key, self.statement, assumptions, bounds, self.printed, error, *self.place)

    def undecided(self, error: Exception) -> Verdict:
        """The verdict where it stopped with an unexpected exception: it is not decided, which is no success.

        Parameters
        ----------
        error : Exception
            The exception.

        Returns
        -------
        Verdict
            With the exception as its error.
        """
        return self._told(error=f"{type(error).__name__}: {error}".removesuffix(": "))

    def refusal(self, error: tacit.TacitError) -> Verdict:
        """The verdict where it could not be asked: an assumption that fails, or a flow that did not arrive.

        Parameters
        ----------
        error : TacitError
            The reason.

        Returns
        -------
        Verdict
            Which does not apply, or is not decided.
        """
        if isinstance(error, tacit.NotConvergedError):
            return self._told(error=str(error))
        return self._told((Assumption(str(error), False),))

    def _asked(
        self, anyway: bool, given: dict[str, Any]
    ) -> tuple[list[Assumption | Bound], tacit.TacitError | None]:
        """Its parts, as far as they go, and the error of data that it is not about."""
        parts = list[Assumption | Bound]()
        try:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                for part in self.function(**given):
                    parts.append(part)
                    needed = Assumption if not anyway else Premise
                    if isinstance(part, needed) and not part.holds:
                        break
        except (tacit.InconsistentDataError, tacit.NotSeparableError) as refusal:
            return parts, refusal
        except (ArithmeticError, np.linalg.LinAlgError) as error:
            raise tacit.InputError(
                f"{self.key} leaves the range of floats on these data ({error}); rescale features and targets"
            ) from error
        return parts, None


def unmet(refusal: tacit.TacitError) -> Premise:
    """What data lack that nothing fits, or that nothing separates, without advice on other commands."""
    if isinstance(refusal, tacit.InconsistentDataError):
        return Premise(f"some w has Xw = y (best relative residual: {refusal.residual:.2g})", False)
    return Premise(f"the labels can be separated: {str(refusal).partition(' (')[0]}", False)


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
) -> Callable[[_Parted], _Parted]:
    """Register a generator function that yields the Assumptions and Bounds of one statement.

    Its docstring begins with the statement, as that of a figure does with the caption; a paragraph that
    begins with "Printed:" says what the paper has instead.

    Parameters
    ----------
    key : str
        "paper/theorem".
    statement : str, optional
        What it says, in words; that of the docstring if left out.
    printed : str, optional
        What the paper has instead, and in which way it does not hold; that of the docstring if left out.
    flows : int, optional
        How many it follows, which is what takes long.
    matrices : bool, optional
        Is it about measurements of matrices?
    about : tuple of str, optional
        Items of the paper that it belongs to, besides the one that its key is named after: "Theorem 14".
    shell : str or None, optional
        Options of `tacit check` that make a model it is about; None where no options do.

    Returns
    -------
    callable
        A decorator.
    """

    def register(function: _Parted) -> _Parted:
        says, *notes = (" ".join(part.split()) for part in (inspect.getdoc(function) or "").split("\n\n"))
        instead = next((note for note in notes if note.startswith(_PRINTED)), None)
        instead = instead and instead.removeprefix(_PRINTED).strip()
        told = (statement or says, function, flows, matrices, printed or instead, about, shell)
        entry = Theorem(key, *told)
        _THEOREMS.register(key, entry, function.__module__)
        return function

    return register


def items_of(key: str, about: tuple[str, ...] = ()) -> tuple[Item, ...]:
    """The items of its paper that a figure or theorem belongs to: that of its key, and others by name.

    A paper that lists none has those that its keys name.
    """
    paper = key.partition("/")[0]
    if paper not in catalogue.papers():
        return ()
    listed: tuple[Item, ...] = getattr(package_of(paper), "ITEMS", ())
    own = named_after(key, listed)
    names = [*([own] if own else []), *about]
    if not listed:
        return tuple(Item(name, "") for name in names)
    if missing := set(about) - {item.name for item in listed}:
        raise tacit.InputError(f"{key} is about {', '.join(missing)}, which ITEMS of {paper} does not have")
    return tuple(item for item in listed if item.name in names)


def theorems() -> tuple[Theorem, ...]:
    """Every statement: by paper, in the order of its items, and then those that were registered elsewhere."""
    return tuple(sorted((_THEOREMS[key] for key in _THEOREMS.known()), key=_reading_order))


def selected(selection: str) -> list[Theorem]:
    """One theorem, or those of a paper; only these are imported."""
    return sorted(_THEOREMS.selected(selection), key=_reading_order)


def _reading_order(theorem: Theorem) -> tuple[int, int]:
    """Place of the paper, and of the first item in it; what is in no paper or no item stands last."""
    paper = theorem.key.partition("/")[0]
    listed = (
        [item.name for item in getattr(package_of(paper), "ITEMS", ())] if paper in catalogue.papers() else []
    )
    places = [listed.index(item.name) for item in theorem.items if item.name in listed]
    return [*catalogue.papers(), paper].index(paper), min(places, default=len(listed))


def check(key: str, model: Any, X: Any = None, y: Any = None, **options: Any) -> Verdict:
    """Ask the theorem `key` about a model, and whatever else its statement is about.

    Theorems about training take the data X, y; statements about the potential alone take the arguments that
    they name instead, such as predictor= or features= (`theorems.theorems()` lists them all with what they
    need).

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
        Whatever else the statement takes, by name.

    Returns
    -------
    Verdict
        Assumptions and bounds, with numbers.

    Raises
    ------
    InputError
        Where no theorem has this key, or an argument is not one of its own.
    """
    if key not in _THEOREMS:
        raise tacit.InputError(
            f"no theorem {key!r}; {meant(key, _THEOREMS.known())} theorems() lists them all"
        )
    check_model(f"check({key!r}, model, X, y)", model, X, y)
    found = _THEOREMS[key]
    data = {name: value for name, value in (("X", X), ("y", y)) if value is not None}
    given = {"model": model} | data | options
    if missing := [name for name in found.needs if name not in given]:
        raise tacit.InputError(f"{key} needs {', '.join(found.needs)}; missing: {', '.join(missing)}")
    if extra := [name for name in given if name not in found.needs + found.options]:
        takes = ", ".join(found.needs + found.options)
        raise tacit.InputError(f"{key} takes {takes}; it has no use for {', '.join(extra)}")
    return found.ask(**given)
