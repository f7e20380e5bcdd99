"""Verdicts of several theorems about one model and its data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from tacit.errors import NotConvergedError, TacitError
from tacit.theorems.registry import Assumption, Verdict, selected


class Verdicts(tuple[Verdict, ...]):
    """Verdicts of the theorems that apply, the nearest to broken first, after those that were not decided.

    A tuple of `theorems.Verdict`; `others` are those of theorems that do not apply.

    Attributes
    ----------
    model : str
        The model, as one writes it.
    refused : dict of TacitError
        Why a theorem could not be asked about these data, by key.
    not_asked : tuple of str
        Keys of those that would take minutes on data of this size.
    data : str
        What is known of the data, in words.
    """

    others: tuple[Verdict, ...]
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
        not_asked: Iterable[str] = (),
        data: str = "",
    ) -> Verdicts:
        """From verdicts in any order, of theorems that apply and of others."""
        found = list(found)
        shown = [each for each in found if each.holds is not None]
        made = super().__new__(cls, sorted(shown, key=_worst_first))
        made.others = tuple(each for each in found if each.holds is None)
        made.refused, made.not_asked, made.model, made.data = dict(refused), tuple(not_asked), model, data
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """How pickle and copy make it again: a tuple alone would be made without its keywords."""
        made = partial(
            Verdicts, model=self.model, refused=self.refused, not_asked=self.not_asked, data=self.data
        )
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
        refusals = [_refusal(key, error) for key, error in self.refused.items()]
        return {
            "model": self.model,
            "verdicts": [verdict.to_dict() for verdict in (*self, *self.others, *refusals)],
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
        from tacit.show.verdicts import verdicts_picture

        title = "\n".join(filter(None, (self.model, self.data)))
        return verdicts_picture((*self, *self.others) if everything else self, title).to(file)

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


def _refusal(key: str, error: TacitError) -> Verdict:
    """The verdict of a theorem that could not be asked: the reason is what it lacks.

    Where a flow or a limit did not arrive, it is not decided.
    """
    (entry,) = selected(key)
    if isinstance(error, NotConvergedError):
        return Verdict(key, entry.statement, (), (), entry.printed, str(error))
    return Verdict(key, entry.statement, (Assumption(str(error), False),), (), entry.printed)


def _worst_first(verdict: Verdict) -> tuple[bool, bool, float]:
    """What is not decided or fails, then by the room in the tightest bound; what is no number has no room."""
    rooms = [bound.looseness for bound in verdict.bounds if bound.threshold]
    tightest = min((-math.inf if math.isnan(each) else each for each in rooms), default=math.inf)
    return verdict.error is None, bool(verdict.holds), tightest
