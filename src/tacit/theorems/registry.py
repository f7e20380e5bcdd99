"""What a theorem is made of, and how it is asked about a model and data."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

import tacit
from tacit import keys
from tacit.keys import Catalogue, chosen, meant
from tacit.models.model import check_model
from tacit.theorems.verdict import Assumption, Setting, Verdict
from tacit.verdict import Bound

__all__ = [
    "Assumption",
    "Bound",
    "Parts",
    "Setting",
    "Theorem",
    "Verdict",
    "check",
    "selected",
    "theorem",
    "theorems",
    "undecided",
]

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
    """

    key: str
    statement: str
    function: Callable[..., Parts]
    flows: int = 1
    matrices: bool = False
    printed: str | None = None

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
        return Verdict(self.key, self.statement, assumptions, bounds, self.printed)

    def _asked(
        self, anyway: bool, given: dict[str, Any]
    ) -> tuple[list[Assumption | Bound], tacit.TacitError | None]:
        """Its parts, as far as they go, and the error of data that it is not about."""
        parts = list[Assumption | Bound]()
        try:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                for part in self.function(**given):
                    parts.append(part)
                    if not anyway and isinstance(part, Assumption) and not part.holds:
                        break
        except (tacit.InconsistentDataError, tacit.NotSeparableError) as refusal:
            return parts, refusal
        except (ArithmeticError, np.linalg.LinAlgError) as error:
            raise tacit.InputError(
                f"{self.key} leaves the range of floats on these data ({error}); rescale features and targets"
            ) from error
        return parts, None


def unmet(refusal: tacit.TacitError) -> Assumption:
    """What data lack that nothing fits, or that nothing separates, without advice on other commands."""
    if isinstance(refusal, tacit.InconsistentDataError):
        return Assumption(f"some w has Xw = y (best relative residual: {refusal.residual:.2g})", False)
    return Assumption(f"the labels can be separated: {str(refusal).partition(' (')[0]}", False)


_THEOREMS = Catalogue[Theorem]("theorem", "tacit.theorems", "THEOREMS")


def theorem(
    key: str, statement: str, *, printed: str | None = None, flows: int = 1, matrices: bool = False
) -> Callable[[_Parted], _Parted]:
    """Register a generator function that yields the Assumptions and Bounds of one statement.

    Parameters
    ----------
    key : str
        "paper/theorem".
    statement : str
        What it says, in words.
    printed : str, optional
        What the paper has instead, and in which way it does not hold.
    flows : int, optional
        How many it follows, which is what takes long.
    matrices : bool, optional
        Is it about measurements of matrices?

    Returns
    -------
    callable
        A decorator.
    """

    def register(function: _Parted) -> _Parted:
        entry = Theorem(key, statement, function, flows, matrices, printed)
        _THEOREMS.register(key, entry, function.__module__)
        return function

    return register


def undecided(theorem: Theorem, error: Exception) -> Verdict:
    """The verdict of a theorem that stopped with an error that nobody foresaw: it is none, and no success."""
    words = f"{type(error).__name__}: {error}".removesuffix(": ")
    return Verdict(theorem.key, theorem.statement, (), (), theorem.printed, words)


def theorems() -> tuple[Theorem, ...]:
    """Every statement: by paper, in the order of its table, and then those that were registered elsewhere."""
    return tuple(_THEOREMS[key] for key in _known())


def selected(selection: str) -> list[Theorem]:
    """One theorem, or those of a paper; only these are imported."""
    return [_THEOREMS[key] for key in chosen(_known([selection.partition("/")[0]]), selection)]


def _known(papers: Iterable[str] | None = None) -> list[str]:
    """Keys of these papers, of all if left out, and of what was registered already."""
    listed = _THEOREMS.keys(sorted(keys.PAPERS) if papers is None else papers)
    return list(dict.fromkeys([*listed, *_THEOREMS.registered]))


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
        raise tacit.InputError(f"no theorem {key!r}; {meant(key, _known())} theorems() lists them all")
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
