r"""What the numbers say on the orbit of θ₀, at points near it, and at points where θ is larger or smaller.

A verdict is about the orbit of θ₀ as floats see it. Near θ₀, off its orbit, other orbits may reach more
dimensions: then θ₀ is special. Elsewhere an analytic map has one verdict, and what is 0 at θ₀ to round-off
but not at θ₀/10⁶ was never 0: terms of F are too small to be seen at θ₀. A special start, such as one with a
weight of 0, mostly stays special when it is enlarged; one that does not cannot be told from one nearby.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tacit.data.arrays import Float
from tacit.derivation.affine_image import leaves
from tacit.derivation.closure import Closure, commutators, lie_closure
from tacit.derivation.metric import Metric, measured, metric_bytes, nudged, sizes_at
from tacit.derivation.orbits import jumping, smooth_between
from tacit.derivation.scale import row_sizes
from tacit.derivation.smooth_map import MEMORY, Jets
from tacit.derivation.span import CLEAR, ZERO
from tacit.derivation.verdict import Verdict, judge, judge_span, judge_unmeasured
from tacit.errors import InputError, NotConvergedError
from tacit.numerics.rounding import EPS

UNKNOWN = Metric(*[float("nan")] * 5)
_NEARBY = 3  # points off the orbit
_DECADES = 12  # to which θ is enlarged and reduced
_PARTS = 4  # of a decade, on each of which the map must be smooth
_REGULAR = 1e-6  # singular values of J, with rows of length 1: M⁻¹ keeps half of its digits
_SATURATED = 1e-4  # of θ: where the last bits of w hide that much, too few of its bits are left
_TRUSTED = 100.0  # times what the last bits of θ change, above which a size is more than round-off
_RANGE = 1e100  # of entries of J, beyond which products of them leave the range of floats


@dataclass(frozen=True)
class Examined:
    """The numbers at some points, and the verdict on them."""

    closure: Closure
    metric: Metric
    verdict: Verdict


def examined(jets: Jets, points: Float, length: float) -> Examined:
    """At points of one orbit, or each of its own; length: the map's own."""
    closure, d = lie_closure(jets, points, length), len(jets.value(points[0]))
    verdict = judge_span(closure, d)
    if verdict is not None:
        return Examined(closure, UNKNOWN, verdict)
    p = points.shape[1]
    if metric_bytes(p, d) > MEMORY:
        return Examined(closure, UNKNOWN, judge_unmeasured(closure, d, metric_bytes(p, d)))
    regular = [at for at, theta in enumerate(points) if is_regular(jets.slopes(theta))]
    if not regular:
        return Examined(closure, UNKNOWN, _ill_conditioned())
    metric = measured(jets, points[regular], tuple(closure.spans[at] for at in regular), length)
    return Examined(closure, metric, judge(closure, metric, d))


def _ill_conditioned() -> Verdict:
    return "undecided", (
        "The Jacobian is ill-conditioned at every sampled point: its smallest singular value is below "
        f"{_REGULAR:.0e} of the largest, with rows of length 1. Choose another start, or better scaled "
        "coordinates of w."
    )


def is_regular(J: Float) -> bool:
    """Is J of full rank, so clearly that M⁻¹ keeps half of its digits? In units of its rows."""
    singular = np.linalg.svd(J / row_sizes(J)[:, None], compute_uv=False)
    return bool(len(J) <= J.shape[1] and singular[-1] > _REGULAR * singular[0])


def points_nearby(jets: Jets, start: Float, length: float, seed: int = 0) -> Float:
    """Random points at that distance from θ₀, in no particular direction, where F is finite; perhaps none."""
    rng = np.random.default_rng(seed)
    found: list[Float] = []
    for _ in range(2 * _NEARBY):
        along = rng.standard_normal(len(start))
        theta = start + length * along / np.linalg.norm(along)
        smooth = np.isfinite(jets.slopes(theta)).all() and not jumping(jets, start, theta)
        if smooth and len(found) < _NEARBY:
            found.append(theta)
    return np.array(found).reshape(-1, len(start))


def rescaled(jets: Jets, theta: Float) -> Iterator[tuple[float, Float, Float]]:
    """λ, λθ, and λθ with its last bits changed, as far as the map is smooth on the way and w still moves."""
    origin = jets.value(theta)
    for sign in (-1, 1):
        before = theta
        for part in range(1, _DECADES * _PARTS + 1):
            factor = 10.0 ** (sign * part / _PARTS)
            here = factor * theta
            J = jets.slopes(here)
            if not np.isfinite(J).all() or np.abs(J).max() > _RANGE or not smooth_between(jets, before, here):
                break
            sizes = np.linalg.norm(J, axis=1)
            hidden = _hidden(sizes, here, jets.value(here) - origin) if factor > 1 else 0.0
            if hidden > _SATURATED:
                break
            if part % _PARTS == 0 and sizes.min() > 1 / _RANGE:
                yield factor, here, nudged(here, max(hidden, EPS))
            before = here


def _hidden(sizes: Float, theta: Float, way: Float) -> float:
    """Relative changes of θ that the last bits of w hide, on its way from θ₀.

    A softmax near 1 comes to rest: 1 − w has few bits left, and no change of the last bits of θ shows it.
    """
    return float((EPS * np.abs(way) / (sizes * np.linalg.norm(theta) + 1 / _RANGE)).max())


def contradicted(jets: Jets, found: Examined, theta: Float, length: float) -> tuple[float, float] | None:
    """λ and the size of what is 0 at θ₀ and not at λθ, where the verdict on generic points says it is 0."""
    kind, d = found.verdict[0], len(jets.value(theta))
    for factor, here, beside in rescaled(jets, theta):
        if not is_regular(jets.slopes(here)):
            continue
        first, second = (_zeros(jets, kind, found.closure.dimension == d, at, factor * length)
                         for at in (here, beside))  # fmt: skip
        noise = _TRUSTED * np.abs(first - second)
        clear = first[first > np.maximum(ZERO, noise)]
        if clear.size:
            return factor, float(clear.max())
    return None


def _zeros(jets: Jets, kind: str, leaf: bool, theta: Float, length: float) -> Float:
    """The sizes that the verdict says are 0."""
    if kind == "mirror" and leaf:  # on such a leaf the fields commute where H is a Hessian
        return commutators(jets, theta, length)
    T, rest, curl = sizes_at(jets, theta, length)
    return np.array([rest, curl] if kind == "warped" else [T])


def of_larger_rank(jets: Jets, theta: Float, rank: int) -> tuple[float, float] | None:
    """λ and how large the singular value of J at λθ is that is 0 for a map of this rank."""
    for factor, here, beside in rescaled(jets, theta):
        first, second = (_beyond(jets.slopes(at), rank) for at in (here, beside))
        if first > max(CLEAR, _TRUSTED * abs(first - second)):
            return factor, first
    return None


def _beyond(J: Float, rank: int) -> float:
    """The singular value after as many as the rank, relative to the largest, with rows of length 1."""
    singular = np.linalg.svd(J / row_sizes(J)[:, None], compute_uv=False)
    return float(singular[rank] / singular[0]) if rank < len(singular) and singular[0] > 0 else 0.0


def off_the_subspace(jets: Jets, theta: Float, basis: Float) -> tuple[float, float] | None:
    """λ and how clearly w leaves the subspace at λθ."""
    for factor, here, beside in rescaled(jets, theta):
        first, second = leaves(jets, here, basis), leaves(jets, beside, basis)
        if first > max(ZERO, _TRUSTED * abs(first - second)):
            return factor, first
    return None


def reached_outside(jets: Jets, start: Float, length: float, radius: float, basis: Float) -> int:
    """Dimension that flows from starts near θ₀ reach if w leaves the subspace there, 0 if it does not."""
    points = points_nearby(jets, start, radius * length)
    if all(leaves(jets, theta, basis) <= ZERO for theta in points):
        return 0
    try:
        return lie_closure(jets, points, length).dimension
    except (InputError, NotConvergedError):
        return 0


def generic(jets: Jets, start: Float, length: float, radius: float) -> Examined | None:
    """What `examined` says at points near θ₀ but off its orbit; None if none can be followed."""
    points = points_nearby(jets, start, radius * length)
    if not len(points):
        return None
    try:
        return examined(jets, points, length)
    except (InputError, NotConvergedError):
        return None
