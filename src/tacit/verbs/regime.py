"""Kernel, rich, or in between: how far a limit is from those at infinite and at zero scale."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit.data.arrays import Float, beyond_squares
from tacit.models.model import check_model, is_connected, takes_matrices
from tacit.numerics.angles import turned
from tacit.numerics.normal import weighted_gram
from tacit.potentials.arrays import quiet
from tacit.solvers.families import family_of
from tacit.solvers.families.ends import Ends
from tacit.solvers.interpolation.geometry import potential_of
from tacit.verbs.answer import Limit
from tacit.verbs.limit import limit
from tacit.verbs.limit_matrix import MatrixProblem
from tacit.verbs.regime_connected import connected_ends, kernel_turning
from tacit.verbs.regime_matrix import RICH_END, followed_end, matrix_ends, turning

_NEAR = 0.1  # an end within 10% gives the regime its name


@dataclass(frozen=True, eq=False)
class Regime:
    """Which end of the scale a limit is close to. It equals its name: `limit.regime == "rich"`.

    The kernel end is the minimum of the tangent kernel's norm; the rich end that of the norm which rich_end
    names. The kernel end of neurons and networks is the solution nearest to their start in its tangent
    metric, where a model linearized at its start would go, which a large scale alone does not reach. Of a
    factorization without a limit, it is where its flow ends that is between the ends, and a small start need
    not be near the rich one: only measurements that commute make it so.

    Attributes
    ----------
    name : str
        "kernel", "rich" ("anti-kernel" for neurons and linear networks) or "intermediate". "unknown", with
        all numbers NaN, of a limit that has not converged, whose ends floats cannot hold, or whose potential
        has no scale.
    distance_to_kernel : float
        From the limit to that at infinite scale, ‖w − w'‖ relative to the larger of the two.
    distance_to_rich : float
        From the limit to that at zero scale, likewise.
    kernel_distance : float
        1 − cos∠(K₀, K∞) between the tangent kernels at the start and at the limit, in the Frobenius inner
        product. It gives the name where both ends are one solution, and is NaN where the weights at the limit
        are not known.
    rich_end : str
        The norm that the rich end minimizes: ℓ1 for diagonal networks, weighted for deep ones with a profile,
        ℓ2 for neurons and linear networks, nuclear for matrices.
    """

    name: str
    distance_to_kernel: float
    distance_to_rich: float
    kernel_distance: float
    rich_end: str = "ℓ1"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return self.name == other
        return isinstance(other, Regime) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    def summary(self) -> str:
        """The regime in a line."""
        if self.name == "unknown" and not self.rich_end:
            return "none: this potential has no scale, and so no ends"
        if self.name == "unknown":
            return "not known: it is told by the limit and its two ends, and one of them is not vouched for"
        if max(self.distance_to_kernel, self.distance_to_rich) < 1e-9:
            return f"{self.name}: both ends are this solution; the tangent kernel turns {self._turning()}"
        return (
            f"{self.name}: {_percent(self.distance_to_rich)} from the {self.rich_end} end, "
            f"{_percent(self.distance_to_kernel)} from the kernel end"
        )

    def _turning(self) -> str:
        if math.isnan(self.kernel_distance):
            return "by an unknown angle"
        much = "little" if self.kernel_distance < _NEAR else "much"
        return f"{much} (1 − cos = {self.kernel_distance:.2g})"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "name": self.name,
            **{name: None if math.isnan(number) else number for name, number in self._numbers().items()},
        }

    def _numbers(self) -> dict[str, float]:
        return {
            "distance_to_kernel": self.distance_to_kernel,
            "distance_to_rich": self.distance_to_rich,
            "kernel_distance": self.kernel_distance,
        }


def regime(model: Any, X: Any, y: Any) -> Regime:
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
        return "kernel" if moved < _NEAR else "rich"
    if min(to_kernel, to_rich) > _NEAR:
        return "intermediate"
    return "kernel" if to_kernel < to_rich else "rich"


def relative_distance(w: Float, end: Float) -> float:
    """‖w − end‖₂ / max(‖w‖₂, ‖end‖₂)."""
    unit = max(np.abs(w).max(), np.abs(end).max()) or 1.0  # norms of large numbers would overflow
    size = max(np.linalg.norm(w / unit), np.linalg.norm(end / unit))
    return float(np.linalg.norm((w - end) / unit) / (size or 1.0))


def _percent(x: float) -> str:
    if x < 1e-4:
        return "less than 0.01%"
    return f"{100 * x:.2g}%" if x < 0.995 else f"{100 * x:.0f}%"
