"""Radau IIA with five stages, of order 9.

Hairer and Wanner, Solving Ordinary Differential Equations II, IV.5.
"""

from __future__ import annotations

import numpy as np
from scipy.special import roots_jacobi

from tacit.numerics.rounding import EPS, Float

STAGES = 5
POWERS = np.arange(STAGES)
C = np.append((roots_jacobi(STAGES - 1, 1, 0)[0] + 1) / 2, 1.0)
LAGRANGE = np.linalg.inv(np.vander(C, STAGES, increasing=True))  # coefficients of the nodes' polynomials
A = (C[:, None] ** (POWERS + 1) / (POWERS + 1)) @ LAGRANGE


def interpolate(values: Float, fractions: Float) -> Float:
    """The polynomial through values at the nodes, at fractions of the step (above 1: of the next step)."""
    return np.asarray(np.vander(fractions, STAGES, increasing=True) @ LAGRANGE @ values, dtype=float)


# A = TΛT⁻¹ has one real eigenvalue and two complex conjugate pairs, of which one half suffices:
# φ(A) r = Re(OUT·φ(MODES)·IN·r) for real functions φ and real r.
_VALUES, _VECTORS = np.linalg.eig(A)
_HALF = _VALUES.imag >= 0
MODES, IN = _VALUES[_HALF], np.linalg.inv(_VECTORS)[_HALF]
OUT = _VECTORS[:, _HALF] * np.where(MODES.imag > 0, 2.0, 1.0)

NODES = float(np.abs(np.prod(np.linspace(0, 1, 1001)[:, None] - C, axis=1)).max())

# Interpolation error between the nodes: highest divided difference of the rates there and at the beginning,
# times the largest value of the node polynomial; and the round-off of that estimate.
TOP = NODES * np.linalg.inv(np.vander(np.append(0.0, C), STAGES + 1, increasing=True))[-1]
ROUNDING = 8 * EPS * float(np.abs(TOP).sum())

ORDER = -1 / (STAGES + 1)  # exponent of the error in the factor of the step size
