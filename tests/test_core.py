"""The core works with its dependencies only, and errors name the packages that other features need."""

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, packages_distributions, requires

import pages
import pytest

pytestmark = pytest.mark.any_cpu

PROJECT = tomllib.loads((pages.ROOT / "pyproject.toml").read_text())["project"]
CORE = {"numpy", "scipy", "array-api-compat", "pandas", "xarray", "matplotlib", "rich", "markdown-it-py"}
SCRIPT = pages.ROOT / "tests" / "support" / "core_use.py"


def name_of(requirement):
    return re.match(r"[\w.-]+", requirement)[0].lower().replace("_", "-").replace(".", "-")


def with_what_they_need(names):
    """These distributions and, recursively, their requirements."""
    found, left = set(), list(names)
    while left:
        name = left.pop()
        if name in found:
            continue
        found.add(name)
        try:
            left += [name_of(each) for each in requires(name) or () if "extra ==" not in each]
        except PackageNotFoundError:  # required on other systems or Python versions only
            continue
    return found


def beyond(names):
    """Installed modules that belong neither to these distributions nor to Python."""
    allowed = with_what_they_need(names)
    return sorted(
        module
        for module, distributions in packages_distributions().items()
        if not any(name_of(each) in allowed | {"tacit"} for each in distributions)
        and module not in sys.stdlib_module_names
    )


def test_the_core_depends_on_eight_packages():
    assert {name_of(each) for each in PROJECT["dependencies"]} == CORE


def test_the_core_works_with_nothing_else_installed(tmp_path):
    """In a process that cannot import other packages; `test_wheel.py` uses a separate environment."""
    blocked = beyond(CORE)
    assert {"jax", "pyarrow", "openpyxl", "sklearn", "sympy", "pytest"} <= set(blocked)
    ran = subprocess.run(
        [sys.executable, str(SCRIPT), str(tmp_path), *blocked],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(pages.ROOT / "src"), "MPLCONFIGDIR": str(tmp_path)},
        check=False,
    )
    assert ran.returncode == 0 and ran.stdout.endswith("core: done\n"), ran.stdout[-500:] + ran.stderr[-3000:]
    refused = [line for line in ran.stderr.splitlines() if "not installed" in line]
    for needs in (
        "table.parquet needs pyarrow",
        "table.xlsx needs openpyxl",
        "fig7.*needs JAX",
        "scikit-learn",
    ):
        assert any(re.search(needs, line) for line in refused), (needs, ran.stderr)
    assert "Traceback" not in ran.stderr


def test_what_is_told_to_install_is_what_extras_install():
    from tacit.packages import _NAMES

    extras = PROJECT["optional-dependencies"]
    told = {requirement for _, requirement in _NAMES.values()}
    names = ("jax", "torch", "estimators", "tables", "symbolic", "cluster", "completion")
    assert told == {each for name in names for each in extras[name]}
