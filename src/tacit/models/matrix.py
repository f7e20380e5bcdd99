"""Matrix factorizations: the predictor is a matrix U Vᵀ or W Wᵀ."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from tacit.data.arrays import Float, as_floats
from tacit.data.entries import Entries, Inputs
from tacit.errors import InputError, NoPotentialError
from tacit.models.factors import Factors, SymmetricFactors
from tacit.models.linear import as_deviation, as_generator, as_layers, as_size, size_of
from tacit.models.model import Model, fixed_start
from tacit.models.parametrizations import Weights

_ROWS = "the model takes matrices with {} rows, but the data has {}"
_SYMMETRIC = 1e-10  # asymmetry of a measurement, relative to its largest entry, that is round-off


class _MatrixModel(Model):
    """Base class of models whose predictor is a matrix."""

    input_ndim = 3

    def potential(self, d: int | None = None) -> NoReturn:
        """No potential is known unless measurements commute; raises `NoPotentialError`."""
        self.start(d)
        raise NoPotentialError(
            "no potential is known for a matrix factorization, except for commuting measurements in the "
            "limit of infinite width (Woodworth et al. 2020, Theorem 4); tacit.flow integrates its flow"
        )


@dataclass(frozen=True, eq=False)
class Factorization(_MatrixModel):
    """A matrix factorization f(X) = ⟨U Vᵀ, X⟩, with predictor U Vᵀ (Woodworth et al. 2020, Section 6).

    The data are stacks of matrices, (N, d₁, d₂), or single entries from `tacit.observed`. Gradient flow
    conserves the imbalance UᵀU − VᵀV. It depends on the weights only through the lifted matrix
    M̄ = [U; V][U; V]ᵀ, for any width k.

    Parameters
    ----------
    left : (d₁, k) array-like
        U. The two factors must not both be zero.
    right : (d₂, k) array-like
        V.

    Raises
    ------
    InputError
        If an argument is invalid.

    See Also
    --------
    SymmetricFactorization : W Wᵀ for symmetric measurements.

    Examples
    --------
    >>> import numpy as np, tacit
    >>> model = tacit.Factorization.gaussian((2, 3), width=4, scale=0.1)
    >>> model.predictor().shape, model.lifted().shape
    ((2, 3), (5, 5))
    >>> X, y = tacit.observed([[1.0, 2.0, np.nan], [2.0, np.nan, 6.0]])
    >>> run = tacit.flow(model, X, y)
    >>> run.converged, run.predictor[-1].round(2)[0, :2].tolist()
    (True, [1.0, 2.0])
    """

    left: Any
    right: Any

    @property
    def parametrization(self) -> Factors:
        """⟨U Vᵀ, X⟩."""
        return Factors()

    def __post_init__(self) -> None:
        U, V = as_layers(left=self.left, right=self.right)
        self._store(left=U, right=V)

    @classmethod
    def gaussian(
        cls,
        shape: tuple[int, int],
        width: float,
        scale: float,
        seed: int | np.random.Generator = 0,
    ) -> Factorization:
        """A factorization with independent weights from N(0, scale²), for predictors of the given shape.

        The scale, α in Woodworth et al. 2020, Section 6, multiplies the *weights*: entries of the predictor
        are of size σ = scale²·√k, and the lifted matrix is of size scale²·k. For one seed, different scales
        give the same weights up to a factor.

        Parameters
        ----------
        shape : (int, int)
            d₁ and d₂.
        width : int or math.inf
            k, or math.inf for the limit of N(0, scale²/k) as k → ∞ (Theorem 4), with scale = lim α√k: its
            weights U = scale·[I 0] and V = scale·[0 I] have M̄(0) = scale²·I (Appendix G). The μ of the
            theorem is scale/√2.
        scale : float
            The positive standard deviation of the weights.
        seed : int or numpy.random.Generator, optional
            Seed of the weights.

        Returns
        -------
        Factorization
            The factorization with these weights.
        """
        try:
            rows, columns = shape
        except (TypeError, ValueError):
            raise InputError(f"shape must be two whole numbers, (d1, d2), got {shape!r}") from None
        d1, d2 = as_size(rows, "shape[0]"), as_size(columns, "shape[1]")
        k, deviation, rng = _as_width(width), _positive(scale), as_generator(seed)
        if k is None:
            return cls(*np.split(deviation * np.eye(d1 + d2), [d1]))
        return cls(deviation * rng.standard_normal((d1, k)), deviation * rng.standard_normal((d2, k)))

    def __repr__(self) -> str:
        infinite = _infinite_width(np.vstack([self.left, self.right]), "M̄(0)")
        return f"Factorization(left=<{size_of(self.left)}>, right=<{size_of(self.right)}>{infinite})"

    def describe(self) -> str:
        """The model and its sizes, in one line."""
        (d1, width), d2 = self.left.shape, len(self.right)
        return (
            f"{self!r}: a {d1}×{d2} predictor of rank at most {min(d1, d2, width)}, "
            f"‖U‖ = {np.linalg.norm(self.left):.3g}, ‖V‖ = {np.linalg.norm(self.right):.3g}"
        )

    def as_inputs(self, X: Inputs) -> Any:
        """Validate X: floats of shape (N, d₁, d₂), or `Entries`."""
        d1, d2 = len(self.left), len(self.right)
        if isinstance(X, Entries):
            if X.shape != (d1, d2):
                raise InputError(
                    f"the model takes {d1}×{d2} matrices, but the entries are from a "
                    f"{X.shape[0]}×{X.shape[1]} matrix"
                )
            return X
        return _as_matrices(X, d1, d2)

    def start(self, d: int | None = None) -> Weights:
        """U and V at initialization. d: the number of rows of the measurements."""
        return fixed_start({"U": self.left, "V": self.right}, len(self.left), d, _ROWS)

    def lifted(self) -> Float:
        """M̄ = [U; V][U; V]ᵀ at initialization, (d₁+d₂, d₁+d₂), which determines the flow of U Vᵀ."""
        stacked = np.vstack([self.left, self.right])
        return np.asarray(stacked @ stacked.T)


@dataclass(frozen=True, eq=False)
class SymmetricFactorization(_MatrixModel):
    """A factorization f(X) = ⟨W Wᵀ, X⟩ for symmetric X (Woodworth et al. 2020, Section 6).

    The data are stacks of symmetric matrices, (N, d, d), and the predictor is W Wᵀ. The flow depends on W Wᵀ
    only, for any width k.

    Parameters
    ----------
    weights : (d, k) array-like
        W, not zero.

    Raises
    ------
    InputError
        If weights are invalid.

    See Also
    --------
    Factorization : U Vᵀ for measurements that need not be symmetric.

    Examples
    --------
    >>> import tacit
    >>> model = tacit.SymmetricFactorization([[0.1, 0.0], [0.0, 0.1]])
    >>> X, y = [[[1, 0], [0, 0]], [[0, 1], [1, 0]]], [1, 1]
    >>> tacit.flow(model, X, y).predictor[-1].round(3)[0].tolist()
    [1.0, 0.5]
    """

    weights: Any

    @property
    def parametrization(self) -> SymmetricFactors:
        """⟨W Wᵀ, X⟩."""
        return SymmetricFactors()

    def __post_init__(self) -> None:
        (W,) = as_layers(weights=self.weights)
        self._store(weights=W)

    @classmethod
    def gaussian(
        cls, d: int, width: float, scale: float, seed: int | np.random.Generator = 0
    ) -> SymmetricFactorization:
        """A factorization with independent weights from N(0, scale²), for d×d predictors.

        Parameters
        ----------
        d : int
            Number of rows of the predictor.
        width : int or math.inf
            k, or math.inf for the limit of N(0, scale²/k) as k → ∞, W = scale·I.
        scale : float
            The positive standard deviation of the weights.
        seed : int or numpy.random.Generator, optional
            Seed of the weights.

        Returns
        -------
        SymmetricFactorization
            The factorization with these weights.
        """
        rows, k, deviation, rng = as_size(d, "d"), _as_width(width), _positive(scale), as_generator(seed)
        return cls(deviation * (np.eye(rows) if k is None else rng.standard_normal((rows, k))))

    def lifted(self) -> Float:
        """W Wᵀ at initialization, (d, d)."""
        return np.asarray(self.weights @ self.weights.T)

    def __repr__(self) -> str:
        infinite = _infinite_width(self.weights, "W Wᵀ")
        return f"SymmetricFactorization(weights=<{size_of(self.weights)}>{infinite})"

    def describe(self) -> str:
        """The model and its sizes, in one line."""
        d, width = self.weights.shape
        return (
            f"{self!r}: a positive semidefinite {d}×{d} predictor of rank at most {min(d, width)}, "
            f"‖W‖ = {np.linalg.norm(self.weights):.3g}"
        )

    def as_inputs(self, X: Inputs) -> Float:
        """Validate X: symmetric matrices as floats of shape (N, d, d), or entries on the diagonal."""
        d = len(self.weights)
        if isinstance(X, Entries):
            off_diagonal = X.rows != X.columns
            if off_diagonal.any():
                where = f"({X.rows[off_diagonal][0]}, {X.columns[off_diagonal][0]})"
                raise InputError(
                    f"a symmetric factorization takes symmetric measurements, but the entry {where} is not "
                    "on the diagonal; use Factorization, or measure (E + Eᵀ)/2 for each E of X.dense()"
                )
            X = X.dense()
        return as_symmetric(_as_matrices(X, d, d))

    def start(self, d: int | None = None) -> Weights:
        """W at initialization. d: the number of rows of the measurements."""
        return fixed_start({"W": self.weights}, len(self.weights), d, _ROWS)


def _as_matrices(X: Any, d1: int, d2: int) -> Float:
    matrices = as_floats(X, "X", ndim=(3,))
    if matrices.shape[1:] != (d1, d2):
        raise InputError(f"X must have shape (samples, {d1}, {d2}) for this model, got {matrices.shape}")
    return matrices


def as_symmetric(X: Float) -> Float:
    """X, made exactly symmetric; raises `InputError` if a measurement is not symmetric up to round-off."""
    skew = np.abs(X - X.transpose(0, 2, 1)).max(axis=(1, 2), initial=0.0)
    wrong = skew > _SYMMETRIC * np.abs(X).max(axis=(1, 2), initial=0.0)
    if wrong.any():
        raise InputError(
            f"measurement {int(wrong.argmax())} is not symmetric, but the predictor is; pass (X + Xᵀ)/2, "
            "which has the same outputs"
        )
    return X / 2 + X.transpose(0, 2, 1) / 2


def _as_width(width: Any) -> int | None:
    """Validate a width: a whole number, or None for infinity."""
    infinite = isinstance(width, float | np.floating) and math.isinf(width) and width > 0
    return None if infinite else as_size(width, "width")


def _positive(scale: Any) -> float:
    deviation = as_deviation(scale, "scale")
    if deviation == 0:
        raise InputError("scale must be positive, got 0; weights that start at 0 stay at 0")
    return deviation


def _infinite_width(W: Float, name: str) -> str:
    """A note for the representation if the stacked weights W = scale·I stand for an infinite width."""
    scale = float(W.flat[0])
    return f", width ∞: {name} = {scale:g}²·I" if np.array_equal(W, scale * np.eye(len(W))) else ""
