"""Regression by a flow from a chosen initialization."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.validation import _check_sample_weight, validate_data

from tacit.data.arrays import Float, as_floats, check_squares
from tacit.errors import InputError
from tacit.estimators.fit import Fit, fitted
from tacit.estimators.linear_flow import LinearFlow
from tacit.estimators.start import Start
from tacit.estimators.training import Training


class LinearRegressor(RegressorMixin, LinearFlow):
    """What regressors that were fitted by a flow have in common."""

    coef_: Float
    intercept_: float

    def predict(self, X: ArrayLike) -> Float:
        """X w + b.

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


class FlowRegressor(LinearRegressor):
    """Linear regression by the flow of a diagonal network, from ridgeless (large scale) to sparse (small).

        argmin Q(w) subject to X w + b = y:    tacit.limit(model_, X, y, intercept=True, least_squares=True)

    Q is the potential of the network's initialization (Woodworth et al. 2020, Theorems 1 and 3): ℓ2 at large
    scales, ℓ1 at small ones. Where the data cannot be fitted, the flow ends at least squares, of several
    solutions at the one of least Q; then `interpolates_` is False. A flow that is stopped before its end is
    the predictor of least Q, too, among all with the same outputs on the training data: that is what
    certificate_, dual_ and regime_ say of it. Sparse X is accepted and made dense.

    Parameters
    ----------
    scale : float, optional
        Of the weights at initialization, in the data's own units, so that one number means the same for any
        units of X and y: the weights start at scale·u^{1/depth} and the predictor's scale is scale^depth·u,
        with u = rms(y)/rms(X) over all entries of centred X and y (as they are without an intercept, and
        standardized where that is asked for).
    depth : float, optional
        2 or more; the deeper, the sooner sparse.
    shape : float, optional
        How two untied layers compare (`tacit.UntiedDiagonal`; depth 2); scale² is that of their product.
    stop : float, optional
        A share between 0 and 1: the flow is stopped where the training loss has fallen to that share of its
        start, which is that of the best constant (of 0 without an intercept). If left out, it goes to its
        end.
    fit_intercept : bool, optional
        Beside a free intercept, which is in no potential.
    tol : float, optional
        Of the limit; flows are followed to 100 times that.
    weights : (d,) array-like, optional
        One positive number for each feature, prior importance: its weights start at that multiple of the
        scale.
    standardize : bool, optional
        The model of features divided by their standard deviation. Coefficients are for the features as they
        came.

    Attributes
    ----------
    coef_ : (d,) array
        w.
    intercept_ : float
        b.
    model_ : Model
        The start, as a model of Tacit in the units of the data.
    n_iter_ : int
        Steps that were needed.
    interpolates_ : bool
        Are the training data fitted exactly?
    stopped_ : bool
        Was the flow stopped before its end?

    See Also
    --------
    FlowRegressorCV : Scale, depth and stop by cross-validation.

    Examples
    --------
    >>> from tacit.estimators import FlowRegressor
    >>> found = FlowRegressor(scale=1e-6, fit_intercept=False).fit([[1, 2]], [2])
    >>> found.coef_.round(3).tolist()
    [0.0, 1.0]
    """

    def __init__(
        self,
        scale: float = 1e-3,
        depth: float = 2,
        shape: Any = None,
        stop: float | None = None,
        fit_intercept: bool = True,
        tol: float = 1e-10,
        weights: Any = None,
        standardize: bool = False,
    ):
        self.scale = scale
        self.depth = depth
        self.shape = shape
        self.stop = stop
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.weights = weights
        self.standardize = standardize

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> FlowRegressor:
        """Fit the model.

        Parameters
        ----------
        X : (N, d) array-like or sparse matrix
            Rows are samples.
        y : (N,) array-like
            Targets.
        sample_weight : (N,) array-like, optional
            Weighs the squares in the loss: it decides where the flow passes on its way, and where it ends if
            the data cannot be fitted.

        Returns
        -------
        FlowRegressor
            Itself.
        """
        stop = check_stop(self.stop)
        X, y, weights = regression_data(self, X, y, sample_weight)
        training = Training.of(X, y, weights, self.fit_intercept, self.standardize)
        start = Start(self.depth, self.scale, self.shape, self.weights)
        take(self, fitted(training, start, stop, self.tol))
        return self


def regression_data(estimator: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Float, Float, Float | None]:
    """X and y as scikit-learn checks them, dense, and weights of samples where there are some."""
    X, y = validate_data(estimator, X, y, accept_sparse="csr", y_numeric=True, dtype=np.float64)
    X = X.toarray() if hasattr(X, "toarray") else X
    weights = None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64)
    y = np.asarray(y, dtype=np.float64)
    check_squares(X, y)
    return X, y, weights


def take(estimator: Any, fit: Fit) -> None:
    """What an estimator tells of its fit."""
    estimator._fit = fit
    estimator.coef_ = fit.predictor
    estimator.intercept_ = fit.intercept
    estimator.model_ = fit.model
    estimator.n_iter_ = fit.iterations
    estimator.interpolates_ = fit.interpolates
    estimator.stopped_ = fit.stopped


def check_stop(stop: Any) -> float | None:
    """A share of the loss, or None."""
    if stop is None:
        return None
    share = float(as_floats(stop, "stop", ndim=(0,)))
    if not 0 < share < 1:
        raise InputError(f"stop must be a share of the loss between 0 and 1, or None, got {stop!r}")
    return share
