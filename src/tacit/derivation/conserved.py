r"""What every gradient flow of a parametrization conserves: their number, and those that are polynomials.

I is conserved for every loss where ∇I·∇Fᵢ = 0 for all i, and for nothing less. Among polynomials of degree 2
at most that is linear in the coefficients: their null space at random points, in reduced form so that the
coefficients can be read. As many are kept as have independent gradients.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.integrate import DOP853

from tacit.data.arrays import Float
from tacit.derivation.smooth_map import Jets

_TRIES = 4  # points for each equation, of which some may lie where the map is not defined
ROOM = 2.0  # equations for each unknown coefficient
_NULL = 1e-9  # singular values below which, relative to the largest, equations hold
_WHOLE = 1e-7  # distance from a small fraction at which a coefficient is one
_FRACTIONS = (1, 2, 3, 4)  # their denominators
_TIGHT = 1e-12  # of flows along which they are verified
_CALLS = 2_000  # evaluations along one of them
MOST = 4_000  # coefficients, beyond which no search is made
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


@dataclass(frozen=True, eq=False)
class Conserved:
    """I(θ) = linear·θ + θᵀ quadratic θ, which is the same all along every gradient flow.

    drift: the largest change that was seen along simulated flows with random losses, relative to its terms.
    """

    linear: Float
    quadratic: Float
    names: tuple[str, ...]
    drift: float = float("nan")

    def __call__(self, theta: Any) -> float:
        """I(θ), of the flat θ."""
        theta = np.asarray(theta, dtype=float)
        return float(self.linear @ theta + theta @ self.quadratic @ theta)

    def terms(self, theta: Float) -> float:
        """The sum of the sizes of its terms."""
        size = np.abs(theta)
        return float(np.abs(self.linear) @ size + size @ np.abs(self.quadratic) @ size)

    def gradient(self, theta: Float) -> Float:
        """∇I(θ)."""
        return np.asarray(self.linear + 2 * self.quadratic @ theta)

    @cached_property
    def text(self) -> str:
        """The polynomial as it is written."""
        p, parts = len(self.linear), []
        for i in range(p):
            for j in range(i, p):
                c = self.quadratic[i, j] * (1 if i == j else 2)
                parts.append((c, f"{self.names[i]}²" if i == j else f"{self.names[i]}·{self.names[j]}"))
        parts = [(c, name) for c, name in [*parts, *zip(self.linear, self.names, strict=True)] if c != 0]
        written = "".join(f" {'−' if c < 0 else '+'} {_coefficient(abs(c))}{name}" for c, name in parts)
        return written.strip().removeprefix("+ ") or "0"

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Conserved({self.text})"


def _coefficient(c: float) -> str:
    return "" if c == 1 else f"{c:.6g}·"


def parameter_names(jets: Jets) -> tuple[str, ...]:
    """θ₁, θ₂, … or the names of the arrays with their indices, from 1."""
    found: list[str] = []
    for name, shape in jets.layout:
        size = int(np.prod(shape))
        found += [f"{name}{str(at + 1).translate(_SUBSCRIPTS)}" for at in range(size)]
    return tuple(found)


def polynomials(jets: Jets, start: Float, number: int, seed: int = 0) -> tuple[Conserved, ...]:
    """Independent conserved polynomials of degree ≤ 2, `number` at most; none beyond 4,000 monomials."""
    p = len(start)
    pairs = np.array([(i, j) for i in range(p) for j in range(i, p)])
    unknowns = p + len(pairs)
    if number == 0 or unknowns > MOST:
        return ()
    rng, size = np.random.default_rng(seed), float(np.sqrt(np.mean(start**2))) or 1.0
    rows: list[Float] = []
    needed = int(ROOM * unknowns + p)
    for _ in range(_TRIES * needed):
        if sum(map(len, rows)) >= needed:
            break
        theta = size * rng.standard_normal(p)
        J = jets.slopes(theta)
        if np.isfinite(J).all():
            rows.append(_equations(_row_space(J), theta / size, pairs))
    if sum(map(len, rows)) < needed:
        return ()
    _, singular, vectors = np.linalg.svd(np.vstack(rows), full_matrices=False)
    null = vectors[singular <= _NULL * singular[0]]
    found = [_polynomial(row, pairs, size, p) for row in _reduced(null)]
    names = parameter_names(jets)
    laws = [Conserved(linear, quadratic, names) for linear, quadratic in found]
    return tuple(_independent(laws, size * rng.standard_normal(p), number))


def _row_space(J: Float) -> Float:
    """Orthonormal rows: dependent ones are no further equations."""
    _, singular, rows = np.linalg.svd(J, full_matrices=False)
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


def _polynomial(row: Float, pairs: Any, size: float, p: int) -> tuple[Float, Float]:
    """Coefficients of θ itself, from those of θ/size; the largest of the quadratic ones stays what it is."""
    quadratic = np.zeros((p, p))
    for (i, j), c in zip(pairs, row[p:], strict=True):
        quadratic[i, j] += c / 2
        quadratic[j, i] += c / 2
    linear = row[:p] * (size if quadratic.any() else 1.0)
    first = next(c for c in (*row[p:], *row[:p]) if c != 0)
    sign = -1.0 if first < 0 else 1.0
    return sign * linear + 0.0, sign * quadratic + 0.0


def _independent(laws: list[Conserved], theta: Float, number: int) -> list[Conserved]:
    """Those whose gradients at a generic point are independent of the earlier ones', the shortest first."""
    kept: list[Conserved] = []
    basis = np.zeros((0, len(theta)))
    for law in sorted(laws, key=lambda law: int((law.quadratic != 0).sum() + (law.linear != 0).sum())):
        rest = law.gradient(theta)
        unit = rest / np.linalg.norm(rest)
        rest = unit - (unit @ basis.T) @ basis
        if np.linalg.norm(rest) > 1e-6 and len(kept) < number:
            basis = np.vstack([basis, rest / np.linalg.norm(rest)])
            kept.append(law)
    return kept


def random_flows(jets: Jets, start: Float, seed: int = 0) -> Iterator[Float]:
    """Gradient flows of three random losses ½‖A(w − b)‖² from θ₀, each as rows of parameters."""
    rng, w0 = np.random.default_rng(seed), jets.value(start)
    for _ in range(3):
        A = rng.standard_normal((len(w0), len(w0)))
        b = w0 + rng.standard_normal(len(w0)) * (float(np.abs(w0).max()) or 1.0)
        J0 = jets.slopes(start)
        speed = float(np.linalg.norm(J0.T @ (A.T @ (A @ (w0 - b))))) or 1.0
        duration = 0.5 * (float(np.linalg.norm(start)) or 1.0) / speed

        def rate(_: float, theta: Float, A: Float = A, b: Float = b) -> Float:
            return np.asarray(-jets.slopes(theta).T @ (A.T @ (A @ (jets.value(theta) - b))))

        size = _TIGHT * (float(np.linalg.norm(start)) or 1.0)
        with np.errstate(all="ignore"):
            steps = DOP853(rate, 0.0, start, duration, rtol=_TIGHT, atol=size)
            rows = [start]
            while steps.status == "running" and steps.nfev < _CALLS:  # kinks and poles end a flow
                steps.step()
                rows.append(steps.y)
        yield np.array([theta for theta in rows if np.isfinite(theta).all()])


def drifts(jets: Jets, laws: tuple[Conserved, ...], start: Float, seed: int = 0) -> list[float]:
    """The largest relative change of each along flows of random losses from θ₀."""
    worst = np.zeros(len(laws))
    for flow in random_flows(jets, start, seed) if laws else ():
        for at, law in enumerate(laws):
            changes = [abs(law(theta) - law(start)) / (law.terms(theta) or 1.0) for theta in flow]
            worst[at] = max(worst[at], *changes)
    return worst.tolist()
