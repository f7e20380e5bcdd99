r"""The flow of the exponential loss at infinite initialization scale.

With g = γ̃/α^D and W = w/α^D = h_D(Zᵀθ), rows z_n = y_n x_n, the flow tends for α → ∞ to

    θ' ≥ 0,    m_n = z_n·W ≥ g,    θ'_n (m_n − g) = 0

a sweeping process. On a fixed support A it is the equation m_A(θ) = g, and nothing is integrated: only the
events have to be located, where a sample's margin comes down to g (it enters) or its rate [K_AA⁻¹1]_n to 0
(it leaves, and its θ_n stays). It equals the path of Q_μ margins, μ = 1/g, until a sample leaves.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from tacit.data import Float, Index
from tacit.errors import NotConvergedError
from tacit.flows.mirror import MirrorMap
from tacit.flows.separating import DiagonalPath
from tacit.limits.equations import newton_direction
from tacit.limits.margin_path import Kink, at_the_kernel_end, check_path, depth_of, geometry_of
from tacit.limits.support import least_norm_support
from tacit.potentials.arrays import quiet

_GROWTH = 1.3  # of g in one look ahead
_FIRST = 0.1  # g of the first, in units of the predictor's scale
_TOUCH = 1e-9  # relative misfit at which a sample is a combination of others
_ABRUPT = 1e-3
_CLEAR = 1e-12  # by how much rounding alone may violate a condition
_NEWTON = 60


@dataclass(frozen=True, eq=False)
class SweepingPath:
    """The infinite-scale flow at each μ = α^D/γ̃.

    mu: in the order asked for. predictors: w/γ̃, so that the smallest margin is 1, (len(mu), d). duals: θ ≥ 0,
    (len(mu), N), which only grow as μ falls. support: the samples with margin 1 that still push. events:
    which samples come to have margin 1 and cease to, from large μ to small.
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
    weight: Float
    g: float
    theta: Float
    support: Index
    touching: Index  # with those that keep the margin g without pushing
    unit: float  # a g at which the predictor has grown to its scale

    def reach(self, g: float) -> tuple[Float, Float, Float] | None:
        """Increments of θ on the support that bring its margins to g; with them, all margins and rates."""
        A, change = self.support, np.zeros_like(self.theta)
        for _ in range(_NEWTON):
            margins, u = self.path.margins(change)
            if not np.isfinite(margins).all():
                return None
            metric = self.path.map.stiffness(u) / self.weight
            if not np.isfinite(metric).all():
                return None
            step, _ = newton_direction(self.path.Z[A], metric, g - margins[A], np.zeros_like(metric))
            if not np.isfinite(step).all():
                return None
            change[A] += step
            if np.abs(step).max() <= 1e-14 * max(np.abs(self.theta[A] + change[A]).max(), 1e-300):
                rates, _ = newton_direction(self.path.Z[A], metric, np.ones(len(A)), np.zeros_like(metric))
                return change, margins, rates
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
        return replace(self, path=self.path.moved(reached[0]), g=g, theta=self.theta + reached[0])

    def supported_by(self, candidates: Index, contact: Index) -> _Sweep:
        """The same place with those of the candidates that push from here on; contact: all of margin g.

        Their rates r ≥ 0 solve (K r)_n ≥ 1, r_n((K r)_n − 1) = 0, the conditions of an ℓ2 margin. A sample
        that is Σ c_k z_k of theirs with Σc = 1 keeps the margin g too: it touches without pushing.
        """
        u = self.path.margins(np.zeros_like(self.theta))[1]
        rows = self.path.Z * np.sqrt(self.path.map.stiffness(u) / self.weight)
        rows /= float(np.abs(rows[contact]).max()) or 1.0
        pushing = candidates[least_norm_support(rows[candidates])]
        Z, others = self.path.Z, np.setdiff1d(contact, pushing)
        shares = np.linalg.lstsq(Z[pushing].T, Z[others].T, rcond=None)[0]
        misfit = np.abs(shares.T @ Z[pushing] - Z[others]).max(axis=1, initial=0.0)
        held = (misfit <= _TOUCH * np.abs(Z).max()) & (np.abs(shares.sum(axis=0) - 1) <= _TOUCH)
        return replace(self, support=pushing, touching=np.union1d(pushing, others[held]))


@quiet
def sweeping_path(X: Any, y: Any, mu: Any, *, depth: float = 2, model: Any = None) -> SweepingPath:
    """The limit of gradient flow on the exponential loss for α → ∞ at fixed μ = α^D/γ̃, with its events.

    mu: positive numbers in any order. model: in place of depth, as for `margin_path`. Moroshko et al. 2020
    leave open whether the flow follows the Q_μ path when a support vector leaves; it follows this one.
    """
    begun = time.perf_counter()
    X, y, levels = check_path(X, y, mu)
    Z = y[:, None] * X
    geometry = geometry_of(depth, model, Z.shape[1])
    start = MirrorMap.at(geometry.power, geometry.log_scale, np.zeros(Z.shape[1]))
    events: list[Kink] = []
    everyone, path = np.arange(len(Z)), DiagonalPath(Z, Z / geometry.weight, start)
    unit = 1 / float(np.max(np.abs(at_the_kernel_end(Z, geometry)[0].predictor) / np.exp(geometry.log_scale)))
    here = _Sweep(path, geometry.weight, 0.0, np.zeros(len(Z)), everyone, everyone, unit)
    here = here.supported_by(everyone, everyone)
    shape = (len(levels), Z.shape[1])
    predictors, duals = np.empty(shape), np.empty((len(levels), len(Z)))
    support = np.zeros((len(levels), len(Z)), dtype=bool)
    for i in np.argsort(-levels):
        here = _follow(here, 1 / levels[i], events)
        _, u = here.path.margins(np.zeros(len(Z)))
        predictors[i], duals[i] = here.path.map.predictor(u) * levels[i], here.theta
        support[i, here.support] = True
    return SweepingPath(
        levels, predictors, duals, support, events, depth_of(geometry), time.perf_counter() - begun, X, y
    )


def _follow(here: _Sweep, goal: float, events: list[Kink]) -> _Sweep:
    """The process at g = goal, with all events on the way."""
    while here.g < goal:
        ahead = min(goal, max(_GROWTH * here.g, _FIRST * here.unit))
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
        _check_continuous(here, crossings[sample], sample)
        before = here.moved(crossings[sample]) if crossings[sample] > here.g else here
        contact = np.union1d(before.touching, [sample])
        here = before.supported_by(
            np.setdiff1d(contact, [sample] if sample in before.support else []), contact
        )
        for n in np.setxor1d(before.touching, here.touching):
            events.append(Kink(1 / here.g, int(n), bool(n in here.touching)))
    return here


def _check_continuous(here: _Sweep, g: float, sample: int) -> None:
    """A condition that is violated at once and by much is not violated: its rates are lost in rounding."""
    after = here.clearance(g * (1 + 1e-7)) if g > here.g else None
    if after is not None and after[sample] < -_ABRUPT:
        raise NotConvergedError(
            f"the sweeping process cannot be followed beyond μ = {1 / g:.6g}: which samples push there is "
            "below the rounding of the data; ask for larger μ"
        )


def _crossing(here: _Sweep, ahead: float, n: Any) -> float:
    """The g at which this sample's condition is first violated."""

    def clear(g: float) -> float:
        found = here.clearance(g)
        return float("nan") if found is None else float(found[n])

    begin = here.g * (1 + 1e-13) if here.g > 0 else 1e-12 * ahead
    if clear(begin) <= 0:
        return here.g
    return float(brentq(clear, begin, ahead, xtol=1e-300, rtol=1e-13))
