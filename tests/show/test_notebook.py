"""A notebook with every public function: each cell shows one table or one picture, and nothing else."""

import re

import pytest

import tacit

nbformat = pytest.importorskip("nbformat", reason="needs nbconvert and ipykernel")
nbconvert = pytest.importorskip("nbconvert.preprocessors", reason="needs nbconvert and ipykernel")
pytest.importorskip("ipykernel", reason="needs nbconvert and ipykernel")
pytestmark = [pytest.mark.any_cpu, pytest.mark.thorough]

SETUP = """
import numpy as np, tacit
rng = np.random.default_rng(0)
X = rng.standard_normal((20, 60)); y = X[:, :3] @ [1.0, -2.0, 0.5]; labels = np.sign(y)
start = tacit.Diagonal(scale=0.1)
def network():
    return tacit.Network(lambda w, X: X @ w["v"] ** 2, {"v": np.full(60, 0.3)})
"""
VERBS = {
    "limit": "tacit.limit(start, X, y)",
    "limits": "tacit.limits([start, tacit.Diagonal(3)], X, y)",
    "flow": "tacit.flow(start, X, y)",
    "max_margin": 'tacit.max_margin(X, labels, "l1")',
    "margin_path": "tacit.margin_path(X, labels, np.geomspace(10, 1e-3, 20))",
    "margin_paths": "tacit.margin_paths(X, labels, [3.0, 1.0])",
    "sweeping_path": "tacit.sweeping_path(X, labels, np.geomspace(10, 1e-2, 5))",
    "support_stability": "tacit.support_stability(X, labels)",
    "certify": "tacit.certify(start, X, y, np.ones(60))",
    "regime": "tacit.regime(start, X, y)",
    "descend": "tacit.descend(start, X, y, tacit.Training(step=0.02))",
    "audit": 'tacit.audit(tuple(start.start(60).values()), X)',
    "saddle_path": "tacit.saddle_path(X, y)",
    "decay_path": "tacit.decay_path(tacit.Diagonal(scale=3.0), X, y, 0.1)",
    "explain": "tacit.explain(X, y, np.linalg.pinv(X) @ y)",
    "risk": "tacit.risk(start, np.repeat([1.0, 0.0], [5, 95]), 0.5, 40, draws=3)",
    "check": "tacit.check(start, X, y)",
    "derive": "tacit.derive(lambda t: t[:2] ** 2 - t[2:] ** 2, [1.0, 0.5, 0.7, 0.2])",
    "probe": "tacit.probe(network(), X, y)",
}  # fmt: skip
WITHOUT_PICTURE = {"support_stability", "regime"}
OTHER = {  # public functions whose values are not results
    "closed_form": (
        "import sympy; a, b = sympy.symbols('a b', positive=True)\n"
        "tacit.closed_form([a**2 - b**2], [a, b], [1, 1])"
    ),
    "sweep": "tacit.sweep(lambda scale, seed: {'value': scale}, {'scale': [1.0, 2.0]})",
}
NOT_SHOWN = {"model", "observed", "prepare"}  # they make arguments of other functions


def test_every_public_function_is_in_the_notebook():
    public = {name for name in tacit.__all__ if callable(getattr(tacit, name)) and name[0].islower()}
    assert public - NOT_SHOWN - {"losses", "potentials", "explore"} <= VERBS.keys() | OTHER.keys()


def executed(cells, preamble=""):
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(cell) for cell in (preamble + SETUP, *cells)]
    nbconvert.ExecutePreprocessor(timeout=300, kernel_name="python3").preprocess(notebook)
    assert not notebook.cells[0].outputs
    return [cell.outputs for cell in notebook.cells[1:]]


def check_output(outputs, kinds, cell):
    """One output for each expected kind, with little text beside it; no stream and no warning.

    A computation of more than a second leaves the output of its progress bar, which is empty.
    """
    assert [each.output_type for each in outputs if each.output_type == "stream"] == [], (cell, outputs)
    visible = [each for each in outputs if each.data.get("text/html") != ""]
    assert len(outputs) - len(visible) <= 1, cell
    found = [next((kind for kind in ("image/png", "text/html", "text/latex") if kind in each.data), None)
             for each in visible]  # fmt: skip
    assert found == kinds, cell
    for each in outputs:
        assert len(each.data["text/plain"]) < 600, cell
        assert len(each.data.get("image/png", "")) <= 80_000 * 4 / 3 + 4, cell


@pytest.mark.parametrize("preamble", ["", "import matplotlib.pyplot as plt\n"])
def test_every_result_is_shown_once_as_a_table_and_once_as_a_picture(preamble):
    cells, kinds = [], []
    for name, call in VERBS.items():
        cells.append(f"r = {call}\nr")
        kinds.append(["text/html"])
        if name not in WITHOUT_PICTURE:
            cells += ["r.plot()", "figure = r.plot()"]
            kinds += [["image/png"], ["image/png"]]
    cells += list(OTHER.values())
    kinds += [["text/latex"], ["text/html"]]
    cells.append("for scale in (0.1, 1.0): tacit.limit(tacit.Diagonal(scale=scale), X, y).plot()")
    kinds.append(["image/png"] * 2)
    for cell, outputs, wanted in zip(cells, executed(cells, preamble), kinds, strict=True):
        check_output(outputs, wanted, cell)


def test_axes_of_pyplot_are_shown_once():
    """By pyplot, which owns the figure; plot returns the axes, whose representation is one line."""
    cell = "fig, axes = plt.subplots(1, 2)\n_ = tacit.limit(start, X, y).plot(ax=axes)"
    (outputs,) = executed([cell], "import matplotlib.pyplot as plt\n")
    check_output(outputs, ["image/png"], cell)


def test_progress_disappears():
    """A computation of more than a second shows a bar, of which nothing remains."""
    cell = (
        "from tacit.show.progress import progress; import time\n"
        "for _ in progress(range(30), 'steps'): time.sleep(0.1)"
    )
    (outputs,) = executed([cell])
    assert len(outputs) == 1 and outputs[0].output_type == "display_data"
    assert re.sub("<[^>]*>", "", outputs[0].data["text/html"]) == "" == outputs[0].data["text/plain"]
