r"""The limit of a matrix factorization with commuting measurements.

M̄' = −(S M̄ + M̄ S) with S in the span of the lifted measurements (Woodworth et al. 2020, Section 6). If these
commute, M̄(t) = E M̄(0) E with E = exp(Σ ν_n(t) X̄_n) for any initialization. In the frame X_n = P diag(λ_n)
Rᵀ the measurements depend on δᵢ = pᵢᵀM rᵢ only, and

    δᵢ = √(m₊m₋)·sinh(2sᵢ + ½ log(m₊/m₋)),    s = Σ ν_n λ_n,    m± = ½(pᵢᵀUUᵀpᵢ + rᵢᵀVVᵀrᵢ) ± δᵢ(0):

which is the mirror flow of a diagonal network. So δ(∞) minimizes the Bregman divergence from δ(0) of a
hypentropy with scale √(m₊m₋)/2, and ν determines the rest of M̄. For M̄(0) = 2μ²I this is Theorem 4: m± =
2μ², the scale is μ², and M minimizes Q_μ of its singular values. For a symmetric W Wᵀ the diagonal entries
mᵢ = pᵢᵀMpᵢ = mᵢ(0)·e^{2sᵢ} minimize a relative entropy.

The lifted measurements X̄_n = [[0, X_n], [X_nᵀ, 0]] commute if and only if X_mX_nᵀ and X_mᵀX_n are symmetric
for all pairs, which is equivalent to X_n = P diag(λ_n) Rᵀ with orthogonal P and R (X_n may be rectangular, λ
of any sign). Symmetric measurements of a symmetric matrix commute in the ordinary sense, with R = P. The
frame (P, R) is that of one random linear combination of all measurements. With probability one its singular
values separate any two directions that some measurement distinguishes; on the others all measurements are
multiples of the identity.
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

COMMUTE = 1e-10  # relative size of off-diagonal parts up to which measurements count as commuting
_ENOUGH, _HOPELESS = 1e-13, 1e-3  # relative off-diagonal parts at which no further frame is drawn
_DRAWS = 6  # random frames
_ROUGH = 1e-6  # relative square of off-diagonal parts above which the difference of squares is accurate
_PRODUCTS = 4e9  # multiplications up to which the commutators of all pairs are computed
_PAIRED = 60  # measurements in the pairs otherwise
MULTIPLE = 1e-12  # relative distance of M̄(0) from a multiple of I that is round-off
_WEIGHT = 1e-13  # m±, relative to the largest, below which a direction has no weight
_SEEN = 1e-13  # part of the measurements in a direction, relative to the largest, that is not round-off
_INCONSISTENT = 1e-8  # relative residual above which no positive semidefinite matrix fits the measurements
_STRIDE = 2.0  # step in the logarithm of the scale, in the continuation to small scales


@dataclass(frozen=True, eq=False)
class Diagonal:
    """X_n ≈ P diag(λ_n) Rᵀ; spectra: λ_n, (N, k). off: the largest relative off-diagonal part of an X_n."""

    frame: Frame
    spectra: Float
    off: float

    @property
    def commute(self) -> bool:
        """Whether all measurements are diagonal, to a relative 1e-10."""
        return self.off <= COMMUTE


def diagonalize(X: Float, symmetric: bool = False) -> Diagonal:
    """The best of several random frames; X: (N, d₁, d₂)."""
    sizes = np.linalg.norm(X, axis=(1, 2))
    units = X / np.where(sizes > 0, sizes, 1.0)[:, None, None]
    rng, best = np.random.default_rng(0), None
    for _ in range(_DRAWS):
        frame = Frame.of(np.tensordot(rng.standard_normal(len(X)), units, 1), symmetric)
        turned = frame.left.T @ units @ frame.right
        spectra = np.einsum("nii->ni", turned[:, : len(frame.values), : len(frame.values)])
        left = np.sum(turned**2, axis=(1, 2)) - np.sum(spectra**2, axis=1)
        off = float(np.sqrt((_off_diagonal(turned) if left.max() < _ROUGH else left).max()))
        if best is None or off < best.off:
            best = Diagonal(frame, spectra * sizes[:, None], off)
        if best.off <= _ENOUGH or best.off > _HOPELESS:
            break
    assert best is not None
    return best


def _off_diagonal(turned: Float) -> Float:
    """The sum of squares of off-diagonal entries, without the cancellation of a difference of sums."""
    count = min(turned.shape[1:])
    rest = turned.copy()
    rest[:, np.arange(count), np.arange(count)] = 0.0
    return np.asarray(np.sum(rest**2, axis=(1, 2)))


def commutator(X: Float, symmetric: bool = False) -> float:
    """max ‖X̄_mX̄_n − X̄_nX̄_m‖_F/(‖X̄_m‖‖X̄_n‖) over pairs: 0 if they commute, at most √2.

    For many large measurements the maximum is over the pairs of a random subset.
    """
    N, d1, d2 = X.shape
    sizes = np.linalg.norm(X, axis=(1, 2))
    units = X[sizes > 0] / sizes[sizes > 0][:, None, None]
    if N * N * d1 * d2 * (d1 + d2) > _PRODUCTS:
        units = units[np.random.default_rng(0).permutation(len(units))[:_PAIRED]]
    worst = 0.0
    for one in units:
        left = one @ units.transpose(0, 2, 1)
        square = np.sum((left - left.transpose(0, 2, 1)) ** 2, axis=(1, 2))
        if not symmetric:
            right = one.T @ units
            square = (square + np.sum((right - right.transpose(0, 2, 1)) ** 2, axis=(1, 2))) / 4
        worst = max(worst, float(np.sqrt(square.max(initial=0.0))))
    return worst


@dataclass(frozen=True, eq=False)
class Ending:
    """The limit of a factorization: the matrix, and the vector problem that determines it.

    equations, potential and solution belong to the vector problem. lifted: M̄(∞) (M itself for a symmetric
    model).
    """

    matrix: Float
    lifted: Float
    solution: Solution
    equations: Equations
    potential: Potential


def level_of(lifted: Float) -> tuple[float, float]:
    """c = tr M̄(0)/n, for which c·I approximates M̄(0), and the relative distance ‖M̄(0) − cI‖/c."""
    level = float(np.trace(lifted)) / len(lifted)
    values = np.linalg.eigvalsh(lifted / 2 + lifted.T / 2)
    return level, float(np.abs(values - level).max() / level) if level > 0 else np.inf


def spectral_potential(level: float, symmetric: bool) -> Spectral:
    """The potential for M̄(0) = level·I: the hypentropy of scale μ² = level/2, or an entropy if symmetric."""
    if symmetric:
        return Spectral(Entropy(float(np.log(level))), eigenvalues=True)
    return Spectral(Hypentropy(float(np.log(level / 2))))


@quiet
def ending(lifted: Float, diagonal: Diagonal, y: Float, tol: float) -> Ending:
    """The limit of the flow from M̄(0) = lifted."""
    frame, symmetric = diagonal.frame, diagonal.frame.symmetric
    size = np.abs(diagonal.spectra).max(axis=0)
    seen = np.flatnonzero(size > _SEEN * size.max()) if size.any() else np.arange(len(size))
    samples = Samples(np.ascontiguousarray(diagonal.spectra[:, seen]))
    grams = _grams(lifted, frame)
    weights = np.diag(grams)[None] if symmetric else _signed_weights(grams, frame)
    check_weights(weights, seen, symmetric)
    equations = samples.equations(y, tol)
    solve = _least_entropy if symmetric else _least_hypentropy
    potential, solution = solve(weights, seen, equations, samples)
    s = np.zeros(len(frame.values))
    s[seen] = np.asarray(potential.gradient(solution.predictor)) / 2
    end, d1 = _moved(grams, s, frame), len(frame.left)
    other = seen if symmetric else d1 + seen
    end[seen, other] = end[other, seen] = solution.predictor  # more accurate than through exp
    if symmetric:
        matrix = np.asarray(frame.left @ end @ frame.left.T)
        return Ending(matrix, matrix, solution, equations, potential)
    turn = np.block(
        [[frame.left, np.zeros((d1, len(frame.right)))], [np.zeros((len(frame.right), d1)), frame.right]]
    )
    whole = turn @ end @ turn.T
    return Ending(np.asarray(whole[:d1, d1:]), np.asarray(whole), solution, equations, potential)


def _grams(lifted: Float, frame: Frame) -> Float:
    """M̄(0) in the frame; a multiple of the identity is kept exactly."""
    level, off = level_of(lifted)
    if off <= MULTIPLE:
        return level * np.eye(len(lifted))
    if frame.symmetric:
        return np.asarray(frame.left.T @ lifted @ frame.left)
    d1 = len(frame.left)
    rows = np.vstack([frame.left.T @ lifted[:d1], frame.right.T @ lifted[d1:]])
    return np.hstack([rows[:, :d1] @ frame.left, rows[:, d1:] @ frame.right])


def _signed_weights(grams: Float, frame: Frame) -> Float:
    """m₊ and m₋ in each direction, (2, k)."""
    d1, k = len(frame.left), len(frame.values)
    i = np.arange(k)
    total, delta = (grams[i, i] + grams[d1 + i, d1 + i]) / 2, grams[i, d1 + i]
    return np.array([total + delta, total - delta])


def check_weights(weights: Float, seen: Any, symmetric: bool) -> None:
    """Raise `NoPotentialError` if an initial weight is 0 in a direction that enters the measurements."""
    low = weights[:, seen].min(axis=0, initial=np.inf)
    empty = low <= _WEIGHT * weights[:, seen].max(initial=0.0)
    if not empty.any():
        return
    effect = "M stays 0" if symmetric else "the coordinate of M cannot change its sign"
    raise NoPotentialError(
        f"the initial weights are 0 in {int(empty.sum())} of the {len(seen)} directions that enter the "
        f"measurements, where {effect}, so that the potential would be infinite; use tacit.flow"
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
    if share > _INCONSISTENT:
        raise InconsistentDataError(
            "no positive semidefinite matrix satisfies these measurements, so W Wᵀ cannot fit them: the "
            f"relative residual is at least {share:.2g}; tacit.flow shows where the flow ends",
            share,
        )
    reach = np.abs(np.linalg.lstsq(equations.X, equations.y, rcond=None)[0]).max(initial=0.0)
    far = float(np.log(reach)) - float(np.min(potential.log_scale)) if reach > 0 else 0.0
    nu = np.zeros(len(equations.y))
    for shift in np.arange(_STRIDE * np.ceil(max(far, 0.0) / _STRIDE), -1e-9, -_STRIDE):
        solution = smooth.minimize(potential.shifted(float(shift)), equations, nu)
        nu = solution.nu.value if np.isfinite(solution.nu.value).all() else nu
    return potential, solution


def _moved(grams: Float, s: Float, frame: Frame) -> Float:
    """E M̄(0) E in the frame, where E is the exponential of diag(s), or of [[0, s], [s, 0]]."""
    if frame.symmetric:
        return np.asarray(np.exp(s)[:, None] * grams * np.exp(s))
    d1, d2, k = len(frame.left), len(frame.right), len(s)
    E, i = np.eye(d1 + d2), np.arange(k)
    E[i, i] = E[d1 + i, d1 + i] = np.cosh(s)
    E[i, d1 + i] = E[d1 + i, i] = np.sinh(s)
    return np.asarray(E @ grams @ E)
