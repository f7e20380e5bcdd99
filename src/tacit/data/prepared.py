"""The prepared problem: what depends on X, weights, intercept and units, found out when first needed, once.

    Prepared    X, checked, for any number of questions
    Design      X as one kind of question takes it: centred beside an intercept, standardized, weighted

What depends on y too is remembered under y's bytes, in the memory of the design.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from tacit.data.arrays import Float, as_floats, feature_names, kept
from tacit.data.equations import Samples
from tacit.data.units import Spread, Units, deviations, mean, standard_deviation
from tacit.numerics.separation import check_separable
from tacit.numerics.subspaces import Range


class Design:
    """Features as a problem takes them, and everything that is computed from them alone.

    X: as they came. intercept, standardize: what was asked for. roots: √s of the weights s of samples, of
    mean square 1; None where all weigh the same.
    """

    def __init__(
        self, X: Float, intercept: bool = False, standardize: bool = False, roots: Float | None = None
    ):
        self.X, self.intercept, self.standardize, self.roots = X, bool(intercept), bool(standardize), roots

    def __reduce__(self) -> Any:
        return Design, (self.X, self.intercept, self.standardize, self.roots)

    @property
    def plain(self) -> bool:
        """Are the data taken as they are?"""
        return not (self.intercept or self.standardize)

    # Units, and the features in them

    @cached_property
    def scale(self) -> Float:
        """What each feature is divided by."""
        return standard_deviation(self.X, self.roots) if self.standardize else np.ones(self.X.shape[1:])

    @cached_property
    def center(self) -> Float:
        """The means of the features, 0 without an intercept."""
        return mean(self.X, self.roots) if self.intercept else np.zeros(self.X.shape[1:])

    @cached_property
    def spread(self) -> Spread | None:
        """The scale to twice the digits of floats; None where nothing is divided."""
        return Spread(self.X, self.scale, self.roots is not None) if self.standardize else None

    def units(self, y: Float) -> Units:
        """The way back, for these targets."""
        target = mean(y, self.roots) if self.intercept else np.zeros(y.shape[1:])
        return Units(self.scale, self.center, target, self.intercept, self.standardize)

    @cached_property
    def features(self) -> Float:
        """X centred and divided, in floats: for limits and margins, which have all digits from `samples`."""
        apart = deviations(self.X, self.roots) if self.intercept else self.X
        return kept(apart / self.scale if self.standardize else apart)

    @cached_property
    def rounded(self) -> Float:
        """The same, correctly rounded: for flows, which have floats only to tell tied features by."""
        return self.features if self.spread is None else kept(self.spread.divided(self.intercept))

    def targets(self, y: Float) -> Float:
        """y as it belongs to the features."""
        return deviations(y, self.roots) if self.intercept else y

    # Samples of equal weight that have the same loss, and are independent again

    @cached_property
    def rows(self) -> Float:
        """The features times √s, reflected beside an intercept."""
        return self.reflected(self.features)

    def reflected(self, values: Float) -> Float:
        """Values of samples times √s, turned so that beside an intercept the first is 0.

        Centred samples depend on each other: the reflection that takes √s to the first axis leaves the loss
        as it is, makes one of them exactly 0 and the others independent.
        """
        weighted = values if self.roots is None else (self.roots * values.T).T
        if not self.intercept:
            return weighted
        turned = self._turn(weighted)
        turned[0] = 0.0  # but for rounding
        return turned

    def multipliers(self, nu: Float) -> Float:
        """Those of the samples, from those of `rows`."""
        nu = self._turn(nu) if self.intercept else nu
        return nu if self.roots is None else nu * self.roots

    def _turn(self, values: Float) -> Float:
        """The reflection, its own inverse."""
        normal = np.ones(len(self.X)) if self.roots is None else self.roots.copy()
        normal[0] += np.linalg.norm(normal)
        return np.asarray(values - np.multiply.outer(2 * normal / (normal @ normal), normal @ values))

    # Rank, equations, classes

    @cached_property
    def range(self) -> Range:
        """What targets flows can fit, of the features as they take them."""
        return Range(self.rounded.reshape(len(self.X), -1))

    @cached_property
    def samples(self) -> Samples:
        """The left side of X w = y, or of X w + b = y, with all digits of X."""
        return Samples(self.X.reshape(len(self.X), -1), self.intercept, self.spread)

    @cached_property
    def spectrum(self) -> tuple[Float, tuple[Float, Float]]:
        """XXᵀ of the features, and its eigenvalues, the largest last, with their vectors."""
        gram = self.rounded @ self.rounded.T
        values, turn = np.linalg.eigh(gram)
        return gram, (values, turn)

    def fittable(self, y: Float) -> tuple[Float, Float]:
        """BᵀX and Bᵀy, B an orthonormal basis of the range: a flow on the square loss is the same there.

        Features and targets themselves where every y can be fitted, or this one cannot.
        """
        inputs, targets = self.rounded, self.targets(y)
        if self.range.full:
            return inputs, targets
        seen, rest = self.range.split(targets)
        return (inputs, targets) if rest.any() else (self.range.turned, seen)

    def check_separable(self, y: Float) -> None:
        """Return if a hyperplane, through 0 or beside an intercept any, separates the classes y = ±1."""
        self.samples.memory.once(("separable", y.tobytes()), lambda: self._separable(y))

    def _separable(self, y: Float) -> bool:
        features = self.features.reshape(len(y), -1)
        unit = float(np.abs(features).max()) or 1.0  # the column of the intercept is as large as the others
        check_separable(np.column_stack([features, np.full(len(y), unit)]) if self.intercept else features, y)
        return True


class Prepared:
    """X, with what was found out about it: taken wherever X is. `tacit.prepare` makes one.

    Attributes
    ----------
    X : (N, d) array
        The features.
    columns : tuple of str, or None
        Their names, if they have any.
    """

    def __init__(self, X: Float, columns: tuple[str, ...] | None = None):
        self.X, self.columns = X, columns
        self._designs: dict[tuple[bool, bool], Design] = {}

    def __reduce__(self) -> Any:
        return Prepared, (self.X, self.columns)

    def __repr__(self) -> str:
        return f"Prepared({self.X.shape[0]:,} samples × {self.X.shape[1]:,} features)"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.X, dtype=dtype) if copy else np.asarray(self.X, dtype=dtype)

    def __len__(self) -> int:
        return len(self.X)

    @property
    def shape(self) -> tuple[int, ...]:
        """Samples and features."""
        return self.X.shape

    def design(self, intercept: bool = False, standardize: bool = False) -> Design:
        """X as solvers and flows take it.

        Parameters
        ----------
        intercept, standardize : bool, optional
            As for `tacit.limit`.

        Returns
        -------
        Design
            The same one each time.
        """
        key = (bool(intercept), bool(standardize))
        if key not in self._designs:
            self._designs[key] = Design(self.X, *key)
        return self._designs[key]


# Theorems and figures hand on arrays. One that belongs to a `Prepared` is known by its identity: no one can
# write to it, and as long as it is listed here its `Prepared` holds it, so that no other takes its place.
_KNOWN: WeakValueDictionary[int, Prepared] = WeakValueDictionary()


def prepare(X: Any) -> Prepared:
    """X for many questions: what depends on it alone, or on it and y, is computed once.

    `tacit.limit(model, prepared, y)` finds the equations that samples make once for each y, and starts from
    the limit at the nearest scale that was asked about before, if it is near: the answer is the same to
    rounding, in a fraction of the time. It keeps its own copy of X, unless that is larger than 64 MB: then do
    not change it while it is in use. `prepared.X` is recognized wherever it is given in place of `prepared`.

    Parameters
    ----------
    X : (N, d) array-like
        Rows are samples.

    Returns
    -------
    Prepared
        Taken by every verb in place of X.

    Raises
    ------
    InputError
        If X is no table of finite numbers.
    """
    known = known_as(X)
    if known is None:
        known = Prepared(kept(as_floats(X, "X", ndim=(2,))), feature_names(X))
        if not known.X.flags.writeable:
            _KNOWN[id(known.X)] = known
    return known


def known_as(X: Any) -> Prepared | None:
    """The `Prepared` that X is, or belongs to."""
    return X if isinstance(X, Prepared) else _KNOWN.get(id(X))


def design_of(given: Any, X: Float, intercept: bool = False, standardize: bool = False) -> Design:
    """That of what a verb was given, checked as X; one of its own where it was not prepared."""
    prepared = known_as(given) or Prepared(X if X.ndim > 2 else kept(X))
    return prepared.design(intercept, standardize)
