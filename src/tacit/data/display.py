"""How results show themselves: as one line in a console, as a table in a notebook."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from html import escape
from typing import Any

import numpy as np

from tacit.data.printable import shortened

MODEL = 200  # characters of the model in the representation of a result
_FIELD = 100  # characters of a value in a representation
_LINE = 500  # characters of a representation
_LISTED = 4  # entries up to which a list of numbers or text is written out
# Colours are inherited, so that the table is readable on light and on dark pages; tables of pages without a
# document type would be black. Notebooks align cells to the right by default. Monospaced text keeps the
# columns of tables within a summary.
_TABLE = "border-collapse:collapse;text-align:left;margin:0.3em 0;color:inherit;font-size:inherit"
_NAME = "text-align:left;vertical-align:top;white-space:nowrap;padding:0.1em 1em 0.1em 0;font-weight:bold"
_TEXT = "text-align:left;padding:0.1em 0;font-family:monospace;white-space:pre-wrap"


class Displayed:
    """Base class of what shows itself: `repr` is one line, a notebook shows the summary as a table."""

    def __repr__(self) -> str:
        return one_line(self)

    def _repr_html_(self: Any) -> str:
        return as_html(type(self).__name__, self.summary())


def one_line(thing: Any) -> str:
    """Write a dataclass as one line: the sizes of arrays, and no fields that have their default."""
    shown = [
        f"{each.name}={short(getattr(thing, each.name))}"
        for each in (fields(thing) if is_dataclass(thing) else ())
        if each.repr and not _is_default(getattr(thing, each.name), each.default)
    ]
    return shortened(f"{type(thing).__name__}({', '.join(shown)})", _LINE)


def _is_default(value: Any, default: Any) -> bool:
    if default is MISSING or isinstance(value, np.ndarray):
        return False
    return value is default or (isinstance(value, str | int | float) and bool(value == default))


def short(value: Any) -> str:
    """A value in at most a hundred characters, with sizes instead of the entries of arrays and lists."""
    if isinstance(value, np.ndarray) and value.ndim:
        return _sized(value.shape)
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    if isinstance(value, np.generic | np.ndarray):
        return short(value.item())
    if isinstance(value, Mapping):
        return f"<{len(value)} entries>" if value else "{}"
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        return _listed(value)
    return shortened(" ".join(repr(value).split()), _FIELD)


def _listed(values: list[Any] | tuple[Any, ...]) -> str:
    plain = all(isinstance(each, str | int | float) for each in values)
    if len(values) > _LISTED or not plain:
        return f"<{len(values)} entries>"
    text = ", ".join(map(short, values))
    return f"[{text}]" if isinstance(values, list) else f"({text}{',' if len(values) == 1 else ''})"


def _sized(shape: tuple[int, ...]) -> str:
    return f"<{shape[0]} numbers>" if len(shape) == 1 else f"<{'×'.join(map(str, shape))}>"


def as_html(title: str, summary: str) -> str:
    """A summary as a table in HTML, one row for each line.

    "name  text" becomes two cells, and any other line one. Of several paragraphs, each but the last is folded
    under its first line. All text is escaped, because it can contain names of columns, and nothing is loaded.
    """
    *folded, last = summary.split("\n\n")
    parts = []
    for paragraph in folded:
        first, *lines = paragraph.splitlines()
        parts.append(f"<details><summary>{escape(first)}</summary>{_table(lines)}</details>")
    parts.append(_table(last.splitlines()))
    return f'<div class="tacit"><strong>{escape(title)}</strong>{"".join(parts)}</div>'


def _table(lines: list[str]) -> str:
    return f'<table style="{_TABLE}"><tbody>{"".join(map(_row, lines))}</tbody></table>'


def _row(line: str) -> str:
    # The name and the text of a line are at least two spaces apart; single spaces occur within names.
    name, *text = re.split(r" {2,}", line.strip(), maxsplit=1)
    if text:
        name_cell = f'<th scope="row" style="{_NAME}">{escape(name)}</th>'
        return f'<tr>{name_cell}<td style="{_TEXT}">{escape(text[0])}</td></tr>'
    return f'<tr><td colspan="2" style="{_TEXT}">{escape(name)}</td></tr>'
