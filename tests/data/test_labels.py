"""Two classes with any names are converted to labels −1 and +1 by every function that needs labels."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import tacit

pytestmark = pytest.mark.any_cpu

X = np.random.default_rng(2).standard_normal((4, 9))
SIGNS = np.array([1.0, -1.0, -1.0, 1.0])
NAMED = {
    "0 and 1": (SIGNS > 0).astype(int),
    "truths": SIGNS > 0,
    "codes": [8, 3, 3, 8],
    "words": ["well", "ill", "ill", "well"],
    "a column": [["well"], ["ill"], ["ill"], ["well"]],
    "bytes": np.array([b"well", b"ill", b"ill", b"well"]),
    "texts of signs": ["+1", "-1", "-1", "+1"],
    "objects": np.array([1, 0, 0, 1], dtype=object),
    "a series": pd.Series(["b", "a", "a", "b"], index=[7, 3, 1, 2]),
    "categories": pd.Categorical(["b", "a", "a", "b"], categories=["b", "a"]),
}
VERBS = {
    "max_margin": lambda y: tacit.max_margin(X, y, "l2").predictor,
    "margin_path": lambda y: tacit.margin_path(X, y, [1.0, 0.1]).predictors,
    "sweeping_path": lambda y: tacit.sweeping_path(X, y, [1.0, 0.1]).predictors,
    "flow": lambda y: tacit.flow(tacit.Diagonal(2, 0.5), X, y, loss="exp", until=5).predictor,
    "logistic": lambda y: tacit.flow(tacit.Diagonal(2, 0.5), X, y, loss="logistic", at=[1.0]).predictor,
    "certify": lambda y: tacit.certify(tacit.potentials.Quadratic(), X, y, SIGNS @ X, problem="margin").dual,
}


@pytest.mark.every(5)
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("names", NAMED)
def test_the_first_class_in_order_is_minus_one(verb, names):
    np.testing.assert_array_equal(VERBS[verb](NAMED[names]), VERBS[verb](SIGNS))


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("y", "match"),
    [
        (
            ["a", "b", "c", "a"],
            "3 classes: 'a', 'b', 'c'; keep the samples of two classes, or merge all but one",
        ),
        ([0, 1, 2, 1], "3 classes: 0, 1, 2; keep"),
        (["a", "a", "a", "a"], "only one class, 'a'"),
        ([0.5, 1.5, 0.5, 1.5], "needs labels −1 and \\+1, or two classes; y contains 0.5"),
        (["a", None, "b", "a"], r"y\[1\] is missing"),
        ([0, np.nan, 1, 0], "y must be finite"),
        ([["a", "b"]] * 4, "one label per sample"),
        ([[0, 1]] * 4, "one label per sample"),
        ([["a"], ["b", "a"], [], []], "rows of different lengths"),
        ([1j, 0, 1, 1], "must be numbers"),
    ],
)
def test_other_labels_are_refused_by_name(verb, y, match):
    with pytest.raises(tacit.InputError, match=match):
        VERBS[verb](y)


def test_a_regression_takes_no_words():
    with pytest.raises(tacit.InputError, match="y must be numbers, got 'well'"):
        tacit.limit(tacit.Diagonal(), X, NAMED["words"])


@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.coo_matrix, scipy.sparse.csc_matrix])
def test_sparse_matrices_are_taken_as_the_arrays_they_stand_for(kind):
    thin = np.where(np.abs(X) > 0.5, X, 0.0)
    for run in (
        lambda X: tacit.limit(tacit.Diagonal(2, 0.1), X, SIGNS).predictor,
        lambda X: tacit.flow(tacit.Diagonal(2, 0.1), X, SIGNS, until=3).predictor,
        lambda X: tacit.max_margin(X, SIGNS, "l1").predictor,
    ):
        np.testing.assert_array_equal(run(kind(thin)), run(thin))


def test_a_sparse_matrix_too_large_to_be_dense_is_refused_with_its_size():
    large = scipy.sparse.csr_array((4, 10**9))
    with pytest.raises(
        tacit.InputError, match=r"X is sparse, 4 × 1,000,000,000, .* which would take 32.0 GB"
    ):
        tacit.limit(tacit.Diagonal(), large, SIGNS)


def test_single_precision_is_computed_in_double():
    single = X.astype(np.float32)
    expected = tacit.limit(tacit.Diagonal(2, 0.1), single.astype(float), SIGNS).predictor
    np.testing.assert_array_equal(tacit.limit(tacit.Diagonal(2, 0.1), single, SIGNS).predictor, expected)
