"""Sections of the report: items in the paper's order, statements and their commands, records, pictures."""

import json
import re
import shlex
from dataclasses import replace

import numpy as np
import pytest
from test_report import Read, article, png, shown, words

from tacit.cli import main
from tacit.papers import figures
from tacit.papers.catalogue import papers
from tacit.papers.completed import made_with
from tacit.papers.pages import errata, items
from tacit.report import Shown, page
from tacit.report import panels as recorded
from tacit.report.page import command, is_beyond
from tacit.theorems import Theorem, theorems

pytestmark = pytest.mark.any_cpu

PAPERS = tuple(papers())

ON_RECORD = ("woodworth2020/fig6c", "woodworth2020/fig6d", "woodworth2020/fig8")
BY_KEY = {each.key: each for each in theorems()}
IN_A_SHELL = [each for each in theorems() if command(each).startswith("tacit check")]


@pytest.fixture(scope="module")
def whole():
    """All figures except those that need large data sets."""
    missing = {"left_out": "there is no <network>"}
    return page(
        [Shown(each, missing, None) if each.key in ON_RECORD else shown(each) for each in figures()], "today"
    )


def section(whole, name, following):
    return whole[whole.index(f'id="{name}"') : whole.index(f'id="{following}"')]


def rows(table):
    return re.findall(r"<tr>.*?</tr>", table.partition("<tbody>")[2], re.DOTALL)


def test_only_sharper_statements_and_those_of_no_item_are_beyond_the_papers():
    assert [key for key in BY_KEY if is_beyond(BY_KEY[key])] == [
        key for key in BY_KEY if key.endswith("-sharp")
    ]
    for key in ("min2021/theorem17", "elsewhere2031/theorem1"):
        assert is_beyond(Theorem(key, "More.", lambda model: iter(())))


@pytest.mark.parametrize("paper", PAPERS)
def test_items_are_there_in_the_order_of_the_paper_with_all_that_they_name(whole, paper):
    table = section(whole, f"{paper}-items", f"{paper}-figures")
    assert len(rows(table)) == len(items(paper))
    for item, row in zip(items(paper), rows(table), strict=True):
        text = Read(row).text
        assert text.startswith(f"{item.name}{item.equations.replace('-', '–')}")
        assert words(item.says) in text
        assert all(test.replace("::", " ") in text for test in item.tests)
        assert words(item.why) in text
        targets = [f"theorem-{paper}/{name}" for name in item.theorems]
        targets += [f"figure-{paper}/{name}" for name in item.figures]
        links = re.findall(r'href="#([^"]*)"', row)
        assert links[: len(targets)] == [re.sub(r"[^a-z0-9]+", "-", each.lower()) for each in targets]
        assert targets or item.tests or item.why


def test_keys_in_reasons_are_links(whole):
    assert '<a href="#theorem-azulay2021-theorem1">azulay2021/theorem1</a> is the general case' in whole
    assert '<a href="#figure-azulay2021-regime-map">azulay2021/regime-map</a>' in whole


@pytest.mark.parametrize("paper", PAPERS)
def test_statements_are_in_the_order_of_the_paper(whole, paper):
    table = whole.partition(f'id="{paper}-theorems"')[2].partition("</table>")[0]
    found = [Read(re.findall(r"<th.*?</th>", row)[0]).text for row in rows(table)]
    listed = list(dict.fromkeys(name for item in items(paper) for name in item.theorems))
    assert found == listed


def test_errata_are_counted_without_what_stands_before_them(whole):
    counted = [int(re.findall(r"<td>(\d+)</td></tr>", row)[0]) for row in rows(whole.partition("<h2>")[0])]
    assert counted == [sum(bool(each.title) for each in errata(paper)) for paper in PAPERS]
    assert sum(counted) > 40


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """Targets, and classes."""
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).standard_normal((5, 8))
    y = X[:, 0] - 2 * X[:, 1]
    head = ",".join([*(f"x{i}" for i in range(8)), "y"])
    np.savetxt("targets.csv", np.c_[X, y], delimiter=",", header=head, comments="")
    np.savetxt("classes.csv", np.c_[X, np.sign(y)], delimiter=",", header=head, comments="")


def test_every_command_asks_about_the_model_that_the_statement_is_about(tables, capsys):
    """The first condition of a theorem is the one on its model."""
    assert {each.key.partition("/")[0] for each in IN_A_SHELL} == set(PAPERS)
    asked = {}
    for each in IN_A_SHELL:
        options = command(each).partition(each.key)[2]
        asked.setdefault((each.key.partition("/")[0], options), each)
    for (paper, _), each in asked.items():
        data = "classes.csv" if paper == "moroshko2020" else "targets.csv"
        line = command(each).replace("DATA", data).replace("COL", "y")
        assert main([*shlex.split(line)[1:], "--all", "--json", "-"]) == 0
        (verdict,) = json.loads(capsys.readouterr().out)["verdicts"]
        assert verdict["key"] == each.key and verdict["assumptions"][0]["holds"]


def test_what_no_table_holds_is_asked_in_python():
    assert command(BY_KEY["woodworth2020/theorem4"]) == (
        'tacit.theorems.check("woodworth2020/theorem4", model, X, y)'
    )
    assert command(BY_KEY["woodworth2020/lemma6"]).endswith("model, features=…)")


def test_figures_on_record_are_shown_where_they_cannot_be_made(whole):
    for entry in (each for each in figures() if each.key in ON_RECORD):
        text = Read(article(whole, entry)).text
        assert "Recorded version: there is no <network>. This" in text
        assert "s (NVIDIA H200)" in text and "JAX 0.11.2" in text and "✓ holds" in text
        assert f"tacit reproduce {entry.key} --preset paper --seed 0" in text
    assert "<td>14 of 17, 3 recorded</td>" in whole.partition("<h2>")[0]


def test_a_record_has_the_time_and_the_sizes_of_all_its_calls():
    (entry,) = figures("woodworth2020/fig6c")
    found = recorded.or_recorded(Shown(entry, {}, None))
    assert found.is_made and found.instead_of == "it is not in the folder of figures"
    assert found.content["seconds"] == pytest.approx(221.7 + 79.8)
    assert found.content["parameters"]["epochs"] == 150
    assert found.content["parameters"]["last_epochs"] == [200, 2]
    made = shown(entry)
    assert recorded.or_recorded(made) is made


def test_without_a_record_the_reason_is_a_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr(recorded, "_PLACES", (tmp_path,))
    reasons = {
        "there is no network": "there is no network.",
        "a folder that has a, …": "a folder that has a, …",
    }
    for reason, sentence in reasons.items():
        absent = [Shown(each, {"left_out": reason}, None) for each in figures("woodworth2020/fig8")]
        assert f"Not made: {sentence} To make" in Read(page(absent, "today")).text


def test_pictures_say_what_they_are_and_name_a_caption_only_where_there_is_one(whole):
    for entry in figures():
        found = article(whole, entry)
        (alt,) = re.findall(r'alt="([^"]*)"', found)
        assert ("caption" in alt) == ("<figcaption>" in found)
        assert words(entry.title).split()[0] in alt


def test_pictures_are_opened_at_full_size_by_the_keyboard_too(whole):
    read = Read(whole)
    boxes = [each for each in read.all("input") if each["type"] == "checkbox"]
    assert len(boxes) == len(read.all("label")) == len(read.all("img"))
    assert ".view:has(:checked) img { max-width: none; }" in whole


def test_tall_pictures_are_told_apart_for_printing():
    (entry,) = figures("moroshko2020/fig6")
    tall = Shown(entry, shown(entry).content, png(20, 30))
    assert '<img class="tall"' in page([tall], "today")


def test_figures_that_were_made_otherwise_are_marked():
    """Different software, preset or seed; recorded figures are marked."""
    usual, now = figures()[:5], made_with()
    ways = {
        0: ({"seed": 3}, "paper preset, seed 3, whereas most figures have paper preset, seed 7."),
        1: ({"preset": "quick"}, "quick preset, seed 7, whereas most figures have paper preset, seed 7."),
        2: (
            {"made_with": now | {"tacit": "0.0.1", "source": "a" * 16}},
            "made by Tacit 0.0.1 with different source code.",
        ),
        3: ({"made_with": now | {"numpy": "1.0"}}, f"made by Tacit {now['tacit']} with NumPy 1.0."),
        4: ({"made_with": {}}, "made by Tacit of an unknown version with different source code."),
    }
    made = []
    for place, entry in enumerate(figures()):
        plain = shown(entry)
        content = {**plain.content, "made_with": now} | (ways[place][0] if place in ways else {})
        made.append(replace(plain, content=content))
    whole = page(made, "2031-02-03")
    for place, entry in enumerate(figures()):
        text = Read(article(whole, entry)).text
        assert ("Made differently:" in text) == (place in ways)
        assert place not in ways or f"Made differently: {ways[place][1]}" in text
    links = ", ".join(entry.key for entry in usual)
    count = len(made) - len(ways)
    said = f"{count} of {len(made)} figures were made by this software: paper preset, seed 7."
    assert f"{said} Otherwise: {links}." in Read(whole).text

    all_others = [replace(each, content={**each.content, "made_with": {}}) for each in made]
    text = Read(page(all_others, "2031-02-03")).text
    assert f"0 of {len(made)} figures were made by this software" in text
    assert "The other figures state their settings." in text and "Otherwise:" not in text
