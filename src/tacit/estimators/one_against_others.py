"""Linear classifiers: the sign of one predictor, or the largest of one predictor for each class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

from tacit.data.arrays import Float
from tacit.estimators.linear_flow import LinearFlow


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
        scores = self.decision_function(X)
        codes = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[codes])
