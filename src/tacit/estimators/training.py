"""Training data of the square loss, and the initialization in units that the data define."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tacit.data.arrays import Float, Index, as_floats
from tacit.data.prepared import Design, Prepared, prepare
from tacit.data.units import Units
from tacit.errors import InputError
from tacit.models import Diagonal, UntiedDiagonal
from tacit.models.model import Model
from tacit.numerics.subspaces import visible
from tacit.results.limit import Limit
from tacit.results.trajectory import Trajectory
from tacit.verbs.flow import flow
from tacit.verbs.limit import limit


@dataclass(frozen=True, eq=False)
class Training:
    """The samples of positive weight, with their design (`data.prepared`).

    prepared: X, for calls of `tacit.limit` and `tacit.flow`. indices: the positions of these samples among
    all `count` samples.
    """

    prepared: Prepared
    design: Design
    y: Float
    indices: Index
    count: int

    @classmethod
    def of(cls, X: Float, y: Float, weights: Float | None, intercept: bool, standardize: bool) -> Training:
        """The training data of these samples."""
        count = len(y)
        if weights is None:
            prepared = prepare(X)
            return cls(prepared, prepared.design(intercept, standardize), y, np.arange(count), count)
        if not (weights >= 0).all() or not weights.any():
            raise InputError("sample_weight must not be negative, and at least one weight must be positive")
        indices = np.flatnonzero(weights > 0)
        prepared, y, weights = prepare(X[indices]), y[indices], weights[indices]
        if (weights == weights[0]).all():
            return cls(prepared, prepared.design(intercept, standardize), y, indices, count)
        roots = np.sqrt(len(y) * (weights / weights.sum()))
        return cls(prepared, Design(prepared.X, intercept, standardize, roots), y, indices, count)

    @property
    def X(self) -> Float:
        """The original features."""
        return self.design.X

    @cached_property
    def units(self) -> Units:
        """The transformation between predictors of the rows and predictors of the original features."""
        return self.design.units(self.y)

    @property
    def roots(self) -> Float | None:
        """√s for the weights s of the samples, with mean square 1; None if all weights are equal."""
        return self.design.roots

    @property
    def rows(self) -> Float:
        """The data matrix of an equivalent problem without intercept and sample weights."""
        return self.design.rows

    @cached_property
    def targets(self) -> Float:
        """The targets of this equivalent problem."""
        return self.design.reflected(self.design.targets(self.y))

    def multipliers(self, nu: Float) -> Float:
        """The multipliers of all samples, from the multipliers of `rows`."""
        return self.all_samples(self.design.multipliers(nu))

    def all_samples(self, values: Float) -> Float:
        """Extend values of these samples by 0 for samples of weight 0."""
        full = np.zeros(self.count)
        full[self.indices] = values
        return full

    @cached_property
    def loss(self) -> float:
        """The initial loss Σ s_n y_n²/(2 Σ s_n), with y centred if there is an intercept."""
        return float(self.targets @ self.targets) / (2 * len(self.y))

    @cached_property
    def spread(self) -> float:
        """The root mean square of all features that are not 0 in the rows, or 1 if all are."""
        squares = np.einsum("nd,nd->d", self.rows, self.rows) / len(self.y)
        varying = squares[squares > 0]
        return math.sqrt(varying.mean()) if varying.size else 1.0

    @cached_property
    def unit(self) -> float:
        """The natural size of a coefficient: the root mean square of y divided by that of the features."""
        return math.sqrt(2 * self.loss) / self.spread or 1.0

    @cached_property
    def normalized(self) -> Prepared:
        """The rows divided by `spread`, without the first row if there is an intercept, which is 0."""
        return prepare(self.rows[int(self.design.intercept) :] / self.spread)

    @cached_property
    def normalized_targets(self) -> Float:
        """The targets of the normalized rows, divided by their root mean square."""
        return self.targets[int(self.design.intercept) :] / (math.sqrt(2 * self.loss) or 1.0)

    @cached_property
    def singular(self) -> tuple[Float, Float, Float]:
        """Singular vectors and values of the normalized rows, without those that are round-off."""
        return visible(self.normalized.X)

    @cached_property
    def floor(self) -> float:
        """The fraction of the initial loss that no predictor can remove."""
        if not self.targets.any():
            return 0.0
        rest = self.normalized.design().range.split(self.normalized_targets)[1]
        return float(rest @ rest) / float(self.normalized_targets @ self.normalized_targets)

    def limit(self, model: Any, tol: float) -> tuple[Float, Limit]:
        """The limit of the flow by `tacit.limit`, with its predictor for the original features."""
        if self.roots is None:
            found = limit(model, self.prepared, self.y, tol=tol, least_squares=True, **self._options)
            return found.predictor, found
        found = limit(model, self.rows, self.targets, tol=tol, least_squares=True)
        return self.units.predictor(found.predictor), found

    def flow(self, model: Any, stop: float, rtol: float) -> tuple[Float, Trajectory]:
        """The flow by `tacit.flow` until this fraction of the initial loss is left, with its predictor."""
        at = [-math.log(stop) - math.log(self.loss)]
        if self.roots is None:
            found = flow(model, self.prepared, self.y, at=at, rtol=rtol, **self._options)
            return found.predictor[-1], found
        found = flow(model, self.rows, self.targets, at=at, rtol=rtol)
        return self.units.predictor(found.predictor[-1]), found

    @property
    def _options(self) -> dict[str, Any]:
        """Options of `tacit.limit` and `tacit.flow`, if all weights are equal."""
        return {"intercept": self.design.intercept, "standardize": self.design.standardize}


@dataclass(frozen=True, eq=False)
class Start:
    """An initialization whose scale is relative to the natural size of a coefficient.

    shape: that of `UntiedDiagonal`, for two untied layers; None for tied layers (`Diagonal`). weights: one
    factor of the initial scale for each feature.
    """

    depth: Any
    scale: Any
    shape: Any = None
    weights: Any = None

    def checked_scale(self) -> float:
        """The scale; `InputError` if it is not a positive number."""
        scale = float(as_floats(self.scale, "scale", ndim=(0,)))
        if not scale > 0:
            raise InputError(f"scale must be positive, got {scale}: weights that start at 0 stay at 0")
        return scale

    def model(self, unit: float, features: int) -> Model:
        """The model with initial weights scale·unit^{1/depth}, whose predictor scale is scale^depth·unit.

        unit: the natural size of a coefficient.
        """
        scale = self.checked_scale()
        profile = None if self.weights is None else _profile(self.weights, features)
        depth = float(as_floats(self.depth, "depth", ndim=(0,)))
        if self.shape is None:
            return Diagonal(depth, scale * unit ** (1 / depth), profile)
        if depth != 2:
            raise InputError(f"shape is defined for depth 2 only, got depth {depth:g}: omit one of them")
        return UntiedDiagonal(scale**2 * unit * (1.0 if profile is None else profile**2), self.shape)


def _profile(weights: Any, features: int) -> np.ndarray:
    profile = as_floats(weights, "weights", ndim=(1,))
    if len(profile) != features or not (profile > 0).all():
        raise InputError(f"weights must be {features} positive numbers, one for each feature")
    return profile
