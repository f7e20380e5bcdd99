"""Column names in output: no character can control a terminal or a figure."""

import unicodedata

import pytest

from tacit.data.printable import label, printable, short_name

pytestmark = pytest.mark.any_cpu

HOSTILE = {
    "\x1b]0;owned\x07": r"\x1b]0;owned\x07",
    "a\n  certificate  fine": r"a\n  certificate  fine",
    "a\rb\tc": r"a\rb\tc",
    "abc\u202edef": r"abc\u202edef",
    "a\u200bb\ufeff": r"a\u200bb\ufeff",
    "\x9b31m": r"\x9b31m",
    "\ud800": r"\ud800",
    "line\u2028end\u2029": r"line\u2028end\u2029",
    "\U000e0041tag": r"\U000e0041tag",
}
PLAIN = ["age", "größe in cm", "β₁", "体重", "a b", "température\u00a0(°C)", "👍", "x[0]", "C:\\x", "50 %"]


@pytest.mark.parametrize("name", HOSTILE)
def test_what_acts_is_written_as_an_escape(name):
    assert printable(name) == HOSTILE[name]


@pytest.mark.parametrize("name", PLAIN)
def test_what_is_seen_stays(name):
    assert printable(name) == name


def test_of_all_characters_none_is_left_that_acts():
    """By the categories of Unicode: controls, formats, surrogates, private use, unassigned, separators."""
    every = "".join(map(chr, range(0x110000)))
    left = {unicodedata.category(each) for each in set(printable(every))}
    assert not left & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def test_what_is_kept_on_purpose_stays():
    assert printable("a,b\n1,\x1b2\n", keep="\n") == "a,b\n1,\\x1b2\n"


def test_names_are_shortened_after_they_were_escaped():
    assert short_name("\x1b" * 1000, 24) == r"\x1b\x1b\x1b…x1b\x1b\x1b"
    assert len(short_name("\n" * 1000, 24)) == 24


@pytest.mark.parametrize("name", ["$x$", "$\\frac{1}{$", "_id", "a$b", "$$", *HOSTILE, *PLAIN])
def test_labels_are_drawn_as_they_stand(name):
    from matplotlib.cbook import is_math_text

    text = label(name, 40)
    assert not is_math_text(text) and not text.startswith("_")
    assert text.replace(r"\$", "$").strip() == printable(" ".join(name.split()))
