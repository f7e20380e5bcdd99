r"""The imbalance of a linear network on its data (Min et al. 2021, Section 2).

With X = W Σ_x^{1/2} Φ₁ᵀ and U₁ = Φ₁ᵀU, gradient flow conserves Λ = U₁ᵀU₁ − VᵀV. Theorem 1 bounds the rate at
which the loss decreases by the eigenvalues of Λ.
"""

from __future__ import annotations

import numpy as np

from tacit.data.arrays import Float
from tacit.numerics.rounding import EPS
from tacit.numerics.subspaces import visible


def imbalance_spectrum(inner: Float, outer: Float, X: Float) -> tuple[Float, int, float]:
    r"""Eigenvalues of Λ on the span of the rows of U₁ and V, decreasing; the rank of X; their round-off.

    Λ is h×h; the other h − r − m eigenvalues of a wide network are 0. With [U₁; V]ᵀ = QR it is
    Λ = Q(R₁R₁ᵀ − R₂R₂ᵀ)Qᵀ, so the cost hardly depends on the width: the matrices have the size r + m.
    """
    basis = visible(X)[2]
    rank = basis.shape[1]
    R = np.asarray(np.linalg.qr(np.vstack([basis.T @ inner, outer]).T, mode="r"))
    seen, last = R[:, :rank], R[:, rank:]
    eigenvalues = np.linalg.eigvalsh(seen @ seen.T - last @ last.T)[::-1]
    return eigenvalues, rank, 10 * len(R) * EPS * float(np.linalg.norm(R, 2)) ** 2


def imbalance_level(inner: Float, outer: Float, X: Float) -> float:
    """c = [λ_r(Λ)]₊ + [λ_m(−Λ)]₊ of Theorem 1.

    Eigenvalues that do not exist (h < r or h < m) or are below round-off count as 0.
    """
    eigenvalues, rank, rounding = imbalance_spectrum(inner, outer, X)
    wanted = [(eigenvalues, rank), (-eigenvalues[::-1], len(outer))]
    found = [float(values[count - 1]) for values, count in wanted if count <= len(values)]
    return sum(value for value in found if value > rounding)
