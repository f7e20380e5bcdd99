r"""The imbalance of a linear network on its data (Min et al. 2021, Section 2).

With X = W Σ_x^{1/2} Φ₁ᵀ and U₁ = Φ₁ᵀU, gradient flow keeps Λ = U₁ᵀU₁ − VᵀV, and how far that is from 0 tells
how fast the loss must fall (Theorem 1).
"""

from __future__ import annotations

import numpy as np

from tacit.data.arrays import Float
from tacit.numerics.rounding import EPS
from tacit.numerics.subspaces import visible


def imbalance_spectrum(inner: Float, outer: Float, X: Float) -> tuple[Float, int, float]:
    r"""Eigenvalues of Λ on the span of the rows of U₁ and V, decreasing; the rank of X; and their rounding.

    Λ is h×h; the h − r − m eigenvalues that a wide network leaves out are 0. From the triangle R of
    [U₁; V]ᵀ = QR, Λ = Q(R₁R₁ᵀ − R₂R₂ᵀ)Qᵀ, so that a width of 10,000 costs a matrix of size r + m.
    """
    basis = visible(X)[2]
    rank = basis.shape[1]
    R = np.asarray(np.linalg.qr(np.vstack([basis.T @ inner, outer]).T, mode="r"))
    seen, last = R[:, :rank], R[:, rank:]
    eigenvalues = np.linalg.eigvalsh(seen @ seen.T - last @ last.T)[::-1]
    return eigenvalues, rank, 10 * len(R) * EPS * float(np.linalg.norm(R, 2)) ** 2


def imbalance_level(inner: Float, outer: Float, X: Float) -> float:
    """c = [λ_r(Λ)]₊ + [λ_m(−Λ)]₊ of Theorem 1.

    An eigenvalue that does not exist (h < r or h < m) counts as 0, and so does one that is rounding.
    """
    eigenvalues, rank, rounding = imbalance_spectrum(inner, outer, X)
    wanted = [(eigenvalues, rank), (-eigenvalues[::-1], len(outer))]
    found = [float(values[count - 1]) for values, count in wanted if count <= len(values)]
    return sum(value for value in found if value > rounding)
