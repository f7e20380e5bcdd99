"""Theorems applied to a case: assumptions, bounds, and the verdicts that follow from them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from tacit.data.display import MODEL, Displayed
from tacit.data.printable import shortened
from tacit.errors import TacitError
from tacit.results.claims import Bound
from tacit.results.delegation import delegate


@dataclass(frozen=True)
class Assumption:
    """A condition of a theorem, and whether it is met.

    Parameters
    ----------
    text : str
        The condition, with the numbers that decide it.
    holds : bool
        Whether it is met.

    Examples
    --------
    >>> from tacit.theorems import Assumption
    >>> Assumption("depth ≥ 2: depth = 3", holds=True).holds
    True
    """

    text: str
    holds: bool


@dataclass(frozen=True)
class Premise(Assumption):
    """A condition without which nothing else can be computed: if it fails, the theorem is not evaluated.

    Parameters
    ----------
    text : str
        The condition, with the numbers that decide it.
    holds : bool
        Whether it is met.

    Examples
    --------
    >>> from tacit.theorems import Premise
    >>> Premise("X has more features than samples", holds=False).holds
    False
    """


@dataclass(frozen=True)
class Setting(Premise):
    """A condition on the model alone: if it fails, the theorem is about other models.

    Parameters
    ----------
    text : str
        The condition.
    holds : bool
        Whether it is met.

    Examples
    --------
    >>> from tacit.theorems import Setting
    >>> Setting("the model is a diagonal network", holds=True).holds
    True
    """


@dataclass(frozen=True, repr=False)
class Verdict(Displayed):
    """A theorem applied to one case: its assumptions and its conclusions, with the measured numbers.

    Attributes
    ----------
    key : str
        The key of the theorem, such as "woodworth2020/theorem1".
    statement : str
        The statement of the theorem.
    assumptions : tuple of Assumption
        Its conditions.
    bounds : tuple of Bound
        Its conclusions. If the theorem does not apply, those that can be computed are reported nevertheless.
    printed : str or None
        The statement printed in the paper, if it differs.
    error : str or None
        Why the theorem could not be decided; None if it was.
    item : str or None
        Its name in the paper, such as "Theorem 1"; None if the paper does not number it.
    equations : str or None
        The numbers of its equations in the paper, such as "4 to 5, 15 to 21"; None if there are none.

    Examples
    --------
    >>> from tacit.theorems import Assumption, Bound, Verdict
    >>> bound = Bound("‖w‖₁", 1.5, at_most=3.0)
    >>> Verdict("paper2020/lemma1", "‖w‖₁ ≤ 3", (Assumption("N < d", True),), (bound,)).verdict
    'holds'
    """

    key: str
    statement: str
    assumptions: tuple[Assumption, ...]
    bounds: tuple[Bound, ...]
    printed: str | None = None
    error: str | None = None
    item: str | None = None
    equations: str | None = None

    def __repr__(self) -> str:
        return f"Verdict({self.key}: {self.verdict})"

    @property
    def applies(self) -> bool:
        """Whether all assumptions are met; False if the theorem could not be decided."""
        return self.error is None and all(assumption.holds for assumption in self.assumptions)

    @property
    def holds(self) -> bool | None:
        """Whether all bounds hold; None if the theorem does not apply, False if it could not be decided."""
        if self.error is not None:
            return False
        return all(bound.holds for bound in self.bounds) if self.applies else None

    @property
    def verdict(self) -> str:
        """The verdict as text: "holds", "violated", "does not apply" or "not decided"."""
        if self.error is not None:
            return "not decided"
        return {True: "holds", False: "violated", None: "does not apply"}[self.holds]

    @property
    def about_others(self) -> bool:
        """Whether the theorem is about other models than this one."""
        return any(isinstance(each, Setting) and not each.holds for each in self.assumptions)

    @property
    def because(self) -> str | None:
        """The error, or the first assumption that is not met; None if the theorem applies."""
        return self.error or next((each.text for each in self.assumptions if not each.holds), None)

    def summary(self) -> str:
        """The verdict, the assumptions and the bounds, in a few lines."""
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
        """Plain values, ready for JSON; None for ∞ and NaN, which JSON cannot represent."""
        names = ("key", "item", "equations", "statement", "printed", "verdict", "because", "applies", "holds")
        return {
            **{name: getattr(self, name) for name in names},
            "assumptions": [{"text": a.text, "holds": bool(a.holds)} for a in self.assumptions],
            "bounds": [bound.to_dict() for bound in self.bounds],
        }


def cited(item: str | None, equations: str | None) -> str:
    """The place of a theorem in its paper, such as "Lemma 6, equations 31 to 37"; empty if it has none."""
    kind = "equation" if (equations or "").isdigit() else "equations"
    return ", ".join(filter(None, (item, equations and f"{kind} {equations}")))


def _interval(bound: Bound) -> str:
    """The inequality with the measured value; for an equality, the difference and its tolerance."""
    if not bound.threshold:
        return f"{bound.measured:.6g}"
    looseness = f"(looseness = {bound.looseness:.4g})".replace("inf", "∞")
    if bound.equality is not None:
        value, tolerance = bound.equality
        difference = f"|{bound.measured:.6g} − {value:.6g}| = {abs(bound.measured - value):.2g}"
        return f"{difference} {'≤' if bound.holds else '>'} {tolerance:.2g} {looseness}"
    lower = "" if bound.at_least is None else f"{bound.at_least:.6g} ≤ "
    upper = "" if bound.at_most is None else f" ≤ {bound.at_most:.6g}"
    return f"{lower}{bound.measured:.6g}{upper} {looseness}"


class Verdicts(Displayed, tuple[Verdict, ...]):
    """Verdicts of the theorems that apply to a case: undecided ones first, then by increasing looseness.

    A tuple of `theorems.Verdict`; `others` are the verdicts of theorems that do not apply.

    Attributes
    ----------
    model : str
        The model, as text.
    refused : dict of TacitError
        Why a theorem could not be evaluated on these data, by key.
    refusals : tuple of Verdict
        The same as verdicts: not decided, or does not apply.
    not_asked : tuple of str
        Keys of the theorems that were skipped, because they would take minutes on data of this size.
    data : str
        A description of the data.

    Examples
    --------
    >>> import tacit
    >>> found = tacit.check(tacit.Diagonal(), [[1, 2]], [2], only="woodworth2020/theorem1")
    >>> [(each.key, each.verdict) for each in found], found.holds
    ([('woodworth2020/theorem1', 'holds')], True)
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
        """Sort the verdicts of theorems that apply, and separate those of the others."""
        found = list(found)
        shown = [each for each in found if each.holds is not None]
        made = super().__new__(cls, sorted(shown, key=_sort_key))
        made.others = tuple(each for each in found if each.holds is None)
        made.refused, made.refusals, made.not_asked = dict(refused), tuple(refusals), tuple(not_asked)
        made.model, made.data = model, data
        return made

    def __repr__(self) -> str:
        return f"Verdicts({shortened(self.model, MODEL)}: {self._count()})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy with the keyword arguments, which the constructor of tuple does not accept."""
        names = ("model", "refused", "refusals", "not_asked", "data")
        made = partial(Verdicts, **{name: getattr(self, name) for name in names})
        return made, ((*self, *self.others),)

    @property
    def holds(self) -> bool:
        """Whether every theorem that applies holds; False if one of them could not be decided."""
        return all(verdict.holds for verdict in self)

    def summary(self, everything: bool = False) -> str:
        """The verdicts that apply, and the assumptions that fail for other theorems about this model.

        Parameters
        ----------
        everything : bool, optional
            Whether to include the verdicts of theorems that do not apply.

        Returns
        -------
        str
            The text that `tacit check` prints.
        """
        parts = [verdict.summary() for verdict in self]
        if everything:
            parts += [verdict.summary() for verdict in self.others]
            parts += [f"{key}: not evaluated\n  {reason}" for key, reason in self.refused.items()]
        elif failing := self._failing_assumptions():
            head = "Other theorems about this model do not apply:"
            head = head if self else f"No theorem applies to {self.model} on these data:"
            parts.append(f"{head}\n{failing}")
        return "\n\n".join([*parts, self._count()])

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "model": self.model,
            "verdicts": [verdict.to_dict() for verdict in (*self, *self.others, *self.refusals)],
            "refused": {key: str(error) for key, error in self.refused.items()},
            "not_asked": list(self.not_asked),
        }

    def plot(self, file: Any = None, ax: Any = None, everything: bool = False) -> Any:
        """Draw the measured value of every bound relative to the bound, the tightest first.

        Parameters
        ----------
        file : path, optional
            The file to write; its suffix decides the format.
        ax : matplotlib.axes.Axes, optional
            Your own axes to draw into.
        everything : bool, optional
            Whether to include the verdicts of theorems that do not apply.

        Returns
        -------
        Path, matplotlib.figure.Figure or axes
            The path of the file, `ax` if it is given, or a figure, which a notebook displays once.
        """
        return delegate(self, "picture", everything).to(file, ax)

    def _count(self) -> str:
        """The number of theorems that apply, and of those that hold."""
        total = len(self) + len(self.others) + len(self.refused)
        applying = [verdict for verdict in self if verdict.applies]
        undecided = len(self) - len(applying)
        of = f"{len(applying)} of {total} theorem{'' if total == 1 else 's'}"
        if len(applying) == 1:
            text = f"{of} applies, and {'holds' if applying[0].holds else 'is violated'}"
        else:
            holding = sum(verdict.holds is True for verdict in applying)
            text = f"{of} {'applies' if total == 1 else 'apply'}" + (f", {holding} hold" if applying else "")
        return f"{text}, {undecided} {'is' if undecided == 1 else 'are'} not decided" if undecided else text

    def _failing_assumptions(self) -> str:
        """A line for each assumption that fails, with the theorems that need it, the most frequent first.

        Theorems about other models are shown only if there are no others.
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
    """Keys with each paper named once: "woodworth2020/theorem1, theorem3; azulay2021/lemma4"."""
    papers: dict[str, list[str]] = {}
    for key in keys:
        paper, _, name = key.partition("/")
        papers.setdefault(paper, []).append(name)
    return "; ".join(f"{paper}/{', '.join(names)}" for paper, names in papers.items())


def _sort_key(verdict: Verdict) -> tuple[bool, bool, float]:
    """Sort key: undecided and violated verdicts first, then by the looseness of the tightest bound.

    A looseness of NaN counts as −∞.
    """
    factors = [bound.looseness for bound in verdict.bounds if bound.threshold]
    tightest = min((-math.inf if math.isnan(each) else each for each in factors), default=math.inf)
    return verdict.error is None, bool(verdict.holds), tightest
