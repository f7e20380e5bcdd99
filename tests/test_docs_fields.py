"""Fields of public dataclasses have words in the docstring of their class."""

import dataclasses
import importlib
import inspect
import re

import pages
import pytest

REFERENCE = (pages.ROOT / "docs" / "reference" / "index.md").read_text(encoding="utf-8")
MODULES = [line.strip() for line in REFERENCE.splitlines() if re.fullmatch(r" +tacit[\w.]*", line)]


def silent(kind):
    """Public fields that the docstring does not name."""
    text = inspect.getdoc(kind) or ""
    names = [field.name for field in dataclasses.fields(kind) if not field.name.startswith("_")]
    return [name for name in names if not re.search(rf"\b{name}\b", text)]


@pytest.mark.parametrize("module", MODULES)
def test_every_field_of_a_public_dataclass_is_documented(module):
    home = importlib.import_module(module)
    kinds = {name: getattr(home, name) for name in home.__all__}
    found = {name: silent(kind) for name, kind in kinds.items() if dataclasses.is_dataclass(kind)}
    assert {name: fields for name, fields in found.items() if fields} == {}


def test_a_field_without_words_is_seen():
    @dataclasses.dataclass(frozen=True)
    class Example:
        """Something.

        first: with words.
        """

        first: int
        second: int
        _own: int

    assert silent(Example) == ["second"]
