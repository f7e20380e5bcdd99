"""Newton's method on matrices of fixed rank converges quadratically."""

from dataclasses import replace

import numpy as np
import pytest

from tacit.data.equations import Samples
from tacit.solvers.matrices.measurements import Measurements
from tacit.solvers.matrices.nuclear import _Face, _of_rank, least_nuclear


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("seed", [3, 4])
def test_a_step_squares_the_error(symmetric, seed):
    rng = np.random.default_rng(seed)
    X, factor = rng.standard_normal((8, 5, 5)), rng.standard_normal((5, 2))
    X = X + X.transpose(0, 2, 1) if symmetric else X
    M = factor @ (factor.T if symmetric else rng.standard_normal((2, 5)))
    y = np.einsum("nij,ij->n", X, M)
    problem = Measurements(Samples(X.reshape(8, -1)).equations(y, 1e-10), (5, 5), symmetric)
    found = least_nuclear(problem)
    M, nu = found.predictor.reshape(5, 5), found.nu.value
    sizes = np.linalg.svd(M)[1]
    rank = int((sizes > 1e-6 * sizes[0]).sum())
    solution = _Face(problem, _of_rank(M, rank), nu, rank)
    errors = []
    for away in (1e-3, 1e-4):
        moved = rng.standard_normal((5, 5))
        moved = moved + moved.T if symmetric else moved
        near = replace(
            solution,
            matrix=_of_rank(M + away * sizes[0] * moved / np.linalg.norm(moved), rank),
            nu=nu * (1 + away * rng.standard_normal(len(nu))),
        )
        errors.append(np.linalg.norm(near.step().matrix - M) / sizes[0] / away**2)
    assert max(errors) < 1000, errors
