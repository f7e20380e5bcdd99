r"""The flow of the exponential loss at infinite initialization scale.

With g = γ̃/α^D and W = w/α^D = h_D(Zᵀθ), rows z_n = y_n x_n, the flow tends for α → ∞ to

    θ' ≥ 0,    m_n = z_n·W ≥ g,    θ'_n (m_n − g) = 0

a sweeping process. On a fixed support A it is the equation m_A(θ) = g, and nothing is integrated: only the
events have to be located, where a sample's margin comes down to g (it enters) or its rate [K_AA⁻¹1]_n to 0
(it leaves, and its θ_n stays). It equals the path of Q_μ margins, μ = 1/g, until a sample leaves.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from tacit.data import Float, Index
from tacit.errors import NotConvergedError
from tacit.flows.mirror import MirrorMap
from tacit.flows.separating import DiagonalPath
from tacit.limits.margin_path import Kink, check_path
from tacit.limits.support import least_norm_support
from tacit.potentials import rapidity
from tacit.potentials.arrays import quiet

_GROWTH = 1.3  # of g in one look ahead
_CLEAR = 1e-12  # by how much rounding alone may violate a condition
_NEWTON = 60


@dataclass(frozen=True, eq=False)
class SweepingPath:
    """The infinite-scale flow at each μ = α^D/γ̃.

    mu: in the order asked for. predictors: w/γ̃, so that the smallest margin is 1, (len(mu), d). duals: θ ≥ 0,
    (len(mu), N), which only grow as μ falls. support: the samples with margin 1 that still push. events: all
    changes of the support on the way, from large μ to small.
    """

    mu: Float
    predictors: Float
    duals: Float
    support: NDArray[np.bool_]
    events: list[Kink]
    depth: float
    seconds: float
    X: Float = field(repr=False)
    y: Float = field(repr=False)

    def summary(self) -> str:
        """The process in a line."""
        from tacit.report import sweeping_report

        return sweeping_report(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON."""
        return {
            "mu": self.mu.tolist(),
            "predictors": self.predictors.tolist(),
            "duals": self.duals.tolist(),
            "support": [np.flatnonzero(row).tolist() for row in self.support],
            "events": [{"mu": e.mu, "sample": e.sample, "enters": e.enters} for e in self.events],
            "seconds": self.seconds,
        }


@dataclass(frozen=True, eq=False)
class _Sweep:
    """Where the process is: margins of the support equal g."""

    path: DiagonalPath
    g: float
    theta: Float
    support: Index

    def reach(self, g: float) -> tuple[Float, Float, Float] | None:
        """Increments of θ on the support that bring its margins to g; with them, all margins and rates."""
        A, change = self.support, np.zeros_like(self.theta)
        for _ in range(_NEWTON):
            margins, u = self.path.margins(change)
            if not np.isfinite(margins).all():
                return None
            kernel = self.path.kernel(self.path.metric(u), A)[A]
            step = np.linalg.lstsq(kernel, g - margins[A], rcond=None)[0]
            change[A] += step
            if np.abs(step).max() <= 1e-14 * max(np.abs(self.theta[A] + change[A]).max(), 1e-300):
                rates = np.linalg.lstsq(kernel, np.ones(len(A)), rcond=None)[0]
                return change, margins, np.asarray(rates, dtype=float)
        return None

    def clearance(self, g: float) -> Float | None:
        """Relative: margins above g of samples off the support, rates of those on it; all must be ≥ 0."""
        reached = self.reach(g)
        if reached is None:
            return None
        _, margins, rates = reached
        clear = (margins - g) / g
        clear[self.support] = rates / np.abs(rates).max()
        return clear

    def moved(self, g: float) -> _Sweep:
        """The process at g, on the same support."""
        reached = self.reach(g)
        if reached is None:
            raise NotConvergedError(f"the sweeping process could not be followed to μ = {1 / g:.6g}")
        return _Sweep(self.path.moved(reached[0]), g, self.theta + reached[0], self.support)

    def supported_by(self, candidates: Index) -> _Sweep:
        """The same place with those of the candidates, all of margin g, that push from here on.

        Their rates r ≥ 0 solve (K r)_n ≥ 1, r_n((K r)_n − 1) = 0, the conditions of an ℓ2 margin.
        """
        u = self.path.margins(np.zeros_like(self.theta))[1]
        rows = self.path.Z[candidates] * np.sqrt(self.path.map.stiffness(u))
        size = float(np.abs(rows).max()) or 1.0
        return _Sweep(self.path, self.g, self.theta, candidates[least_norm_support(rows / size)])


@quiet
def sweeping_path(X: Any, y: Any, mu: Any, *, depth: float = 2) -> SweepingPath:
    """The limit of gradient flow on the exponential loss for α → ∞ at fixed μ = α^D/γ̃, with its events.

    mu: positive numbers in any order. Moroshko et al. 2020 leave open whether the flow follows the Q_μ path
    when a support vector leaves; it follows this one.
    """
    begun = time.perf_counter()
    X, y, levels = check_path(X, y, mu, depth)
    Z = y[:, None] * X
    power = rapidity.power_of_depth(depth)
    start = MirrorMap.at(power, np.zeros(Z.shape[1]), np.zeros(Z.shape[1]))
    events: list[Kink] = []
    everyone = np.arange(len(Z))
    here = _Sweep(DiagonalPath(Z, Z, start), 0.0, np.zeros(len(Z)), everyone).supported_by(everyone)
    shape = (len(levels), Z.shape[1])
    predictors, duals = np.empty(shape), np.empty((len(levels), len(Z)))
    support = np.zeros((len(levels), len(Z)), dtype=bool)
    for i in np.argsort(-levels):
        here = _follow(here, 1 / levels[i], events)
        _, u = here.path.margins(np.zeros(len(Z)))
        predictors[i], duals[i] = here.path.map.predictor(u) * levels[i], here.theta
        support[i, here.support] = True
    return SweepingPath(
        levels, predictors, duals, support, events, float(depth), time.perf_counter() - begun, X, y
    )


def _follow(here: _Sweep, goal: float, events: list[Kink]) -> _Sweep:
    """The process at g = goal, with all events on the way."""
    while here.g < goal:
        ahead = min(goal, max(_GROWTH * here.g, min(goal, 0.1)))
        clear = here.clearance(ahead)
        while clear is None:
            ahead = here.g + (ahead - here.g) / 4
            clear = here.clearance(ahead)
            if ahead <= here.g * (1 + 1e-14):
                raise NotConvergedError(
                    f"the sweeping process could not be followed beyond μ = {1 / here.g:.6g}"
                )
        late = np.flatnonzero(clear < -_CLEAR)
        if not len(late):
            here = here.moved(ahead)
            continue
        crossings = {int(n): _crossing(here, ahead, n) for n in late}
        sample = min(crossings, key=lambda n: crossings[n])
        before = here.moved(crossings[sample]) if crossings[sample] > here.g else here
        candidates = (
            np.setdiff1d(before.support, [sample])
            if sample in before.support
            else np.union1d(before.support, [sample])
        )
        here = before.supported_by(candidates)
        for n in np.setxor1d(before.support, here.support):
            events.append(Kink(1 / here.g, int(n), bool(n in here.support)))
    return here


def _crossing(here: _Sweep, ahead: float, n: Any) -> float:
    """The g at which this sample's condition is first violated."""

    def clear(g: float) -> float:
        found = here.clearance(g)
        return float("nan") if found is None else float(found[n])

    begin = here.g * (1 + 1e-13) if here.g > 0 else 1e-12 * ahead
    if clear(begin) <= 0:
        return here.g
    return float(brentq(clear, begin, ahead, xtol=1e-300, rtol=1e-13))
