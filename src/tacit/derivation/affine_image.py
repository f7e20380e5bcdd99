r"""Maps with values in an affine subspace: w = w₀ + Bc with orthonormal columns B, and c = Bᵀ(w − w₀).

A flow of L(w) is a flow of L(w₀ + Bc), so a potential of c is one of w on the subspace. Examples are
softmax(θ), whose entries have the sum 1, and Aθ² with more entries than parameters. The image lies in the
subspace if Nᵀw is constant, NᵀJ = 0 at every point, for a basis N of the normal space.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.autodiff import jnp
from tacit.data.arrays import Float
from tacit.derivation.closure import CLEAR, ROUNDING
from tacit.derivation.length_scale import row_norms
from tacit.derivation.potential import DerivedPotential
from tacit.derivation.smooth_map import Jets
from tacit.errors import InputError, OutsideDomainError
from tacit.potentials.base import DivergenceFromStart

_ON_SUBSPACE = 1e-8  # distance from the subspace, relative to the entries of w, up to which w lies on it


@dataclass(frozen=True)
class Coordinates:
    """θ ↦ BᵀF(θ): c up to the constant Bᵀw₀."""

    function: Any
    basis: tuple[tuple[float, ...], ...]

    def __call__(self, theta: Any) -> Any:
        """BᵀF(θ)."""
        return jnp.asarray(self.basis).T @ self.function(theta)


def in_coordinates(jets: Jets, basis: Float) -> Jets:
    """The map in coordinates of the subspace, with its derivatives."""
    return Jets(Coordinates(jets.function, tuple(map(tuple, basis.tolist()))), jets.layout, jets.single)


def affine_hull(jets: Jets, points: Float, rank: int) -> Float | None:
    """B (d, rank) if the image near the points lies in an affine subspace of this dimension, else None."""
    slopes = np.hstack([jets.slopes(theta) for theta in points])
    norms = row_norms(slopes)
    left, singular, _ = np.linalg.svd(slopes / norms[:, None])
    singular = np.concatenate([singular, np.zeros(len(slopes) - len(singular))])
    if rank == 0 or singular[rank] > ROUNDING * singular[0] or singular[rank - 1] < CLEAR * singular[0]:
        return None
    normal = np.linalg.qr(left[:, rank:] / norms[:, None])[0]
    return np.asarray(np.linalg.svd(normal)[0][:, len(normal) - rank :][:, ::-1])


def normal_change(jets: Jets, theta: Float, basis: Float) -> float:
    """|Nᵀ∂w| relative to its terms, the change of w across the subspace; 0 if w stays in it."""
    J = jets.slopes(theta)
    normal = np.eye(len(basis)) - basis @ basis.T
    terms = np.abs(normal) @ np.abs(J)
    return float((np.abs(normal @ J) / np.where(terms > 0, terms, 1.0)).max())


@dataclass(frozen=True, eq=False)
class FlatPotential(DivergenceFromStart):
    """Q(w) = Q_c(Bᵀ(w − w₀)) on the affine subspace w₀ + span B that contains the image of F.

    Methods take the full vector w on the subspace, and raise `OutsideDomainError` elsewhere. Gradients are
    the part B∇Q_c along the subspace (the normal part is not determined), and the Hessian B∇²Q_cBᵀ is
    singular.
    """

    inner: DerivedPotential
    basis: Float
    origin: Float

    def __repr__(self) -> str:
        return f"FlatPotential({self.inner!r}, {self.basis.shape[1]} of {len(self.basis)} dimensions)"

    def describe(self) -> str:
        """A description in one line."""
        return f"{self!r}: minimized by gradient flow from θ₀, on the subspace w₀ + span B"

    def coordinates(self, w: Any) -> Float:
        """c = Bᵀw; raises `OutsideDomainError` if w is not on the subspace."""
        w = self._vector(w, "w")
        step = w - self.origin
        off = step - self.basis @ (self.basis.T @ step)
        size = float(np.abs(w).max() + np.abs(self.origin).max())
        if float(np.abs(off).max()) > _ON_SUBSPACE * size:
            raise OutsideDomainError(
                "w lies outside the domain of the potential: the image of the parametrization lies in the "
                f"affine subspace w₀ + span B of dimension {self.basis.shape[1]} of {len(w)}, and the "
                f"distance of w from it is {float(np.linalg.norm(off)):.1e}"
            )
        return np.asarray(self.inner.origin + self.basis.T @ step)

    def predictor(self, c: Any) -> Float:
        """w = w₀ + B(c − c₀)."""
        return np.asarray(self.origin + self.basis @ (np.asarray(c, dtype=float) - self.inner.origin))

    def check_features(self, features: int) -> None:
        """Raise `InputError`: solvers need a potential of independent coordinates."""
        raise InputError(
            f"the potential is defined on a subspace of dimension {self.basis.shape[1]} of "
            f"{len(self.basis)} only. Solve in its coordinates c: with B = derivation.basis, use the model "
            "of derive(lambda θ: B.T @ F(θ), theta0), the data X @ B and the targets "
            "y − X @ (w₀ − B @ (B.T @ w₀))"
        )

    def value(self, w: Any) -> float:
        """Q(w)."""
        return self.inner.value(self.coordinates(w))

    def gradient(self, w: Any) -> Float:
        """∇Q(w), along the subspace."""
        return np.asarray(self.basis @ self.inner.gradient(self.coordinates(w)))

    def mirror(self, z: Any) -> Float:
        """The w on the subspace with Bᵀ∇Q(w) = Bᵀz; NaN if the path to it ends before."""
        return self.predictor(self.inner.mirror(self.basis.T @ self._vector(z, "z")))

    def hessian(self, w: Any) -> Float:
        """B∇²Q_cBᵀ, a singular matrix."""
        return np.asarray(self.basis @ self.inner.hessian(self.coordinates(w)) @ self.basis.T)

    def weights(self, w: Any) -> Float:
        """θ on the orbit of θ₀ with F(θ) = w, flat."""
        return self.inner.weights(self.coordinates(w))

    def accuracy(self, seed: int = 0) -> float:
        """The accuracy of the potential of c."""
        return self.inner.accuracy(seed)
