"""Classification by a flow from a chosen initialization."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from tacit.data.arrays import Float, as_floats, check_squares
from tacit.errors import InputError
from tacit.estimators.binary import LEFT, BinaryFit, TwoClasses
from tacit.estimators.labels import LabelFit
from tacit.estimators.one_against_others import OneAgainstOthers
from tacit.estimators.start import Start
from tacit.estimators.training import Training

SQUARE = "square"


class FlowClassifier(OneAgainstOthers):
    """Linear classification by the flow of a diagonal network, from ℓ2 margins (large scale) to ℓ1 (small).

    Without accuracy and stop, the predictor of largest margin in the potential of the network (Moroshko et
    al. 2020, Section 4), on the way from the ℓ2 to the ℓ1 margin:

        argmin Q_μ(w) subject to y_n(x_n·w + b) ≥ 1:    tacit.max_margin(X, y, model_, intercept=True)

    Data that no linear predictor separates have no margin: they get the flow of the logistic loss; then
    `separable_` is False. The intercept is in no potential: margins have it as a free coordinate, flows at
    its best at every moment, which is gradient flow on min_b of the loss. More than two classes are each set
    against all others; if one of them cannot be separated from them, all are fitted by flows of the logistic
    loss. Sparse X is accepted and made dense.

    Parameters
    ----------
    scale : float, optional
        In the data's own units, so that one number means the same for any unit of X: the predictor's scale is
        scale^depth/s with s the root mean square of X (centred beside an intercept, standardized where that
        is asked for).
    depth : float, optional
        2 or more; the deeper, the sooner sparse.
    mu : float, optional
        The predictor's scale, in the same units; scale^depth if left out.
    accuracy : float, optional
        In place of the margin, the flow of the exponential loss from that scale, stopped where −log(training
        loss) is this.
    fit_intercept : bool, optional
        Beside a free intercept, which is in no potential.
    stop : float, optional
        In place of the margin, the flow of the logistic loss, stopped where this share is left of what it can
        fall by; 0.01 where data cannot be separated and it is left out.
    tol : float, optional
        Of margins; flows are followed to 100 times that.
    weights : (d,) array-like, optional
        One positive number for each feature, prior importance.
    standardize : bool, optional
        The model of features divided by their standard deviation. Coefficients are for the features as they
        came.
    loss : "square", optional
        The flow that fits the labels as if they were the numbers −1 and 1, to its end or to a stop, as
        `FlowRegressor` does: argmin Q_μ(w) subject to x_n·w + b = y_n, or least squares. Margins ask for
        outputs beyond the label, this asks for the label itself.

    Attributes
    ----------
    classes_ : array
        The labels, in order.
    coef_ : (1, d) or (classes, d) array
        w.
    intercept_ : array
        b.
    model_ : Model
        The start, as a model of Tacit in the units of the data.
    n_iter_ : int
        Steps that were needed.
    separable_ : bool
        Has every class a margin?
    loss_ : str
        "margin", "exp", "logistic" or "square".
    accuracy_ : (1,) or (classes,) array
        −log(training loss) where the flow was stopped; infinite for margins.

    See Also
    --------
    FlowClassifierCV : Scale, depth and stop by cross-validation.

    Examples
    --------
    >>> from tacit.estimators import FlowClassifier
    >>> found = FlowClassifier(scale=1e-3).fit([[0, 1], [1, 3], [2, 0]], ["a", "b", "a"])
    >>> found.predict([[1, 4]]).tolist()
    ['b']
    """

    def __init__(
        self,
        scale: float = 1e-3,
        depth: float = 2,
        mu: float | None = None,
        accuracy: float | None = None,
        fit_intercept: bool = True,
        stop: float | None = None,
        tol: float = 1e-10,
        weights: Any = None,
        standardize: bool = False,
        loss: str | None = None,
    ):
        self.scale = scale
        self.depth = depth
        self.mu = mu
        self.accuracy = accuracy
        self.fit_intercept = fit_intercept
        self.stop = stop
        self.tol = tol
        self.weights = weights
        self.standardize = standardize
        self.loss = loss

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> FlowClassifier:
        """Fit the model.

        Parameters
        ----------
        X : (N, d) array-like or sparse matrix
            Rows are samples.
        y : (N,) array-like
            Labels of any kind, two or more.
        sample_weight : (N,) array-like, optional
            Weighs the losses; of margins, which ask for every sample, only whether it is 0 counts (and the
            unit of the scale).

        Returns
        -------
        FlowClassifier
            Itself.
        """
        self._check_options()
        X, codes, weights = labelled_data(self, X, y, sample_weight)
        problems = self._problems(X, codes, weights)
        take(self, problems, solved(problems, self.loss == SQUARE, self.accuracy, self.stop, self.tol))
        return self

    def _check_options(self) -> None:
        asked = {name: getattr(self, name) for name in ("mu", "accuracy", "stop")}
        given = [name for name, value in asked.items() if value is not None]
        if len(given) > 1:
            raise InputError(f"give one of mu, accuracy and stop, got {' and '.join(given)}")
        if check_loss(self.loss) is not None and self.accuracy is not None:
            raise InputError("accuracy stops the flow of the exponential loss; stop is for loss='square'")
        for name in given:
            value = float(as_floats(asked[name], name, ndim=(0,)))
            if not value > 0 or (name == "stop" and value >= 1):
                raise InputError(f"{name} must be positive{', below 1' * (name == 'stop')}, got {value:g}")

    def _problems(self, X: Float, codes: NDArray[np.intp], weights: Float | None) -> list[TwoClasses]:
        depth = float(as_floats(self.depth, "depth", ndim=(0,)))
        scale = self.scale if self.mu is None else self.mu ** (1 / depth)
        return against_others(
            X, codes, weights, self.fit_intercept, self.standardize, Start(depth, scale, None, self.weights)
        )


def labelled_data(
    estimator: Any, X: Any, y: Any, sample_weight: Any
) -> tuple[Float, NDArray[np.intp], Float | None]:
    """X, dense, and the classes as numbers; those of the estimator are set."""
    X, y = validate_data(estimator, X, y, accept_sparse="csr", dtype=np.float64)
    X = X.toarray() if hasattr(X, "toarray") else X
    check_squares(X, np.ones(1))
    check_classification_targets(y)
    estimator.classes_, codes = np.unique(y, return_inverse=True)
    weights = None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64)
    present = len(np.unique(codes if weights is None else codes[weights > 0]))
    if present < len(estimator.classes_) or present < 2:
        raise InputError(
            f"{type(estimator).__name__} needs samples of at least 2 classes, of positive weight in each; "
            f"got {present} class{'es' * (present != 1)}"
        )
    return X, codes, weights


def against_others(
    X: Float, codes: NDArray[np.intp], weights: Float | None, intercept: bool, standardize: bool, start: Start
) -> list[TwoClasses]:
    """One problem for two classes, one for each of more."""
    problems = []
    for code in range(codes.max() + 1) if codes.max() > 1 else [1]:
        labels = np.where(codes == code, 1.0, -1.0)
        training = Training.of(X, labels, weights, intercept, standardize)
        problems.append(TwoClasses(training, start))
    return problems


def check_loss(loss: Any, *also: str) -> str | None:
    """The square loss by its name, or None for losses that margins are the ends of."""
    if loss is None or loss in (SQUARE, *also):
        return None if loss is None else str(loss)
    known = ", ".join(map(repr, (SQUARE, *also)))
    raise InputError(f"loss must be {known}, or None for margins and flows towards them, got {loss!r}")


def solved(
    problems: list[TwoClasses], square: bool, accuracy: Any, stop: Any, tol: float
) -> list[BinaryFit | LabelFit]:
    """By the margin, or the flow of one of the losses: all by the same."""
    if square:
        return [problem.square(stop, tol) for problem in problems]
    rtol = min(100 * tol, 0.1)
    if stop is not None or not all(problem.separable for problem in problems):
        return [problem.logistic(LEFT if stop is None else stop, rtol) for problem in problems]
    if accuracy is not None:
        return [problem.exponential(float(accuracy), rtol) for problem in problems]
    return [problem.margin() for problem in problems]


def take(estimator: Any, problems: list[TwoClasses], fits: list[BinaryFit | LabelFit]) -> None:
    """What an estimator tells of its fits."""
    estimator._fit = fits
    estimator.coef_ = np.array([fit.predictor for fit in fits])
    estimator.intercept_ = np.array([fit.intercept for fit in fits])
    estimator.model_ = problems[0].model
    estimator.n_iter_ = max(fit.iterations for fit in fits)
    estimator.loss_ = fits[0].loss
    estimator.separable_ = all(problem.separable for problem in problems)
    estimator.accuracy_ = np.array([fit.accuracy for fit in fits])
