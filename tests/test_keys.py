"""Figures and theorems are found by reading the folder of their paper, and nothing else is imported."""

import json
import re
import subprocess
import sys
from importlib import invalidate_caches

import numpy as np
import pytest

import tacit
import tacit.papers
from tacit.cli import main
from tacit.papers import catalogue, figure, figures, theorem
from tacit.papers.reproduction import _FIGURES
from tacit.papers.statements import _THEOREMS
from tacit.theorems import check, theorems

pytestmark = pytest.mark.any_cpu

PAPER = '"""A new paper."""\n\nTITLE = "Guest 2030, A New Paper"\nARXIV = "3001.00001"\n'
FIGURE = '''"""A figure of a guest."""

import xarray as xr

from tacit.papers import at_most, figure


@figure("guest2030/fig1", quick={"points": 3}, paper={"points": 9})
class Line:
    """A straight line (Figure 1)."""

    def data(self, points, *, seed, progress):
        return xr.Dataset({"y": ("x", [float(k) for k in range(points)])})

    def draw(self, data, ax):
        ax.plot(data.y)

    def claims(self, data):
        yield at_most(2.0).claim("the line ends at", float(data.y[-1]))
'''
THEOREM = '''"""A statement of a guest."""

from tacit.papers import Assumption, Bound, theorem


@theorem("guest2030/theorem1", "Samples have a length.")
def theorem1(model, X, y):
    yield Assumption("there are samples", len(X) > 0)
    yield Bound("squared length of the first", float(X[0] @ X[0]), at_least=0.0)
'''


def forget():
    """What was found and imported."""
    catalogue.papers.cache_clear()
    catalogue._modules_by_key.cache_clear()
    for kept in (sys.modules, _FIGURES.registered, _THEOREMS.registered):
        for name in [name for name in kept if "guest2030" in name]:
            del kept[name]


@pytest.fixture
def guest(tmp_path, monkeypatch):
    """Write a module of a fictitious paper beside those of Tacit, and remove it afterwards."""
    monkeypatch.setattr(tacit.papers, "__path__", [*tacit.papers.__path__, str(tmp_path / "papers")])
    monkeypatch.setattr(tacit.papers, "guest2030", None, raising=False)  # undo the effects of the import

    def write(name, content):
        file = tmp_path / "papers" / "guest2030" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="utf-8")
        invalidate_caches()
        forget()

    write("__init__", PAPER)
    yield write
    monkeypatch.undo()
    forget()


def test_a_new_paper_is_one_folder_and_no_edit(guest, tmp_path, capsys):
    guest("figure1", FIGURE)
    guest("theorem1", THEOREM)
    assert main(["reproduce", "guest2030/fig1", "--out", str(tmp_path / "out")]) == 0
    assert "holds  the line ends at: 2 (at most 2)" in capsys.readouterr().out
    assert json.loads((tmp_path / "out/guest2030/fig1.json").read_text())["parameters"] == {"points": 3}
    assert main(["reproduce", "list"]) == 0
    listing = capsys.readouterr().out
    assert "\n\nGuest 2030, A New Paper\n  guest2030/fig1  A straight line\n" in listing
    X, y = np.array([[3.0, 4.0]]), np.ones(1)
    assert check("guest2030/theorem1", tacit.Diagonal(), X, y).bounds[0].measured == 25
    np.savez(tmp_path / "data.npz", X=X, y=y)
    assert main(["check", str(tmp_path / "data.npz"), "--only", "guest2030"]) == 0
    assert "1 of 1 theorem applies, and holds" in capsys.readouterr().out
    assert "guest2030/theorem1" in [each.key for each in theorems()]
    with pytest.raises(SystemExit, match="0"):
        main(["check", "--list"])
    assert "Guest 2030, A New Paper\n  guest2030/theorem1" in capsys.readouterr().out


def test_another_figure_is_one_file(guest):
    guest("figure1", FIGURE)
    guest("figure2", FIGURE.replace("fig1", "fig2"))
    assert [entry.key for entry in figures("guest2030")] == ["guest2030/fig1", "guest2030/fig2"]


def test_a_paper_may_have_figures_or_theorems_only(guest, capsys):
    assert main(["reproduce", "list"]) == 0
    assert "guest2030" not in capsys.readouterr().out
    assert [each.key for each in theorems() if each.key.startswith("guest2030")] == []


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            THEOREM,
            "guest2030.theorem9 registers the theorem guest2030/theorem1, but .*theorem1 already does",
        ),
        (
            THEOREM.replace("guest2030/", "min2021/"),
            "registers the theorem min2021/theorem1; keys in ",
        ),
    ],
)
def test_a_key_that_is_taken_or_of_another_paper_is_an_error(guest, content, words):
    guest("theorem1", THEOREM)
    guest("theorem9", content)
    with pytest.raises(tacit.InputError, match=words):
        theorems()


def test_a_key_that_reading_does_not_find_is_an_error(guest):
    guest("theorem1", THEOREM.replace('"guest2030/theorem1"', '"guest2030/" + "theorem1"'))
    with pytest.raises(tacit.InputError, match="is not found by reading it: write @theorem"):
        __import__("tacit.papers.guest2030.theorem1")


def test_a_key_of_a_paper_is_not_taken_by_others():
    with pytest.raises(tacit.InputError, match="already a theorem 'min2021/lemma1'"):
        theorem("min2021/lemma1", "")(lambda model: iter(()))
    with pytest.raises(tacit.InputError, match="already a figure 'min2021/fig1'"):
        figure("min2021/fig1", quick={}, paper={})(type("Mine", (), {}))


@pytest.mark.parametrize("key", [entry.key for entry in figures()])
def test_a_figure_is_where_one_looks_for_it(key):
    """Figure 1c is in figure1….py, and figures that the paper does not have are in figure_….py."""
    file, number = _FIGURES.module_of(key).rpartition(".")[2], re.search(r"/fig([\d.]+)", key)
    numbers = re.findall(r"\d+", file)
    assert file.startswith("figure" if number else "figure_")
    assert not number or set(number[1].split(".")) <= set(numbers)


@pytest.mark.parametrize("key", [each.key for each in theorems() if re.search("/theorem[0-9]", each.key)])
def test_a_theorem_is_where_one_looks_for_it(key):
    file = _THEOREMS.module_of(key).rpartition(".")[2]
    assert file.startswith("theorem") and re.search(r"theorem(\d+)", key)[1] in re.findall(r"\d+", file)


LOOK = """
import json, sys
from tacit.cli import main
from tacit.papers.reproduction import _FIGURES
from tacit.papers.statements import _THEOREMS

def new():
    found = sorted(name for name in sys.modules if name.startswith("tacit.papers.") and "20" in name)
    return [name for name in found if name not in seen and not seen.add(name)]

seen, kinds = set(), {"figures": _FIGURES, "theorems": _THEOREMS}
assert main(["reproduce", "woodworth2020/fig2", "--out", sys.argv[1], "--json", "-"]) == 0
imported = {"reproduce": new()}
for kind, key in json.loads(sys.argv[2]):
    kinds[kind][key]
    imported[f"{kind} {key}"] = new()
print(json.dumps(imported), file=sys.stderr)
"""


def test_one_figure_or_theorem_imports_no_other(tmp_path):
    """Only these packages of papers, which contain titles and items, are imported."""
    asked = [("figures", entry.key) for entry in figures()] + [("theorems", each.key) for each in theorems()]
    code = [sys.executable, "-c", LOOK, str(tmp_path), json.dumps(asked)]
    run = subprocess.run(code, capture_output=True, text=True, check=True)
    imported = json.loads(run.stderr)
    modules = [name for name in imported["reproduce"] if name.count(".") == 3]
    assert modules == [f"tacit.papers.woodworth2020.{name}" for name in ("figure2_3", "recovery")]
    kinds = {"figures": _FIGURES, "theorems": _THEOREMS}
    homes = {f"{kind} {key}": kinds[kind].module_of(key) for kind, key in asked}
    for asked_for, home in homes.items():
        others = set(imported[asked_for]) & (set(homes.values()) - {home})
        assert others == set(), f"{asked_for} imports {others}"


def test_looking_for_keys_imports_no_module_of_a_paper():
    code = (
        "import sys; from tacit.papers import catalogue, reproduction, statements\n"
        "assert len(reproduction._FIGURES.known()) > 40 and len(statements._THEOREMS.known()) > 60\n"
        "print([name for name in sys.modules if name.startswith('tacit.papers.') and name.count('.') > 2])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
