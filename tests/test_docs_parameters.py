"""Docstrings of public names: every argument under Parameters, every field of a result under Attributes."""

import dataclasses
import doctest
import importlib
import inspect
import re
import sys

import numpy as np
import pages
import pytest

import tacit
from tacit import estimators

sys.path.insert(0, str(pages.ROOT / "docs" / "_site"))
import sections

pytestmark = pytest.mark.any_cpu

REFERENCE = (pages.ROOT / "docs" / "reference" / "index.md").read_text(encoding="utf-8")
MODULES = [line.strip() for line in REFERENCE.splitlines() if re.fullmatch(r" +tacit[\w.]*", line)]
ANSWERS = {  # made by Tacit and read by users, who do not write their arguments
    *(
        "Certificate",
        "Derivation",
        "Entry",
        "Limit",
        "Margin",
        "MarginPath",
        "Prepared",
        "Probe",
        "ProbeSweep",
    ),
    *(
        "Regime",
        "Reproduction",
        "ScaleRange",
        "DecayPath",
        "Explanation",
        "Risk",
        "SaddlePath",
        "Stability",
        "SweepingPath",
        "Theorem",
        "Trajectory",
        "Verdict",
    ),
    "Verdicts",
}
NOT_KEPT = {"Verdicts": ["found"]}  # arguments that are the tuple itself


def public(module):
    home = importlib.import_module(module)
    found = {name: getattr(home, name) for name in home.__all__}
    return {name: item for name, item in found.items() if not inspect.ismodule(item)}


def arguments(function):
    """Names of the arguments, as they are written: *args and **options with their stars."""
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    parameters = inspect.signature(function).parameters.values()
    return [
        stars.get(each.kind, "") + each.name
        for each in parameters
        if each.name not in ("self", "cls") and not each.name.startswith("_")
    ]


def methods(kind):
    """Public methods that take arguments, those of scikit-learn left out."""
    for name, part in inspect.getmembers(kind, callable):
        home = next(each for each in kind.__mro__ if name in vars(each))
        made = name.startswith("set_") and name.endswith("_request")  # by scikit-learn
        if not name.startswith("_") and home.__module__.startswith("tacit") and not made and arguments(part):
            yield name, part


def is_error(item):
    return inspect.isclass(item) and issubclass(item, BaseException)


def expected(name, item):
    """(heading, names) of a public name."""
    if is_error(item):
        own = arguments(item) if "__init__" in vars(item) else []
        return "Attributes", [each for each in own if each != "message"]
    if isinstance(item, type) and issubclass(item, tacit.Status):
        return "Parameters", []
    given = [each for each in arguments(item) if each not in NOT_KEPT.get(name, ())]
    return ("Attributes" if name in ANSWERS else "Parameters"), given


def is_property(item, name):
    return isinstance(inspect.getattr_static(item, name, None), property)


def faults(module):
    """What the docstrings of a module say otherwise than its signatures do."""
    for name, item in public(module).items():
        heading, names = expected(name, item)
        said = sections.names(inspect.getdoc(item), heading) or []
        if heading == "Attributes":  # properties may be among them
            said = [each for each in said if each in names or not is_property(item, each)]
        if said != names:
            yield f"{name}: {heading} {said}, not {names}"
        for method, part in methods(item) if inspect.isclass(item) else ():
            said = sections.names(sections.whole(item, method), "Parameters") or []
            if said != arguments(part):
                yield f"{name}.{method}: Parameters {said}, not {arguments(part)}"


@pytest.mark.parametrize("module", MODULES)
def test_every_argument_and_every_field_is_documented_in_order_and_no_other(module):
    assert list(faults(module)) == []


CLASSES = ["a", "b"] * 10
MADE = {  # without a dataclass to say what they have
    "Prepared": lambda X, y: tacit.prepare(X),
    "Verdicts": lambda X, y: tacit.check(tacit.Diagonal(), X, y, only="woodworth2020/lemma7"),
    "FlowRegressor": lambda X, y: estimators.FlowRegressor().fit(X, y),
    "FlowRegressorCV": lambda X, y: estimators.FlowRegressorCV(scales=2, stops=2, cv=2).fit(X, y),
    "FlowClassifier": lambda X, y: estimators.FlowClassifier().fit(X, CLASSES),
    "FlowClassifierCV": lambda X, y: estimators.FlowClassifierCV(scales=2, cv=2).fit(X, CLASSES),
}


@pytest.mark.parametrize("name", MADE)
def test_attributes_are_there(name):
    X = np.random.default_rng(0).standard_normal((20, 30))
    made = MADE[name](X, X[:, 0])
    names = sections.names(inspect.getdoc(type(made)), "Attributes")
    assert names and [each for each in names if not hasattr(made, each)] == []


def docstrings(module):
    """(name, docstring) of every public name and of its methods with arguments."""
    for name, item in public(module).items():
        yield name, inspect.getdoc(item)
        for method, _ in methods(item) if inspect.isclass(item) else ():
            yield f"{name}.{method}", sections.whole(item, method)


@pytest.mark.parametrize("module", MODULES)
def test_every_entry_has_words_and_every_argument_a_type(module):
    silent = []
    for name, text in docstrings(module):
        for heading, section in sections.parts(text):
            for entry, kind, words in sections.entries(section) if heading in sections.LISTS else ():
                typed = kind or heading != "Parameters" or entry.startswith("*")
                silent += [] if words and typed else [f"{name}: {heading} {entry}"]
    assert silent == []


@pytest.mark.parametrize("module", MODULES)
def test_errors_that_are_named_are_errors(module):
    for name, text in docstrings(module):
        for error in sections.names(text, "Raises") or []:
            assert is_error(getattr(tacit, error)), name


def examples():
    finder = doctest.DocTestFinder(recurse=False)
    for module in MODULES:
        for name, item in public(module).items():
            found = finder.find(item, f"{module}.{name}")
            yield from (pytest.param(each, id=each.name) for each in found if each.examples)


@pytest.mark.parametrize("example", list(examples()))
def test_examples_print_what_stands_below_them(example):
    assert doctest.DocTestRunner(verbose=False).run(example).failed == 0


def test_what_is_missing_too_much_or_out_of_order_is_seen():
    def example(first, *, second=1, **others):
        """Something.

        Parameters
        ----------
        first : int
            With words, `a : b` among them.
        second : int, optional
            With words.

            And a second paragraph.
        **others
            More.
        """

    text = inspect.getdoc(example)
    assert sections.names(text, "Parameters") == arguments(example) == ["first", "second", "**others"]
    assert sections.names(text, "Returns") is None
    assert sections.entries(dict(sections.parts(text))["Parameters"])[1] == (
        "second",
        "int, optional",
        "With words.\n\nAnd a second paragraph.",
    )


def test_a_method_has_the_sections_of_its_contract():
    class Contract:
        def method(self, w):
            """Something.

            Parameters
            ----------
            w : array
                It.
            """

    class Own(Contract):
        def method(self, w):
            """A formula."""

    class Silent(Own):
        def method(self, w):
            pass

    for kind in (Own, Silent):
        assert sections.whole(kind, "method").startswith("A formula.\n\nParameters\n---")
        assert sections.names(sections.whole(kind, "method"), "Parameters") == ["w"]


def test_results_are_answers():
    """Dataclasses that verbs return have Attributes, whatever is added to them."""
    from tacit.results.result import Result

    results = {
        name
        for module in MODULES
        for name, item in public(module).items()
        if inspect.isclass(item) and issubclass(item, Result) and dataclasses.is_dataclass(item)
    }
    assert len(results) > 6
    assert results <= ANSWERS
