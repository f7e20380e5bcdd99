"""The prepared problem: everything that depends on X, computed lazily and once.

    Prepared    validated X, shared by any number of problems
    Design      X for one kind of problem: centred if there is an intercept, standardized, weighted

Results that also depend on y are cached in the memory of the design, with the bytes of y as key.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import ArrayLike

from tacit.data.arrays import Float, as_floats, feature_names, kept
from tacit.data.entries import Sparse
from tacit.data.equations import Samples
from tacit.data.units import Spread, Units, deviations, mean, standard_deviation
from tacit.numerics.separation import check_separable
from tacit.numerics.subspaces import Range


class Design:
    """The features of a problem, and everything that is computed from them alone.

    X: the original features. roots: square roots √s of sample weights s with mean 1; None for equal weights.
    """

    def __init__(
        self, X: Float, intercept: bool = False, standardize: bool = False, roots: Float | None = None
    ):
        self.X, self.intercept, self.standardize, self.roots = X, bool(intercept), bool(standardize), roots

    def __reduce__(self) -> Any:
        return Design, (self.X, self.intercept, self.standardize, self.roots)

    @property
    def plain(self) -> bool:
        """Whether the data are used unchanged."""
        return not (self.intercept or self.standardize)

    # Units

    @cached_property
    def scale(self) -> Float:
        """Standard deviations by which features are divided; 1 unless standardized."""
        return standard_deviation(self.X, self.roots) if self.standardize else np.ones(self.X.shape[1:])

    @cached_property
    def center(self) -> Float:
        """Means of the features; 0 without an intercept."""
        return mean(self.X, self.roots) if self.intercept else np.zeros(self.X.shape[1:])

    @cached_property
    def spread(self) -> Spread | None:
        """The scale in double-double arithmetic; None unless standardized."""
        return Spread(self.X, self.scale, self.roots is not None) if self.standardize else None

    def units(self, y: Float) -> Units:
        """The map between predictors of `features` and of X, for these targets."""
        target = mean(y, self.roots) if self.intercept else np.zeros(y.shape[1:])
        return Units(self.scale, self.center, target, self.intercept, self.standardize)

    @cached_property
    def features(self) -> Float:
        """X centred and divided, in double precision; limits and margins refine with the exact `samples`."""
        centred = deviations(self.X, self.roots) if self.intercept else self.X
        return kept(centred / self.scale if self.standardize else centred)

    @cached_property
    def rounded(self) -> Float:
        """Features, correctly rounded: proportional ones become equal, which is how flows detect ties."""
        return self.features if self.spread is None else kept(self.spread.divided(self.intercept))

    def targets(self, y: Float) -> Float:
        """The targets that belong to `features`: y, centred if there is an intercept."""
        return deviations(y, self.roots) if self.intercept else y

    # Unweighted samples with the same loss, linearly independent even after centring

    @cached_property
    def rows(self) -> Float:
        """The features times √s, reflected if there is an intercept."""
        return self.reflected(self.features)

    def reflected(self, values: Float) -> Float:
        """Multiply values of samples by √s; with an intercept, also reflect them so that the first becomes 0.

        Centred samples are linearly dependent. The Householder reflection that maps √s to the first axis
        keeps the loss, makes the first sample exactly 0 and leaves the others independent.
        """
        weighted = values if self.roots is None else (self.roots * values.T).T
        if not self.intercept:
            return weighted
        turned = self._reflect(weighted)
        turned[0] = 0.0  # it is round-off
        return turned

    def multipliers(self, nu: Float) -> Float:
        """Map multipliers of `rows` to multipliers of the samples."""
        nu = self._reflect(nu) if self.intercept else nu
        return nu if self.roots is None else nu * self.roots

    def _reflect(self, values: Float) -> Float:
        """Apply the Householder reflection, which is its own inverse."""
        normal = np.ones(len(self.X)) if self.roots is None else self.roots.copy()
        normal[0] += np.linalg.norm(normal)
        return np.asarray(values - np.multiply.outer(2 * normal / (normal @ normal), normal @ values))

    # Rank, equations, separability

    @cached_property
    def range(self) -> Range:
        """The range of the features: the targets that a flow can fit exactly."""
        return Range(self.rounded.reshape(len(self.X), -1))

    @cached_property
    def samples(self) -> Samples:
        """The left-hand side of X w = y, or of X w + b = y, without rounding X."""
        return Samples(self.X.reshape(len(self.X), -1), self.intercept, self.spread)

    @cached_property
    def spectrum(self) -> tuple[Float, tuple[Float, Float]]:
        """XXᵀ of the features, and its eigenvalues in increasing order with eigenvectors."""
        gram = self.rounded @ self.rounded.T
        values, vectors = np.linalg.eigh(gram)
        return gram, (values, vectors)

    def fittable(self, y: Float) -> tuple[Float, Float]:
        """BᵀX and Bᵀy with an orthonormal basis B of the range: the flow of the square loss is the same.

        Returns features and targets unchanged if every y can be fitted, or if this y cannot.
        """
        inputs, targets = self.rounded, self.targets(y)
        if self.range.full:
            return inputs, targets
        projected, rest = self.range.split(targets)
        return (inputs, targets) if rest.any() else (self.range.projected, projected)

    def check_separable(self, y: Float) -> None:
        """Raise unless a hyperplane (through 0 without an intercept) separates the classes y = ±1."""
        self.samples.memory.once(("separable", y.tobytes()), lambda: self._separable(y))

    def _separable(self, y: Float) -> bool:
        features = self.features.reshape(len(y), -1)
        unit = float(np.abs(features).max()) or 1.0  # size of the intercept column
        check_separable(np.column_stack([features, np.full(len(y), unit)]) if self.intercept else features, y)
        return True


class Prepared:
    """X together with cached results about it; accepted wherever X is. `tacit.prepare` makes one.

    Attributes
    ----------
    X : (N, d) array
        The features.
    columns : tuple of str, or None
        Their names, if they have any.

    Examples
    --------
    >>> import tacit
    >>> tacit.prepare([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    Prepared(3 samples × 2 features)
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
        """Shape of X: samples, features."""
        return self.X.shape

    def design(self, intercept: bool = False, standardize: bool = False) -> Design:
        """Return the cached `Design` for these options.

        Parameters
        ----------
        intercept, standardize : bool, optional
            As for `tacit.limit`.

        Returns
        -------
        Design
            The same object each time.
        """
        key = (bool(intercept), bool(standardize))
        if key not in self._designs:
            self._designs[key] = Design(self.X, *key)
        return self._designs[key]


# Theorems and figures pass arrays on, so that an array that belongs to a `Prepared` is recognized by its id.
# This is safe: the array is read-only, and while it is listed its `Prepared` keeps it alive, so the id is not
# reused.
_KNOWN: WeakValueDictionary[int, Prepared] = WeakValueDictionary()


def prepare(X: ArrayLike | Sparse) -> Prepared:
    """Prepare X for several problems: computations that depend only on X, or on X and y, are done once.

    `tacit.limit(model, prepared, y)` sets up its equations once for each y and starts from the limit at the
    nearest scale that was computed before. The result is the same up to round-off, in a fraction of the time.
    X is copied unless it is larger than 64 MB; do not change a larger one while it is in use. `prepared.X`
    can be passed in place of `prepared`.

    Parameters
    ----------
    X : (N, d) array-like
        Rows are samples.

    Returns
    -------
    Prepared
        Accepted by every function in place of X.

    Raises
    ------
    InputError
        If X is not a two-dimensional array of finite numbers.

    Examples
    --------
    >>> import tacit
    >>> prepared = tacit.prepare([[1.0, 2.0]])
    >>> tacit.limit(tacit.Diagonal(scale=100.0), prepared, [5.0]).predictor.round(3).tolist()
    [1.0, 2.0]
    """
    known = known_as(X)
    if known is None:
        known = Prepared(kept(as_floats(X, "X", ndim=(2,))), feature_names(X))
        if not known.X.flags.writeable:
            _KNOWN[id(known.X)] = known
    return known


def known_as(X: Any) -> Prepared | None:
    """Return X if it is a `Prepared`, the `Prepared` to which the array X belongs, or None."""
    return X if isinstance(X, Prepared) else _KNOWN.get(id(X))


def design_of(given: Any, X: Float, intercept: bool = False, standardize: bool = False) -> Design:
    """Return the design of an argument `given`; X is its validated array, used if it was not prepared."""
    prepared = known_as(given) or Prepared(X if X.ndim > 2 else kept(X))
    return prepared.design(intercept, standardize)
