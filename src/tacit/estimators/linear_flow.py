"""What linear models that were fitted by a flow have in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from tacit.data.arrays import Float
from tacit.estimators.path import CoefficientPath


class LinearFlow(BaseEstimator):
    """What linear models that were fitted by a flow have in common."""

    _fit: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _fitted(self) -> Any:
        check_is_fitted(self)
        return self._fit

    @property
    def certificate_(self) -> Any:
        """The KKT conditions: is it of least Q, among all with its outputs on the training data?"""
        return self._fitted().certificate

    @property
    def regime_(self) -> Any:
        """Kernel, rich, or in between; computed when first asked for."""
        return self._fitted().regime

    @property
    def dual_(self) -> Float:
        """The multipliers of the training samples, ∇Q(w) = Xᵀν."""
        found: Float = self._fitted().dual
        return found

    def path(self, scales: ArrayLike | None = 30) -> Any:
        """Coefficients over scales, other things equal.

        The predictors of stopped flows are found to three digits.

        Parameters
        ----------
        scales : int or sequence of float, optional
            How many, from the kernel end down, or which.

        Returns
        -------
        CoefficientPath, or a tuple of them
            One for each class where there are more than two.
        """
        found = tuple(self._paths(scales))
        return found[0] if len(found) == 1 else found

    def plot_path(self, file: Any = None, scales: ArrayLike | None = 30) -> Any:
        """Draw the path: into a file, whose path is returned, or as a figure of Matplotlib.

        Of more than two classes, that of the first.

        Parameters
        ----------
        file : path, optional
            Where to write it; its ending says how.
        scales : int or sequence of float, optional
            How many, from the kernel end down, or which.

        Returns
        -------
        Path or matplotlib.figure.Figure
            The file, or the figure where none was named.
        """
        return next(self._paths(scales)).plot(file)

    def _paths(self, scales: Any) -> Iterator[CoefficientPath]:
        """One by one, each when it is asked for."""
        fits = self._fitted()
        return (fit.path(scales, self._names()) for fit in (fits if isinstance(fits, list) else [fits]))

    def _names(self) -> tuple[str, ...] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else tuple(names)

    def _inputs(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(self, X, accept_sparse="csr", reset=False)
