"""Verdicts of several theorems about one model and its data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tacit.errors import TacitError

if TYPE_CHECKING:
    from tacit.theorems.registry import Verdict


class Verdicts(tuple["Verdict", ...]):
    """Verdicts of the theorems that apply, the nearest to broken first.

    others: of those that do not apply. refused: why a theorem could not be asked about these data, by key.
    not_asked: keys of those that would take minutes on data of this size. model: it, as one writes it.
    """

    others: tuple[Verdict, ...]
    refused: dict[str, TacitError]
    not_asked: tuple[str, ...]
    model: str

    def __new__(
        cls,
        found: Iterable[Verdict],
        *,
        model: str,
        refused: Mapping[str, TacitError],
        not_asked: Iterable[str] = (),
    ) -> Verdicts:
        """From verdicts in any order, of theorems that apply and of others."""
        found = list(found)
        made = super().__new__(cls, sorted((each for each in found if each.applies), key=_worst_first))
        made.others = tuple(each for each in found if not each.applies)
        made.refused, made.not_asked, made.model = dict(refused), tuple(not_asked), model
        return made

    @property
    def holds(self) -> bool:
        """Does every theorem hold that applies?"""
        return all(verdict.holds for verdict in self)

    def summary(self, everything: bool = False) -> str:
        """The verdicts that apply, or what each theorem lacks where none does; everything: all of them."""
        parts = [verdict.summary() for verdict in self]
        if everything:
            parts += [verdict.summary() for verdict in self.others]
            parts += [f"{key}: not asked\n  {reason}" for key, reason in self.refused.items()]
        elif not self:
            parts.append(f"No theorem applies to {self.model} on these data:\n{self._lacking()}")
        return "\n\n".join([*parts, self._count()])

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "model": self.model,
            "verdicts": [verdict.to_dict() for verdict in (*self, *self.others)],
            "refused": {key: str(error) for key, error in self.refused.items()},
            "not_asked": list(self.not_asked),
        }

    def plot(self, file: Any = None, everything: bool = False) -> Any:
        """What is measured against every bound, the nearest to broken first."""
        from tacit.show.verdicts import verdicts_picture

        return verdicts_picture((*self, *self.others) if everything else self).to(file)

    def _count(self) -> str:
        """How many apply, and how many of these hold."""
        asked = len(self) + len(self.others) + len(self.refused)
        holding = sum(verdict.holds is True for verdict in self)
        of = f"{len(self)} of {asked} theorem{'' if asked == 1 else 's'}"
        if len(self) == 1:
            return f"{of} applies, and {'holds' if holding else 'FAILS'}"
        return f"{of} {'applies' if asked == 1 else 'apply'}" + (f", {holding} hold" if self else "")

    def _lacking(self) -> str:
        """A line for each assumption that fails, with the theorems that make it: the nearest to applying.

        Theorems about other models are shown where there is nothing else.
        """
        near = [verdict for verdict in self.others if any(a.holds for a in verdict.assumptions)]
        shown = near if near or self.refused else self.others
        lines: dict[str, list[str]] = {}
        for verdict in shown:
            reason = next(a.text for a in verdict.assumptions if not a.holds)
            lines.setdefault(f"NO   {reason}", []).append(verdict.key)
        for key, error in self.refused.items():
            lines.setdefault(f"--   {error}", []).append(key)
        texts = [f"  {reason} ({', '.join(keys)})" for reason, keys in lines.items()]
        if left := len(self.others) - len(shown):
            texts.append(f"  {left} more {'is' if left == 1 else 'are'} about other models")
        return "\n".join(texts)


def _worst_first(verdict: Verdict) -> tuple[bool, float]:
    """What fails, then by the room in the tightest bound; a number that is none has no room."""
    rooms = [bound.looseness for bound in verdict.bounds if bound.threshold]
    return bool(verdict.holds), min(
        (-math.inf if math.isnan(each) else each for each in rooms), default=math.inf
    )
