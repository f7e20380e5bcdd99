r"""Check whether measurements commute, and diagonalize them simultaneously.

The flow of U Vᵀ moves M̄ = [U; V][U; V]ᵀ by the lifted matrices X̄_n = [[0, X_n], [X_nᵀ, 0]] (Woodworth et al.
2020, Section 6). These commute if and only if X_mX_nᵀ and X_mᵀX_n are symmetric for all pairs, which is
equivalent to X_n = P diag(λ_n) Rᵀ with orthogonal P and R (X_n may be rectangular, λ of any sign). Symmetric
measurements of a symmetric matrix commute in the ordinary sense, with R = P.

The frame (P, R) is that of one random linear combination of all measurements. With probability one its
singular values separate any two directions that some measurement distinguishes; on the others all
measurements are multiples of the identity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.data.arrays import Float
from tacit.numerics.spectra import Frame

COMMUTE = 1e-10  # relative size of off-diagonal parts up to which measurements count as commuting
_ENOUGH, _HOPELESS = 1e-13, 1e-3  # relative off-diagonal parts at which no further frame is drawn
_DRAWS = 6  # random frames
_ROUGH = 1e-6  # relative square of off-diagonal parts above which the difference of squares is accurate
_PRODUCTS = 4e9  # multiplications up to which the commutators of all pairs are computed
_PAIRED = 60  # measurements in the pairs otherwise


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
