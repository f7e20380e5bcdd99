"""Printed forms of theorems and errata are about the same statements."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import tacit
from tacit.papers import pages
from tacit.papers import statements as registry
from tacit.papers.catalogue import papers
from tacit.papers.pages import items, place
from tacit.report.page import statements
from tacit.theorems import Theorem, Verdict, theorem, theorems

PAPERS = tuple(papers())

ENTRIES = {each.key: each for each in theorems()}
NUMBERED = r"(Theorem|Lemma|Proposition|Corollary|Condition)s? ((?:[A-E]\.)?\d+(?:(?:, | and )\d+)*)"
UNCHANGED = {  # named by an erratum, but true as printed
    "woodworth2020/lemma6": "the heading says that it holds as printed",
    "woodworth2020/lemma7": "the heading says that it holds as printed",
    "min2021/rate": "the errors in Theorem 2 are constants, which do not affect the exponents",
}
ELSEWHERE = {
    "min2021/weights": "Theorem 1: which λ_r, and how tight"  # its last sentence, proved in Appendix C
}


def headings(paper):
    """The headings of the errata of a paper."""
    return [each.title for each in pages.errata(paper) if each.title]


def named(paper, heading):
    """The keys of the theorems whose item a heading names."""
    names = {"Section 7.1"} & {heading[:11]}
    for kind, numbers in re.findall(NUMBERED, heading):
        names |= {f"{kind} {number}" for number in re.split(", | and ", numbers)}
    found = [item for item in items(paper) if re.sub(r" \([\d.]+\)$", "", item.name) in names]
    return {f"{paper}/{name}" for item in found for name in item.theorems}


def with_equations(paper, heading):
    """The keys of the theorems with one of the equations in a heading."""
    ends = re.match(r"Equations? (\d+)(?: (?:to|and) (\d+))?", heading)
    numbers = range(int(ends[1]), int(ends[2] or ends[1]) + 1) if ends else ()
    found = [item for item in items(paper) if set(numbers) & set(item.numbers)]
    return {f"{paper}/{name}" for item in found for name in item.theorems}


@pytest.mark.parametrize("paper", PAPERS)
def test_every_theorem_named_by_an_erratum_has_a_printed_form(paper):
    wanted = set().union(*(named(paper, heading) for heading in headings(paper)))
    assert {key for key in wanted if not ENTRIES[key].printed} == wanted & UNCHANGED.keys()


@pytest.mark.parametrize("paper", PAPERS)
def test_every_printed_form_belongs_to_an_erratum(paper):
    known = set().union(*(named(paper, each) | with_equations(paper, each) for each in headings(paper)))
    known |= {key for key, heading in ELSEWHERE.items() if heading in headings(paper)}
    assert {key for key in ENTRIES if key.startswith(paper) and ENTRIES[key].printed} <= known


def test_the_exceptions_are_needed():
    assert not any(ENTRIES[key].printed for key in UNCHANGED) and all(
        ENTRIES[key].printed for key in ELSEWHERE
    )


def test_printed_forms_are_one_line_and_differ_from_the_statement():
    for each in ENTRIES.values():
        if each.printed is not None:
            assert each.printed.endswith(".") and "\n" not in each.printed and each.printed != each.statement


def test_a_verdict_shows_the_printed_form_and_its_item():
    verdict = tacit.theorems.check("azulay2021/lemma3", tacit.Neuron(output=2.0, weights=[1.0]))
    lines = verdict.summary().splitlines()
    assert lines[0] == "azulay2021/lemma3: holds (Lemma 3)"
    assert lines[2] == f"  printed: {ENTRIES['azulay2021/lemma3'].printed}"
    assert verdict.to_dict()["printed"] == verdict.printed == ENTRIES["azulay2021/lemma3"].printed
    assert ENTRIES["azulay2021/lemma1"].printed is None


def test_the_report_shows_the_printed_form():
    lemma, other = ENTRIES["azulay2021/lemma3"], ENTRIES["azulay2021/lemma1"]
    assert '<span class="where">Printed: ĝ(x) → 0; ' in statements([lemma], "a paper")
    assert "Printed:" not in statements([other], "a paper")


def test_item_and_equations_of_verdicts_equal_those_of_the_table():
    X = np.random.default_rng(3).standard_normal((3, 6))
    verdict = tacit.theorems.check("woodworth2020/theorem1", tacit.Diagonal(), X, X[:, 0])
    assert (verdict.item, verdict.equations) == ("Theorem 1", "4 to 5, 15 to 21")
    told = verdict.to_dict()
    assert (told["item"], told["equations"], told["printed"]) == (verdict.item, verdict.equations, None)
    assert verdict.summary().startswith(
        "woodworth2020/theorem1: holds (Theorem 1, equations 4 to 5, 15 to 21)\n"
    )
    assert place("moroshko2020/theorem4") == ("Theorem 4, Theorem 14, Theorem 17", "45 to 50, 70 to 75")
    assert place("here/one") == place("min2021/none") == (None, None)
    assert all(place(key)[0] for key in ENTRIES)


CASES = {
    "holds": (1.0, True, None),
    "violated": (3.0, True, None),
    "does not apply": (1.0, False, "the second"),
}


@pytest.mark.parametrize("word", CASES)
def test_verdict_and_reason(word):
    measured, met, reason = CASES[word]
    conditions = (
        registry.Assumption("the first", True),
        registry.Assumption("the second", met),
        registry.Assumption("the third", met),
    )
    verdict = Verdict("here/one", "S.", conditions, (registry.Bound("b", measured, at_most=2.0),))
    told = json.loads(json.dumps(verdict.to_dict()))
    assert (told["verdict"], told["because"]) == (word, reason)
    assert told["holds"] is {"holds": True, "violated": False, "does not apply": None}[word]
    assert verdict.summary().startswith(f"here/one: {word}\n  S.\n")


def test_an_equality_shows_the_difference_and_its_tolerance():
    bounds = [registry.Bound("b", 1 + off, at_least=1 - 1e-6, at_most=1 + 1e-6) for off in (1e-8, 1e-3)]
    holding, broken = (Verdict("here/one", "S.", (), (bound,)).summary().splitlines()[-1] for bound in bounds)
    assert "b: |1 − 1| = 1e-08 ≤ 1e-06 (looseness = 100" in holding
    assert "b: |1.001 − 1| = 0.001 > 1e-06 (looseness = 0.001" in broken
    told = Verdict("here/one", "S.", (), (registry.Bound("n", 2.0),)).summary()
    assert told.endswith("n: 2")  # a number without a bound has no looseness


def test_theorems_that_raise_have_a_verdict_with_the_reason():
    X = np.random.default_rng(2).standard_normal((3, 6))
    found = tacit.check(tacit.Diagonal(), X, X[:, 0], only="moroshko2020/lemma3")
    (told,) = found.to_dict()["verdicts"]
    assert told["verdict"] == "does not apply" and told["because"] == str(
        found.refused["moroshko2020/lemma3"]
    )
    assert (told["item"], told["equations"]) == ("Lemma 3", "30 to 33") and told["statement"]
    lost = {"moroshko2020/lemma3": tacit.NotConvergedError("it did not arrive")}
    refusals = [ENTRIES[key].refusal(error) for key, error in lost.items()]
    (told,) = tacit.Verdicts([], model="M", refused=lost, refusals=refusals).to_dict()["verdicts"]
    assert (told["verdict"], told["because"]) == ("not decided", "it did not arrive")


def test_an_undecided_theorem_counts_as_a_failure():
    def never(model, X, y):
        raise IndexError("out of it")

    entry = Theorem("here/never", "Never.", never, printed="Once.")
    bad = entry.undecided(IndexError("out of it"))
    assert (bad.applies, bad.holds, bad.verdict, bad.because) == (
        False,
        False,
        "not decided",
        "IndexError: out of it",
    )
    good = Verdict("here/one", "S.", (), (registry.Bound("b", 1.0, at_most=2.0),))
    found = tacit.Verdicts([good, bad], model="M", refused={})
    assert list(found) == [bad, good] and found.others == () and not found.holds
    text = found.summary()
    assert text.startswith(
        "here/never: not decided\n  Never.\n  printed: Once.\n  error       IndexError: out of it"
    )
    assert text.endswith("1 of 2 theorems applies, and holds, 1 is not decided")
    assert [each["verdict"] for each in found.to_dict()["verdicts"]] == ["not decided", "holds"]
    assert entry.undecided(KeyError()).because == "KeyError"


def test_the_decorator_takes_the_printed_form(monkeypatch):
    monkeypatch.setattr(registry._THEOREMS, "registered", {})

    @theorem("here/one", "Two.", printed="Three.")
    def one(model):
        yield registry.Bound("1 + 1", 2.0, at_most=2.0)

    assert registry._THEOREMS["here/one"].printed == "Three."
    assert "\n  printed: Three.\n" in tacit.theorems.check("here/one", None).summary()


@pytest.mark.parametrize("name", ["items.md", "errata.md", "map.md"])
def test_generated_pages_are_up_to_date(name):
    """`python -m tacit.papers.pages docs` writes these pages."""
    docs = Path(tacit.__file__).parents[2] / "docs"
    assert (docs / name).read_text(encoding="utf-8") == pages.pages(docs)[docs / name]
