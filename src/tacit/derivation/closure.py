r"""The Lie algebra that gradient fields span along an orbit: how many dimensions a flow can reach.

Fields X_c = Jᵀc, brackets [X, Y] = DY·X − DX·Y. Where the brackets of all pairs lie in the span of the
fields, that is the tangent space of the orbit; where they do not, brackets of brackets may reach further.
Each level of them differentiates the one before, at some four times its cost, so that they are not formed:
fields that flows transport (`transport`) span the same space. Its dimension is that of the orbit (Marcotte et
al. 2023).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.autodiff import jax, jnp
from tacit.data.arrays import Float
from tacit.derivation.scale import row_sizes
from tacit.derivation.smooth_map import Jets
from tacit.derivation.span import Span
from tacit.derivation.transport import transported
from tacit.show.progress import progress

FLOOR = 1e-4  # of |X||Y| over the map's length: smaller derivatives are no size to be relative to
AT_ONCE = 32  # brackets that are computed together
_ALL = 600  # pairs, beyond which random combinations of the fields stand for them
_FAINT = 1e-12  # singular values of J, with rows of length 1, that are round-off


@dataclass(frozen=True)
class Closure:
    """The span of the fields and their brackets at each point.

    dimension: at the point where it is largest. commutator: the largest bracket of two gradient fields,
    relative to the terms of which it is the difference. rank: that of J, at the start and at the best point.
    faint: what they may be, counting singular values that are small but no round-off. doubt: the largest
    relative size that was neither 0 nor clear; 0 if there was none. spans: orthonormal rows, one matrix for
    each point.
    """

    dimension: int
    commutator: float
    rank: tuple[int, int]
    faint: tuple[int, int]
    doubt: float
    spans: tuple[Float, ...]

    @property
    def closed(self) -> bool:
        """May no dimension be missing?"""
        return self.doubt == 0 and 0 < self.rank[1] >= self.faint[1]


def _brackets_of(jets: Jets) -> Callable[..., Any]:
    """(θ, C) ↦ brackets [X_a, X_b] for pairs (a, b) in C (m, 2, d), the sizes of their terms, |X_a||X_b|."""

    def field(theta: Any, c: Any) -> Any:
        return jax.vjp(jets.flat, theta)[1](c)[0]

    def one(theta: Any, pair: Any) -> Any:
        X, Y = field(theta, pair[0]), field(theta, pair[1])
        forward = jax.jvp(lambda at: field(at, pair[1]), (theta,), (X,))[1]
        back = jax.jvp(lambda at: field(at, pair[0]), (theta,), (Y,))[1]
        terms = jnp.linalg.norm(forward) + jnp.linalg.norm(back)
        return forward - back, terms, jnp.linalg.norm(X) * jnp.linalg.norm(Y)

    return jax.vmap(one, in_axes=(None, 0))


def lie_closure(jets: Jets, points: Float, length: float, seed: int = 0) -> Closure:
    """At each point; length: the map's own, which says what a small derivative is."""
    slopes = [jets.slopes(theta) for theta in points]
    size = row_sizes(np.hstack(slopes)) / np.sqrt(len(slopes))
    spans = [Span(points.shape[1]) for _ in points]
    for span, J in zip(spans, slopes, strict=True):
        span.add(J / size[:, None])
    singular = [np.linalg.svd(J / size[:, None], compute_uv=False) for J in slopes]
    rank = (spans[0].dimension, max(span.dimension for span in spans))
    faint = [int((each > _FAINT * (each[0] or 1.0)).sum()) for each in singular]
    doubt = _doubts(spans)
    rng, pairs = np.random.default_rng(seed), _pairs(np.eye(len(size)) / size[:, None], points.shape[1])
    commutator, asked = 0.0, False
    if len(pairs):
        found = [
            _relative_brackets(jets, theta, pairs, length) for theta in progress(list(points), "brackets")
        ]
        commutator = max(float(np.linalg.norm(rows, axis=1).max()) for rows in found)
        before = max(span.dimension for span in spans)
        for span, rows in zip(spans, found, strict=True):
            span.add(rows)
        doubt += _doubts(spans)
        asked = max(span.dimension for span in spans) not in (before, points.shape[1])
    if asked:
        for span, theta in zip(spans, points, strict=True):
            transported(jets, theta, span, size, length, rng)
        doubt += _doubts(spans)
    dimension = max(span.dimension for span in spans)
    bases = tuple(span.basis for span in spans)
    return Closure(dimension, commutator, rank, (faint[0], max(faint)), max(doubt), bases)


def commutators(jets: Jets, theta: Float, length: float) -> Float:
    """The size of each bracket of two gradient fields, relative to its terms."""
    fields = np.eye(len(jets.value(theta))) / row_sizes(jets.slopes(theta))[:, None]
    pairs = _pairs(fields, len(theta))
    if not len(pairs):
        return np.zeros(1)
    return np.asarray(np.linalg.norm(_relative_brackets(jets, theta, pairs, length), axis=1))


def _doubts(spans: list[Span]) -> list[float]:
    """Of the points where the span is largest: elsewhere a small remainder is part of what is clear there."""
    best = max(span.dimension for span in spans)
    return [span.doubt for span in spans if span.dimension == best]


def _pairs(fields: Float, p: int, seed: int = 0) -> Float:
    """(m, 2, d): each pair of fields once, since [X, Y] = −[Y, X]; of very many, random combinations of all.

    Brackets are bilinear: where they vanish for generic combinations they all do, and p generic ones span
    all.
    """
    first, second = np.triu_indices(len(fields), 1)
    if len(first) <= _ALL:
        return np.stack([fields[first], fields[second]], axis=1)
    rng = np.random.default_rng(seed)
    return rng.standard_normal((min(len(first), p + AT_ONCE), 2, len(fields))) @ fields


def _relative_brackets(jets: Jets, theta: Float, pairs: Float, length: float) -> Float:
    """Brackets, relative to the terms that they are the differences of."""
    found = []
    for at in range(0, len(pairs), AT_ONCE):
        part = pairs[at : at + AT_ONCE]
        padded = np.concatenate([part, np.repeat(part[-1:], AT_ONCE - len(part), axis=0)])
        rows, terms, product = jets(BRACKETS, theta, padded)
        size = terms + FLOOR * product / length
        found.append((rows / np.where(size > 0, size, 1.0)[:, None])[: len(part)])
    return np.concatenate(found)


BRACKETS = _brackets_of
