r"""Where a matrix factorization ends under measurements that commute.

M̄' = −(S M̄ + M̄ S) with S in the span of the lifted measurements (Woodworth et al. 2020, Section 6). Where
these commute, M̄(t) = E M̄(0) E with E = exp(Σ ν_n(t) X̄_n), whatever the start. In the frame
X_n = P diag(λ_n) Rᵀ the measurements see δᵢ = pᵢᵀM rᵢ alone, and

    δᵢ = √(m₊m₋)·sinh(2sᵢ + ½ log(m₊/m₋)),    s = Σ ν_n λ_n,    m± = ½(pᵢᵀUUᵀpᵢ + rᵢᵀVVᵀrᵢ) ± δᵢ(0):

the mirror flow of a diagonal network. So δ(∞) minimizes the divergence of a hypentropy of scale √(m₊m₋)/2
from δ(0), and ν gives the rest. From M̄(0) = 2μ²I this is Theorem 4: m± = 2μ², scale μ², and the whole of M
minimizes Q_μ of its singular values. In a symmetric W Wᵀ the mᵢ = pᵢᵀMpᵢ = mᵢ(0)·e^{2sᵢ} minimize a relative
entropy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.data.equations import Equations, Samples
from tacit.errors import InconsistentDataError, NoPotentialError
from tacit.numerics.nonnegative import nonnegative_least_squares
from tacit.numerics.spectra import Frame
from tacit.potentials import Bregman, Entropy, Hypentropy, Potential, Spectral
from tacit.potentials.arrays import quiet
from tacit.solvers.families import separable, smooth
from tacit.solvers.interpolation.solution import Solution
from tacit.solvers.matrices.commuting import Diagonal

MULTIPLE = 1e-12  # relative distance of M̄(0) from a multiple of I that is rounding
_WEIGHT = 1e-13  # relative m± below which a direction has no weight
_SEEN = 1e-13  # part of a measurement in a direction, relative to the largest
_UNREACHED = 1e-8  # relative residual of the best positive matrix that does not meet the measurements
_PACE = 2.0  # in the logarithm of the scale, along the path to small ones


@dataclass(frozen=True, eq=False)
class Ending:
    """The matrix at the end, with the solution of the vector problem that it comes from.

    potential: of the vector problem. lifted: M̄(∞) (or M itself, of a symmetric model).
    """

    matrix: Float
    lifted: Float
    solution: Solution
    equations: Equations
    potential: Potential


def level_of(lifted: Float) -> tuple[float, float]:
    """c of the nearest multiple c·I of the identity, and how far M̄(0) is from it, ‖M̄(0) − cI‖/c."""
    level = float(np.trace(lifted)) / len(lifted)
    values = np.linalg.eigvalsh(lifted / 2 + lifted.T / 2)
    return level, float(np.abs(values - level).max() / level) if level > 0 else np.inf


def spectral_potential(level: float, symmetric: bool) -> Spectral:
    """What is minimized from M̄(0) = level·I: the hypentropy of scale μ² = level/2, or an entropy."""
    if symmetric:
        return Spectral(Entropy(float(np.log(level))), eigenvalues=True)
    return Spectral(Hypentropy(float(np.log(level / 2))))


@quiet
def ending(lifted: Float, diagonal: Diagonal, y: Float, tol: float) -> Ending:
    """Where the flow from M̄(0) = lifted ends."""
    frame, symmetric = diagonal.frame, diagonal.frame.symmetric
    size = np.abs(diagonal.spectra).max(axis=0)
    seen = np.flatnonzero(size > _SEEN * size.max()) if size.any() else np.arange(len(size))
    samples = Samples(np.ascontiguousarray(diagonal.spectra[:, seen]))
    grams = _grams(lifted, frame)
    weights = _positive(grams, frame) if symmetric else _signed(grams, frame)
    check_weights(weights, seen, symmetric)
    equations = samples.equations(y, tol)
    solve = _least_entropy if symmetric else _least_hypentropy
    potential, solution = solve(weights, seen, equations, samples)
    s = np.zeros(len(frame.values))
    s[seen] = np.asarray(potential.gradient(solution.predictor)) / 2
    end, d1 = _moved(grams, s, frame), len(frame.left)
    other = seen if symmetric else d1 + seen
    end[seen, other] = end[other, seen] = solution.predictor  # to the last digits
    if symmetric:
        matrix = np.asarray(frame.left @ end @ frame.left.T)
        return Ending(matrix, matrix, solution, equations, potential)
    turn = np.block(
        [
            [frame.left, np.zeros((d1, len(frame.right)))],
            [np.zeros((len(frame.right), d1)), frame.right],
        ]
    )
    whole = turn @ end @ turn.T
    return Ending(np.asarray(whole[:d1, d1:]), np.asarray(whole), solution, equations, potential)


def _grams(lifted: Float, frame: Frame) -> Float:
    """M̄(0) in the frame; a multiple of the identity stays one, exactly."""
    level, off = level_of(lifted)
    if off <= MULTIPLE:
        return level * np.eye(len(lifted))
    if frame.symmetric:
        return np.asarray(frame.left.T @ lifted @ frame.left)
    d1 = len(frame.left)
    rows = np.vstack([frame.left.T @ lifted[:d1], frame.right.T @ lifted[d1:]])
    return np.hstack([rows[:, :d1] @ frame.left, rows[:, d1:] @ frame.right])


def _signed(grams: Float, frame: Frame) -> Float:
    """m₊ and m₋ of every direction, (2, k)."""
    d1, k = len(frame.left), len(frame.values)
    i = np.arange(k)
    total, delta = (grams[i, i] + grams[d1 + i, d1 + i]) / 2, grams[i, d1 + i]
    return np.array([total + delta, total - delta])


def _positive(grams: Float, frame: Frame) -> Float:
    """m of every direction, (1, k)."""
    return np.diag(grams)[None]


def check_weights(weights: Float, seen: Any, symmetric: bool) -> None:
    """Refuse a start without weight where a measurement looks."""
    low = weights[:, seen].min(axis=0, initial=np.inf)
    empty = low <= _WEIGHT * weights[:, seen].max(initial=0.0)
    if not empty.any():
        return
    way = "it stays 0 there" if symmetric else "the sign of its coordinate never changes there"
    raise NoPotentialError(
        f"the start has no weight in {int(empty.sum())} of the {len(seen)} directions that the measurements "
        f"see, and {way}: no potential is finite for it; tacit.flow runs it"
    )


def _least_hypentropy(
    weights: Float, seen: Any, equations: Equations, samples: Samples
) -> tuple[Potential, Solution]:
    plus, minus = weights[:, seen]
    origin = (plus - minus) / 2
    scale = (np.log(plus) + np.log(minus)) / 2 - np.log(2)
    base = Hypentropy(scale)
    potential: Potential = Bregman(base, origin) if origin.any() else base
    return potential, separable.interpolate(potential, equations, samples.memory)


def _least_entropy(
    weights: Float, seen: Any, equations: Equations, samples: Samples
) -> tuple[Potential, Solution]:
    potential = Entropy(np.log(weights[0, seen]))
    left = nonnegative_least_squares(equations.X, equations.y)[1]
    share = left / float(np.linalg.norm(equations.y) or 1.0)
    if share > _UNREACHED:
        raise InconsistentDataError(
            "no positive semidefinite matrix meets these measurements, so that W Wᵀ cannot fit them: "
            f"relative residual {share:.2g}; tacit.flow shows where it rests",
            share,
        )
    reach = np.abs(np.linalg.lstsq(equations.X, equations.y, rcond=None)[0]).max(initial=0.0)
    far = float(np.log(reach)) - float(np.min(potential.log_scale)) if reach > 0 else 0.0
    nu = np.zeros(len(equations.y))
    for shift in np.arange(_PACE * np.ceil(max(far, 0.0) / _PACE), -1e-9, -_PACE):
        solution = smooth.minimize(potential.shifted(float(shift)), equations, nu)
        nu = solution.nu.value if np.isfinite(solution.nu.value).all() else nu
    return potential, solution


def _moved(grams: Float, s: Float, frame: Frame) -> Float:
    """E M̄(0) E in the frame, E = exp of the diagonal s, or of [[0, s], [s, 0]]."""
    if frame.symmetric:
        return np.asarray(np.exp(s)[:, None] * grams * np.exp(s))
    d1, d2, k = len(frame.left), len(frame.right), len(s)
    E, i = np.eye(d1 + d2), np.arange(k)
    E[i, i] = E[d1 + i, d1 + i] = np.cosh(s)
    E[i, d1 + i] = E[d1 + i, i] = np.sinh(s)
    return np.asarray(E @ grams @ E)
