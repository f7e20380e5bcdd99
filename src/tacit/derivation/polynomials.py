r"""The search for conserved polynomials of degree 2 at most, block by block of the parameters.

I is conserved for every loss where ∇I·∇Fᵢ = 0 for all i: linear in the coefficients of I, whose null space at
random points is found in reduced form. Parameters that no Fᵢ connects are blocks of their own: products of
laws of two blocks have gradients that depend on theirs, so that nothing is lost. What is found is verified
where it was not looked for: near θ₀, along flows from it, and where θ is larger or smaller, before it is
stated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from tacit.data.arrays import Float
from tacit.derivation.conserved import Conserved, drifts, parameter_names
from tacit.derivation.examination import points_nearby, rescaled
from tacit.derivation.metric import nudged
from tacit.derivation.scale import row_sizes
from tacit.derivation.smooth_map import Jets
from tacit.derivation.span import CLEAR

_TRIES = 4  # points for each equation, of which some may lie where the map is not defined
ROOM = 2.0  # equations for each unknown coefficient
_NULL = 1e-9  # singular values below which, relative to the largest, equations hold
_WHOLE = 1e-7  # distance from a small fraction at which a coefficient is one
_FRACTIONS = (1, 2, 3, 4)  # their denominators
MOST = 4_000  # coefficients of a block, beyond which no search is made
NUMBERS = 30_000_000  # of all laws together
_HOLDS = 1e-7  # |∇I·∇F| over its terms at fresh points; coefficients are known to 1e-9 or better
_TRUSTED = 100.0  # times what the last bits of θ change, above which a size is more than round-off
_LOOKS = 6  # points at which it is asked which parameters a coordinate of w depends on
_LOCAL = (
    0.3  # of the map's own length: how far from θ₀ the search goes where the map is not defined elsewhere
)


@dataclass(frozen=True)
class Search:
    """What was found; complete: whether no other law of degree 2 can be missing, and otherwise why."""

    laws: tuple[Conserved, ...]
    complete: bool = True
    why: str = ""


def searched(jets: Jets, start: Float, number: int, length: float, seed: int = 0) -> Search:
    """Independent conserved polynomials of degree ≤ 2, `number` at most, all of them verified."""
    if number == 0:
        return Search(())
    sampling = _sampling(jets, start, length, seed)
    if sampling is None:
        return Search((), False, "the map is not finite at random points near θ₀")
    blocks = _blocks(jets, sampling)
    largest = max(unknowns(len(block)) for block in blocks)
    if largest > MOST or number * len(start) ** 2 > NUMBERS:
        return Search((), False, f"{largest:,} coefficients in one block of parameters, {MOST:,} at most")
    found = _polynomials(jets, sampling, blocks, number)
    if found is None:
        return Search((), False, "the map is not finite, or saturated, at random points near θ₀")
    kept = _verified(jets, found, start, length)
    short = len(kept) < len(found)
    return Search(kept, not short, "what random points suggest fails at fresh ones" if short else "")


def parameter_blocks(jets: Jets, start: Float, length: float, seed: int = 0) -> list[int]:
    """How many parameters each block has that no coordinate of w connects with others."""
    sampling = _sampling(jets, start, length, seed)
    return [len(start)] if sampling is None else [len(block) for block in _blocks(jets, sampling)]


def unknowns(p: int) -> int:
    """Coefficients of a polynomial of degree 2 without its constant, in p parameters."""
    return p + p * (p + 1) // 2


@dataclass(frozen=True)
class _Sampling:
    """Random points center + size·x, x standard normal."""

    center: Float
    size: float
    rng: np.random.Generator

    def draw(self) -> Float:
        return np.asarray(self.center + self.size * self.rng.standard_normal(len(self.center)))


def _sampling(jets: Jets, start: Float, length: float, seed: int) -> _Sampling | None:
    """Around 0, as wide as θ₀ or the map's own length, whichever is larger; else close to θ₀."""
    p = len(start)
    wide = max(float(np.sqrt(np.mean(start**2))), length / np.sqrt(p))
    for center, size in ((np.zeros(p), wide), (start, _LOCAL * length / np.sqrt(p))):
        rng = np.random.default_rng(seed)
        points = center + size * rng.standard_normal((2 * _LOOKS, p))
        finite = [bool(np.isfinite(jets.slopes(theta)).all()) for theta in points]
        if np.mean(finite) >= 1 / _TRIES:
            return _Sampling(center, size, rng)
    return None


def _blocks(jets: Jets, sampling: _Sampling) -> list[Any]:
    """Parameters that coordinates of w connect."""
    seen = np.zeros((1, len(sampling.center)), dtype=bool)
    for _ in range(_LOOKS * _TRIES):
        J = jets.slopes(sampling.draw())
        if np.isfinite(J).all():
            seen = (J != 0) | seen
    graph = csr_array(seen.astype(float))
    _, labels = connected_components(graph.T @ graph, directed=False)
    return [np.flatnonzero(labels == label) for label in np.unique(labels)]


def _polynomials(
    jets: Jets, sampling: _Sampling, blocks: list[Any], number: int
) -> tuple[Conserved, ...] | None:
    """The null space of each block, and as many of all of them as have independent gradients."""
    p, names = len(sampling.center), parameter_names(jets)
    rows: list[list[Float]] = [[] for _ in blocks]
    needed = [int(ROOM * unknowns(len(block)) + len(block)) for block in blocks]
    pairs = [np.array([(i, j) for i in range(len(b)) for j in range(i, len(b))]) for b in blocks]
    for _ in range(_TRIES * max(needed)):
        if all(sum(map(len, each)) >= most for each, most in zip(rows, needed, strict=True)):
            break
        theta = sampling.draw()
        J = jets.slopes(theta)
        if not np.isfinite(J).all() or _lost(jets, theta, J):
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


def _lost(jets: Jets, theta: Float, J: Float) -> bool:
    """Has J lost the digits that equations need, as that of a softmax near 1?

    Round-off of a row turns the row space by that of the row over the smallest singular value.
    """
    sizes = row_sizes(J)
    moved = np.linalg.norm(jets.slopes(nudged(theta)) - J, axis=1) / sizes
    singular = np.linalg.svd(J / sizes[:, None], compute_uv=False)
    smallest = singular[singular > _NULL * singular[0]].min(initial=1.0)
    return bool(moved.max() > _NULL * smallest)


def _null(rows: Float) -> Float:
    """An orthonormal basis of what all equations leave."""
    if not rows.any():
        return np.eye(rows.shape[1])
    _, singular, vectors = np.linalg.svd(rows, full_matrices=False)
    return np.asarray(vectors[singular <= _NULL * singular[0]])


def _recentered(null: Float, pairs: Any, center: Float) -> Float:
    """Coefficients in θ/size, of those in x = θ/size − center; constants are dropped."""
    moved = np.array(null)
    p = len(center)
    for at, (i, j) in enumerate(pairs):  # xᵢxⱼ = yᵢyⱼ − cⱼyᵢ − cᵢyⱼ + …
        moved[:, i] -= center[j] * null[:, p + at]
        moved[:, j] -= center[i] * null[:, p + at]
    return moved


def _row_space(J: Float) -> Float:
    """Orthonormal rows: dependent ones are no further equations; none for parameters that F does not use."""
    if not len(J):
        return J
    _, singular, rows = np.linalg.svd(J / row_sizes(J)[:, None], full_matrices=False)
    return np.asarray(rows[singular > _NULL * max(float(singular[0]), 1e-300)])


def _equations(J: Float, theta: Float, pairs: Any) -> Float:
    """∇Fᵢ·∇(each monomial), linear ones first."""
    i, j = pairs.T
    return np.hstack([J, J[:, i] * theta[j] + J[:, j] * theta[i]])


def _reduced(null: Float) -> Float:
    """A basis of the same space, in reduced echelon form with coefficients that are clean."""
    basis, row = np.array(null), 0
    for column in reversed(range(basis.shape[1])):
        if row == len(basis):
            break
        best = row + int(np.argmax(np.abs(basis[row:, column])))
        if abs(basis[best, column]) < 1e-6 * np.abs(basis[row:]).max():
            basis[row:, column] = 0.0
            continue
        basis[[row, best]] = basis[[best, row]]
        basis[row] /= basis[row, column]
        others = np.arange(len(basis)) != row
        basis[others] -= np.outer(basis[others, column], basis[row])
        row += 1
    return _cleaned(basis[:row])


def _cleaned(rows: Float) -> Float:
    """Coefficients that are close to a small fraction are that fraction."""
    cleaned = rows.copy()
    for denominator in reversed(_FRACTIONS):
        near = np.round(rows * denominator) / denominator
        cleaned = np.where(np.abs(rows - near) <= _WHOLE, near, cleaned)
    return cleaned + 0.0


def _law(row: Float, pairs: Any, size: float, block: Any, p: int, names: tuple[str, ...]) -> Conserved:
    """Coefficients of θ itself, from those of θ/size; the largest of the quadratic ones stays what it is."""
    n = len(block)
    part, whole = np.zeros((n, n)), np.zeros((p, p))
    for (i, j), c in zip(pairs, row[n:], strict=True):
        part[i, j] += c / 2
        part[j, i] += c / 2
    linear = np.zeros(p)
    linear[block] = _cleaned(row[:n] * (size if part.any() else 1.0))
    whole[np.ix_(block, block)] = part
    first = next(c for c in (*row[n:], *row[:n]) if c != 0)
    sign = -1.0 if first < 0 else 1.0
    return Conserved(sign * linear + 0.0, sign * whole + 0.0, names)


def _independent(laws: list[Conserved], theta: Float, number: int) -> list[Conserved]:
    """Those whose gradients at a generic point are independent of the earlier ones', the shortest first."""
    kept: list[Conserved] = []
    basis = np.zeros((0, len(theta)))
    for law in sorted(laws, key=_complexity):
        rest = law.gradient(theta)
        unit = rest / np.linalg.norm(rest)
        rest = unit - (unit @ basis.T) @ basis
        if np.linalg.norm(rest) > 1e-6 and len(kept) < number:
            basis = np.vstack([basis, rest / np.linalg.norm(rest)])
            kept.append(law)
    return kept


def _complexity(law: Conserved) -> tuple[int, bool]:
    """How many terms, and for as many whether one is quadratic: θ₃ before θ₃²."""
    return int((law.quadratic != 0).sum() + (law.linear != 0).sum()), bool(law.quadratic.any())


def _verified(jets: Jets, laws: tuple[Conserved, ...], start: Float, length: float) -> tuple[Conserved, ...]:
    """Those that hold at fresh points near θ₀, where θ is larger or smaller, and along flows from θ₀."""
    points = [start, *points_nearby(jets, start, _LOCAL * length, seed=1)]
    points += [here for _, here, _ in rescaled(jets, points[-1])]
    kept = [law for law in laws if all(_holds(jets, law, theta) for theta in points)]
    seen = drifts(jets, tuple(kept), start, length)
    return tuple(replace(law, drift=d) for law, d in zip(kept, seen, strict=True) if d < CLEAR)


def _holds(jets: Jets, law: Conserved, theta: Float) -> bool:
    """Is ∇I·∇Fᵢ = 0, up to the round-off of F?"""
    here = _violation(jets, law, theta)
    return here <= _HOLDS or here <= _TRUSTED * abs(here - _violation(jets, law, nudged(theta)))


def _violation(jets: Jets, law: Conserved, theta: Float) -> float:
    J, slope = jets.slopes(theta), law.gradient(theta)
    size = np.linalg.norm(J, axis=1) * np.linalg.norm(slope)
    return float((np.abs(J @ slope) / np.where(size > 0, size, 1.0)).max())
