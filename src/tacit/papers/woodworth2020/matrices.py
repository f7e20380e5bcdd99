"""Problems shared by figures: partly observed matrices of rank 1 (Figure 5 and Theorem 9), and commuting
measurements with the minimizer of Q_μ on spectra (Theorem 4).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

import tacit
from tacit.data.arrays import Float
from tacit.papers.woodworth2020.lifted import ended


@dataclass(frozen=True, eq=False)
class Completion:
    """A matrix to complete; truth: Y* = u*v*ᵀ, (d, d). seen: which entries are observed."""

    truth: Float
    seen: np.ndarray

    @cached_property
    def X(self) -> Float:
        """The measurements e_i e_jᵀ, (N, d, d)."""
        places = np.flatnonzero(self.seen)
        X = np.zeros((len(places), self.seen.size))
        X[np.arange(len(places)), places] = 1.0
        return X.reshape(-1, *self.seen.shape)

    @property
    def y(self) -> Float:
        """The observed entries."""
        return self.truth[self.seen]

    @property
    def norm(self) -> float:
        """‖Y*‖_*, its only singular value."""
        return float(np.linalg.norm(self.truth))

    def excess(self, matrix: Float) -> float:
        """‖M‖_* − ‖Y*‖_*."""
        return float(np.linalg.norm(matrix, "nuc")) - self.norm

    def unseen(self, change: Float) -> float:
        """The root mean square of the unobserved entries."""
        return float(np.sqrt(np.mean(change[~self.seen] ** 2)))


def completion(size: int, observed: int, seed: int) -> Completion:
    """Y* with u*, v* from N(0, I), and N random entries of it, at least one in every row and column."""
    rng = np.random.default_rng(seed)
    truth = np.outer(*rng.standard_normal((2, size)))
    while True:
        seen = (rng.permutation(size**2) < observed).reshape(size, size)
        if seen.any(axis=0).all() and seen.any(axis=1).all():
            return Completion(truth, seen)


def commuting(size: int, samples: int, seed: int) -> tuple[Float, Float]:
    """Symmetric measurements of norm 1 with common eigenvectors, and targets of norm 1."""
    rng = np.random.default_rng(seed)
    frame = np.linalg.qr(rng.standard_normal((size, size)))[0]
    values, y = rng.standard_normal((samples, size)), rng.standard_normal(samples)
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    return np.einsum("ia,na,ja->nij", frame, values, frame), y / np.linalg.norm(y)


def spectral_limit(X: Float, y: Float, level: float) -> tacit.Limit:
    """argmin Q_μ(spectrum(M)) s.t. ⟨X_n, M⟩ = y_n, for 2μ² = α²k = level."""
    potential = tacit.potentials.Spectral(tacit.potentials.Hypentropy(math.log(level / 2)))
    return tacit.limit(potential, X, y)


def predicted(X: Float, y: Float, level: float) -> Float:
    """The limit of a factorization of infinite width by Theorem 4."""
    return np.asarray(spectral_limit(X, y, level).predictor)


def gap(
    start: tacit.Factorization, X: Float, y: Float, end: Float, residual: float = 1e-7, rtol: float = 1e-7
) -> float:
    """Distance of the limit of the flow from a matrix, relative to its norm; NaN if it does not fit."""
    found, fits, _ = ended(start, X, y, residual, rtol)
    return float(np.linalg.norm(found - end) / np.linalg.norm(end)) if fits else math.nan
