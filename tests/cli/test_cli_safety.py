"""Malicious tables, names and files on the command line."""

import csv
import io
import json
import sys
import unicodedata
import warnings
from xml.etree import ElementTree

import numpy as np
import pytest

from tacit.cli import main

pytestmark = pytest.mark.any_cpu

NAMES = (
    "\x1b[2Jcleared\x07",
    "a\n  certificate  forged",
    "evil\u202egnp",
    "zero\u200bwidth",
    "c1\x9b31m",
    "$\\frac{1}{$",
    "del\x7f",
    "tag\U000e0041",
    "größe 体重",
    "_hidden",
    "=1+1",
    "<b>&amp;",
)
ACTS = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def write_table(path, names=NAMES, target="y", rows=None, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((6, len(names) + 1)) if rows is None else rows
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([*names, target])
    writer.writerows(rows if isinstance(rows, list) else rows.tolist())
    path.write_text(text.getvalue(), encoding="utf-8", newline="")
    return path


def check_text(text, lines=None):
    """The text has no control characters, and every line is one of Tacit."""
    assert not {unicodedata.category(each) for each in text if each != "\n"} & ACTS
    assert "\n  certificate  forged" not in text
    assert lines is None or text.count("\n") == lines


COMMANDS = {
    "limit": ["limit", "--model", "diagonal", "--scale", "0.1"],
    "flow": ["flow", "--model", "diagonal", "--scale", "0.1", "--until", "5"],
    "path": ["path", "--mu", "1,0.1"],
    "fit": ["fit", "--scale", "0.1"],
}


@pytest.fixture
def table(tmp_path, request):
    rows = np.random.default_rng(0).standard_normal((6, len(NAMES) + 1))
    rows[:, -1] = (
        np.sign(rows[:, -1]) if request.node.callspec.params.get("command") == "path" else rows[:, -1]
    )
    return write_table(tmp_path / "hostile.csv", rows=rows)


@pytest.mark.parametrize("command", COMMANDS)
def test_names_of_columns_do_not_act_in_text_or_pictures(command, table, tmp_path, capsys):
    if command == "fit":
        pytest.importorskip("sklearn")
    picture, result = tmp_path / "picture.svg", tmp_path / "result.json"
    head, *options = COMMANDS[command]
    asked = [head, str(table), "--target", "y", *options, "--plot", str(picture), "--json", str(result)]
    assert main(asked) == 0
    out, err = capsys.readouterr()
    check_text(out)
    check_text(err)
    assert sum(line.startswith("  certificate") for line in out.split("\n")) <= 1
    ElementTree.parse(picture)
    content = result.read_text(encoding="utf-8")
    check_text(content)  # `cat` shows it, too
    assert list(NAMES) == json.loads(content).get("features", list(NAMES))


def test_error_messages_are_one_line_whatever_the_names(tmp_path, capsys):
    asked = [
        [str(write_table(tmp_path / "a.csv")), "--target", "missing\x1b[2J"],
        [str(write_table(tmp_path / "b.csv", rows=[["w\x1bord\n"] * 10] * 2)), "--target", "y"],
        [str(tmp_path / "no\x1b]0;file\n\u202e.csv"), "--target", "y"],
        [str(write_table(tmp_path / "in\x1b[1mside\u202e.csv")), "--target", "none"],
        [str(write_table(tmp_path / "c.csv", names=("\x1b[31m", "\x1b[31m"))), "--target", "y"],
        [str(tmp_path / "a.csv"), "--target", "y", "--plot", "a\x1b.gif"],
    ]
    for arguments in asked:
        assert main(["limit", *arguments]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        check_text(err, lines=1)


def test_remarks_on_classes_and_columns_are_safe(tmp_path, capsys):
    pytest.importorskip("sklearn")
    rows = [[i % 2 + 0.1 * i, 1.0 * i, ("a\x1b[2J\nb", "\u202ec")[i % 2]] for i in range(8)]
    path = write_table(tmp_path / "classes.csv", names=("x\x1b0", "u"), target="t\x1b\n", rows=rows)
    model, asked = tmp_path / "m.json", ["--target", "t\x1b\n", "--classify", "--scale", "0.1"]
    assert main(["fit", str(path), *asked, "--save", str(model)]) == 0
    check_text("".join(capsys.readouterr()))
    more = write_table(
        tmp_path / "new.csv", names=("u", "x\x1b0", "unused\x1b\n"), rows=[[1.0, 2.0, 3.0, "k\x9b"]] * 2
    )
    assert main(["predict", str(model), str(more), "--out", str(tmp_path / "o.csv")]) == 0
    check_text("".join(capsys.readouterr()))


def test_a_terminal_is_not_acted_upon_by_predictions(tmp_path, capsys, monkeypatch):
    model = write_model(tmp_path / "m.json", classes=["\x1b]0;owned\x07", "b"], target="t\u202e")
    data = write_table(tmp_path / "new.csv", names=("x",), rows=[[1.0, 0.0], [-1.0, 0.0]])
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert main(["predict", str(model), str(data)]) == 0
    out = capsys.readouterr().out
    check_text(out)
    assert out.split("\n")[0] == r"t\u202e"


def write_model(path, classes=(), target="t", coefficients=((1.0,),), features=("x",)):
    content = {
        "format": "tacit linear model",
        "version": 1,
        "tacit": "0",
        "features": list(features),
        "target": target,
        "coefficients": coefficients,
        "intercepts": [0.0] * len(coefficients),
        "classes": list(classes),
    }
    path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize(
    "begin", ["=", "+", "-", "@", "\t", "\r", "\n", " =", "\u00a0=", "\ufeff=", "\0=", "＝", "＋", "－", "＠"]
)
def test_spreadsheets_find_no_formula_in_predictions(begin, tmp_path, capsys):
    words = [f"{begin}cmd|'/c calc'!A1", "plain"]
    model = write_model(tmp_path / "m.json", classes=words, target=f"{begin}HYPERLINK(1)")
    data = write_table(tmp_path / "new.csv", names=("x",), rows=[[1.0, 0.0], [-1.0, 0.0]])
    out, found = tmp_path / "out.csv", tmp_path / "out.json"
    assert main(["predict", str(model), str(data), "--out", str(out), "--json", str(found)]) == 0
    with out.open(newline="") as file:
        assert list(csv.reader(file)) == [[f"'{begin}HYPERLINK(1)"], ["plain"], [f"'{words[0]}"]]
    kept = json.loads(found.read_text())
    assert kept["target"] == f"{begin}HYPERLINK(1)" and kept["predictions"] == ["plain", words[0]]
    assert main(["predict", str(model), str(data)]) == 0
    assert f"'{begin}"[:1] in capsys.readouterr().out


def test_no_separator_of_another_locale_begins_a_cell(tmp_path):
    """Spreadsheets that separate cells by semicolons or tabs ignore separators in quotes."""
    words = ["x;=1+1", "x\t=1+1"]
    model = write_model(tmp_path / "m.json", classes=words, target="y")
    data = write_table(tmp_path / "new.csv", names=("x",), rows=[[-1.0, 0.0], [1.0, 0.0]])
    assert main(["predict", str(model), str(data), "--out", str(tmp_path / "out.csv")]) == 0
    assert (tmp_path / "out.csv").read_text() == 'y\n"x;=1+1"\n"x\t=1+1"\n'


def test_numbers_are_never_marked_as_text(tmp_path, capsys):
    data = write_table(tmp_path / "new.csv", names=("x",), rows=[[-1.5, 0.0], [2.0, 0.0]])
    assert main(["predict", str(write_model(tmp_path / "m.json")), str(data)]) == 0
    assert capsys.readouterr().out == "t\n-1.5\n2.0\n"
    for classes in ([-1, 1], ["-1", "+1"]):
        assert main(["predict", str(write_model(tmp_path / "c.json", classes)), str(data)]) == 0
        assert capsys.readouterr().out == f"t\n{classes[0]}\n{classes[1]}\n"


def test_help_says_what_happens_to_formulas(capsys):
    with pytest.raises(SystemExit):
        main(["predict", "--help"])
    assert "formula" in capsys.readouterr().out


def test_predictions_beyond_floats_are_refused_by_row(tmp_path, capsys):
    model = write_model(tmp_path / "m.json", coefficients=[[10.0, 1.0]], features=("a\x1b", "b"))
    names = ("a\x1b", "b")
    data = write_table(tmp_path / "new.csv", names=names, target="t", rows=[[1.0, 1.0, 1.0], [1e308, 0, 0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert main(["predict", str(model), str(data)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and "the prediction for row 2 leaves the floating-point range" in err and "1e+308" in err
    check_text(err, lines=1)


@pytest.mark.parametrize(
    ("truth", "told"),
    [
        ([1e300, -1e300], "RMSE 1e+300, R² 2.22e-16"),
        ([1.0, -1.0], "RMSE 1e+200"),
        ([1.7e308, -1.7e308], "RMSE 1.7e+308"),
    ],
)
def test_scores_of_huge_numbers_bring_no_warnings(truth, told, tmp_path, capsys):
    model = write_model(tmp_path / "m.json")
    x = [1e200, -1e200] if truth[0] == 1.0 else [1.0, -1.0]
    rows = [[x[i], truth[i]] for i in (0, 1)]
    data = write_table(tmp_path / "new.csv", names=("x",), target="t", rows=rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert main(["predict", str(model), str(data), "--json", "-"]) == 0
    out, err = capsys.readouterr()
    assert told.split(",")[0] in err
    assert json.loads(out)["score"]["RMSE"] == pytest.approx(float(told.split(",")[0].split()[1]))
