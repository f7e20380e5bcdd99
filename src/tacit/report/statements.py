"""The theorems of a paper, as a table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import Any

from tacit.report.formulas import html
from tacit.report.tags import anchor, table

_ITEMS = "theorem|lemma|proposition|corollary|condition|definition|claim|equation|appendix|section|figure"


def is_beyond(key: str) -> bool:
    """Is it a statement, or a sharper form of one, that the paper does not have?"""
    name = key.partition("/")[2]
    return name.endswith("-sharp") or re.match(rf"(?:{_ITEMS})\b|(?:{_ITEMS})\d", name) is None


def statements(found: Sequence[Any], about: str) -> str:
    """Every statement, what it says, and how to ask it about data."""
    rows = [
        (
            f'<a class="anchor" id="{anchor("theorem", each.key)}">{escape(each.key.partition("/")[2])}</a>',
            f'{html(each.statement)}<code class="ask">{escape(_command(each))}</code>',
        )
        for each in found
    ]
    return table(f"Theorems of {about}", ("Name", "What it says, and how to ask it about data"), rows)


def _command(theorem: Any) -> str:
    if set(theorem.needs) == {"model", "X", "y"} and not theorem.matrices:
        return f"tacit check DATA --only {theorem.key}"
    needs = ", ".join(name if name in ("model", "X", "y") else f"{name}=…" for name in theorem.needs)
    return f'tacit.theorems.check("{theorem.key}", {needs})'
