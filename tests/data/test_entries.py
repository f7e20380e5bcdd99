"""Partly observed matrices as measurements: valid and invalid inputs, and linear algebra."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import tacit
from tacit.data.entries import Entries

GAPS = np.array([[1.0, np.nan, 3.0], [np.nan, 0.0, -2.5]])
PLACES = [(0, 0), (0, 2), (1, 1), (1, 2)]
VALUES = [1.0, 3.0, 0.0, -2.5]
FRAME = pd.DataFrame(GAPS, index=["a", "b"], columns=["x", "y", "z"])


@pytest.mark.parametrize(
    "matrix",
    [
        GAPS,
        GAPS.tolist(),
        [[1, None, 3], [None, 0, -2.5]],
        GAPS.astype(np.float32),
        np.ma.masked_invalid(GAPS),
        FRAME,
        FRAME.astype({"x": "Int64", "z": "Float64"}),
        sparse.coo_array((VALUES, tuple(zip(*PLACES, strict=True))), shape=(2, 3)),
        sparse.csr_matrix((VALUES, tuple(zip(*PLACES, strict=True))), shape=(2, 3)),
        sparse.coo_array(([1.0, 1.0, 3, 0, -2.5], ([0, 0, 0, 1, 1], [0, 0, 2, 1, 2])), shape=(2, 3)),
    ],
)
def test_known_entries_are_measured_zeros_among_them(matrix):
    X, y = tacit.observed(matrix)
    assert list(zip(X.rows.tolist(), X.columns.tolist(), strict=True)) == PLACES
    assert X.shape == (2, 3) and len(X) == 4 and y.tolist() == VALUES
    assert repr(X) == "Entries(<4 of 2×3>)"


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.full((2, 2), np.nan), "the matrix has no observed entries"),
        (sparse.csr_array((2, 2)), "the matrix has no observed entries"),
        ([[1, 2], [np.nan, np.nan]], "row 1 has no observed entry"),
        ([[1, np.nan, np.nan], [2, np.nan, np.nan]], r"column 1 \(and 1 more\) has no observed entry"),
        (FRAME.assign(y=np.nan), "column 'y' has no observed entry"),
        (FRAME.T.assign(b=np.nan).T, "row 'b' has no observed entry"),
        (np.ones(3), r"two dimensions, rows and columns, got shape \(3,\)"),
        (np.ones((2, 2, 2)), "two dimensions"),
        (np.ones((0, 2)), "two dimensions"),
        ([["1", "two"]], "must hold numbers, got '1'"),
        ([[1.0, "two"]], "must hold numbers"),
        ([[1.0, np.inf]], r"entry \(0, 1\) of the matrix is infinite"),
        (sparse.csr_array([[1.0, np.nan]]), r"entry \(0, 1\) of the matrix is stored as NaN"),
    ],
)
def test_what_is_refused_is_named(matrix, message):
    with pytest.raises(tacit.InputError, match=message):
        tacit.observed(matrix)


def test_an_entry_that_is_stored_with_two_values_is_inconsistent():
    twice = sparse.coo_array(([1.0, 2.0, 3.0], ([0, 0, 0], [0, 0, 1])), shape=(1, 2))
    with pytest.raises(tacit.InconsistentDataError, match=r"entry \(0, 0\) is stored as both 1 and 2"):
        tacit.observed(twice)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 0], [1, 1], (1, 2)), r"entry \(0, 1\) is measured twice"),
        (([0, 1], [0], (2, 2)), "2 rows and 1 columns"),
        (([0], [2], (2, 2)), r"columns\[0\] is 2, outside the 2×2 matrix"),
        (([-1], [0], (2, 2)), r"rows\[0\] is -1, outside"),
        (([0.5], [0], (2, 2)), "rows must be a list of whole numbers"),
        (([0], [0], 3), "shape must be two whole numbers"),
        (([0], [0], (0, 3)), "shape must be two positive numbers"),
    ],
)
def test_entries_that_make_no_sense_are_refused(arguments, message):
    with pytest.raises(tacit.InputError, match=message):
        Entries(*arguments)


@pytest.fixture(params=["whole matrices", "entry by entry"])
def entries(request, monkeypatch):
    """Nine of twenty entries: enough to multiply whole matrices, unless the threshold prevents it."""
    if request.param == "entry by entry":
        monkeypatch.setattr("tacit.data.entries._SHARE", 1.0)
    rng = np.random.default_rng(1)
    places = rng.permutation(20)[:9]
    return Entries(places // 5, places % 5, (4, 5))


def test_measurements_are_those_of_matrices_with_a_single_one(entries):
    rng = np.random.default_rng(2)
    M, nu, U, V = (rng.standard_normal(shape) for shape in ((4, 5), (9,), (4, 3), (5, 3)))
    stack = np.zeros((9, 4, 5))
    for n, (i, j) in enumerate(zip(entries.rows, entries.columns, strict=True)):
        stack[n, i, j] = 1
    assert np.array_equal(entries.dense(), stack)
    np.testing.assert_array_equal(entries.forward(M), np.einsum("nij,ij->n", stack, M))
    np.testing.assert_allclose(entries.adjoint(nu) @ V, np.einsum("n,nij,jk->ik", nu, stack, V), atol=1e-14)
    assert sparse.issparse(entries.adjoint(nu)) != entries._dense_pays
    np.testing.assert_array_equal(entries.matrix(nu), np.einsum("n,nij->ij", nu, stack))
    np.testing.assert_allclose(entries.products(U, V), np.einsum("nij,ik,jk->n", stack, U, V), rtol=1e-14)


@pytest.mark.parametrize("options", [{}, {"loss": "exp"}, {"linearized": True}, {"method": "parameters"}])
def test_flows_on_entries_are_those_on_matrices(entries, options):
    y = np.random.default_rng(3).standard_normal(9)
    y = np.sign(y) if "loss" in options else y
    model = tacit.Factorization.gaussian((4, 5), 6, 0.3, seed=4)
    np.testing.assert_allclose(
        model.tangent_kernel(entries), model.tangent_kernel(entries.dense()), atol=1e-14
    )
    one, other = (tacit.flow(model, X, y, at=[2.0, 9.0], **options) for X in (entries, entries.dense()))
    np.testing.assert_allclose(one.predictor, other.predictor, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(one.kernel_distance, other.kernel_distance, atol=1e-7)
    assert "9 entries of a 4 × 5 matrix" in one.summary() and one.features is None


def test_entries_are_for_models_of_matrices_of_their_shape(entries):
    y = np.ones(9)
    refused = [
        (tacit.Diagonal(), {}, "Diagonal does not take entries of a matrix"),
        (
            tacit.Factorization.gaussian((5, 4), 3, 0.1),
            {},
            "takes 5×4 matrices, but the entries are from a 4×5",
        ),
        (tacit.Factorization.gaussian((4, 5), 3, 0.1), {"intercept": True}, "for tables of features"),
        (tacit.SymmetricFactorization.gaussian(5, 3, 0.1), {}, "symmetric measurements"),
    ]
    for model, options, message in refused:
        with pytest.raises(tacit.InputError, match=message):
            tacit.flow(model, entries, y, **options)
    with pytest.raises(tacit.InputError, match="9 samples"):
        tacit.flow(tacit.Factorization.gaussian((4, 5), 3, 0.1), entries, y[:-1])


def test_memory_grows_with_entries_and_factors():
    """400×400 with 8,000 observed entries: a stack of measurements would take 10 GB, predictors 250 MB."""
    rng = np.random.default_rng(0)
    target = np.outer(rng.standard_normal(400), rng.standard_normal(400))
    X, y = tacit.observed(np.where(rng.random((400, 400)) < 0.05, target, np.nan))
    model = tacit.Factorization.gaussian((400, 400), 5, 1e-2)
    tacit.flow(model, X, y, until=0.7)  # imports
    tracemalloc.start()
    try:
        run = tacit.flow(model, X, y, until=7.0, rtol=1e-4)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert run.converged and peak < 100e6
    assert run.predictor.shape == (len(run.accuracy), 400, 400)
    end = run.predictor[-1]
    np.testing.assert_allclose(X.forward(end), run.outputs[-1], atol=1e-12)
    assert np.linalg.norm(end - target) < 0.2 * np.linalg.norm(target)
    np.testing.assert_array_equal(run.predictor[-2:][1, 3], end[3])
    assert "end" in run.to_xarray() and run.to_dict()["predictor"] is None
