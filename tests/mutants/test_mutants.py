"""The tool for mutants: the places that it mutates or ignores, and the order of tests."""

import json
import os
import subprocess
import sys
import textwrap

import pytest
from nearest import order

pytest.importorskip("cosmic_ray", reason="needs cosmic-ray: make mutants")
from mutants import ROOT, _around, lines_of
from sites import sites

pytestmark = pytest.mark.any_cpu

SOURCE = textwrap.dedent('''
    """Text of 3 words."""

    LIMIT = 3.0


    @dataclass(frozen=True)
    class Thing:
        size: int = 5

        def value(self, x, more=2):
            """x > 0"""
            return np.abs(x[0] - self.size) + 1 if x > LIMIT else -x
''').lstrip()


def test_every_kind_of_place_is_mutated_and_no_constant(tmp_path):
    (tmp_path / "thing.py").write_text(SOURCE)
    texts = [each.mutated(SOURCE) for each in sites(tmp_path, "thing.py")]
    lines = {lines_of(SOURCE, text)[1] for text in texts if text}
    for part in ("abs(x[0] + self", "n (x[0] - self.size) + 1", "+ 2 if", "x >= LIMIT", "+x", "if not x >"):
        assert any(part in line for line in lines), part
    assert all(line.startswith("return") for line in lines)


def test_functions_are_those_around_a_line():
    assert _around(SOURCE, 12) == ["Thing.value"]
    assert _around(SOURCE, 3) == []


def test_the_nearest_tests_name_the_module_or_are_named_like_it():
    assert (
        order(ROOT, "solvers/interpolation/layered.py")[0]
        == "tests/solvers/interpolation/test_limit_layered.py"
    )
    assert order(ROOT, "losses.py")[0] == "tests/test_losses.py"
    assert "tests/papers/test_metric.py" in order(ROOT, "papers/agreement.py")[:2]


def test_tests_with_many_cases_are_counted_before_some_are_chosen(tmp_path):
    """If every second of four cases runs by default, the third does, for any selection."""
    (tmp_path / "conftest.py").write_text(
        "def pytest_collection_modifyitems(items):\n"
        "    for number, item in enumerate(items):\n"
        "        if number % 2:\n"
        "            item.add_marker('thorough')\n"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = thorough\n")
    (tmp_path / "test_it.py").write_text(
        "import pytest\n@pytest.mark.parametrize('n', range(4))\ndef test_it(n):\n    assert n != 2\n"
    )
    env = os.environ | {"PYTHONPATH": str(ROOT / "tests" / "mutants")}
    command = [sys.executable, "-m", "pytest", "-p", "chosen", "-m", "not thorough", "test_it.py"]
    for chosen, status in (
        (["test_it.py::test_it[0]", "test_it.py::test_it[2]"], 1),
        (["test_it.py::test_it[0]"], 0),
    ):
        env["TACIT_CHOSEN"] = json.dumps(chosen)
        assert subprocess.run(command, cwd=tmp_path, env=env, capture_output=True).returncode == status


def test_calls_of_an_import_belong_to_every_test_of_the_file(tmp_path):
    """Cases that a file makes when it is imported are noticed only if its tests run."""
    package = tmp_path / "src" / "tacit"
    package.mkdir(parents=True)
    source = "def twice(x):\n    return 2 * x\n\n\ndef half(x):\n    return x / 2\n"
    (package / "__init__.py").write_text(source)
    (tmp_path / "test_it.py").write_text(
        "import tacit\n\nCASES = [tacit.twice(1)]\n\n\ndef test_it():\n    assert CASES == [2]\n"
    )
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "tests" / "mutants"), str(package.parent)])}
    env["TACIT_CALLED"] = str(tmp_path / "called.json")
    command = [sys.executable, "-m", "pytest", "-p", "called", "-p", "no:cacheprovider", "test_it.py"]
    assert subprocess.run(command, cwd=tmp_path, env=env, capture_output=True).returncode == 0
    calls = json.loads((tmp_path / "called.json").read_text())["test_it.py::test_it"]["calls"]
    assert "__init__.py:twice" in calls
    assert "__init__.py:half" not in calls
