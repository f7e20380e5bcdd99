"""Where flows of matrices end, and what minimizes a potential of matrices."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit.data.arrays import Float, kept
from tacit.data.equations import Samples
from tacit.errors import InconsistentDataError, InputError, NoPotentialError, TacitError
from tacit.potentials import Potential, Spectral
from tacit.results.limit import Limit
from tacit.solvers.interpolation.solution import NEAR, Solution
from tacit.solvers.kkt import relative_residual, stationarity_at
from tacit.solvers.matrices.commuting import COMMUTE, Diagonal, commutator, diagonalize
from tacit.solvers.matrices.factorization import MULTIPLE, ending, level_of, spectral_potential
from tacit.solvers.matrices.families import matrix_family
from tacit.solvers.matrices.measurements import Measurements, as_stack, check_symmetric, check_targets
from tacit.verbs.flow import flow

_FOLLOWED = 20_000  # entries of X up to which an error tells how far the flow ends from the nearest statement
_ROUGHLY = 1e-6  # how accurate that flow need be


@dataclass(frozen=True, eq=False)
class MatrixProblem:
    """A model or a potential of matrices with its measurements, checked; M̄(0) where it is a model's."""

    model: Any
    X: Float
    y: Float
    symmetric: bool
    lifted: Float | None

    @classmethod
    def of(cls, model: Any, X: Any, y: Any) -> MatrixProblem:
        """X: (N, d₁, d₂), or measurements of single entries; `InputError` names what does not fit."""
        stack = as_stack(X)
        y = check_targets(stack, y)
        if isinstance(model, Potential):
            symmetric = bool(getattr(model, "eigenvalues", False))
            return cls(model, check_symmetric(stack) if symmetric else stack, y, symmetric, None)
        stack, lifted = model.as_inputs(stack), model.lifted()
        symmetric = len(lifted) == stack.shape[1]
        return cls(model, check_symmetric(stack) if symmetric else stack, y, symmetric, lifted)

    @property
    def flat(self) -> Float:
        """The measurements as rows."""
        return self.X.reshape(len(self.X), -1)

    def measurements(self, samples: Samples, tol: float) -> Measurements:
        """As equations; `InconsistentDataError` where they have no solution."""
        return Measurements(samples.equations(self.y, tol), self.X.shape[1:], self.symmetric)

    def diagonal(self) -> Diagonal:
        """The frame in which the measurements are diagonal, if they commute."""
        return diagonalize(self.X, self.symmetric)


def matrix_limit(model: Any, X: Any, y: Any, tol: float, least_squares: bool = False) -> Limit:
    """argmin Q(M) subject to ⟨X_n, M⟩ = y_n; for a factorization, where its flow ends."""
    problem = MatrixProblem.of(model, X, y)
    problem = replace(problem, X=kept(problem.X), y=kept(problem.y))
    begun, samples = time.perf_counter(), Samples(problem.flat)
    solve = _minimizer if problem.lifted is None else _flow_end
    try:
        found = solve(problem, samples, tol)
    except InconsistentDataError:
        if not least_squares:
            raise
        fitted = samples.fittable(problem.y)
        share = float(np.linalg.norm(problem.y - fitted) / np.linalg.norm(problem.y))
        found = replace(solve(replace(problem, y=kept(fitted)), samples, tol), unfitted=share)
    return replace(found, seconds=time.perf_counter() - begun)


def refuse_units(intercept: bool, standardize: bool) -> None:
    """Centred features and units are those of tables."""
    if intercept or standardize:
        name = "intercept" if intercept else "standardize"
        raise InputError(f"{name} is for tables of features, not for measurements of a matrix; leave it out")


def _minimizer(problem: MatrixProblem, samples: Samples, tol: float) -> Limit:
    """Of a potential."""
    family, measured = matrix_family(problem.model), problem.measurements(samples, tol)
    solution = family.least(problem.model, measured)
    M = solution.predictor.reshape(problem.X.shape[1:])
    return _answer(
        problem,
        measured,
        solution,
        predictor=M,
        dual=measured.equations.dual(solution.nu),
        value=float(problem.model.value(M)),
        stationarity=problem.model.stationarity(M, measured.adjoint(solution.nu.value)),
        error=solution.error,
        method=family.METHOD,
        tol=tol,
        _samples=samples,
    )


def _flow_end(problem: MatrixProblem, samples: Samples, tol: float) -> Limit:
    """Of a factorization, by reduction to vectors where the measurements commute."""
    diagonal = problem.diagonal()
    if not diagonal.commute:
        raise no_potential(problem, follow=problem.X.size <= _FOLLOWED)
    assert problem.lifted is not None
    measured = problem.measurements(samples, tol)
    end = ending(problem.lifted, diagonal, problem.y, tol)
    solution, potential = end.solution, end.potential
    level, off = level_of(problem.lifted)
    value = float(potential.value(solution.predictor))
    if off <= MULTIPLE:
        value = float(spectral_potential(level, problem.symmetric).value(end.matrix))
    return _answer(
        problem,
        measured,
        solution,
        predictor=end.matrix,
        dual=end.equations.dual(solution.nu),
        value=value,
        stationarity=stationarity_at(
            potential, solution.predictor, end.equations.rounded_slopes(solution.nu)
        ),
        error=solution.error + diagonal.off,
        method=f"the measurements commute (to {diagonal.off:.0e}): a problem of vectors",
        tol=tol,
        _samples=samples,
    )


def _answer(
    problem: MatrixProblem,
    measured: Measurements,
    solution: Solution,
    *,
    predictor: Float,
    stationarity: float,
    error: float,
    tol: float,
    **known: Any,
) -> Limit:
    """The limit of what was solved, whichever way, with how well it fits the measurements."""
    feasibility = relative_residual(problem.flat, problem.y, predictor.ravel())
    return Limit(
        predictor=predictor,
        feasibility=feasibility,
        stationarity=stationarity,
        error=error,
        converged=bool(solution.settled and max(feasibility, stationarity) <= tol and error <= NEAR),
        iterations=solution.iterations,
        rank=len(measured.equations.y),
        seconds=0.0,
        model=problem.model,
        X=problem.X,
        y=problem.y,
        tol=float(tol),
        settled=solution.settled,
        _equations=measured.equations,
        **known,
    )


def potential_of_start(problem: MatrixProblem) -> Any:
    """The potential of matrices that the flow minimizes; `NoPotentialError` where there is none."""
    if problem.lifted is None:
        return problem.model
    if not problem.diagonal().commute:
        raise no_potential(problem, follow=False)
    level, off = level_of(problem.lifted)
    if off > MULTIPLE:
        raise NoPotentialError(
            f"M̄(0) is {off:.2g}·c from the nearest multiple c·I of the identity, c = {level:.4g}, and only "
            "from such a start is the end the least of a potential of M (Woodworth et al. 2020, Theorem 4); "
            "tacit.limit tells where this one ends, too",
            nearest=spectral_potential(level, problem.symmetric),
        )
    return spectral_potential(level, problem.symmetric)


def no_potential(problem: MatrixProblem, follow: bool) -> NoPotentialError:
    """Why there is none, what the nearest statement is, and how far from it the flow ends on these data."""
    assert problem.lifted is not None
    apart = commutator(problem.X, problem.symmetric)
    level, off = level_of(problem.lifted)
    nearest = spectral_potential(level, problem.symmetric)
    inner = nearest.potential
    name = f"{type(inner).__name__}({inner.log_scale:.6g})"
    option = ", eigenvalues=True" if problem.symmetric else ""
    distance = _distance(problem, nearest) if follow else float("nan")
    told = f"; the flow ends {distance:.2g} of its norm from it on these data" if distance == distance else ""
    return NoPotentialError(
        f"the measurements do not commute: ‖X̄_mX̄_n − X̄_nX̄_m‖/(‖X̄_m‖‖X̄_n‖) goes up to {apart:.2g}, and a "
        "matrix factorization has a potential only where it is 0 (Woodworth et al. 2020, Theorem 4; all "
        f"measurements diagonal in one frame to {COMMUTE:.0e}). The nearest statement is for M̄(0) = c·I "
        f"with c = {level:.4g}, from which this start is {off:.2g}·c away: "
        f"tacit.limit(Spectral({name}{option}), X, y), with Spectral and {type(inner).__name__} of "
        f"tacit.potentials{told}; tacit.flow runs it",
        nearest=nearest,
        commutator=apart,
        distance=distance,
    )


def _distance(problem: MatrixProblem, nearest: Spectral) -> float:
    """‖flow's end − minimizer‖_F, relative to the larger of them; NaN where either is not known."""
    try:
        run = flow(problem.model, problem.X, problem.y, rtol=_ROUGHLY)
        found = matrix_limit(nearest, problem.X, problem.y, 1e-8)
    except TacitError:
        return float("nan")
    if not (run.converged and found.converged):
        return float("nan")
    end = run.predictor[-1]
    size = max(np.linalg.norm(end), np.linalg.norm(found.predictor))
    return float(np.linalg.norm(end - found.predictor) / (size or 1.0))
