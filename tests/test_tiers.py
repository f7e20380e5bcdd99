"""The tests themselves: those that the tiers name exist, and their folders are those of the source."""

import ast
from pathlib import Path

import kernels
import pages
import pytest
import tiers

import tacit
from tacit.papers import figures

TESTS = Path(__file__).parent
FILES = {path.name: path for path in TESTS.rglob("test_*.py")}


def families():
    """Every test, as file::name, with its decorators as text."""
    for name, path in FILES.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield f"{name}::{node.name}", " ".join(map(ast.unparse, node.decorator_list))


FAMILIES = dict(families())


@pytest.mark.parametrize("table", ["WRONG_SOFTWARE", "OTHER_DRAWS", "INSTALLED", "MANY_CASES", "PICTURES"])
def test_a_tier_names_tests_that_exist(table):
    """One that was renamed would be run, or left out, unseen."""
    names = set(getattr(tiers, table))
    assert names and names <= FAMILIES.keys()


def test_of_many_cases_there_are_many():
    assert [name for name in tiers.MANY_CASES if not FAMILIES[name]] == []  # which have no decorator
    assert min(tiers.MANY_CASES.values()) >= 2


def test_long_figures_and_files_that_are_named_exist():
    assert tiers.EVERY_FIGURE in FAMILIES
    assert {entry.key for entry in figures()} >= tiers.LONG_FIGURES
    assert tiers.PAGES in FAMILIES
    assert set(pages.pages()) >= tiers.LONG_PAGES
    assert {f"{name}.py" for name in tiers.NOT_NUMERICAL} <= FILES.keys()
    assert {f"test_{name}.py" for name in kernels.TELLING} <= FILES.keys()


def test_every_file_has_a_name_of_its_own():
    """Tiers know files by their names alone."""
    assert len(FILES) == len(list(TESTS.rglob("test_*.py")))


def test_folders_are_those_of_the_source():
    source = Path(tacit.__file__).parent
    own = {Path(), Path("support"), Path("faults"), Path("mutants")}
    folders = {path.parent.relative_to(TESTS) for path in FILES.values()} - own
    assert folders and [str(folder) for folder in sorted(folders) if not (source / folder).is_dir()] == []
