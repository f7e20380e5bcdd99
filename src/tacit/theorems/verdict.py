"""What a theorem says about one case: assumptions, bounds, and the verdict that follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
class Setting(Assumption):
    """A condition on the model alone: where it is not met, the theorem is about other models."""


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
    def about_others(self) -> bool:
        """Is the theorem about other models than this one?"""
        return any(isinstance(each, Setting) and not each.holds for each in self.assumptions)

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
        where = cited(self.key)
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


def cited(key: str) -> str:
    """Where a theorem stands in its paper, "Lemma 6, equations 31 to 37"; nothing if it is in none."""
    item, equations = _place(key)
    kind = "equation" if (equations or "").isdigit() else "equations"
    return ", ".join(filter(None, (item, equations and f"{kind} {equations}")))


def _place(key: str) -> tuple[str | None, str | None]:
    """Item and equations in the table of the paper."""
    from tacit.theorems.items import place  # which runs as a program, too

    return place(key)


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
