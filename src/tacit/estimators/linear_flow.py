"""Base classes of the estimators: linear models fitted by gradient flow, and classifiers among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from tacit.data.arrays import Float
from tacit.estimators.calibration import Calibration
from tacit.results.paths import CoefficientPath


class LinearFlow(BaseEstimator):
    """Base class of linear models fitted by gradient flow.

    After fitting, `_fits` has one fit, or one for each class if there are more than two.
    """

    _fits: list[Any]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def certificate_(self) -> Any:
        """The KKT certificate of the fit; a tuple, one for each class, if there are more than two.

        For margins, the conditions are those of the maximum margin; for other fits, those of the least Q
        among all predictors with the same outputs on the training data.
        """
        return self._of_fits("certificate")

    @property
    def regime_(self) -> Any:
        """The regime: kernel, rich or intermediate; a tuple if there are more than two classes."""
        return self._of_fits("regime")

    @property
    def dual_(self) -> Any:
        """The multipliers ν of the training samples: ∇Q(w) = Xᵀν, or Σ ν_n y_n x_n for labels y_n = ±1."""
        dual = self._of_fits("dual")
        return np.array(dual) if isinstance(dual, tuple) else dual

    def path(self, scales: ArrayLike | None = 30) -> Any:
        """Coefficients as functions of the scale, with all other parameters fixed.

        The predictors of stopped flows have a relative accuracy of 1e-3.

        Parameters
        ----------
        scales : int or sequence of float, optional
            The number of scales, from the kernel end down, or the scales themselves.

        Returns
        -------
        CoefficientPath, or a tuple of them
            One for each class if there are more than two.
        """
        paths = tuple(self._paths(scales))
        return paths[0] if len(paths) == 1 else paths

    def plot_path(self, file: Any = None, scales: ArrayLike | None = 30, ax: Any = None) -> Any:
        """Plot the path; that of the first class if there are more than two.

        Parameters
        ----------
        file : path, optional
            The file to write; its extension determines the format.
        scales : int or sequence of float, optional
            The number of scales, from the kernel end down, or the scales themselves.
        ax : matplotlib.axes.Axes, optional
            Your own axes to draw into.

        Returns
        -------
        Path, matplotlib.figure.Figure or axes
            The path of the file, `ax` if it is given, or a figure, which a notebook displays once.
        """
        return next(self._paths(scales)).plot(file, ax)

    def _of_fits(self, name: str) -> Any:
        check_is_fitted(self)
        values = tuple(getattr(fit, name) for fit in self._fits)
        return values[0] if len(values) == 1 else values

    def _paths(self, scales: Any) -> Iterator[CoefficientPath]:
        """The paths of all classes, each computed when it is needed."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        return (fit.path(scales, None if names is None else tuple(names)) for fit in self._fits)

    def _inputs(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(self, X, accept_sparse="csr", reset=False)


class OneAgainstOthers(ClassifierMixin, LinearFlow):
    """A classifier with one predictor for two classes, and one for each class if there are more."""

    classes_: NDArray[Any]
    coef_: Float
    intercept_: Float

    def decision_function(self, X: ArrayLike) -> Float:
        """The decision function w·x + b.

        Parameters
        ----------
        X : (N, d) array-like or sparse matrix
            Rows are samples.

        Returns
        -------
        (N,) or (N, classes) array
            One number for each sample, or one for each class if there are more than two.
        """
        scores = np.asarray(self._inputs(X) @ self.coef_.T + self.intercept_)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the class of every sample.

        Parameters
        ----------
        X : (N, d) array-like or sparse matrix
            Rows are samples.

        Returns
        -------
        (N,) array
            The labels.
        """
        codes = _codes(self.decision_function(X))
        return np.asarray(self.classes_[codes])


class Probabilistic(OneAgainstOthers):
    """A classifier with probabilities. After fitting, `_calibrate` returns its calibration."""

    _calibrate: Callable[[], Calibration]

    def predict_proba(self, X: ArrayLike) -> Float:
        """The probabilities of the classes, by Platt scaling on held-out samples.

        A sigmoid of the decision function, fitted to its values for samples that cross-validation held out
        (Platt 1999); with more than two classes one for each class, divided by their sum. Where the sigmoids
        disagree with `predict`, which happens close to the decision boundary, the predicted class gets the
        largest of the probabilities.

        Parameters
        ----------
        X : (N, d) array-like or sparse matrix
            Rows are samples.

        Returns
        -------
        (N, classes) array
            The probabilities, in the order of `classes_`.
        """
        scores = self.decision_function(X)
        values = scores[:, None] if scores.ndim == 1 else scores
        return self._calibrate().probabilities(values, _codes(scores))

    def predict_log_proba(self, X: ArrayLike) -> Float:
        """The logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : (N, d) array-like or sparse matrix
            Rows are samples.

        Returns
        -------
        (N, classes) array
            The logarithms, in the order of `classes_`.
        """
        return np.asarray(np.log(self.predict_proba(X)))


def _codes(scores: Float) -> NDArray[np.intp]:
    """The indices of the predicted classes."""
    return (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)


def dense_data(
    estimator: Any, X: Any, y: Any, sample_weight: Any, **options: Any
) -> tuple[Float, NDArray[Any], Float | None]:
    """Validate X, y and sample weights with scikit-learn, and make X dense."""
    X, y = validate_data(estimator, X, y, accept_sparse="csr", dtype=np.float64, **options)
    X = X.toarray() if hasattr(X, "toarray") else X
    weights = None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64)
    return X, y, weights
