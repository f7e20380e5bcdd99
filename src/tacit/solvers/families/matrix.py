"""Matrix factorizations, and potentials of matrices: limits, ends of the scale, and certificates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.data.arrays import Float, as_floats
from tacit.data.equations import ANY, Samples
from tacit.errors import InconsistentDataError, InputError, NoPotentialError, TacitError
from tacit.numerics.double_double import Pair
from tacit.numerics.kernel_comparison import cosine_distance
from tacit.numerics.normal_equations import weighted_gram
from tacit.numerics.spectra import Frame
from tacit.potentials import Spectral
from tacit.results.certificate import Certificate
from tacit.results.limit import Estimate, Limit
from tacit.solvers.families.ends import Ends
from tacit.solvers.families.vectors import doubt_with
from tacit.solvers.flow_callback import Follow
from tacit.solvers.interpolation.solution import Solution
from tacit.solvers.kkt import relative_residual, stationarity_at
from tacit.solvers.matrices import nuclear, schatten
from tacit.solvers.matrices.commuting import COMMUTE, Diagonal, commutator, diagonalize
from tacit.solvers.matrices.factorization import MULTIPLE, ending, level_of, spectral_potential
from tacit.solvers.matrices.kernel import tangent_end, tangent_rows
from tacit.solvers.matrices.measurements import Measurements, as_stack, check_symmetric, check_targets

RICH_END, RICH = "nuclear norm", "rich"
DECADES = 9  # each limit takes seconds
ENDS_MOVE = False
_FOLLOWED = 20_000  # entries of X up to which an error tells how far the flow ends from the nearest statement
_ROUGHLY = 1e-6  # accuracy of that flow, of which two digits are shown
_ANY = 1e-6  # tolerance of equations whose solution was found before
_MINIMIZERS = {"spectral": schatten, "nuclear": nuclear}  # of potentials, by family


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
        if not hasattr(model, "lifted"):  # a potential has no start
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


def as_data(model: Any, X: Any, y: Any) -> tuple[Float, Float]:
    """X as (N, d₁, d₂), symmetric where the model is, and y as (N,)."""
    problem = MatrixProblem.of(model, X, y)
    return problem.X, problem.y


def known(model: Any, X: Any, y: Any) -> bool:
    """Do the measurements of a factorization commute?"""
    problem = MatrixProblem.of(model, X, y)
    return problem.lifted is None or problem.diagonal().commute


def limit(model: Any, X: Float, y: Float, samples: Samples, tol: float, follow: Follow) -> Limit:
    """argmin Q(M) subject to ⟨X_n, M⟩ = y_n; for a factorization, where its flow ends."""
    problem = MatrixProblem.of(model, X, y)
    if problem.lifted is None:
        return _minimizer(problem, samples, tol)
    return _flow_end(problem, samples, tol, follow)


def _minimizer(problem: MatrixProblem, samples: Samples, tol: float) -> Limit:
    """Of a potential."""
    family, measured = _minimizer_of(problem.model), problem.measurements(samples, tol)
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
        method=family.METHOD,
        tol=tol,
        _samples=samples,
    )


def _minimizer_of(potential: Any) -> Any:
    """The solver of its family: `least`, `multipliers`, and METHOD, how the former works."""
    try:
        return _MINIMIZERS[potential.family]
    except KeyError:
        what = f"{type(potential).__name__} is of the family {potential.family!r}"
        raise NoPotentialError(f"{what}, which takes no matrices; {', '.join(_MINIMIZERS)} do") from None


def _flow_end(problem: MatrixProblem, samples: Samples, tol: float, follow: Follow) -> Limit:
    """Of a factorization, by reduction to vectors where the measurements commute."""
    diagonal = problem.diagonal()
    if not diagonal.commute:
        raise _no_potential(problem, follow if problem.X.size <= _FOLLOWED else None)
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
        off=diagonal.off,
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
    tol: float,
    off: float = 0.0,
    **known: Any,
) -> Limit:
    """The limit of what was solved, whichever way, with how well it fits the measurements."""
    feasibility = relative_residual(problem.flat, problem.y, predictor.ravel())
    return Limit(
        predictor=predictor,
        feasibility=feasibility,
        stationarity=stationarity,
        iterations=solution.iterations,
        rank=len(measured.equations.y),
        seconds=0.0,
        model=problem.model,
        X=problem.X,
        y=problem.y,
        tol=float(tol),
        settled=solution.settled,
        _error=Estimate(lambda: solution.error + off),
        _fits=bool(max(feasibility, stationarity) <= tol),
        _equations=measured.equations,
        **known,
    )


def _potential_of_start(problem: MatrixProblem) -> Any:
    """The potential of matrices that the flow minimizes; `NoPotentialError` where there is none."""
    if problem.lifted is None:
        return problem.model
    if not problem.diagonal().commute:
        raise _no_potential(problem, None)
    level, off = level_of(problem.lifted)
    if off > MULTIPLE:
        raise NoPotentialError(
            f"M̄(0) is {off:.2g}·c from the nearest multiple c·I of the identity, c = {level:.4g}, and only "
            "from such a start is the end the least of a potential of M (Woodworth et al. 2020, Theorem 4); "
            "tacit.limit tells where this one ends, too",
            nearest=spectral_potential(level, problem.symmetric),
        )
    return spectral_potential(level, problem.symmetric)


def _no_potential(problem: MatrixProblem, follow: Follow | None) -> NoPotentialError:
    """Why there is none, what the nearest statement is, and how far from it the flow ends on these data."""
    assert problem.lifted is not None
    apart = commutator(problem.X, problem.symmetric)
    level, off = level_of(problem.lifted)
    nearest = spectral_potential(level, problem.symmetric)
    inner = nearest.potential
    name = f"{type(inner).__name__}({inner.log_scale:.6g})"
    option = ", eigenvalues=True" if problem.symmetric else ""
    distance = float("nan") if follow is None else _distance(problem, nearest, follow)
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


def _distance(problem: MatrixProblem, nearest: Spectral, follow: Follow) -> float:
    """‖flow's end − minimizer‖_F, relative to the larger of them; NaN where either is not known."""
    try:
        run = follow(problem.model, problem.X, problem.y, rtol=_ROUGHLY)
        found = limit(nearest, problem.X, problem.y, Samples(problem.flat), 1e-8, follow)
    except TacitError:
        return float("nan")
    if not (run.converged and found.converged):
        return float("nan")
    end = run.predictor[-1]
    size = max(np.linalg.norm(end), np.linalg.norm(found.predictor))
    return float(np.linalg.norm(end - found.predictor) / (size or 1.0))


def has_ends(result: Any) -> bool:
    """They have both."""
    return True


def ends(result: Any) -> Ends:
    """The limits at infinite and at zero scale.

    Kernel end: the solution nearest to the start in its tangent metric, which is the Frobenius norm from
    M̄(0) = c·I and for potentials. Rich end: the least nuclear norm; of positive semidefinite matrices, where
    the model has no others.
    """
    problem = MatrixProblem.of(result.model, result.X, result.y)
    samples = getattr(result, "_samples", None) or Samples(problem.flat)
    rich = nuclear.least_nuclear(problem.measurements(samples, _ANY)).predictor
    return Ends(_kernel_end(problem), rich.reshape(problem.X.shape[1:]))


def _kernel_end(problem: MatrixProblem) -> Float:
    """Where the model linearized at its start goes."""
    d1, d2 = problem.X.shape[1:]
    if problem.lifted is not None:
        start = problem.lifted if problem.symmetric else problem.lifted[:d1, d1:]
        return tangent_end(start, problem.lifted, problem.X, problem.y)
    start = np.zeros((d1, d2))
    if problem.symmetric:
        start = np.diag(np.asarray(problem.model.potential.start(d1), dtype=float))
    return tangent_end(start, np.eye(d1 if problem.symmetric else d1 + d2), problem.X, problem.y)


def turning(result: Limit, ends: Ends, follow: Follow) -> float:
    """1 − cos of the angle between the tangent kernels at the start and at the limit; NaN where unknown."""
    problem = MatrixProblem.of(result.model, result.X, result.y)
    if problem.lifted is not None:
        end = ending(problem.lifted, problem.diagonal(), problem.y, result.tol).lifted
        kernels = (rows @ rows.T for rows in (tangent_rows(L, problem.X) for L in (problem.lifted, end)))
        return cosine_distance(*kernels)
    if problem.model.family != "spectral":
        return math.nan
    frame = Frame.of(np.tensordot(result.dual, problem.X, 1), problem.symmetric)
    rows = frame.coordinates(problem.X)
    W = schatten.inverse_stiffness(problem.model.potential, frame)
    return cosine_distance(weighted_gram(rows, np.ones_like(W)), weighted_gram(rows, W / W.max()))


def certify(
    model: Any, X: Any, y: Any, predictor: Any, problem: str, tol: float, follow: Follow
) -> Certificate:
    """The residuals of ∇Q(M) = Σ ν_n X_n, ⟨X_n, M⟩ = y_n."""
    if problem != "regression":
        raise InputError(f'measurements of a matrix have problem="regression" only, got {problem!r}')
    given = MatrixProblem.of(model, X, y)
    potential = _potential_of_start(given)
    M = as_floats(predictor, "predictor", ndim=(2,))
    if M.shape != given.X.shape[1:]:
        rows, columns = given.X.shape[1:]
        raise InputError(f"predictor has shape {M.shape} but the measurements are {rows}×{columns} matrices")
    residual = relative_residual(given.flat, given.y, M.ravel())
    try:
        measured = given.measurements(Samples(given.flat), ANY)
    except InconsistentDataError:
        return Certificate("regression", math.inf, residual, 0.0, math.inf, np.zeros(len(given.y)), tol)
    nu, kkt, error = _minimizer_of(potential).multipliers(potential, measured, M)
    return Certificate("regression", kkt, residual, 0.0, error, measured.equations.dual(Pair.of(nu)), tol)


def doubt(result: Limit) -> str:
    """Which measurements leave the limit in doubt, in words."""
    return doubt_with(result, result.y, result.predictor.ravel(), result.dual)
