"""Matrix factorizations and potentials of matrices: limits, limits of the scale, and certificates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.data.arrays import Float, as_floats, as_targets
from tacit.data.equations import ANY, Samples
from tacit.errors import InconsistentDataError, InputError, NoPotentialError, TacitError
from tacit.numerics.double_double import Pair
from tacit.numerics.normal_equations import weighted_gram
from tacit.numerics.spectra import Frame
from tacit.numerics.subspaces import cosine_distance
from tacit.potentials import Spectral
from tacit.results.certificate import Certificate
from tacit.results.limit import Estimate, Limit
from tacit.solvers.families.vectors import explain_output_error
from tacit.solvers.interpolation.solution import Ends, Follow, Solution, limit_result
from tacit.solvers.kkt import relative_residual, stationarity_at
from tacit.solvers.matrices import nuclear, schatten
from tacit.solvers.matrices.factorization import (
    COMMUTE,
    MULTIPLE,
    Diagonal,
    commutator,
    diagonalize,
    ending,
    level_of,
    spectral_potential,
)
from tacit.solvers.matrices.measurements import (
    Measurements,
    as_stack,
    check_square,
    tangent_end,
    tangent_rows,
)

RICH_END, RICH = "nuclear norm", "rich"
DECADES = 9  # scales in a figure; each limit takes seconds
ENDS_MOVE = False
# Entries of X up to which an error message runs the flow, to say how far it ends from the nearest theorem.
_MAX_ENTRIES = 20_000
_FLOW_RTOL = 1e-6  # tolerance of that flow, of which two digits are shown
_LIMIT_TOL = 1e-8  # tolerance of the limit it is compared with
_LOOSE_TOL = 1e-6  # tolerance of equations that are known to have a solution
_MINIMIZERS = {"spectral": schatten, "nuclear": nuclear}  # of potentials, by family


@dataclass(frozen=True, eq=False)
class MatrixProblem:
    """A validated model or potential with its measurements; lifted: M̄(0), None for a potential."""

    model: Any
    X: Float
    y: Float
    symmetric: bool
    lifted: Float | None

    @classmethod
    def of(cls, model: Any, X: Any, y: Any) -> MatrixProblem:
        """Validate the inputs; X: (N, d₁, d₂), or measurements of single entries."""
        stack = as_stack(X)
        y = as_targets(y, len(stack))[:, 0]
        if not hasattr(model, "lifted"):  # a potential has no initialization
            symmetric = bool(getattr(model, "eigenvalues", False))
            return cls(model, check_square(stack) if symmetric else stack, y, symmetric, None)
        stack, lifted = model.as_inputs(stack), model.lifted()
        symmetric = len(lifted) == stack.shape[1]
        return cls(model, check_square(stack) if symmetric else stack, y, symmetric, lifted)

    @property
    def flat(self) -> Float:
        """The measurements as rows."""
        return self.X.reshape(len(self.X), -1)

    def measurements(self, samples: Samples, tol: float) -> Measurements:
        """The measurements as equations; raises `InconsistentDataError` if they have no solution."""
        return Measurements(samples.equations(self.y, tol), self.X.shape[1:], self.symmetric)

    def diagonal(self) -> Diagonal:
        """The frame in which the measurements are as diagonal as possible."""
        return diagonalize(self.X, self.symmetric)


def as_data(model: Any, X: Any, y: Any) -> tuple[Float, Float]:
    """X as (N, d₁, d₂), symmetric if the model is, and y as (N,)."""
    problem = MatrixProblem.of(model, X, y)
    return problem.X, problem.y


def known(model: Any, X: Any, y: Any) -> bool:
    """Whether the measurements of a factorization commute; always true for a potential."""
    problem = MatrixProblem.of(model, X, y)
    return problem.lifted is None or problem.diagonal().commute


def limit(model: Any, X: Float, y: Float, samples: Samples, tol: float, follow: Follow) -> Limit:
    """argmin Q(M) subject to ⟨X_n, M⟩ = y_n for a potential; the limit of the flow for a factorization."""
    problem = MatrixProblem.of(model, X, y)
    if problem.lifted is None:
        return _minimizer(problem, samples, tol)
    return _flow_end(problem, samples, tol, follow)


def _minimizer(problem: MatrixProblem, samples: Samples, tol: float) -> Limit:
    """The minimizer of a potential."""
    family, measured = _minimizer_of(problem.model), problem.measurements(samples, tol)
    solution = family.interpolate(problem.model, measured)
    M = solution.predictor.reshape(problem.X.shape[1:])
    return _result(
        problem,
        measured,
        solution,
        tol,
        predictor=M,
        dual=measured.equations.dual(solution.nu),
        value=float(problem.model.value(M)),
        stationarity=problem.model.stationarity(M, measured.adjoint(solution.nu.value)),
        method=family.METHOD,
        _samples=samples,
    )


def _minimizer_of(potential: Any) -> Any:
    """The module of the potential's family, with `interpolate`, `multipliers` and METHOD."""
    try:
        return _MINIMIZERS[potential.family]
    except KeyError:
        raise NoPotentialError(
            f"{type(potential).__name__} has the family {potential.family!r}, which does not apply to "
            f"matrices; the families {' and '.join(_MINIMIZERS)} do"
        ) from None


def _flow_end(problem: MatrixProblem, samples: Samples, tol: float, follow: Follow) -> Limit:
    """The limit of a factorization with commuting measurements, by reduction to vectors."""
    diagonal = problem.diagonal()
    if not diagonal.commute:
        raise _no_potential(problem, follow if problem.X.size <= _MAX_ENTRIES else None)
    assert problem.lifted is not None
    measured = problem.measurements(samples, tol)
    end = ending(problem.lifted, diagonal, problem.y, tol)
    solution, potential = end.solution, end.potential
    level, off = level_of(problem.lifted)
    value = float(potential.value(solution.predictor))
    if off <= MULTIPLE:
        value = float(spectral_potential(level, problem.symmetric).value(end.matrix))
    return _result(
        problem,
        measured,
        solution,
        tol,
        predictor=end.matrix,
        dual=end.equations.dual(solution.nu),
        value=value,
        stationarity=stationarity_at(
            potential, solution.predictor, end.equations.rounded_slopes(solution.nu)
        ),
        off=diagonal.off,
        method=f"reduction to vectors (the measurements commute, to {diagonal.off:.0e})",
        _samples=samples,
    )


def _result(
    problem: MatrixProblem,
    measured: Measurements,
    solution: Solution,
    tol: float,
    *,
    predictor: Float,
    stationarity: float,
    off: float = 0.0,
    **fields: Any,
) -> Limit:
    """The `Limit` of a solution, with its residuals."""
    feasibility = relative_residual(problem.flat, problem.y, predictor.ravel())
    return limit_result(
        solution,
        (problem.model, problem.X, problem.y, tol),
        predictor=predictor,
        feasibility=feasibility,
        stationarity=stationarity,
        rank=len(measured.equations.y),
        _error=Estimate(lambda: solution.error + off),
        _fits=bool(max(feasibility, stationarity) <= tol),
        _equations=measured.equations,
        **fields,
    )


def _potential_of_start(problem: MatrixProblem) -> Any:
    """The potential of matrices that the flow minimizes; raises `NoPotentialError` if there is none."""
    if problem.lifted is None:
        return problem.model
    if not problem.diagonal().commute:
        raise _no_potential(problem, None)
    level, off = level_of(problem.lifted)
    if off > MULTIPLE:
        raise NoPotentialError(
            f"M̄(0) differs by {off:.2g}·c from the nearest multiple c·I of the identity (c = {level:.4g}); "
            "only from M̄(0) = c·I does the flow minimize a potential of M (Woodworth et al. 2020, Theorem "
            "4). tacit.limit computes the limit from other initializations, too",
            nearest=spectral_potential(level, problem.symmetric),
        )
    return spectral_potential(level, problem.symmetric)


def _no_potential(problem: MatrixProblem, follow: Follow | None) -> NoPotentialError:
    """The error for measurements that do not commute, with the nearest case that has a potential."""
    assert problem.lifted is not None
    apart = commutator(problem.X, problem.symmetric)
    level, off = level_of(problem.lifted)
    nearest = spectral_potential(level, problem.symmetric)
    inner = nearest.potential
    name = f"{type(inner).__name__}({inner.log_scale:.6g})"
    option = ", eigenvalues=True" if problem.symmetric else ""
    distance = float("nan") if follow is None else _distance(problem, nearest, follow)
    end = f"; on these data the flow ends at a relative distance of {distance:.2g} from it"
    measured = end if distance == distance else ""
    return NoPotentialError(
        f"the measurements do not commute: ‖X̄_mX̄_n − X̄_nX̄_m‖/(‖X̄_m‖‖X̄_n‖) is up to {apart:.2g}, and a "
        "potential of a matrix factorization is known only if it is 0 (Woodworth et al. 2020, Theorem 4; all "
        f"measurements diagonal in one frame, to {COMMUTE:.0e}). Use tacit.flow, or compare with the nearest "
        f"case that the theorem covers, commuting measurements and M̄(0) = c·I with c = {level:.4g} (this "
        f"initialization differs by {off:.2g}·c): tacit.limit(Spectral({name}{option}), X, y), with Spectral "
        f"and {type(inner).__name__} from tacit.potentials{measured}",
        nearest=nearest,
        commutator=apart,
        distance=distance,
    )


def _distance(problem: MatrixProblem, nearest: Spectral, follow: Follow) -> float:
    """Relative Frobenius distance between the flow's limit and the minimizer of `nearest`; NaN if unknown."""
    try:
        run = follow(problem.model, problem.X, problem.y, rtol=_FLOW_RTOL)
        found = limit(nearest, problem.X, problem.y, Samples(problem.flat), _LIMIT_TOL, follow)
    except TacitError:
        return float("nan")
    if not (run.converged and found.converged):
        return float("nan")
    end = run.predictor[-1]
    size = max(np.linalg.norm(end), np.linalg.norm(found.predictor))
    return float(np.linalg.norm(end - found.predictor) / (size or 1.0))


def has_ends(result: Any) -> bool:
    """True: the scale of M̄(0)."""
    return True


def ends(result: Any) -> Ends:
    """The limits at infinite and at zero scale.

    Infinite scale: the solution nearest to initialization in the tangent metric, which is the Frobenius norm
    for M̄(0) = c·I and for potentials. Zero scale: the solution of minimum nuclear norm, among positive
    semidefinite matrices if the model has no others.
    """
    problem = MatrixProblem.of(result.model, result.X, result.y)
    samples = getattr(result, "_samples", None) or Samples(problem.flat)
    rich = nuclear.least_nuclear(problem.measurements(samples, _LOOSE_TOL)).predictor
    return Ends(_kernel_end(problem), rich.reshape(problem.X.shape[1:]))


def _kernel_end(problem: MatrixProblem) -> Float:
    """The limit of the model linearized at initialization."""
    d1, d2 = problem.X.shape[1:]
    if problem.lifted is not None:
        start = problem.lifted if problem.symmetric else problem.lifted[:d1, d1:]
        return tangent_end(start, problem.lifted, problem.X, problem.y)
    start = np.zeros((d1, d2))
    if problem.symmetric:
        start = np.diag(np.asarray(problem.model.potential.start(d1), dtype=float))
    return tangent_end(start, np.eye(d1 if problem.symmetric else d1 + d2), problem.X, problem.y)


def kernel_distance(result: Limit, ends: Ends, follow: Follow) -> float:
    """1 − cosine of the tangent kernels at initialization and at the limit; NaN if unknown."""
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
    """The residuals of ∇Q(M) = Σ ν_n X_n and ⟨X_n, M⟩ = y_n."""
    if problem != "regression":
        raise InputError(f'problem must be "regression" for measurements of a matrix, got {problem!r}')
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


def explain_error(result: Limit) -> str:
    """Name the measurements that leave the limit undetermined."""
    return explain_output_error(result, result.y, result.predictor.ravel(), result.dual)
