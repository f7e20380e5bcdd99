r"""Derive the implicit regularizer of a parametrization, or the reason why it has none; estimate the cost.

For small maps JAX's compilation of derivatives dominates the cost, in proportion to the time that compiling
the brackets takes. For large maps these dominate: brackets of the gradient fields, for all pairs or p + 32
random combinations at every point; tensors of the metric, d³ numbers each, unless the brackets vanish; and
the search for conserved polynomials, a singular value decomposition in the p(p+3)/2 monomials of each block
of parameters.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.data.arrays import Float
from tacit.derivation.affine_image import affine_hull, in_coordinates
from tacit.derivation.closure import ZERO, commutators
from tacit.derivation.conserved import check_candidates
from tacit.derivation.examination import (
    NEARBY,
    Examination,
    contradiction,
    examine,
    larger_rank,
    nearby_dimension,
    off_subspace,
)
from tacit.derivation.length_scale import length_scale
from tacit.derivation.metric import metric_bytes, torsion
from tacit.derivation.orbits import orbit_points
from tacit.derivation.polynomials import (
    EQUATIONS_PER_UNKNOWN,
    MAX_COEFFICIENTS,
    parameter_blocks,
    unknowns,
)
from tacit.derivation.result import Derivation
from tacit.derivation.smooth_map import MEMORY, Jets, checked_model
from tacit.errors import InputError

_RESOLVED = 1e-12  # smallest length of orbits relative to θ₀: a few thousand floats lie between their ends
_LARGE_P, _LARGE_D = 40, 6  # parameters and features above which the cost is announced
_FLOPS = 4e9  # operations per second of one core in singular value decompositions
# Time for compilation: seconds, and a multiple of that for the brackets; depends on whether these vanish.
_COMPILATION = {True: (1.4, 2.0), False: (2.2, 3.6)}
_FLOW = 400  # evaluations on an orbit, or along a flow
_ELSEWHERE = 30  # points off the orbit at which brackets are computed
_BASE = 300_000_000  # bytes of Python, NumPy and JAX


def derive(
    parametrization: Callable[[Any], Any],
    theta0: ArrayLike,
    *,
    samples: int = 8,
    seed: int | np.random.Generator = 0,
    radius: float = 0.3,
    candidates: Sequence[Callable[[Any], Any]] = (),
) -> Derivation:
    """Decide whether gradient flow of w = F(θ) from θ₀ is a mirror flow, ∇Q(w)' = −∇L(w), and derive Q.

    If the gradient fields commute, gradient flow is a mirror flow (Li, Wang, Lee and Arora 2022); the
    dimension of their Lie algebra gives the number of conserved quantities (Marcotte, Gribonval and Peyré
    2023); a warped flow is a mirror flow in another clock (Azulay et al. 2021, Section 5). Derivatives are
    exact up to round-off. If a measured size is neither clearly 0 nor clearly nonzero, the verdict is
    "undecided".

    Parameters
    ----------
    parametrization : callable
        A smooth function θ ↦ w that JAX can differentiate (jax.numpy, or plain arithmetic). A function with
        kinks is rejected unless the radius is so small that orbits stay on one smooth piece. If the values
        lie in an affine subspace (softmax), the verdict concerns coordinates on it.
    theta0 : array-like, or dict of them
        The weights at initialization.
    samples : int, optional
        The number of points at which everything is measured: θ₀ and the ends of random orbits from it.
    seed : int or numpy.random.Generator, optional
        The seed of these orbits.
    radius : float, optional
        Their length, relative to the length scale over which the Jacobian changes near θ₀.
    candidates : sequence of callables, optional
        Functions of θ with one number as value, each of which is tested for being conserved.

    Returns
    -------
    Derivation
        The kind of flow with the reason, and its potential if there is one.

    Raises
    ------
    InputError
        If the map has kinks or is not finite at θ₀, or if an argument is invalid.
    NotConvergedError
        If an orbit could not be integrated.

    See Also
    --------
    closed_form : The formula of Q.

    Examples
    --------
    >>> import tacit
    >>> tacit.derive(lambda t: t[:2] ** 2 - t[2:] ** 2, [1.0, 1.0, 1.0, 1.0]).kind
    'mirror'
    """
    began = time.perf_counter()
    if not isinstance(samples, int | np.integer) or samples < 2:
        raise InputError(f"samples must be a whole number of at least 2, got {samples!r}")
    if not 0 < float(radius) < math.inf:
        raise InputError(f"radius must be positive and finite, got {radius!r}")
    samples, radius = int(samples), float(radius)
    model, jets, start = checked_model(parametrization, theta0, samples)
    length = length_scale(jets, start)
    _check_resolution(radius * length, start)
    points = orbit_points(jets, start, radius * length, samples, np.random.default_rng(seed))
    found, basis, nearby = _verdict(jets, points, length, radius)
    closure, metric = found.closure, found.metric
    return Derivation(
        kind=found.verdict[0],
        reason=found.verdict[1],
        commutator=closure.commutator,
        reachable_dimension=closure.dimension,
        closed=closure.closed,
        rank=closure.rank[1],
        hessian_violation=metric.violation,
        warp_residual=metric.residual,
        warp_curl=metric.curl,
        fibre_change=metric.spread,
        samples=samples,
        radius=radius,
        candidates=check_candidates(jets, candidates, points, length),
        seconds=time.perf_counter() - began,
        length=length,
        nearby_dimension=nearby,
        basis=basis,
        function_model=model,
        _jets=jets,
    )


def _check_resolution(length: float, start: Float) -> None:
    """Raise `InputError` if orbits are too short for floats to resolve them at θ₀."""
    size = float(np.abs(start).max())
    if not (length > _RESOLVED * size and length > np.finfo(float).tiny):
        raise InputError(
            f"orbits of length {length:.1e} (radius times the length over which the Jacobian changes) are "
            f"too short to resolve at θ₀, whose largest entry is {size:.1e}, in double precision; choose a "
            "larger radius, or a start nearer to 0"
        )


def _verdict(
    jets: Jets, points: Float, length: float, radius: float
) -> tuple[Examination, Float | None, int]:
    """Properties on the orbit, a basis of the subspace that contains w, if any, and the dimension."""
    found = examine(jets, points, length)
    d, rank = len(jets.value(points[0])), found.closure.rank[1]
    basis = affine_hull(jets, points, rank) if rank < d else None
    within = jets
    if basis is not None:
        within = in_coordinates(jets, basis)
        found = examine(within, points, length)
    for theta in (points[-1], points[0]):  # an entry that is tiny in one may not be tiny in the other
        failure = _failure_at_multiples(jets, within, found, theta, length, basis)
        if failure is not None:
            found = _undecided(found, *failure)
            break
    nearby = nearby_dimension(jets, within, points[0], length, radius, basis)
    return found, basis, max(found.closure.dimension, nearby)


def _failure_at_multiples(
    jets: Jets, within: Jets, found: Examination, theta: Float, length: float, basis: Float | None
) -> tuple[float, float] | None:
    """The multiple of θ, a point of the orbit, at which the verdict fails, and by how much; None if it holds.

    Special starts are tested too. On the orbit of a start that is special only to round-off, such as θ₁ =
    1e-10 in (1 + θ₁²)θ₂, no term in θ₁ can be seen, while a start with θ₁ = 0 stays special at all multiples.
    """
    kind, rank = found.verdict[0], found.closure.rank[1]
    if kind == "none" and rank < len(within.value(theta)):
        return larger_rank(within, theta, rank)
    if kind not in ("mirror", "warped"):
        return None
    failure = contradiction(within, found, theta, length)
    if failure is None and basis is not None:
        failure = off_subspace(jets, theta, basis)
    return failure


def _undecided(found: Examination, factor: float, size: float) -> Examination:
    """The examination with the verdict that a property that holds at θ₀ to round-off fails at a multiple of
    θ₀."""
    kind = found.verdict[0]
    holds = "w moves on a surface" if kind == "none" else f"the numbers are those of a {kind} flow"
    reason = (
        f"Undecided in double precision: near θ₀ {holds} to round-off, but at {factor:.0e}·θ₀, on the same "
        f"smooth piece of the map, a quantity that should be 0 has relative size {size:.1e}. Either terms of "
        "the map are too small to be seen at θ₀, or θ₀ is special. Choose a start at which all terms matter."
    )
    return replace(found, closure=replace(found.closure, borderline=size), verdict=("undecided", reason))


@dataclass(frozen=True)
class Cost:
    """Estimated seconds and bytes, within a small factor; verdict: without the search for polynomials."""

    parameters: int
    features: int
    verdict: float
    polynomials: float
    memory: int

    @property
    def seconds(self) -> float:
        """The total time."""
        return self.verdict + self.polynomials

    @property
    def large(self) -> bool:
        """Whether the map is so large that the cost should be announced."""
        return self.parameters > _LARGE_P or self.features > _LARGE_D

    def __str__(self) -> str:
        return (
            f"{self.parameters} parameters to {self.features} features: about {self.verdict:.0f} s to a "
            f"verdict and {self.polynomials:.0f} s for conserved polynomials, {self.memory / 1e9:.1g} GB"
        )


def cost(parametrization: Callable[[Any], Any], theta0: Any, *, samples: int = 8) -> Cost:
    """Estimate the cost of `derive` from the time of one evaluation and one set of brackets."""
    _, known, start = checked_model(parametrization, theta0, samples)
    p, d = len(start), len(known.value(start))
    jets = Jets(known.function, known.layout, known.single)  # a new object, to measure the compilation
    compilation, brackets = _timed(lambda: commutators(jets, start, 1.0))
    call = _timed(lambda: jets.slopes(start))[1]
    vanish = bool(commutators(jets, start, 1.0).max() <= ZERO)
    constant, factor = _COMPILATION[vanish]
    verdict = constant + factor * compilation + (samples + _ELSEWHERE) * brackets + 2 * samples * _FLOW * call
    measured = metric_bytes(p, d) <= MEMORY
    if measured and d > _LARGE_P:
        directions = 1 if vanish else d
        verdict += directions * (samples + NEARBY) * _timed(lambda: jets(torsion, start))[1]
    blocks = parameter_blocks(jets, start, 1.0)
    largest = max(map(unknowns, blocks))
    searched = largest <= MAX_COEFFICIENTS
    flops = sum((4 * EQUATIONS_PER_UNKNOWN + 8) * unknowns(n) ** 3 for n in blocks)
    evaluations = 3 * _FLOW + EQUATIONS_PER_UNKNOWN * largest
    polynomials = flops / _FLOPS + evaluations * call if searched else 0.0
    arrays = 8 * (7 * EQUATIONS_PER_UNKNOWN * largest**2 * searched + 4 * samples * d * p)
    return Cost(p, d, verdict, polynomials, int(arrays + measured * metric_bytes(p, d)) + _BASE)


def _timed(work: Callable[[], Any]) -> tuple[float, float]:
    """CPU seconds of two calls: the excess of the first, which compiles, and the second."""
    times = []
    for _ in range(2):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return max(times[0] - times[1], 0.0), times[1]
