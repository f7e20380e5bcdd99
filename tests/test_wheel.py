"""The wheel that users install, built from these sources, in an environment without them."""

import os
import subprocess
import sys
import tempfile
import zipfile
from importlib.metadata import distributions
from pathlib import Path

import pages
import pytest

import tacit

pytestmark = pytest.mark.any_cpu

SOURCES = pages.ROOT / "src" / "tacit"
DATA = {  # parts of the report that are not computed
    *(f"tacit/report/networks/woodworth2020/{name}.json" for name in ("fig6c", "fig6d", "fig8")),
    *(f"tacit/report/networks/woodworth2020/{name}.png" for name in ("fig6c", "fig6d", "fig8")),
}


@pytest.fixture
def folder():
    """A temporary folder, which is removed afterwards because an environment has hundreds of megabytes."""
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


def run(*command, cwd):
    """The output of a command that runs outside the source tree, without a path to it."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(each) for each in command], cwd=cwd, env=outside, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def built(folder):
    """The wheel, built by pip; skips the test if the build requirements are not available."""
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
    probe = [*pip, "download", "--no-deps", "--dest", str(folder / "probe"), "hatchling"]
    if subprocess.run(probe, capture_output=True).returncode:
        pytest.skip("no package index can be reached: pip cannot download hatchling, which builds the wheel")
    run(*pip, "wheel", pages.ROOT, "--no-deps", "--wheel-dir", folder / "wheel", cwd=folder)
    (wheel,) = (folder / "wheel").glob("tacit-*.whl")
    return wheel


@pytest.mark.thorough
def test_the_wheel_has_every_module_and_what_the_report_shows(folder):
    files = {path.relative_to(SOURCES.parent).as_posix() for path in SOURCES.rglob("*") if path.is_file()}
    files = {name for name in files if "__pycache__" not in name}
    with zipfile.ZipFile(built(folder)) as wheel:
        packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
        assert packed == files | DATA
        for name in DATA:
            source = pages.ROOT / "docs" / name.removeprefix("tacit/report/")
            assert wheel.read(name) == source.read_bytes()


@pytest.mark.thorough
def test_it_works_in_an_environment_of_its_own(folder):
    """With the versions of this environment, and with the core alone, without extras and tools."""
    wheel, home = built(folder), folder / "environment"
    constraints = folder / "constraints.txt"
    known = {each.name: each.version for each in distributions() if each.name.lower() != "tacit"}
    constraints.write_text("\n".join(f"{name}=={number}" for name, number in known.items()))
    run(sys.executable, "-m", "venv", home, cwd=folder)
    programs = home / ("Scripts" if os.name == "nt" else "bin")
    python = programs / "python"
    run(python, "-m", "pip", "--quiet", "install", "--constraint", constraints, wheel, cwd=folder)
    where = run(python, "-c", "import tacit; print(tacit.__file__)", cwd=folder).strip()
    assert Path(where).resolve().is_relative_to(home.resolve())
    assert tacit.__version__ in run(programs / "tacit", "--version", cwd=folder)
    assert "--out" in run(programs / "tacit", "report", "--help", cwd=folder)
    assert "Printed" in run(
        python, "-c", "from tacit.papers.pages import errata_page; print(errata_page())", cwd=folder
    )
    printed = run(programs / "tacit", "demo", cwd=folder)
    assert "43 of 43 limits certified" in printed
    installed = run(python, "-m", "pip", "list", "--format", "freeze", cwd=folder).lower()
    for extra in ("jax", "torch", "scikit-learn", "sympy", "pyarrow", "openpyxl"):
        assert f"{extra}==" not in installed
    script = pages.ROOT / "tests" / "support" / "core_use.py"
    (folder / "core").mkdir()
    assert "core: done" in run(python, script, folder / "core", cwd=folder)
    assert (folder / "tacit-output" / "demo.png").stat().st_size > 10_000
