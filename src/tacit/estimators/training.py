r"""Training data as a flow on the square loss sees them: centred, in units, weighted.

An intercept that no potential keeps small is the mean of what is left, and the flow sees deviations from the
mean (`tacit.data.units`). Samples of weights s_n have the loss Σ s_n r_n²/(2 Σ s_n): that of rows times √s_n.
Those beside an intercept are dependent; the reflection that takes √s to the first axis, and leaves the loss
as it is, makes one of them exactly zero and the others independent again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tacit.data.arrays import Float, Index
from tacit.data.units import Units, deviations
from tacit.errors import InputError
from tacit.results.limit import Limit
from tacit.results.trajectory import Trajectory
from tacit.verbs.flow import flow
from tacit.verbs.limit import limit


@dataclass(frozen=True, eq=False)
class Training:
    """Samples of positive weight, and how they are taken.

    roots: √s of each sample, of mean square 1; None where all weigh the same. places: which of the `count`
    samples these are.
    """

    X: Float
    y: Float
    units: Units
    roots: Float | None
    places: Index
    count: int

    @classmethod
    def of(cls, X: Float, y: Float, weights: Float | None, intercept: bool, standardize: bool) -> Training:
        """The training data of these samples."""
        count, intercept, standardize = len(y), bool(intercept), bool(standardize)
        if weights is None:
            return cls(X, y, Units.of(X, y, intercept, standardize), None, np.arange(count), count)
        if not (weights >= 0).all() or not weights.any():
            raise InputError("sample_weight must not be negative, and not zero everywhere")
        places = np.flatnonzero(weights > 0)
        X, y, weights = X[places], y[places], weights[places]
        if (weights == weights[0]).all():
            return cls(X, y, Units.of(X, y, intercept, standardize), None, places, count)
        shares = weights / weights.sum()
        units = _weighted_units(X, y, shares, intercept, standardize)
        return cls(X, y, units, np.sqrt(len(y) * shares), places, count)

    @property
    def options(self) -> dict[str, Any]:
        """What the verbs are asked for, where all samples weigh the same."""
        return {"intercept": self.units.intercept, "standardize": self.units.standardized}

    @cached_property
    def rows(self) -> Float:
        """X as the flow sees it, without the intercept: samples that have the loss of these."""
        return self._reflected(self._centred(self.X, self.units.center) / self.units.scale)

    @cached_property
    def targets(self) -> Float:
        """y as the flow sees it."""
        return self._reflected(self._centred(self.y, self.units.target))

    def _centred(self, values: Float, center: Float) -> Float:
        if not self.units.intercept:
            return values
        apart = deviations(values)
        return apart if self.roots is None else apart - self._mean(apart)

    def _mean(self, values: Float) -> Float:
        assert self.roots is not None
        return np.asarray(self.roots**2 @ values / len(values))

    def _reflected(self, values: Float) -> Float:
        weighted = values if self.roots is None else (self.roots * values.T).T
        if not self.units.intercept:
            return weighted
        turned = self._turn(weighted)
        turned[0] = 0.0  # but for rounding
        return turned

    def _turn(self, values: Float) -> Float:
        """The reflection that takes √s to the first axis; its own inverse."""
        normal = np.ones(len(self.y)) if self.roots is None else self.roots.copy()
        normal[0] += np.linalg.norm(normal)
        return np.asarray(values - np.multiply.outer(2 * normal / (normal @ normal), normal @ values))

    def multipliers(self, nu: Float) -> Float:
        """Those of all samples, from those of `rows`."""
        if self.units.intercept:
            nu = self._turn(nu)
        full = np.zeros(self.count)
        full[self.places] = nu if self.roots is None else nu * self.roots
        return full

    @cached_property
    def loss(self) -> float:
        """The loss at the start, Σ s_n y_n²/(2 Σ s_n) of deviations from the mean beside an intercept."""
        return float(self.targets @ self.targets) / (2 * len(self.y))

    @cached_property
    def spread(self) -> float:
        """The root mean square of all features that vary; 1 if none does."""
        squares = np.einsum("nd,nd->d", self.rows, self.rows) / len(self.y)
        varying = squares[squares > 0]
        return math.sqrt(varying.mean()) if varying.size else 1.0

    @cached_property
    def unit(self) -> float:
        """The natural size of a coefficient: the root mean square of y over that of the features."""
        return math.sqrt(2 * self.loss) / self.spread or 1.0

    @cached_property
    def floor(self) -> float:
        """The share of the loss that no predictor can fit."""
        if not self.targets.any():
            return 0.0
        w = np.linalg.lstsq(self.rows, self.targets, rcond=None)[0]
        rest = self.targets - self.rows @ w
        return float(rest @ rest) / float(self.targets @ self.targets)

    def limit(self, model: Any, tol: float) -> tuple[Float, Limit]:
        """Where the flow ends, as a predictor of the features as they came: `tacit.limit`."""
        if self.roots is None:
            found = limit(model, self.X, self.y, tol=tol, least_squares=True, **self.options)
            return found.predictor, found
        found = limit(model, self.rows, self.targets, tol=tol, least_squares=True)
        return self.units.predictor(found.predictor), found

    def flow(self, model: Any, stop: float, rtol: float) -> tuple[Float, Trajectory]:
        """Where the flow is when its loss has fallen to that share of its start: `tacit.flow`."""
        at = [-math.log(stop) - math.log(self.loss)]
        if self.roots is None:
            found = flow(model, self.X, self.y, at=at, rtol=rtol, **self.options)
            return found.predictor[-1], found
        found = flow(model, self.rows, self.targets, at=at, rtol=rtol)
        return self.units.predictor(found.predictor[-1]), found


def _weighted_units(X: Float, y: Float, shares: Float, intercept: bool, standardize: bool) -> Units:
    """Means and standard deviations of weighted samples."""
    scale = np.ones(X.shape[1])
    if standardize:
        apart = deviations(X)
        apart = apart - shares @ apart
        deviation = np.sqrt(shares @ apart**2)
        scale = np.where(deviation > 0, deviation, 1.0)
    center, target = (_mean(each, shares) if intercept else np.zeros(each.shape[1:]) for each in (X, y))
    return Units(scale, center, target, intercept, standardize)


def _mean(values: Float, shares: Float) -> Float:
    first = values.mean(axis=0)
    return np.asarray(first + shares @ (values - first))
