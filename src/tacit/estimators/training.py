"""Training data: samples of positive weight with their targets, and the flow on the square loss of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tacit.data.arrays import Float, Index
from tacit.data.prepared import Design, Prepared, prepare
from tacit.data.units import Units
from tacit.errors import InputError
from tacit.numerics.subspaces import visible
from tacit.results.limit import Limit
from tacit.results.trajectory import Trajectory
from tacit.verbs.flow import flow
from tacit.verbs.limit import limit


@dataclass(frozen=True, eq=False)
class Training:
    """Samples of positive weight, and how they are taken (`data.prepared`).

    prepared: X, for the verbs. places: which of the `count` samples these are.
    """

    prepared: Prepared
    design: Design
    y: Float
    places: Index
    count: int

    @classmethod
    def of(cls, X: Float, y: Float, weights: Float | None, intercept: bool, standardize: bool) -> Training:
        """The training data of these samples."""
        count = len(y)
        if weights is None:
            prepared = prepare(X)
            return cls(prepared, prepared.design(intercept, standardize), y, np.arange(count), count)
        if not (weights >= 0).all() or not weights.any():
            raise InputError("sample_weight must not be negative, and not zero everywhere")
        places = np.flatnonzero(weights > 0)
        prepared, y, weights = prepare(X[places]), y[places], weights[places]
        if (weights == weights[0]).all():
            return cls(prepared, prepared.design(intercept, standardize), y, places, count)
        roots = np.sqrt(len(y) * (weights / weights.sum()))
        return cls(prepared, Design(prepared.X, intercept, standardize, roots), y, places, count)

    @property
    def X(self) -> Float:
        """The features as they came."""
        return self.design.X

    @cached_property
    def units(self) -> Units:
        """The way back."""
        return self.design.units(self.y)

    @property
    def roots(self) -> Float | None:
        """√s of the weight s of each sample, of mean square 1; None where all weigh the same."""
        return self.design.roots

    @property
    def rows(self) -> Float:
        """X as the flow sees it, without the intercept: samples that have the loss of these."""
        return self.design.rows

    @cached_property
    def targets(self) -> Float:
        """y as the flow sees it."""
        return self.design.reflected(self.design.targets(self.y))

    def multipliers(self, nu: Float) -> Float:
        """Those of all samples, from those of `rows`."""
        return self.everywhere(self.design.multipliers(nu))

    def everywhere(self, values: Float) -> Float:
        """Values of these samples, and 0 for those without weight."""
        full = np.zeros(self.count)
        full[self.places] = values
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
    def evened(self) -> Prepared:
        """The rows in units of their spread, without the one that is 0 beside an intercept."""
        return prepare(self.rows[int(self.design.intercept) :] / self.spread)

    @cached_property
    def evened_targets(self) -> Float:
        """The targets of these, in units of their root mean square."""
        return self.targets[int(self.design.intercept) :] / (math.sqrt(2 * self.loss) or 1.0)

    @cached_property
    def visible(self) -> tuple[Float, Float, Float]:
        """Singular vectors and values of these rows, without those that are round-off."""
        return visible(self.evened.X)

    @cached_property
    def floor(self) -> float:
        """The share of the loss that no predictor can fit."""
        if not self.targets.any():
            return 0.0
        rest = self.evened.design().range.split(self.evened_targets)[1]
        return float(rest @ rest) / float(self.evened_targets @ self.evened_targets)

    def limit(self, model: Any, tol: float) -> tuple[Float, Limit]:
        """Where the flow ends, as a predictor of the features as they came: `tacit.limit`."""
        if self.roots is None:
            found = limit(model, self.prepared, self.y, tol=tol, least_squares=True, **self._options)
            return found.predictor, found
        found = limit(model, self.rows, self.targets, tol=tol, least_squares=True)
        return self.units.predictor(found.predictor), found

    def flow(self, model: Any, stop: float, rtol: float) -> tuple[Float, Trajectory]:
        """Where the flow is when its loss has fallen to that share of its start: `tacit.flow`."""
        at = [-math.log(stop) - math.log(self.loss)]
        if self.roots is None:
            found = flow(model, self.prepared, self.y, at=at, rtol=rtol, **self._options)
            return found.predictor[-1], found
        found = flow(model, self.rows, self.targets, at=at, rtol=rtol)
        return self.units.predictor(found.predictor[-1]), found

    @property
    def _options(self) -> dict[str, Any]:
        """What the verbs are asked for, where all samples weigh the same."""
        return {"intercept": self.design.intercept, "standardize": self.design.standardize}
