r"""Do measurements commute, and the frame in which all of them are diagonal if they do.

A flow of U Vᵀ moves M̄ = [U; V][U; V]ᵀ by the lifted matrices X̄_n = [[0, X_n], [X_nᵀ, 0]] (Woodworth et al.
2020, Section 6). These commute where X_mX_nᵀ and X_mᵀX_n are symmetric for all pairs, and then, and only
then, there are orthogonal P and R with X_n = P diag(λ_n) Rᵀ, rectangular ones too: the λ are real numbers of
any sign. Symmetric measurements of a symmetric matrix commute in the ordinary sense, with R = P.

The frame is that of one combination of all with random coefficients: its values separate any two directions
that a measurement tells apart, and where it does not, all measurements are multiples of the identity there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.data.arrays import Float
from tacit.numerics.spectra import Frame

COMMUTE = 1e-10  # part of a measurement that may lie off the diagonal of the frame
_ENOUGH = 1e-13
_DRAWS = 6
_PRODUCTS = 4e9  # multiplications up to which all pairs are tried
_PAIRED = 60  # measurements that are paired beyond that


@dataclass(frozen=True, eq=False)
class Diagonal:
    """X_n = P diag(λ_n) Rᵀ: spectra (N, k) holds the λ_n. off: the largest part of an X_n that is not so."""

    frame: Frame
    spectra: Float
    off: float

    @property
    def commute(self) -> bool:
        """Are the measurements diagonal, to a part of 1e-10 of each?"""
        return self.off <= COMMUTE


def diagonalize(X: Float, symmetric: bool = False) -> Diagonal:
    """The best of some random frames; X: (N, d₁, d₂)."""
    sizes = np.linalg.norm(X, axis=(1, 2))
    units = X / np.where(sizes > 0, sizes, 1.0)[:, None, None]
    rng, best = np.random.default_rng(0), None
    for _ in range(_DRAWS):
        frame = Frame.of(np.tensordot(rng.standard_normal(len(X)), units, 1), symmetric)
        turned = frame.left.T @ units @ frame.right
        spectra = np.einsum("nii->ni", turned[:, : len(frame.values), : len(frame.values)])
        left = np.sum(turned**2, axis=(1, 2)) - np.sum(spectra**2, axis=1)
        off = float(np.sqrt(max(_off(turned).max(initial=0.0), 0.0))) if left.max() < 1e-6 else _rough(left)
        if best is None or off < best.off:
            best = Diagonal(frame, spectra * sizes[:, None], off)
        if best.off <= _ENOUGH or best.off > 1e-3:
            break
    assert best is not None
    return best


def _rough(left: Float) -> float:
    return float(np.sqrt(left.max()))


def _off(turned: Float) -> Float:
    """The squares off the diagonal, added up without those on it."""
    count = min(turned.shape[1:])
    rest = turned.copy()
    rest[:, np.arange(count), np.arange(count)] = 0.0
    return np.asarray(np.sum(rest**2, axis=(1, 2)))


def commutator(X: Float, symmetric: bool = False) -> float:
    """max ‖X̄_mX̄_n − X̄_nX̄_m‖_F/(‖X̄_m‖‖X̄_n‖) over pairs: 0 where they commute, at most √2.

    Of many large measurements it is that of the pairs of some of them.
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
