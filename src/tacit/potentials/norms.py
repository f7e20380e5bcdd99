"""Norms as potentials: the weighted ℓ1 norm, which is not smooth, and squared norms of kernels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.data.arrays import as_floats
from tacit.errors import InputError
from tacit.potentials.arrays import as_array, parameter, quiet
from tacit.potentials.base import Potential

Array = Any
# B_ij and B_ji may differ by this part of √(B_ii·B_jj): inverses of symmetric matrices have such round-off.
_SYMMETRIC = 1e-8


@dataclass(frozen=True, eq=False)
class L1(Potential):
    """Q(w) = Σ weightᵢ|wᵢ|, the limit of diagonal networks at zero scale.

    As the scale goes to 0 it is the limit of Q/log(1/m) at depth 2 (Woodworth et al. 2020, equation 7) and of
    Q itself at depth D > 2 (Theorem 3). The gradient is the subgradient of minimum norm.

    Parameters
    ----------
    weight : float or (d,) array-like, optional
        One positive number for all features, or one per feature.

    Examples
    --------
    >>> from tacit.potentials import L1
    >>> float(L1().value([1.0, -2.0]))
    3.0
    >>> float(L1(weight=[1.0, 3.0]).value([1.0, -2.0]))
    7.0
    """

    weight: Any = 1.0
    family = "l1"

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", parameter(self.weight, "weight", positive=True))

    def value(self, w: Array) -> Array:
        """Σ weightᵢ|wᵢ|."""
        xp, w = as_array(w)
        return xp.sum(xp.asarray(self.weight) * xp.abs(w))

    def gradient(self, w: Array) -> Array:
        """weight·sign(w), 0 at 0."""
        xp, w = as_array(w)
        return xp.asarray(self.weight) * xp.sign(w)

    def mirror(self, z: Array) -> Array:
        """0 for |z| < weight; NaN for |z| > weight (no w) and |z| = weight (a whole ray of w)."""
        xp, z = as_array(z)
        return xp.where(xp.abs(z) < xp.asarray(self.weight), 0.0 * z, xp.nan)

    def hessian(self, w: Array) -> Array:
        """0 for w ≠ 0, ∞ at the kink w = 0."""
        xp, w = as_array(w)
        return xp.where(w == 0, xp.inf, 0.0 * w)

    def subdifferential(self, w: Array) -> tuple[Array, Array]:
        """Lower and upper bound of ∂Q(w): −weight and weight at w = 0."""
        xp, w = as_array(w)
        gradient = self.gradient(w)
        edge = xp.asarray(self.weight) * xp.ones_like(w)
        return xp.where(w == 0, -edge, gradient), xp.where(w == 0, edge, gradient)


@dataclass(frozen=True, eq=False)
class Quadratic(Potential):
    """Q(w) = ½ wᵀ B w, half the squared norm of a kernel; half the squared ℓ2 norm if metric is 1.

    In the kernel regime the flow minimizes ½ wᵀ B w, where B is the inverse of the tangent metric at
    initialization (Woodworth et al. 2020, equation 6).

    Parameters
    ----------
    metric : float, (d,) or (d, d) array-like, optional
        A positive number, the diagonal of B, or B itself (symmetric positive definite).

    Examples
    --------
    >>> from tacit.potentials import Quadratic
    >>> float(Quadratic().value([3.0, 4.0]))
    12.5
    >>> float(Quadratic(metric=[2.0, 0.5]).value([3.0, 4.0]))
    13.0
    """

    metric: Any = 1.0
    family = "quadratic"

    def __post_init__(self) -> None:
        metric = as_floats(self.metric, "metric", ndim=(0, 1, 2))
        if metric.ndim == 2 and not _positive_definite(metric):
            raise InputError(
                "metric must be symmetric and positive definite (numpy.linalg.cholesky must factor it), "
                f"got a matrix of shape {metric.shape} that is not"
            )
        if metric.ndim < 2 and not (metric > 0).all():
            raise InputError(f"metric must be positive, got {metric.min()}")
        if metric.ndim == 2:
            metric = metric / 2 + metric.T / 2
        object.__setattr__(self, "metric", float(metric) if metric.ndim == 0 else metric.copy())

    @property
    def _is_matrix(self) -> bool:
        return np.ndim(self.metric) == 2

    @quiet
    def value(self, w: Array) -> Array:
        """½ wᵀ B w."""
        xp, w = as_array(w)
        return xp.sum(w * self.gradient(w)) / 2

    @quiet
    def gradient(self, w: Array) -> Array:
        """B w."""
        xp, w = as_array(w)
        metric = xp.asarray(self.metric)
        return metric @ w if self._is_matrix else metric * w

    @quiet
    def mirror(self, z: Array) -> Array:
        """B⁻¹ z."""
        xp, z = as_array(z)
        metric = xp.asarray(self.metric)
        return xp.linalg.solve(metric, z) if self._is_matrix else z / metric

    def hessian(self, w: Array) -> Array:
        """B: the matrix if `metric` is a matrix, otherwise its diagonal."""
        xp, w = as_array(w)
        metric = xp.asarray(self.metric)
        return metric if self._is_matrix else metric * xp.ones_like(w)


def _positive_definite(matrix: np.ndarray) -> bool:
    """Whether the matrix is symmetric, in any unit of the coordinates, and has a Cholesky factor."""
    if matrix.shape[0] != matrix.shape[1] or not (np.diag(matrix) > 0).all():
        return False
    sizes = np.sqrt(np.diag(matrix))
    if (np.abs(matrix - matrix.T) > _SYMMETRIC * sizes[:, None] * sizes).any():
        return False
    try:
        np.linalg.cholesky(matrix / 2 + matrix.T / 2)
    except np.linalg.LinAlgError:
        return False
    return True


@dataclass(frozen=True, eq=False)
class VanishingScale(L1):
    """The ℓ1 norm Σ weightᵢ|wᵢ|, with the rule that selects the limit of small scales among several
    minimizers.

    Of all minimizers of the norm the limit of diagonal networks of depth 2 maximizes the entropy −Σ |w|
    log(|w|/profile²), that of depth D > 2 maximizes Σ |w|^{2/D} (Wind et al. 2023). The weights are 1 at
    depth 2, and profile^{2−D} at larger depths.
    """

    depth: float = 2.0
    profile: Any = 1.0
    family = "scale zero"

    @classmethod
    def of(cls, depth: float, profile: Any) -> VanishingScale:
        """The norm of a network with this depth, and this profile or None."""
        sizes = np.asarray(1.0 if profile is None else profile, dtype=float)
        weight = sizes ** (2 - depth) if depth > 2 else 1.0
        return cls(weight, float(depth), sizes)

    @property
    def log_scale(self) -> float:
        """log m for scale 0."""
        return -math.inf

    @property
    def power(self) -> float:
        """p = D/(D−2) of the potentials that tend to this one."""
        return math.inf if self.depth == 2 else self.depth / (self.depth - 2)

    def describe(self) -> str:
        """The norm, and the rule that decides between its minimizers."""
        return "ℓ1 norm, ties by entropy" if self.depth == 2 else f"ℓ1 norm, ties by Σ|w|^(2/{self.depth:g})"
