"""Potentials of matrices: a scalar potential applied to singular values or eigenvalues."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit.data.arrays import as_floats
from tacit.errors import InputError
from tacit.numerics.spectra import Frame, divided
from tacit.potentials.arrays import as_array, quiet
from tacit.potentials.base import Potential
from tacit.potentials.norms import L1

Array = Any
_ROUNDING = 4 * float(np.finfo(np.float64).eps)  # round-off of the singular values, relative to the norm
_PROBE = np.array([0.7, 2.0])  # two numbers at which potentials are tested for symmetry and separability
_SAME = 1e-12  # relative difference of values in these tests that is round-off


class MatrixPotential(Potential):
    r"""Q(M) = Σ q(spectrum(M)): singular values, or eigenvalues of a symmetric M if `eigenvalues` is true.

    `potential` is the scalar q. The round-off of a spectrum is relative to its largest value, so gradients
    have an error of eps·‖M‖·q'' at the smallest singular value, which `nearest_slope` takes into account.
    The set of gradients within round-off is not a product of intervals, so `subdifferential` returns ∇Q
    twice.
    """

    input_ndim = 3
    aim_is_box = False
    potential: Potential
    eigenvalues: bool

    def _spectrum(self, matrix: Array) -> tuple[Any, Array, Array, Array]:
        """The array namespace, and P, s, Rᵀ of M = P diag(s) Rᵀ."""
        xp, matrix = as_array(matrix)
        if matrix.ndim != 2 or (self.eigenvalues and matrix.shape[0] != matrix.shape[1]):
            kind = "square matrices" if self.eigenvalues else "matrices"
            raise InputError(f"{self.describe()} takes {kind}, got an array of shape {matrix.shape}")
        if self.eigenvalues:
            values, vectors = xp.linalg.eigh(matrix / 2 + matrix.T / 2)
            return xp, vectors, values, vectors.T
        return xp, *xp.linalg.svd(matrix, full_matrices=False)

    @quiet
    def value(self, w: Array) -> Array:
        """Σ q(spectrum)."""
        return self.potential.value(self._spectrum(w)[2])

    @quiet
    def gradient(self, w: Array) -> Array:
        """P q'(s) Rᵀ."""
        _, left, values, right = self._spectrum(w)
        return (left * self.potential.gradient(values)) @ right

    @quiet
    def mirror(self, z: Array) -> Array:
        """P (q')⁻¹(s) Rᵀ for a gradient P s Rᵀ; NaN if no matrix has it."""
        _, left, values, right = self._spectrum(z)
        return (left * self.potential.mirror(values)) @ right

    @quiet
    def hessian(self, w: Array) -> Array:
        """∇²Q(M) as a matrix acting on the entries of M (in row-major order), from divided differences of q'.

        With eigenvalues=True it acts on symmetric matrices.
        """
        matrix = as_floats(w, "w", ndim=(2,))
        frame = Frame.of(matrix, self.eigenvalues)
        units = frame.coordinates(np.eye(matrix.size).reshape(-1, *matrix.shape))
        return np.asarray((units * self._stiffness(frame)) @ units.T)

    def _stiffness(self, frame: Frame) -> Array:
        """Divided differences of q': the diagonal of the Hessian in the frame of a matrix."""
        return divided(self.potential.gradient, self.potential.hessian, *frame.couples)

    def _sensitivity(self, values: Array) -> float:
        """Relative change of the largest σ per relative change of its slope: q'/(σ q''), at least 1."""
        top = values[np.argmax(np.abs(values))][None]
        found = float(np.abs(self.potential.gradient(top) / (top * self.potential.hessian(top)))[0])
        return max(1.0, found) if np.isfinite(found) else 1.0

    @quiet
    def nearest_slope(self, w: Array, slope: Array) -> Array:
        """The gradient, at a matrix within the round-off of M, that is nearest to `slope`.

        The round-off includes that of the slopes, which changes M as much as it changes its largest singular
        value.
        """
        frame = Frame.of(np.asarray(w, dtype=float), self.eigenvalues)
        error = _ROUNDING * self._sensitivity(frame.values) * float(np.linalg.norm(frame.values))
        a, b = frame.couples
        centre = np.zeros_like(a)
        centre[: len(frame.values)] = self.potential.gradient(frame.values)
        most = self.potential.gradient(np.abs(a) + error) + self.potential.gradient(np.abs(b) + error)
        reach = np.fmin(error * self._stiffness(frame), np.abs(most))
        reach = np.where(np.isfinite(reach), reach, 0.0)
        found = frame.coordinates(np.asarray(slope, dtype=float))
        return frame.matrix(np.clip(found, centre - reach, centre + reach))

    def stationarity(self, w: Array, slope: Array) -> float:
        """Largest entry of slope − ∇Q(M), relative to the largest entry of ∇Q(M).

        Parameters
        ----------
        w : (d₁, d₂) array
            M.
        slope : (d₁, d₂) array
            A gradient, for example Σ ν_n X_n.

        Returns
        -------
        float
            The relative residual.
        """
        nearest = self.nearest_slope(w, slope)
        return float(np.abs(slope - nearest).max() / (np.abs(nearest).max() or 1.0))

    def check_features(self, features: int) -> None:
        """Accept any shape."""


@dataclass(frozen=True, eq=False)
class Spectral(MatrixPotential):
    """Q(M) = Σ q(σᵢ(M)), a scalar potential of the singular values of a matrix (a Schatten potential).

    `Spectral(Hypentropy(log(c/2)))` is minimized by the factorization U Vᵀ started at [U; V][U; V]ᵀ = c·I if
    the measurements commute (Woodworth et al. 2020, Theorem 4 and Appendix G, with m = μ² = c/2 and μ² =
    α²k/2). It tends to ‖M‖²_F/(4m) for m → ∞ and, divided by log(1/m), to the nuclear norm for m → 0.

    Parameters
    ----------
    potential : Potential
        q: an even function, summed over coordinates: `Hypentropy`, `DeepHypentropy`, `WeightDistance` or
        `Quadratic` with numbers as parameters, or one of your own.
    eigenvalues : bool, optional
        Apply q to the eigenvalues of symmetric matrices; q need not be even then (`Entropy`).

    Examples
    --------
    >>> import numpy as np
    >>> from tacit.potentials import Quadratic, Spectral
    >>> Q = Spectral(Quadratic())  # half the squared Frobenius norm
    >>> round(float(Q.value(np.diag([3.0, 4.0]))), 6)
    12.5
    """

    potential: Any
    eigenvalues: bool = False
    family = "spectral"

    def __post_init__(self) -> None:
        object.__setattr__(self, "eigenvalues", bool(self.eigenvalues))
        _check(self.potential, self.eigenvalues)

    def describe(self) -> str:
        """One-line description."""
        return f"{self.potential.describe()} of the {'eigen' if self.eigenvalues else 'singular '}values"

    def shifted(self, shift: float, d: int | None = None) -> Potential | None:
        """The potential with q at another scale."""
        inner = self.potential.shifted(shift, d)
        return None if inner is None else replace(self, potential=inner)


@dataclass(frozen=True, eq=False)
class Nuclear(MatrixPotential):
    r"""Q(M) = ‖M‖_* = Σ σᵢ(M), the nuclear norm: the rich limit of matrix factorizations.

    Multipliers with ‖Σ ν_n X_n‖ ≤ 1 in the operator norm certify a minimizer: they give ν·y ≤ ‖M‖_* for every
    M that satisfies the measurements. The gradient is the subgradient of minimum norm, P Rᵀ over the singular
    values that are not 0 up to round-off; Q has a kink in the other directions, with an infinite Hessian.

    Examples
    --------
    >>> import numpy as np
    >>> from tacit.potentials import Nuclear
    >>> round(float(Nuclear().value(np.diag([3.0, -4.0]))), 6)
    7.0
    """

    family = "nuclear"
    eigenvalues = False
    potential = L1()

    def describe(self) -> str:
        """One-line description."""
        return "Nuclear norm"

    def gradient(self, w: Array) -> Array:
        """P Rᵀ over the nonzero singular values."""
        xp, left, values, right = self._spectrum(w)
        kept = values > _ROUNDING * xp.linalg.vector_norm(values)
        return (left * xp.where(kept, 1.0, 0.0)) @ right

    @quiet
    def nearest_slope(self, w: Array, slope: Array) -> Array:
        """P Rᵀ plus the part of `slope` orthogonal to rows and columns of M, clipped to operator norm 1."""
        matrix = np.asarray(w, dtype=float)
        left, values, right = np.linalg.svd(matrix)
        rank = int((values > _ROUNDING * np.linalg.norm(values)).sum())
        inner = left[:, rank:].T @ np.asarray(slope, dtype=float) @ right[rank:].T
        P, s, R = np.linalg.svd(inner, full_matrices=False)
        beyond = left[:, rank:] @ (P * np.minimum(s, 1.0)) @ R @ right[rank:]
        return np.asarray(left[:, :rank] @ right[:rank] + beyond)

    def stationarity(self, w: Array, slope: Array) -> float:
        """Relative primal-dual gap for slope = Σ ν_n X_n, or ‖slope‖ − 1 if that is larger.

        The gap is (‖M‖_* − ⟨G, M⟩)/‖M‖_* with G = slope/max(‖slope‖, 1), if M satisfies the measurements.
        """
        size = float(np.linalg.norm(slope, 2))
        norm = float(self.value(w))
        gap = norm - float(np.sum(np.asarray(slope) * w)) / max(size, 1.0)
        return max(gap / norm if norm > 0 else 0.0, size - 1, 0.0)


@quiet
def _check(potential: Any, eigenvalues: bool) -> None:
    """Check that the potential is a sum of one even function over the coordinates."""
    if not isinstance(potential, Potential) or isinstance(potential, MatrixPotential):
        raise InputError(f"potential must be a potential of vectors, got {type(potential).__name__}")
    name = type(potential).__name__
    if isinstance(potential, L1):
        raise InputError("Spectral takes smooth potentials; the nuclear norm is potentials.Nuclear()")
    for key, value in vars(potential).items():
        if np.ndim(value) > 0:
            raise InputError(f"{key} of {name} must be a number, shared by all singular values, got an array")
    H, slopes = np.asarray(potential.hessian(_PROBE)), np.asarray(potential.gradient(_PROBE))
    alone = np.array([potential.gradient(_PROBE[i : i + 1])[0] for i in range(2)])
    odd = np.asarray(potential.gradient(-_PROBE))
    if H.ndim != 1 or not np.allclose(slopes, alone, rtol=_SAME, atol=0, equal_nan=True):
        raise InputError(f"potential must be a sum over coordinates, and {name} is not")
    if not eigenvalues and not np.allclose(odd, -slopes, rtol=_SAME, atol=0):
        raise InputError(
            f"a potential of singular values must be even, q(−x) = q(x), and {name} is not; "
            "use eigenvalues=True to apply it to symmetric matrices"
        )
