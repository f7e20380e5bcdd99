r"""An intercept, and features in units of their own: data as solvers take them, and the way back.

f(x) = w·x + b, with b in no potential. Under the square loss the best b for any w is the mean of y − Xw, and
with it in place the loss sees X and y only by their deviations from the mean: what a model picks for these
is what it picks beside a free intercept. Standardized features are divided by their standard deviation s, so
that the potential acts on s·w; w itself is given back for the features as they came.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.data.arrays import Float, as_floats, as_labels
from tacit.errors import InputError

_CONSTANT = 8 * float(np.finfo(np.float64).eps)  # deviation, relative to the size, that is rounding
_FITTED = 1e-10  # relative residual that is rounding


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

    @classmethod
    def of(cls, X: Float, y: Float, intercept: bool, standardize: bool) -> Units:
        """The units of these data."""
        scale = _standard_deviation(X) if standardize else np.ones(X.shape[1:])
        center, target = (_mean(each) if intercept else np.zeros(each.shape[1:]) for each in (X, y))
        return cls(scale, center, target, bool(intercept), bool(standardize))

    @property
    def plain(self) -> bool:
        """Are the data taken as they are?"""
        return not (self.intercept or self.standardized)

    def divided(self, X: Float) -> Float:
        """X in units of the scale."""
        return X / self.scale if self.standardized else X

    def features(self, X: Float) -> Float:
        """X as the solver takes it, centred beside an intercept."""
        return self.divided(deviations(X) if self.intercept else X)

    def targets(self, y: Float) -> Float:
        """y as the solver takes it."""
        return deviations(y) if self.intercept else y

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


def in_units(X: Float, y: Any, intercept: bool, standardize: bool) -> tuple[Float, Any]:
    """Data whose plain problem is that of X and y beside an intercept, or with standardized features.

    Centred samples are dependent, and of which numbers they are the rounding cannot be seen any more: they
    are turned to the axes of their range, where every flow on the square loss is the same but for its clock.
    """
    if not (intercept or standardize):
        return X, y
    units = Units.of(X, np.zeros(len(X)), False, standardize)
    if not intercept:
        return units.features(X), y
    try:
        targets = as_floats(y, "y", ndim=(1,))
    except InputError:
        targets = as_labels(y, "an intercept")
    inputs, targets = units.divided(deviations(X)), deviations(targets)
    basis, sizes, _ = np.linalg.svd(inputs, full_matrices=False)
    rank = int((sizes > max(X.shape) * _CONSTANT * np.abs(units.divided(X)).max()).sum())
    axes = basis[:, :rank].T
    left = targets - axes.T @ (axes @ targets)
    if rank == 0 or np.linalg.norm(left) > _FITTED * np.linalg.norm(targets):
        return inputs, targets
    return axes @ inputs, axes @ targets


def deviations(values: Float) -> Float:
    """From the mean over the samples; exactly 0 where all are equal up to rounding."""
    apart = values - values.mean(axis=0)
    apart -= apart.mean(axis=0)  # what rounding has left of a mean that is large beside the deviations
    return np.where(_constant(values, apart), 0.0, apart)


def _mean(values: Float) -> Float:
    first = values.mean(axis=0)
    return np.asarray(first + (values - first).mean(axis=0))


def _constant(values: Float, apart: Float) -> Any:
    return np.abs(apart).max(axis=0) <= _CONSTANT * np.abs(values).max(axis=0)


def _standard_deviation(X: Float) -> Float:
    """Of each feature; 1 for those that do not vary."""
    apart = deviations(X)
    largest = np.abs(apart).max(axis=0)
    unit = np.where(largest > 0, largest, 1.0)  # no square overflows in it
    return np.where(largest > 0, unit * np.sqrt(np.mean((apart / unit) ** 2, axis=0)), 1.0)
