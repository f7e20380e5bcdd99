r"""Weights that have grown and shrunk by many decades, without loss: W = exp(H) R W₀.

W' = Ā W with Ā symmetric makes a propagator Φ = exp(H) R, with H symmetric and R orthogonal; of U Vᵀ, where
Ā = [0 G; Gᵀ 0], it has ΦᵀJΦ = J with J = diag(I, −I), so that H = [0 K; Kᵀ 0] and every direction that grows
by e^κ has another one that shrinks by e^κ. Floats that hold W know the second up to the rounding of the
first, 1e-16·e^{2κ} of it; H knows both. From W₀W₀ᵀ = s²·I it is log M̄ itself, M̄ = s² exp(2H).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from tacit.data.arrays import Float


@dataclass(frozen=True, eq=False)
class Polar:
    """W = exp(H) R W₀ with H symmetric, of eigenvalues h and -vectors E, and R orthogonal.

    rows: those of U, where W = [U; V]: there H = [0 K; Kᵀ 0] and R has blocks, too; None for W alone.
    """

    E: Float
    h: Float
    R: Float
    first: Float  # W₀
    rows: int | None

    @classmethod
    def of(cls, W: Float, rows: int | None) -> Polar:
        """The start, H = 0."""
        m = len(W)
        return cls(np.eye(m), np.zeros(m), np.eye(m), W, rows)

    @property
    def inner(self) -> Float:
        """exp(h) Eᵀ R W₀."""
        return np.asarray(np.exp(self.h)[:, None] * (self.E.T @ (self.R @ self.first)))

    @property
    def W(self) -> Float:
        """The weights."""
        return np.asarray(self.E @ self.inner)

    def times(self, moved: Float) -> Polar:
        """The factors of Ψ W, from Ψ E."""
        Z, sizes, turn = graded_svd(moved * np.exp(self.h))
        R = Z @ (turn.T @ (self.E.T @ self.R))
        H = (Z * np.log(sizes)) @ Z.T
        d = self.rows
        if d is None:
            R = _orthogonal(R)
        else:
            R = scipy.linalg.block_diag(_orthogonal(R[:d, :d]), _orthogonal(R[d:, d:]))
        h, E = eigen(H, d)
        return Polar(E, h, R, self.first, d)


def eigen(H: Float, rows: int | None) -> tuple[Float, Float]:
    """Eigenvalues and -vectors of H; of [0 K; Kᵀ 0] those from K, ±κ and 0, which come in pairs exactly."""
    if rows is None:
        values, vectors = np.linalg.eigh((H + H.T) / 2)
        return values, vectors
    P, kappa, Q = np.linalg.svd(H[:rows, rows:])
    n = len(kappa)
    above, below = P[:, :n] / np.sqrt(2), Q[:n].T / np.sqrt(2)
    pairs = np.block([[above, above], [below, -below]])
    rest = scipy.linalg.block_diag(P[:, n:], Q[n:].T)
    return np.concatenate([kappa, -kappa, np.zeros(len(H) - 2 * n)]), np.hstack([pairs, rest])


def _orthogonal(R: Float) -> Float:
    """The nearest orthogonal matrix."""
    left, _, right = np.linalg.svd(R)
    return np.asarray(left @ right)


def graded_svd(G: Float) -> tuple[Float, Float, Float]:
    """G = Z diag(s) Tᵀ, every s to the last digits where G has columns of any sizes, block by block.

    What rounding adds to entries that are 0, between modes that never meet, would grow with them.
    """
    m = len(G)
    pattern = np.zeros((2 * m, 2 * m), dtype=bool)
    pattern[:m, m:] = G != 0
    count, label = connected_components(csr_array(pattern), directed=False)
    if count == 1:
        return _jacobi_svd(G)
    Z, turn, sizes = np.zeros((m, m)), np.zeros((m, m)), np.zeros(m)
    for block in range(count):
        rows, columns = np.flatnonzero(label[:m] == block), np.flatnonzero(label[m:] == block)
        Z[np.ix_(rows, columns)], sizes[columns], turn[np.ix_(columns, columns)] = _jacobi_svd(
            G[np.ix_(rows, columns)]
        )
    return Z, sizes, turn


def _jacobi_svd(G: Float) -> tuple[Float, Float, Float]:
    """By Jacobi's method.

    Drmač and Veselić, New fast and accurate Jacobi SVD algorithm, SIAM J. Matrix Anal. Appl. 29 (2008).
    """
    scaled = G / np.abs(G).max()
    sizes, Z, turn, work, _, info = scipy.linalg.lapack.dgejsv(scaled, joba=2, jobr=0)
    if info != 0:
        raise np.linalg.LinAlgError("Jacobi's method did not converge")
    return Z, sizes * (work[0] / work[1]) * np.abs(G).max(), turn
