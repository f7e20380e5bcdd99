"""What linear classifiers that were fitted by flows have in common."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

from tacit.data.arrays import Float
from tacit.estimators.linear_flow import LinearFlow


class OneAgainstOthers(ClassifierMixin, LinearFlow):
    """A classifier with one predictor for two classes, and one for each of more."""

    classes_: NDArray[Any]
    coef_: Float
    intercept_: Float

    def decision_function(self, X: ArrayLike) -> Float:
        """x·w + b.

        Parameters
        ----------
        X : (N, d) array-like or sparse matrix
            Rows are samples.

        Returns
        -------
        (N,) or (N, classes) array
            One number for two classes, one for each of more.
        """
        scores = np.asarray(self._inputs(X) @ self.coef_.T + self.intercept_)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The class of every sample.

        Parameters
        ----------
        X : (N, d) array-like or sparse matrix
            Rows are samples.

        Returns
        -------
        (N,) array
            Labels.
        """
        scores = self.decision_function(X)
        places = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[places])

    @property
    def certificate_(self) -> Any:
        """The KKT conditions of the margin, or of least Q among predictors with the outputs of the flow."""
        return self._each("certificate")

    @property
    def regime_(self) -> Any:
        """Kernel, rich, or in between; computed when first asked for."""
        return self._each("regime")

    @property
    def dual_(self) -> Any:
        """The multipliers of the training samples, ∇Q(w) = Σ ν_n y_n x_n."""
        found = self._each("dual")
        return np.array(found) if isinstance(found, tuple) else found

    def _each(self, name: str) -> Any:
        found = tuple(getattr(fit, name) for fit in self._fitted())
        return found[0] if len(found) == 1 else found
