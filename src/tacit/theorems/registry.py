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
from tacit.verdict import Bound


@dataclass(frozen=True)
class Assumption:
    """A condition of a theorem, and whether it is met.

    Parameters
    ----------
    text : str
        The condition, with the numbers that decide it.
    holds : bool
        Is it met?
    """

    text: str
    holds: bool


@dataclass(frozen=True)
class Verdict:
    """What a theorem says about one case.

    Attributes
    ----------
    key : str
        The theorem's.
    statement : str
        What it says.
    assumptions : tuple of Assumption
        Its conditions.
    bounds : tuple of Bound
        Its conclusions; where the theorem does not apply they are reported all the same, as far as they could
        be computed.
    printed : str or None
        What the paper has instead.
    error : str or None
        What kept it from being decided, None if nothing did.
    """

    key: str
    statement: str
    assumptions: tuple[Assumption, ...]
    bounds: tuple[Bound, ...]
    printed: str | None = None
    error: str | None = None

    @property
    def applies(self) -> bool:
        """Are all assumptions met? Not where the verdict is not decided."""
        return self.error is None and all(assumption.holds for assumption in self.assumptions)

    @property
    def holds(self) -> bool | None:
        """Are all bounds met? None where the theorem does not apply, no where it is not decided."""
        if self.error is not None:
            return False
        return all(bound.holds for bound in self.bounds) if self.applies else None

    @property
    def verdict(self) -> str:
        """In words: "holds", "violated", "does not apply" or "not decided"."""
        if self.error is not None:
            return "not decided"
        return {True: "holds", False: "violated", None: "does not apply"}[self.holds]

    @property
    def because(self) -> str | None:
        """The first assumption that is not met, or what kept it from being decided; None where it applies."""
        return self.error or next((each.text for each in self.assumptions if not each.holds), None)

    @property
    def item(self) -> str | None:
        """What the paper calls it, "Theorem 1"; None of a statement that is in no paper's table."""
        return _place(self.key)[0]

    @property
    def equations(self) -> str | None:
        """Their numbers in the paper, "4 to 5, 15 to 21"; None where it has none."""
        return _place(self.key)[1]

    def summary(self) -> str:
        """The verdict in a few lines."""
        kind = "equation" if (self.equations or "").isdigit() else "equations"
        where = ", ".join(filter(None, (self.item, self.equations and f"{kind} {self.equations}")))
        lines = [f"{self.key}: {self.verdict}" + (f" ({where})" if where else ""), f"  {self.statement}"]
        lines += [f"  printed: {self.printed}"] if self.printed else []
        lines += [f"  error       {self.error}"] if self.error else []
        lines += [f"  assumption  {'yes' if a.holds else 'NO '}  {a.text}" for a in self.assumptions]
        lines += [
            f"  bound       {'yes' if b.holds else 'NO '}  {b.text}: {_interval(b)}" for b in self.bounds
        ]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON, which has no ∞ and no NaN: None stands for both."""
        return {
            "key": self.key,
            "item": self.item,
            "equations": self.equations,
            "statement": self.statement,
            "printed": self.printed,
            "verdict": self.verdict,
            "because": self.because,
            "applies": self.applies,
            "holds": self.holds,
            "assumptions": [{"text": a.text, "holds": bool(a.holds)} for a in self.assumptions],
            "bounds": [bound.to_dict() for bound in self.bounds],
        }


def _place(key: str) -> tuple[str | None, str | None]:
    """Item and equations in the table of the paper."""
    from tacit.theorems.items import place  # which runs as a program, too

    return place(key)


def _interval(bound: Bound) -> str:
    """The bound around what is measured; of an equality, how far off it is."""
    if not bound.threshold:
        return f"{bound.measured:.6g}"
    room = f"(looseness {bound.looseness:.4g})"
    if bound.equality is not None:
        value, tolerance = bound.equality
        off = f"|{bound.measured:.6g} − {value:.6g}| = {abs(bound.measured - value):.2g}"
        return f"{off} {'≤' if bound.holds else '>'} {tolerance:.2g} {room}"
    lower = "" if bound.at_least is None else f"{bound.at_least:.6g} ≤ "
    upper = "" if bound.at_most is None else f" ≤ {bound.at_most:.6g}"
    return f"{lower}{bound.measured:.6g}{upper} {room}"


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
        try:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                parts = self._parts(anyway, given)
        except (ArithmeticError, np.linalg.LinAlgError) as error:
            raise tacit.InputError(
                f"{self.key} leaves the range of floats on these data ({error}); rescale features and targets"
            ) from error
        assumptions = tuple(part for part in parts if isinstance(part, Assumption))
        bounds = tuple(part for part in parts if isinstance(part, Bound))
        return Verdict(self.key, self.statement, assumptions, bounds, self.printed)

    def _parts(self, anyway: bool, given: dict[str, Any]) -> list[Assumption | Bound]:
        parts = list[Assumption | Bound]()
        for part in self.function(**given):
            parts.append(part)
            if not anyway and isinstance(part, Assumption) and not part.holds:
                break
        return parts


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
