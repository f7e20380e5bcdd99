"""Invalid input raises a one-line error that names the argument, the entry and the requirement."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from oracles import gaussian_problem

import tacit
from tacit.potentials import L1, Bregman, DeepHypentropy, Hypentropy, Quadratic, WeightDistance

pytestmark = pytest.mark.any_cpu

X, Y = gaussian_problem(4, 9, nonzero=2, seed=0)
W = np.linalg.pinv(X) @ Y
MODEL = tacit.Diagonal(2, 0.1)
NAN, INF = float("nan"), float("inf")
VERBS = {
    "limit": tacit.limit,
    "regime": tacit.regime,
    "certify": lambda model, X, y, **options: tacit.certify(model, X, y, W, **options),
}
every_verb = pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)


def refused(match, function, *arguments, **options):
    with pytest.raises(tacit.InputError, match=match) as caught:
        function(*arguments, **options)
    assert isinstance(caught.value, ValueError)
    assert "\n" not in str(caught.value)


def with_entry(array, where, value):
    changed = np.array(array, dtype=float)
    changed[where] = value
    return changed


@every_verb
@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_an_entry_that_is_not_finite_is_named_with_its_place(verb, value):
    bad_X, bad_y = with_entry(X, (2, 5), value), with_entry(Y, 1, value)
    refused(rf"X must be finite, got {value} at X\[2, 5\]; drop", verb, MODEL, bad_X, Y)
    refused(rf"y must be finite, got {value} at y\[1\]; drop", verb, MODEL, X, bad_y)


BAD_DATA = {
    "X is a vector": (X[0], Y, r"X must have 2 dimensions, got .*\(9,\)"),
    "X is a cube": (X[None], Y, r"X must have 2 dimensions, got .*\(1, 4, 9\)"),
    "X is nothing": (None, Y, "X must"),
    "y is nothing": (X, None, "y must"),
    "y is a number": (X, 1.0, r"y must have 1 .*dimensions"),
    "y is short": (X, Y[:3], "X has 4 rows, y has 3"),
    "y has two columns": (X, np.c_[Y, Y], r"y must be one number per sample.*\(4, 2\)"),
    "y is a row": (X, Y[None], r"y must be one number per sample.*\(1, 4\)"),
    "text in X": ([["a", 1.0], [2.0, 3.0]], [1, 2], "X must be numbers, got 'a'"),
    "text in y": (X, ["a", "b", "c", "d"], "y must be numbers, got 'a'"),
    "text in a frame": (pd.DataFrame({"a": ["x", "y"], "b": [1, 2]}), [1, 2], "X must be numbers, got 'x'"),
    "missing in a frame": (pd.DataFrame({"a": pd.array([1, None]), "b": [1, 2]}), [1, 2], "X must be"),
    "ragged rows": ([[1.0, 2.0], [3.0]], [1, 2], "X must be numbers, got rows of different lengths"),
    "complex X": (X + 1j, Y, "X must be numbers"),
    "complex y": (X, Y + 0j, "y must be numbers"),
    "dates": (np.full((4, 9), "2020-01-01", dtype="datetime64[D]"), Y, "X must be numbers"),
    "masked entries": (np.ma.masked_array(X, X > 1), Y, "X must"),
    "a dictionary": ({"a": 1}, Y, "X must be numbers"),
    "integers beyond floats": ([[10**400, 1]], [1], "X must"),
    "long doubles beyond floats": (np.array([[1, 2]]) * np.longdouble("1e400"), [1], "X must be finite"),
    "no samples": (np.empty((0, 3)), [], r"X must have at least one sample .* got \(0, 3\)"),
    "no features": (np.empty((4, 0)), Y, r"X must have .* one feature .* got \(4, 0\)"),
}


@every_verb
@pytest.mark.parametrize("case", BAD_DATA)
def test_data_of_the_wrong_kind_or_shape_are_refused(verb, case):
    bad_X, bad_y, match = BAD_DATA[case]
    refused(match, verb, MODEL, bad_X, bad_y)


BAD_MODELS = [
    *((tacit.Diagonal, {"scale": bad}, "scale must be positive") for bad in (-1, -1e-300)),
    *((tacit.Diagonal, {"scale": bad}, "scale must be finite") for bad in (NAN, INF)),
    *((tacit.Diagonal, {"scale": bad}, "scale must") for bad in ("small", "0.1", None, 1j, [0.1, 0.2])),
    *((tacit.Diagonal, {"depth": bad}, "depth must be at least 2") for bad in (1, 0, -3, 1.999, True)),
    *((tacit.Diagonal, {"depth": bad}, "depth must") for bad in (NAN, INF, "two", "2", None, [2, 3])),
    *((tacit.Diagonal, {"log_scale": bad}, "log_scale must") for bad in (NAN, INF, -INF, "a", "1", [1])),
    *((tacit.Diagonal, {"scale": s, "log_scale": -1.0}, "scale or log_scale, not both") for s in (0.1, NAN)),
    (tacit.Diagonal, {"profile": [1, 0, 1]}, r"profile must be positive, got profile\[1\] = 0"),
    (tacit.Diagonal, {"profile": [1, 1, -2]}, r"profile must be positive, got profile\[2\] = -2"),
    (tacit.Diagonal, {"profile": [1, NAN]}, r"profile must be finite, got nan at profile\[1\]"),
    (tacit.Diagonal, {"profile": 1.0}, "profile must have 1 dimension"),
    (tacit.Diagonal, {"profile": np.ones((3, 1))}, "profile must have 1 dimension"),
    (tacit.Diagonal, {"profile": ["a", "b"]}, "profile must be numbers, got 'a'"),
    *((tacit.UntiedDiagonal, {"scale": bad}, "scale must be positive") for bad in (0, -1, [1, 0])),
    *((tacit.UntiedDiagonal, {"scale": bad}, "scale must be") for bad in (NAN, INF, "a", None, 1j)),
    *((tacit.UntiedDiagonal, {"shape": bad}, "shape must lie .* -1 and 1") for bad in (1, -1, 1.5, [0, -2])),
    *((tacit.UntiedDiagonal, {"shape": bad}, "shape must be") for bad in (NAN, INF, "a", None)),
    (tacit.UntiedDiagonal, {"scale": [1, 2], "shape": [0, 0, 0]}, "scale has 2 entries and shape has 3"),
]


@pytest.mark.parametrize(("build", "options", "match"), BAD_MODELS)
def test_an_initialization_that_is_none_is_refused(build, options, match):
    refused(match, build, **options)


@pytest.mark.parametrize(
    ("weights", "match"),
    [
        ((np.ones(9), np.ones(8), 1, 1), r"same length, got u_plus \(9,\), v_plus \(8,\)"),
        ((1, NAN, 1, 1), "v_plus must be finite"),
        ((1, 1, [1, INF], 1), r"u_minus must be finite, got inf at u_minus\[1\]"),
        ((1, 1, 1, "a"), "v_minus must be numbers"),
        ((np.ones((3, 3)), 1, 1, 1), "u_plus must have 0 or 1 dimension"),
    ],
)
def test_weights_that_do_not_fit_together_are_refused(weights, match):
    refused(match, tacit.UntiedDiagonal.from_weights, *weights)


@pytest.mark.parametrize(
    "model",
    [
        tacit.Diagonal(2, 0.1, profile=np.ones(5)),
        tacit.Diagonal(3, 0.1, profile=np.ones(5)),
        tacit.UntiedDiagonal(np.ones(5)),
        tacit.UntiedDiagonal(0.1, np.zeros(5)),
        tacit.UntiedDiagonal.from_weights(np.ones(5), 1, 1, 1),
    ],
)
def test_a_model_of_other_dimension_than_the_data_is_refused(model):
    for verb in VERBS.values():
        refused("5 .* 9 features", verb, model, X, Y)
    refused("5 .* 9 features", model.tangent_kernel, X)
    refused("5 .* 9 features", model.potential, 9)
    refused("X must have 2 dimensions", model.tangent_kernel, X[0])


@every_verb
@pytest.mark.parametrize(
    "model", [None, "diagonal", 3, X, tacit.Diagonal], ids=["None", "str", "int", "array", "class"]
)
def test_what_is_no_model_is_refused(verb, model):
    refused("(model|potential) must be a|the model comes first", verb, model, X, Y)


CALLS = {
    tacit.limit: r"the model comes first: limit\(model, X, y\)",
    tacit.flow: r"the model comes first: flow\(model, X, y\)",
    tacit.regime: r"the model comes first: regime\(model, X, y\)",
    VERBS["certify"]: r"the model comes first: certify\(model, X, y, predictor\)",
    partial(tacit.theorems.check, "woodworth2020/theorem1"): "the model comes first: check\\('woodworth2020",
}


@pytest.mark.parametrize("verb", CALLS)
def test_the_model_comes_first(verb):
    for model in (MODEL, tacit.potentials.L1()):
        refused(CALLS[verb], verb, X, Y, model)
        refused(CALLS[verb], verb, X, model, Y)
    refused(CALLS[verb], verb, X.tolist(), Y, Y)


def test_a_matrix_factorization_says_that_it_has_no_limit_but_a_flow():
    model = tacit.Factorization.gaussian((3, 2), width=2, scale=0.1)
    data = np.random.default_rng(0).standard_normal((2, 3, 2))
    for verb in (tacit.limit, VERBS["certify"]):
        with pytest.raises(tacit.NoPotentialError, match=r"do not commute.*Use tacit\.flow"):
            verb(model, data, [1.0, 2.0])
    assert tacit.flow(model, data, [1.0, 2.0], until=3).converged


@pytest.mark.parametrize("verb", [VERBS["limit"], VERBS["certify"]], ids=["limit", "certify"])
@pytest.mark.parametrize("tol", [0, -1, NAN, INF, "small", None])
def test_a_tolerance_that_is_none_is_refused(verb, tol):
    refused("tol must", verb, MODEL, X, Y, tol=tol)


@pytest.mark.parametrize("problem", ["classification", "", None, 3])
def test_certify_names_the_problems_it_knows(problem):
    refused('problem must be "regression" or "margin"', VERBS["certify"], MODEL, X, Y, problem=problem)


def test_margins_need_labels():
    refused(r"needs labels −1 and \+1", VERBS["certify"], MODEL, X, Y, problem="margin")


@pytest.mark.parametrize(
    ("predictor", "match"),
    [
        (W[:5], "predictor has 5 entries but X has 9 features"),
        (W[:, None], r"predictor must have 1 dimension.*\(9, 1\)"),
        (with_entry(W, 4, NAN), r"predictor must be finite, got nan at predictor\[4\]"),
        (W + 0j, "predictor must be numbers"),
        (None, "predictor must"),
        ("w", "predictor must be numbers"),
    ],
)
def test_certify_refuses_what_is_no_predictor(predictor, match):
    refused(match, tacit.certify, MODEL, X, Y, predictor)


@pytest.mark.parametrize("verb", [tacit.limit, tacit.regime])
def test_weights_whose_coordinate_cannot_move_both_ways_have_no_potential(verb):
    u = with_entry(np.ones(9), 3, 0.0)
    model = tacit.UntiedDiagonal.from_weights(np.ones(9), np.ones(9), u, u)
    with pytest.raises(tacit.NoPotentialError, match=r"k = 0 at coordinate 3: .*; change u or v slightly"):
        verb(model, X, Y)
    with pytest.raises(tacit.NoPotentialError, match="k = 0"):
        model.potential(9)


ONE_NEGATIVE = with_entry(np.ones(9), 4, -1.0)
BAD_POTENTIALS = [
    *((Quadratic, (bad,)) for bad in (0.0, -1.0, NAN, INF, "a", ONE_NEGATIVE, np.ones((9, 3)), -np.eye(9))),
    *((DeepHypentropy, (bad, 0.0)) for bad in (2, 1, NAN, INF, "3", None)),
    *((DeepHypentropy, (3, bad)) for bad in (NAN, "a")),
    *((L1, (bad,)) for bad in (-1.0, 0.0, NAN, "a", ONE_NEGATIVE)),
    *((Hypentropy, bad) for bad in ((NAN,), ("a",), (0.0, -1.0), (0.0, 0.0), (0.0, NAN))),
    *((WeightDistance, (bad,)) for bad in (NAN, "a")),
    *((Bregman, bad) for bad in ((Hypentropy(0.0), NAN), (None, 0.0))),
]


@pytest.mark.parametrize(("build", "arguments"), BAD_POTENTIALS)
def test_what_is_no_potential_is_refused_before_it_is_minimized(build, arguments):
    refused("must", lambda: tacit.limit(build(*arguments), X, Y))


@pytest.mark.parametrize(
    "potential",
    [
        L1(np.ones(5)),
        Quadratic(np.ones(5)),
        Quadratic(np.eye(5)),
        Hypentropy(np.zeros(5)),
        DeepHypentropy(3, 0.0, np.ones(5)),
        Bregman(Hypentropy(0.0), np.ones(5)),
    ],
    ids=["l1", "diagonal metric", "metric", "hypentropy", "deep", "bregman"],
)
def test_a_potential_of_other_dimension_than_the_data_is_refused(potential):
    for verb in (VERBS["limit"], VERBS["certify"]):
        refused("5 .* 9 features", verb, potential, X, Y)


def normal(*shape, seed):
    return np.random.default_rng(seed).standard_normal(shape)


INCONSISTENT = {
    "the same sample with two targets": (np.array([[1.0, 2, 3], [1, 2, 3]]), np.array([1.0, 2.0])),
    "a sample of zeros": (np.array([[1.0, 2.0], [0, 0]]), np.array([1.0, 1.0])),
    "nothing but zeros": (np.zeros((2, 3)), np.array([3.0, 4.0])),
    "more samples than features": (normal(8, 3, seed=0), normal(8, seed=1)),
    "unequal samples": (normal(4, 2, seed=2) * [[10], [1], [0.1], [1]], normal(4, seed=3)),
    "very unequal samples": (normal(4, 2, seed=2) * [[1e5], [1], [1e-5], [1]], normal(4, seed=3)),
    "unequal features": (normal(6, 2, seed=4) * [1e3, 1e-3], normal(6, seed=5)),
}


@pytest.mark.parametrize("case", INCONSISTENT)
def test_equations_without_a_solution_are_refused_with_their_least_squares_residual(case):
    A, b = INCONSISTENT[case]
    residual = np.linalg.norm(A @ np.linalg.lstsq(A, b, rcond=None)[0] - b) / np.linalg.norm(b)
    for verb in (tacit.limit, tacit.regime):
        with pytest.raises(tacit.InconsistentDataError, match=r"X w = y has no solution.*or use") as caught:
            verb(MODEL, A, b)
        assert caught.value.residual == pytest.approx(residual, rel=1e-6)
