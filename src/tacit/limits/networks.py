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

from tacit.data import Float, as_floats
from tacit.errors import InputError, NoPotentialError
from tacit.limits.ends import least_quadratic
from tacit.limits.equations import prepare
from tacit.limits.imbalance import imbalance_level, visible
from tacit.limits.separable import Solution
from tacit.limits.wide import distance_bound
from tacit.models import LinearNetwork

_ORTHOGONAL = 1e-10
_FITTED = 1e-3  # relative residual at which a flow counts as fitting the data


def check_network(model: LinearNetwork, X: Float, y: object) -> tuple[Float, Float]:
    """X and y as (N, D) and (N, m); `InputError` names what is wrong."""
    X = model.as_inputs(X)
    targets = as_floats(y, "y", ndim=(1, 2))
    targets = targets[:, None] if targets.ndim == 1 else targets
    if X.size == 0:
        raise InputError(f"X must have at least one sample and one feature, got {X.shape}")
    if targets.shape != (len(X), model.outputs):
        wanted = "one number" if model.outputs == 1 else f"{model.outputs} numbers"
        raise InputError(f"y must hold {wanted} for each of the {len(X)} samples of X, got {targets.shape}")
    return X, targets


def least_norm(model: LinearNetwork, X: Float, Y: Float, tol: float) -> tuple[Solution, float]:
    """The solution of least norm, where the flow ends there, and how far from it at the most (spectral norm).

    `NoPotentialError` where that is more than the tolerance, relative to the solution.
    """
    solution = least_norm_solution(X, Y, tol)
    _check_fit(model, X, Y)
    bound = 0.0
    if not _orthogonal(model, X):
        bound = distance_bound(model.inner, model.outer, X, Y)
        size = float(np.linalg.norm(solution.predictor, 2))
        if not bound <= tol * size:
            raise NoPotentialError(
                "no potential decides where this linear network ends: its flow conserves the imbalance "
                "UᵀU − VᵀV and the part of U that X does not see, and how the predictor UVᵀ moves depends on "
                "both, not on the predictor alone. What is known: if it fits the data it ends within "
                f"{bound:.3g} of the solution of least norm (in spectral norm; its own is {size:.3g}), "
                "nearer the smaller that part is; LinearNetwork.orthogonal ends there exactly, and "
                "tacit.flow tells where this one does"
            )
    return solution, bound


def _check_fit(model: LinearNetwork, X: Float, Y: Float) -> None:
    """Return if the flow fits the data: a positive level of imbalance grants it, of others the flow tells."""
    if imbalance_level(model.inner, model.outer, X) > 0 or not Y.any():
        return
    from tacit.flows import flow  # it is only needed for these starts

    level = -math.log(float(np.sum(Y**2)) / (2 * len(Y)))
    start = -math.log(float(np.sum((X @ model.predictor() - Y) ** 2)) / (2 * len(Y)) or 1e-300)
    run = flow(model, X, Y if model.outputs > 1 else Y[:, 0], until=max(level - 2 * math.log(_FITTED), start))
    if not run.converged:
        raise NoPotentialError(
            "this linear network does not fit the data: its flow comes to rest before "
            f"({run.reason}); a wider one, or another start, would"
        )


def least_norm_solution(X: Float, Y: Float, tol: float) -> Solution:
    """argmin ‖Θ‖ subject to X Θ = Y, one output at a time."""
    columns = []
    for y in Y.T:
        equations = prepare(X, y, tol)
        found = least_quadratic(equations, np.ones(X.shape[1]))
        columns.append(replace(found, nu=equations.dual(found.nu)))
    return Solution(
        np.column_stack([each.predictor for each in columns]),
        np.column_stack([each.nu for each in columns]),
        sum(each.iterations for each in columns),
        True,
    )


def _orthogonal(model: LinearNetwork, X: Float) -> bool:
    """V U₂ᵀ = 0 and U₁U₂ᵀ = 0, to rounding (Min et al. 2021, Proposition 1)."""
    basis = visible(X)[2]
    seen = basis.T @ model.inner
    unseen = model.inner - basis @ seen
    size = float(np.linalg.norm(unseen))
    if size <= _ORTHOGONAL * np.linalg.norm(model.inner):
        return True
    return all(
        np.linalg.norm(layer @ unseen.T) <= _ORTHOGONAL * size * np.linalg.norm(layer)
        for layer in (model.outer, seen)
    )
