"""Text about theorems for the terminal: verdicts, and the list of theorems."""

from __future__ import annotations

from typing import Any

from tacit.cli.terminal import wrapped


def report(verdicts: Any, everything: bool) -> str:
    """The verdicts, a hint if some are hidden, and the theorems that were skipped."""
    hidden = not everything and bool(verdicts.others or verdicts.refused)
    hint = f"; --all shows {'the others' if verdicts else 'more of them'}" if hidden else ""
    text = wrapped(verdicts.summary(everything) + hint)
    if not verdicts.not_asked:
        return text
    keys = ", ".join(verdicts.not_asked)
    long = f"skipped, since they take minutes on data of this size: {keys}; --only KEY checks one"
    return f"{text}\n{wrapped(long)}"


def listing(theorems: list[Any]) -> str:
    """All theorems by paper, with their number, statement and parameters."""
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
    """A default value as it would be typed."""
    if default is None:
        return "… (default: determined from the data)"
    values = default if isinstance(default, tuple) else (default,)
    return ",".join(value if isinstance(value, str) else f"{value:g}" for value in values)
