r"""One step of a sweeping process, to a larger margin g (Moreau's catching-up algorithm, 1977).

The process is θ' ≥ 0, m_n ≥ g, θ'_n (m_n − g) = 0 with margins m = Z h_D(Zᵀθ). Over a step in which no sample
leaves the support, the increments Δ of θ solve

    Δ ≥ 0,    m_n(θ + Δ) ≥ g,    Δ_n (m_n(θ + Δ) − g) = 0

the optimality conditions of min Φ(θ + Δ) − g ΣΔ over Δ ≥ 0, ∇Φ = m, a convex program. On a known support A
this is the equation m_A(θ + Δ) = g. The support is determined by finite steps, not by rates alone: the rates
of tied samples can agree to first order in g.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tacit.data.arrays import Float, Index
from tacit.flows.forms.mirror import MirrorMap
from tacit.flows.forms.separating import DiagonalPath
from tacit.numerics.nonnegative import least_norm_support
from tacit.numerics.normal_equations import newton_direction
from tacit.numerics.rounding import EPS

_NEWTON = 60  # Newton iterations, at most
_SETTLED = 1e-12  # relative change of the rapidities below which Newton's method has converged
_EVALUATION = 16  # round-off error of an entry of the predictor, in units of ε
_TIE = 1e-12  # relative difference up to which margins count as equal
_LEVEL = 1e-9  # relative difference up to which rates count as equal
_SHORTEST = 1e-13  # relative growth of g at which the search for a step gives up
_INSIDE = np.linspace(0, 1, 9)[1:-1, None]  # interior points of a step at which conditions are checked


@dataclass(frozen=True, eq=False)
class Step:
    """Increments of θ that bring the margins of a support to g, and the resulting margins of all samples."""

    g: float
    support: Index
    change: Float
    wobble: float  # round-off error of the change
    margins: Float
    tie: Float  # margins count as equal up to these differences
    rates: Float  # dθ/dg of the support
    velocities: Float  # dm/dg

    @property
    def short(self) -> Index:
        """Samples whose margin is below g."""
        return np.flatnonzero(self.margins < self.g - self.tie)

    @property
    def falling(self) -> Index:
        """Samples of the support whose θ decreases."""
        return self.support[self.rates < -_LEVEL * np.abs(self.rates).max()]

    @property
    def contact(self) -> Index:
        """Samples whose margin is g, up to `tie`."""
        return np.union1d(self.support, np.flatnonzero(self.margins <= self.g + 10 * self.tie))

    def clear(self) -> bool:
        """Whether all conditions are satisfied at the end of the step."""
        return not (len(self.short) or len(self.falling))

    def dips(self, begin: Step) -> bool:
        """Whether a margin falls below g, or a rate below 0, within the step that starts at `begin`.

        Interpolates each margin by a cubic and each rate by a parabola that fit both ends.
        """
        length, t = self.g - begin.g, _INSIDE
        first, last = begin.margins - begin.g, self.margins - self.g
        rise, fall = length * (begin.velocities - 1), length * (self.velocities - 1)
        cubic = (1 - t) ** 2 * (first * (1 + 2 * t) + rise * t) + t**2 * (last * (3 - 2 * t) - fall * (1 - t))
        mean, r0, r1 = self.change[self.support] / length, begin.rates, self.rates
        parabola = r0 * (1 - t) * (1 - 3 * t) + 6 * t * (1 - t) * mean - r1 * t * (2 - 3 * t)
        lost = _LEVEL * np.abs(self.rates).max() + 2 * self.wobble / length
        return bool((cubic < -self.tie - _LEVEL * length).any() or (parabola < -lost).any())


@dataclass(frozen=True, eq=False)
class Place:
    """State of a sweeping process: θ and the least margin g."""

    path: DiagonalPath
    weight: Float
    g: float
    theta: Float

    def moved(self, step: Step) -> Place:
        """The state at the end of a step."""
        return replace(self, path=self.path.moved(step.change), g=step.g, theta=self.theta + step.change)

    def predictor(self) -> Float:
        """W = h_D(Zᵀθ)."""
        return self.path.here.predictor

    def step(self, support: Index, g: float) -> Step | None:
        """The step to g on this support, by Newton's method to round-off; None if it fails."""
        rows, still = self.path.Z[support], np.zeros(self.path.Z.shape[1])
        change, last, size, wobble = np.zeros_like(self.theta), np.inf, np.inf, 0.0
        for _ in range(_NEWTON if len(support) <= len(still) else 0):
            margins, there = self.path.margins(change)
            metric = there.stiffness / self.weight
            if not (np.isfinite(margins).all() and np.isfinite(metric).all()):
                break
            noise, missing = self._rounding(change, there, metric), g - margins[support]
            if (np.abs(missing) <= noise[support]).all() and not _SETTLED < size <= last / 2:
                rates, slopes = newton_direction(rows, metric, np.ones(len(support)), still)
                velocities, tie = self.path.Z @ (metric * slopes), 10 * noise + _TIE * g
                return Step(g, support, change, wobble, margins, tie, rates, velocities)
            increment = np.zeros_like(change)
            increment[support] = newton_direction(rows, metric, missing, still)[0]
            if not np.isfinite(increment).all():
                break
            change, wobble = change + increment, float(np.abs(increment).max())
            last, size = size, self.path.size(increment, there)
        return None

    def _rounding(self, change: Float, there: MirrorMap, metric: Float) -> Float:
        """Bound on the round-off of the margins: of their own sums, and of the sums in the slopes Zᵀθ."""
        sizes = np.abs(self.path.Z)
        slopes = metric * (np.abs(change) @ sizes)
        return EPS * (sizes @ (_EVALUATION * np.abs(there.predictor) + 4 * slopes))

    def turned(self, ahead: float, contact: Index, guess: Index) -> Step | None:
        """The longest step, at most to g = ahead, with a single support; None if there is none.

        contact: samples whose margin is now g. guess: first guess of the support.
        """
        g = ahead
        while g > self.g + _SHORTEST * ahead:
            step = self._catch_up(g, contact, guess)
            if step is not None and step.clear():
                begin = self.step(step.support, self.g)
                if begin is not None and _starts(begin, contact) and not step.dips(begin):
                    return step
            g = self.g + (g - self.g) / 8
        return None

    def _catch_up(self, g: float, contact: Index, guess: Index) -> Step | None:
        """The step to g with a support within `contact`, by Newton's method for the convex program."""
        support, change, seen = guess, np.zeros_like(self.theta), set[bytes]()
        while len(support) and support.tobytes() not in seen:
            seen.add(support.tobytes())
            step = self.step(support, g)
            if step is not None:
                change = step.change
                feasible = change.min() >= -max(_TIE * change.max(), step.wobble)
                if feasible and not len(np.intersect1d(step.short, contact)):
                    return step
            support = self._support(g, contact, change)
        return None

    def _support(self, g: float, contact: Index, change: Float) -> Index:
        """The support within `contact` on the way to g, with margins linearized at this change of θ.

        Increments Δ ≥ 0 with K Δ ≥ b, Δ_n((K Δ)_n − b_n) = 0, K = B Bᵀ: the KKT conditions of an ℓ2 margin.
        """
        margins, there = self.path.margins(change)
        B = self.path.Z * np.sqrt(there.stiffness / self.weight)
        sizes = np.linalg.norm(B[contact], axis=1)
        targets = (g - margins + B @ (change @ B))[contact] / sizes
        if not targets.max() > 0:
            return contact[:0]
        return contact[least_norm_support(B[contact] / sizes[:, None], targets / targets.max())]


def _starts(begin: Step, contact: Index) -> bool:
    """Whether this support remains: no θ of it decreases, and no margin of `contact` falls behind."""
    return not len(begin.falling) and bool(begin.velocities[contact].min() >= 1 - _LEVEL)
