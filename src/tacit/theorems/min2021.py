r"""Theorem 1 and Proposition 1 of Min et al. 2021, and how far from the minimum norm a network can end.

A linear network of one hidden layer, f(x) = V Uᵀx, under gradient flow on L = ½‖Y − XUVᵀ‖². In the
coordinates of the singular value decomposition X = W Σ_x^{1/2} Φ₁ᵀ, of rank r, U = Φ₁U₁ + Φ₂U₂ and

    V' = EᵀΣ_x^{1/2}U₁,   U₁' = Σ_x^{1/2}E V,   U₂' = 0,     E = WᵀY − Σ_x^{1/2}U₁Vᵀ      (equations 6 and 7)

and L − L* = ½‖E‖². This is the flow on the r samples Σ_x^{1/2}Φ₁ᵀ with targets WᵀY, which always fit. So L*
is never subtracted here, whether the data are consistent or not.

λ_r(Σ_x) is the square of the smallest nonzero singular value of X itself; no number of samples divides it.
Lemma 1 and Theorem 2 are in `min2021_width`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

import tacit
from tacit.data import Float, as_floats
from tacit.limits import imbalance as limits
from tacit.limits.imbalance import imbalance_spectrum, visible
from tacit.limits.wide import distance_bound
from tacit.theorems.registry import Assumption, Bound, Parts, theorem
from tacit.theorems.sharing import shared

_EPS = float(np.finfo(np.float64).eps)
_INSTANTS = 121  # of the flow that are looked at, evenly in the logarithm of log(L(0) − L*)/(L − L*)
_EARLY = 1e-3  # the first of these
_RTOL = 1e-10  # of the flows that are measured
_SETTLED = 1e-10  # of ‖E(0)‖: the error at which a flow counts as ended
_NOISE = 5.0  # times the rounding of E: the absolute accuracy of E along a flow of that rtol
_LOSS = tacit.losses.Square("half-sum")
_ORTHOGONAL = 1e-12  # relative: a product of weights below it is rounding


@dataclass(frozen=True, eq=False)
class Split:
    """A network in the coordinates of its data, equations 4 to 6.

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
        """E at the start."""
        return self.targets - self.sizes[:, None] * (self.seen @ self.outer.T)

    @property
    def solution(self) -> Float:
        """Θ̂ = Φ₁Σ_x^{−1/2}WᵀY, (D, m): of all with the least loss the one of least Frobenius norm.

        Equation 11 prints the spectral norm, which other solutions may share.
        """
        return self.basis @ (self.targets / self.sizes[:, None])

    @property
    def orthogonality(self) -> Float:
        """[V; U₁]U₂ᵀ at the start, up to a rotation of its columns: equations 15 and 18."""
        return np.vstack([self.outer, self.seen]) @ self.unseen.T


@shared
def split(model: tacit.LinearNetwork, X: Any, y: Any) -> Split:
    """The network in the coordinates of the data."""
    X = model.as_inputs(X)
    Y = as_floats(y, "y", ndim=(1, 2))
    if Y.reshape(len(Y), -1).shape != (len(X), model.outputs):
        raise tacit.InputError(
            f"y must hold {model.outputs} outputs for each of the {len(X)} samples of X, got shape {Y.shape}"
        )
    left, sizes, basis = visible(X)
    seen = basis.T @ model.inner
    return Split(sizes, basis, left.T @ Y.reshape(len(Y), -1), seen, model.inner - basis @ seen, model.outer)


def imbalance(model: tacit.LinearNetwork, X: Any) -> Float:
    """The spectrum of Λ = U₁ᵀU₁ − VᵀV (equation 9), decreasing, as min(h, r + m) eigenvalues.

    Λ is h×h; the h − r − m eigenvalues that a wide network leaves out are 0.
    """
    check_network(model)
    return imbalance_spectrum(model.inner, model.outer, model.as_inputs(X))[0]


def imbalance_level(model: tacit.LinearNetwork, X: Any) -> float:
    """c = [λ_r(Λ)]₊ + [λ_m(−Λ)]₊ of Theorem 1.

    An eigenvalue that does not exist (h < r or h < m) counts as 0, and so does one that is rounding.
    """
    check_network(model)
    return limits.imbalance_level(model.inner, model.outer, model.as_inputs(X))


def guaranteed_rate(model: tacit.LinearNetwork, X: Any) -> float:
    """2λ_r(Σ_x)c: the exponential rate at which, by Theorem 1, L − L* falls at the least.

    In the time of L = ½‖Y − XUVᵀ‖², `tacit.losses.Square("half-sum")`.
    """
    check_network(model)
    _, sizes, _ = visible(model.as_inputs(X))
    return 2 * float(sizes[-1]) ** 2 * imbalance_level(model, X)


@theorem(
    "min2021/theorem1",
    "L(t) − L* ≤ exp(−2λ_r(Σ_x)ct)·(L(0) − L*), c = [λ_r(Λ)]₊ + [λ_m(−Λ)]₊, for L = ½‖Y − XUVᵀ‖².",
    flows=2,
)
def theorem1(model: Any, X: Any, y: Any, down_to: float = 1e-12) -> Parts:
    """Theorem 1, equation 10, until L − L* is down_to of what it was.

    The bound holds where the share 2λ_r(Σ_x)ct / log((L(0) − L*)/(L − L*)) is at most 1, and the proof gives
    the rate at every instant too. The factor 2 is tight: where the targets are 0 and X has equal singular
    values, a network of width r + m or more tends to U₁Vᵀ = 0. There c = λ_r(U₁U₁ᵀ) + λ_m(VVᵀ), and the
    slowest part of E falls at just the guaranteed rate.
    """
    yield (setting := linear_network(model))
    if not setting.holds:
        return
    if not (isinstance(down_to, (int, float, np.number)) and 0 < down_to < 0.9):
        raise tacit.InputError(f"down_to must lie between 0 and 0.9, got {down_to!r}")
    parts = split(model, X, y)
    moving = bool(np.linalg.norm(parts.error) > _rounding(parts))
    yield Assumption("the loss is above its minimum at the start", moving)
    if not moving:
        return
    level, rate = imbalance_level(model, X), guaranteed_rate(model, X)
    fall, time = _fall(model, parts, np.geomspace(_EARLY, -math.log(down_to), _INSTANTS))
    if level > 0 and len(fall) < _INSTANTS:
        raise tacit.NotConvergedError(f"the flow of {model!r} ended early; no bound can be checked")
    yield Bound(
        f"2λ_r(Σ_x)ct over log((L(0) − L*)/(L − L*)), the largest on the way, with c = {level:.4g}",
        float(np.max(rate * time / fall, initial=0.0)),
        at_most=1.0,
    )
    if len(fall) == _INSTANTS:
        left = math.sqrt(down_to) * float(np.linalg.norm(parts.error))
        yield Bound(
            "rate at which L − L* falls at the end, against 2λ_r(Σ_x)c less the accuracy of the flow there",
            float((fall[-1] - fall[-2]) / (time[-1] - time[-2])),
            at_least=rate * max(1 - _NOISE * _rounding(parts) / left, 0.0),
        )


@theorem(
    "min2021/proposition1",
    "V(0)U₂(0)ᵀ = 0, U₁(0)U₂(0)ᵀ = 0 and L(∞) = L* imply U(∞)V(∞)ᵀ = Θ̂, the minimum-norm solution.",
    flows=2,
)
def proposition1(model: Any, X: Any, y: Any) -> Parts:
    """Proposition 1; where the flow is stopped, Σ_x^{−1/2}E is still missing, and nothing else."""
    yield (setting := linear_network(model))
    if not setting.holds:
        return
    parts = split(model, X, y)
    residual, sizes = float(np.linalg.norm(parts.orthogonality)), _layer_sizes(parts)
    yield Assumption(
        f"‖[V; U₁]U₂ᵀ‖ = {residual:.3g} is rounding next to ‖[V; U₁]‖·‖U₂‖ = {sizes:.3g}",
        residual <= _ORTHOGONAL * sizes,
    )
    end, settled = ended(model, parts)
    yield Assumption("the flow reaches the least loss", settled)
    missing = parts.targets - parts.inputs @ end
    least = parts.solution
    yield Bound(
        "‖UVᵀ − Θ̂‖₂ at the end of the flow",
        float(np.linalg.norm(end - least, 2)),
        at_most=float(np.linalg.norm(missing / parts.sizes[:, None]) + _RTOL * np.linalg.norm(least))
        + _product_rounding(model),
    )


@theorem(
    "min2021/distance",
    "L(∞) = L* implies ‖U(∞)V(∞)ᵀ − Θ̂‖₂² ≤ μ‖Θ̂‖₂² + [λ_max(Qᵀ(U₂ᵀU₂ − μΛ)Q)]₊²/4μ for every μ > 0, "
    "Q an orthonormal basis of the rows of U₁(0) and V(0).",
    flows=2,
)
def distance(model: Any, X: Any, y: Any) -> Parts:
    """Not in the paper: the distance that Theorem 2 bounds, from Λ alone, for any start and any width.

    The least bound over μ and its proof are those of `tacit.limits.wide.distance_bound`. It holds at every
    instant with the solution of least norm for the outputs of that instant: here those that the flow reaches.
    """
    yield (setting := linear_network(model))
    if not setting.holds:
        return
    parts = split(model, X, y)
    end, settled = ended(model, parts)
    yield Assumption("the flow reaches the least loss", settled)
    rounding = _RTOL * float(np.linalg.norm(parts.solution, 2)) + _product_rounding(model)
    bound = distance_bound(model.inner, model.outer, parts.inputs, parts.inputs @ end)
    bound = math.hypot(bound, float(np.linalg.norm(parts.unseen, 2)) * _imbalance_rounding(parts))
    apart = end - parts.basis @ (parts.basis.T @ end)  # Φ₂U₂Vᵀ
    yield Bound(
        "‖UVᵀ − Θ̂‖₂ at the end of the flow", float(np.linalg.norm(apart, 2)), at_most=max(bound, rounding)
    )


def check_network(model: Any) -> None:
    """Refuse a model of another kind."""
    if not linear_network(model).holds:
        raise tacit.InputError(f"the imbalance is that of a LinearNetwork, got {model!r}")


def linear_network(model: Any) -> Assumption:
    """Is the model a linear network of one hidden layer?"""
    return Assumption("the model is a LinearNetwork", isinstance(model, tacit.LinearNetwork))


@shared
def ended(model: tacit.LinearNetwork, parts: Split) -> tuple[Float, bool]:
    """The predictor (D, m) at the end of the flow, and whether its loss is the least."""
    if np.linalg.norm(parts.error) <= _rounding(parts):
        return np.asarray(model.predictor()).reshape(len(parts.basis), -1), True
    left = max(_SETTLED * float(np.linalg.norm(parts.error)), 10 * _rounding(parts))
    until = math.log(2) - 2 * math.log(left)
    flow = tacit.flow(model, parts.inputs, parts.targets, loss=_LOSS, until=until, rtol=_RTOL)
    return np.asarray(flow.predictor[-1]).reshape(len(parts.basis), -1), bool(flow.converged)


def _fall(model: tacit.LinearNetwork, parts: Split, falls: Float) -> tuple[Float, Float]:
    """log((L(0) − L*)/(L − L*)), as asked for where the flow gets there, and the time."""
    start = math.log(2) - 2 * math.log(float(np.linalg.norm(parts.error)))
    flow = tacit.flow(model, parts.inputs, parts.targets, loss=_LOSS, at=start + falls, rtol=_RTOL)
    return flow.accuracy - start, flow.time


def _layer_sizes(parts: Split) -> float:
    """‖[V; U₁]‖·‖U₂‖, or where U₂ is rounding itself what the product would be if it were not."""
    stacked = math.hypot(float(np.linalg.norm(parts.outer)), float(np.linalg.norm(parts.seen)))
    return stacked * max(float(np.linalg.norm(parts.unseen)), stacked)


def _product_rounding(model: tacit.LinearNetwork) -> float:
    """What rounding may add to UVᵀ."""
    return 10 * _EPS * float(np.linalg.norm(model.inner) * np.linalg.norm(model.outer))


def _imbalance_rounding(parts: Split) -> float:
    """What rounding of weights at the start, which changes Λ for good, may add to ‖V‖ at the end."""
    return math.sqrt(10 * _EPS * float(np.linalg.norm(parts.seen) ** 2 + np.linalg.norm(parts.outer) ** 2))


def _rounding(parts: Split) -> float:
    """An error E of this size is not told from zero."""
    outputs = parts.sizes[0] * np.linalg.norm(parts.seen) * np.linalg.norm(parts.outer)
    return 10 * _EPS * float(np.linalg.norm(parts.targets) + outputs)
