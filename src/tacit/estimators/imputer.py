"""Filling missing values by matrix factorization with gradient flow."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.impute import MissingIndicator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from tacit.data.arrays import Float
from tacit.errors import InputError
from tacit.models.linear import as_deviation, as_size
from tacit.verbs.complete import Completion, complete, unobserved

# Smallest noise variance relative to that of the features: bounds the condition number of the kernel matrix.
_LEAST_NOISE = 1e-12


@dataclass(eq=False, repr=False)
class FlowImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Fill missing values with U Vᵀ, and optionally row and column effects, fitted by gradient flow.

        x_ij = m + r_i + c_j + (U Vᵀ)_ij,    (U, V)' = −∇L(U, V) until the error on held-out cells is least

    `fit` holds out a tenth of the observed cells, chooses the scale of the initial weights and the time at
    which the flow stops on them, and then fits all cells from the same scale for the same time. Small scales
    raise the rank one by one (Woodworth et al. 2020, Section 6; `tacit.Factorization`), and stopping keeps
    the noise from being fitted. The effects are fitted first, by least squares without a penalty. A row or
    column without observed values is filled by the effects of the others, with a warning.

    `transform` fills the rows of the training data with this fit. It fills other rows with the best linear
    prediction from their observed values, for features of covariance V C Vᵀ + σ² I, where C is the second
    moment of the rows of U and σ the held-out error; their effect r is not penalized. Features of different
    units should be standardized before.

    Parameters
    ----------
    scale : float, optional
        Standard deviation of the initial weights, in units of √(root mean square of the observed values). If
        left out, it is chosen on the held-out cells.
    width : int, optional
        Number of columns of U and V; by default the smaller side of the table, at most 50.
    effects : bool, optional
        Subtract row and column effects. If left out, they are subtracted if this lowers the held-out error.
    add_indicator : bool, optional
        Append one column for each feature with missing values in the training data, which marks them.
    random_state : int, RandomState or None, optional
        Selects the held-out cells and the initial weights.

    Attributes
    ----------
    completion_ : Completion
        Effects, factors, the chosen point (effects, scale, time, accuracy, error) and the whole path.
    scale_ : float
        The scale.
    held_out_error_ : float
        Root mean square error on the held-out cells.
    indicator_ : MissingIndicator or None
        The indicator.

    See Also
    --------
    tacit.Factorization : The model.

    Examples
    --------
    >>> import numpy as np
    >>> from tacit.estimators import FlowImputer
    >>> table = np.outer(np.arange(1.0, 9.0), [1.0, 2.0, 3.0, 4.0])
    >>> table[0, 1] = table[5, 2] = np.nan
    >>> filled = FlowImputer(effects=False, random_state=0).fit_transform(table)
    >>> filled[[0, 5], [1, 2]].round(2).tolist()
    [2.0, 18.0]
    """

    scale: float | None = None
    width: int | None = None
    effects: bool | None = None
    add_indicator: bool = False
    random_state: Any = 0

    def fit(self, X: ArrayLike, y: Any = None) -> FlowImputer:
        """Fit effects and factors.

        Parameters
        ----------
        X : (N, d) array-like
            Rows are samples; NaN is missing.
        y : object, optional
            Ignored.

        Returns
        -------
        FlowImputer
            The fitted estimator.
        """
        if self.scale is not None and not as_deviation(self.scale, "scale"):
            raise InputError("scale must be positive, got 0; weights that start at 0 stay at 0")
        width = None if self.width is None else as_size(self.width, "width")
        values = self._values(X, reset=True)
        if np.isnan(values).all():
            raise InputError("X has no observed values: all are missing")
        if empty := unobserved(values):
            warnings.warn(f"{empty}; filled by the effects of the others", stacklevel=2)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.completion_: Completion = complete(values, self.scale, width, self.effects, seed)
        self.scale_, self.held_out_error_ = self.completion_.chosen.scale, self.completion_.chosen.error
        self._filled = self.completion_.matrix()
        self._known = {row.tobytes(): i for i, row in reversed(list(enumerate(values)))}
        self.indicator_ = None
        if self.add_indicator:
            self.indicator_ = MissingIndicator(error_on_new=False).fit(values)
        return self

    def transform(self, X: ArrayLike) -> Float:
        """Fill the missing values.

        Parameters
        ----------
        X : (N, d) array-like
            Rows are samples; NaN is missing.

        Returns
        -------
        (N, d) array
            X with observed values unchanged; with `add_indicator`, more columns.
        """
        check_is_fitted(self)
        values = self._values(X, reset=False)
        filled = values.copy()
        for i in np.flatnonzero(np.isnan(values).any(axis=1)):
            gaps = np.isnan(values[i])
            filled[i, gaps] = self._row(values[i])[gaps]
        return filled if self.indicator_ is None else np.hstack([filled, self.indicator_.transform(values)])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The names of the columns of the output.

        Parameters
        ----------
        input_features : array-like of str, optional
            The names of the features, by default those of the training data.

        Returns
        -------
        array of str
            The names of the features and, with `add_indicator`, those of the indicators.
        """
        check_is_fitted(self)
        names = super().get_feature_names_out(input_features)
        if self.indicator_ is None:
            return np.asarray(names, dtype=object)
        return np.concatenate([names, self.indicator_.get_feature_names_out(names)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _values(self, X: Any, reset: bool) -> Float:
        """X as floats, with one bit pattern for NaN and for zero, since rows are compared by bytes."""
        values = validate_data(self, X, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan")
        return np.where(np.isnan(values), np.nan, values + 0.0)

    def _row(self, values: Float) -> Float:
        """All values of a row: those of the training data, or the best linear prediction."""
        fit, known = self.completion_, self._known.get(values.tobytes())
        if known is not None:
            return np.asarray(self._filled[known])
        plain, seen = fit.additive_fit.mean + fit.additive_fit.columns, ~np.isnan(values)
        if not seen.any():
            return np.asarray(plain)
        base = np.where(fit.seen[1], fit.effects.mean + fit.effects.columns, plain)
        moments = fit.left.T @ fit.left / len(fit.left)
        loadings, rest = fit.right @ moments, values[seen] - base[seen]
        cross = loadings @ fit.right[seen].T
        noise = max(fit.chosen.error**2, _LEAST_NOISE * float(np.trace(cross[seen])), np.finfo(float).tiny)
        kernel = cross[seen] + noise * np.eye(int(seen.sum()))
        effect = 0.0
        if fit.chosen.effects:
            weights = np.linalg.solve(kernel, np.ones(len(rest)))
            effect = float(weights @ rest / weights.sum())
        return np.asarray(base + effect + cross @ np.linalg.solve(kernel, rest - effect))
