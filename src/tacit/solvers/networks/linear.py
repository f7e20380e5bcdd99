r"""Where the flow of a linear network of one hidden layer ends, in the cases where that is known.

The flow keeps UᵀU − VᵀV and the part U₂ of U that the samples do not see, and ends at a distance ‖U₂V(∞)ᵀ‖
from the solution of least norm. That is 0 for the orthogonal starts of Min et al. 2021, Proposition 1, and
small for small starts (Azulay et al. 2021, Theorem 3). A network whose hidden layer has rank one is a neuron;
the strictly balanced networks of one output (Azulay et al. 2021, Proposition 1) are among them.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tacit.data.arrays import Float, as_targets
from tacit.data.equations import Samples
from tacit.errors import InputError, NoPotentialError
from tacit.models import LinearNetwork
from tacit.numerics.double_double import Pair
from tacit.solvers.flow_callback import Follow
from tacit.solvers.interpolation.radial import minimum_norm
from tacit.solvers.interpolation.solution import Solution
from tacit.solvers.networks.imbalance import imbalance_level
from tacit.solvers.networks.neuron import units
from tacit.solvers.networks.wide import distance_bound

_ROUNDED = 1e-12  # a distance, relative to the solution, that is none
_SMALL = 1e-2  # a distance, relative to the solution, that one may not care about
_FITTED = 1e-3  # relative residual at which a flow counts as fitting the data


def check_network(model: LinearNetwork, X: Float, y: object) -> tuple[Float, Float]:
    """X and y as (N, D) and (N, m); `InputError` names what is wrong."""
    X = model.as_inputs(X)
    if X.size == 0:
        raise InputError(f"X must have at least one sample and one feature, got {X.shape}")
    return X, as_targets(y, len(X), model.n_outputs())


def least_norm(
    model: LinearNetwork, X: Float, Y: Float, samples: Samples, tol: float, follow: Follow
) -> tuple[Solution, float]:
    """The solution of least norm, where the flow ends there, and how far from it at the most (spectral norm).

    `NoPotentialError` where that is more than the tolerance, relative to the solution.
    """
    solution = least_norm_solution(samples, Y, tol)
    bound, size = distance_bound(model.inner, model.outer, X, Y), float(np.linalg.norm(solution.predictor, 2))
    rounding = _ROUNDED * float(np.abs(model.inner).max()) * float(np.abs(model.outer).max())
    if not bound <= (tol * size if size > 0 else rounding):
        raise NoPotentialError(_unknown(bound, size))
    _check_fit(model, X, Y, follow)
    return solution, bound if bound > _ROUNDED * size else 0.0


def _unknown(bound: float, size: float) -> str:
    """Why the limit is not known, and what is."""
    least = f"the solution of least norm, whose spectral norm is {size:.3g}"
    if size == 0:
        least = "0, the solution of least norm"
    what = (
        "take that for its limit with a larger tol"
        if bound < _SMALL * size
        else "nearer the smaller that part is: LinearNetwork.orthogonal ends there exactly"
    )
    return (
        "no potential decides where this linear network ends: its flow conserves the imbalance UᵀU − VᵀV and "
        "the part of U that X does not see, and how the predictor UVᵀ moves depends on both. If it fits the "
        f"data it ends within {bound:.3g} of {least}; {what}. tacit.flow tells where it does end"
    )


def _check_fit(model: LinearNetwork, X: Float, Y: Float, follow: Follow) -> None:
    """Return if the flow fits the data: a positive level of imbalance grants it, of others the flow tells."""
    if not Y.any():
        return
    size = max(float(np.abs(model.inner).max()), float(np.abs(model.outer).max()))
    unit, xi, target = units(size, X, Y)
    start, X, Y = LinearNetwork(model.inner / unit, model.outer / unit), X / xi, Y / xi / target / target
    if imbalance_level(start.inner, start.outer, X) > 0:
        return
    level, first = (
        -math.log(float(np.sum(E**2)) / (2 * len(Y)) or 1e-300) for E in (Y, X @ start.predictor() - Y)
    )
    until = max(level - 2 * math.log(_FITTED), first)
    run = follow(start, X, Y if model.n_outputs() > 1 else Y[:, 0], until=until)
    if not run.converged:
        raise NoPotentialError(
            "this linear network does not fit the data: its flow comes to rest before "
            f"({run.reason}); a wider one, or another start, would"
        )


def least_norm_solution(samples: Samples, Y: Float, tol: float) -> Solution:
    """argmin ‖Θ‖ subject to X Θ = Y, one output at a time."""
    columns = []
    for y in Y.T:
        equations = samples.equations(y, tol)
        found = minimum_norm(equations)
        columns.append(replace(found, nu=Pair.of(equations.dual(found.nu))))
    return Solution(
        np.column_stack([each.predictor for each in columns]),
        Pair.of(np.column_stack([each.nu.value for each in columns])),
        sum(each.iterations for each in columns),
        True,
        lambda: max(each.error for each in columns),
    )
