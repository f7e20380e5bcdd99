"""Small data sets with every kind of degeneracy, and the conditions of a maximum margin, recomputed.

Rows of Z are y_n x_n throughout.
"""

import numpy as np
import pytest

import tacit

THREE = {  # rows y_n x_n, with the properties that the figures of Moroshko et al. 2020 need
    "one support vector": [[0.9, 0.5, -0.2], [1.5, 0.8, 0.1], [1.2, 0.8, 0.2]],
    "two support vectors": [[1, 1.5, -0.5], [1.1, -0.1, 0.1], [-0.5, 1.5, 0.6]],
    "many l1 solutions": [[1, 1, 0.3], [2.5, 0.2, 1], [1.6, 0.8, -0.4]],
    "kink": [[1.18, 1.37, -0.27], [0.83, 0.76, 0.7], [1.06, -0.49, 1.39]],
    "4a": [[1.21, 0.72, 1.45], [0.37, -0.14, -0.43], [1.04, -0.33, 0.79]],
    "4b": [[0.56, 1.43, 0.41], [1.12, 1.01, -0.86], [0.34, -0.57, 1.46]],
}
DEGENERATE = {
    "one sample": [[0.5, -2, 1]],
    "one sample, one feature": [[-4.0]],
    "one feature": [[2.0], [3.0], [0.5]],
    "one sample, all ties": [[1, 1, -1]],
    "one sample, one feature that counts": [[0, 1]],
    "ties and features that do not count": [[1, -1, 0, 0]],
    "a diamond": [[1, -1], [-1, -1]],
    "two samples for one coordinate": [[-0.2, -0.5, -0.3], [-0.6, 0.7, -0.3]],
    "rows equal up to rounding": [[0.3, 0.2, -0.1], [0.1 + 0.2, 0.2, -0.1], [1, -1, 3]],
    "equal rows": [[1, 2, 0], [1, 2, 0], [1, 2, 0]],
    "parallel rows": [[1, 2, -1], [2, 4, -2], [0.5, 1, -0.5], [1, -1, 3]],
    "a column of zeros": [[0, 1, 2], [0, 2, -1]],
    "equal columns": [[1, 1, 2], [-1, -1, 3], [2, 2, 0]],
    "opposite columns": [[1, -1, 0.5], [2, -2, -1]],
    "whole numbers": [[1, 1, 0], [0, 1, 1], [1, 0, 1], [1, 1, 1]],
    "small whole numbers": [[1, -2, 1], [2, -1, 0], [0, 2, 2], [2, -2, 1]],
    "a corner shared by many": [[1, 0, 0], [0, 1, 0], [1, 1, -1], [1, 1, 1], [2, 0, 0], [1, 2, 0]],
    "unequal units": [[1e3, 2e-3, 1], [-3e3, 5e-3, 2], [1e3, 1e-3, -1]],
    "unequal samples": [[1e4, 2e4, 0], [1e-4, 0, 1e-4], [0, 1, -1]],
    "classes that nearly touch": [[1, 0], [-1, 1e-4]],
}
SMALL = {name: np.array(rows, float) for name, rows in {**THREE, **DEGENERATE}.items()}
THREE = {name: SMALL[name] for name in THREE}


def solve(Z, norm):
    """max_margin of samples whose y_n x_n are the rows of Z, with labels of both signs."""
    y = np.where(np.arange(len(Z)) % 2, 1.0, -1.0)
    return tacit.max_margin(y[:, None] * Z, y, norm)


def separable(samples, features, seed):
    """Rows y_n x_n of Gaussian samples labelled by a Gaussian teacher."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((samples, features))
    return np.sign(X @ rng.standard_normal(features))[:, None] * X


def close(found, exact, tol=1e-9):
    exact = np.asarray(exact, float)
    np.testing.assert_allclose(found, exact, rtol=0, atol=tol * np.abs(exact).max())


def holds_rows(found, exact, tol=1e-9):
    """Check that all exact points are among those found."""
    assert np.ndim(found) == 2
    gaps = np.abs(np.asarray(found)[:, None] - exact[None]).max(axis=2)
    assert gaps.min(axis=0).max() <= tol * np.abs(exact).max()


def same_rows(found, exact, tol=1e-9):
    """Check that both sets of points are equal, in any order."""
    holds_rows(found, exact, tol)
    assert len(found) == len(exact)


def slopes(norm, w):
    """Lower and upper end of the subdifferential at w of the function that `norm` stands for."""
    norm = {"l1": 1, "l2": 2}.get(norm, norm) if isinstance(norm, str) else norm
    if isinstance(norm, int | float):
        slope = np.zeros_like(w)
        used = np.abs(w) > (1e-12 * np.abs(w).max() if norm <= 1 else 0)
        slope[used] = np.sign(w[used]) * (np.abs(w[used]) / size(norm, w)) ** (norm - 1)
        tiny = (1e-300 / size(norm, w)) ** (norm - 1) if norm > 1 else 1.0 if norm == 1 else np.inf
        return np.where(used, slope, -tiny), np.where(used, slope, tiny)
    if hasattr(norm, "subdifferential"):
        return norm.subdifferential(w)
    return norm.gradient(w), norm.gradient(w)


def size(norm, w):
    norm = {"l1": 1, "l2": 2}.get(norm, norm) if isinstance(norm, str) else norm
    if isinstance(norm, int | float):
        return np.sum(np.abs(w) ** norm) ** (1 / norm)
    return float(norm.value(w))


def check(found, Z, norm, tol=1e-9):
    """Recompute all properties of a result; for convex functions this proves optimality."""
    w, nu, margins = found.predictor, found.dual, Z @ found.predictor
    assert w.shape == (Z.shape[1],) and nu.shape == (len(Z),)
    assert found.converged and 0 <= found.kkt <= tol
    assert (nu >= 0).all() and margins.min() >= 1 - tol
    np.testing.assert_array_equal(found.support, np.flatnonzero(nu > 0))
    assert (nu * np.abs(margins - 1)).max() <= tol * (nu.max() or 1.0)
    lower, upper = slopes(norm, w)
    force, unit = Z.T @ nu, np.abs(np.where(np.isfinite(lower), lower, 0)).max() or 1.0
    assert np.maximum(lower - force, force - upper).max() <= tol * unit
    assert found.value == pytest.approx(size(norm, w), rel=1e-12, abs=1e-300)
    if isinstance(norm, str | int | float):
        assert nu.sum() == pytest.approx(found.value, rel=tol)
