"""Studies in files and `tacit sweep`: the numbers of the figures, pictures, and errors that name the key."""

import json
import tomllib
from pathlib import Path

import numpy as np
import pages
import pytest

import tacit
from tacit.cli import main
from tacit.data.problems import sparse_regression
from tacit.papers import figures
from tacit.studies.study_file import read_study

pytestmark = pytest.mark.any_cpu

STUDY = """
measures = ["population_error", "regime"]
[model]
family = "untied"
[generator]
samples = 8
features = 20
nonzero = 2
[grid]
draw = 2
shape = [0.0, 0.9]
scale = {from = 1e-3, to = 10, count = 3}
"""


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(text=STUDY):
        (tmp_path / "study.toml").write_text(text)
        return tmp_path / "study.toml"

    return write


def test_the_command_gives_limits_of_the_same_problems_for_all_models(study, capsys):
    study()
    line = "sweep study.toml --executor serial --json out.json --plot out.png --store kept"
    assert main(line.split()) == 0
    out = capsys.readouterr().out
    assert "12 (2 draw × 2 shape × 3 scale)" in out and "out.png" in out
    content = json.loads(Path("out.json").read_text())
    errors = np.array(content["data_vars"]["population_error"]["data"])
    for draw in range(2):
        problem = sparse_regression(8, 20, nonzero=2, seed=draw)
        for i, shape in enumerate([0.0, 0.9]):
            for j, scale in enumerate([1e-3, 0.1, 10.0]):
                w = tacit.limit(tacit.UntiedDiagonal(scale, shape), problem.X, problem.y).predictor
                assert errors[draw, i, j] == pytest.approx(((w - problem.truth) ** 2).sum(), rel=1e-9)
    assert main([*line.split()[:4], "--store", "kept", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["data_vars"] == content["data_vars"]


@pytest.mark.thorough
def test_a_study_has_the_numbers_of_the_figure(study):
    """Figure 7.1 in the quick preset, whose code is not that of studies."""
    (entry,) = figures("azulay2021/fig7.1")
    data = entry.make().data(20, 60, 3, 3, seed=0, progress=lambda items, _: items)
    grid = "draw = 1\nshape = {from = 0, to = 0.99999, count = 3, spacing = 'near_one'}\n"
    text = STUDY.replace("samples = 8\nfeatures = 20\nnonzero = 2", "samples = 20\nfeatures = 60")
    text = text[: text.index("draw = 2")] + grid + "scale = {from = 1e-8, to = 1, count = 3}\n"
    found = read_study(study(text))
    errors = tacit.sweep(found.function, found.grid, executor="serial").population_error
    np.testing.assert_allclose(errors[0], data.error, rtol=1e-6)


@pytest.mark.parametrize("name", ["recovery", "scale-and-shape"])
def test_examples_run_in_small_and_are_drawn(name, study, capsys):
    text = (pages.ROOT / "examples" / f"{name}.toml").read_text(encoding="utf-8")
    sizes = tomllib.loads(text)["grid"]
    assert np.prod([each["count"] for each in sizes.values() if isinstance(each, dict)]) >= 36
    for old, new in (
        ("count = 36", "count = 3"),
        ("count = 50", "count = 3"),
        ("1000", "60"),
        ("= 100\n", "= 20\n"),
    ):
        text = text.replace(old, new)
    text = text.replace("draw = 5", "draw = 1").replace("draw = 10", "draw = 1")
    start, end = text.find("samples = ["), text.find("]", text.find("samples = ["))
    text = text if start < 0 else f"{text[:start]}samples = [10, 30{text[end:]}"
    study(text)
    assert main(["sweep", "study.toml", "--executor", "serial", "--plot", "out.png"]) == 0
    assert "out.png" in capsys.readouterr().out


def test_a_table_is_data(study, tmp_path, capsys):
    X, y = np.random.default_rng(0).standard_normal((2, 5, 12))[0], np.arange(5.0)
    np.savez(tmp_path / "table.npz", X=X, y=y)
    study(
        'measures = ["l1_norm"]\n[data]\nfile = "table.npz"\nintercept = true\n[model]\ndepth = 3\n'
        "[grid]\nscale = [0.1, 1.0]\n"
    )
    assert main(["sweep", "study.toml", "--executor", "serial", "--json", "-", "--plot", "out.png"]) == 0
    norms = json.loads(capsys.readouterr().out)["data_vars"]["l1_norm"]["data"]
    for norm, scale in zip(norms, (0.1, 1.0), strict=True):
        w = tacit.limit(tacit.Diagonal(3, scale), X, y, intercept=True).predictor
        assert norm == pytest.approx(np.abs(w).sum(), rel=1e-9)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[model]", "[modle]", "unknown key modle; did you mean model?"),
        ("samples = 8", "sampels = 8", "unknown key generator.sampels; did you mean samples?"),
        ("samples = 8", "", "generator.samples is missing"),
        ('"untied"', '"untide"', "model.family: unknown name 'untide'; did you mean untied?"),
        ('"regime"', '"regimes"', "measures: unknown name 'regimes'; did you mean regime?"),
        ("shape = [", "shap = [", "unknown key grid.shap; did you mean shape?"),
        ("shape = [0.0, 0.9]", "samples = [8]", "samples is in [grid] and in [generator]; remove one"),
        ("count = 3", "cuont = 3", "unknown key grid.scale.cuont; did you mean count?"),
        ("from = 1e-3", "from = -1", "grid.scale: from and to must be positive with spacing = 'log', got -1"),
        ("shape = [0.0, 0.9]", "shape = 0.5", "grid.shape must be a list"),
        (
            'measures = ["population_error", "regime"]',
            "",
            "measures must be a list of names: population_error",
        ),
        ("[generator]", '[data]\nfile = "x.csv"\n[generator]', "[data] (a table) or [generator]"),
        ("draw = 2", "draw = 2 2", "study.toml is not a readable TOML file"),
    ],
)
def test_errors_name_the_key_and_the_nearest_valid_one(old, new, words, study, capsys):
    assert old in STUDY
    study(STUDY.replace(old, new))
    assert main(["sweep", "study.toml"]) == 2
    err = capsys.readouterr().err
    assert words in err and err.count("\n") == 1


def test_points_that_fail_change_the_exit_status(study, capsys):
    study(STUDY.replace("[0.0, 0.9]", "[0.0, 2.0]"))
    assert main(["sweep", "study.toml", "--executor", "serial"]) == 1
    assert "at 6 points; the first: InputError: shape" in capsys.readouterr().out
