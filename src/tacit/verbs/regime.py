"""Kernel, rich, or in between: how far a limit is from those at infinite and at zero scale."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.data.arrays import Float, beyond_squares
from tacit.data.inputs import Inputs
from tacit.models.model import Model, check_model, is_connected, takes_matrices
from tacit.numerics.angles import turned
from tacit.numerics.normal import weighted_gram
from tacit.potentials import Potential
from tacit.potentials.arrays import quiet
from tacit.results.limit import Limit
from tacit.results.regime import NEAR, Regime
from tacit.solvers.families import family_of
from tacit.solvers.families.ends import Ends
from tacit.solvers.interpolation.geometry import potential_of
from tacit.verbs.limit import limit
from tacit.verbs.limit_matrix import MatrixProblem
from tacit.verbs.regime_connected import connected_ends, kernel_turning
from tacit.verbs.regime_matrix import RICH_END, followed_end, matrix_ends, turning


def regime(model: Model | Potential, X: Inputs, y: ArrayLike) -> Regime:
    """Where between the kernel and the rich end the limit of gradient flow lies.

    It compares `tacit.limit` with the limits of the same model at infinite and at zero scale (Woodworth et
    al. 2020, Sections 3 and 4).

    Parameters
    ----------
    model : Model or Potential
        A model with its initialization.
    X : (N, d) array-like, or Prepared
        Rows are samples.
    y : (N,) array-like
        Targets.

    Returns
    -------
    Regime
        Its name, and the distances to both ends.

    Raises
    ------
    InputError, InconsistentDataError, NoPotentialError
        As `tacit.limit` does.

    Examples
    --------
    >>> import tacit
    >>> tacit.regime(tacit.Diagonal(scale=1e-8), [[1, 2]], [2]).name
    'rich'
    """
    check_model("regime(model, X, y)", model, X, y)
    return _matrix_regime(model, X, y) if takes_matrices(model) else limit(model, X, y).regime


def _matrix_regime(model: Any, X: Any, y: Any) -> Regime:
    """Of the limit where it is known, of where the flow ends otherwise."""
    problem = MatrixProblem.of(model, X, y)
    if problem.lifted is None or problem.diagonal().commute:
        return limit(model, X, y).regime
    end = followed_end(model, X, problem.y)
    if end is None:
        return Regime("unknown", math.nan, math.nan, math.nan, RICH_END)
    return _between(end[0], *matrix_ends(problem), end[1])


def _between(end: Float, kernel: Float, rich: Float, moved: float) -> Regime:
    """By the distances of a matrix from both ends."""
    to_kernel, to_rich = (relative_distance(end, each) for each in (kernel, rich))
    name = _name(to_kernel, to_rich, 0.0 if math.isnan(moved) else moved)
    return Regime(name, to_kernel, to_rich, moved, RICH_END)


def regime_between(predictor: Float, kernel: Float, rich: Float) -> Regime:
    """By the distances of a predictor from both ends, where nothing is known of tangent kernels."""
    to_kernel, to_rich = (relative_distance(predictor, end) for end in (kernel, rich))
    return Regime(_name(to_kernel, to_rich, 0.0), to_kernel, to_rich, math.nan)


@quiet
def regime_of(result: Limit) -> Regime:
    """The regime of a limit that is already known."""
    if takes_matrices(result.model):
        if not result.converged:
            return Regime("unknown", math.nan, math.nan, math.nan, RICH_END)
        problem = MatrixProblem.of(result.model, result.X, result.y)
        return _between(result.predictor, *matrix_ends(problem), turning(problem, result))
    connected = is_connected(result.model)
    rich_end = "ℓ2 (least norm)" if connected else "ℓ1"
    unknown = Regime("unknown", math.nan, math.nan, math.nan, rich_end)
    if not connected and _ends(result) is None:
        return replace(unknown, rich_end="")
    if not result.converged:
        return unknown
    try:
        kernel, rich, moved = _connected(result) if connected else _diagonal(result)
    except np.linalg.LinAlgError:  # numbers beyond the range of floats
        return unknown
    to_kernel, to_rich = (relative_distance(result.predictor, end) for end in (kernel, rich))
    if math.isnan(to_kernel + to_rich):
        return unknown
    name = _name(to_kernel, to_rich, 0.0 if math.isnan(moved) else moved)
    name = "anti-kernel" if connected and name == "rich" else name
    return Regime(name, to_kernel, to_rich, moved, rich_end)


def _connected(result: Limit) -> tuple[Float, Float, float]:
    """Both ends, and how far the tangent kernel turns: NaN where no flow can tell."""
    turning = math.nan if beyond_squares(result.X, result.y) else kernel_turning(result)
    return *connected_ends(result), turning


def _diagonal(result: Limit) -> tuple[Float, Float, float]:
    ends = ends_of(result)
    assert ends is not None
    unit = np.abs(result.X).max() or 1.0  # kernels of large numbers would overflow
    return ends.kernel, ends.rich, turned(*(weighted_gram(result.X / unit, m) for m in ends.metrics))


def both_ends(result: Limit) -> tuple[Float, Float] | None:
    """The limits at infinite and at zero scale; None where there is no scale."""
    if takes_matrices(result.model):
        return matrix_ends(MatrixProblem.of(result.model, result.X, result.y))
    if result.inside is not None and result.units is not None:
        inside, units = both_ends(result.inside), result.units
        return None if inside is None else (units.predictor(inside[0]), units.predictor(inside[1]))
    if is_connected(result.model):
        return connected_ends(result)
    ends = ends_of(result)
    return None if ends is None else (ends.kernel, ends.rich)


@quiet
def ends_of(result: Limit) -> Ends | None:
    """What the limit would be at infinite and at zero scale, other things equal; None without a scale."""
    ends = _ends(result)
    if ends is None:
        return None
    equations = result._equations or result._samples.equations(result.y, 1e-8)
    potential = potential_of(result.model, result.X.shape[1])
    found: Ends = ends(potential, equations, result.predictor, result._samples.memory)
    return found


def _ends(result: Limit) -> Any:
    """What tells both ends of the potential's scale."""
    return family_of(potential_of(result.model, result.X.shape[1])).ends


def _name(to_kernel: float, to_rich: float, moved: float) -> str:
    if max(to_kernel, to_rich) < 1e-9:  # one solution: only the kernel's movement can tell
        return "kernel" if moved < NEAR else "rich"
    if min(to_kernel, to_rich) > NEAR:
        return "intermediate"
    return "kernel" if to_kernel < to_rich else "rich"


def relative_distance(w: Float, end: Float) -> float:
    """‖w − end‖₂ / max(‖w‖₂, ‖end‖₂)."""
    unit = max(np.abs(w).max(), np.abs(end).max()) or 1.0  # norms of large numbers would overflow
    size = max(np.linalg.norm(w / unit), np.linalg.norm(end / unit))
    return float(np.linalg.norm((w - end) / unit) / (size or 1.0))
