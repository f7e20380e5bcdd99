"""The programs in examples/ run as scripts, write their pictures, and use public names only."""

import ast
import importlib
import runpy
import subprocess
import sys

import numpy as np
import pages
import pandas as pd
import pytest
from matplotlib.image import imread

pytestmark = pytest.mark.any_cpu

EXAMPLES = sorted((pages.ROOT / "examples").glob("*.py"))
SHORTER = {"digits_torch": ["20"]}  # length of the training, in steps
NEEDS_TORCH = {path for path in EXAMPLES if "import torch" in path.read_text(encoding="utf-8")}


def marked(path):
    return pytest.param(path, id=path.stem, marks=[pytest.mark.torch] if path in NEEDS_TORCH else [])


@pytest.mark.parametrize("example", [marked(path) for path in EXAMPLES])
def test_it_runs_and_writes_its_picture(example, tmp_path):
    if example in NEEDS_TORCH:
        pytest.importorskip("torch", reason="needs PyTorch: make test-torch")
    command = [sys.executable, str(example), "picture.png", *SHORTER.get(example.stem, [])]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "picture: picture.png" in done.stdout
    picture = imread(tmp_path / "picture.png")[..., :3]
    # three adjacent panels, each with coloured elements (axes and text are black)
    assert picture.shape[1] > 3 * picture.shape[0]
    assert all(np.ptp(part, axis=2).max() > 0.3 for part in np.array_split(picture, 3, axis=1))


@pytest.mark.parametrize(("name", "kind"), [("genes", True), ("spectra", False)])
def test_it_takes_a_table(name, kind, tmp_path):
    targets = ["aml", "all"] if kind else [90.0, 91.5]
    table = pd.DataFrame({"900 nm": [0.1, 0.2], "y": targets, "910 nm": [3, 4]})
    table.to_csv(tmp_path / "table.csv", index=False)
    example = runpy.run_path(str(pages.ROOT / "examples" / f"{name}.py"))
    found = example["from_file"](tmp_path / "table.csv", "y")
    X, y, columns = found if kind else (found[1], found[2], found[0])
    np.testing.assert_array_equal(X, [[0.1, 3], [0.2, 4]])
    assert list(y) == targets
    assert list(columns) == (["900 nm", "910 nm"] if kind else [900.0, 910.0])


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_it_imports_what_is_public(example):
    """Modules of the reference and the names in their __all__."""
    reference = (pages.ROOT / "docs" / "reference" / "index.md").read_text(encoding="utf-8").split()
    for node in ast.walk(ast.parse(example.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            assert all(each.name == "tacit" or not each.name.startswith("tacit") for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module.startswith("tacit"):
            assert node.module in reference
            assert {each.name for each in node.names} <= set(importlib.import_module(node.module).__all__)
