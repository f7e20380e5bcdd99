"""Marks every test as the tiers say; sketches for pictures; processes of a run share what JAX compiles."""

import os
import shutil
import tempfile
from collections import Counter
from pathlib import Path

import properties
import pytest
import tiers

_COMPILED = "JAX_COMPILATION_CACHE_DIR"
_SKETCH = Path(tiers.__file__).with_name("sketch.mplstyle")


def pytest_configure(config):
    properties.every_day = "not thorough" in config.option.markexpr
    if _COMPILED not in os.environ:  # in workers and the programs that tests start it is there
        config.compiled = os.environ[_COMPILED] = tempfile.mkdtemp(prefix="tacit-compiled-")
        os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
        os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"


def pytest_unconfigure(config):
    """What JAX has compiled is shared by all processes of a run, and gone after it."""
    if hasattr(config, "compiled"):
        shutil.rmtree(config.compiled, ignore_errors=True)
        del os.environ[_COMPILED]


def pytest_collection_modifyitems(items):
    seen = Counter()
    for item in items:
        name, _, case = item.name.partition("[")
        family = f"{item.path.name}::{name}"
        if tiers.is_numerical(item.path.name):
            item.add_marker(pytest.mark.numerical)
        if tiers.is_thorough(family, seen[family], case.removesuffix("]")):
            item.add_marker(pytest.mark.thorough)
        seen[family] += 1


@pytest.fixture(autouse=True)
def sketches(request, monkeypatch):
    """Laying out a picture takes longer than drawing it: that is left out where its looks do not count."""
    if not tiers.has_pictures(request.path, request.node.name.partition("[")[0]):
        monkeypatch.setattr("tacit.show.figures.STYLE", _SKETCH)
        monkeypatch.setattr("tacit.show.figures._lay_out", lambda figure: None)
