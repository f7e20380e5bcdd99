"""Potentials of matrices: a potential of numbers, applied to singular values or eigenvalues."""

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
_ROUNDING = 4 * float(np.finfo(np.float64).eps)  # of a matrix, relative to its norm
_PROBE = np.array([0.7, 2.0])


class MatrixPotential(Potential):
    r"""Q(M) = Σ q(spectrum(M)); potential: the q of numbers, eigenvalues: which spectrum.

    A spectrum is known to the rounding of its largest value, and so are gradients: to eps·‖M‖·q'' of the
    smallest singular values, which `nearest_slope` allows for.
    """

    input_ndim = 3
    aim_is_box = False
    potential: Potential
    eigenvalues: bool

    def _spectrum(self, matrix: Array) -> tuple[Any, Array, Array, Array]:
        """P, s, Rᵀ of a matrix, with its namespace."""
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
        """P (q')⁻¹(s) Rᵀ of a slope P s Rᵀ; NaN where no matrix has it."""
        _, left, values, right = self._spectrum(z)
        return (left * self.potential.mirror(values)) @ right

    @quiet
    def hessian(self, w: Array) -> Array:
        """∇²Q(M) as a matrix on the entries of M, row by row, from divided differences of q'.

        For eigenvalues it is that on symmetric matrices.
        """
        matrix = as_floats(w, "w", ndim=(2,))
        frame = Frame.of(matrix, self.eigenvalues)
        units = frame.coordinates(np.eye(matrix.size).reshape(-1, *matrix.shape))
        return np.asarray((units * self._stiffness(frame)) @ units.T)

    def _stiffness(self, frame: Frame) -> Array:
        """The divided differences of q' in the frame of a matrix."""
        return divided(self.potential.gradient, self.potential.hessian, *frame.couples)

    def _sensitivity(self, values: Array) -> float:
        """What a rounding of its slope changes of the largest value, relative: q'/(σ q''), at least 1."""
        top = values[np.argmax(np.abs(values))][None]
        found = float(np.abs(self.potential.gradient(top) / (top * self.potential.hessian(top)))[0])
        return max(1.0, found) if np.isfinite(found) else 1.0

    @quiet
    def nearest_slope(self, w: Array, slope: Array) -> Array:
        """The point nearest to a slope among the gradients at the matrices that rounding makes of M.

        Rounding: of M, and of slopes, through which it changes as much as its largest singular value does.
        """
        frame = Frame.of(np.asarray(w, dtype=float), self.eigenvalues)
        doubt = _ROUNDING * self._sensitivity(frame.values) * float(np.linalg.norm(frame.values))
        a, b = frame.couples
        centre = np.zeros_like(a)
        centre[: len(frame.values)] = self.potential.gradient(frame.values)
        most = self.potential.gradient(np.abs(a) + doubt) + self.potential.gradient(np.abs(b) + doubt)
        reach = np.fmin(doubt * self._stiffness(frame), np.abs(most))
        reach = np.where(np.isfinite(reach), reach, 0.0)
        found = frame.coordinates(np.asarray(slope, dtype=float))
        return frame.matrix(np.clip(found, centre - reach, centre + reach))

    def stationarity(self, w: Array, slope: Array) -> float:
        """How far a slope is from the gradient at M, relative to the largest entry of that.

        Parameters
        ----------
        w : (d₁, d₂) array
            M.
        slope : (d₁, d₂) array
            Such as Σ ν_n X_n.

        Returns
        -------
        float
            The residual.
        """
        nearest = self.nearest_slope(w, slope)
        return float(np.abs(slope - nearest).max() / (np.abs(nearest).max() or 1.0))

    def subdifferential(self, w: Array) -> tuple[Array, Array]:
        """The gradient, twice: what rounding leaves open is no box of entries (`nearest_slope`)."""
        gradient = self.gradient(w)
        return gradient, gradient

    def check_features(self, features: int) -> None:
        """Any shape will do."""


@dataclass(frozen=True, eq=False)
class Spectral(MatrixPotential):
    """Q(M) = Σ q(σᵢ(M)), a potential of numbers on the singular values of a matrix (a Schatten potential).

    `Spectral(Hypentropy(log(c/2)))` is what the factorization U Vᵀ minimizes from [U; V][U; V]ᵀ = c·I where
    measurements commute (Woodworth et al. 2020, Theorem 4 and Appendix G, with m = μ² = c/2 and μ² = α²k/2):
    between its ends it is ‖M‖²_F/(4m) for m → ∞ and, divided by log(1/m), the nuclear norm for m → 0.

    Parameters
    ----------
    potential : Potential
        q: a sum over coordinates, the same for each, and even: `Hypentropy`, `DeepHypentropy`,
        `WeightDistance` or `Quadratic` with numbers as parameters, or one of your own.
    eigenvalues : bool, optional
        Take those of symmetric matrices, for which a potential need not be even (`Entropy`).
    """

    potential: Any
    eigenvalues: bool = False
    family = "spectral"

    def __post_init__(self) -> None:
        object.__setattr__(self, "eigenvalues", bool(self.eigenvalues))
        _check(self.potential, self.eigenvalues)

    def describe(self) -> str:
        """What it is, in a line."""
        return f"{self.potential.describe()} of the {'eigen' if self.eigenvalues else 'singular '}values"

    def shifted(self, shift: float, d: int | None = None) -> Potential | None:
        """That of the potential."""
        inner = self.potential.shifted(shift, d)
        return None if inner is None else replace(self, potential=inner)


@dataclass(frozen=True, eq=False)
class Nuclear(MatrixPotential):
    r"""Q(M) = ‖M‖_* = Σ σᵢ(M), the nuclear norm: the rich end of matrix factorizations.

    Its multipliers prove it least: ‖Σ ν_n X_n‖ ≤ 1 in the operator norm, and then ν·y ≤ ‖M‖_* for every M
    that meets the measurements. The gradient is the subgradient of least norm, P Rᵀ of the singular values
    that are not 0 to rounding; elsewhere Q has a kink, and its Hessian is infinite.
    """

    family = "nuclear"
    eigenvalues = False
    potential = L1()

    def describe(self) -> str:
        """What it is, in a line."""
        return "Nuclear norm"

    def gradient(self, w: Array) -> Array:
        """P Rᵀ over the singular values that are not 0."""
        xp, left, values, right = self._spectrum(w)
        kept = values > _ROUNDING * xp.linalg.vector_norm(values)
        return (left * xp.where(kept, 1.0, 0.0)) @ right

    @quiet
    def nearest_slope(self, w: Array, slope: Array) -> Array:
        """P Rᵀ + the part of the slope beyond rows and columns of M, no larger than 1 in operator norm."""
        matrix = np.asarray(w, dtype=float)
        left, values, right = np.linalg.svd(matrix)
        rank = int((values > _ROUNDING * np.linalg.norm(values)).sum())
        inner = left[:, rank:].T @ np.asarray(slope, dtype=float) @ right[rank:].T
        P, s, R = np.linalg.svd(inner, full_matrices=False)
        beyond = left[:, rank:] @ (P * np.minimum(s, 1.0)) @ R @ right[rank:]
        return np.asarray(left[:, :rank] @ right[:rank] + beyond)

    def stationarity(self, w: Array, slope: Array) -> float:
        """By how much ⟨G, M⟩ falls short of ‖M‖_*, relative to it, for the slope G made no larger than 1.

        That is the primal-dual gap where M meets the measurements and G = Σ ν_n X_n; and how much larger than
        1 the slope was.
        """
        size = float(np.linalg.norm(slope, 2))
        norm = float(self.value(w))
        gap = norm - float(np.sum(np.asarray(slope) * w)) / max(size, 1.0)
        return max(gap / norm if norm > 0 else 0.0, size - 1, 0.0)


@quiet
def _check(potential: Any, eigenvalues: bool) -> None:
    """Refuse what is no sum of one even function over the coordinates."""
    if not isinstance(potential, Potential) or isinstance(potential, MatrixPotential):
        raise InputError(f"potential must be a potential of vectors, got {type(potential).__name__}")
    name = type(potential).__name__
    if isinstance(potential, L1):
        raise InputError("Spectral takes smooth potentials; the nuclear norm is potentials.Nuclear()")
    for key, value in vars(potential).items():
        if np.ndim(value) > 0:
            raise InputError(
                f"{key} of {name} must be a number, the same for all of the spectrum, got an array"
            )
    H, slopes = np.asarray(potential.hessian(_PROBE)), np.asarray(potential.gradient(_PROBE))
    alone = np.array([potential.gradient(_PROBE[i : i + 1])[0] for i in range(2)])
    odd = np.asarray(potential.gradient(-_PROBE))
    if H.ndim != 1 or not np.allclose(slopes, alone, rtol=1e-12, atol=0, equal_nan=True):
        raise InputError(f"potential must be a sum over coordinates, and {name} is not")
    if not eigenvalues and not np.allclose(odd, -slopes, rtol=1e-12, atol=0):
        raise InputError(
            f"potential must be even, q(−x) = q(x), to be one of singular values, and {name} is not; "
            "eigenvalues=True takes it for symmetric matrices"
        )
