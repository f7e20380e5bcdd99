"""A data set that many questions are asked about."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.data.arrays import Float, as_floats, feature_names, kept
from tacit.data.inputs import Sparse
from tacit.solvers.interpolation.equations import Samples


class Prepared:
    """X, with what was found out about it: taken wherever X is. `tacit.prepare` makes one.

    Attributes
    ----------
    X : (N, d) array
        The features.
    columns : tuple of str, or None
        Their names, if they have any.
    """

    def __init__(self, X: Float, columns: tuple[str, ...] | None):
        self.X, self.columns, self.samples = X, columns, Samples(X)

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


def prepare(X: ArrayLike | Sparse) -> Prepared:
    """X for many questions: what depends on it alone, or on it and y, is computed once.

    `tacit.limit(model, prepared, y)` finds the equations that samples make once for each y, and starts from
    the limit at the nearest scale that was asked about before, if it is near: the answer is the same to
    rounding, in a fraction of the time. It keeps its own copy of X, unless that is larger than 64 MB: then do
    not change it while it is in use.

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
        Where X is no table of finite numbers.
    """
    if isinstance(X, Prepared):
        return X
    names = feature_names(X)
    return Prepared(kept(as_floats(X, "X", ndim=(2,))), names)


def samples_of(X: Any) -> Samples | None:
    """What is known of X, where it was prepared."""
    return X.samples if isinstance(X, Prepared) else None
