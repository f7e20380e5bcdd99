r"""One step of Radau IIA for x' = F(x) with Jacobian −S, S symmetric positive semidefinite.

Examples are gradient flows of convex functions, and the flow of ν in mirror space with the square loss. For
real data the eigenvalues of S can span sixteen decades. Newton's equations for the rates k₁, …, k₅ at the
nodes, with one S for the whole step, are (I + hA ⊗ S)δ = r, and one eigendecomposition of S solves them for
every step size h (Hairer and Wanner, Solving Ordinary Differential Equations II, IV.8).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tacit.data.arrays import Float
from tacit.flows.steps.radau import IN, LAGRANGE, MODES, ORDER, OUT, POWERS, TOP, A, C, interpolate
from tacit.flows.steps.stepper import StepEquations
from tacit.numerics.rounding import EPS, TINY
from tacit.numerics.step_control import StepControl, Taken

CONTROL = StepControl(ORDER, unsolved=0.4, predictive=True, attempts=120)
_OUTSIDE = (CONTROL.care / 0.25) ** (-1 / ORDER)  # error for which the step size is divided by 4
_ITERATIONS = 12  # Newton iterations per step, at most
_SETTLED = 1e-2  # in units of the tolerance: estimated error of Newton's method at convergence
_HOPELESS = 1e4  # in units of the tolerance: predicted error after the last iteration at which to give up
_CONSISTENT = 1e-3  # largest defect of the rates before the last Newton step, relative to the rate at the end
_RISE = 1e-7  # relative increase of the rate that can be round-off
_SAME = 2.0  # ratio of columns of R up to which S is reused
_NOTHING = 1e-3  # eigenvalues of h·S up to which a direction need not be known to Newton's method
_MOST = 0.7  # share of directions above which a full eigendecomposition is as fast as a partial one
_TOP = float(np.abs(TOP).sum())
_HUGE = 1e100  # avoids overflow of squared errors


class Spectrum(NamedTuple):
    """Eigenvalues and eigenvectors of S = R Rᵀ, and the norms of the columns of R."""

    values: Float
    vectors: Float
    columns: Float

    @classmethod
    def fast(cls, R: Float) -> Spectrum:
        """The spectrum of S; the smallest eigenvalues have the absolute round-off error of the largest."""
        values, vectors = np.linalg.eigh(R @ R.T)
        return cls(np.maximum(values, 0.0), vectors, np.linalg.norm(R, axis=0))

    @classmethod
    def sharp(cls, R: Float) -> Spectrum:
        """The spectrum of S from R, with twice as many significant digits."""
        vectors, roots, _ = np.linalg.svd(R, full_matrices=False)
        return cls(roots**2, vectors, np.linalg.norm(R, axis=0))

    def next(self, R: Float, h: float) -> Spectrum:
        """Like `fast`, but recomputes only the directions that matter in a step of length h.

        If the columns have grown at most by a factor c, S has grown at most by c² as a quadratic form, so
        directions with negligible c²·h·S remain negligible.
        """
        columns, rounding = np.linalg.norm(R, axis=0), len(R) * EPS * self.values.max(initial=0.0)
        bound = self._growth(columns, h) ** 2 * (self.values + rounding)
        active = h * bound > _NOTHING
        if np.count_nonzero(active) > _MOST * len(R):
            return Spectrum.fast(R)
        vectors = self.vectors.copy()
        part = vectors[:, active].T @ R
        values, rotation = np.linalg.eigh(part @ part.T)
        vectors[:, active] = vectors[:, active] @ rotation
        bound[active] = np.maximum(values, 0.0)
        return Spectrum(bound, vectors, columns)

    def _growth(self, columns: Float, h: float) -> float:
        """Largest growth factor of the columns that matter in a step of length h."""
        relevant = h * len(columns) * columns**2 > _NOTHING
        return float(np.max(columns / self.columns, where=relevant, initial=1.0))

    def serves(self, R: Float) -> bool:
        """Whether R is similar enough to use this spectrum for it."""
        columns = np.linalg.norm(R, axis=0)
        return bool(np.all((columns <= _SAME * self.columns) & (self.columns <= _SAME * columns)))


@dataclass(frozen=True, eq=False)
class StiffStep:
    """A step of length h from x = 0: the rates at its nodes, and how they were found."""

    h: float
    rates: Float  # (stages, n)
    iterations: int  # of Newton's method
    spectrum: Spectrum  # used by Newton's method

    @property
    def lifetimes(self) -> float:
        """Its length in units of the decay time of the slowest component of x."""
        return self.h * float(self.spectrum.values.min())

    def at(self, clock: float) -> Float:
        """x at a clock value of the step."""
        weights: Float = self.h * ((clock / self.h) ** (POWERS + 1) / (POWERS + 1)) @ LAGRANGE
        return np.asarray(weights @ self.rates)


class Field(StepEquations):
    """x' = F(x) from x = 0.

    rate: F, with leading axes. spectra: of S, in the order in which they are tried until Newton's method
    converges. size: tolerated error of each coordinate of x. rounding: bound on the round-off of F along an
    eigenvector: a constant, and a factor of the root of its eigenvalue. last: the previous step. inside:
    whether x may be the end of a step.
    """

    def __init__(
        self,
        rate: Callable[[Float], Float],
        spectra: Sequence[Callable[[], Spectrum]],
        size: Float,
        rounding: tuple[float, float],
        last: Taken | None = None,
        inside: Callable[[Float], bool] = lambda _: True,
    ):
        self.rate, self.size, self.rounding, self.inside = rate, size, rounding, inside
        self.last: StiffStep | None = None if last is None else last.step
        self.first = rate(np.zeros_like(size))
        # Rates of a rejected step, and the fraction to try next.
        self.tried: tuple[Float, float] | None = None
        self._use(spectra)

    def _use(self, spectra: Sequence[Callable[[], Spectrum]]) -> None:
        self.spectrum, self.better, self.failures = spectra[0](), spectra[1:], 0
        # bound on the round-off of F along each eigenvector
        self.noise = self.rounding[0] + self.rounding[1] * np.sqrt(self.spectrum.values)

    def first_length(self) -> float:
        """A time in which x and its rate hardly change."""
        moves = float(np.abs(self.first / self.size).max())
        return 1e-3 / max(float(self.spectrum.values.max(initial=0.0)), 1e-9 * moves, TINY)

    def attempt(self, h: float) -> tuple[StiffStep | None, float]:
        """The step of this length by Newton's method, with a more accurate S if that does not converge."""
        rates, iterations = self._solved(h, self._guess(h))
        while rates is None:
            self.failures, self.tried = self.failures + 1, None
            if not self.better or (len(self.better) == 1 and self.failures == 1):
                return None, np.inf
            self._use(self.better)
            rates, iterations = self._solved(h, self._guess(h))
        error, step = self._error(h, rates), StiffStep(h, rates, iterations, self.spectrum)
        if not error <= 1 or self._rises(rates[-1]):
            self.tried = rates, CONTROL.shorter(error)
            return None, error
        self.tried = None
        return (step, error) if self.inside(step.at(h)) else (None, _OUTSIDE)

    def _guess(self, h: float) -> Float:
        """Rates interpolated from a rejected or the last step, or those of the linearized flow."""
        if self.tried is not None:
            return interpolate(self.tried[0], self.tried[1] * C)
        if self.last is not None and h <= 3 * self.last.h:
            return interpolate(self.last.rates, 1 + C * h / self.last.h)
        decay = 1 / (1 + h * C[:, None] * self.spectrum.values)
        return np.asarray((self.first @ self.spectrum.vectors * decay) @ self.spectrum.vectors.T)

    def _solved(self, h: float, rates: Float) -> tuple[Float | None, int]:
        """The rates at the nodes by Newton's method, or None if it fails, and the number of iterations."""
        damping = 1 / (1 + h * MODES[:, None] * self.spectrum.values)
        noise, before = self._noise(h), np.inf
        for count in range(1, _ITERATIONS + 1):
            defect = (self.rate(h * A @ rates) - rates) @ self.spectrum.vectors
            change = (OUT @ (damping * (IN @ defect))).real
            rates = rates + change @ self.spectrum.vectors.T
            now = self._measured(h, np.abs(change).max(axis=0), noise)
            if not np.isfinite(now) or now > 2 * before:
                return None, count
            ratio = min(now / before, 1.0) if 0 < before < np.inf else 0.5  # of linear convergence
            remaining = min(ratio / max(1 - ratio, ratio), 1.0) * now
            if remaining <= _SETTLED and self._consistent(defect, rates[-1]):
                return rates, count
            if now * ratio ** (_ITERATIONS - count) > _HOPELESS:
                return None, count
            before = now
        return None, _ITERATIONS

    def _consistent(self, defect: Float, rate: Float) -> bool:
        """Whether the defect of the rates is small; a small error of x can be a large one of its rate."""
        significant = np.maximum(np.abs(defect).max(axis=0) - self.noise, 0.0)
        return bool(significant @ significant <= _CONSISTENT**2 * (rate @ rate))

    def _rises(self, last: Float) -> bool:
        """Whether the rate is larger at the end; it decreases along the flow, except for errors of x."""
        noise = float(np.linalg.norm(self.noise))
        return float(np.linalg.norm(last)) > (1 + _RISE) * float(np.linalg.norm(self.first)) + noise

    def _error(self, h: float, rates: Float) -> float:
        """The highest divided difference of the rates, damped by the flow."""
        top = TOP @ np.vstack([self.first, rates]) @ self.spectrum.vectors
        return self._measured(h, top / (1 + h * self.spectrum.values), _TOP * self._noise(h))

    def _noise(self, h: float) -> Float:
        """Round-off of rates in the eigenbasis, damped by the flow."""
        return self.noise / (1 + h * self.spectrum.values)

    def _measured(self, h: float, rates: Float, noise: Float) -> float:
        """Effect of a change of rates (in the eigenbasis) on x, relative to the tolerance.

        Round-off is subtracted, because shorter steps cannot reduce it.
        """
        significant = rates - np.minimum(np.maximum(rates, -noise), noise)
        relative = h * (self.spectrum.vectors @ significant) / self.size
        largest = float(np.abs(relative).max())
        return largest if not largest < _HUGE else math.sqrt(relative @ relative / relative.size)
