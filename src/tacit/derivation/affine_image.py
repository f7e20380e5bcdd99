r"""Images that lie in an affine subspace: w = w₀ + Bc with orthonormal columns B, and c = Bᵀ(w − w₀).

Flows of L(w) are flows of L(w₀ + Bc), so that a potential of c is one of w on the subspace: softmax(θ), whose
entries have the sum 1, or Aθ² with more entries than parameters. A subspace contains the image where Nᵀw is
constant, NᵀJ = 0 at every point.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.autodiff import jnp
from tacit.data.arrays import Float
from tacit.derivation.potential import DerivedPotential
from tacit.derivation.scale import row_sizes
from tacit.derivation.smooth_map import Jets
from tacit.derivation.span import CLEAR
from tacit.errors import InputError, OutsideDomainError
from tacit.potentials.base import Potential

_ROUNDING = 1e-12  # singular values of stacked Jacobians, with rows of length 1, that are 0
_ON = 1e-8  # distance from the subspace, relative to the terms of Nᵀw, of predictors that lie on it


@dataclass(frozen=True)
class Coordinates:
    """θ ↦ BᵀF(θ)."""

    function: Any
    basis: tuple[tuple[float, ...], ...]

    def __call__(self, theta: Any) -> Any:
        """c, up to the constant Bᵀw₀."""
        return jnp.asarray(self.basis).T @ self.function(theta)

    @classmethod
    def of(cls, jets: Jets, basis: Float) -> Jets:
        """Their derivatives."""
        return Jets(cls(jets.function, tuple(map(tuple, basis.tolist()))), jets.layout, jets.single)


def flat_image(jets: Jets, points: Float, rank: int) -> Float | None:
    """B (d, rank) if the image near the points lies in an affine subspace of that dimension, else None."""
    slopes = np.hstack([jets.slopes(theta) for theta in points])
    sizes = row_sizes(slopes)
    left, singular, _ = np.linalg.svd(slopes / sizes[:, None])
    singular = np.concatenate([singular, np.zeros(len(slopes) - len(singular))])
    if rank == 0 or singular[rank] > _ROUNDING * singular[0] or singular[rank - 1] < CLEAR * singular[0]:
        return None
    still = np.linalg.qr(left[:, rank:] / sizes[:, None])[0]
    return np.asarray(np.linalg.svd(still)[0][:, len(still) - rank :][:, ::-1])


def leaves(jets: Jets, theta: Float, basis: Float) -> float:
    """How much w changes across the subspace where θ moves: |Nᵀ∂w| over its terms, 0 on the subspace."""
    J = jets.slopes(theta)
    across = np.eye(len(basis)) - basis @ basis.T
    terms = np.abs(across) @ np.abs(J)
    return float((np.abs(across @ J) / np.where(terms > 0, terms, 1.0)).max())


@dataclass(frozen=True, eq=False)
class FlatPotential(Potential):
    """Q(w) = Q_c(Bᵀ(w − w₀)) on the affine subspace w₀ + span B that contains the image of F.

    Takes w with all its entries, on the subspace (`OutsideDomainError` elsewhere). Gradients are the part
    B∇Q_c along the subspace; what is normal to it is not determined, and the Hessian B∇²Q_cBᵀ is singular.
    """

    inner: DerivedPotential
    basis: Float
    origin: Float

    def __repr__(self) -> str:
        return f"FlatPotential({self.inner!r}, {self.basis.shape[1]} of {len(self.basis)} dimensions)"

    def describe(self) -> str:
        """What it is, in a line."""
        return f"{self!r}: what gradient flow from θ₀ minimizes on the subspace w₀ + span B"

    def coordinates(self, w: Any) -> Float:
        """c = Bᵀw; `OutsideDomainError` for a w off the subspace."""
        w = np.asarray(w, dtype=float)
        if w.shape != self.origin.shape:
            raise InputError(f"w must have {len(self.origin)} entries, got shape {w.shape}")
        step = w - self.origin
        off = step - self.basis @ (self.basis.T @ step)
        size = float(np.abs(w).max() + np.abs(self.origin).max())
        if float(np.abs(off).max()) > _ON * size:
            raise OutsideDomainError(
                "w lies outside the domain of the potential: the image of the parametrization lies in the "
                f"affine subspace w₀ + span B of dimension {self.basis.shape[1]} of {len(w)}, and w is "
                f"{float(np.linalg.norm(off)):.1e} away from it"
            )
        return np.asarray(self.inner.origin + self.basis.T @ step)

    def predictor(self, c: Any) -> Float:
        """w = w₀ + B(c − c₀)."""
        return np.asarray(self.origin + self.basis @ (np.asarray(c, dtype=float) - self.inner.origin))

    def check_features(self, features: int) -> None:
        """Refuse data: solvers need a potential of independent coordinates."""
        raise InputError(
            f"the potential lives on a subspace of dimension {self.basis.shape[1]} of {len(self.basis)}: "
            "solve in its coordinates c, with B = derivation.basis, derive(lambda θ: B.T @ F(θ), theta0), "
            "the data X @ B and the targets y − X @ (w₀ − B @ (B.T @ w₀))"
        )

    def start(self, features: int) -> Float:
        """w₀."""
        self.check_features(features)
        return self.origin

    def value(self, w: Any) -> float:
        """Q(w)."""
        return self.inner.value(self.coordinates(w))

    def gradient(self, w: Any) -> Float:
        """∇Q(w), along the subspace."""
        return np.asarray(self.basis @ self.inner.gradient(self.coordinates(w)))

    def mirror(self, z: Any) -> Float:
        """The w on the subspace with Bᵀ∇Q(w) = Bᵀz; NaN where the way to it ends before."""
        z = np.asarray(z, dtype=float)
        if z.shape != self.origin.shape:
            raise InputError(f"z must have {len(self.origin)} entries, got shape {z.shape}")
        return self.predictor(self.inner.mirror(self.basis.T @ z))

    def hessian(self, w: Any) -> Float:
        """B∇²Q_cBᵀ, a singular matrix."""
        return np.asarray(self.basis @ self.inner.hessian(self.coordinates(w)) @ self.basis.T)

    def weights(self, w: Any) -> Float:
        """θ on the leaf of θ₀ with F(θ) = w, flat."""
        return self.inner.weights(self.coordinates(w))

    def accuracy(self, seed: int = 0) -> float:
        """That of the potential of c."""
        return self.inner.accuracy(seed)
