"""The table of items contains everything that the papers number, and everything it names exists."""

import ast
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from tacit.papers import figures
from tacit.papers.catalogue import Item, papers
from tacit.papers.pages import items
from tacit.theorems import theorems

PAPERS = tuple(papers())

TESTS = Path(__file__).parents[1]
NUMBERED = tomllib.loads(Path(__file__).with_name("numbered.toml").read_text(encoding="utf-8"))
KINDS = r"(Theorem|Lemma|Proposition|Corollary|Condition|Definition) "


def missing(table, numbered):
    """The numbers of a paper that a table does not contain exactly once, or that do not exist."""
    names = Counter(item.name for item in table)
    wanted = [*numbered["items"], *(f"Figure {number}" for number in numbered["figures"])]
    equations = Counter(number for item in table for number in item.numbers)
    wrong = [name for name in wanted if names[name] != 1]
    wrong += [f"({number})" for number in range(1, numbered["equations"] + 1) if equations[number] != 1]
    return wrong + [f"({number})" for number in equations if number > numbered["equations"]]


def test_numbered_papers_exist():
    assert set(NUMBERED) <= set(PAPERS) and len(NUMBERED) > 3


@pytest.mark.parametrize("paper", NUMBERED)
def test_every_numbered_item_is_in_the_table_once(paper):
    assert missing(items(paper), NUMBERED[paper]) == []
    invented = [item.name for item in items(paper) if re.match(KINDS, item.name)]
    assert set(invented) <= set(NUMBERED[paper]["items"])


def test_missing_and_duplicate_items_are_detected():
    paper = NUMBERED["min2021"]
    table = items("min2021")
    assert missing(table[:2] + table[3:], paper)[:2] == ["Theorem 1", "(10)"]
    assert missing((*table, Item("Lemma 1", "again")), paper) == ["Lemma 1"]
    assert missing((*table, Item("More", "beyond", "45")), paper) == ["(45)"]


@pytest.mark.parametrize("paper", PAPERS)
def test_everything_named_in_the_table_exists(paper):
    known = {each.key for each in theorems()}
    drawn = {each.key for each in figures()}
    assert [name for item in items(paper) for name in item.theorems if f"{paper}/{name}" not in known] == []
    assert [name for item in items(paper) for name in item.figures if f"{paper}/{name}" not in drawn] == []
    files = {path.name: path for path in TESTS.rglob("test_*.py")}
    for test in (test for item in items(paper) for test in item.tests):
        file, _, name = test.partition("::")
        assert file in files
        tree = ast.parse(files[file].read_text(encoding="utf-8"))
        assert not name or name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("paper", PAPERS)
def test_every_item_is_covered_or_gives_a_reason(paper):
    table = items(paper)
    assert [i.name for i in table if not (i.theorems or i.figures or i.tests or i.why)] == []


@pytest.mark.parametrize("paper", PAPERS)
def test_every_theorem_belongs_to_an_item(paper):
    named = {name for item in items(paper) for name in item.theorems}
    assert {each.key.partition("/")[2] for each in theorems() if each.key.startswith(f"{paper}/")} <= named
