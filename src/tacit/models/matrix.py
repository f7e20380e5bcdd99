"""Matrix factorizations: a predictor that is a matrix, as a product of two."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from tacit.data.arrays import Float, as_floats
from tacit.data.entries import Entries
from tacit.data.inputs import Inputs
from tacit.errors import InputError, NoPotentialError
from tacit.models.factors import Factors, SymmetricFactors
from tacit.models.linear import as_deviation, as_generator, as_layers, as_size, size_of
from tacit.models.model import Model
from tacit.models.parametrizations import Weights

_SYMMETRIC = 1e-12  # of the largest entry of a measurement: a difference from its transpose that is rounding


@dataclass(frozen=True, eq=False)
class Factorization(Model):
    """f(X) = ⟨U Vᵀ, X⟩ for matrices X, of predictor U Vᵀ (Woodworth et al. 2020, Section 6).

    Data are stacks of matrices, (N, d₁, d₂), or single entries as `tacit.observed` gives them. Gradient flow
    keeps the imbalance UᵀU − VᵀV, and depends on the lifted matrix M̄ = [U; V][U; V]ᵀ alone, whatever the
    width.

    Parameters
    ----------
    left : (d₁, k) array-like
        U. Not both factors may be zero.
    right : (d₂, k) array-like
        V.

    Raises
    ------
    InputError
        Where an argument is not what it should be.
    """

    left: Any
    right: Any

    input_ndim = 3

    @property
    def parametrization(self) -> Factors:
        """⟨U Vᵀ, X⟩."""
        return Factors()

    def __post_init__(self) -> None:
        U, V = as_layers(left=self.left, right=self.right)
        object.__setattr__(self, "left", U)
        object.__setattr__(self, "right", V)

    @classmethod
    def gaussian(
        cls,
        shape: tuple[int, int],
        width: float,
        scale: float,
        seed: int | np.random.Generator = 0,
    ) -> Factorization:
        """Independent weights ~ N(0, scale²), for predictors of the given shape.

        The scale multiplies the *weights*, α in Woodworth et al. 2020, Section 6: entries of the predictor
        are of size σ = scale²·√k, and the lifted matrix of size scale²·k. One seed gives the same weights up
        to the scale.

        Parameters
        ----------
        shape : (int, int)
            d₁ and d₂.
        width : int or math.inf
            k, or math.inf for the limit of N(0, scale²/k) as k → ∞ (Theorem 4), with scale = lim α√k. It has
            M̄(0) = scale²·I, from the weights U = scale·[I 0] and V = scale·[0 I] (Appendix G). The μ of the
            theorem is scale/√2.
        scale : float
            Positive.
        seed : int or numpy.random.Generator, optional
            Draws the weights.

        Returns
        -------
        Factorization
            With these weights.
        """
        try:
            rows, columns = shape
        except (TypeError, ValueError):
            raise InputError(f"shape must be two whole numbers, (d1, d2), got {shape!r}") from None
        d1, d2 = as_size(rows, "shape[0]"), as_size(columns, "shape[1]")
        k, deviation, rng = _as_width(width), _positive(scale), as_generator(seed)
        if k is None:
            return cls(*_identity(d1, d2, deviation))
        return cls(deviation * rng.standard_normal((d1, k)), deviation * rng.standard_normal((d2, k)))

    def __repr__(self) -> str:
        start = self._start_in_words()
        return f"Factorization(left=<{size_of(self.left)}>, right=<{size_of(self.right)}>{start})"

    def _start_in_words(self) -> str:
        """Of an infinite width, what the weights stand for."""
        scale = float(self.left.flat[0])
        exact = _identity(len(self.left), len(self.right), scale)
        ours = (self.left, self.right)
        if not all(a.shape == b.shape and np.array_equal(a, b) for a, b in zip(ours, exact, strict=True)):
            return ""
        return f", width ∞: M̄(0) = {scale:g}²·I"

    def describe(self) -> str:
        """What the numbers mean, in a line."""
        (d1, width), d2 = self.left.shape, len(self.right)
        return (
            f"{self!r}: a {d1}×{d2} predictor of rank at most {min(d1, d2, width)}, "
            f"‖U‖ = {np.linalg.norm(self.left):.3g}, ‖V‖ = {np.linalg.norm(self.right):.3g}"
        )

    def as_inputs(self, X: Inputs) -> Any:
        """X as floats of shape (N, d₁, d₂), or as `Entries`; `InputError` otherwise."""
        d1, d2 = len(self.left), len(self.right)
        if isinstance(X, Entries):
            if X.shape != (d1, d2):
                raise InputError(
                    f"the model takes {d1}×{d2} matrices but the entries are those of a "
                    f"{X.shape[0]}×{X.shape[1]} one"
                )
            return X
        return _as_matrices(X, d1, d2)

    def start(self, d: int | None = None) -> Weights:
        """U and V at initialization; d, if given, counts the rows of the matrices."""
        if d not in (None, len(self.left)):
            raise InputError(f"the model takes matrices of {len(self.left)} rows but the data has {d}")
        return {"U": self.left.copy(), "V": self.right.copy()}

    def lifted(self) -> Float:
        """M̄ = [U; V][U; V]ᵀ at initialization, (d₁+d₂)²: all that the flow of U Vᵀ knows of its weights."""
        stacked = np.vstack([self.left, self.right])
        return np.asarray(stacked @ stacked.T)

    def potential(self, d: int | None = None) -> NoReturn:
        """None: only measurements that commute have one."""
        self.start(d)
        raise NoPotentialError(_NO_POTENTIAL)


@dataclass(frozen=True, eq=False)
class SymmetricFactorization(Model):
    """f(X) = ⟨W Wᵀ, X⟩ for symmetric matrices X, of predictor W Wᵀ (Woodworth et al. 2020, Section 6).

    Data are stacks of symmetric matrices, (N, d, d). The flow depends on W Wᵀ alone, whatever the width.

    Parameters
    ----------
    weights : (d, k) array-like
        W, not zero.

    Raises
    ------
    InputError
        Where weights are not what they should be.
    """

    weights: Any

    input_ndim = 3

    @property
    def parametrization(self) -> SymmetricFactors:
        """⟨W Wᵀ, X⟩."""
        return SymmetricFactors()

    def __post_init__(self) -> None:
        W = as_floats(self.weights, "weights", ndim=(0, 1, 2))
        if W.ndim != 2 or W.size == 0:
            raise InputError(f"weights must be a matrix with one column per hidden unit, got shape {W.shape}")
        if not W.any():
            raise InputError("weights are all 0, and such a start never moves; change one of them")
        object.__setattr__(self, "weights", W.copy())

    @classmethod
    def gaussian(
        cls, d: int, width: float, scale: float, seed: int | np.random.Generator = 0
    ) -> SymmetricFactorization:
        """Independent weights ~ N(0, scale²), for d×d predictors.

        Parameters
        ----------
        d : int
            Rows of the predictor.
        width : int or math.inf
            k, or math.inf for the limit of N(0, scale²/k) as k → ∞: W = scale·I.
        scale : float
            Positive.
        seed : int or numpy.random.Generator, optional
            Draws the weights.

        Returns
        -------
        SymmetricFactorization
            With these weights.
        """
        rows, k, deviation, rng = as_size(d, "d"), _as_width(width), _positive(scale), as_generator(seed)
        return cls(deviation * (np.eye(rows) if k is None else rng.standard_normal((rows, k))))

    def lifted(self) -> Float:
        """W Wᵀ at the start, (d, d)."""
        return np.asarray(self.weights @ self.weights.T)

    def __repr__(self) -> str:
        W = self.weights
        scale = float(W.flat[0])
        exact = W.shape[0] == W.shape[1] and np.array_equal(W, scale * np.eye(len(W)))
        words = f", width ∞: W Wᵀ = {scale:g}²·I" if exact else ""
        return f"SymmetricFactorization(weights=<{size_of(W)}>{words})"

    def describe(self) -> str:
        """What the numbers mean, in a line."""
        d, width = self.weights.shape
        return (
            f"{self!r}: a positive semidefinite {d}×{d} predictor of rank at most {min(d, width)}, "
            f"‖W‖ = {np.linalg.norm(self.weights):.3g}"
        )

    def as_inputs(self, X: Inputs) -> Float:
        """X as floats of shape (N, d, d), symmetric; `InputError` otherwise."""
        d = len(self.weights)
        if isinstance(X, Entries):
            away = X.rows != X.columns
            if away.any():
                where = f"({X.rows[away][0]}, {X.columns[away][0]})"
                raise InputError(
                    f"a symmetric factorization takes symmetric measurements, and the entry {where} is "
                    "none; take Factorization, or (E + Eᵀ)/2 for each of X.dense()"
                )
            X = X.dense()
        X = _as_matrices(X, d, d)
        skew = np.abs(X - X.transpose(0, 2, 1)).max(axis=(1, 2), initial=0.0)
        wrong = skew > _SYMMETRIC * np.abs(X).max(axis=(1, 2), initial=0.0)
        if wrong.any():
            raise InputError(
                f"a symmetric factorization takes symmetric measurements, and X[{int(wrong.argmax())}] is "
                "not symmetric; (X + Xᵀ)/2 has the same outputs"
            )
        found: Float = X
        return found

    def start(self, d: int | None = None) -> Weights:
        """W at initialization; d, if given, counts the rows of the matrices."""
        if d not in (None, len(self.weights)):
            raise InputError(f"the model takes matrices of {len(self.weights)} rows but the data has {d}")
        return {"W": self.weights.copy()}

    def potential(self, d: int | None = None) -> NoReturn:
        """None: only measurements that commute have one."""
        self.start(d)
        raise NoPotentialError(_NO_POTENTIAL)


_NO_POTENTIAL = (
    "a matrix factorization has no potential in general: one is known only for measurements that "
    "commute, and in the limit of infinite width (Woodworth et al. 2020, Theorem 4); tacit.flow runs it"
)


def _as_matrices(X: Any, d1: int, d2: int) -> Float:
    X = as_floats(X, "X", ndim=(3,))
    if X.shape[1:] != (d1, d2):
        raise InputError(
            f"the model takes {d1}×{d2} matrices but the data has {X.shape[1]}×{X.shape[2]} ones; "
            "X must be (samples, rows, columns)"
        )
    found: Float = X
    return found


def _as_width(width: Any) -> int | None:
    """A whole number, or None for infinity."""
    infinite = isinstance(width, float | np.floating) and math.isinf(width) and width > 0
    return None if infinite else as_size(width, "width")


def _positive(scale: Any) -> float:
    deviation = as_deviation(scale, "scale")
    if deviation == 0:
        raise InputError("scale must be positive, got 0; weights that start at 0 stay there")
    return deviation


def _identity(d1: int, d2: int, scale: float) -> tuple[Float, Float]:
    """scale·[I 0] and scale·[0 I]."""
    return scale * np.eye(d1, d1 + d2), scale * np.eye(d2, d1 + d2, d1)
