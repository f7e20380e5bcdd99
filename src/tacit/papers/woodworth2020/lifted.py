r"""Factorizations in the lifted form of Woodworth et al. 2020, Section 6 and Appendix H.

With W = [U; V], M̄ = WWᵀ and X̄_n = ½[[0, X_n], [X_nᵀ, 0]], ⟨M̄, X̄_n⟩ = ⟨UVᵀ, X_n⟩: a factorization U Vᵀ is a
symmetric factorization with larger measurements. Under L = ½‖y − y*‖²

    W' = −2 Σ_n (y_n − y*_n) X̄_n W,   y' = −Σ(t)(y − y*),   Σ(t)_mn = 4⟨WWᵀ, X̄_n X̄_m⟩   (equations 71, 72)

Since ⟨X̄_n, X̄_m⟩ = ½⟨X_n, X_m⟩, the eigenvalue bounds λ and Λ of the lifted Gram matrix are half of those
of the measurements. The flow depends on W Wᵀ only. If W(0) = C Qᵀ with QᵀQ = I, the norms of all movements
are those of the narrow factor C, so the cost does not depend on the width.

Gaussian weights of any width are drawn in the same way: W Wᵀ of D rows and k columns from N(0, 1) has a
Wishart distribution, and so has T Tᵀ for a lower triangular T with T_ii² from χ²(k − i), i = 0, 1, …, and
N(0, 1) below the diagonal (Bartlett's decomposition). D columns therefore suffice for every k.

The problems of the figures are here, too: partly observed matrices of rank 1 (Figure 5 and Theorem 9), and
commuting measurements with the minimizer of Q_μ on spectra (Theorem 4).

Errata
------
### Section 6: the lifted flow
- **Printed.** For M = WWᵀ, Ṁ = ∇L̃(M)M + M∇L̃(M).
- **Holds.** Ṁ = −2(∇L̃(M)M + M∇L̃(M)), for Ẇ = −∇_W L̃(WWᵀ) = −2∇L̃(M)W.
- **Test.** `test_the_lifted_flow_has_a_minus_and_a_two` in
  [`test_errata_matrices.py`](../tests/test_errata_matrices.py), which also has the tests of
  the next entries.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import tacit
from tacit.data.arrays import Float, as_floats
from tacit.papers import Assumption, Setting
from tacit.papers.statements import shared

LOSS = tacit.losses.Square("half-sum")
RTOL = 1e-10  # relative tolerance of the measured flows
INSTANTS = 121  # default number of recorded instants
SETTLED = 1e-9  # residual, relative to ‖y(0) − y*‖, at which a flow is stopped
_EARLY = 1e-4  # log(‖y(0) − y*‖/‖y − y*‖) at the first instant
_LATE = 100.0  # multiple of the last instant at which the linearized flow has converged, too


@dataclass(frozen=True, eq=False)
class Lifted:
    """A factorization in its lifted form.

    model: the narrowest factorization with the same flow. X: its measurements, dense. y: the targets. W: the
    initial weights, stacked. gram: the Gram matrix of the lifted measurements, 𝒳𝒳ᵀ in Appendix H. width: the
    number of columns of the original weights.
    """

    model: Any
    X: Float
    y: Float
    W: Float
    gram: Float
    width: int

    @cached_property
    def low(self) -> float:
        """λ: the smallest eigenvalue of 𝒳𝒳ᵀ; 0 if it is round-off."""
        values = np.linalg.eigvalsh(self.gram)
        return float(values[0]) if values[0] > len(values) * np.finfo(float).eps * values[-1] else 0.0

    @cached_property
    def high(self) -> float:
        """Λ: the largest eigenvalue of 𝒳𝒳ᵀ."""
        return float(np.linalg.eigvalsh(self.gram)[-1])

    @cached_property
    def spectrum(self) -> Float:
        """The eigenvalues of W(0)W(0)ᵀ, in increasing order."""
        return np.maximum(np.linalg.eigvalsh(self.W @ self.W.T), 0.0)

    @property
    def mu(self) -> float:
        """The μ with the smallest γ/μ: the midpoint of the spectrum of W(0)W(0)ᵀ."""
        return float(self.spectrum[0] + self.spectrum[-1]) / 2

    def gamma(self, mu: float) -> float:
        """‖W(0)W(0)ᵀ − μI‖_op."""
        return float(np.abs(self.spectrum - mu).max())

    @cached_property
    def residual(self) -> float:
        """‖y(0) − y*‖."""
        outputs = self.X.reshape(len(self.X), -1) @ np.asarray(self.model.predictor()).ravel()
        return float(np.linalg.norm(outputs - self.y))


@dataclass(frozen=True, eq=False)
class Movement:
    """Distances along the flow of W and its linearization, at instants from initialization to the limit.

    time: the instants. moved: ‖W − W(0)‖_F. apart: ‖W − W_TK‖_F. left, tangent_left: ‖y − y*‖ of the two
    flows. last: index after which only the linearized flow continues, with W at its limit. settled: that
    the flow of W converged.
    """

    time: Float
    moved: Float
    apart: Float
    left: Float
    tangent_left: Float
    last: int
    settled: Assumption


def factorized(model: Any) -> Setting:
    """The assumption that the model is a factorization."""
    found = getattr(model, "input_ndim", 0) == 3 and hasattr(model, "start")
    return Setting("the model is a Factorization or a SymmetricFactorization", found)


def asymmetric(model: Any) -> Setting:
    """The assumption that the model is a factorization into two different matrices."""
    found = factorized(model).holds and len(model.start()) == 2
    return Setting("the model is a Factorization", found)


@shared
def lift(model: Any, X: Any, y: Any) -> Lifted:
    """The lifted form of a factorization and its data."""
    X = model.as_inputs(X)
    dense = np.asarray(X.dense() if hasattr(X, "dense") else X, dtype=np.float64)
    y = as_floats(y, "y", ndim=(1,))
    if len(y) != len(dense):
        raise tacit.InputError(f"X has {len(dense)} measurements and y has {len(y)} targets")
    weights = [np.asarray(each) for each in model.start().values()]
    W = np.vstack(weights)
    width = W.shape[1]
    if width > len(W):
        W = np.asarray(np.linalg.qr(W.T, mode="r")).T
        parts = np.split(W, np.cumsum([len(each) for each in weights])[:-1])
        model = type(model)(*parts)
    rows = dense.reshape(len(dense), -1)
    return Lifted(model, dense, y, W, rows @ rows.T / len(weights), width)


@shared
def followed(lifted: Lifted, instants: int) -> Movement:
    """The flow of W and its linearization, at instants spaced geometrically in log(‖y(0) − y*‖/‖y − y*‖)."""
    start = math.log(2) - 2 * math.log(lifted.residual)
    falls = np.geomspace(_EARLY, -math.log(SETTLED), instants)
    flow = tacit.flow(lifted.model, lifted.X, lifted.y, loss=LOSS, at=start + 2 * falls, rtol=RTOL)
    later = np.append(flow.time, _LATE * flow.time[-1])
    tangent = tacit.flow(lifted.model, lifted.X, lifted.y, loss=LOSS, times=later, linearized=True)
    W = _stacked(flow)
    W = np.concatenate([W, W[-1:]])
    text = f"the flow fits the data, to a relative residual of {SETTLED:g}"
    return Movement(
        later,
        _norms(W - lifted.W),
        _norms(W - _stacked(tangent)),
        np.linalg.norm(flow.outputs - lifted.y, axis=1),
        np.linalg.norm(tangent.outputs - lifted.y, axis=1),
        len(flow.time),
        Assumption(text if flow.converged else f"{text}: {flow.reason}", bool(flow.converged)),
    )


def _stacked(flow: tacit.Trajectory) -> Float:
    """W at every instant, (T, rows, columns)."""
    return np.concatenate(list(flow.weights.values()), axis=1)


def _norms(matrices: Float) -> Float:
    """The Frobenius norm of each matrix."""
    return np.asarray(np.linalg.norm(matrices, axis=(1, 2)))


def wide(
    shape: tuple[int, ...], width: float, level: float, seed: int | np.random.Generator = 0
) -> tacit.Factorization:
    """A factorization with weights from N(0, level/width), represented by at most d₁ + d₂ columns.

    level: α²k, the mean of the diagonal of W Wᵀ. width: k; infinite for W Wᵀ = level·I. The same seed gives
    the same weights up to a factor.
    """
    rows, size = sum(shape), math.sqrt(level)
    rng = np.random.default_rng(seed)
    W = size * np.eye(rows) if math.isinf(width) else size * gaussian_factor(rows, int(width), rng)
    return tacit.Factorization(W[: shape[0]], W[shape[0] :])


def gaussian_factor(rows: int, width: int, rng: np.random.Generator) -> Float:
    """A W for which W Wᵀ has the distribution of rows×width weights from N(0, 1/width)."""
    if width < rows:
        return rng.standard_normal((rows, width)) / math.sqrt(width)
    below = np.tril(rng.standard_normal((rows, rows)), -1)
    return np.asarray(below + np.diag(np.sqrt(rng.chisquare(width - np.arange(rows))))) / math.sqrt(width)


def ended(
    model: Any, X: Float, y: Float, residual: float = 1e-8, rtol: float = 1e-8
) -> tuple[Float, bool, str]:
    """The predictor at the end of the flow, whether it fits the data, and why the flow stopped.

    residual: ‖f(X) − y‖ at which the flow stops, relative to ‖y‖ or the initial residual, if that is larger.
    """
    start = np.asarray(model.predictor())
    outputs = X.reshape(len(X), -1) @ start.ravel()
    size, missing = float(np.linalg.norm(y)), float(np.linalg.norm(outputs - y))
    if missing <= residual * size:
        return start, True, "at initialization"
    until = -2 * math.log(residual * max(size, missing))
    flow = tacit.flow(model, X, y, loss=tacit.losses.Square("sum"), at=[until], rtol=rtol)
    return np.asarray(flow.predictor[-1]), bool(flow.converged), flow.reason


@dataclass(frozen=True, eq=False)
class Completion:
    """A matrix to complete; truth: Y* = u*v*ᵀ, (d, d). seen: the mask of observed entries."""

    truth: Float
    seen: np.ndarray

    @cached_property
    def X(self) -> Float:
        """The measurements e_i e_jᵀ, (N, d, d)."""
        places = np.flatnonzero(self.seen)
        X = np.zeros((len(places), self.seen.size))
        X[np.arange(len(places)), places] = 1.0
        return X.reshape(-1, *self.seen.shape)

    @property
    def y(self) -> Float:
        """The observed entries."""
        return self.truth[self.seen]

    @property
    def norm(self) -> float:
        """‖Y*‖_*, its only singular value."""
        return float(np.linalg.norm(self.truth))

    def excess(self, matrix: Float) -> float:
        """‖M‖_* − ‖Y*‖_*."""
        return float(np.linalg.norm(matrix, "nuc")) - self.norm

    def unseen(self, change: Float) -> float:
        """The root mean square of the unobserved entries."""
        return float(np.sqrt(np.mean(change[~self.seen] ** 2)))


def completion(size: int, observed: int, seed: int) -> Completion:
    """Y* with u*, v* from N(0, I), and N random entries of it, at least one in every row and column."""
    rng = np.random.default_rng(seed)
    truth = np.outer(*rng.standard_normal((2, size)))
    while True:
        seen = (rng.permutation(size**2) < observed).reshape(size, size)
        if seen.any(axis=0).all() and seen.any(axis=1).all():
            return Completion(truth, seen)


def commuting(size: int, samples: int, seed: int) -> tuple[Float, Float]:
    """Symmetric measurements of norm 1 with common eigenvectors, and targets of norm 1."""
    rng = np.random.default_rng(seed)
    frame = np.linalg.qr(rng.standard_normal((size, size)))[0]
    values, y = rng.standard_normal((samples, size)), rng.standard_normal(samples)
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    return np.einsum("ia,na,ja->nij", frame, values, frame), y / np.linalg.norm(y)


def spectral_limit(X: Float, y: Float, level: float) -> tacit.Limit:
    """argmin Q_μ(spectrum(M)) s.t. ⟨X_n, M⟩ = y_n, for 2μ² = α²k = level."""
    potential = tacit.potentials.Spectral(tacit.potentials.Hypentropy(math.log(level / 2)))
    return tacit.limit(potential, X, y)


def predicted(X: Float, y: Float, level: float) -> Float:
    """The limit of a factorization of infinite width by Theorem 4."""
    return np.asarray(spectral_limit(X, y, level).predictor)


def gap(
    start: tacit.Factorization, X: Float, y: Float, end: Float, residual: float = 1e-7, rtol: float = 1e-7
) -> float:
    """Distance of the limit of the flow from a matrix, relative to its norm; NaN if it does not fit."""
    found, fits, _ = ended(start, X, y, residual, rtol)
    return float(np.linalg.norm(found - end) / np.linalg.norm(end)) if fits else math.nan
