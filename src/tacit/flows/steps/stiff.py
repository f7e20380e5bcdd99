r"""One step of Radau IIA for x' = F(x) whose Jacobian is −S, with S symmetric and no eigenvalue below 0.

Such are gradient flows of convex functions, and the flow of ν in mirror space under the square loss. Real
data make S span sixteen decades. Newton's equations for the rates k₁, …, k₅ at the nodes, with one S for all
of the step, are (I + hA ⊗ S)δ = r, and one eigendecomposition of S solves them for every step length h
(Hairer and Wanner, Solving Ordinary Differential Equations II, IV.8).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tacit.data.arrays import Float
from tacit.flows.steps.radau import IN, LAGRANGE, MODES, ORDER, OUT, POWERS, STAGES, TOP, A, C
from tacit.numerics.rounding import EPS
from tacit.potentials.arrays import quiet

_ITERATIONS, _ATTEMPTS = 12, 120  # of Newton for one step, and lengths of it that are tried
_SETTLED = 1e-2  # of the tolerance, for what Newton's method has yet to go
_HOPELESS = 1e4  # tolerances that would be left to go after the last iteration, at the pace of now
_MET = 1e-3  # of the rate at the end: how wrong the rates may have been before Newton's last change
_RISE = 1e-7  # of the rate: what rounding may add to it
_CARE = 0.9  # of the length that the last error allows
_FASTER = 5.0  # growth of the length from step to step, at most
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
    """A step of length h, from 0: the rates at its beginning and at its nodes, and the length to try next."""

    h: float
    first: Float
    rates: Float  # (stages, n)
    error: float  # relative to what is tolerated
    iterations: int  # of Newton's method
    spectrum: Spectrum  # of the S that served it
    next_h: float

    @property
    def lifetimes(self) -> float:
        """Its length in units of the time in which the slowest part of x decays."""
        return self.h * float(self.spectrum.values.min())

    def at(self, clock: float) -> Float:
        """x at an instant of the step."""
        weights: Float = self.h * ((clock / self.h) ** (POWERS + 1) / (POWERS + 1)) @ LAGRANGE
        return np.asarray(weights @ self.rates)


@dataclass(frozen=True, eq=False)
class Field:
    """x' = F(x) from x = 0. rate: F over leading axes. spectrum: of S.

    size: of an error of x that is tolerated, for each coordinate. rounding: what it makes of F along any
    eigenvector, at most, and by how much more for each unit of the root of its value. better: other spectra,
    for when Newton's method does not settle with this one.
    """

    rate: Callable[[Float], Float]
    spectrum: Spectrum
    size: Float
    rounding: tuple[float, float]
    better: Sequence[Callable[[], Spectrum]] = ()

    @cached_property
    def noise(self) -> Float:
        """What rounding makes of F along each eigenvector, at most."""
        return self.rounding[0] + self.rounding[1] * np.sqrt(self.spectrum.values)

    @quiet
    def step(self, h: float | None, last: Step | None) -> Step | None:
        """The next step, as long as the tolerance allows; None if there is none."""
        first = self.rate(np.zeros_like(self.size))
        h = self._first_length(first) if h is None else h
        failures, guess = 0, self._guess(h, first, last)
        for _ in range(_ATTEMPTS):
            if not h > _SMALLEST:
                break
            rates, iterations = self._solved(h, guess)
            error = np.inf if rates is None else max(self._error(h, first, rates), 1e-12)
            if rates is not None and error <= 1 and not self._rises(first, rates[-1]):
                growth = self._growth(h, error, last)
                next_h = h * (min(growth, 1.0) if failures else growth)
                return Step(h, first, rates, error, iterations, self.spectrum, next_h)
            failures += rates is None
            if rates is None and self.better and (len(self.better) > 1 or failures > 1):
                return replace(self, spectrum=self.better[0](), better=self.better[1:]).step(h, last)
            part = max(0.1, _CARE * error**ORDER) if 1 < error < np.inf else 0.4
            h *= part
            guess = self._guess(h, first, last) if rates is None else _polynomial(rates, part * C)
        return None

    @staticmethod
    def _growth(h: float, error: float, last: Step | None) -> float:
        """By how much the next step may be longer, by this error and by how it changed (IV.8, (8.25))."""
        growth = min(_FASTER, _CARE * error**ORDER)
        if last is None:
            return growth
        return min(growth, _CARE * h / last.h * (error * error / last.error) ** ORDER)

    def _first_length(self, first: Float) -> float:
        """A time in which neither x nor its rate changes much."""
        moves = float(np.abs(first / self.size).max())
        return 1e-3 / max(float(self.spectrum.values.max(initial=0.0)), 1e-9 * moves, _SMALLEST)

    def _guess(self, h: float, first: Float, last: Step | None) -> Float:
        """The polynomial of the last step's rates, or the rates of the linear flow with S."""
        if last is not None and h <= 3 * last.h:
            return _polynomial(last.rates, 1 + C * h / last.h)
        decay = 1 / (1 + h * C[:, None] * self.spectrum.values)
        return np.asarray((first @ self.spectrum.turn * decay) @ self.spectrum.turn.T)

    def _solved(self, h: float, rates: Float) -> tuple[Float | None, int]:
        """The rates at the nodes by Newton's method, None if it does not settle; its iterations."""
        damping = 1 / (1 + h * MODES[:, None] * self.spectrum.values)
        noise = self._noise(h)
        before = np.inf
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

    def _rises(self, first: Float, last: Float) -> bool:
        """Is the rate larger at the end? Along the flow it falls; a small error of x can make it rise."""
        noise = float(np.linalg.norm(self.noise))
        return float(np.linalg.norm(last)) > (1 + _RISE) * float(np.linalg.norm(first)) + noise

    def _error(self, h: float, first: Float, rates: Float) -> float:
        """The last divided difference of the rates, as far as the step follows it."""
        top = TOP @ np.vstack([first, rates]) @ self.spectrum.turn
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
