"""What a person reads of theorems at a terminal: verdicts, and the list of them."""

from __future__ import annotations

from typing import Any

from tacit.cli.terminal import wrapped


def report(verdicts: Any, everything: bool) -> str:
    """The verdicts, the hint where some are not shown, and what was not asked."""
    hidden = not everything and bool(verdicts.others or verdicts.refused)
    hint = f"; --all shows {'the others' if verdicts else 'more of them'}" if hidden else ""
    text = wrapped(verdicts.summary(everything) + hint)
    if not verdicts.not_asked:
        return text
    keys = ", ".join(verdicts.not_asked)
    long = f"not asked, for they take minutes on data of this size: {keys}; --only KEY asks one"
    return f"{text}\n{wrapped(long)}"


def listing(theorems: list[Any]) -> str:
    """Every theorem under its paper, with its place there, its statement and its parameters."""
    from tacit.papers.catalogue import titles
    from tacit.papers.checking import DERIVED
    from tacit.results.verdicts import cited

    parts = []
    for paper, title in titles().items():
        lines = [title]
        for each in theorems:
            if each.key.startswith(f"{paper}/"):
                where = cited(*each.place)
                lines += [f"  {each.key}" + (f" ({where})" if where else ""), f"    {each.statement}"]
                lines += [f"    {name}: {DERIVED[name]}" for name in each.needs if name in DERIVED]
                lines += [f"    --with {name}={_shown(value)}" for name, value in each.defaults.items()]
        parts.append("\n".join(lines))
    return wrapped("\n\n".join(parts))


def _shown(default: Any) -> str:
    """A default as one would type it."""
    if default is None:
        return "… (found from the data if left out)"
    values = default if isinstance(default, tuple) else (default,)
    return ",".join(value if isinstance(value, str) else f"{value:g}" for value in values)
