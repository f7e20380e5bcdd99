r"""Factorizations in the lifted form of Woodworth et al. 2020, Section 6 and Appendix H.

W = [U; V], M̄ = WWᵀ and X̄_n = ½[[0, X_n], [X_nᵀ, 0]] have ⟨M̄, X̄_n⟩ = ⟨UVᵀ, X_n⟩, so that a factorization U Vᵀ
is a symmetric one of larger measurements. Under L = ½‖y − y*‖²

    W' = −2 Σ_n (y_n − y*_n) X̄_n W,   y' = −Σ(t)(y − y*),   Σ(t)_mn = 4⟨WWᵀ, X̄_n X̄_m⟩   (equations 71, 72)

⟨X̄_n, X̄_m⟩ = ½⟨X_n, X_m⟩: the bounds λ and Λ of the lifted Gram matrix are half of those of the measurements.
Norms of what W does are those of a factor C of few columns, W(0) = C Qᵀ with QᵀQ = I: the width is taken out.

Starts of factorizations of any width, as narrow as they can be: the flow knows W Wᵀ only, W = [U; V].

W Wᵀ of D rows and k columns from N(0, 1) has a Wishart law, and so has T Tᵀ for a lower triangular T with
T_ii² from χ²(k − i), i = 0, 1, …, and N(0, 1) below (Bartlett's decomposition): D columns stand for any k.

Errata
------
### Section 6: the lifted flow
- **Printed.** For M = WWᵀ, Ṁ = ∇L̃(M)M + M∇L̃(M).
- **Holds.** Ṁ = −2(∇L̃(M)M + M∇L̃(M)), for Ẇ = −∇_W L̃(WWᵀ) = −2∇L̃(M)W.
- **Test.** `test_the_lifted_flow_has_a_minus_and_a_two` in
  [`test_errata_matrices.py`](../tests/test_errata_matrices.py), where the tests of the next entries are,
  too.
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
from tacit.papers.shared_results import shared

LOSS = tacit.losses.Square("half-sum")
RTOL = 1e-10  # of the flows that are measured
INSTANTS = 121  # of a flow that are looked at
SETTLED = 1e-9  # of ‖y(0) − y*‖: the residual at which a flow counts as ended
_EARLY = 1e-4  # of the first instant, as log(‖y(0) − y*‖/‖y − y*‖)
_LATE = 100.0  # times the last instant: the tangent flow is at its end


@dataclass(frozen=True, eq=False)
class Lifted:
    """A factorization in its lifted form.

    model: as narrow as it can be, with the same flow. X: its measurements, dense. y: the targets. W: the
    weights at the start, stacked. gram: of the lifted measurements, 𝒳𝒳ᵀ in Appendix H. width: columns that
    the weights had.
    """

    model: Any
    X: Float
    y: Float
    W: Float
    gram: Float
    width: int

    @cached_property
    def low(self) -> float:
        """λ: the smallest eigenvalue of 𝒳𝒳ᵀ; 0 where it is rounding."""
        values = np.linalg.eigvalsh(self.gram)
        return float(values[0]) if values[0] > len(values) * np.finfo(float).eps * values[-1] else 0.0

    @cached_property
    def high(self) -> float:
        """Λ: the largest eigenvalue of 𝒳𝒳ᵀ."""
        return float(np.linalg.eigvalsh(self.gram)[-1])

    @cached_property
    def spectrum(self) -> Float:
        """Eigenvalues of W(0)W(0)ᵀ, from the smallest."""
        return np.maximum(np.linalg.eigvalsh(self.W @ self.W.T), 0.0)

    @property
    def mu(self) -> float:
        """The μ with the smallest γ/μ: the middle of the spectrum of W(0)W(0)ᵀ."""
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
    """What W and its tangent flow did, at instants from the start to the end.

    time: of each. moved: ‖W − W(0)‖_F. apart: ‖W − W_TK‖_F. left, tangent_left: ‖y − y*‖ of the two flows.
    last: instants from this on belong to the tangent flow alone, with W at its end. settled: did W arrive?
    """

    time: Float
    moved: Float
    apart: Float
    left: Float
    tangent_left: Float
    last: int
    settled: Assumption


def factorized(model: Any) -> Setting:
    """Is the model a factorization?"""
    found = getattr(model, "input_ndim", 0) == 3 and hasattr(model, "start")
    return Setting("the model is a Factorization or a SymmetricFactorization", found)


def asymmetric(model: Any) -> Setting:
    """Is the model a factorization into two matrices of their own?"""
    found = factorized(model).holds and len(model.start()) == 2
    return Setting("the model is a Factorization", found)


@shared
def lift(model: Any, X: Any, y: Any) -> Lifted:
    """The factorization in its lifted form."""
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
    """The flow of W and the tangent flow at the same instants, evenly in how far the residual has fallen."""
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
    """W at each instant, (T, rows, columns)."""
    return np.concatenate(list(flow.weights.values()), axis=1)


def _norms(matrices: Float) -> Float:
    """Frobenius norms."""
    return np.asarray(np.linalg.norm(matrices, axis=(1, 2)))


def wide(
    shape: tuple[int, ...], width: float, level: float, seed: int | np.random.Generator = 0
) -> tacit.Factorization:
    """A factorization whose weights are from N(0, level/width), with d₁ + d₂ columns at the most.

    level: α²k, the mean of the diagonal of W Wᵀ. width: k, infinite for W Wᵀ = level·I itself. One seed gives
    the same weights up to the level.
    """
    rows, size = sum(shape), math.sqrt(level)
    rng = np.random.default_rng(seed)
    W = size * np.eye(rows) if math.isinf(width) else size * gaussian_factor(rows, int(width), rng)
    return tacit.Factorization(W[: shape[0]], W[shape[0] :])


def gaussian_factor(rows: int, width: int, rng: np.random.Generator) -> Float:
    """W with W Wᵀ as that of rows×width weights from N(0, 1/width)."""
    if width < rows:
        return rng.standard_normal((rows, width)) / math.sqrt(width)
    below = np.tril(rng.standard_normal((rows, rows)), -1)
    return np.asarray(below + np.diag(np.sqrt(rng.chisquare(width - np.arange(rows))))) / math.sqrt(width)


def ended(
    model: Any, X: Float, y: Float, residual: float = 1e-8, rtol: float = 1e-8
) -> tuple[Float, bool, str]:
    """The predictor at the end of the flow, whether it fits the data, and where it stopped.

    residual: ‖f(X) − y‖ at which it has ended, relative to that at the start or ‖y‖, whichever is more.
    """
    start = np.asarray(model.predictor())
    outputs = X.reshape(len(X), -1) @ start.ravel()
    size, missing = float(np.linalg.norm(y)), float(np.linalg.norm(outputs - y))
    if missing <= residual * size:
        return start, True, "at its start"
    until = -2 * math.log(residual * max(size, missing))
    flow = tacit.flow(model, X, y, loss=tacit.losses.Square("sum"), at=[until], rtol=rtol)
    return np.asarray(flow.predictor[-1]), bool(flow.converged), flow.reason
