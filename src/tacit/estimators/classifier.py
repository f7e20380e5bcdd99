"""Linear classification by gradient flow from a chosen initialization."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from tacit.data.arrays import Float, as_floats, check_squares
from tacit.errors import InputError
from tacit.estimators.binary import LEFT, BinaryFit, TwoClasses
from tacit.estimators.calibration import FOLDS, CalibrationAtUse, HeldOutValues, check_classes
from tacit.estimators.cross_validation import Subset
from tacit.estimators.fit import FLOW_RTOL, LabelFit, fitted_labels
from tacit.estimators.linear_flow import Probabilistic, dense_data
from tacit.estimators.training import Start, Training

SQUARE = "square"


@dataclass(eq=False, repr=False)
class FlowClassifier(Probabilistic):
    """Linear classification by gradient flow on a diagonal network, from ℓ2 (large scales) to ℓ1 margins.

    By default, the maximum-margin predictor in the potential of the network (Moroshko et al. 2020, Section
    4), which lies between those of the ℓ2 and the ℓ1 margin:

        argmin Q_μ(w) subject to y_n(x_n·w + b) ≥ 1:    tacit.max_margin(X, y, model_, intercept=True)

    If no linear predictor separates the data, there is no margin: the flow on the logistic loss is used
    instead, and `separable_` is False. The intercept is unpenalized: a free variable of the margin problem,
    and optimal at every time of a flow, which is then gradient flow on min_b of the loss. With more than two
    classes, each is separated from all others; if this is impossible for one of them, the flow on the
    logistic loss is used for all. Sparse X is converted to dense.

    Parameters
    ----------
    scale : float, optional
        Scale of the initial weights, independent of the units of X: the predictor's scale is scale^depth/s,
        where s is the root mean square of X, after centring if there is an intercept and after
        standardization if `standardize` is set.
    depth : float, optional
        2 or more. The transition to sparse solutions is faster for deeper networks.
    mu : float, optional
        The predictor's scale in the same units; scale^depth if left out.
    accuracy : float, optional
        If given, the flow on the exponential loss from this scale replaces the margin. It is stopped when
        −log(training loss) has this value.
    fit_intercept : bool, optional
        Fit an unpenalized intercept.
    stop : float, optional
        If given, the flow on the logistic loss replaces the margin. It is stopped when this fraction of the
        largest possible decrease of the loss is left. For data that are not separable the default is 0.01.
    tol : float, optional
        Tolerance of margins; the tolerance of flows is 100 times larger.
    weights : (d,) array-like, optional
        Prior importance of the features, one positive number each: the factor of their initial scale.
    standardize : bool, optional
        Divide the features by their standard deviations before fitting. The coefficients refer to the
        original features.
    loss : "square", optional
        Fit the numbers −1 and 1 with the square loss, to the limit of the flow or to a stop, as
        `FlowRegressor` does: argmin Q_μ(w) subject to x_n·w + b = y_n, or least squares. Margins allow
        outputs larger than 1, the square loss does not.
    class_weight : "balanced" or dict, optional
        Factors of the sample weights: a number for each label, 1 for labels that are missing, or "balanced"
        for N/(classes·samples of the class).
    cv : int or splitter, optional
        The folds whose held-out samples calibrate `predict_proba`, as in scikit-learn; if left out, five, or
        as many as there are samples in the smallest class. The same flow is fitted to every fold when
        probabilities are first asked for.

    Attributes
    ----------
    classes_ : array
        The labels, sorted.
    coef_ : (1, d) or (classes, d) array
        The coefficients w.
    intercept_ : array
        The intercepts b.
    model_ : Model
        The initialization, as a Tacit model in the units of the data.
    n_iter_ : int
        Number of Newton iterations, or of steps of the flow.
    separable_ : bool
        Whether every class can be separated from the others.
    loss_ : str
        "margin", "exp", "logistic" or "square".
    accuracy_ : (1,) or (classes,) array
        −log(training loss) at which the flow was stopped; infinite for margins.

    See Also
    --------
    FlowClassifierCV : Choose scale, depth and stop by cross-validation.

    Examples
    --------
    >>> from tacit.estimators import FlowClassifier
    >>> classifier = FlowClassifier(scale=1e-3).fit([[0, 1], [1, 3], [2, 0]], ["a", "b", "a"])
    >>> classifier.predict([[1, 4]]).tolist()
    ['b']
    """

    scale: float = 1e-3
    depth: float = 2
    mu: float | None = None
    accuracy: float | None = None
    fit_intercept: bool = True
    stop: float | None = None
    tol: float = 1e-10
    weights: Any = None
    standardize: bool = False
    loss: str | None = None
    class_weight: Any = None
    cv: Any = None

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> FlowClassifier:
        """Fit the model.

        Parameters
        ----------
        X : (N, d) array-like or sparse matrix
            Rows are samples.
        y : (N,) array-like
            Labels of at least two classes.
        sample_weight : (N,) array-like, optional
            Weights of the losses. Margins only leave out samples of weight 0; the other weights change the
            unit of the scale.

        Returns
        -------
        FlowClassifier
            The fitted estimator.
        """
        self._check_options()
        X, codes, weights = labelled_data(self, X, y, sample_weight)
        depth = float(as_floats(self.depth, "depth", ndim=(0,)))
        scale = self.scale if self.mu is None else self.mu ** (1 / depth)
        problems, fits = self._fits_of(depth, scale, X, codes, weights, self.stop)
        set_fits(self, problems, fits)
        # copies: the folds are fitted later, and the caller may change X and parameters until then
        data = Subset(X.copy(), codes, None if weights is None else weights.copy())
        again = partial(clone(self)._fits_of, depth, scale, stop=fits[0].stop)
        self._calibrate = CalibrationAtUse(partial(_held_out, again, data, self.classes_, self.cv))
        return self

    def _fits_of(
        self, depth: float, scale: float, X: Float, codes: Any, weights: Float | None, stop: float | None
    ) -> tuple[list[TwoClasses], list[BinaryFit | LabelFit]]:
        problems = against_others(self, X, codes, weights, depth, scale)
        return problems, solved(problems, self.loss == SQUARE, self.accuracy, stop, self.tol)

    def _check_options(self) -> None:
        options = {name: getattr(self, name) for name in ("mu", "accuracy", "stop")}
        given = {name: value for name, value in options.items() if value is not None}
        if len(given) > 1:
            raise InputError(f"mu, accuracy and stop exclude each other: give one, got {' and '.join(given)}")
        if check_loss(self.loss) is not None and self.accuracy is not None:
            raise InputError("accuracy is for the flow on the exponential loss; with loss='square' use stop")
        for name, value in given.items():
            number = float(as_floats(value, name, ndim=(0,)))
            if not number > 0 or (name == "stop" and number >= 1):
                raise InputError(f"{name} must be positive{', below 1' * (name == 'stop')}, got {number:g}")


def labelled_data(
    estimator: Any, X: Any, y: Any, sample_weight: Any
) -> tuple[Float, NDArray[np.intp], Float | None]:
    """Validate the data: dense X, class indices and sample weights; sets the estimator's classes_."""
    X, y, weights = dense_data(estimator, X, y, sample_weight)
    check_squares(X, np.ones(1))
    check_classification_targets(y)
    estimator.classes_, codes = np.unique(y, return_inverse=True)
    if estimator.class_weight is not None:
        factors = compute_sample_weight(estimator.class_weight, y)
        weights = factors if weights is None else weights * factors
    present = len(np.unique(codes if weights is None else codes[weights > 0]))
    if present < len(estimator.classes_) or present < 2:
        raise InputError(
            f"{type(estimator).__name__} needs samples of positive weight in every class, and at least 2 "
            f"classes; got {present} class{'es' * (present != 1)}"
        )
    return X, codes, weights


def against_others(
    estimator: Any, X: Float, codes: NDArray[np.intp], weights: Float | None, depth: float, scale: float
) -> list[TwoClasses]:
    """One problem for two classes, or one for each class against all others if there are more."""
    start = Start(depth, scale, None, estimator.weights)
    options = estimator.fit_intercept, estimator.standardize
    each = range(codes.max() + 1) if codes.max() > 1 else [1]
    labels = (np.where(codes == code, 1.0, -1.0) for code in each)
    return [TwoClasses(Training.of(X, y, weights, *options), start) for y in labels]


def _held_out(fit: Any, data: Subset, classes: NDArray[Any], cv: Any) -> HeldOutValues:
    """The decision values of held-out samples; fit: from samples to problems and fits."""
    smallest = int(np.bincount(data.y).min())
    if cv is None and smallest < 2:
        raise InputError(
            "predict_proba needs at least 2 samples of every class, since it is calibrated on samples that "
            f"are left out of the fit; class {classes.tolist()[int(np.bincount(data.y).argmin())]!r} has 1"
        )
    splitter = check_cv(min(FOLDS, smallest) if cv is None else cv, data.y, classifier=True)
    found = []
    for train, test in splitter.split(data.X, data.y):
        samples, others = data.part(train), data.part(test)
        check_classes(samples.y, samples.weights, classes)
        fits = fit(samples.X, samples.y, samples.weights)[1]
        outputs = np.stack([others.X @ each.predictor + each.intercept for each in fits], axis=1)
        found.append(HeldOutValues(outputs, others.y, others.weights))
    return HeldOutValues.joined(found)


def check_loss(loss: Any, *also: str) -> str | None:
    """Validate loss: "square", another allowed name, or None for margins and flows towards them."""
    if loss is None or loss in (SQUARE, *also):
        return None if loss is None else str(loss)
    known = ", ".join(map(repr, (SQUARE, *also)))
    raise InputError(f"loss must be {known}, or None for margins and flows towards them, got {loss!r}")


def solved(
    problems: list[TwoClasses], square: bool, accuracy: Any, stop: Any, tol: float
) -> list[BinaryFit | LabelFit]:
    """Fit all problems in the same way: by the margin, or by the flow on one of the losses."""
    if square:
        return [fitted_labels(problem.training, problem.start, stop, tol) for problem in problems]
    rtol = min(FLOW_RTOL * tol, 0.1)
    if stop is not None or not all(problem.separable for problem in problems):
        return [problem.logistic(LEFT if stop is None else stop, rtol) for problem in problems]
    if accuracy is not None:
        return [problem.exponential(float(accuracy), rtol) for problem in problems]
    return [problem.margin() for problem in problems]


def set_fits(estimator: Any, problems: list[TwoClasses], fits: list[BinaryFit | LabelFit]) -> None:
    """Set the attributes of a fitted classifier."""
    estimator._fits = fits
    estimator.coef_ = np.array([fit.predictor for fit in fits])
    estimator.intercept_ = np.array([fit.intercept for fit in fits])
    estimator.model_ = problems[0].model
    estimator.n_iter_ = max(fit.iterations for fit in fits)
    estimator.loss_ = fits[0].loss
    estimator.separable_ = all(problem.separable for problem in problems)
    estimator.accuracy_ = np.array([fit.accuracy for fit in fits])
