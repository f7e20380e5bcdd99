"""Every result shows itself: one line in a console, a table of its summary in a notebook."""

import html
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from test_pickling import MORE, RESULTS, made

import tacit
from tacit.data.display import as_html, one_line
from tacit.derivation.conserved import Conserved
from tacit.theorems import Assumption, Bound, Verdict

pytestmark = pytest.mark.any_cpu

_OTHERS = (  # neither results nor certificates: models, potentials, lists, estimators, figures
    "model", "potential", "events", "prepared", "entries", "theorems", "estimators", "figure", "range",
    "cost", "conserved", "interrupted", "closed form",
)  # fmt: skip
SHOWN = [name for name in (*RESULTS, *MORE) if not any(word in name for word in _OTHERS)]
SLOW = {*MORE, "derivation", "probe", "probe sweep"}
VOID = {"br", "hr", "img", "input", "meta", "link"}


class Page(HTMLParser):
    """The tags and the text of a piece of HTML; raises AssertionError if tags are not nested."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words, self.open = [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def cells(text):
    return "".join(Page(text).words)


def check_harmless(text):
    """Only the tags of a table, without addresses, scripts, or colours that one of the themes would hide."""
    tags = Page(text).tags
    assert {tag for tag, _ in tags} <= {
        "div", "strong", "table", "tbody", "tr", "th", "td", "details", "summary",
    }  # fmt: skip
    for _, attributes in tags:
        assert attributes.keys() <= {"style", "class", "scope", "colspan"}
        assert not re.search(r"url|color(?!:inherit)|background|expression", attributes.get("style", ""))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.thorough] * (name in SLOW)) for name in SHOWN]
)
def test_every_result_is_one_line_and_a_table_of_its_summary(name):
    for each in made(name) if type(made(name)) is tuple else (made(name),):
        line, table = repr(each), each._repr_html_()
        assert len(line) < 600 and "\n" not in line and line.startswith(type(each).__name__)
        check_harmless(table)
        # Nothing of the summary is lost: the same words in the same order.
        squeezed = re.sub(r"\s", "", each.summary())
        assert re.sub(r"\s", "", cells(table)) == type(each).__name__ + squeezed


def test_rows_have_names_and_values():
    found = tacit.max_margin([[2, 1], [-1, -2]], [1, -1], "l1")
    rows = re.findall(r"<tr><th[^>]*>(.*?)</th><td[^>]*>(.*?)</td></tr>", found._repr_html_())
    lines = [re.split(r"\s{2,}", line.strip(), maxsplit=1) for line in found.summary().splitlines()]
    assert [list(map(html.unescape, row)) for row in rows] == lines
    assert [name for name, _ in rows][:2] == ["data", "norm"]


HOSTILE = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", '"><b>', "a   b", "&lt;", "line\nbreak\n\nx",
    "\u202eright", "</td></table>",
]  # fmt: skip


def test_names_of_columns_are_escaped():
    """Names of columns come from files; every one stays text in one cell."""
    X = pd.DataFrame(np.eye(len(HOSTILE)) + 0.1, columns=HOSTILE)
    y = np.arange(1.0, len(HOSTILE) + 1)
    for result in (tacit.limit(tacit.Diagonal(), X, y), tacit.flow(tacit.Diagonal(), X, y, until=3.0)):
        table = result._repr_html_()
        check_harmless(table)
        assert "<script" not in table and "&lt;" in table
        assert table.count("<tr>") == len(result.summary().splitlines())


def test_text_of_a_verdict_is_escaped():
    verdict = Verdict(
        "p/<i>", "<b>x</b>", (Assumption("a < b & c", True),), (Bound("<u>", 1.0, at_most=2.0),)
    )
    check_harmless(verdict._repr_html_())
    assert "a < b & c" in cells(verdict._repr_html_()) and repr(verdict) == "Verdict(p/<i>: holds)"


def test_large_results_are_short():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 900)), rng.standard_normal(50)
    model = tacit.UntiedDiagonal(rng.random(900) + 0.1, rng.random(900) / 2)
    shown = [
        tacit.limit(model, X, y),
        tacit.certify(model, X, y, np.ones(900)),
        tacit.max_margin(X, np.sign(y), "l2"),
        tacit.explain(X, y, np.linalg.pinv(X) @ y),
    ]
    assert max(len(repr(each)) for each in shown) < 400
    assert "predictor=<900 numbers>" in repr(shown[0]) and "dual=<50 numbers>" in repr(shown[1])


def test_a_result_without_fields_is_one_line():
    class Own(tacit.Limit.__mro__[-2]):
        def summary(self):
            return "first\n\n  name  text"

    assert one_line(Own()) == repr(Own()) == "Own()"
    assert cells(Own()._repr_html_()) == "Ownfirstnametext"


def test_paragraphs_are_folded_except_the_last():
    text = as_html("T", "one\n  a  1\n\ntwo\n  b  2\n\nend")
    assert text.count("<details>") == 2 and text.index("</details>") < text.index("end")
    assert "<summary>one</summary>" in text


def test_a_closed_form_is_a_formula():
    sympy = pytest.importorskip("sympy")
    a, b = sympy.symbols("a b", positive=True)
    form = tacit.closed_form([a**2 - b**2], [a, b], [1, 1])
    assert form._repr_latex_() == f"$\\displaystyle {form.latex()}$" and "asinh" in form._repr_latex_()
    assert repr(form) == "ClosedForm(separable, explicit, d=1)"


def test_conserved_quantities_are_formulas():
    law = Conserved(
        np.array([0, 1.0, -2.5e-7]),
        np.array([[1, 0.25, 0], [0.25, -1, 0], [0, 0, 0]]),
        ("θ₁", "θ₁₂", "my_w}₃"),
    )
    terms = [
        r"\theta_{1}^{2}",
        r"0.5 \theta_{1} \theta_{12}",
        r"\theta_{12}^{2}",
        r"\theta_{12}",
        r"2.5 \cdot 10^{-7} \, \text{my\_w }_{3}",
    ]
    assert re.split(r" [+-] ", law.latex()) == terms and law.latex().count(" - ") == 2
    assert law._repr_latex_() == rf"$\displaystyle {law.latex()}$"
    assert str(law) == "θ₁² + 0.5·θ₁·θ₁₂ − θ₁₂² + θ₁₂ − 2.5e-07·my_w}₃"


@pytest.mark.thorough
def test_a_derivation_shows_what_it_conserves():
    found = made("derivation")
    assert all(law.latex() in found._repr_latex_() for law in found.conserved)
    assert made("derivation, none").conserved or made("derivation, none")._repr_latex_() is None
