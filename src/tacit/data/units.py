r"""An intercept, and features in units of their own: how data are taken, and the way back.

f(x) = w·x + b, with b in no potential. Under the square loss the best b for any w is the mean of y − Xw, and
with it in place the loss sees X and y only by their deviations from the mean: what a model picks for these
is what it picks beside a free intercept. Standardized features are divided by their standard deviation s, so
that the potential acts on s·w; w itself is given back for the features as they came. Samples of weights s_n
have means and deviations of their own; here √s_n stands for them, of mean square 1 (`roots`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.numerics.double_double import Pair, moments, two_product, two_sum
from tacit.numerics.rounding import EPS, Float

_CONSTANT = 8 * EPS  # deviation from the mean, relative to the largest value, that is round-off
_FAR = 4.0  # means this many deviations from 0 are subtracted first: their squares would cancel


@dataclass(frozen=True, eq=False)
class Units:
    """How features and targets are taken.

    scale: what each feature is divided by. center, target: the means of features and of y, 0 without an
    intercept. intercept, standardized: what was asked for.
    """

    scale: Float
    center: Float
    target: Float
    intercept: bool
    standardized: bool

    @property
    def plain(self) -> bool:
        """Are the data taken as they are?"""
        return not (self.intercept or self.standardized)

    def predictor(self, w: Float) -> Float:
        """What the solver found, for the features as they came; of any number of outputs."""
        return np.asarray(w / self._scale_of(w))

    def inside(self, w: Float) -> Float:
        """A predictor for the features as they came, as the solver has it."""
        return np.asarray(w * self._scale_of(w))

    def _scale_of(self, w: Float) -> Float:
        outputs = (1,) * (w.ndim - self.scale.ndim)
        return self.scale.reshape(*self.scale.shape, *outputs)

    def shift(self, w: Float) -> Float:
        """The intercept that belongs to a predictor for the features as they came."""
        through = np.tensordot(self.center, w, axes=self.center.ndim)
        return np.asarray(self.target - np.reshape(through, self.target.shape))

    def describe(self) -> str:
        """What was done to the features, in a few words."""
        done = ["centred"] * self.intercept + ["divided by their standard deviation"] * self.standardized
        return f"features {' and '.join(done)}" if done else ""


def mean(values: Float, roots: Float | None = None) -> Float:
    """Over the samples; in two passes, since the first leaves round-off of the size of a large mean."""
    first = values.mean(axis=0)
    return np.asarray(first + _average(values - first, roots))


def deviations(values: Float, roots: Float | None = None) -> Float:
    """From the mean over the samples; exactly 0 where all are equal up to rounding."""
    apart = values - values.mean(axis=0)
    apart -= apart.mean(axis=0)  # what rounding has left of a mean that is large beside the deviations
    apart = np.where(np.abs(apart).max(axis=0) <= _CONSTANT * np.abs(values).max(axis=0), 0.0, apart)
    return apart if roots is None else apart - _average(apart, roots)


def standard_deviation(X: Float, roots: Float | None = None) -> Float:
    """Of each feature; 1 for those that do not vary."""
    apart = deviations(X, roots)
    largest = np.abs(apart).max(axis=0)
    unit = np.where(largest > 0, largest, 1.0)  # no square overflows in it
    return np.where(largest > 0, unit * np.sqrt(_average((apart / unit) ** 2, roots)), 1.0)


def _average(values: Float, roots: Float | None) -> Float:
    return np.asarray(values.mean(axis=0) if roots is None else roots**2 @ values / len(values))


@dataclass(frozen=True, eq=False)
class Spread:
    """The standard deviation of each feature of X in twice the digits of floats; `value` is its rounding.

    A feature divided by a rounded standard deviation is another feature: two that were proportional are so to
    1e-16 only, and a potential whose slopes come that close to their ends tells them apart. Exactly divided
    features are X/(unit·share), unit a power of 2 and share a pair of floats; 1 for constant features.
    """

    X: Float
    value: Float
    weighted: bool = False  # of weighted samples, of which the rounding is taken for the deviation itself

    @cached_property
    def unit(self) -> Float:
        """The powers of 2 next to it."""
        return np.asarray(np.exp2(np.round(np.log2(self.value))))

    @cached_property
    def rounded(self) -> Float:
        """It in this unit, in floats."""
        return self.value / self.unit

    @cached_property
    def _known(self) -> tuple[Pair, NDArray[np.bool_]]:
        """The shares that have been asked for, and which these are."""
        return Pair.of(np.ones_like(self.value)), np.zeros(len(self.value), dtype=bool)

    def share(self, columns: Any = slice(None)) -> Pair:
        """It in this unit, in pairs of floats, of some columns: most are never asked for."""
        if self.weighted:
            return Pair.of(self.rounded[columns])
        shares, known = self._known
        asked = np.arange(len(known))[columns]
        new = asked[~known[asked]]
        if len(new):
            found = _deviations_in_pairs(self.X[:, new] / self.unit[new])
            shares.high[new], shares.low[new], known[new] = found.high, found.low, True
        return shares[asked]

    def divided(self, centred: bool) -> Float:
        """X divided by it, and centred before: correctly rounded, so that proportional features are equal."""
        X = self.X / self.unit
        exact = Pair.of(X)
        if centred:
            total = moments(Pair.of(np.ascontiguousarray(X.T)))[0]
            exact = exact - total.over(Pair.of(np.full(X.shape[1], float(len(X)))))
            exact = Pair(*(np.where(deviations(self.X) == 0, 0.0, part) for part in (exact.high, exact.low)))
        return exact.over(self.share()).value


def _deviations_in_pairs(X: Float) -> Pair:
    """The roots of (Σd² − (Σd)²/N)/N, with d the deviations from 0 or from a rounded mean; 1 of constants."""
    varies = (deviations(X) != 0).any(axis=0)
    X = np.ascontiguousarray(X[:, varies].T)
    mean, count = X.mean(axis=1, keepdims=True), Pair.of(np.full(len(X), float(X.shape[1])))
    total, squares = moments(Pair(*two_sum(X, np.where(np.abs(mean) > _FAR, -mean, 0.0))))
    square = Pair(*two_product(total.high, total.high)) + 2 * total.high * total.low
    root = (squares - square.over(count)).over(count).sqrt()
    found = Pair.of(np.ones(len(varies)))
    found.high[varies], found.low[varies] = root.high, root.low
    return found
