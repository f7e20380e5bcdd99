r"""The Lie algebra that the gradient fields generate along an orbit: the dimension that a flow can reach.

The fields are X_c = Jᵀc, their brackets [X, Y] = DY·X − DX·Y. If the brackets of all pairs lie in the span of
the fields, this span is the tangent space of the orbit; if not, brackets of brackets may reach further. Each
level of brackets costs about four times as much as the one before, so higher levels are not formed: fields
transported along flows span the same space. Its dimension is that of the orbit (Marcotte et al. 2023).

A gradient field at a point that a flow reaches, transported back along this flow, is tangent to the orbit at
the start, and the fields of all flows span the tangent space there (Sussmann's orbit theorem). Along flows as
long as the map's length scale, brackets of level k contribute about 2⁻ᵏ/k!, which is far above the tolerance
of the integrator for all levels that matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from tacit.autodiff import jax, jnp
from tacit.data.arrays import Float
from tacit.derivation.length_scale import row_norms, tolerance
from tacit.derivation.orbits import follow, unit_field
from tacit.derivation.smooth_map import Jets
from tacit.show.progress import progress

# Relative sizes up to ZERO count as 0, and sizes from CLEAR on as nonzero; a size in between makes the
# verdict "undecided". Round-off of brackets and metric tensors is about 1e-15 for well-conditioned maps.
ZERO, CLEAR = 1e-9, 1e-6
# Derivatives below this times |X||Y|/length are negligible and not used as a reference for sizes.
FLOOR = 1e-4
_BATCH = 32  # brackets that are computed together
_ALL_PAIRS = 600  # with more pairs of fields, brackets of random combinations replace those of all pairs
ROUNDING = 1e-12  # relative singular values of Jacobians, rows scaled to norm 1, that are round-off
_RTOL = 1e-12  # of the integrator, in units of the length scale
_PIECE = 0.25  # length of each of the two pieces of a flow, in units of the length scale
_IDLE = 2  # the search ends after this many consecutive flows without a new direction


class Span:
    """A basis with orthonormal rows.

    borderline: the largest remainder of the rows added last that lies between ZERO and CLEAR, or 0.
    """

    def __init__(self, p: int):
        self.basis: Float = np.zeros((0, p))
        self.borderline = 0.0

    @property
    def dimension(self) -> int:
        """The number of rows."""
        return len(self.basis)

    def add(self, rows: Float) -> bool:
        """Extend the basis by the rows with clear remainders, largest first; True if there were any."""
        before, rest = self.dimension, np.array(rows)
        while True:
            for _ in range(2):  # Gram–Schmidt twice is orthogonal to round-off
                rest = rest - (rest @ self.basis.T) @ self.basis
            sizes = np.linalg.norm(rest, axis=1)
            largest = int(np.argmax(sizes))
            full = self.dimension == rows.shape[1]
            if full or not sizes[largest] >= CLEAR:
                self.borderline = 0.0 if full or sizes[largest] <= ZERO else float(sizes[largest])
                return self.dimension > before
            self.basis = np.vstack([self.basis, rest[largest] / sizes[largest]])


@dataclass(frozen=True)
class Closure:
    """The span of the fields and their brackets at each point.

    dimension: at the point where it is largest. commutator: the largest bracket of two gradient fields,
    relative to the terms of which it is the difference. rank: that of J, at the start and at the best point.
    possible_rank: the same, counting singular values that are small but larger than round-off. borderline:
    the largest relative size between ZERO and CLEAR, or 0. spans: orthonormal rows, one matrix for each
    point.
    """

    dimension: int
    commutator: float
    rank: tuple[int, int]
    possible_rank: tuple[int, int]
    borderline: float
    spans: tuple[Float, ...]

    @property
    def closed(self) -> bool:
        """Whether the dimension is certain."""
        return self.borderline == 0 and 0 < self.rank[1] >= self.possible_rank[1]


def lie_closure(jets: Jets, points: Float, length: float, seed: int = 0) -> Closure:
    """The span of fields and brackets at each point; length: the map's length scale."""
    slopes, p = [jets.slopes(theta) for theta in points], points.shape[1]
    norms = row_norms(np.hstack(slopes)) / np.sqrt(len(slopes))
    spans = [Span(p) for _ in points]
    for span, J in zip(spans, slopes, strict=True):
        span.add(J / norms[:, None])
    singular = [np.linalg.svd(J / norms[:, None], compute_uv=False) for J in slopes]
    rank = (spans[0].dimension, _largest(spans))
    possible = [int((each > ROUNDING * (each[0] or 1.0)).sum()) for each in singular]
    borderline = _borderline_sizes(spans)
    rng, pairs = np.random.default_rng(seed), _pairs(np.eye(len(norms)) / norms[:, None], p)
    commutator = 0.0
    if len(pairs):
        brackets = [
            _relative_brackets(jets, theta, pairs, length) for theta in progress(list(points), "brackets")
        ]
        commutator = max(float(np.linalg.norm(rows, axis=1).max()) for rows in brackets)
        for span, rows in zip(spans, brackets, strict=True):
            span.add(rows)
        borderline += _borderline_sizes(spans)
        if _largest(spans) not in (rank[1], p):
            for span, theta in zip(spans, points, strict=True):
                add_transported(jets, theta, span, norms, length, rng)
            borderline += _borderline_sizes(spans)
    bases = tuple(span.basis for span in spans)
    return Closure(_largest(spans), commutator, rank, (possible[0], max(possible)), max(borderline), bases)


def _largest(spans: list[Span]) -> int:
    return max(span.dimension for span in spans)


def _borderline_sizes(spans: list[Span]) -> list[float]:
    """The remainders of the largest spans; elsewhere a small remainder may be part of a direction that is
    clear there."""
    best = _largest(spans)
    return [span.borderline for span in spans if span.dimension == best]


def commutators(jets: Jets, theta: Float, length: float) -> Float:
    """The size of each bracket of two gradient fields, relative to its terms."""
    fields = np.eye(len(jets.value(theta))) / row_norms(jets.slopes(theta))[:, None]
    pairs = _pairs(fields, len(theta))
    if not len(pairs):
        return np.zeros(1)
    return np.asarray(np.linalg.norm(_relative_brackets(jets, theta, pairs, length), axis=1))


def _pairs(fields: Float, p: int, seed: int = 0) -> Float:
    """Each pair of fields once, since [X, Y] = −[Y, X], as (m, 2, d); random combinations if there are many.

    Brackets are bilinear: if they vanish for generic combinations they all vanish, and p generic ones span
    all.
    """
    first, second = np.triu_indices(len(fields), 1)
    if len(first) <= _ALL_PAIRS:
        return np.stack([fields[first], fields[second]], axis=1)
    rng = np.random.default_rng(seed)
    return rng.standard_normal((min(len(first), p + _BATCH), 2, len(fields))) @ fields


def brackets_of(jets: Jets, theta: Any, pairs: Any) -> Any:
    """[X_a, X_b] for the pairs (a, b), (m, 2, d), the sizes of their terms, and |X_a||X_b|."""

    def field(theta: Any, c: Any) -> Any:
        return jax.vjp(jets.flat, theta)[1](c)[0]

    def bracket(pair: Any) -> Any:
        X, Y = field(theta, pair[0]), field(theta, pair[1])
        forward = jax.jvp(lambda at: field(at, pair[1]), (theta,), (X,))[1]
        backward = jax.jvp(lambda at: field(at, pair[0]), (theta,), (Y,))[1]
        terms = jnp.linalg.norm(forward) + jnp.linalg.norm(backward)
        return forward - backward, terms, jnp.linalg.norm(X) * jnp.linalg.norm(Y)

    return jax.vmap(bracket)(pairs)


def _relative_brackets(jets: Jets, theta: Float, pairs: Float, length: float) -> Float:
    """Brackets, relative to the terms of which they are the differences."""
    found = []
    for at in range(0, len(pairs), _BATCH):
        batch = pairs[at : at + _BATCH]
        padded = np.concatenate([batch, np.repeat(batch[-1:], _BATCH - len(batch), axis=0)])
        rows, terms, product = jets(brackets_of, theta, padded)
        size = terms + FLOOR * product / length
        found.append((rows / np.where(size > 0, size, 1.0)[:, None])[: len(batch)])
    return np.concatenate(found)


def _linearized_field(jets: Jets, theta: Any, V: Any, c: Any) -> Any:
    """The unit field of c at θ, and its derivative along each row of V."""
    field, derivative = jax.linearize(lambda at: unit_field(jets, at, c), theta)
    return field, jax.vmap(derivative)(V)


def add_transported(
    jets: Jets, theta: Float, span: Span, norms: Float, length: float, rng: np.random.Generator
) -> None:
    """Extend the span at θ by fields transported back to θ; norms: those of the rows of J."""
    idle, borderline = 0, 0.0
    while idle < _IDLE and span.dimension < len(theta):
        end, pieces = theta, []
        for c in [rng.standard_normal(len(norms)) / norms for _ in range(2)]:
            end, piece = follow(jets, end, c, _PIECE * length)
            pieces.append((c, piece))
        fields = jets.slopes(end) / norms[:, None]
        fields /= np.linalg.norm(fields, axis=1).max()
        for c, piece in reversed(pieces):
            end, fields = _transport_back(jets, end, fields, c, piece, length)
        idle = 0 if span.add(fields) else idle + 1
        borderline = max(borderline, span.borderline) if idle else 0.0
    span.borderline = borderline


def _transport_back(
    jets: Jets, theta: Float, fields: Float, c: Float, piece: float, length: float
) -> tuple[Float, Float]:
    """The start of the piece that ended at θ, and the fields there; steps are in units of the length."""
    d, p = fields.shape

    def rate(_: float, state: Float) -> Float:
        V = state[p:].reshape(d, p)
        step, along = jets(_linearized_field, theta + length * state[:p], V, c)
        return -np.concatenate([step, length * np.ravel(along)])

    initial = np.concatenate([np.zeros(p), np.ravel(fields)])
    atol = tolerance(_RTOL, theta, length)
    solution = solve_ivp(rate, (0.0, piece / length), initial, method="DOP853", rtol=_RTOL, atol=atol)
    end = solution.y[:, -1]
    return theta + length * end[:p], end[p:].reshape(d, p)
