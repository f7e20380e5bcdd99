r"""The search for conserved polynomials of degree at most 2, block by block of the parameters.

I is conserved for every loss if ∇I·∇Fᵢ = 0 for all i. These equations are linear in the coefficients of I;
their null space at random points is computed in reduced form. Parameters that no Fᵢ connects form blocks that
are searched separately: nothing is lost, since a product of laws of two blocks has a gradient that depends on
theirs. A polynomial is reported only after it has been verified at other points: near θ₀, along flows from
it, and at smaller and larger multiples of θ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import scipy.linalg
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
_POINTS = 6  # points at which J is evaluated to find the parameters of each coordinate of w
_LOCAL = 0.3  # length scales: sampling distance from θ₀ if the map is not defined farther away
_NULL = 1e-9  # relative singular values below this count as 0
_PIVOT = 1e-6  # relative entries below this count as 0 in the elimination
_INDEPENDENT = 1e-6  # remainder of a gradient, of norm 1, that is independent of the others
_FRACTIONS = (1, 2, 3, 4)  # coefficients are rounded to fractions with these denominators
_WHOLE = 1e-7  # largest distance from such a fraction at which a coefficient is rounded
_HOLDS = 1e-7  # largest |cos∠(∇I, ∇Fᵢ)| at other points; coefficients are accurate to 1e-9


@dataclass(frozen=True)
class Search:
    """The polynomials found; why: the reason why others of degree 2 may be missing, "" if none can."""

    laws: tuple[Conserved, ...] = ()
    why: str = ""


def search_polynomials(jets: Jets, start: Float, number: int, length: float, seed: int = 0) -> Search:
    """At most `number` independent conserved polynomials of degree ≤ 2, all of them verified."""
    if number == 0:
        return Search()
    sampling = _sampling(jets, start, length, seed)
    if sampling is None:
        return Search(why="not searched: the map is not finite at random points near θ₀")
    blocks = _blocks(jets, sampling)
    largest = max(unknowns(len(block.members)) for block in blocks)
    if largest > MAX_COEFFICIENTS:
        why = f"a block of parameters has {largest:,} coefficients, and the limit is {MAX_COEFFICIENTS:,}"
        return Search(why=f"not searched: {why}")
    if number * len(start) ** 2 > _MAX_NUMBERS:
        why = f"{number:,} polynomials in {len(start):,} parameters take too much memory"
        return Search(why=f"not searched: {why}")
    found = _polynomials(jets, sampling, blocks, number)
    if found is None:
        return Search(why="not searched: the map is not finite, or saturated, near θ₀")
    kept = _verified(jets, found, start, length)
    missing = "search incomplete: a polynomial found at random points does not hold at others"
    return Search(kept, missing if len(kept) < len(found) else "")


def parameter_blocks(jets: Jets, start: Float, length: float, seed: int = 0) -> list[int]:
    """The numbers of parameters of the blocks, which no coordinate of w connects."""
    sampling = _sampling(jets, start, length, seed)
    return [len(start)] if sampling is None else [len(block.members) for block in _blocks(jets, sampling)]


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


@dataclass(frozen=True, eq=False)
class _Block:
    """Parameters that coordinates of w connect, with the equations ∇Fᵢ·∇I = 0 for their polynomials I."""

    members: Any  # indices of the parameters
    rows: list[Float] = field(default_factory=list)

    @cached_property
    def pairs(self) -> Any:
        """The factors of each quadratic monomial, (m, 2)."""
        return np.array(list(combinations_with_replacement(range(len(self.members)), 2)))

    @property
    def count(self) -> int:
        """The number of equations."""
        return sum(map(len, self.rows))

    @property
    def missing(self) -> int:
        """The number of equations that are still needed."""
        n = len(self.members)
        return int(EQUATIONS_PER_UNKNOWN * unknowns(n) + n) - self.count

    def add(self, J: Float, x: Float) -> None:
        """Add the equations at x for the coefficients of all monomials, the linear ones first."""
        if self.missing > 0:
            part = J[(J[:, self.members] != 0).any(axis=1)][:, self.members]
            slopes, x, (i, j) = _row_space(part), x[self.members], self.pairs.T
            self.rows.append(np.hstack([slopes, slopes[:, i] * x[j] + slopes[:, j] * x[i]]))

    def laws(self, sampling: _Sampling, names: tuple[str, ...]) -> Iterator[Conserved]:
        """The polynomials that satisfy all equations, in all parameters θ."""
        n, p, size = len(self.members), len(sampling.center), sampling.size
        null = _null(np.vstack(self.rows) if self.rows else np.zeros((0, unknowns(n))))
        center, recentered = sampling.center[self.members] / size, np.array(null)
        for at, (i, j) in enumerate(self.pairs, start=n):  # xᵢxⱼ = yᵢyⱼ − cⱼyᵢ − cᵢyⱼ + …, y = θ/size
            recentered[:, i] -= center[j] * null[:, at]
            recentered[:, j] -= center[i] * null[:, at]
        for row in _reduced(recentered):
            linear, quadratic = np.zeros(p), np.zeros((p, p))
            for pair, c in zip(self.pairs, row[n:], strict=True):
                i, j = self.members[pair]
                quadratic[i, j] += c / 2
                quadratic[j, i] += c / 2
            # Coefficients are those in y; the quadratic part is not rescaled.
            linear[self.members] = _rounded(row[:n] * (size if quadratic.any() else 1.0))
            first = next(c for c in (*row[n:], *row[:n]) if c != 0)
            sign = -1.0 if first < 0 else 1.0
            yield Conserved(sign * linear + 0.0, sign * quadratic + 0.0, names)


def _blocks(jets: Jets, sampling: _Sampling) -> list[_Block]:
    """The blocks of parameters that coordinates of w connect."""
    depends = np.zeros((1, len(sampling.center)), dtype=bool)
    for _ in range(_POINTS * _TRIALS):
        J = jets.slopes(sampling.draw())
        if np.isfinite(J).all():
            depends = (J != 0) | depends
    graph = csr_array(depends.astype(float))
    _, labels = connected_components(graph.T @ graph, directed=False)
    return [_Block(np.flatnonzero(labels == label)) for label in np.unique(labels)]


def _polynomials(
    jets: Jets, sampling: _Sampling, blocks: list[_Block], number: int
) -> tuple[Conserved, ...] | None:
    """Independent polynomials in the null spaces of all blocks; None if too few points are usable."""
    for _ in range(_TRIALS * max(block.missing for block in blocks)):
        if all(block.missing <= 0 for block in blocks):
            break
        theta = sampling.draw()
        J = jets.slopes(theta)
        if np.isfinite(J).all() and not _inaccurate(jets, theta, J):
            for block in blocks:
                block.add(J, (theta - sampling.center) / sampling.size)
    if any(block.count and block.missing > 0 for block in blocks):
        return None
    names = parameter_names(jets)
    laws = [law for block in blocks for law in block.laws(sampling, names)]
    return tuple(_independent(laws, sampling.draw(), number))


def _inaccurate(jets: Jets, theta: Float, J: Float) -> bool:
    """Whether J has lost the digits that the equations need, as the Jacobian of a softmax near 1 has.

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


def _row_space(J: Float) -> Float:
    """An orthonormal basis of the row space, so that dependent rows add no equations; empty if J is."""
    return scipy.linalg.orth((J / row_norms(J)[:, None]).T, rcond=_NULL).T if len(J) else J


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
    """Whether ∇I·∇Fᵢ = 0 up to the round-off of F."""
    here, beside = (
        float(cosines(jets.slopes(at), law.gradient(at)).max()) for at in (theta, perturbed(theta))
    )
    return here <= _HOLDS or here <= NOISE * abs(here - beside)
