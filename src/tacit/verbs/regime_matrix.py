"""Kernel, rich, or in between: the regimes of matrix factorizations and of potentials of matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.data.equations import Samples
from tacit.errors import TacitError
from tacit.numerics.angles import turned
from tacit.numerics.normal import weighted_gram
from tacit.numerics.spectra import Frame
from tacit.results.limit import Limit
from tacit.solvers.matrices.factorization import ending
from tacit.solvers.matrices.kernel import tangent_end, tangent_rows
from tacit.solvers.matrices.nuclear import least_nuclear
from tacit.solvers.matrices.schatten import inverse_stiffness
from tacit.verbs.flow import flow
from tacit.verbs.limit_matrix import MatrixProblem

RICH_END = "nuclear norm"
_ROUGHLY = 1e-8  # how accurate the flow is run that tells where a factorization ends
_ANY = 1e-6


def matrix_ends(problem: MatrixProblem) -> tuple[Float, Float]:
    """The limits at infinite and at zero scale.

    Kernel end: the solution nearest to the start in its tangent metric, which is the Frobenius norm from
    M̄(0) = c·I and for potentials. Rich end: the least nuclear norm; of positive semidefinite matrices, where
    the model has no others.
    """
    shape = problem.X.shape[1:]
    rich = least_nuclear(problem.measurements(Samples(problem.flat), _ANY)).predictor.reshape(shape)
    return kernel_end(problem), rich


def kernel_end(problem: MatrixProblem) -> Float:
    """Where the model linearized at its start goes."""
    d1, d2 = problem.X.shape[1:]
    if problem.lifted is not None:
        start = problem.lifted if problem.symmetric else problem.lifted[:d1, d1:]
        return tangent_end(start, problem.lifted, problem.X, problem.y)
    start = np.zeros((d1, d2))
    if problem.symmetric:
        start = np.diag(np.asarray(problem.model.potential.start(d1), dtype=float))
    return tangent_end(start, np.eye(d1 if problem.symmetric else d1 + d2), problem.X, problem.y)


def turning(problem: MatrixProblem, result: Limit) -> float:
    """1 − cos of the angle between the tangent kernels at the start and at the limit; NaN where unknown."""
    if problem.lifted is not None:
        end = ending(problem.lifted, problem.diagonal(), problem.y, result.tol).lifted
        kernels = (rows @ rows.T for rows in (tangent_rows(L, problem.X) for L in (problem.lifted, end)))
        return turned(*kernels)
    if problem.model.family != "spectral":
        return math.nan
    frame = Frame.of(np.tensordot(result.dual, problem.X, 1), problem.symmetric)
    rows = frame.coordinates(problem.X)
    W = inverse_stiffness(problem.model.potential, frame)
    return turned(weighted_gram(rows, np.ones_like(W)), weighted_gram(rows, W / W.max()))


def followed_end(model: Any, X: Any, y: Any) -> tuple[Float, float] | None:
    """Where the flow ends and how far its tangent kernel has turned; None where that is not known."""
    try:
        run = flow(model, X, y, rtol=_ROUGHLY)
    except TacitError:
        return None
    return (run.predictor[-1], run.final_kernel_distance) if run.converged else None
