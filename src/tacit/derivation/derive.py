"""From a parametrization to its implicit regularizer, or to the reason why there is none."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.data.arrays import Float
from tacit.derivation.affine_image import Coordinates, flat_image
from tacit.derivation.candidates import put_to_test
from tacit.derivation.examination import (
    Examined,
    contradicted,
    examined,
    generic,
    of_larger_rank,
    off_the_subspace,
    reached_outside,
)
from tacit.derivation.orbits import orbit_points
from tacit.derivation.result import Derivation
from tacit.derivation.scale import own_length
from tacit.derivation.smooth_map import Jets, checked_model
from tacit.errors import InputError

_RESOLVED = 1e-12  # length of orbits over θ₀: thousands of floats lie between their ends


def derive(
    parametrization: Callable[[Any], Any],
    theta0: ArrayLike,
    *,
    samples: int = 8,
    seed: int | np.random.Generator = 0,
    radius: float = 0.3,
    candidates: Sequence[Callable[[Any], Any]] = (),
) -> Derivation:
    """Is gradient flow of w = F(θ) from θ₀ a mirror flow, ∇Q(w)' = −∇L(w)? In another clock? With which Q?

    Commuting gradient fields make mirror flows (Li, Wang, Lee and Arora 2022); the Lie algebra of the fields
    counts what is conserved (Marcotte, Gribonval and Peyré 2023); the warp is that of Azulay et al. 2021,
    Section 5. Brackets are exact up to rounding, and sizes between rounding and what is clearly not 0 make
    the verdict "undecided".

    Parameters
    ----------
    parametrization : callable
        A smooth function θ ↦ w that JAX can differentiate (jax.numpy, or plain arithmetic). One with kinks is
        refused unless a smaller radius keeps the orbits on one smooth piece. If its values lie in an affine
        subspace (softmax), the verdict is about coordinates on it.
    theta0 : array-like, or dict of them
        The start.
    samples : int, optional
        Points at which everything is measured: θ₀, and ends of random orbits from it.
    seed : int or numpy.random.Generator, optional
        Draws these orbits.
    radius : float, optional
        Their length, relative to the distance from θ₀ at which the Jacobian becomes another one.
    candidates : sequence of callables, optional
        Functions θ ↦ a number that may be conserved, each of which is tested.

    Returns
    -------
    Derivation
        The kind of flow, why, and its potential where it has one.

    Raises
    ------
    InputError
        Where the map has kinks or is not finite at the start, or an argument is not what it should be.
    NotConvergedError
        Where an orbit could not be followed.

    See Also
    --------
    closed_form : The formula of Q.

    Examples
    --------
    >>> import tacit
    >>> tacit.derive(lambda t: t[:2] ** 2 - t[2:] ** 2, [1.0, 1.0, 1.0, 1.0]).kind
    'mirror'
    """
    begun = time.perf_counter()
    if not isinstance(samples, int | np.integer) or samples < 2:
        raise InputError(f"samples must be a whole number of at least 2, got {samples!r}")
    if not 0 < float(radius) < math.inf:
        raise InputError(f"radius must be positive, got {radius!r}")
    model, jets, start = checked_model(parametrization, theta0, int(samples))
    length = own_length(jets, start)
    _refuse_unresolved(float(radius) * length, start)
    points = orbit_points(jets, start, float(radius) * length, int(samples), np.random.default_rng(seed))
    found, basis, nearby = _verdict(jets, points, length, float(radius))
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
        samples=int(samples),
        radius=float(radius),
        candidates=put_to_test(jets, candidates, points, length),
        seconds=time.perf_counter() - begun,
        length=length,
        nearby_dimension=nearby,
        basis=basis,
        function_model=model,
        _jets=jets,
    )


def _refuse_unresolved(length: float, start: Float) -> None:
    """Orbits must be longer than what floats resolve at θ₀."""
    size = float(np.abs(start).max())
    if not (length > _RESOLVED * size and length > np.finfo(float).tiny):
        raise InputError(
            f"orbits of length {length:.1e} (radius times the length over which the map's Jacobian changes) "
            f"cannot be told from θ₀, whose entries are as large as {size:.1e}, in double precision; choose "
            "a larger radius, or a start nearer to 0"
        )


def _verdict(jets: Jets, points: Float, length: float, radius: float) -> tuple[Examined, Float | None, int]:
    """What the orbit says, in coordinates of the subspace B that contains w, and the generic dimension."""
    found = examined(jets, points, length)
    d, rank = len(jets.value(points[0])), found.closure.rank[1]
    basis = flat_image(jets, points, rank) if rank < d else None
    within = jets if basis is None else Coordinates.of(jets, basis)
    if basis is not None:
        found = examined(within, points, length)
    for theta in (points[-1], points[0]):  # entries that are tiny in one may not be so in the other
        failed = _fails_elsewhere(jets, within, found, theta, length, basis)
        if failed is not None:
            found = _unsure(found, *failed)
            break
    nearby = _nearby_dimension(jets, within, points[0], length, radius, basis)
    return found, basis, max(found.closure.dimension, nearby)


def _nearby_dimension(
    jets: Jets, within: Jets, start: Float, length: float, radius: float, basis: Float | None
) -> int:
    """What flows from starts near θ₀ reach, 0 if that is not known."""
    if basis is not None:
        # At a special start the subspace holds the orbit of θ₀ only: flows from starts nearby leave it.
        outside = reached_outside(jets, start, length, radius, basis)
        if outside:
            return outside
    nearby = generic(within, start, length, radius)
    return 0 if nearby is None else nearby.closure.dimension


def _fails_elsewhere(
    jets: Jets, within: Jets, found: Examined, theta: Float, length: float, basis: Float | None
) -> tuple[float, float] | None:
    """Where on the ray through θ, a point of the orbit, the verdict fails, and by how much.

    Special starts are asked too: on the orbit of a start that is special only to round-off, as (1 + θ₁²)θ₂ at
    θ₁ = 1e-10, nothing that depends on θ₁ can be seen, while a start at θ₁ = 0 stays special along its ray.
    """
    kind, rank = found.verdict[0], found.closure.rank[1]
    if kind == "none" and rank < len(within.value(theta)):
        return of_larger_rank(within, theta, rank)
    if kind not in ("mirror", "warped"):
        return None
    failed = contradicted(within, found, theta, length)
    if failed is None and basis is not None:
        failed = off_the_subspace(jets, theta, basis)
    return failed


def _unsure(found: Examined, factor: float, size: float) -> Examined:
    """What holds at θ₀ to round-off and fails elsewhere along the ray through it."""
    kind = found.verdict[0]
    seems = "w moves on a surface" if kind == "none" else f"the numbers are those of a {kind} flow"
    return replace(
        found,
        closure=replace(found.closure, doubt=size),
        verdict=(
            "undecided",
            f"Undecided in double precision: near θ₀ {seems} to round-off, but at {factor:.0e}·θ₀, on "
            f"the same smooth piece of the map, what must be 0 has relative size {size:.1e}. Terms of the "
            "map are too small to be seen at θ₀, or θ₀ is special; a start at which all of them matter "
            "decides.",
        ),
    )
