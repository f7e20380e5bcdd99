"""What a person reads of theorems: verdicts, what is missing where none applies, and the list of them."""

from __future__ import annotations

from typing import Any

from tacit.cli.terminal import wrapped


def report(model: str, verdicts: list[Any], refused: dict[str, Any], everything: bool) -> str:
    """The verdicts that apply, or all, or what each theorem lacks; and how many there are."""
    applying = [verdict for verdict in verdicts if verdict.applies]
    parts = [verdict.summary() for verdict in (verdicts if everything else applying)]
    if everything:
        parts += [f"{key}: not asked\n  {reason}" for key, reason in refused.items()]
    elif not applying:
        parts.append(f"No theorem applies to {model} on these data:\n" + _lacking(verdicts, refused))
    asked = len(verdicts) + len(refused)
    hidden = not everything and len(applying) < asked
    hint = f"; --all shows {'the others' if applying else 'more of them'}" if hidden else ""
    parts.append(_count(applying, asked) + hint)
    return wrapped("\n\n".join(parts))


def _count(applying: list[Any], asked: int) -> str:
    """How many apply, and how many of these hold."""
    holding = sum(verdict.holds is True for verdict in applying)
    of = f"{len(applying)} of {asked} theorem{'' if asked == 1 else 's'}"
    if len(applying) == 1:
        return f"{of} applies, and {'holds' if holding else 'FAILS'}"
    return f"{of} {'applies' if asked == 1 else 'apply'}" + (f", {holding} hold" if applying else "")


def _lacking(verdicts: list[Any], refused: dict[str, Any]) -> str:
    """A line for each assumption that fails, with the theorems that make it: the nearest to applying.

    Theorems about other models are shown where there is nothing else.
    """
    near = [verdict for verdict in verdicts if any(a.holds for a in verdict.assumptions)]
    shown = near if near or refused else verdicts
    lines: dict[str, list[str]] = {}
    for verdict in shown:
        reason = next(a.text for a in verdict.assumptions if not a.holds)
        lines.setdefault(f"NO   {reason}", []).append(verdict.key)
    for key, error in refused.items():
        lines.setdefault(f"--   {error}", []).append(key)
    texts = [f"  {reason} ({', '.join(keys)})" for reason, keys in lines.items()]
    if left := len(verdicts) - len(shown):
        texts.append(f"  {left} more {'is' if left == 1 else 'are'} about other models")
    return "\n".join(texts)


def listing(theorems: list[Any]) -> str:
    """Every theorem under its paper, with its statement and its parameters."""
    from tacit.papers.registry import titles

    parts = []
    for paper, title in titles().items():
        lines = [title]
        for each in theorems:
            if each.key.startswith(f"{paper}/"):
                lines += [f"  {each.key}", f"    {each.statement}"]
                lines += [f"    --with {name}={_shown(value)}" for name, value in each.defaults.items()]
        parts.append("\n".join(lines))
    return wrapped("\n\n".join(parts))


def _shown(default: Any) -> str:
    """A default as one would type it."""
    if default is None:
        return "… (found from the data if left out)"
    values = default if isinstance(default, tuple) else (default,)
    return ",".join(value if isinstance(value, str) else f"{value:g}" for value in values)
