"""Measurements that commute, and the minimizer of Q_μ on spectra: what figures of Theorem 4 share."""

from __future__ import annotations

import math

import numpy as np

import tacit
from tacit.data.arrays import Float
from tacit.theorems.woodworth2020.wide import ended


def commuting(size: int, samples: int, seed: int) -> tuple[Float, Float]:
    """Symmetric measurements of norm 1 with the same eigenvectors, and targets of norm 1."""
    rng = np.random.default_rng(seed)
    frame = np.linalg.qr(rng.standard_normal((size, size)))[0]
    values, y = rng.standard_normal((samples, size)), rng.standard_normal(samples)
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    return np.einsum("ia,na,ja->nij", frame, values, frame), y / np.linalg.norm(y)


def predicted(X: Float, y: Float, level: float) -> Float:
    """argmin Q_μ(spectrum(M)) s.t. ⟨X_n, M⟩ = y_n, for 2μ² = α²k = level."""
    potential = tacit.potentials.Spectral(tacit.potentials.Hypentropy(math.log(level / 2)))
    return np.asarray(tacit.limit(potential, X, y).predictor)


def gap(
    start: tacit.Factorization, X: Float, y: Float, end: Float, residual: float = 1e-7, rtol: float = 1e-7
) -> float:
    """How far from a matrix the flow ends, relative to its norm; NaN where it does not fit the data."""
    found, fits, _ = ended(start, X, y, residual, rtol)
    return float(np.linalg.norm(found - end) / np.linalg.norm(end)) if fits else math.nan
