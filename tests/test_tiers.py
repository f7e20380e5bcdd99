"""The tests themselves: their markers are effective, and their folders are those of the source."""

import ast
from pathlib import Path

import kernels
import pytest

import tacit

pytestmark = pytest.mark.any_cpu

TESTS = Path(__file__).parent
FILES = {path.name: path for path in TESTS.rglob("test_*.py")}


def marked_every():
    """(test, its decorators) of every test that is marked `every(k)`."""
    for name, path in FILES.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                decorators = list(map(ast.unparse, node.decorator_list))
                if any(each.startswith("pytest.mark.every(") for each in decorators):
                    yield f"{name}::{node.name}", decorators


def test_of_many_cases_there_are_many():
    """A test without parameters has a single case, which is never skipped."""
    found = dict(marked_every())
    assert len(found) > 100
    assert not [name for name, decorators in found.items() if len(decorators) < 2]


def test_files_that_kernels_name_exist():
    assert {f"test_{name}.py" for name in kernels.TELLING} <= FILES.keys()


def test_every_file_has_a_name_of_its_own():
    """pytest identifies test files by their names alone."""
    assert len(FILES) == len(list(TESTS.rglob("test_*.py")))


def test_folders_are_those_of_the_source():
    source = Path(tacit.__file__).parent
    own = {Path(), Path("support"), Path("faults"), Path("mutants")}
    folders = {path.parent.relative_to(TESTS) for path in FILES.values()} - own
    assert folders and [str(folder) for folder in sorted(folders) if not (source / folder).is_dir()] == []
