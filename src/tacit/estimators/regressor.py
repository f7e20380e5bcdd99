"""Linear regression by gradient flow from a chosen initialization."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin

from tacit.data.arrays import Float, as_floats, check_squares
from tacit.errors import InputError
from tacit.estimators.fit import Fit, fitted
from tacit.estimators.linear_flow import LinearFlow, dense_data
from tacit.estimators.training import Start, Training


class LinearRegressor(RegressorMixin, LinearFlow):
    """Base class of the regressors."""

    coef_: Float
    intercept_: float

    def predict(self, X: ArrayLike) -> Float:
        """Predict X w + b.

        Parameters
        ----------
        X : (N, d) array-like or sparse matrix
            Rows are samples.

        Returns
        -------
        (N,) array
            The predictions.
        """
        return np.asarray(self._inputs(X) @ self.coef_ + self.intercept_)


@dataclass(eq=False, repr=False)
class FlowRegressor(LinearRegressor):
    """Linear regression by gradient flow on a diagonal network, from ridgeless (large scales) to sparse
    solutions.

        argmin Q(w) subject to X w + b = y:    tacit.limit(model_, X, y, intercept=True, least_squares=True)

    Q is the potential of the network's initialization (Woodworth et al. 2020, Theorems 1 and 3): ℓ2 for large
    scales, ℓ1 for small ones. If no predictor fits the data exactly, the flow ends at the least-squares
    solution with the least Q, and `interpolates_` is False. If the flow is stopped early, its predictor has
    the least Q among all predictors with the same outputs on the training data; certificate_, dual_ and
    regime_ then refer to that problem. Sparse X is converted to dense.

    Parameters
    ----------
    scale : float, optional
        Scale of the initial weights, independent of the units of X and y: the weights start at
        scale·u^{1/depth}, so that the predictor's scale is scale^depth·u, with u = rms(y)/rms(X). These root
        mean squares are taken over all entries, after centring if there is an intercept and after
        standardization if `standardize` is set.
    depth : float, optional
        2 or more. The transition to sparse solutions is faster for deeper networks.
    shape : float, optional
        Relative size of two untied layers, as in `tacit.UntiedDiagonal` (depth 2 only); scale² is the scale
        of their product.
    stop : float, optional
        A number between 0 and 1: the flow is stopped when the training loss has fallen to this fraction of
        its initial value (that of the best constant, or of 0 without an intercept). If left out, the limit of
        the flow is computed.
    fit_intercept : bool, optional
        Fit an unpenalized intercept.
    tol : float, optional
        Tolerance of the limit; the tolerance of stopped flows is 100 times larger.
    weights : (d,) array-like, optional
        Prior importance of the features, one positive number each: the factor of their initial scale.
    standardize : bool, optional
        Divide the features by their standard deviations before fitting. The coefficients refer to the
        original features.

    Attributes
    ----------
    coef_ : (d,) array
        The coefficients w.
    intercept_ : float
        The intercept b.
    model_ : Model
        The initialization, as a Tacit model in the units of the data.
    n_iter_ : int
        Number of Newton iterations, or of steps of the flow.
    interpolates_ : bool
        Whether the training data are fitted exactly.
    stopped_ : bool
        Whether the flow was stopped early.

    See Also
    --------
    FlowRegressorCV : Choose scale, depth and stop by cross-validation.

    Examples
    --------
    >>> from tacit.estimators import FlowRegressor
    >>> regressor = FlowRegressor(scale=1e-6, fit_intercept=False).fit([[1, 2]], [2])
    >>> regressor.coef_.round(3).tolist()
    [0.0, 1.0]
    """

    scale: float = 1e-3
    depth: float = 2
    shape: Any = None
    stop: float | None = None
    fit_intercept: bool = True
    tol: float = 1e-10
    weights: Any = None
    standardize: bool = False

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> FlowRegressor:
        """Fit the model.

        Parameters
        ----------
        X : (N, d) array-like or sparse matrix
            Rows are samples.
        y : (N,) array-like
            Targets.
        sample_weight : (N,) array-like, optional
            Weights of the squares in the loss. They change the path of the flow, and its limit if the data
            cannot be fitted exactly.

        Returns
        -------
        FlowRegressor
            The fitted estimator.
        """
        stop = check_stop(self.stop)
        X, y, weights = regression_data(self, X, y, sample_weight)
        training = Training.of(X, y, weights, self.fit_intercept, self.standardize)
        start = Start(self.depth, self.scale, self.shape, self.weights)
        set_fit(self, fitted(training, start, stop, self.tol))
        return self


def regression_data(estimator: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Float, Float, Float | None]:
    """Validate X, y and sample weights with scikit-learn, and make X dense."""
    X, y, weights = dense_data(estimator, X, y, sample_weight, y_numeric=True)
    y = np.asarray(y, dtype=np.float64)
    check_squares(X, y)
    return X, y, weights


def set_fit(estimator: Any, fit: Fit) -> None:
    """Set the attributes of a fitted regressor."""
    estimator._fits = [fit]
    estimator.coef_ = fit.predictor
    estimator.intercept_ = fit.intercept
    estimator.model_ = fit.model
    estimator.n_iter_ = fit.iterations
    estimator.interpolates_ = fit.interpolates
    estimator.stopped_ = fit.stopped


def check_stop(stop: Any) -> float | None:
    """Validate stop: a fraction of the loss, or None."""
    if stop is None:
        return None
    fraction = float(as_floats(stop, "stop", ndim=(0,)))
    if not 0 < fraction < 1:
        raise InputError(f"stop must be a fraction of the loss between 0 and 1, or None, got {stop!r}")
    return fraction
