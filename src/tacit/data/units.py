r"""Intercept and standardization: transformed features, and the map back to the original ones.

f(x) = w·x + b with an unpenalized intercept b. For the square loss the best b for given w is the mean of y −
Xw; with this b the loss depends on X and y only through their deviations from the mean, so a model with a
free intercept is the same model fitted to centred data. Standardized features are divided by their standard
deviation s, so that the potential acts on s·w; results are converted back to the original features. With
sample weights, means and deviations are weighted; `roots` are the square roots of the weights, with mean
square 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.numerics.double_double import Pair, moments, two_product, two_sum
from tacit.numerics.rounding import EPS, Float

_CONSTANT = 8 * EPS  # deviations from the mean up to this share of the largest value are round-off
_FAR = 4.0  # means beyond this many (rounded) deviations are subtracted first, since squares would cancel


@dataclass(frozen=True, eq=False)
class Units:
    """The affine map between the original and the transformed data.

    scale: divisor of each feature. center, target: means of the features and of y; 0 without an intercept.
    """

    scale: Float
    center: Float
    target: Float
    intercept: bool
    standardized: bool

    @property
    def plain(self) -> bool:
        """Whether the data are used unchanged."""
        return not (self.intercept or self.standardized)

    def predictor(self, w: Float) -> Float:
        """Convert a solution for the transformed features to the original ones; any number of outputs."""
        return np.asarray(w / self._scale_of(w))

    def inside(self, w: Float) -> Float:
        """Convert a predictor for the original features to the transformed ones."""
        return np.asarray(w * self._scale_of(w))

    def _scale_of(self, w: Float) -> Float:
        outputs = (1,) * (w.ndim - self.scale.ndim)
        return self.scale.reshape(*self.scale.shape, *outputs)

    def shift(self, w: Float) -> Float:
        """The intercept that belongs to a predictor for the original features."""
        output = np.tensordot(self.center, w, axes=self.center.ndim)  # at the mean of the features
        return np.asarray(self.target - np.reshape(output, self.target.shape))

    def describe(self) -> str:
        """Describe the transformation of the features in a few words."""
        done = ["centred"] * self.intercept + ["divided by their standard deviation"] * self.standardized
        return f"features {' and '.join(done)}" if done else ""


def mean(values: Float, roots: Float | None = None) -> Float:
    """Mean over the samples, in two passes: the first has a round-off error proportional to a large mean."""
    first = values.mean(axis=0)
    return np.asarray(first + _average(values - first, roots))


def deviations(values: Float, roots: Float | None = None) -> Float:
    """Deviations from the mean over the samples; exactly 0 for features that are constant up to round-off."""
    found = values - values.mean(axis=0)
    found -= found.mean(axis=0)  # round-off of a mean that is large compared with the deviations
    found = np.where(np.abs(found).max(axis=0) <= _CONSTANT * np.abs(values).max(axis=0), 0.0, found)
    return found if roots is None else found - _average(found, roots)


def standard_deviation(X: Float, roots: Float | None = None) -> Float:
    """Standard deviation of each feature; 1 for constant features."""
    centred = deviations(X, roots)
    largest = np.abs(centred).max(axis=0)
    unit = np.where(largest > 0, largest, 1.0)  # so that squares do not overflow
    return np.where(largest > 0, unit * np.sqrt(_average((centred / unit) ** 2, roots)), 1.0)


def _average(values: Float, roots: Float | None) -> Float:
    return np.asarray(values.mean(axis=0) if roots is None else roots**2 @ values / len(values))


@dataclass(frozen=True, eq=False)
class Spread:
    """The standard deviation of each feature in double-double arithmetic; `value` is rounded to double.

    Dividing by a rounded standard deviation changes the features: two proportional ones then differ by 1e-16
    relatively, and a potential at a tiny scale, whose gradient is nearly saturated, distinguishes them. The
    exact quotient is X/(unit·share) with a power of 2 `unit` and a double-double `share`; 1 for constant
    features.
    """

    X: Float
    value: Float
    weighted: bool = False  # with sample weights, the rounded value is used as the exact deviation

    @cached_property
    def unit(self) -> Float:
        """The nearest powers of 2."""
        return np.asarray(np.exp2(np.round(np.log2(self.value))))

    @cached_property
    def rounded(self) -> Float:
        """The standard deviation divided by `unit`, in double precision."""
        return self.value / self.unit

    @cached_property
    def _known(self) -> tuple[Pair, NDArray[np.bool_]]:
        """Shares computed so far, and a mask of the columns where they are known."""
        return Pair.of(np.ones_like(self.value)), np.zeros(len(self.value), dtype=bool)

    def share(self, columns: Any = slice(None)) -> Pair:
        """The standard deviation divided by `unit`, in double-double; computed on demand for some columns."""
        if self.weighted:
            return Pair.of(self.rounded[columns])
        shares, known = self._known
        wanted = np.arange(len(known))[columns]
        new = wanted[~known[wanted]]
        if len(new):
            found = _deviations_in_pairs(self.X[:, new] / self.unit[new])
            shares.high[new], shares.low[new], known[new] = found.high, found.low, True
        return shares[wanted]

    def divided(self, centred: bool) -> Float:
        """X, optionally centred, divided by it and correctly rounded: proportional features become equal."""
        X = self.X / self.unit
        exact = Pair.of(X)
        if centred:
            total = moments(Pair.of(np.ascontiguousarray(X.T)))[0]
            exact = exact - total.over(Pair.of(np.full(X.shape[1], float(len(X)))))
            exact = Pair(*(np.where(deviations(self.X) == 0, 0.0, part) for part in (exact.high, exact.low)))
        return exact.over(self.share()).value


def _deviations_in_pairs(X: Float) -> Pair:
    """√((Σd² − (Σd)²/N)/N) with deviations d from 0 or from a rounded mean; 1 for constant features."""
    varies = (deviations(X) != 0).any(axis=0)
    X = np.ascontiguousarray(X[:, varies].T)
    mean, count = X.mean(axis=1, keepdims=True), Pair.of(np.full(len(X), float(X.shape[1])))
    total, squares = moments(Pair(*two_sum(X, np.where(np.abs(mean) > _FAR, -mean, 0.0))))
    square = Pair(*two_product(total.high, total.high)) + 2 * total.high * total.low
    root = (squares - square.over(count)).over(count).sqrt()
    found = Pair.of(np.ones(len(varies)))
    found.high[varies], found.low[varies] = root.high, root.low
    return found
