r"""One step of Radau IIA for x' = F(x) whose Jacobian is −S, with S symmetric and no eigenvalue below 0.

Such are gradient flows of convex functions, and the flow of ν in mirror space under the square loss. Real
data make S span sixteen decades. Newton's equations for the rates k₁, …, k₅ at the nodes, with one S for all
of the step, are (I + hA ⊗ S)δ = r, and one eigendecomposition of S solves them for every step length h
(Hairer and Wanner, Solving Ordinary Differential Equations II, IV.8).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tacit.data.arrays import Float
from tacit.flows.steps.radau import IN, LAGRANGE, MODES, ORDER, OUT, POWERS, STAGES, TOP, A, C
from tacit.flows.steps.stepper import Equations
from tacit.numerics.rounding import EPS
from tacit.numerics.step_control import StepControl, Taken

CONTROL = StepControl(ORDER, unsolved=0.4, predictive=True, attempts=120)
_OUTSIDE = (CONTROL.care / 0.25) ** (-1 / ORDER)  # an error after which the length is divided by 4
_ITERATIONS = 12  # of Newton's method for one step
_SETTLED = 1e-2  # of the tolerance, for what Newton's method has yet to go
_HOPELESS = 1e4  # tolerances that would be left to go after the last iteration, at the pace of now
_MET = 1e-3  # of the rate at the end: how wrong the rates may have been before Newton's last change
_RISE = 1e-7  # of the rate: what rounding may add to it
_SAME = 2.0  # a ratio of columns, up to which one S serves for another
_NOTHING = 1e-3  # of h·S, which Newton's method need not know
_MOST = 0.7  # of all directions, up to which fewer of them save time
_TOP = float(np.abs(TOP).sum())
_SMALLEST, _HUGE = 1e-300, 1e100  # a length of nothing, and an error whose square might overflow


def _polynomial(rates: Float, fractions: Float) -> Float:
    """The rates at fractions of a step, from those at its nodes."""
    return np.asarray(np.vander(fractions, STAGES, increasing=True) @ LAGRANGE @ rates, dtype=float)


class Spectrum(NamedTuple):
    """Eigenvalues and -vectors of S = R Rᵀ, and the sizes of R's columns."""

    values: Float
    turn: Float
    columns: Float

    @classmethod
    def fast(cls, R: Float) -> Spectrum:
        """From S: the smallest values are wrong by the rounding of the largest."""
        values, turn = np.linalg.eigh(R @ R.T)
        return cls(np.maximum(values, 0.0), turn, np.linalg.norm(R, axis=0))

    @classmethod
    def sharp(cls, R: Float) -> Spectrum:
        """From R, with twice the digits."""
        turn, roots, _ = np.linalg.svd(R, full_matrices=False)
        return cls(roots**2, turn, np.linalg.norm(R, axis=0))

    def next(self, R: Float, h: float) -> Spectrum:
        """As `fast`, but of the directions only that move in a step of length h.

        If columns have grown by a factor c at most, S has grown by c² at most, as a quadratic form: where
        c²·h·S was nothing it still is.
        """
        columns, rounding = np.linalg.norm(R, axis=0), len(R) * EPS * self.values.max(initial=0.0)
        bound = self._growth(columns, h) ** 2 * (self.values + rounding)
        awake = h * bound > _NOTHING
        if np.count_nonzero(awake) > _MOST * len(R):
            return Spectrum.fast(R)
        turn = self.turn.copy()
        part = turn[:, awake].T @ R
        values, own = np.linalg.eigh(part @ part.T)
        turn[:, awake] = turn[:, awake] @ own
        bound[awake] = np.maximum(values, 0.0)
        return Spectrum(bound, turn, columns)

    def _growth(self, columns: Float, h: float) -> float:
        """By how much columns are larger, but for those that do nothing in a step of length h."""
        matter = h * len(columns) * columns**2 > _NOTHING
        return float(np.max(columns / self.columns, where=matter, initial=1.0))

    def serves(self, R: Float) -> bool:
        """Is R much the same?"""
        columns = np.linalg.norm(R, axis=0)
        return bool(np.all((columns <= _SAME * self.columns) & (self.columns <= _SAME * columns)))


@dataclass(frozen=True, eq=False)
class Step:
    """A step of length h, from 0: the rates at its nodes, and what they were found with."""

    h: float
    rates: Float  # (stages, n)
    iterations: int  # of Newton's method
    spectrum: Spectrum  # of the S that served it

    @property
    def lifetimes(self) -> float:
        """Its length in units of the time in which the slowest part of x decays."""
        return self.h * float(self.spectrum.values.min())

    def at(self, clock: float) -> Float:
        """x at an instant of the step."""
        weights: Float = self.h * ((clock / self.h) ** (POWERS + 1) / (POWERS + 1)) @ LAGRANGE
        return np.asarray(weights @ self.rates)


class Field(Equations):
    """x' = F(x) from x = 0.

    rate: F over leading axes. spectra: of S; the later ones are for when Newton's method does not settle.
    size: of an error of x that is tolerated, for each coordinate. rounding: what it makes of F along any
    eigenvector, at most, and by how much more for each unit of the root of its value. last: the step before.
    inside: may x be the end of a step?
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
        self.last: Step | None = None if last is None else last.step
        self.first = rate(np.zeros_like(size))
        self.tried: tuple[Float, float] | None = None  # rates of a longer step, and what part of it to try
        self._use(spectra)

    def _use(self, spectra: Sequence[Callable[[], Spectrum]]) -> None:
        self.spectrum, self.better, self.failures = spectra[0](), spectra[1:], 0
        # what rounding makes of F along each eigenvector, at most
        self.noise = self.rounding[0] + self.rounding[1] * np.sqrt(self.spectrum.values)

    def first_length(self) -> float:
        """A time in which neither x nor its rate changes much."""
        moves = float(np.abs(self.first / self.size).max())
        return 1e-3 / max(float(self.spectrum.values.max(initial=0.0)), 1e-9 * moves, _SMALLEST)

    def attempt(self, h: float) -> tuple[Step | None, float]:
        """The step of this length, by Newton's method, with a better S where it does not settle."""
        rates, iterations = self._solved(h, self._guess(h))
        while rates is None:
            self.failures, self.tried = self.failures + 1, None
            if not self.better or (len(self.better) == 1 and self.failures == 1):
                return None, np.inf
            self._use(self.better)
            rates, iterations = self._solved(h, self._guess(h))
        error, step = self._error(h, rates), Step(h, rates, iterations, self.spectrum)
        if not error <= 1 or self._rises(rates[-1]):
            self.tried = rates, CONTROL.shorter(error)
            return None, error
        self.tried = None
        return (step, error) if self.inside(step.at(h)) else (None, _OUTSIDE)

    def _guess(self, h: float) -> Float:
        """The polynomial of an attempt's or the last step's rates, or the rates of the linear flow with S."""
        if self.tried is not None:
            return _polynomial(self.tried[0], self.tried[1] * C)
        if self.last is not None and h <= 3 * self.last.h:
            return _polynomial(self.last.rates, 1 + C * h / self.last.h)
        decay = 1 / (1 + h * C[:, None] * self.spectrum.values)
        return np.asarray((self.first @ self.spectrum.turn * decay) @ self.spectrum.turn.T)

    def _solved(self, h: float, rates: Float) -> tuple[Float | None, int]:
        """The rates at the nodes by Newton's method, None if it does not settle; its iterations."""
        damping = 1 / (1 + h * MODES[:, None] * self.spectrum.values)
        noise, before = self._noise(h), np.inf
        for count in range(1, _ITERATIONS + 1):
            wrong = (self.rate(h * A @ rates) - rates) @ self.spectrum.turn
            change = (OUT @ (damping * (IN @ wrong))).real
            rates = rates + change @ self.spectrum.turn.T
            now = self._measured(h, np.abs(change).max(axis=0), noise)
            if not np.isfinite(now) or now > 2 * before:
                return None, count
            slower = min(now / before, 1.0) if 0 < before < np.inf else 0.5  # of linear convergence
            if min(slower / max(1 - slower, slower), 1.0) * now <= _SETTLED and self._met(wrong, rates[-1]):
                return rates, count
            if now * slower ** (_ITERATIONS - count) > _HOPELESS:
                return None, count
            before = now
        return None, _ITERATIONS

    def _met(self, wrong: Float, rate: Float) -> bool:
        """Were the rates those of x already? An error of x that is small may be a large one of its rate."""
        told = np.maximum(np.abs(wrong).max(axis=0) - self.noise, 0.0)
        return bool(told @ told <= _MET**2 * (rate @ rate))

    def _rises(self, last: Float) -> bool:
        """Is the rate larger at the end? Along the flow it falls; a small error of x can make it rise."""
        noise = float(np.linalg.norm(self.noise))
        return float(np.linalg.norm(last)) > (1 + _RISE) * float(np.linalg.norm(self.first)) + noise

    def _error(self, h: float, rates: Float) -> float:
        """The last divided difference of the rates, as far as the step follows it."""
        top = TOP @ np.vstack([self.first, rates]) @ self.spectrum.turn
        return self._measured(h, top / (1 + h * self.spectrum.values), _TOP * self._noise(h))

    def _noise(self, h: float) -> Float:
        """What rounding makes of rates that follow S over the step, in the eigenbasis."""
        return self.noise / (1 + h * self.spectrum.values)

    def _measured(self, h: float, rates: Float, noise: Float) -> float:
        """A change of rates over the step, in the eigenbasis, relative to what is tolerated.

        Less what rounding makes of them, which no step can avoid.
        """
        told = rates - np.minimum(np.maximum(rates, -noise), noise)
        relative = h * (self.spectrum.turn @ told) / self.size
        largest = float(np.abs(relative).max())
        return largest if not largest < _HUGE else math.sqrt(relative @ relative / relative.size)
