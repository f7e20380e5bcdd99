"""What theorems say about a case: assumptions, bounds, and the verdicts that follow from them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from tacit.errors import TacitError
from tacit.results.claims import Bound
from tacit.results.delegation import ask


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
class Premise(Assumption):
    """A condition without which nothing else can be computed: where it is not met, nothing else is asked.

    Parameters
    ----------
    text : str
        The condition, with the numbers that decide it.
    holds : bool
        Is it met?
    """


@dataclass(frozen=True)
class Setting(Premise):
    """A condition on the model alone: where it is not met, the theorem is about other models.

    Parameters
    ----------
    text : str
        The condition.
    holds : bool
        Is it met?
    """


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
    item : str or None
        What the paper calls it, "Theorem 1"; None of a statement that is in no paper's list.
    equations : str or None
        Their numbers in the paper, "4 to 5, 15 to 21"; None where it has none.
    """

    key: str
    statement: str
    assumptions: tuple[Assumption, ...]
    bounds: tuple[Bound, ...]
    printed: str | None = None
    error: str | None = None
    item: str | None = None
    equations: str | None = None

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
    def about_others(self) -> bool:
        """Is the theorem about other models than this one?"""
        return any(isinstance(each, Setting) and not each.holds for each in self.assumptions)

    @property
    def because(self) -> str | None:
        """The first assumption that is not met, or what kept it from being decided; None where it applies."""
        return self.error or next((each.text for each in self.assumptions if not each.holds), None)

    def summary(self) -> str:
        """The verdict in a few lines."""
        where = cited(self.item, self.equations)
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


def cited(item: str | None, equations: str | None) -> str:
    """Where a theorem stands in its paper, "Lemma 6, equations 31 to 37"; nothing if it is in none."""
    kind = "equation" if (equations or "").isdigit() else "equations"
    return ", ".join(filter(None, (item, equations and f"{kind} {equations}")))


def _interval(bound: Bound) -> str:
    """The bound around what is measured; of an equality, how far off it is."""
    if not bound.threshold:
        return f"{bound.measured:.6g}"
    room = f"(looseness {bound.looseness:.4g})".replace("inf", "∞")
    if bound.equality is not None:
        value, tolerance = bound.equality
        off = f"|{bound.measured:.6g} − {value:.6g}| = {abs(bound.measured - value):.2g}"
        return f"{off} {'≤' if bound.holds else '>'} {tolerance:.2g} {room}"
    lower = "" if bound.at_least is None else f"{bound.at_least:.6g} ≤ "
    upper = "" if bound.at_most is None else f" ≤ {bound.at_most:.6g}"
    return f"{lower}{bound.measured:.6g}{upper} {room}"


class Verdicts(tuple[Verdict, ...]):
    """Verdicts of the theorems that apply, the nearest to broken first, after those that were not decided.

    A tuple of `theorems.Verdict`; `others` are those of theorems that do not apply.

    Attributes
    ----------
    model : str
        The model, as one writes it.
    refused : dict of TacitError
        Why a theorem could not be asked about these data, by key.
    refusals : tuple of Verdict
        The same as verdicts: not decided, or does not apply for that reason.
    not_asked : tuple of str
        Keys of those that would take minutes on data of this size.
    data : str
        What is known of the data, in words.
    """

    others: tuple[Verdict, ...]
    refusals: tuple[Verdict, ...]
    refused: dict[str, TacitError]
    not_asked: tuple[str, ...]
    model: str
    data: str

    def __new__(
        cls,
        found: Iterable[Verdict],
        *,
        model: str,
        refused: Mapping[str, TacitError],
        refusals: Iterable[Verdict] = (),
        not_asked: Iterable[str] = (),
        data: str = "",
    ) -> Verdicts:
        """From verdicts in any order, of theorems that apply and of others."""
        found = list(found)
        shown = [each for each in found if each.holds is not None]
        made = super().__new__(cls, sorted(shown, key=_worst_first))
        made.others = tuple(each for each in found if each.holds is None)
        made.refused, made.refusals, made.not_asked = dict(refused), tuple(refusals), tuple(not_asked)
        made.model, made.data = model, data
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """How pickle and copy make it again: a tuple alone would be made without its keywords."""
        names = ("model", "refused", "refusals", "not_asked", "data")
        made = partial(Verdicts, **{name: getattr(self, name) for name in names})
        return made, ((*self, *self.others),)

    @property
    def holds(self) -> bool:
        """Does every theorem hold that applies? Not where one of them could not be decided."""
        return all(verdict.holds for verdict in self)

    def summary(self, everything: bool = False) -> str:
        """The verdicts that apply, and what the other theorems about this model lack.

        Parameters
        ----------
        everything : bool, optional
            Also those that do not apply.

        Returns
        -------
        str
            What `tacit check` prints.
        """
        parts = [verdict.summary() for verdict in self]
        if everything:
            parts += [verdict.summary() for verdict in self.others]
            parts += [f"{key}: not asked\n  {reason}" for key, reason in self.refused.items()]
        elif lacking := self._lacking():
            head = "Of those about this model, these lack something:"
            head = head if self else f"No theorem applies to {self.model} on these data:"
            parts.append(f"{head}\n{lacking}")
        return "\n\n".join([*parts, self._count()])

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "model": self.model,
            "verdicts": [verdict.to_dict() for verdict in (*self, *self.others, *self.refusals)],
            "refused": {key: str(error) for key, error in self.refused.items()},
            "not_asked": list(self.not_asked),
        }

    def plot(self, file: Any = None, everything: bool = False) -> Any:
        """What is measured against every bound, the nearest to broken first.

        Parameters
        ----------
        file : path, optional
            Where to write it; its ending says how.
        everything : bool, optional
            Also those that do not apply.

        Returns
        -------
        Path or matplotlib.figure.Figure
            The file, or the figure where none was named.
        """
        return ask(self, "picture", everything).to(file)

    def _count(self) -> str:
        """How many apply, and how many of these hold."""
        asked = len(self) + len(self.others) + len(self.refused)
        applying = [verdict for verdict in self if verdict.applies]
        lost = len(self) - len(applying)
        of = f"{len(applying)} of {asked} theorem{'' if asked == 1 else 's'}"
        if len(applying) == 1:
            words = f"{of} applies, and {'holds' if applying[0].holds else 'is violated'}"
        else:
            holding = sum(verdict.holds is True for verdict in applying)
            words = f"{of} {'applies' if asked == 1 else 'apply'}" + (f", {holding} hold" if applying else "")
        return f"{words}, {lost} {'is' if lost == 1 else 'are'} not decided" if lost else words

    def _lacking(self) -> str:
        """A line for each assumption that fails, with the theorems that make it: the nearest to applying.

        Theorems about other models are shown where there is nothing else.
        """
        near = [verdict for verdict in self.others if not verdict.about_others]
        shown = near if near or self.refused or self else self.others
        lines: dict[str, list[str]] = {}
        for verdict in shown:
            lines.setdefault(f"NO   {verdict.because}", []).append(verdict.key)
        for key, error in self.refused.items():
            lines.setdefault(f"--   {error}", []).append(key)
        most_first = sorted(lines.items(), key=lambda line: -len(line[1]))
        texts = [f"  {reason} ({_listed(keys)})" for reason, keys in most_first]
        if texts and (left := len(self.others) - len(shown)):
            texts.append(f"  {left} more {'is' if left == 1 else 'are'} about other models")
        return "\n".join(texts)


def _listed(keys: list[str]) -> str:
    """Keys, each paper once: "woodworth2020/theorem1, theorem3; azulay2021/lemma4"."""
    papers: dict[str, list[str]] = {}
    for key in keys:
        paper, _, name = key.partition("/")
        papers.setdefault(paper, []).append(name)
    return "; ".join(f"{paper}/{', '.join(names)}" for paper, names in papers.items())


def _worst_first(verdict: Verdict) -> tuple[bool, bool, float]:
    """What is not decided or fails, then by the room in the tightest bound; what is no number has no room."""
    rooms = [bound.looseness for bound in verdict.bounds if bound.threshold]
    tightest = min((-math.inf if math.isnan(each) else each for each in rooms), default=math.inf)
    return verdict.error is None, bool(verdict.holds), tightest
