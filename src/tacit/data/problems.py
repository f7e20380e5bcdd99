"""Random problems with a known true predictor, as in the papers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.data.arrays import Float
from tacit.data.prepared import prepare
from tacit.errors import InputError


@dataclass(frozen=True, eq=False)
class SparseRegression:
    """Gaussian features and a response that depends on few of them."""

    X: Float
    y: Float
    truth: Float

    def __post_init__(self) -> None:
        self.__dict__["prepared"] = prepared = prepare(self.X)  # keeps cached results about X alive
        self.__dict__["X"] = prepared.X

    def population_error(self, predictor: Float) -> float:
        """E⟨w − β*, x⟩² = ‖w − β*‖² for x ~ N(0, I): the excess test error."""
        return float(np.sum((predictor - self.truth) ** 2))


def sparse_regression(
    samples: int,
    features: int,
    *,
    nonzero: int = 5,
    noise: float = 0.1,
    seed: int | np.random.Generator = 0,
) -> SparseRegression:
    """Draw x ~ N(0, I), y ~ N(⟨β*, x⟩, noise²), with `nonzero` entries 1/√nonzero in β* and 0 otherwise.

    This is the problem of Woodworth et al. 2020, Section 4, and Azulay et al. 2021, Section 9.
    """
    if not 0 < nonzero <= features:
        raise InputError(f"nonzero must lie between 1 and features = {features}, got {nonzero}")
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((samples, features))
    truth = np.zeros(features)
    truth[:nonzero] = 1 / np.sqrt(nonzero)
    return SparseRegression(X, X @ truth + noise * rng.standard_normal(samples), truth)
