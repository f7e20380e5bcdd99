"""Small cases for `tacit.check`: a model, X and y."""

from __future__ import annotations

import math

import numpy as np

import tacit

_RNG = np.random.default_rng(29)
X = _RNG.standard_normal((3, 6))
Y = X @ np.array([1.0, -0.5, 0.0, 0.0, 0.3, 0.0])
PROFILE = np.array([0.3, 0.6, 1.0, 1.4, 2.0, 0.8])
PLANE = np.array([[1.0, 0.2, -0.3], [0.4, 1.0, 0.5], [0.8, -0.6, 1.0]])  # labels of ones
ONES = np.ones(3)
LEAVING = np.array(
    [[1.0, 0.5, 0.7, 0.0], [0.5, 1.0, 0.1, 0.7]]
)  # feature 0 enters the saddle path and leaves
START = np.array([0.4, -0.3, 0.2, 0.5, -0.1, 0.3])


def _biased() -> tacit.UntiedDiagonal:
    """Layers that differ between coordinates, and an initial predictor that is not 0."""
    rng = np.random.default_rng(4)
    return tacit.UntiedDiagonal.from_weights(*rng.uniform(0.2, 0.9, size=(4, 6)))


def _commuting() -> tuple[tacit.Factorization, np.ndarray, np.ndarray]:
    """Two diagonal measurements, and infinite width."""
    spectra = np.array([[1.0, 0.4, -0.2], [0.3, 1.0, 0.8]])
    matrices = np.array([np.diag(each) for each in spectra])
    return tacit.Factorization.gaussian((3, 3), math.inf, 0.3), matrices, np.array([1.0, 0.7])


CASES = {
    "depth 2": lambda: (tacit.Diagonal(2, 0.5), X, Y),
    "depth 3": lambda: (tacit.Diagonal(3, 0.5), X, Y),
    "a feature leaves": lambda: (tacit.Diagonal(2, 0.5), LEAVING, np.array([1.0, 0.0])),
    "profile, depth 2": lambda: (tacit.Diagonal(2, 0.5, PROFILE), X, Y),
    "profile, depth 3": lambda: (tacit.Diagonal(3, 0.5, PROFILE), X, Y),
    "untied": lambda: (tacit.UntiedDiagonal(0.2, 0.6), X, Y),
    "biased": lambda: (_biased(), X, Y),
    "neuron": lambda: (tacit.Neuron.from_scale(0.5, 0.3, START), X, Y),
    "commuting": _commuting,
    "white": lambda: (tacit.LinearNetwork.gaussian(6, 12), np.eye(3, 6), np.zeros(3)),  # the rate is attained
    "classes, depth 2": lambda: (tacit.Diagonal(2, 0.5), PLANE, ONES),
    "two samples, depth 2": lambda: (tacit.Diagonal(2, 0.5), PLANE[:2], ONES[:2]),
    "classes, depth 3": lambda: (tacit.Diagonal(3, 0.5), PLANE, ONES),
}
