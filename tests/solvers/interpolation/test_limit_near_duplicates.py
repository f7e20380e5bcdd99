"""Limits for nearly equal samples and features: accurate if the data determine them, else not converged."""

import numpy as np
import pytest
from near_duplicate_problems import GAPS, problem, spectra
from near_duplicates import Geometry, doubt, truth

import tacit

DETERMINED, WRONG = 1e-8, 1e-6  # the indeterminacy of the data, and an error that no converged limit may have
FLATTERY = 10  # the true error is at most this many times the estimate
NOISE = 1e-15  # errors and estimates below are rounding of the result itself


def relative(predictor, exact):
    return float(np.linalg.norm(predictor - exact.floats) / np.linalg.norm(exact.floats))


def assert_honest(limit, exact):
    """A converged limit is accurate, and its error estimate is not too small."""
    true = relative(limit.predictor, exact)
    if limit.converged:
        assert true <= WRONG
        assert true <= FLATTERY * max(limit.error, NOISE)


@pytest.mark.every(3)
@pytest.mark.parametrize("axis", ["rows", "columns"])
@pytest.mark.parametrize("third", range(3))
def test_limits_that_the_data_determine_converge_to_the_truth(axis, third):
    """A sample of the problems of benchmarks/near_duplicates.py."""
    first = 0 if axis == "rows" else len(GAPS)
    determined, converged = 0, 0
    for index in range(first + third, first + len(GAPS), 3):
        task = problem(index, seed=1)
        exact = truth(task.X, task.y, task.geometry)
        limit = tacit.limit(task.model(), task.X, task.y)
        assert_honest(limit, exact)
        known = doubt(task.X, task.y, task.geometry, exact) <= DETERMINED
        determined += known
        converged += known and limit.converged
    assert determined and converged >= 0.95 * determined


@pytest.mark.every(7)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("gap", [1e-6, 1e-8, 1e-10, 1e-12, 1e-13])
def test_replicates_that_differ_a_little(gap, seed):
    """Two of four samples differ by the gap; limits off by more than 1e-3 were once reported as converged."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((4, 10))
    X[1] = X[0] + gap * rng.standard_normal(10)
    y = X @ np.r_[1.0, 1.0, np.zeros(7), 1.0]
    depth = (2, 3, 4)[seed % 3]
    exact = truth(X, y, Geometry(depth, 1e-3))
    limit = tacit.limit(tacit.Diagonal(depth, 1e-3), X, y)
    assert_honest(limit, exact)
    assert limit.converged or doubt(X, y, Geometry(depth, 1e-3), exact) > DETERMINED


def one_direction():
    """Four samples, two of which differ by 1e-10: the round-off of X changes the limit by a relative 1e-6."""
    rng = np.random.default_rng(6)
    X = rng.standard_normal((4, 10))
    X[1] = X[0] + 1e-10 * rng.standard_normal(10)
    return X, X @ np.r_[1.0, 1.0, np.zeros(7), 1.0]


def test_small_residuals_are_not_an_answer():
    X, y = one_direction()
    exact = truth(X, y, Geometry(4, 1e-3))
    limit = tacit.limit(tacit.Diagonal(depth=4, scale=1e-3), X, y)
    assert_honest(limit, exact)
    assert relative(limit.predictor, exact) <= FLATTERY * limit.error


def test_small_residuals_are_not_a_certificate():
    """The limit of three of the four samples fits the fourth to 1e-10 and is nowhere near."""
    X, y = one_direction()
    model, geometry, three = tacit.Diagonal(depth=4, scale=1e-3), Geometry(4, 1e-3), [0, 2, 3]
    other = truth(X[three], y[three], geometry).floats
    true = relative(other, truth(X, y, geometry))
    certificate = tacit.certify(model, X, y, other)
    assert true > 0.1
    assert not certificate.holds
    assert certificate.error >= true / FLATTERY


def close_pair(gap):
    return [[1, 2, 0.5], [1, 2 + gap, 0.5 + gap]]


@pytest.mark.parametrize("depth", [2, 3, 4, 10])
@pytest.mark.parametrize("gap", [1e-9, 1e-10, 1e-11, 1e-12])
def test_converged_means_residuals_within_the_tolerance(gap, depth):
    y = [1, 1 + gap]
    for tol in (1e-10, 1e-30):
        limit = tacit.limit(tacit.Diagonal(depth, 1.0), close_pair(gap), y, tol=tol)
        assert not limit.converged or max(limit.feasibility, limit.stationarity) <= tol
        assert_honest(limit, truth(close_pair(gap), y, Geometry(depth, 1.0)))


@pytest.mark.every(3)
@pytest.mark.parametrize("scale", [1.0, 1e-3])
@pytest.mark.parametrize("depth", [2, 3, 4, 10])
@pytest.mark.parametrize("gap", [1e-9, 1e-10, 1e-11, 1e-12])
def test_unequal_targets_of_nearly_equal_samples_have_a_limit(gap, depth, scale):
    """The limit is large and solves the equations, but is not converged, since X has round-off."""
    limit = tacit.limit(tacit.Diagonal(depth, scale), close_pair(gap), [1, 2])
    assert limit.status == "rounding" and limit.error > 1e-8
    exact = truth(close_pair(gap), [1, 2], Geometry(depth, scale))
    assert relative(limit.predictor, exact) < 1e-14  # of these very floats; 2e-16 on any kernel
    assert gap * np.abs(limit.predictor).max() == pytest.approx(1, rel=1e-3)


@pytest.mark.every(3)
@pytest.mark.parametrize("depth", [3, 4])
@pytest.mark.parametrize("scale", [1e-2, 1e-4])
def test_collinear_spectra_converge(depth, scale):
    limits = [tacit.limit(tacit.Diagonal(depth, scale), *spectra(seed)) for seed in range(10)]
    assert sum(limit.converged for limit in limits) >= 9


@pytest.mark.parametrize(("depth", "scale"), [(3, 1e-4), (4, 1e-2)])
def test_collinear_spectra_against_many_digits(depth, scale):
    X, y = spectra(0, 30, 50)
    exact = truth(X, y, Geometry(depth, scale))
    limit = tacit.limit(tacit.Diagonal(depth, scale), X, y)
    assert limit.converged
    assert_honest(limit, exact)


@pytest.mark.parametrize("seed", [2, 6])
def test_samples_entered_twice_do_not_contradict_each_other(seed):
    """Even if the other samples hardly distinguish the features, with singular values down to 1e-5."""
    X, y = spectra(seed, ripple=0)
    found = tacit.limit(tacit.Diagonal(3, 1e-2), X, y)
    once = tacit.limit(tacit.Diagonal(3, 1e-2), *first_of_each(X, y))
    assert len(first_of_each(X, y)[0]) < len(X) and found.feasibility < 1e-10
    assert np.linalg.norm(found.predictor - once.predictor) <= 1e-8 * np.linalg.norm(once.predictor)


def first_of_each(X, y):
    """Every sample once."""
    first = np.unique(X, axis=0, return_index=True)[1]
    return X[first], y[first]


def test_spectra_told_apart_by_their_last_decimal():
    X, y = spectra(0, 20, 40, ripple=0)
    exact = truth(X, y, Geometry(3, 1e-2))
    limit = tacit.limit(tacit.Diagonal(3, 1e-2), X, y)
    assert doubt(X, y, Geometry(3, 1e-2), exact) < DETERMINED
    assert limit.converged
    assert_honest(limit, exact)
