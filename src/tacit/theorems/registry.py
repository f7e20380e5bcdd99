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

    text: the condition, with the numbers that decide it. holds: is it met?
    """

    text: str
    holds: bool


@dataclass(frozen=True)
class Verdict:
    """What a theorem says about one case.

    key, statement: the theorem's. assumptions: its conditions. bounds: its conclusions. applies: every
    assumption is met. holds: every bound is too, None where the theorem does not apply (the bounds are
    reported all the same, as far as they could be computed).
    """

    key: str
    statement: str
    assumptions: tuple[Assumption, ...]
    bounds: tuple[Bound, ...]

    @property
    def applies(self) -> bool:
        """Are all assumptions met?"""
        return all(assumption.holds for assumption in self.assumptions)

    @property
    def holds(self) -> bool | None:
        """Are all bounds met? None where the theorem does not apply."""
        return all(bound.holds for bound in self.bounds) if self.applies else None

    def summary(self) -> str:
        """The verdict in a few lines."""
        words = {True: "holds", False: "FAILS", None: "does not apply"}
        lines = [f"{self.key}: {words[self.holds]}", f"  {self.statement}"]
        lines += [f"  assumption  {'yes' if a.holds else 'NO '}  {a.text}" for a in self.assumptions]
        lines += [
            f"  bound       {'yes' if b.holds else 'NO '}  {b.text}: {_interval(b)}" for b in self.bounds
        ]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON, which has no ∞ and no NaN: None stands for both."""
        return {
            "key": self.key,
            "statement": self.statement,
            "applies": self.applies,
            "holds": self.holds,
            "assumptions": [{"text": a.text, "holds": bool(a.holds)} for a in self.assumptions],
            "bounds": [bound.to_dict() for bound in self.bounds],
        }


def _interval(bound: Bound) -> str:
    lower = "" if bound.at_least is None else f"{bound.at_least:.6g} ≤ "
    upper = "" if bound.at_most is None else f" ≤ {bound.at_most:.6g}"
    return f"{lower}{bound.measured:.6g}{upper} (looseness {bound.looseness:.4g})"


Parts = Iterator[Assumption | Bound]
_Parted = TypeVar("_Parted", bound=Callable[..., Parts])


@dataclass(frozen=True)
class Theorem:
    """A registered statement.

    key: its name, "paper/theorem". statement: what it says. function: yields its Assumptions and Bounds.
    needs: the arguments it must be given ("model", "X", "y" for a statement about training; others for one
    about the potential alone). options: those with defaults. flows: how many it follows at the most, which is
    what takes long, or as many as take its time. matrices: X is a stack of them, which no table is.
    """

    key: str
    statement: str
    function: Callable[..., Parts]
    flows: int = 1
    matrices: bool = False

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
        """What it says about this case; anyway: how its bounds fare, too, where an assumption fails."""
        try:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                parts = self._parts(anyway, given)
        except (ArithmeticError, np.linalg.LinAlgError) as error:
            raise tacit.InputError(
                f"{self.key} leaves the range of floats on these data ({error}); rescale features and targets"
            ) from error
        assumptions = tuple(part for part in parts if isinstance(part, Assumption))
        bounds = tuple(part for part in parts if isinstance(part, Bound))
        return Verdict(self.key, self.statement, assumptions, bounds)

    def _parts(self, anyway: bool, given: dict[str, Any]) -> list[Assumption | Bound]:
        parts = list[Assumption | Bound]()
        for part in self.function(**given):
            parts.append(part)
            if not anyway and isinstance(part, Assumption) and not part.holds:
                break
        return parts


_THEOREMS = Catalogue[Theorem]("theorem", "tacit.theorems", "THEOREMS")


def theorem(
    key: str, statement: str, *, flows: int = 1, matrices: bool = False
) -> Callable[[_Parted], _Parted]:
    """Register a generator function that yields the Assumptions and Bounds of one statement.

    flows: how many it follows, which is what takes long. matrices: is it about measurements of matrices?
    """

    def register(function: _Parted) -> _Parted:
        _THEOREMS.register(key, Theorem(key, statement, function, flows, matrices), function.__module__)
        return function

    return register


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
    they name instead, such as predictor= or features= (`theorems()` lists them all with what they need).
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
