r"""Linear networks in the coordinates of their data, as used in all statements of Min et al. 2021.

A linear network of one hidden layer, f(x) = V Uᵀx, under gradient flow on L = ½‖Y − XUVᵀ‖². In the
coordinates of the singular value decomposition X = W Σ_x^{1/2} Φ₁ᵀ, of rank r, U = Φ₁U₁ + Φ₂U₂ and

    V' = EᵀΣ_x^{1/2}U₁,   U₁' = Σ_x^{1/2}E V,   U₂' = 0,     E = WᵀY − Σ_x^{1/2}U₁Vᵀ      (equations 6 and 7)

and L − L* = ½‖E‖². This is the flow on the r samples Σ_x^{1/2}Φ₁ᵀ with targets WᵀY, which can always be
fitted. Therefore L* is not needed, even for inconsistent data.

λ_r(Σ_x) is the square of the smallest nonzero singular value of X, not divided by the number of samples.

The flow of a linear network that the statements of Min et al. 2021 use, with few columns.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

import tacit
import tacit.solvers.networks.bounds as limits
from tacit.data.arrays import Float, as_targets
from tacit.numerics.rounding import EPS
from tacit.numerics.subspaces import visible
from tacit.papers import Premise, Setting
from tacit.papers.arguments import ParameterError
from tacit.papers.statements import shared
from tacit.solvers.networks.bounds import imbalance_spectrum

RTOL = 1e-10  # relative tolerance of the simulated flows
_SETTLED = 1e-10  # ‖E‖/‖E(0)‖ at which a flow counts as converged
LOSS = tacit.losses.Square("half-sum")


@dataclass(frozen=True, eq=False)
class Split:
    """A network in the coordinates of its data (equations 4 to 6).

    sizes: the r nonzero singular values of X, decreasing: Σ_x^{1/2}. basis: Φ₁, (D, r). targets: WᵀY, (r, m).
    seen: U₁, (r, h). unseen: Φ₂U₂, (D, h), which has the singular values of U₂. outer: V, (m, h).
    """

    sizes: Float
    basis: Float
    targets: Float
    seen: Float
    unseen: Float
    outer: Float

    @property
    def inputs(self) -> Float:
        """Σ_x^{1/2}Φ₁ᵀ, (r, D): the samples on which L − L* is the loss."""
        return self.sizes[:, None] * self.basis.T

    @property
    def error(self) -> Float:
        """E at initialization."""
        return self.targets - self.sizes[:, None] * (self.seen @ self.outer.T)

    @property
    def solution(self) -> Float:
        """Θ̂ = Φ₁Σ_x^{−1/2}WᵀY, (D, m): the minimizer of the loss with the smallest Frobenius norm.

        Equation 11 prints the spectral norm, for which the minimizer need not be unique.
        """
        return self.basis @ (self.targets / self.sizes[:, None])

    @property
    def orthogonality(self) -> Float:
        """[V; U₁]U₂ᵀ at initialization, up to a rotation of its columns (equations 15 and 18)."""
        return np.vstack([self.outer, self.seen]) @ self.unseen.T


@shared
def split(model: tacit.LinearNetwork, X: Any, y: Any) -> Split:
    """The network in the coordinates of the data."""
    X = model.as_inputs(X)
    Y = as_targets(y, len(X), model.outputs)
    left, sizes, basis = visible(X)
    seen = basis.T @ model.inner
    return Split(sizes, basis, left.T @ Y, seen, model.inner - basis @ seen, model.outer)


def imbalance(model: tacit.LinearNetwork, X: Any) -> Float:
    """The spectrum of Λ = U₁ᵀU₁ − VᵀV (equation 9), decreasing, as min(h, r + m) eigenvalues.

    Λ is h×h; for a wide network the other h − r − m eigenvalues are 0.
    """
    check_network(model)
    return imbalance_spectrum(model.inner, model.outer, model.as_inputs(X))[0]


def imbalance_level(model: tacit.LinearNetwork, X: Any) -> float:
    """c = [λ_r(Λ)]₊ + [λ_m(−Λ)]₊ of Theorem 1.

    Eigenvalues that do not exist (h < r or h < m), or are at the level of round-off, count as 0.
    """
    check_network(model)
    return limits.imbalance_level(model.inner, model.outer, model.as_inputs(X))


def guaranteed_rate(model: tacit.LinearNetwork, X: Any) -> float:
    """2λ_r(Σ_x)c: the smallest exponential rate of L − L* according to Theorem 1.

    In the time of L = ½‖Y − XUVᵀ‖², `tacit.losses.Square("half-sum")`.
    """
    check_network(model)
    _, sizes, _ = visible(model.as_inputs(X))
    return 2 * float(sizes[-1]) ** 2 * imbalance_level(model, X)


def check_network(model: Any) -> None:
    """Raise if the model is not a linear network of one hidden layer."""
    if not linear_network(model).holds:
        raise tacit.InputError(f"the imbalance is that of a LinearNetwork, got {model!r}")


def linear_network(model: Any) -> Setting:
    """Whether the model is a linear network of one hidden layer."""
    return Setting("the model is a LinearNetwork", isinstance(model, tacit.LinearNetwork))


@shared
def ended(model: tacit.LinearNetwork, parts: Split) -> tuple[Float, bool]:
    """The predictor (D, m) at the end of the flow, and whether its loss is the minimum."""
    if np.linalg.norm(parts.error) <= rounding(parts):
        return np.asarray(model.predictor()).reshape(len(parts.basis), -1), True
    left = max(_SETTLED * float(np.linalg.norm(parts.error)), 10 * rounding(parts))
    until = math.log(2) - 2 * math.log(left)
    flow = tacit.flow(model, parts.inputs, parts.targets, loss=LOSS, until=until, rtol=RTOL)
    return np.asarray(flow.predictor[-1]).reshape(len(parts.basis), -1), bool(flow.converged)


def product_rounding(model: tacit.LinearNetwork) -> float:
    """A bound on the round-off of UVᵀ."""
    return 10 * EPS * float(np.linalg.norm(model.inner) * np.linalg.norm(model.outer))


def rounding(parts: Split) -> float:
    """The size of E below which it is round-off."""
    outputs = parts.sizes[0] * np.linalg.norm(parts.seen) * np.linalg.norm(parts.outer)
    return 10 * EPS * float(np.linalg.norm(parts.targets) + outputs)


def above_minimum(parts: Split, least: float = 1.0) -> Premise:
    """Whether the initial error E exceeds its round-off by this factor."""
    moving = bool(np.linalg.norm(parts.error) > least * rounding(parts))
    return Premise("the loss is above its minimum at the start", moving)


def power_of(alpha: float) -> float:
    """α, between ¼ and ½."""
    if not (isinstance(alpha, (int, float, np.number)) and 0.25 < alpha <= 0.5):
        raise ParameterError(f"alpha must be above 1/4 and at most 1/2, got {alpha!r}")
    return float(alpha)


_INSTANTS = 121
_EARLY = 1e-3  # log(‖E(0)‖/‖E‖) at the first recorded time
SETTLED = 1e-8  # ‖E‖/‖E(0)‖ at the last recorded time


def narrow(parts: Split) -> tacit.LinearNetwork:
    """A network of r inputs and at most r + m columns with the same flow on Σ_x^{1/2} and WᵀY."""
    Z = np.vstack([parts.seen, parts.outer])
    if Z.shape[1] > len(Z):
        Z = np.asarray(np.linalg.qr(Z.T, mode="r")).T
    return tacit.LinearNetwork(Z[: len(parts.seen)], Z[len(parts.seen) :])


@shared
def followed(parts: Split) -> tacit.Trajectory:
    """The narrow flow until ‖E‖/‖E(0)‖ = 1e-8, recorded evenly in the logarithm of log(‖E(0)‖/‖E‖)."""
    start = math.log(2) - 2 * math.log(float(np.linalg.norm(parts.error)))
    left = max(SETTLED, 10 * rounding(parts) / float(np.linalg.norm(parts.error)))
    falls = 2 * np.geomspace(_EARLY, max(-math.log(left), 2 * _EARLY), _INSTANTS)
    return tacit.flow(
        narrow(parts), np.diag(parts.sizes), parts.targets, loss=LOSS, at=start + falls, rtol=RTOL
    )


def stacked(model: tacit.LinearNetwork, flow: tacit.Trajectory) -> Float:
    """[U₁; V] at initialization and at each recorded time."""
    first = np.vstack([model.inner, model.outer])[None]
    return np.concatenate([first, np.concatenate([flow.weights["U"], flow.weights["V"]], axis=1)])


def errors_of(parts: Split, Z: Float) -> Float:
    """‖E‖ for Z = [U₁; V] at each recorded time."""
    rank = len(parts.sizes)
    outputs = parts.sizes[:, None] * (Z[:, :rank] @ Z[:, rank:].transpose(0, 2, 1))
    return np.asarray(np.linalg.norm(parts.targets - outputs, axis=(1, 2)))
