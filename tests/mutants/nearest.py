"""The order of test files for a mutant: those that import its module, have a similar name, or are close."""

from __future__ import annotations

import ast
import re
from pathlib import Path

_NAMED, _ALIKE = 4.0, 3.0  # points of a test file; a common folder counts 2
_RECORDS = {"papers": "tests/papers/test_recorded_verdicts.py"}  # tests that cover most of a folder
_IMPORTER = 0.3  # share of the points for a test close to an importing file


def order(root: Path, file: str) -> list[str]:
    """Test files by relevance for a source file, given relative to src/tacit."""
    tests = sorted(path.relative_to(root).as_posix() for path in (root / "tests").rglob("test_*.py"))
    tests = [test for test in tests if not test.startswith(("tests/faults", "tests/mutants"))]
    importers = _importers(root, file)
    return sorted(tests, key=lambda test: (-_points(root, file, importers, test), test))


def _points(root: Path, file: str, importers: list[str], test: str) -> float:
    text = (root / test).read_text(encoding="utf-8")
    near = max([_near(file, test), *(_IMPORTER * _near(each, test) for each in importers)])
    name = _dotted(file)
    named = re.search(rf"\b{re.escape(name)}\b", text) or name in _imported(text)
    return near + _NAMED * bool(named or _RECORDS.get(Path(file).parts[0]) == test)


def _near(file: str, test: str) -> float:
    """Points for common folders and names."""
    there, here = Path(file), Path(test).relative_to("tests")
    shared = 0
    for one, other in zip(there.parent.parts, here.parent.parts, strict=False):
        if one != other:
            break
        shared += 1
    words = set(re.split(r"[_\d]+", here.stem)) - {"test", ""}
    alike = any(word.rstrip("s") in there.stem for word in words if len(word) > 3)
    return 2.0 * shared + _ALIKE * (alike and (shared > 0 or not there.parent.parts))


def _dotted(file: str) -> str:
    return "tacit." + file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def _importers(root: Path, file: str) -> list[str]:
    """Source files that import the module."""
    name, package = _dotted(file), root / "src" / "tacit"
    found = []
    for path in sorted(package.rglob("*.py")):
        if name in _imported(path.read_text(encoding="utf-8")):
            found.append(path.relative_to(package).as_posix())
    return found


def _imported(text: str) -> set[str]:
    """The modules and names that a file imports, by full name."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{each.name}" for each in node.names)}
    return found
