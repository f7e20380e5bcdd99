r"""The limit of a linear network with one hidden layer, in the cases in which it is known.

The flow conserves UᵀU − VᵀV and the part U₂ of U that is orthogonal to the samples, and ends at a distance
‖U₂V(∞)ᵀ‖ from the minimum-norm solution. This is 0 for the orthogonal initialization of Min et al. 2021,
Proposition 1, and small for small initialization (Azulay et al. 2021, Theorem 3). A network whose hidden
layer has rank one is equivalent to a neuron; strictly balanced networks with one output (Azulay et al. 2021,
Proposition 1) are among these.
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
from tacit.numerics.rounding import TINY
from tacit.solvers.interpolation.ends import minimum_norm
from tacit.solvers.interpolation.solution import Follow, Solution
from tacit.solvers.networks.bounds import distance_bound, imbalance_level
from tacit.solvers.networks.neuron import units

_ROUNDED = 1e-12  # distance from the minimum-norm solution, relative to its size, that is round-off
_SMALL = 1e-2  # relative distance up to which the error message suggests a larger tolerance
_FITTED = 1e-3  # relative residual at which a flow counts as fitting the data


def check_network(model: LinearNetwork, X: Float, y: object) -> tuple[Float, Float]:
    """X and y, validated, as (N, D) and (N, m)."""
    X = model.as_inputs(X)
    if X.size == 0:
        raise InputError(f"X must have at least one sample and one feature, got shape {X.shape}")
    return X, as_targets(y, len(X), model.n_outputs())


def network_limit(
    model: LinearNetwork, X: Float, Y: Float, samples: Samples, tol: float, follow: Follow
) -> tuple[Solution, float]:
    """The minimum-norm solution, and a bound on the distance of the flow's limit from it (spectral norm).

    Raises `NoPotentialError` if the bound, relative to the solution, exceeds the tolerance.
    """
    solution = minimum_norm_columns(samples, Y, tol)
    bound, size = distance_bound(model.inner, model.outer, X, Y), float(np.linalg.norm(solution.predictor, 2))
    rounding = _ROUNDED * float(np.abs(model.inner).max()) * float(np.abs(model.outer).max())
    if not bound <= (tol * size if size > 0 else rounding):
        raise NoPotentialError(_unknown(bound, size))
    _check_fit(model, X, Y, follow)
    return solution, bound if bound > _ROUNDED * size else 0.0


def _unknown(bound: float, size: float) -> str:
    """The error message for a network whose limit is not known."""
    least = f"the minimum-norm solution, whose spectral norm is {size:.3g}"
    if size == 0:
        least = "0, the minimum-norm solution"
    advice = (
        "to accept that solution, increase tol"
        if bound < _SMALL * size
        else "the distance is 0 for LinearNetwork.orthogonal"
    )
    return (
        "no potential is known for this linear network: its flow conserves the imbalance UᵀU − VᵀV and the "
        "part of U orthogonal to the samples, and the path of its predictor UVᵀ depends on both. If the "
        f"network fits the data, it ends within {bound:.3g} of {least}; {advice}. Use tacit.flow to compute "
        "the limit"
    )


def _check_fit(model: LinearNetwork, X: Float, Y: Float, follow: Follow) -> None:
    """Raise `NoPotentialError` if the flow does not fit the data.

    It does if the level of imbalance is positive (Min et al. 2021, Theorem 1); otherwise the flow is run.
    """
    if not Y.any():
        return
    size = max(float(np.abs(model.inner).max()), float(np.abs(model.outer).max()))
    unit, xi, target = units(size, X, Y)
    start, X, Y = LinearNetwork(model.inner / unit, model.outer / unit), X / xi, Y / xi / target / target
    if imbalance_level(start.inner, start.outer, X) > 0:
        return
    level, first = (
        -math.log(float(np.sum(E**2)) / (2 * len(Y)) or TINY) for E in (Y, X @ start.predictor() - Y)
    )
    until = max(level - 2 * math.log(_FITTED), first)
    run = follow(start, X, Y if model.n_outputs() > 1 else Y[:, 0], until=until)
    if not run.converged:
        raise NoPotentialError(
            f"the flow of this linear network stops before it fits the data ({run.reason}); use a larger "
            "width or another initialization"
        )


def minimum_norm_columns(samples: Samples, Y: Float, tol: float) -> Solution:
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
