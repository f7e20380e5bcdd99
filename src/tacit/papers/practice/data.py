"""Random problems of the figures about training in practice."""

from __future__ import annotations

import numpy as np

from tacit.data.arrays import Float

_SIGNAL = (1.5, -1.0, 0.7)


def sparse_problem(samples: int, features: int, seed: int | list[int]) -> tuple[Float, Float, Float]:
    """Gaussian X, targets y = X b* without noise, and the signal b*, which has three nonzero entries."""
    X = np.random.default_rng(seed).standard_normal((samples, features))
    signal = np.zeros(features)
    signal[: len(_SIGNAL)] = _SIGNAL
    return X, X @ signal, signal


def relative(found: Float, truth: Float) -> float:
    """The relative distance of a predictor to another."""
    return float(np.linalg.norm(found - truth) / np.linalg.norm(truth))
