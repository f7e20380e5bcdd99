r"""Features divided by their standard deviations in twice the digits of floats.

A feature divided by a rounded standard deviation is another feature: two that were proportional are so to
1e-16 only, and a potential whose slopes come that close to their ends tells them apart. Exactly divided
features are X/(unit·share), unit a power of 2 and share a pair of floats.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.arrays import Float
from tacit.data.units import Units, deviations
from tacit.numerics.pairs import Pair, moments, two_product, two_sum

_FAR = 4.0  # means this many deviations from 0 are subtracted first: their squares would cancel


@dataclass(frozen=True, eq=False)
class Spread:
    """The standard deviation of each feature of X, of which `value` is the rounding; 1 for constant ones."""

    X: Float
    value: Float

    @classmethod
    def of(cls, X: Float, units: Units) -> Spread | None:
        """What these units divide the features of X by; None if they do not."""
        return cls(X, units.scale) if units.standardized else None

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


def features_in(units: Units, X: Float) -> Float:
    """X as methods in floats take it, centred and divided as the units say."""
    spread = Spread.of(X, units)
    return units.features(X) if spread is None else spread.divided(units.intercept)


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
