"""The theorems of a paper, as a table, and how each is asked about data."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from tacit import keys
from tacit.report.formulas import html
from tacit.report.tags import anchor, table
from tacit.theorems.items import items

_LINEAR = "--model linear --width 500"
_MODELS = {  # for statements that ask for another model than the first one of `tacit check`
    "woodworth2020/theorem2-l1": "--log-scale -100",
    "woodworth2020/theorem2-l2": "--scale 100",
    "woodworth2020/theorem3": "--depth 3",
    "woodworth2020/theorem3-ends": "",
    "woodworth2020/lemma8": "--depth 3",
    "moroshko2020/lemma12": "--depth 3",
    "moroshko2020/lemma13": "--depth 3",
    "azulay2021/theorem1": "--model untied",
    "azulay2021/theorem2": "--model neuron",
    "azulay2021/theorem3": _LINEAR,
    "azulay2021/theorem4": "--model neuron --slope 0.5",
    "azulay2021/section7.1": "--model untied",
    "min2021/": _LINEAR,
    "min2021/proposition1": f"{_LINEAR} --start orthogonal",
}
_IN_PYTHON = ("azulay2021/proposition1",)  # no option makes its model
_HOW = """<p class="lead">In commands DATA is a file with a table, such as a CSV file, and COL the column to
predict; statements about classification ask for two classes. Numbers after the name are there to be changed.
Calls of Python are for what no table or option names: <code>model</code> is a model of Tacit, and the dots
are yours. Where what a paper prints does not hold, a line has it, and says in which way.</p>
"""


def is_beyond(key: str) -> bool:
    """Is it a statement, or a sharper form of one, that the paper does not have?"""
    paper, _, name = key.partition("/")
    return name.endswith("-sharp") or name not in _names(paper)


def in_order(paper: str, found: Sequence[Any]) -> list[Any]:
    """Statements in the order of the paper's items; those of no item last."""
    places = {name: place for place, name in reversed(list(enumerate(_names(paper))))}
    return sorted(found, key=lambda each: places.get(each.key.partition("/")[2], len(places)))


def _names(paper: str) -> list[str]:
    """Statements of the paper's items, in its order."""
    return [name for item in items(paper) for name in item.theorems] if paper in keys.PAPERS else []


def statements(found: Sequence[Any], about: str) -> str:
    """Every statement, what it says, what the paper prints instead, and how to ask it about data."""
    rows = [
        (
            f'<a class="anchor" id="{anchor("theorem", each.key)}">{escape(each.key.partition("/")[2])}</a>',
            f'{html(each.statement)}{_printed(each)}<code class="ask">{escape(command(each))}</code>',
        )
        for each in found
    ]
    return _HOW + table(
        f"Theorems of {about}", ("Name", "What it says, and how to ask it about data"), rows, "named"
    )


def _printed(theorem: Any) -> str:
    return f'<span class="where">Printed: {html(theorem.printed)}</span>' if theorem.printed else ""


def command(theorem: Any) -> str:
    """What to type, in a shell or in Python."""
    about_a_table = set(theorem.needs) == {"model", "X", "y"} and not theorem.matrices
    if about_a_table and theorem.key not in _IN_PYTHON:
        return " ".join(f"tacit check DATA --target COL --only {theorem.key} {_model(theorem.key)}".split())
    needs = ", ".join(name if name in ("model", "X", "y") else f"{name}=…" for name in theorem.needs)
    return f'tacit.theorems.check("{theorem.key}", {needs})'


def _model(key: str) -> str:
    """Options by the longest name in the table with which the key begins."""
    fitting = [name for name in _MODELS if key.startswith(name)]
    return _MODELS[max(fitting, key=len)] if fitting else ""
