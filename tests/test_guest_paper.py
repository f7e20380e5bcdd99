"""A paper in another package is listed, checked, reproduced, reported and documented."""

import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import tacit
from tacit.cli import main
from tacit.papers import catalogue, figures, pages
from tacit.papers.completed import finished
from tacit.papers.reproduction import _FIGURES
from tacit.papers.statements import _THEOREMS
from tacit.report import Shown, page

PROJECT = Path(__file__).parent / "support" / "guest_paper"
X, Y = np.random.default_rng(1).standard_normal((3, 8)), np.arange(1.0, 4.0)


def installed(folder, package="guest2030"):
    """The package in a folder, with the metadata that an installer would write from its pyproject.toml."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    info = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    points = project["entry-points"]["tacit.papers"]
    lines = [f"{key} = {package if value == 'guest2030' else value}" for key, value in points.items()]
    (info / "entry_points.txt").write_text("\n".join(["[tacit.papers]", *lines, ""]))
    shutil.copytree(PROJECT / "guest2030", folder / "guest2030")
    return folder


def forget():
    """The papers that were found, and the modules that were imported."""
    for each in (catalogue.papers, catalogue._modules_by_key, pages.errata, pages.remarks):
        each.cache_clear()
    for kept in (sys.modules, _FIGURES.registered, _THEOREMS.registered):
        for name in [name for name in kept if name.startswith("guest2030")]:
            del kept[name]


@pytest.fixture
def guest(tmp_path, monkeypatch):
    """The folder in which it is installed."""
    folder = installed(tmp_path / "site")
    monkeypatch.syspath_prepend(folder)
    forget()
    yield folder
    forget()


@pytest.fixture
def table(tmp_path):
    np.savez(tmp_path / "data.npz", X=X, y=Y)
    return str(tmp_path / "data.npz")


def test_it_is_listed_after_those_of_tacit(guest, capsys):
    assert list(catalogue.papers())[-1] == "guest2030" and len(catalogue.papers()) > 4
    assert main(["reproduce", "list"]) == 0
    assert capsys.readouterr().out.endswith(
        "\n\nGuest 2030, A New Paper\n"
        "  guest2030/fig1  Norm of the minimum-norm solution against the sample size\n"
    )
    with pytest.raises(SystemExit, match="0"):
        main(["check", "--list"])
    listing = capsys.readouterr().out
    assert "Guest 2030, A New Paper\n  guest2030/theorem1 (Theorem 1, equations 1 to 2)\n" in listing


def test_its_theorem_is_asked_with_all_others_and_alone(guest, table, capsys):
    model = tacit.Diagonal(scale=100.0)
    found = {verdict.key: verdict for verdict in tacit.check(model, X, Y)}
    assert found["guest2030/theorem1"].holds and found["guest2030/theorem1"].item == "Theorem 1"
    assert "woodworth2020/theorem1" in found
    assert tacit.theorems.check("guest2030/theorem1", model, X, Y).bounds[0].measured <= 1.01
    assert tacit.theorems.guest2030.TITLE == "Guest 2030, A New Paper"
    assert main(["check", table, "--only", "guest2030", "--scale", "100"]) == 0
    assert "1 of 1 theorem applies, and holds" in capsys.readouterr().out


def test_its_figure_is_made_and_made_again_when_its_own_source_changes(guest, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["reproduce", "guest2030", "--out", str(out)]) == 0
    assert "holds  norm over that of the truth (largest)" in capsys.readouterr().out
    assert json.loads((out / "guest2030/fig1.json").read_text())["parameters"] == {"features": 8}
    (entry,) = figures("guest2030/fig1")
    assert finished(entry, preset="quick", seed=0, out=out) is not None
    with (guest / "guest2030" / "figure1.py").open("a") as file:
        file.write("# another\n")
    from tacit.packages import source_digest

    source_digest.cache_clear()
    assert finished(entry, preset="quick", seed=0, out=out) is None
    source_digest.cache_clear()


def test_it_is_reported_and_documented(guest, tmp_path):
    assert main(["reproduce", "guest2030", "--out", str(tmp_path)]) == 0
    (entry,) = figures("guest2030")
    content = json.loads((tmp_path / "guest2030/fig1.json").read_text())
    text = page([Shown(entry, content, (tmp_path / "guest2030/fig1.png").read_bytes())], "today")
    for part in (
        '<section id="guest2030"><h2>Guest 2030, A New Paper</h2>',
        'id="figure-guest2030-fig1"',
        "tacit check DATA --target COL --only guest2030/theorem1 --scale 100",
        'id="erratum-guest2030-0"',
        "it repeats Theorem 1",
    ):
        assert part in text
    items = pages.items_page()
    assert (
        "| Theorem 1 | 1 to 2 | no solution is shorter | `guest2030/theorem1`, figure `guest2030/fig1` |"
        in items
    )
    assert "| Corollary 2 | 3 | what follows | it repeats Theorem 1 |" in items
    assert "\n## Guest 2030\n\n### Theorem 1: a square\n- **Printed.**" in pages.errata_page()
    assert "| guest2030 | theorem1 | `guest2030/theorem1.py` |" in pages.theorems_table()


def test_a_process_of_its_own_finds_it_and_so_do_those_that_it_starts(guest, tmp_path):
    another = (guest / "guest2030" / "figure1.py").read_text().replace("fig1", "fig2")
    (guest / "guest2030" / "figure2.py").write_text(another)
    start = "import sys; sys.path.insert(0, sys.argv[1])"
    code = f"{start}; from tacit.cli import main; sys.exit(main(sys.argv[2:]))"
    command = ["reproduce", "guest2030", "--jobs", "2", "--out", str(tmp_path / "out")]
    run = subprocess.run([sys.executable, "-c", code, str(guest), *command], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert {path.stem for path in (tmp_path / "out" / "guest2030").iterdir()} == {"fig1", "fig2"}


def test_a_package_that_is_not_there_is_left_out_with_a_warning(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(installed(tmp_path, package="guest2029"))
    forget()
    with pytest.warns(UserWarning, match="guest-paper brings a paper in guest2029, which is not installed"):
        assert "guest2030" not in catalogue.papers()
    forget()


def test_a_paper_without_a_list_of_items_has_those_that_its_keys_name(guest):
    file = guest / "guest2030" / "__init__.py"
    file.write_text('TITLE = "Guest 2030"\n')
    forget()
    found = {item.name: item for item in pages.items("guest2030")}
    assert found["Theorem 1"].says == "The limit at a large scale is no longer than the truth."
    assert found["Figure 1"].figures == ("fig1",)


def test_an_item_that_the_paper_does_not_list_is_an_error(guest):
    file = guest / "guest2030" / "figure1.py"
    file.write_text(file.read_text().replace('about=("Theorem 1",)', 'about=("Theorem 7",)'))
    with pytest.raises(
        tacit.InputError, match="guest2030/fig1 is about Theorem 7, which ITEMS of guest2030 does"
    ):
        pages.items("guest2030")
