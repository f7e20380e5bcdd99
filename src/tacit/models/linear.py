"""Fully connected linear networks with one hidden layer."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.data.arrays import Float, as_floats, as_number
from tacit.errors import InputError, NoPotentialError
from tacit.models.model import Model, fixed_start
from tacit.models.neuron import Neuron
from tacit.models.parametrizations import Layers, Weights
from tacit.numerics.rounding import EPS
from tacit.numerics.subspaces import row_space
from tacit.potentials import Bregman, Power

# The second entry of the seed of weights, an arbitrary number that is unlikely to be the seed of data.
_STREAM = 0x7AC17
_BALANCED = 1e-10  # shape of a neuron, (|a| − ‖w‖)/(|a| + ‖w‖), below which it counts as balanced
_VISIBLE = 1e-10  # relative size of a part of Θ outside the row space of XΘ that is more than round-off


@dataclass(frozen=True, eq=False)
class LinearNetwork(Model):
    """A linear network f(x) = V Uᵀ x with one hidden layer and predictor U Vᵀ (Min et al. 2021, Section 2).

    Gradient flow conserves the imbalance UᵀU − VᵀV. It also conserves the part of U that is orthogonal to the
    data X: if Φ₁ is an orthonormal basis of the row space of X and Φ₂ of its complement, U = Φ₁U₁ + Φ₂U₂ with
    constant U₂. The paper's imbalance Λ = U₁ᵀU₁ − VᵀV, which is `conserved()` minus U₂ᵀU₂, is therefore
    constant as well.

    Parameters
    ----------
    inner : (D, h) array-like
        U. The two layers must not both be zero.
    outer : (m, h) array-like
        V; (1, h) for one output.

    Raises
    ------
    InputError
        If an argument is invalid.

    Examples
    --------
    >>> import tacit
    >>> X, y = [[1, 2]], [2]
    >>> network = tacit.LinearNetwork.orthogonal(X, width=3)
    >>> tacit.limit(network, X, y).predictor.round(3).ravel().tolist()  # the minimum-norm solution
    [0.4, 0.8]
    """

    inner: Any
    outer: Any

    @property
    def parametrization(self) -> Layers:
        """V Uᵀ x."""
        return Layers()

    def __post_init__(self) -> None:
        U, V = as_layers(inner=self.inner, outer=self.outer)
        self._store(inner=U, outer=V)

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
        """A network with independent Gaussian weights, U ~ N(0, std_inner²) and V ~ N(0, std_outer²).

        Min et al. 2021, Section 3.2 and Theorem 2, use standard deviations h^{−α} with ¼ < α ≤ ½, and their
        Figure 1 α = ½. For one seed, different standard deviations give the same weights up to a factor.

        Parameters
        ----------
        features : int
            D, the number of features.
        width : int
            h, the number of hidden units.
        outputs : int, optional
            m, the number of outputs.
        std : float, optional
            Standard deviation of both layers, h^{−1/2} by default.
        std_inner : float, optional
            Standard deviation of U, std by default.
        std_outer : float, optional
            Standard deviation of V, std by default.
        seed : int or numpy.random.Generator, optional
            Seed of the weights.

        Returns
        -------
        LinearNetwork
            The network with these weights.
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
        """A balanced network with a given initial predictor Θ (Min et al. 2021, Section 4).

        U = Θ M^{−1/4} Qᵀ and V = M^{1/4} Qᵀ, with M = ΘᵀΦ₁Φ₁ᵀΘ and QᵀQ = I. Then U Vᵀ = Θ, and U₁ᵀU₁ = VᵀV on
        the row space of X; UᵀU − VᵀV = U₂ᵀU₂ is zero only if Θ lies in this space. The paper prints
        V = M^{1/4} Q, whose shapes do not match. If M is singular, its powers are those of its nonzero part.
        Every balanced network has V Vᵀ = M^{1/2}, so the kernel of Θ must contain that of X Θ.

        Parameters
        ----------
        theta : (D,) or (D, m) array-like
            Θ, the initial predictor.
        X : (N, D) array-like
            The data, on whose row space the network is balanced.
        width : int
            h, at least the rank of X Θ.
        seed : int or numpy.random.Generator, optional
            Seed of Q, on which no output depends.

        Returns
        -------
        LinearNetwork
            The network with zero imbalance on the data.
        """
        X, h = _as_data(X), as_size(width, "width")
        theta = as_floats(theta, "theta", ndim=(1, 2))
        theta = theta[:, None] if theta.ndim == 1 else theta
        if len(theta) != X.shape[1] or theta.shape[1] == 0:
            raise InputError(
                f"theta must have one row per feature: X has {X.shape[1]} features, theta is {theta.shape}"
            )
        if not theta.any():
            raise InputError(
                "theta must not be zero: the balanced network of theta = 0 has zero weights, which never move"
            )
        seen, size = row_space(X).T @ theta, float(np.linalg.norm(theta))
        _, s, right = np.linalg.svd(seen, full_matrices=False)
        rank = int((s > max(theta.shape) * EPS * size).sum())
        s, right = s[:rank], right[:rank]  # M = rightᵀ s² right
        if np.linalg.norm(theta - (theta @ right.T) @ right) > _VISIBLE * size:
            raise InputError(
                "X theta must have the same rank as theta, because no balanced network has this theta "
                "otherwise; project theta onto the row space of X"
            )
        if h < rank:
            raise InputError(f"width must be at least {rank}, the rank of X theta, got {h}")
        Q = _frame(as_generator(seed), h, rank)
        return cls((theta @ right.T / np.sqrt(s)) @ Q.T, (right.T * np.sqrt(s)) @ Q.T)

    @classmethod
    def orthogonal(
        cls, X: ArrayLike, width: int, outputs: int = 1, seed: int | np.random.Generator = 0
    ) -> LinearNetwork:
        """A network with V U₂ᵀ = 0 and U₁U₂ᵀ = 0, whose flow ends exactly at the minimum-norm solution.

        These are the conditions of Proposition 1 of Min et al. 2021, which also requires that the loss tends
        to its minimum. Here this follows from their Theorem 1: the rows of V and U₁ are orthonormal, so that
        Λ = U₁ᵀU₁ − VᵀV has r = rank X eigenvalues 1 and m eigenvalues −1, and the level of imbalance is
        c = 2. U₂ is Gaussian with standard deviation h^{−1/2} in the remaining hidden directions, and the
        initial predictor is U Vᵀ = 0. `gaussian` tends to such a network as its width grows.

        Parameters
        ----------
        X : (N, D) array-like
            The data.
        width : int
            h, at least rank X + outputs; if it is equal to that, U₂ = 0.
        outputs : int, optional
            m, the number of outputs.
        seed : int or numpy.random.Generator, optional
            Seed of the weights.

        Returns
        -------
        LinearNetwork
            The network with these weights.
        """
        X, h, m = _as_data(X), as_size(width, "width"), as_size(outputs, "outputs")
        basis = row_space(X)
        features, rank = basis.shape
        if rank == 0:
            raise InputError("X must not be zero: no weights move on such data")
        if h < rank + m:
            raise InputError(
                f"width must be at least {rank + m} = rank of X ({rank}) + outputs ({m}), got {h}, so that "
                "the rows of V and U₁ can be orthogonal"
            )
        rng = as_generator(seed)
        frame = _frame(rng, h, m + rank)
        unseen = h**-0.5 * rng.standard_normal((features, h))
        for _ in range(2):  # the second pass removes the round-off of the first
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
        """The model and its sizes, in one line."""
        (features, width), outputs = self.inner.shape, len(self.outer)
        return (
            f"{self!r}: {features} → {width} → {outputs}, ‖U‖ = {np.linalg.norm(self.inner):.3g}, "
            f"‖V‖ = {np.linalg.norm(self.outer):.3g}, imbalance ‖UᵀU − VᵀV‖ = {self._imbalance():.3g}"
        )

    def _imbalance(self) -> float:
        """‖UᵀU − VᵀV‖ in the Frobenius norm, from the factor R of [U; V]ᵀ = QR: cheap for any width."""
        R: Float = np.asarray(np.linalg.qr(np.vstack([self.inner, self.outer]).T, mode="r"))
        inner, outer = R[:, : len(self.inner)], R[:, len(self.inner) :]
        return float(np.linalg.norm(inner @ inner.T - outer @ outer.T))

    def start(self, d: int | None = None) -> Weights:
        """U and V at initialization."""
        return fixed_start({"U": self.inner, "V": self.outer}, len(self.inner), d)

    def two_layers(self) -> tuple[Float, Float]:
        """U and V."""
        return self.inner, self.outer

    def shifted(self, shift: float, d: int | None = None) -> LinearNetwork:
        """The network with both layers multiplied by e^{shift/2}."""
        factor = math.exp(shift / 2)
        return LinearNetwork(factor * self.inner, factor * self.outer)

    def as_neuron(self) -> Neuron | None:
        """The equivalent neuron of a network with one output, U = u qᵀ and V = v qᵀ, |q| = 1; otherwise None.

        The hidden layer of such a network has rank one at all times. Strictly balanced networks, UᵀU = VᵀV,
        are of this kind, with δ = 0 (Azulay et al. 2021, proof of Proposition 1). Each row of U must be a
        multiple of qᵀ up to its own round-off, not that of the largest row, because the deviation of a small
        row can grow.
        """
        if self.outputs != 1 or not self.outer.any():
            return None
        largest = float(np.abs(self.outer).max())  # squares of tiny or huge weights leave the float range
        v = largest * float(np.linalg.norm(self.outer / largest))
        q = self.outer[0] / v
        u = self.inner @ q
        deviation = np.abs(self.inner - np.outer(u, q)).max(axis=1)
        rounding = EPS * max(16.0, math.sqrt(len(q)))
        return Neuron(v, u) if (deviation <= rounding * np.abs(self.inner).max(axis=1)).all() else None

    def potential(self, d: int | None = None) -> Bregman:
        """The potential of the equivalent neuron; for a balanced one, the divergence of ‖w‖^{3/2}.

        Other networks have none, because the metric of the predictor is not a function of the predictor.
        """
        self.start(d)
        neuron = self.as_neuron()
        if neuron is not None:
            balanced = abs(neuron.shape) <= _BALANCED
            return Bregman(Power(1.5), neuron.predictor()) if balanced else neuron.potential()
        raise NoPotentialError(
            "no potential is known for a linear network in general, because the metric of its predictor UVᵀ "
            "is not a function of the predictor alone; from LinearNetwork.orthogonal, its flow nevertheless "
            "ends at the minimum-norm solution (Min et al. 2021, Proposition 1)"
        )


def as_layers(**layers: Any) -> list[Float]:
    """Validate and copy named matrices with one column for each hidden unit, not all zero."""
    arrays = {name: as_floats(values, name, ndim=(0, 1, 2)).copy() for name, values in layers.items()}
    for name, array in arrays.items():
        if array.ndim != 2 or array.size == 0:
            raise InputError(
                f"{name} must be a matrix with one column per hidden unit, got shape {array.shape}"
            )
    both = " and ".join(arrays)
    if len({array.shape[1] for array in arrays.values()}) > 1:
        columns = ", ".join(f"{name} has {array.shape[1]} columns" for name, array in arrays.items())
        raise InputError(f"{both} must have one column per hidden unit: {columns}")
    if not any(array.any() for array in arrays.values()):
        raise InputError(f"{both} are all 0, and such weights never move; change one of them")
    return list(arrays.values())


def as_size(value: Any, name: str) -> int:
    """Validate a whole number, at least 1."""
    try:
        size = operator.index(value)
    except TypeError:
        raise InputError(f"{name} must be a whole number, got {value!r}") from None
    if size < 1:
        raise InputError(f"{name} must be at least 1, got {size}")
    return size


def as_deviation(value: Any, name: str) -> float:
    """Validate a standard deviation, a number that is not negative."""
    deviation = as_number(value, name)
    if deviation < 0:
        raise InputError(f"{name} must not be negative, got {deviation:g}")
    return deviation


def as_generator(seed: int | np.random.Generator) -> np.random.Generator:
    """A random generator seeded with a whole number, or the given generator.

    The stream differs from that of `default_rng(seed)`: data drawn with the same seed would otherwise repeat
    the weights, which would then lie in the row space of the data.
    """
    if isinstance(seed, np.random.Generator):
        return seed
    try:
        return np.random.default_rng([operator.index(seed), _STREAM])
    except (TypeError, ValueError):
        raise InputError(
            f"seed must be a whole number, 0 or more, or a numpy Generator, got {seed!r}"
        ) from None


def size_of(matrix: Float) -> str:
    """The shape of a matrix as text, such as 400×500."""
    return "×".join(map(str, matrix.shape))


def _as_data(X: Any) -> Float:
    data = as_floats(X, "X", ndim=(2,))
    if data.size == 0:
        raise InputError(f"X must have at least one sample (row) and one feature (column), got {data.shape}")
    return data


def _frame(rng: np.random.Generator, size: int, count: int) -> Float:
    """Random orthonormal columns, (size, count)."""
    return np.linalg.qr(rng.standard_normal((size, count)))[0]
