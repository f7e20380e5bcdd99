r"""The Lie algebra that gradient fields span along an orbit: how many dimensions a flow can reach.

Fields Xᵢ = ∇Fᵢ, brackets [X, Y] = DY·X − DX·Y. Right-normed brackets [Xᵢ, [Xⱼ, …]] span it, and where those
of one level lie in the span of earlier ones at generic points it is closed: [X, fY] = f[X, Y] + X(f)Y, so
that of every level a basis of fields is enough. Its dimension is that of the orbit (Marcotte et al. 2023).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.autodiff import jax, jnp
from tacit.data.arrays import Float
from tacit.derivation.smooth_map import Jets

ZERO, CLEAR = 1e-9, 1e-6  # relative sizes below which a number is 0, and above which it is not
FLOOR = 1e-4  # of |X||Y| over the length of orbits: smaller derivatives are no size to be relative to
_LEVELS = 6  # nested brackets, at most


@dataclass(frozen=True)
class Closure:
    """The span of the fields and their brackets at each point.

    dimension: at the point where it is largest. closed: whether brackets of the last level added nothing.
    commutator: the largest bracket of two gradient fields, relative to the terms of which it is the
    difference. rank: that of J, at the start and at the best point. doubt: the largest relative size that was
    neither 0 nor clear; 0 if there was none. spans: orthonormal rows, one matrix for each point.
    """

    dimension: int
    closed: bool
    commutator: float
    rank: tuple[int, int]
    levels: int
    doubt: float
    spans: tuple[Float, ...]


@dataclass(frozen=True)
class Level:
    """θ ↦ brackets of the gradient fields with the fields that `chosen` names, level by level."""

    chosen: tuple[tuple[tuple[int, int], ...], ...]

    def fields(self, jets: Jets) -> Callable[[Any], Any]:
        """The fields of the last level that was chosen."""
        if not self.chosen:
            return jets.jacobian
        inner = Level(self.chosen[:-1]).fields(jets)
        pairs = np.array(self.chosen[-1])

        def picked(theta: Any) -> Any:
            forward, back, _ = _terms(jets.jacobian, inner, theta)
            return (forward - back)[pairs[:, 0], pairs[:, 1]]

        return picked

    def __call__(self, jets: Jets) -> Callable[[Any], Any]:
        """[Xᵢ, Yⱼ], the size of its terms, and |Xᵢ||Yⱼ|."""
        fields = self.fields(jets)

        def brackets(theta: Any) -> Any:
            forward, back, Y = _terms(jets.jacobian, fields, theta)
            terms = jnp.linalg.norm(forward, axis=-1) + jnp.linalg.norm(back, axis=-1)
            product = jnp.linalg.norm(jets.jacobian(theta), axis=-1)[:, None] * jnp.linalg.norm(Y, axis=-1)
            return forward - back, terms, product

        return brackets


def _terms(first: Callable[[Any], Any], fields: Callable[[Any], Any], theta: Any) -> tuple[Any, Any, Any]:
    """DYⱼ·Xᵢ and DXᵢ·Yⱼ, both (i, j, p), and Y."""
    X, Y = first(theta), fields(theta)
    forward = jax.vmap(lambda v: jax.jvp(fields, (theta,), (v,))[1])(X)
    back = jax.vmap(lambda v: jax.jvp(first, (theta,), (v,))[1])(Y)
    return forward, jnp.swapaxes(back, 0, 1), Y


def lie_closure(jets: Jets, points: Float, length: float) -> Closure:
    """Level by level until nothing is new; length: of the orbits, which sets what a small derivative is."""
    slopes = [jets.slopes(theta) for theta in points]
    size = np.max([np.linalg.norm(J, axis=1) for J in slopes], axis=0)
    spans = [_Span(J.shape[1]) for J in slopes]
    for span, J in zip(spans, slopes, strict=True):
        span.add(_relative(J, size))
    rank = (spans[0].dimension, max(span.dimension for span in spans))
    doubt = [span.doubt for span in spans]
    chosen: tuple[Any, ...] = ()
    commutator, closed = 0.0, False
    while not closed and len(chosen) < _LEVELS:
        found = [_brackets(jets, Level(chosen), theta, length) for theta in points]
        if not chosen:
            commutator = max(float(np.linalg.norm(rows, axis=-1).max()) for rows in found)
        before = max(span.dimension for span in spans)
        picked = [span.add(rows.reshape(-1, rows.shape[-1])) for span, rows in zip(spans, found, strict=True)]
        doubt += [span.doubt for span in spans]
        best = max(range(len(spans)), key=lambda at: spans[at].dimension)
        closed = spans[best].dimension in (before, points.shape[1])
        columns = found[best].shape[1]
        pairs = tuple((at // columns, at % columns) for at in picked[best])
        chosen = (*chosen, pairs) if pairs else chosen
    dimension = max(span.dimension for span in spans)
    bases = tuple(span.basis for span in spans)
    return Closure(dimension, closed, commutator, rank, len(chosen), max(doubt), bases)


def _brackets(jets: Jets, level: Level, theta: Float, length: float) -> Float:
    """Brackets, relative to the terms that they are the differences of."""
    rows, terms, product = jets(level, theta)
    return _relative(rows, terms + FLOOR * product / length)


def _relative(rows: Float, size: Float) -> Float:
    return np.asarray(rows / np.where(size > 0, size, 1.0)[..., None])


class _Span:
    """An orthonormal basis that grows; doubt: the largest remainder that was neither 0 nor clear."""

    def __init__(self, p: int):
        self.basis: Float = np.zeros((0, p))
        self.doubt = 0.0

    @property
    def dimension(self) -> int:
        return len(self.basis)

    def add(self, rows: Float) -> list[int]:
        """Which rows are clearly new, largest remainder first."""
        picked: list[int] = []
        left = np.array(rows)
        while True:
            for _ in range(2):  # twice is enough for orthogonality to rounding
                left = left - (left @ self.basis.T) @ self.basis
            sizes = np.linalg.norm(left, axis=1)
            at = int(np.argmax(sizes))
            if self.dimension == rows.shape[1] or not sizes[at] >= CLEAR:
                self.doubt = float(sizes[at]) if sizes[at] > ZERO and self.dimension < rows.shape[1] else 0.0
                return picked
            picked.append(at)
            self.basis = np.vstack([self.basis, left[at] / sizes[at]])
