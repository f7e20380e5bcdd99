"""The picture of bounds: every bound is at the position of its share, the tightest first."""

import math

import numpy as np
import pytest

from tacit.cli import main
from tacit.show.bounds import verdicts_picture
from tacit.show.figures import KERNEL, RICH
from tacit.theorems import Assumption, Bound, Verdict


def verdict(key, *bounds, applies=True):
    return Verdict(key, "a statement", (Assumption("something", applies),), bounds)


CASES = [
    verdict("a/half", Bound("half of it", 1.0, at_most=2.0), Bound("a tenth", 30.0, at_least=3.0)),
    verdict("b/broken", Bound("thrice", 6.0, at_most=2.0)),
    verdict(
        "c/zero", Bound("nothing at all", 0.0, at_most=2.0), Bound("no $ number _", math.nan, at_most=2.0)
    ),
    verdict("e/told", Bound("only a number", 4.0)),
    verdict("d/other", Bound("not meant", 5.0, at_most=1.0), applies=False),
]


def drawn(verdicts):
    (axis,) = verdicts_picture(verdicts).to().axes
    labels = [label.get_text().replace("\n", " ") for label in axis.get_yticklabels()]
    at = dict(zip(axis.get_yticks(), labels, strict=True))
    dots = {}
    for line in axis.lines:
        x, y = line.get_data()
        if len(x) == 1 and line.get_marker() in ("o", "<", ">"):
            dots[at[y[0]]] = (float(x[0]), line.get_marker(), line.get_markerfacecolor())
    return axis, labels, dots


def test_every_bound_stands_where_its_share_says_and_the_worst_first():
    axis, labels, dots = drawn(CASES)
    assert [label.split()[0] for label in labels] == [
        "c/zero",
        "b/broken",
        "a/half",
        "a/half",
        "c/zero",
        "d/other",
    ]
    expected = {
        "b/broken thrice": (3.0, "o", RICH),
        "a/half half of it": (0.5, "o", KERNEL),
        "a/half a tenth": (0.1, "o", KERNEL),
        "c/zero nothing at all": (axis.get_xlim()[0], "<", KERNEL),
        "d/other not meant": (5.0, "o", "w"),
    }
    assert dots.keys() == expected.keys()
    for label, (share, mark, colour) in expected.items():
        assert dots[label] == (pytest.approx(share), mark, colour)
    words = [text.get_text() for text in axis.texts]
    assert "not a number" in words and "6 > 2" in words and "30 ≥ 3" in words
    assert axis.get_ylim()[0] > axis.get_ylim()[1]  # the first is on top


NUMBERS = {
    "2 < 3": Bound("", 2.0, at_least=3.0),
    "2 in [1, 3]": Bound("", 2.0, at_least=1.0, at_most=3.0),
    "4 not in [1, 3]": Bound("", 4.0, at_least=1.0, at_most=3.0),
    "1 = 1 ± 1e-06": Bound("", 1 + 1e-9, at_least=1 - 1e-6, at_most=1 + 1e-6),
    "2 ≠ 1 ± 1e-06": Bound("", 2.0, at_least=1 - 1e-6, at_most=1 + 1e-6),
}


@pytest.mark.parametrize("words", NUMBERS)
def test_what_is_measured_stands_before_its_bound(words):
    (axis,) = verdicts_picture([verdict("a/b", NUMBERS[words])]).to().axes
    assert words in [text.get_text() for text in axis.texts]


def test_long_texts_are_all_there_in_several_lines_and_the_title_names_the_model():
    text = " ".join(f"word{place}" for place in range(30))
    cases = [
        verdict("a/long", Bound(text, 1.0, at_most=2.0)),
        verdict("b/short", Bound("one", 1.0, at_most=4.0)),
    ]
    (axis,) = verdicts_picture(cases, "Diagonal(scale=$2)\n5 samples").to().axes
    label, short = (each.get_text() for each in axis.get_yticklabels())
    assert label.replace("\n", " ") == f"a/long {text}" and max(map(len, label.splitlines())) <= 62
    assert short == "b/short\none" and axis.get_title(loc="left") == "Diagonal(scale=$2)\n5 samples"


def test_there_is_a_picture_where_nothing_applies():
    (axis,) = verdicts_picture([]).to().axes
    assert [text.get_text() for text in axis.texts] == ["no theorem applies"]


@pytest.mark.parametrize("flags", ["", " --all"])
def test_the_command_draws_the_verdicts_that_it_prints(tmp_path, monkeypatch, capsys, flags):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(1).standard_normal((5, 12))
    np.savez("data.npz", X=X, y=X[:, 0] - X[:, 1])
    seen = []
    real = verdicts_picture
    monkeypatch.setattr(
        "tacit.show.bounds.verdicts_picture", lambda found, title: seen.extend(found) or real(found, title)
    )
    line = f"check data.npz --log-scale -60 --only woodworth2020 --plot bounds.png{flags}"
    assert main(line.split()) == 0
    out = capsys.readouterr().out
    assert seen and all(each.key in out for each in seen)
    assert any(not each.applies for each in seen) == bool(flags)
    assert (tmp_path / "bounds.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert main([*line.split(), "--plot", "bounds.txt"]) == 2
    assert "must be named .png, .pdf or .svg" in capsys.readouterr().err


def test_no_picture_is_written_over_the_data(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.savez("data.npz", X=np.eye(2), y=np.ones(2))
    before = (tmp_path / "data.npz").read_bytes()
    assert main(["check", "data.npz", "--plot", "data.npz"]) == 2
    assert "is the data file" in capsys.readouterr().err
    assert (tmp_path / "data.npz").read_bytes() == before
