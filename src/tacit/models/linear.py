"""Fully connected linear networks with one hidden layer."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.data.arrays import Float, as_floats
from tacit.errors import InputError, NoPotentialError
from tacit.models.model import Model
from tacit.models.neuron import Neuron
from tacit.models.parametrizations import Layers, Weights
from tacit.numerics.rounding import EPS
from tacit.numerics.subspaces import row_space
from tacit.potentials import Bregman, Power

_STREAM = 0x7AC17  # of the weights: any number does that users of default_rng([seed, number]) do not choose
_RANK_ONE = 1e-10  # relative


@dataclass(frozen=True, eq=False)
class LinearNetwork(Model):
    """f(x) = V Uᵀ x: a linear network with one hidden layer, of predictor U Vᵀ (Min et al. 2021, Section 2).

    Gradient flow keeps the imbalance UᵀU − VᵀV. It also keeps what data X do not see: with Φ₁ an orthonormal
    basis of the row space of X and Φ₂ of its complement, U = Φ₁U₁ + Φ₂U₂ and U₂ never moves. So the paper's
    imbalance Λ = U₁ᵀU₁ − VᵀV, which is `conserved()` less U₂ᵀU₂, is constant too.

    Parameters
    ----------
    inner : (D, h) array-like
        U. Not both layers may be zero.
    outer : (m, h) array-like
        V, for one output (1, h).

    Raises
    ------
    InputError
        Where an argument is not what it should be.
    """

    inner: Any
    outer: Any

    @property
    def parametrization(self) -> Layers:
        """V Uᵀ x."""
        return Layers()

    def __post_init__(self) -> None:
        U, V = as_layers(inner=self.inner, outer=self.outer)
        object.__setattr__(self, "inner", U)
        object.__setattr__(self, "outer", V)

    @classmethod
    def gaussian(
        cls,
        features: int,
        width: int,
        outputs: int = 1,
        std: float | None = None,
        std_inner: float | None = None,
        std_outer: float | None = None,
        seed: int | np.random.Generator = 0,
    ) -> LinearNetwork:
        """Independent weights, U ~ N(0, std_inner²) and V ~ N(0, std_outer²).

        Min et al. 2021, Section 3.2 and Theorem 2, have standard deviations h^{−α} with ¼ < α ≤ ½; their
        Figure 1 uses α = ½. One seed gives the same weights up to the factors.

        Parameters
        ----------
        features : int
            D.
        width : int
            h.
        outputs : int, optional
            m.
        std : float, optional
            Of both layers, where not given for one of them; h^{−1/2} if left out.
        std_inner : float, optional
            Of U.
        std_outer : float, optional
            Of V.
        seed : int or numpy.random.Generator, optional
            Draws the weights.

        Returns
        -------
        LinearNetwork
            With these weights.
        """
        D, h, m = as_size(features, "features"), as_size(width, "width"), as_size(outputs, "outputs")
        both = h**-0.5 if std is None else as_deviation(std, "std")
        inner = both if std_inner is None else as_deviation(std_inner, "std_inner")
        outer = both if std_outer is None else as_deviation(std_outer, "std_outer")
        rng = as_generator(seed)
        return cls(inner * rng.standard_normal((D, h)), outer * rng.standard_normal((m, h)))

    @classmethod
    def balanced(
        cls, theta: ArrayLike, X: ArrayLike, width: int, seed: int | np.random.Generator = 0
    ) -> LinearNetwork:
        """U = Θ M^{−1/4} Qᵀ and V = M^{1/4} Qᵀ, with M = ΘᵀΦ₁Φ₁ᵀΘ and QᵀQ = I (Min et al. 2021, Section 4).

        Then U Vᵀ = Θ, and U₁ᵀU₁ = VᵀV on the row space of X; UᵀU − VᵀV = U₂ᵀU₂ is zero only if Θ lies in it.
        The paper prints V = M^{1/4} Q, whose shapes do not fit. Where M is singular its powers are those of
        its nonzero part. V Vᵀ = M^{1/2} in every balanced start, so Θ must vanish wherever X Θ does.

        Parameters
        ----------
        theta : (D,) or (D, m) array-like
            Θ, the predictor at the start.
        X : (N, D) array-like
            The data, whose row space decides what is balanced.
        width : int
            h, at least the rank of X Θ.
        seed : int or numpy.random.Generator, optional
            Draws Q, which no output depends on.

        Returns
        -------
        LinearNetwork
            With zero imbalance on the data.
        """
        X, h = _as_data(X), as_size(width, "width")
        theta = as_floats(theta, "theta", ndim=(1, 2))
        theta = theta[:, None] if theta.ndim == 1 else theta
        if len(theta) != X.shape[1] or theta.shape[1] == 0:
            raise InputError(
                f"theta must have one row per feature: X has {X.shape[1]} features, theta is {theta.shape}"
            )
        if not theta.any():
            raise InputError("theta must not be zero; the balanced start of zero is zero and never moves")
        seen, size = row_space(X).T @ theta, float(np.linalg.norm(theta))
        _, s, right = np.linalg.svd(seen, full_matrices=False)
        rank = int((s > max(theta.shape) * EPS * size).sum())
        s, right = s[:rank], right[:rank]  # M = rightᵀ s² right
        if np.linalg.norm(theta - (theta @ right.T) @ right) > 1e-10 * size:
            raise InputError(
                "theta has a part that X does not see (X theta has a smaller rank than theta), and no "
                "balanced start has it; project theta onto the row space of X"
            )
        if h < rank:
            raise InputError(f"width must be at least {rank}, the rank of X theta, got {h}")
        Q = _frame(as_generator(seed), h, rank)
        return cls((theta @ right.T / np.sqrt(s)) @ Q.T, (right.T * np.sqrt(s)) @ Q.T)

    @classmethod
    def orthogonal(
        cls, X: ArrayLike, width: int, outputs: int = 1, seed: int | np.random.Generator = 0
    ) -> LinearNetwork:
        """V U₂ᵀ = 0 and U₁U₂ᵀ = 0, from where the flow ends at the minimum-norm solution exactly.

        These are the conditions of Min et al. 2021, Proposition 1, which also asks that the loss reach its
        minimum. Theorem 1 grants that here: the rows of V and U₁ are orthonormal, so Λ = U₁ᵀU₁ − VᵀV has r =
        rank X eigenvalues 1 and m eigenvalues −1, and the level of imbalance is c = 2. U₂ is Gaussian of
        standard deviation h^{−1/2} in the hidden directions that are left, and the predictor starts at U Vᵀ =
        0. `gaussian` tends to such a start as its width grows.

        Parameters
        ----------
        X : (N, D) array-like
            The data.
        width : int
            h, at least rank X + outputs; with no more than that, U₂ = 0.
        outputs : int, optional
            m.
        seed : int or numpy.random.Generator, optional
            Draws the weights.

        Returns
        -------
        LinearNetwork
            With these weights.
        """
        X, h, m = _as_data(X), as_size(width, "width"), as_size(outputs, "outputs")
        basis = row_space(X)
        features, rank = basis.shape
        if rank == 0:
            raise InputError("X must not be zero; from such data nothing is learned")
        if h < rank + m:
            raise InputError(
                f"width must be at least {rank + m} = rank of X ({rank}) + outputs ({m}), got {h}: "
                "the rows of V and of U on the data are to be orthogonal"
            )
        rng = as_generator(seed)
        frame = _frame(rng, h, m + rank)
        unseen = h**-0.5 * rng.standard_normal((features, h))
        for _ in range(2):  # the second time takes away what rounding has left
            unseen -= basis @ (basis.T @ unseen)
            unseen -= (unseen @ frame) @ frame.T
        return cls(basis @ frame[:, m:].T + unseen, frame[:, :m].T)

    def __repr__(self) -> str:
        return f"LinearNetwork(inner=<{size_of(self.inner)}>, outer=<{size_of(self.outer)}>)"

    @property
    def outputs(self) -> int:
        """m, the number of outputs."""
        return len(self.outer)

    def n_outputs(self, X: Any = None) -> int:
        """m."""
        return len(self.outer)

    def describe(self) -> str:
        """What the numbers mean, in a line."""
        (features, width), outputs = self.inner.shape, len(self.outer)
        return (
            f"{self!r}: {features} → {width} → {outputs}, ‖U‖ = {np.linalg.norm(self.inner):.3g}, "
            f"‖V‖ = {np.linalg.norm(self.outer):.3g}, imbalance ‖UᵀU − VᵀV‖ = {self._imbalance():.3g}"
        )

    def _imbalance(self) -> float:
        """‖UᵀU − VᵀV‖ in the Frobenius norm, from the triangle R of [U; V]ᵀ = QR: small at any width."""
        R: Float = np.asarray(np.linalg.qr(np.vstack([self.inner, self.outer]).T, mode="r"))
        inner, outer = R[:, : len(self.inner)], R[:, len(self.inner) :]
        return float(np.linalg.norm(inner @ inner.T - outer @ outer.T))

    def start(self, d: int | None = None) -> Weights:
        """U and V at initialization."""
        if d not in (None, len(self.inner)):
            raise InputError(f"the model has {len(self.inner)} features but the data has {d}")
        return {"U": self.inner.copy(), "V": self.outer.copy()}

    def two_layers(self) -> tuple[Float, Float]:
        """U and V."""
        return self.inner, self.outer

    def shifted(self, shift: float, d: int | None = None) -> LinearNetwork:
        """Both layers, multiplied."""
        factor = math.exp(shift / 2)
        return LinearNetwork(factor * self.inner, factor * self.outer)

    def as_neuron(self) -> Neuron | None:
        """The neuron that a network of one output is if U = u qᵀ and V = v qᵀ, |q| = 1; None if it is none.

        Its hidden layer then has rank one, and keeps it. Strictly balanced networks, UᵀU = VᵀV, are of this
        kind (Azulay et al. 2021, proof of Proposition 1), with δ = 0. Every row of U must be a multiple of
        qᵀ to its own rounding: next to a large one a small row that is none would count for nothing, and
        grow.
        """
        if self.outputs != 1 or not self.outer.any():
            return None
        largest = float(np.abs(self.outer).max())  # so that the squares of tiny or huge weights are numbers
        v = largest * float(np.linalg.norm(self.outer / largest))
        q = self.outer[0] / v
        u = self.inner @ q
        off = np.abs(self.inner - np.outer(u, q)).max(axis=1)
        rounding = EPS * max(16.0, math.sqrt(len(q)))
        return Neuron(v, u) if (off <= rounding * np.abs(self.inner).max(axis=1)).all() else None

    def potential(self, d: int | None = None) -> Bregman:
        """Of the neuron that the network is, if it is one; ‖w‖^{3/2} from the start where it is balanced.

        Others have none: how the predictor moves is not a function of the predictor.
        """
        self.start(d)
        neuron = self.as_neuron()
        if neuron is not None:
            balanced = abs(neuron.shape) <= _RANK_ONE
            return Bregman(Power(1.5), neuron.predictor()) if balanced else neuron.potential()
        raise NoPotentialError(
            "a linear network has no potential in general: its flow conserves the imbalance UᵀU − VᵀV, and "
            "the metric in which the predictor UVᵀ moves is not a function of the predictor alone; started "
            "as LinearNetwork.orthogonal it ends at the minimum-norm solution all the same "
            "(Min et al. 2021, Proposition 1)"
        )


def as_layers(**layers: Any) -> tuple[Float, Float]:
    """Copies of two named matrices with a column for each hidden unit, finite and not both zero."""
    arrays = {name: as_floats(values, name, ndim=(0, 1, 2)) for name, values in layers.items()}
    for name, array in arrays.items():
        if array.ndim != 2 or array.size == 0:
            raise InputError(
                f"{name} must be a matrix with one column per hidden unit, got shape {array.shape}"
            )
    (first, second), (U, V) = arrays, arrays.values()
    if U.shape[1] != V.shape[1]:
        raise InputError(
            f"{first} and {second} must have one column per hidden unit: "
            f"{first} has {U.shape[1]} columns, {second} has {V.shape[1]}"
        )
    if not (U.any() or V.any()):
        raise InputError(f"{first} and {second} are all 0, and such a start never moves; change one of them")
    return U.copy(), V.copy()


def as_size(value: Any, name: str) -> int:
    """A whole number, at least 1."""
    try:
        size = operator.index(value)
    except TypeError:
        raise InputError(f"{name} must be a whole number, got {value!r}") from None
    if size < 1:
        raise InputError(f"{name} must be at least 1, got {size}")
    return size


def as_deviation(value: Any, name: str) -> float:
    """A standard deviation: a number that is not negative."""
    deviation = float(as_floats(value, name, ndim=(0,)))
    if deviation < 0:
        raise InputError(f"{name} must not be negative, got {deviation:g}")
    return deviation


def as_generator(seed: int | np.random.Generator) -> np.random.Generator:
    """A generator started from a whole number, or the one given.

    The stream of a whole number is not that of `default_rng(seed)`: data drawn with the same seed would be
    the weights again, and the weights would lie in the row space of the data.
    """
    if isinstance(seed, np.random.Generator):
        return seed
    try:
        return np.random.default_rng([operator.index(seed), _STREAM])
    except (TypeError, ValueError):
        raise InputError(
            f"seed must be a whole number, not negative, or a numpy Generator; got {seed!r}"
        ) from None


def size_of(matrix: Float) -> str:
    """How large a matrix is, as in 400×500."""
    return "×".join(map(str, matrix.shape))


def _as_data(X: Any) -> Float:
    X = as_floats(X, "X", ndim=(2,))
    if X.size == 0:
        raise InputError(f"X must have at least one sample (row) and one feature (column), got {X.shape}")
    found: Float = X
    return found


def _frame(rng: np.random.Generator, size: int, count: int) -> Float:
    """Random orthonormal columns, (size, count)."""
    return np.linalg.qr(rng.standard_normal((size, count)))[0]
