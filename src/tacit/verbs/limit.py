"""Where gradient flow on the square loss ends."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.data.arrays import Float, check_problem, check_squares, check_tolerance, feature_names, kept
from tacit.data.inputs import Inputs
from tacit.data.units import Units
from tacit.errors import InconsistentDataError, InputError
from tacit.models import LinearNetwork
from tacit.models.model import Model, check_intercept, check_model, is_network, neuron_of, takes_matrices
from tacit.numerics.pairs import Pair
from tacit.numerics.rounding import EPS
from tacit.numerics.spread import Spread
from tacit.potentials import Potential, Quadratic
from tacit.potentials.arrays import quiet
from tacit.results.limit import Limit
from tacit.results.trajectory import Trajectory
from tacit.solvers.families import family_of
from tacit.solvers.interpolation.equations import Samples
from tacit.solvers.interpolation.geometry import potential_of
from tacit.solvers.interpolation.solution import NEAR
from tacit.solvers.kkt import best_multipliers, relative_residual, stationarity, stationarity_at
from tacit.solvers.networks.linear import check_network, least_norm
from tacit.solvers.networks.neuron import as_it_ends, neuron_targets
from tacit.solvers.networks.rank_one import checked_rank_one
from tacit.verbs.flow import flow
from tacit.verbs.limit_matrix import matrix_limit, refuse_units
from tacit.verbs.prepare import samples_of

_ROUGH = 1e-6  # residual that rounding does not excuse
_LITERAL = 1e-12  # a tolerance below this is meant
_SEARCHED = 2_000_000  # entries of X up to which other multipliers are looked for


def limit(
    model: Model | Potential,
    X: Inputs,
    y: ArrayLike,
    *,
    tol: float = 1e-10,
    intercept: bool = False,
    standardize: bool = False,
    least_squares: bool = False,
) -> Limit:
    """argmin Q(w) subject to X w = y: where gradient flow on the square loss ends, without running it.

    Q is the potential of the model at its initialization (Woodworth et al. 2020, Theorems 1 and 3; Azulay et
    al. 2021, Theorems 1, 2 and 4). Samples or features that nearly coincide are solved for in twice the
    digits of floats, and doubted where their last bits decide. The result keeps its own copy of X and y, for
    its regime, unless they are larger than 64 MB: then do not change them while it is in use.

    Parameters
    ----------
    model : Model or Potential
        A model with its initialization, or the potential itself.
    X : (N, d) array-like, or Prepared
        Rows are samples. For models of matrices (N, d₁, d₂), or what `tacit.observed` gives; the equations
        are then ⟨X_n, M⟩ = y_n.
    y : (N,) array-like
        Targets; (N, m) for a network of m outputs.
    tol : float, optional
        What feasibility and stationarity must reach for the result to be called converged, beside an error
        below 1e-7.
    intercept : bool, optional
        Solve X w + b = y, with b free and not in Q.
    standardize : bool, optional
        Take Q of the weights that belong to features divided by their standard deviation (constant ones stay
        as they are). The predictor is for the features as they came.
    least_squares : bool, optional
        Where X w = y has no solution: of all w of least squares, that of least Q, where the flow ends then.
        The y of the result is what they fit.

    Returns
    -------
    Limit
        The predictor with its multipliers, its certificate and an estimate of its error.

    Raises
    ------
    InputError
        Where an argument is not what it should be.
    InconsistentDataError
        Where X w = y has no solution, and least_squares is not asked for.
    NoPotentialError
        Where no potential is known: networks in general, and factorizations whose measurements do not
        commute.

    See Also
    --------
    flow : The way there, and other losses.
    regime : Which end of the scale the limit is close to.
    certify : The same conditions for a predictor of your own.

    Examples
    --------
    Of the solutions of w₁ + 2w₂ = 2, small scales pick the sparse one and large scales the one of least norm.

    >>> import tacit
    >>> X, y = [[1, 2]], [2]
    >>> for scale in (1e-8, 1e4):
    ...     found = tacit.limit(tacit.Diagonal(scale=scale), X, y)
    ...     print(found.predictor.round(3), found.converged)
    [0. 1.] True
    [0.4 0.8] True
    """
    check_model("limit(model, X, y)", model, X, y)
    check_tolerance(tol)
    if takes_matrices(model):
        refuse_units(intercept, standardize)
        return matrix_limit(model, X, y, tol, least_squares)
    begun, names = time.perf_counter(), feature_names(X)
    if intercept or standardize:
        found = _limit_in_units(model, X, y, tol, intercept, standardize, least_squares)
        return replace(found, features=names)
    samples = samples_of(X)
    X, y = _checked(model, X, y)
    X, y = kept(X), kept(y)
    found = (_fitted_limit if least_squares else _limit)(model, X, y, samples or Samples(X), tol)
    return replace(found, features=names, seconds=time.perf_counter() - begun)


def _checked(model: Any, X: Any, y: Any) -> tuple[Float, Float]:
    """X and y as the model takes them, y as (N,) where there is one output."""
    X, Y = check_network(model, X, y) if is_network(model) else check_problem(X, y)
    return X, Y[:, 0] if Y.ndim == 2 and Y.shape[1] == 1 else Y


def _limit_in_units(
    model: Any, X: Any, y: Any, tol: float, intercept: bool, standardize: bool, least_squares: bool
) -> Limit:
    """The limit for centred or standardized data, told for the data as they came."""
    begun = time.perf_counter()
    check_intercept(model, intercept)
    X, y = _checked(model, X, y)
    check_squares(X, y)
    X = kept(X)
    units = Units.of(X, y, intercept, standardize)
    samples = Samples(X, intercept, Spread.of(X, units))
    inputs, targets = kept(units.features(X)), kept(units.targets(y))
    found = (_fitted_limit if least_squares else _limit)(model, inputs, targets, samples, tol)
    w = units.predictor(found.predictor)
    b = units.shift(w)
    return replace(
        found,
        predictor=w,
        intercept=b if b.ndim else float(b),
        X=X,
        y=kept(found.y + units.target),
        seconds=time.perf_counter() - begun,
        units=units,
        inside=found,
    )


def _fitted_limit(model: Any, X: Float, y: Float, samples: Samples, tol: float) -> Limit:
    """The limit for the part of y that X can fit: the flow does not notice the rest."""
    if isinstance(model, Model) and not model.parametrization.linear:
        raise InputError(
            "a leaky neuron is no linear model, and where it rests if it cannot fit the data no potential "
            "tells: leave least_squares out, or ask tacit.flow"
        )
    check_squares(X, y)
    try:
        return _limit(model, X, y, samples, tol)
    except InconsistentDataError:
        fitted = samples.fittable(y)
        share = float(np.linalg.norm(y - fitted) / np.linalg.norm(y))
        return replace(_limit(model, X, fitted, samples, tol), unfitted=share)


class _Decider:
    """Runs the flows without which a limit is not known, and counts them."""

    def __init__(self) -> None:
        self.runs = 0

    def __call__(self, *arguments: Any, **options: Any) -> Trajectory:
        """The flow."""
        self.runs += 1
        return flow(*arguments, **options)

    def told(self, method: str, what: str) -> str:
        """The method, and what flows have told."""
        flows = "a flow" if self.runs == 1 else f"{self.runs} flows"
        return f"{method}; {flows} told {what}" if self.runs else method


def _limit(model: Any, X: Float, y: Float, samples: Samples, tol: float) -> Limit:
    """The limit, by equations of these samples; X and y: as a flow would see them."""
    if is_network(model):
        return _network_limit(model, X, y, samples, tol)
    begun, decider = time.perf_counter(), _Decider()
    potential, targets, sign = potential_of(model, X.shape[1]), y, 0
    if neuron_of(model) is not None:
        start = as_it_ends(model, X, y, decider)
        potential, targets, sign = start.potential(), neuron_targets(start, y), int(np.sign(start.output))
    equations = samples.equations(targets, tol)
    solution = family_of(potential).least(potential, equations, samples.memory)
    w, nu = solution.predictor, solution.nu
    kkt = stationarity_at(potential, w, equations.rounded_slopes(nu))
    if not kkt <= tol and X.size <= _SEARCHED:  # any multipliers that certify w will do
        other = Pair.of(best_multipliers(potential, equations.X, w))
        found = stationarity_at(potential, w, equations.rounded_slopes(other))
        nu, kkt = (other, found) if found < kkt else (nu, kkt)
    feasibility = relative_residual(X, targets, w)
    fits, stationary = _within(tol, potential, X, targets, w, feasibility, kkt)
    return Limit(
        predictor=w,
        dual=equations.dual(nu),
        value=float(potential.value(w)),
        feasibility=feasibility,
        stationarity=kkt,
        error=solution.error,
        converged=bool(solution.settled and fits and stationary and solution.error <= NEAR),
        iterations=solution.iterations,
        rank=len(equations.y),
        seconds=time.perf_counter() - begun,
        model=model,
        X=X,
        y=y,
        tol=float(tol),
        settled=solution.settled,
        method=decider.told(family_of(potential).METHOD, "with which sign the output weight ends"),
        flows=decider.runs,
        sign=sign,
        _samples=samples,
        _equations=equations if targets is y else None,
    )


def _network_limit(model: LinearNetwork, X: Float, y: Float, samples: Samples, tol: float) -> Limit:
    """Of a neuron, where the network is one; otherwise the solution of least norm, where it ends there."""
    begun, decider = time.perf_counter(), _Decider()
    neuron = model.as_neuron()
    if neuron is not None:
        found = _limit(neuron, X, y, samples, tol)
        w = found.predictor
        distance = checked_rank_one(X, y, w, model, neuron, tol, decider)
        method = decider.told(found.method, "that rounding of its weights does not grow")
        runs = found.flows + decider.runs
        return replace(found, predictor=w[:, None], model=model, distance=distance, method=method, flows=runs)
    Y = y.reshape(len(X), -1)
    solution, distance = least_norm(model, X, Y, samples, tol, decider)
    theta, nu = solution.predictor, solution.nu.value
    feasibility = relative_residual(X, Y, theta)
    kkt = stationarity(Quadratic(), X, theta, nu)
    return Limit(
        predictor=theta,
        dual=nu if model.outputs > 1 else nu[:, 0],
        value=float(Quadratic().value(theta)),
        feasibility=feasibility,
        stationarity=kkt,
        error=solution.error,
        converged=bool(feasibility <= tol and kkt <= tol and solution.error <= NEAR),
        iterations=solution.iterations,
        rank=len(samples.equations(Y[:, 0], tol).y),
        seconds=time.perf_counter() - begun,
        model=model,
        X=X,
        y=y,
        tol=float(tol),
        settled=solution.settled,
        method=decider.told("the solution of least norm", "that the network fits the data"),
        flows=decider.runs,
        distance=distance,
        _samples=samples,
    )


@quiet
def _within(
    tol: float, potential: Any, X: Float, y: Float, w: Float, feasibility: float, stationarity: float
) -> tuple[bool, bool]:
    """Is each residual within the tolerance, or what the rounding of w to floats leaves?

    That much is let pass where the terms of Xw (or of a metric's Bw) are larger than their sums and cancel,
    and where the tolerance does not ask for all digits that floats have.
    """
    allowed = [tol, tol]
    if tol >= _LITERAL and max(feasibility, stationarity) > tol:
        terms = float((np.abs(X) @ np.abs(w)).max() / (np.abs(y).max() or 1.0))
        allowed[0] = max(tol, min(16 * EPS * terms, _ROUGH))
        if np.ndim(getattr(potential, "metric", 0.0)) == 2:
            sums = np.abs(potential.metric) @ np.abs(w)
            terms = float(sums.max() / (np.abs(potential.gradient(w)).max() or 1.0))
            allowed[1] = max(tol, min(4 * EPS * terms, _ROUGH))
    return feasibility <= allowed[0], stationarity <= allowed[1]
