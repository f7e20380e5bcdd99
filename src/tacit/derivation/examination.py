r"""The verdict on the orbit of θ₀, at points near it, and at smaller and larger multiples of θ.

A verdict concerns the orbit of θ₀ in double precision. Off this orbit, other orbits near θ₀ may reach more
dimensions: then θ₀ is special. An analytic map has one verdict at all generic points, so a quantity that is 0
at θ₀ to round-off, but not at 10⁶·θ₀, is not 0: the terms of F that matter are too small at θ₀. A special
start, such as one with a weight of 0, usually stays special when it is multiplied; otherwise it cannot be
distinguished from a generic one nearby.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tacit.data.arrays import Float
from tacit.derivation.affine_image import normal_change
from tacit.derivation.closure import CLEAR, ZERO, Closure, commutators, lie_closure
from tacit.derivation.judging import Verdict, judge, judge_span, judge_unmeasured
from tacit.derivation.length_scale import length_scale, unit_singular_values
from tacit.derivation.metric import Metric, measure, metric_bytes, perturbed, violations_at
from tacit.derivation.orbits import find_jump, smooth_between
from tacit.derivation.smooth_map import MEMORY, Jets
from tacit.errors import InputError, NotConvergedError
from tacit.numerics.rounding import EPS

NOISE = 100.0  # sizes must exceed this multiple of their change with the last bits of θ to count as nonzero
_UNMEASURED = Metric(*[float("nan")] * 5)
NEARBY = 3  # points off the orbit
_DECADES = 12  # powers of ten by which θ is multiplied and divided
_PARTS = 4  # steps per decade; the map must be smooth on each
_REGULAR = 1e-6  # smallest relative singular value of J, rows scaled to norm 1: M⁻¹ keeps half of its digits
# Relative change of θ hidden by the last bits of w, above which w has too few accurate digits.
_SATURATED = 1e-4
_RANGE = 1e100  # largest entry of J; products of larger ones overflow
_ILL_CONDITIONED = (
    "The Jacobian is ill-conditioned at every sampled point: its smallest singular value is below "
    f"{_REGULAR:.0e} of the largest, with rows scaled to norm 1. Choose another start, or better scaled "
    "coordinates of w."
)


@dataclass(frozen=True)
class Examination:
    """The numbers measured at some points, and the verdict that they imply."""

    closure: Closure
    metric: Metric
    verdict: Verdict


def examine(jets: Jets, points: Float, length: float) -> Examination:
    """Measure brackets and metric at points of one orbit, or of several; length: the map's length scale."""
    closure, d = lie_closure(jets, points, length), len(jets.value(points[0]))
    verdict, metric = judge_span(closure, d), _UNMEASURED
    needed = metric_bytes(points.shape[1], d)
    if verdict is None and needed > MEMORY:
        verdict = judge_unmeasured(closure, d, needed)
    if verdict is None:
        regular = [at for at, theta in enumerate(points) if is_regular(jets.slopes(theta))]
        if regular:
            metric = measure(jets, points[regular], tuple(closure.spans[at] for at in regular), length)
            verdict = judge(closure, metric, d)
        else:
            verdict = "undecided", _ILL_CONDITIONED
    return Examination(closure, metric, verdict)


def is_regular(J: Float) -> bool:
    """Whether J has full rank and a condition number at which M⁻¹ keeps half of its digits."""
    singular = unit_singular_values(J)
    return bool(len(J) <= J.shape[1] and singular[-1] > _REGULAR * singular[0])


def points_nearby(jets: Jets, start: Float, distance: float, seed: int = 0) -> Float:
    """Random points at this distance from θ₀, off its orbit, where F is smooth on the way; perhaps none."""
    rng = np.random.default_rng(seed)
    points: list[Float] = []
    for _ in range(2 * NEARBY):
        direction = rng.standard_normal(len(start))
        theta = start + distance * direction / np.linalg.norm(direction)
        smooth = np.isfinite(jets.slopes(theta)).all() and not find_jump(jets, start, theta)
        if smooth and len(points) < NEARBY:
            points.append(theta)
    return np.array(points).reshape(-1, len(start))


def nearby_dimension(
    jets: Jets, within: Jets, start: Float, length: float, radius: float, basis: Float | None
) -> int:
    """The dimension that flows from starts near θ₀, but off its orbit, reach; 0 if unknown.

    within: the map in coordinates of the affine subspace with this basis, if the orbit of θ₀ stays in one. At
    a special start, flows from starts nearby may leave it.
    """
    points = points_nearby(jets, start, radius * length)
    leaves = basis is not None and any(normal_change(jets, theta, basis) > ZERO for theta in points)
    try:
        return lie_closure(jets if leaves else within, points, length).dimension if len(points) else 0
    except (InputError, NotConvergedError):
        return 0


def multiples(jets: Jets, theta: Float) -> Iterator[tuple[float, Float, Float]]:
    """λ, λθ, and λθ with its last bits changed, for powers of ten λ as long as F is smooth and w changes."""
    origin = jets.value(theta)
    for sign in (-1, 1):
        before = theta
        for part in range(1, _DECADES * _PARTS + 1):
            factor = 10.0 ** (sign * part / _PARTS)
            here = factor * theta
            J = jets.slopes(here)
            if not np.isfinite(J).all() or np.abs(J).max() > _RANGE or not smooth_between(jets, before, here):
                break
            norms = np.linalg.norm(J, axis=1)
            hidden = _hidden_change(norms, here, jets.value(here) - origin) if factor > 1 else 0.0
            if hidden > _SATURATED:
                break
            if part % _PARTS == 0 and norms.min() > 1 / _RANGE:
                yield factor, here, perturbed(here, max(hidden, EPS))
            before = here


def _hidden_change(norms: Float, theta: Float, change: Float) -> float:
    """The largest relative change of θ that the last bits of w hide.

    A softmax near 1 saturates: 1 − w has few accurate bits left, and changing the last bits of θ does not
    show this. change: that of w since θ₀; norms: those of the rows of J.
    """
    return float((EPS * np.abs(change) / (norms * np.linalg.norm(theta) + 1 / _RANGE)).max())


def _first_nonzero(
    jets: Jets,
    theta: Float,
    sizes: Callable[[Float, float], Float],
    least: float,
    *,
    length: float = 1.0,
    regular: bool = False,
) -> tuple[float, float] | None:
    """The first λ at which one of the sizes exceeds `least` and round-off, and the largest of them.

    sizes: of a point and the length scale there. length: the length scale at θ; λ times it is used first, and
    the true length scale at λθ, which costs more, only if a size is nonzero. An offset in the map keeps the
    true one from growing with λ, and relative to a length that is too large, round-off counts as nonzero.
    regular: skip points where J is ill-conditioned.
    """
    for factor, here, beside in multiples(jets, theta):
        if regular and not is_regular(jets.slopes(here)):
            continue
        clear = _clear(sizes, here, beside, factor * length, least)
        if clear.size:
            clear = _clear(sizes, here, beside, min(factor * length, length_scale(jets, here)), least)
        if clear.size:
            return factor, float(clear.max())
    return None


def _clear(
    sizes: Callable[[Float, float], Float], here: Float, beside: Float, length: float, least: float
) -> Float:
    """The sizes that exceed `least` and round-off; beside: the point with its last bits changed."""
    first = sizes(here, length)
    return np.asarray(first[first > np.maximum(least, NOISE * np.abs(first - sizes(beside, length)))])


def contradiction(jets: Jets, found: Examination, theta: Float, length: float) -> tuple[float, float] | None:
    """λ and the largest size at λθ that the verdict, mirror or warped, says is 0; None if all are 0."""
    kind, coordinate = found.verdict[0], found.closure.dimension == len(jets.value(theta))

    def sizes(at: Float, unit: float) -> Float:
        if kind == "mirror" and coordinate:  # in this case the fields commute if H is a Hessian
            return commutators(jets, at, unit)
        T, rest, curl = violations_at(jets, at, unit)
        return np.array([rest, curl] if kind == "warped" else [T])

    return _first_nonzero(jets, theta, sizes, ZERO, length=length, regular=True)


def larger_rank(jets: Jets, theta: Float, rank: int) -> tuple[float, float] | None:
    """λ and the relative singular value of J at λθ that is 0 for a map of this rank; None if it is 0."""

    def size(at: Float, _: float) -> Float:
        singular = unit_singular_values(jets.slopes(at))
        beyond = rank < len(singular) and singular[0] > 0
        return np.array([singular[rank] / singular[0] if beyond else 0.0])

    return _first_nonzero(jets, theta, size, CLEAR)


def off_subspace(jets: Jets, theta: Float, basis: Float) -> tuple[float, float] | None:
    """λ and the relative change of w across the subspace at λθ; None if w stays in it."""
    return _first_nonzero(jets, theta, lambda at, _: np.array([normal_change(jets, at, basis)]), ZERO)
