"""The solution along slow weight decay, which decreases the scale of the start like e^{−λt}."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.data.arrays import Float, as_floats, check_problem, check_squares, feature_names, kept
from tacit.data.entries import Inputs
from tacit.data.prepared import Prepared, prepare
from tacit.errors import InputError
from tacit.models.model import Model, as_model, check_model
from tacit.results.decay_path import DecayPath
from tacit.results.limit import Limit
from tacit.verbs.limit import limit
from tacit.verbs.margin_path import depth_of

_POINTS = 61  # times, unless they are given
_RICH = 1e-8  # scale of the predictor, relative to its size, at which the default times end


def decay_path(
    model: Model,
    X: Inputs,
    y: ArrayLike,
    decay: float,
    *,
    X_test: ArrayLike | None = None,
    y_test: ArrayLike | None = None,
    times: ArrayLike | None = None,
) -> DecayPath:
    """Compute the solutions along training with a small weight decay λ, without simulating it.

        w(t) = argmin Q(w) subject to X w = y, for weights that start at e^{−λt} times their scale

    The predictor of the flow with decay, θ' = −∇L − λθ, minimizes, at all times, the potential at the decayed
    scale among all predictors with the same outputs. If λ is small the outputs stay at y up to terms of order
    λ, once the data are fitted. From a large scale the predictor therefore passes all limits between the
    kernel and the rich regime at values of λt, long after the training error has vanished: test errors that
    fall then are known as grokking.

    Parameters
    ----------
    model : Diagonal or UntiedDiagonal
        The model at its initialization, with the predictor 0.
    X : (N, d) array-like, or Prepared
        Rows are samples.
    y : (N,) array-like
        Targets, which the model can fit.
    decay : float
        λ, positive and small; it acts on the weights.
    X_test : (M, d) array-like, optional
        Inputs on which the error is measured.
    y_test : (M,) array-like, optional
        Their targets.
    times : sequence of float, optional
        Increasing training times, 0 or later; by default 61, until the scale of the predictor is 1e-8 of its
        size.

    Returns
    -------
    DecayPath
        The predictor at each time, and the test error.

    Raises
    ------
    InputError
        If an argument is invalid.
    NoPotentialError
        If the model has no potential.
    InconsistentDataError
        If X w = y has no solution.

    See Also
    --------
    limit : The solution at one scale.

    Examples
    --------
    >>> import tacit
    >>> X, y = [[1, 2]], [2]
    >>> path = tacit.decay_path(tacit.Diagonal(scale=5.0), X, y, 1e-3, X_test=[[0, 1]], y_test=[1])
    >>> round(path.grokking_time(0.01), 1)
    3111.2
    """
    begun, names = time.perf_counter(), feature_names(X)
    check_model("decay_path(model, X, y, decay)", model, X, y)
    checked, y = check_problem(X, y)
    check_squares(checked, y)
    potential, degree = _decaying(as_model(model), checked.shape[1])
    rate = float(as_floats(decay, "decay", ndim=(0,)))
    if rate <= 0:
        raise InputError(f"decay must be positive, got {rate:g}; without decay, tacit.limit has the solution")
    tests = _tests(X_test, y_test, checked.shape[1])
    prepared = X if isinstance(X, Prepared) else prepare(checked)
    first = limit(potential, prepared, y)
    moments = _default_times(potential, first, degree * rate) if times is None else _checked_times(times)
    found = [limit(potential.shifted(-degree * rate * t), prepared, y) for t in moments]
    path = DecayPath(
        times=moments,
        predictors=np.array([each.predictor for each in found]),
        test_error=None,
        decay=rate,
        model=model,
        converged=np.array([each.converged for each in found]),
        seconds=0.0,
        X=prepared.X,
        y=kept(y),
        X_test=tests[0],
        y_test=tests[1],
        features=names,
    )
    errors = None if tests[0] is None else ((path.predictors @ tests[0].T - tests[1]) ** 2).mean(axis=1)
    return replace(path, test_error=errors, seconds=time.perf_counter() - begun)


def predictor_at(path: DecayPath, moment: float) -> Float:
    """The predictor of a path at any time."""
    potential, degree = _decaying(path.model, path.X.shape[1])
    return limit(potential.shifted(-degree * path.decay * moment), path.X, path.y).predictor


def _decaying(model: Any, features: int) -> tuple[Any, float]:
    """The potential, and the number of layers."""
    potential = model.potential(features)
    if potential.family != "separable" or potential.base is not potential:
        raise InputError(
            "decay_path is for diagonal networks that start at the predictor 0, with tied layers or two "
            f"layers, got {model!r}"
        )
    return potential, depth_of(potential)


def _tests(X_test: Any, y_test: Any, features: int) -> tuple[Any, Any]:
    if (X_test is None) != (y_test is None):
        raise InputError("give both X_test and y_test, or neither")
    if X_test is None:
        return None, None
    X, y = check_problem(X_test, y_test)
    if X.shape[1] != features:
        raise InputError(f"X_test has {X.shape[1]} features but X has {features}")
    return X, y


def _checked_times(times: Any) -> Float:
    moments = np.atleast_1d(as_floats(times, "times", ndim=(0, 1))).copy()
    if not len(moments) or moments[0] < 0 or (np.diff(moments) <= 0).any():
        raise InputError("times must be increasing and 0 or later")
    return moments


def _default_times(potential: Any, first: Limit, rate: float) -> Float:
    """From 0 until the scale is far below the predictor, and at least until it has decayed by e."""
    size = float(np.abs(first.predictor).max()) or 1.0
    down = float(np.max(potential.log_scale)) - math.log(_RICH * size)
    return np.linspace(0.0, max(down, 1.0) / rate, _POINTS)
