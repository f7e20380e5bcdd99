"""Figures and theorems are found by key: tables and modules agree, and nothing else is imported."""

import json
import subprocess
import sys
from importlib import invalidate_caches

import numpy as np
import pytest

import tacit
import tacit.papers
import tacit.theorems
from tacit import keys
from tacit.cli import main
from tacit.papers import figure, figures
from tacit.papers.reproduction import _FIGURES
from tacit.papers.statements import _THEOREMS
from tacit.theorems import check, theorem, theorems

FIGURE = '''"""Figures of a guest."""

import xarray as xr

from tacit.papers import Claim, figure

TITLE = "Guest 2030, A New Paper"
FIGURES = {"fig1": ""}


@figure("guest2030/fig1", quick={"points": 3}, paper={"points": 9})
class Line:
    """A straight line (Figure 1)."""

    def data(self, points, *, seed, progress):
        return xr.Dataset({"y": ("x", [float(k) for k in range(points)])})

    def draw(self, data, ax):
        ax.plot(data.y)

    def claims(self, data):
        yield Claim("the line ends at", float(data.y[-1]), at_most=2.0)
'''
THEOREM = '''"""Statements of a guest."""

from tacit.theorems import Assumption, Bound, theorem

THEOREMS = {"theorem1": ""}


@theorem("guest2030/theorem1", "Samples have a length.")
def theorem1(model, X, y):
    yield Assumption("there are samples", len(X) > 0)
    yield Bound("squared length of the first", float(X[0] @ X[0]), at_least=0.0)
'''


@pytest.fixture
def guest(tmp_path, monkeypatch):
    """Write a module of a paper that is not there: beside those of Tacit, and forgotten afterwards."""
    for package in (tacit.papers, tacit.theorems):
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path / package.__name__)])
        monkeypatch.setattr(package, "guest2030", None, raising=False)  # what an import leaves is taken back

    def write(package, content, name="__init__"):
        file = tmp_path / f"tacit.{package}" / "guest2030" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
        invalidate_caches()

    yield write
    for kept in (sys.modules, _FIGURES.registered, _THEOREMS.registered):
        for name in [name for name in kept if "guest2030" in name]:
            del kept[name]


@pytest.fixture
def listed(monkeypatch):
    """The one line."""
    monkeypatch.setattr(keys, "PAPERS", (*keys.PAPERS, "guest2030"))


def test_a_new_paper_is_one_file_for_its_figure_one_for_its_theorem_and_one_line(
    guest, listed, tmp_path, capsys
):
    guest("papers", FIGURE)
    guest("theorems", THEOREM)
    assert main(["reproduce", "guest2030/fig1", "--out", str(tmp_path / "out")]) == 0
    assert "holds  the line ends at: 2 (at most 2)" in capsys.readouterr().out
    assert json.loads((tmp_path / "out/guest2030/fig1.json").read_text())["parameters"] == {"points": 3}
    assert main(["reproduce", "list"]) == 0
    listing = capsys.readouterr().out
    assert listing.endswith("\n\nGuest 2030, A New Paper\n  guest2030/fig1  A straight line\n")
    X, y = np.array([[3.0, 4.0]]), np.ones(1)
    assert check("guest2030/theorem1", tacit.Diagonal(), X, y).bounds[0].measured == 25
    np.savez(tmp_path / "data.npz", X=X, y=y)
    assert main(["check", str(tmp_path / "data.npz"), "--only", "guest2030"]) == 0
    assert "1 of 1 theorem applies, and holds" in capsys.readouterr().out
    assert "guest2030/theorem1" in [each.key for each in theorems()]
    with pytest.raises(SystemExit, match="0"):
        main(["check", "--list"])
    assert "Guest 2030, A New Paper\n  guest2030/theorem1" in capsys.readouterr().out


def test_another_figure_is_one_file_and_one_line_in_the_table_of_its_paper(guest, listed):
    guest("papers", FIGURE.replace('{"fig1": ""}', '{"fig1": "", "fig2": "figure2"}'))
    guest("papers", FIGURE.replace("fig1", "fig2"), "figure2")
    assert [entry.key for entry in figures("guest2030")] == ["guest2030/fig1", "guest2030/fig2"]


def test_a_paper_may_have_figures_or_theorems_only(guest, listed, capsys):
    guest("papers", 'TITLE = "Guest 2030"\nFIGURES = {}\n')
    assert main(["reproduce", "list"]) == 0 and "Guest" not in capsys.readouterr().out
    assert [each.key for each in theorems() if each.key.startswith("guest2030")] == []


def test_a_key_that_its_module_does_not_define_is_an_error(guest, listed):
    guest("papers", FIGURE.replace('{"fig1": ""}', '{"fig1": "", "fig2": "figure2"}'))
    guest("papers", "", "figure2")
    words = "FIGURES of tacit.papers.guest2030 has guest2030/fig2 in tacit.papers.guest2030.figure2, which"
    with pytest.raises(tacit.InputError, match=words):
        figures("guest2030/fig2")


@pytest.mark.parametrize(
    ("table", "where"), [('{"theorem2": ""}', "nowhere"), ('{"theorem1": "other"}', "in .*guest2030.other")]
)
def test_a_module_that_defines_what_its_table_has_not_is_an_error(guest, listed, table, where):
    guest("theorems", THEOREM.replace('{"theorem1": ""}', table))
    words = (
        f"^tacit.theorems.guest2030 defines the theorem guest2030/theorem1, but THEOREMS of .* has it {where}"
    )
    with pytest.raises(tacit.InputError, match=words):
        theorems()


def test_a_key_of_a_paper_is_not_taken_by_others():
    with pytest.raises(tacit.InputError, match="already a theorem 'min2021/lemma1'"):
        theorem("min2021/lemma1", "")(lambda model: iter(()))
    with pytest.raises(tacit.InputError, match="already a figure 'min2021/fig1'"):
        figure("min2021/fig1", quick={}, paper={})(type("Mine", (), {}))


LOOK = """
import json, sys
from tacit.cli import main
from tacit.papers.reproduction import _FIGURES
from tacit.papers.statements import _THEOREMS

def new():
    found = sorted(name for name in sys.modules if name.startswith(("tacit.papers.", "tacit.theorems.")))
    return [name for name in found if name not in seen and not seen.add(name)]

seen, kinds = set(), {"figures": _FIGURES, "theorems": _THEOREMS}
assert main(["reproduce", "woodworth2020/fig2", "--out", sys.argv[1], "--json", "-"]) == 0
imported = {"reproduce": new()}
for kind, key in json.loads(sys.argv[2]):
    kinds[kind][key]
    imported[f"{kind} {key}"] = new()
print(json.dumps(imported), file=sys.stderr)
"""


def test_one_figure_or_theorem_imports_no_other_and_no_other_paper(tmp_path):
    asked = [("figures", entry.key) for entry in figures()] + [("theorems", each.key) for each in theorems()]
    code = [sys.executable, "-c", LOOK, str(tmp_path), json.dumps(asked)]
    run = subprocess.run(code, capture_output=True, text=True, check=True)
    imported = json.loads(run.stderr)
    paper = [f"tacit.papers.woodworth2020{name}" for name in ("", ".figure2_regularizers", ".potentials")]
    loaded = [name for name in imported["reproduce"] if "20" in name]
    assert loaded == paper
    homes = {
        f"{kind} {key}": {"figures": _FIGURES, "theorems": _THEOREMS}[kind]._home(key) for kind, key in asked
    }
    for asked_for, home in homes.items():
        others = set(imported[asked_for]) & (set(homes.values()) - {home})
        assert others == set(), f"{asked_for} imports {others}"
