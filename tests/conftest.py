"""Markers that follow from others, quick pictures, and a compilation cache of JAX shared by processes."""

import os
import shutil
import tempfile
from collections import Counter
from pathlib import Path

import properties
import pytest

_COMPILED = "JAX_COMPILATION_CACHE_DIR"
_SKETCH = Path(__file__).parent / "support" / "sketch.mplstyle"


def pytest_configure(config):
    properties.every_day = "not thorough" in config.option.markexpr
    if _COMPILED not in os.environ:  # already set in workers and in programs started by tests
        config.compiled = os.environ[_COMPILED] = tempfile.mkdtemp(prefix="tacit-compiled-")
        os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
        os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"


def pytest_unconfigure(config):
    """Delete the compilation cache of JAX, which all processes of a run share."""
    if hasattr(config, "compiled"):
        shutil.rmtree(config.compiled, ignore_errors=True)
        del os.environ[_COMPILED]


def pytest_collection_modifyitems(items):
    """Mark cases that `every(k)` skips as thorough, and tests that are not marked `any_cpu` as numerical."""
    seen = Counter()
    for item in items:
        family, _, case = item.nodeid.partition("[")
        every, thorough = item.get_closest_marker("every"), item.get_closest_marker("thorough_cases")
        left_out = every is not None and seen[family] % every.args[0]
        if left_out or (thorough is not None and case.removesuffix("]") in thorough.args):
            item.add_marker(pytest.mark.thorough)
        if item.get_closest_marker("any_cpu") is None:
            item.add_marker(pytest.mark.numerical)
        seen[family] += 1


@pytest.fixture(autouse=True)
def sketches(request, monkeypatch):
    """Skip the layout of pictures, which takes longer than drawing, unless a test checks it."""
    drawn_in_full = "papers" in request.path.parts or request.node.get_closest_marker("pictures") is not None
    if not drawn_in_full:
        monkeypatch.setattr("tacit.show.style.STYLE", _SKETCH)
        monkeypatch.setattr("tacit.show.figures._lay_out", lambda figure: None)
