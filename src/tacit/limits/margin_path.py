"""The path of maximum-margin predictors from the kernel to the rich end."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data import Float, as_floats, check_labelled, kept
from tacit.errors import InputError
from tacit.limits.interpolation import as_separable
from tacit.limits.kkt import stationarity
from tacit.limits.newton import Separable
from tacit.limits.support import Held, hold, hold_from, least_norm_support
from tacit.potentials import DeepHypentropy, Hypentropy
from tacit.potentials.arrays import quiet
from tacit.progress import progress
from tacit.separation import check_separable

_KERNEL = 1e4  # scale, relative to the predictor, at which the support is that of the ℓ2 margin
_LOCATED = 1e-9  # in the logarithm of μ, to which a kink is located
_VOUCHED = 1e-9


@dataclass(frozen=True)
class Kink:
    """A sample that enters the support as μ falls through this value, or leaves it."""

    mu: float
    sample: int
    enters: bool


@dataclass(frozen=True, eq=False)
class MarginPath:
    """argmin Q_μ(w) subject to y_n x_n·w ≥ 1, for each μ.

    mu: in the order asked for. predictors: (len(mu), d). duals: ν ≥ 0 with ∇Q_μ(w) = Σ ν_n y_n x_n,
    (len(mu), N). support: which samples have a positive multiplier, (len(mu), N). kkt: the largest residual
    of the optimality conditions at each point. converged: where that is 1e-9 or less and the solver settled.
    """

    mu: Float
    predictors: Float
    duals: Float
    kkt: Float
    support: NDArray[np.bool_]
    converged: NDArray[np.bool_]
    depth: float
    seconds: float
    X: Float = field(repr=False)
    y: Float = field(repr=False)

    @cached_property
    def kinks(self) -> list[Kink]:
        """Where the support changes between the points of the path, from large μ to small."""
        order = np.argsort(-self.mu)
        Z = self.y[:, None] * self.X
        found: list[Kink] = []
        for i, j in pairwise(order):
            ends = [
                (
                    math.log(self.mu[k]),
                    Held(self.predictors[k], self.duals[k], np.flatnonzero(self.support[k]), True),
                )
                for k in (i, j)
            ]
            found += _kinks_between(Z, self.depth, *ends)
        return found

    def _held(self, i: Any) -> tuple[float, Held]:
        support = np.flatnonzero(self.support[i])
        return math.log(self.mu[i]), Held(self.predictors[i], self.duals[i], support, bool(self.converged[i]))

    def summary(self) -> str:
        """The path in a few lines."""
        from tacit.report import path_report

        return path_report(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON."""
        return {
            "depth": self.depth,
            "mu": self.mu.tolist(),
            "predictors": self.predictors.tolist(),
            "duals": self.duals.tolist(),
            "support": [np.flatnonzero(row).tolist() for row in self.support],
            "kkt": self.kkt.tolist(),
            "converged": self.converged.tolist(),
            "kinks": [{"mu": k.mu, "sample": k.sample, "enters": k.enters} for k in self.kinks],
            "seconds": self.seconds,
        }


def margin_path(X: Any, y: Any, mu: Any, *, depth: float = 2) -> MarginPath:
    """Minimizers of Q_μ^D under the margin constraints, for every μ (Moroshko et al. 2020, Section 4).

    Gradient flow of the exponential loss on a diagonal network of depth D whose weights start at α is near
    the one with μ = α^D/γ̃ when its accuracy is γ̃, as long as no sample leaves the support.

    mu: positive numbers in any order. At large μ the predictor is that of the ℓ2 margin, at small μ of ℓ1.
    """
    begun = time.perf_counter()
    X, y, levels = check_path(X, y, mu, depth)
    Z = y[:, None] * X
    order = np.argsort(-levels)
    held: list[Held] = [Held(np.zeros(0), np.zeros(0), np.zeros(0, int), False)] * len(levels)
    here, log_here = _at_the_kernel_end(Z, depth, float(levels.max()))
    for i in progress(order.tolist(), "maximum margins"):
        log_mu = math.log(levels[i])
        found = hold_from(Z, _potential(depth, log_mu, Z.shape[1]), here, log_mu - log_here)
        if found is None:
            found = Held(here.predictor, here.dual, here.support, False)
        else:
            here, log_here = found, log_mu
        held[i] = found
    kkt = np.array([_residual(Z, depth, m, each) for m, each in zip(levels, held, strict=True)])
    return MarginPath(
        mu=levels,
        predictors=np.array([each.predictor for each in held]),
        duals=np.array([each.dual for each in held]),
        kkt=kkt,
        support=np.array([np.isin(np.arange(len(Z)), each.support) for each in held]),
        converged=np.array([each.settled for each in held]) & (kkt <= _VOUCHED),
        depth=float(depth),
        seconds=time.perf_counter() - begun,
        X=X,
        y=y,
    )


def check_path(X: Any, y: Any, mu: Any, depth: Any) -> tuple[Float, Float, Float]:
    """Separable data of our own and the values of μ; an error by name if anything is out of range."""
    X, y = check_labelled(X, y)
    levels = np.atleast_1d(as_floats(mu, "mu", ndim=(0, 1))).copy()
    if levels.size == 0 or not (levels > 0).all():
        raise InputError("mu must hold positive numbers, at least one")
    if not 2 <= float(as_floats(depth, "depth", ndim=(0,))) <= 1e6:
        raise InputError(f"depth must lie between 2 and 1e6, got {depth!r}")
    check_separable(X, y)
    return kept(X), kept(y), levels


def _potential(depth: float, log_mu: float, features: int) -> Separable:
    q: Any = Hypentropy(log_mu) if depth == 2 else DeepHypentropy(depth, log_mu)
    return as_separable(q, features)


def _at_the_kernel_end(Z: Float, depth: float, largest: float) -> tuple[Held, float]:
    """The predictor at a scale where the geometry is that of ℓ2, and the logarithm of that scale."""
    support = least_norm_support(Z)
    w = np.asarray(np.linalg.lstsq(Z[support], np.ones(len(support)), rcond=None)[0], dtype=float)
    log_mu = math.log(max(largest, _KERNEL * float(np.abs(w).max())))
    found = hold(Z, _potential(depth, log_mu, Z.shape[1]), support)
    return (found or Held(w, np.zeros(len(Z)), support, False)), log_mu


@quiet
def _residual(Z: Float, depth: float, mu: float, held: Held) -> float:
    """The worst of stationarity, shortfall of margins, and complementarity."""
    q: Any = Hypentropy(math.log(mu)) if depth == 2 else DeepHypentropy(depth, math.log(mu))
    margins = Z @ held.predictor
    size = float(np.abs(held.dual).max()) or 1.0
    slack = float(np.abs(held.dual * (margins - 1)).max()) / size
    shortfall = max(0.0, float((1 - margins).max()))
    return max(stationarity(q, Z, held.predictor, held.dual), shortfall, slack)


def _kinks_between(
    Z: Float, depth: float, above: tuple[float, Held], below: tuple[float, Held]
) -> list[Kink]:
    """Kinks between two points of the path, by bisection in the logarithm of μ."""
    (top, first), (bottom, last) = above, below
    changed = np.setxor1d(first.support, last.support)
    if not len(changed):
        return []
    if top - bottom < _LOCATED:
        mu = math.exp((top + bottom) / 2)
        return [Kink(mu, int(n), bool(n in last.support)) for n in changed]
    middle = (top + bottom) / 2
    found = hold_from(Z, _potential(depth, middle, Z.shape[1]), first, middle - top)
    if found is None:
        return []
    between = (middle, found)
    return [*_kinks_between(Z, depth, above, between), *_kinks_between(Z, depth, between, below)]
