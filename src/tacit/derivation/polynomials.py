r"""The search for conserved polynomials of degree at most 2, block by block of the parameters.

I is conserved for every loss if ∇I·∇Fᵢ = 0 for all i. These equations are linear in the coefficients of I;
their null space at random points is computed in reduced form. Parameters that no Fᵢ connects form blocks that
are searched separately: nothing is lost, since a product of laws of two blocks has a gradient that depends on
theirs. A polynomial is reported only after it has been verified at other points: near θ₀, along flows from
it, and at smaller and larger multiples of θ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from tacit.data.arrays import Float
from tacit.derivation.closure import CLEAR
from tacit.derivation.conserved import Conserved, cosines, drifts, parameter_names
from tacit.derivation.examination import NOISE, multiples, points_nearby
from tacit.derivation.length_scale import row_norms, sampling_width, unit_singular_values
from tacit.derivation.metric import perturbed
from tacit.derivation.smooth_map import Jets

MAX_COEFFICIENTS = 4_000  # of a block; larger blocks are not searched, since the cost is cubic
EQUATIONS_PER_UNKNOWN = 2.0
_MAX_NUMBERS = 30_000_000  # stored for all laws together
_TRIALS = 4  # points drawn for each equation needed, since the map may not be defined at some of them
_POINTS = 6  # points at which J shows which parameters a coordinate of w depends on
_LOCAL = 0.3  # length scales: sampling distance from θ₀ if the map is not defined farther away
_NULL = 1e-9  # relative singular values below this count as 0
_PIVOT = 1e-6  # relative entries below this count as 0 in the elimination
_INDEPENDENT = 1e-6  # remainder of a gradient, of norm 1, that is independent of the others
_FRACTIONS = (1, 2, 3, 4)  # coefficients are rounded to fractions with these denominators
_WHOLE = 1e-7  # largest distance from such a fraction at which a coefficient is rounded
_HOLDS = 1e-7  # largest |cos∠(∇I, ∇Fᵢ)| at other points; coefficients are accurate to 1e-9


@dataclass(frozen=True)
class Search:
    """The polynomials found; complete: whether no other of degree 2 can be missing, and why if one can."""

    laws: tuple[Conserved, ...]
    complete: bool = True
    why: str = ""


def search_polynomials(jets: Jets, start: Float, number: int, length: float, seed: int = 0) -> Search:
    """At most `number` independent conserved polynomials of degree ≤ 2, all of them verified."""
    if number == 0:
        return Search(())
    sampling = _sampling(jets, start, length, seed)
    if sampling is None:
        return Search((), False, "not searched: the map is not finite at random points near θ₀")
    blocks = _blocks(jets, sampling)
    largest = max(unknowns(len(block)) for block in blocks)
    if largest > MAX_COEFFICIENTS:
        why = f"a block of parameters has {largest:,} coefficients, and the limit is {MAX_COEFFICIENTS:,}"
        return Search((), False, f"not searched: {why}")
    if number * len(start) ** 2 > _MAX_NUMBERS:
        why = f"{number:,} polynomials in {len(start):,} parameters take too much memory"
        return Search((), False, f"not searched: {why}")
    found = _polynomials(jets, sampling, blocks, number)
    if found is None:
        return Search((), False, "not searched: the map is not finite, or saturated, near θ₀")
    kept = _verified(jets, found, start, length)
    if len(kept) < len(found):
        return Search(
            kept, False, "search incomplete: a polynomial found at random points does not hold at others"
        )
    return Search(kept)


def parameter_blocks(jets: Jets, start: Float, length: float, seed: int = 0) -> list[int]:
    """The numbers of parameters of the blocks, which no coordinate of w connects."""
    sampling = _sampling(jets, start, length, seed)
    return [len(start)] if sampling is None else [len(block) for block in _blocks(jets, sampling)]


def unknowns(p: int) -> int:
    """The number of coefficients of a polynomial of degree 2 in p parameters, without its constant."""
    return p + p * (p + 1) // 2


@dataclass(frozen=True)
class _Sampling:
    """Random points center + size·x with x standard normal."""

    center: Float
    size: float
    rng: np.random.Generator

    def draw(self) -> Float:
        return np.asarray(self.center + self.size * self.rng.standard_normal(len(self.center)))


def _sampling(jets: Jets, start: Float, length: float, seed: int) -> _Sampling | None:
    """Points around 0, as far as θ₀ or the length scale, or close to θ₀ if the map is not defined there."""
    p = len(start)
    for center, size in ((np.zeros(p), sampling_width(start, length)), (start, _LOCAL * length / np.sqrt(p))):
        rng = np.random.default_rng(seed)
        points = center + size * rng.standard_normal((2 * _POINTS, p))
        finite = [bool(np.isfinite(jets.slopes(theta)).all()) for theta in points]
        if np.mean(finite) >= 1 / _TRIALS:
            return _Sampling(center, size, rng)
    return None


def _blocks(jets: Jets, sampling: _Sampling) -> list[Any]:
    """The blocks of parameters that coordinates of w connect."""
    depends = np.zeros((1, len(sampling.center)), dtype=bool)
    for _ in range(_POINTS * _TRIALS):
        J = jets.slopes(sampling.draw())
        if np.isfinite(J).all():
            depends = (J != 0) | depends
    graph = csr_array(depends.astype(float))
    _, labels = connected_components(graph.T @ graph, directed=False)
    return [np.flatnonzero(labels == label) for label in np.unique(labels)]


def _polynomials(
    jets: Jets, sampling: _Sampling, blocks: list[Any], number: int
) -> tuple[Conserved, ...] | None:
    """Independent polynomials in the null spaces of all blocks; None if too few points are usable."""
    p, names = len(sampling.center), parameter_names(jets)
    rows: list[list[Float]] = [[] for _ in blocks]
    needed = [int(EQUATIONS_PER_UNKNOWN * unknowns(len(block)) + len(block)) for block in blocks]
    pairs = [np.array([(i, j) for i in range(len(b)) for j in range(i, len(b))]) for b in blocks]
    for _ in range(_TRIALS * max(needed)):
        if all(sum(map(len, each)) >= most for each, most in zip(rows, needed, strict=True)):
            break
        theta = sampling.draw()
        J = jets.slopes(theta)
        if not np.isfinite(J).all() or _inaccurate(jets, theta, J):
            continue
        x = (theta - sampling.center) / sampling.size
        for at, block in enumerate(blocks):
            part = J[(J[:, block] != 0).any(axis=1)][:, block]
            missing = needed[at] - sum(map(len, rows[at]))
            if missing > 0:
                rows[at].append(_equations(_row_space(part), x[block], pairs[at]))
    laws = []
    for at, block in enumerate(blocks):
        found = np.vstack(rows[at]) if rows[at] else np.zeros((0, unknowns(len(block))))
        if 0 < len(found) < needed[at]:
            return None
        center = sampling.center[block] / sampling.size
        for row in _reduced(_recentered(_null(found), pairs[at], center)):
            laws.append(_law(row, pairs[at], sampling.size, block, p, names))
    generic = sampling.draw()
    return tuple(_independent(laws, generic, number))


def _inaccurate(jets: Jets, theta: Float, J: Float) -> bool:
    """Has J lost the digits that the equations need, as the Jacobian of a softmax near 1 has?

    Round-off of a row rotates the row space by its size over the smallest singular value.
    """
    change = np.linalg.norm(jets.slopes(perturbed(theta)) - J, axis=1) / row_norms(J)
    singular = unit_singular_values(J)
    smallest = singular[singular > _NULL * singular[0]].min(initial=1.0)
    return bool(change.max() > _NULL * smallest)


def _null(rows: Float) -> Float:
    """An orthonormal basis of the solutions of all equations."""
    if not rows.any():
        return np.eye(rows.shape[1])
    _, singular, vectors = np.linalg.svd(rows, full_matrices=False)
    return np.asarray(vectors[singular <= _NULL * singular[0]])


def _recentered(null: Float, pairs: Any, center: Float) -> Float:
    """The coefficients in y = θ/size, from those in x = y − center; constants are dropped."""
    recentered = np.array(null)
    p = len(center)
    for at, (i, j) in enumerate(pairs):  # xᵢxⱼ = yᵢyⱼ − cⱼyᵢ − cᵢyⱼ + …
        recentered[:, i] -= center[j] * null[:, p + at]
        recentered[:, j] -= center[i] * null[:, p + at]
    return recentered


def _row_space(J: Float) -> Float:
    """An orthonormal basis of the row space, so that dependent rows add no equations; empty if J is."""
    if not len(J):
        return J
    _, singular, rows = np.linalg.svd(J / row_norms(J)[:, None], full_matrices=False)
    return np.asarray(rows[singular > _NULL * max(float(singular[0]), 1e-300)])


def _equations(J: Float, theta: Float, pairs: Any) -> Float:
    """∇Fᵢ·∇m for all monomials m, the linear ones first."""
    i, j = pairs.T
    return np.hstack([J, J[:, i] * theta[j] + J[:, j] * theta[i]])


def _reduced(null: Float) -> Float:
    """A basis of the same space in reduced echelon form, with rounded coefficients."""
    basis, row = np.array(null), 0
    for column in reversed(range(basis.shape[1])):
        if row == len(basis):
            break
        best = row + int(np.argmax(np.abs(basis[row:, column])))
        if abs(basis[best, column]) < _PIVOT * np.abs(basis[row:]).max():
            basis[row:, column] = 0.0
            continue
        basis[[row, best]] = basis[[best, row]]
        basis[row] /= basis[row, column]
        others = np.arange(len(basis)) != row
        basis[others] -= np.outer(basis[others, column], basis[row])
        row += 1
    return _rounded(basis[:row])


def _rounded(rows: Float) -> Float:
    """The coefficients, rounded to small fractions if they are close to one."""
    rounded = rows.copy()
    for denominator in reversed(_FRACTIONS):
        near = np.round(rows * denominator) / denominator
        rounded = np.where(np.abs(rows - near) <= _WHOLE, near, rounded)
    return rounded + 0.0  # no −0


def _law(row: Float, pairs: Any, size: float, block: Any, p: int, names: tuple[str, ...]) -> Conserved:
    """The polynomial in θ, from the coefficients in θ/size; the quadratic part is not rescaled."""
    n = len(block)
    part, whole = np.zeros((n, n)), np.zeros((p, p))
    for (i, j), c in zip(pairs, row[n:], strict=True):
        part[i, j] += c / 2
        part[j, i] += c / 2
    linear = np.zeros(p)
    linear[block] = _rounded(row[:n] * (size if part.any() else 1.0))
    whole[np.ix_(block, block)] = part
    first = next(c for c in (*row[n:], *row[:n]) if c != 0)
    sign = -1.0 if first < 0 else 1.0
    return Conserved(sign * linear + 0.0, sign * whole + 0.0, names)


def _independent(laws: list[Conserved], theta: Float, number: int) -> list[Conserved]:
    """Polynomials with independent gradients at a generic point, the shortest first."""
    kept: list[Conserved] = []
    basis = np.zeros((0, len(theta)))
    for law in sorted(laws, key=_complexity):
        gradient = law.gradient(theta)
        unit = gradient / np.linalg.norm(gradient)
        rest = unit - (unit @ basis.T) @ basis
        if np.linalg.norm(rest) > _INDEPENDENT and len(kept) < number:
            basis = np.vstack([basis, rest / np.linalg.norm(rest)])
            kept.append(law)
    return kept


def _complexity(law: Conserved) -> tuple[int, bool]:
    """The sorting key: the number of terms, then linear before quadratic (θ₃ before θ₃²)."""
    return int((law.quadratic != 0).sum() + (law.linear != 0).sum()), bool(law.quadratic.any())


def _verified(jets: Jets, laws: tuple[Conserved, ...], start: Float, length: float) -> tuple[Conserved, ...]:
    """The polynomials that hold at other points near θ₀, at multiples of θ, and along flows from θ₀."""
    points = [start, *points_nearby(jets, start, _LOCAL * length, seed=1)]
    points += [here for _, here, _ in multiples(jets, points[-1])]
    kept = [law for law in laws if all(_holds(jets, law, theta) for theta in points)]
    changes = drifts(jets, tuple(kept), start, length)
    return tuple(replace(law, drift=d) for law, d in zip(kept, changes, strict=True) if d < CLEAR)


def _holds(jets: Jets, law: Conserved, theta: Float) -> bool:
    """Is ∇I·∇Fᵢ = 0, up to the round-off of F?"""
    here, beside = (
        float(cosines(jets.slopes(at), law.gradient(at)).max()) for at in (theta, perturbed(theta))
    )
    return here <= _HOLDS or here <= NOISE * abs(here - beside)
