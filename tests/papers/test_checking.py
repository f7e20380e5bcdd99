"""`tacit.check`: which theorems apply, their order, their numbers, and invalid arguments."""

import numpy as np
import pytest
from oracles import gaussian_problem

import tacit
from tacit.papers import statements as registry
from tacit.theorems import check as ask
from tacit.theorems import theorems


@pytest.fixture(scope="module")
def problem():
    return gaussian_problem(4, 9, nonzero=2, seed=1)


@pytest.fixture(scope="module")
def model():
    return tacit.Diagonal(scale=1e-3)


@pytest.fixture(scope="module")
def found(model, problem):
    return tacit.check(model, *problem)


def test_verdicts_equal_those_of_each_theorem_evaluated_alone(found, model, problem):
    known = {"model", "X", "y", "predictor", "samples", "features"}
    asked = [t for t in theorems() if set(t.needs) <= known and not t.matrices]
    assert {v.key for v in (*found, *found.others)} | set(found.refused) == {t.key for t in asked}
    assert len(found) >= 3 and all(v.applies for v in found) and not any(v.applies for v in found.others)
    for key in ("woodworth2020/theorem1", "woodworth2020/theorem3-ends"):
        (verdict,) = (each for each in found if each.key == key)
        assert_same(verdict.to_dict(), ask(key, model, *problem).to_dict())


def assert_same(found, alone):
    """Check that verdicts agree, with numbers that agree to round-off.

    Within one check, limits start from those at nearby scales and agree with separate ones to round-off;
    relative differences of their norms are up to 6e-8, and ten times that is allowed.
    """
    assert found | {"bounds": None} == alone | {"bounds": None}
    for bound, expected in zip(found["bounds"], alone["bounds"], strict=True):
        assert bound == {
            name: pytest.approx(each, rel=6e-7) if isinstance(each, float) else each
            for name, each in expected.items()
        }


def test_what_follows_from_the_data_is_what_one_would_give(problem):
    X, y = problem
    model = tacit.Diagonal(scale=50.0)
    found = {v.key: v.to_dict() for v in tacit.check(model, X, y)}
    limit = tacit.limit(model, X, y).predictor
    given = {
        "woodworth2020/lemma6": {"features": 9},
        "woodworth2020/lemma7": {"predictor": limit},
        "woodworth2020/sample-size": {"samples": 4, "features": 9},
    }
    for key, arguments in given.items():
        assert found[key] == ask(key, model, **arguments).to_dict()
    neuron = tacit.Neuron.from_scale(1.0, 0.3, np.ones(9))
    asked = {v.key for v in tacit.check(neuron, X, y)}
    assert {"azulay2021/lemma1", "azulay2021/lemma2", "azulay2021/lemma3"} <= asked
    wide = tacit.LinearNetwork.gaussian(9, 2000, seed=0)
    assert "min2021/lemma1" in {v.key for v in tacit.check(wide, X, y, only="min2021")}


def test_the_predictor_is_zero_if_no_limit_is_known(problem):
    """The network has no potential, so its limit is not known and lemmas about potentials do not apply."""
    X, y = problem
    network = tacit.LinearNetwork.gaussian(9, 5, seed=0)
    (verdict,) = tacit.check(network, X, y, only="woodworth2020/lemma7").others
    assert verdict.about_others and not verdict.bounds


def test_unmet_assumptions_on_data_are_distinguished_from_other_models(problem):
    X, y = problem
    X, y = np.vstack([X, X[:1]]), np.append(np.sign(y), -np.sign(y[0]))
    separable = tacit.check(tacit.Diagonal(), X[1:], y[1:])
    assert not any("separated" in (v.because or "") for v in separable.others)
    found = tacit.check(tacit.Diagonal(), X, y)
    lacking = [v for v in found.others if not v.about_others]
    unseparated = [v.key for v in lacking if v.because.startswith("the labels can be separated: no linear")]
    assert len(unseparated) > 8 and all(key.startswith("moroshko2020/") for key in unseparated)
    assert all(
        v.assumptions[0].holds for v in found.others if v.key in unseparated
    )  # they apply to the model
    text = found.summary()
    assert "the labels can be separated: no linear predictor" in text
    assert "some w has Xw = y (best relative residual: " in text
    others = sum(v.about_others for v in found.others)
    assert f"{others} more are about other models" in text
    assert all(
        "the model is" in v.because or "tangent kernel" in v.because for v in found.others if v.about_others
    )


def factors(verdict):
    """The factor between measured value and bound, for every bound."""
    for bound in verdict.bounds:
        if bound.at_most is not None and bound.at_least is not None:
            middle = (bound.at_most + bound.at_least) / 2
            yield (bound.at_most - middle) / max(abs(bound.measured - middle), 1e-300)
        elif bound.at_most is not None and bound.at_most < 0:
            yield bound.measured / bound.at_most
        elif bound.at_most is not None and bound.measured > 0:
            yield bound.at_most / bound.measured
        elif bound.at_least is not None and bound.at_least > 0:
            yield bound.measured / bound.at_least


def test_the_tightest_bound_comes_first(found):
    tightest = [min(factors(verdict), default=np.inf) for verdict in found]
    assert tightest == sorted(tightest) and tightest[0] < tightest[-1]


def test_violated_bounds_come_before_those_that_hold_and_nan_before_both(model, problem, monkeypatch):
    measured = {"tight": 0.99, "broken": 2.0, "loose": 0.1, "none": np.nan, "unbounded": None}
    entries = {}
    for name, value in measured.items():

        def statement(model, X, y, value=value):
            yield registry.Bound("b", 1.0 if value is None else value, at_most=None if value is None else 1.0)

        # a default is an option; the statement about training has none
        entry = registry.Theorem(
            f"woodworth2020/{name}", "S.", lambda model, X, y, f=statement: f(model, X, y)
        )
        entries[entry.key] = entry
    monkeypatch.setattr("tacit.papers.catalogue.papers", dict)
    monkeypatch.setattr(registry._THEOREMS, "registered", entries)
    found = tacit.check(model, *problem)
    assert [v.key.partition("/")[2] for v in found] == ["none", "broken", "tight", "loose", "unbounded"]
    assert not found.holds and "5 of 5 theorems apply, 3 hold" in found.summary()


def test_summary_counts_and_everything_shows_all(found):
    total = len(found) + len(found.others) + len(found.refused)
    assert found.summary().endswith(f"{len(found)} of {total} theorems apply, {len(found)} hold")
    assert not any(f"{verdict.key}: " in found.summary() for verdict in found.others)
    everything = found.summary(everything=True)
    assert all(v.key in everything for v in found.others) and all(key in everything for key in found.refused)


def test_to_dict_and_plot(found, tmp_path):
    content = found.to_dict()
    assert content["model"] == repr(tacit.Diagonal(scale=1e-3))
    assert [v["key"] for v in content["verdicts"][: len(found)]] == [v.key for v in found]
    assert found.plot(tmp_path / "bounds.png").stat().st_size > 5000


def test_one_paper_or_one_theorem(model, problem):
    (verdict,) = tacit.check(model, *problem, only="woodworth2020/theorem1")
    assert verdict.key == "woodworth2020/theorem1"
    some = tacit.check(model, *problem, only="woodworth2020", epsilon=0.25)
    assert {v.key.partition("/")[0] for v in (*some, *some.others)} == {"woodworth2020"}
    alone = ask("woodworth2020/theorem2-l1", model, *problem, epsilon=0.25)
    (same,) = (each for each in (*some, *some.others) if each.key == alone.key)
    assert same.summary().splitlines()[:-1] == alone.summary().splitlines()[:-1]
    found, expected = (np.array([bound.measured for bound in each.bounds]) for each in (same, alone))
    np.testing.assert_allclose(
        found, expected, rtol=1e-9
    )  # what the theorems share is computed in another order


def test_named_classes_are_labels(problem):
    X, y = problem
    words = np.where(y > 0, "yes", "no")
    asked = {"only": "moroshko2020/lemma3"}
    named = tacit.check(tacit.Diagonal(), X, words, **asked)
    assert named.to_dict() == tacit.check(tacit.Diagonal(), X, np.sign(y), **asked).to_dict()


def test_theorems_that_take_minutes_are_listed_and_not_evaluated(model, problem, monkeypatch):
    monkeypatch.setattr("tacit.papers.checking.LONG", 0)
    found = tacit.check(model, *problem)
    flows = {t.key: t.flows for t in theorems()}
    assert not any(flows[v.key] for v in (*found, *found.others))
    assert "woodworth2020/theorem1" in found.not_asked and all(flows[key] for key in found.not_asked)
    assert tacit.check(model, *problem, only="woodworth2020/theorem1")


def test_an_unexpected_exception_leaves_the_other_verdicts_unchanged(model, problem, monkeypatch):
    def broken(model, X, y):
        yield registry.Assumption("first", True)
        raise IndexError("unexpected")

    entry = registry.Theorem("woodworth2020/broken", "S.", broken)
    before = tacit.check(model, *problem, only="woodworth2020")
    monkeypatch.setitem(registry._THEOREMS.registered, entry.key, entry)
    found = tacit.check(model, *problem, only="woodworth2020")
    assert [v.to_dict() for v in found[1:]] == [v.to_dict() for v in before]
    assert found[0].key == entry.key and found[0].because == "IndexError: unexpected"
    assert before.holds and not found.holds


def test_inconsistent_data_are_an_assumption_that_fails(model):
    """Equal samples with different targets can neither be fitted nor separated."""
    X, y = np.ones((2, 3)), np.array([1.0, -1.0])
    for depth in (2, 3):
        found = tacit.check(tacit.Diagonal(depth, scale=0.1), X, y)
        assert not found.refused and found.others
    (verdict,) = tacit.check(model, X, y, only="woodworth2020/theorem2-l1").others
    assert verdict.holds is None and verdict.because == "some w has Xw = y (best relative residual: 1)"
    (verdict,) = tacit.check(model, X, y, only="moroshko2020/lemma3").others
    assert verdict.holds is None


def test_theorems_about_matrices_are_evaluated_for_measurements():
    matrix = np.outer([1.0, 2.0, -1.0], [1.0, 0.5, 2.0])
    matrix[0, 2] = np.nan
    X, y = tacit.observed(matrix)
    found = tacit.check(FACTORS, X, y, only="woodworth2020/theorem9-sharp")
    (verdict,) = (*found, *found.others)
    assert verdict.to_dict() == ask(verdict.key, FACTORS, X.dense(), y).to_dict()
    dense = tacit.check(FACTORS, X.dense(), y, only="woodworth2020/lemma13")
    assert [v.key for v in dense] == ["woodworth2020/lemma13"] and dense.holds
    about = {t.key for t in theorems() if t.matrices}
    everything = tacit.check(FACTORS, SQUARES, [0.1, 0.2], draws=1, widths=(10, 20))
    assert {v.key for v in (*everything, *everything.others)} | set(everything.refused) == about


FACTORS = tacit.Factorization.gaussian((3, 3), 50, 0.3, seed=0)
SQUARES = np.stack([np.eye(3), np.diag([1.0, 0.0, -1.0])])
BAD = {
    "order": (lambda m, X, y: tacit.check(X, y, m), "the model comes first"),
    "no model": (lambda m, X, y: tacit.check("diagonal", X, y), "model must be a Tacit model, got str"),
    "class": (lambda m, X, y: tacit.check(tacit.Diagonal, X, y), "model must be a Tacit model, got type"),
    "list": (lambda m, X, y: tacit.check(m, X, y, only=["theorem1"]), "only must be .* a string, got list"),
    "nan": (lambda m, X, y: tacit.check(m, X * np.nan, y), "X"),
    "shape": (lambda m, X, y: tacit.check(m, X, y[1:]), "X has 4 rows, y has 3"),
    "key": (lambda m, X, y: tacit.check(m, X, y, only="woodwoth2020"), "did you mean woodworth2020"),
    "name": (
        lambda m, X, y: tacit.check(m, X, y, epsilom=1),
        "none of the selected theorems takes a parameter",
    ),
    "no rows": (lambda m, X, y: tacit.check(m, X[:0], y[:0]), "at least one sample"),
    "no columns": (lambda m, X, y: tacit.check(m, X[:, :0], y), "at least one sample"),
    "features": (lambda m, X, y: tacit.check(tacit.Neuron(1.0, np.ones(5)), X, y), "5 features .* has 9"),
    "matrices": (lambda m, X, y: tacit.check(FACTORS, X, y), "X must have 3 dimensions"),
    "vectors": (lambda m, X, y: tacit.check(FACTORS, SQUARES, [1.0, 2.0], only="min2021"), "about matrices"),
    "value": (lambda m, X, y: tacit.check(m, X, y, epsilon=-1), "epsilon must be a positive number"),
}


@pytest.mark.parametrize("mistake", BAD)
def test_invalid_arguments_raise(mistake, model, problem):
    call, words = BAD[mistake]
    with pytest.raises(tacit.InputError, match=words):
        call(model, *problem)
