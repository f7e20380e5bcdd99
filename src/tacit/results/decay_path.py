"""The result of `tacit.decay_path`: the solution along slow weight decay."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.arrays import Float, as_floats
from tacit.data.display import MODEL
from tacit.data.printable import shortened
from tacit.errors import InputError
from tacit.numerics.roots import crossing
from tacit.results.delegation import delegate
from tacit.results.result import Labelled, Pictured, Summarized

_TIME_RTOL = 1e-6  # relative accuracy of grokking times: far below the O(λ) of the path itself

_NO_TEST = "there is no test error without test data: pass X_test and y_test to tacit.decay_path"


@dataclass(frozen=True, eq=False, repr=False)
class DecayPath(Summarized, Pictured):
    """The solution at each time of training with a small constant weight decay, up to terms of order decay.

    Attributes
    ----------
    times : (T,) array
        Training times, increasing.
    predictors : (T, d) array
        The limit of the flow from weights e^{−decay·t} times as large, at each time t.
    test_error : (T,) array or None
        The mean square error on X_test and y_test at each time, if they were given.
    decay : float
        λ.
    model : Model
        The model at its initialization.
    converged : (T,) array of bool
        Whether the limit at each time is certified.
    seconds : float
        Computing time.
    X, y
        The training data.
    X_test, y_test : array or None
        The test data.
    features : tuple of str, or None
        Names of the columns, if they have any.

    Examples
    --------
    >>> import tacit
    >>> path = tacit.decay_path(tacit.Diagonal(scale=5.0), [[1, 2]], [2], 1e-3, times=[0, 1000, 5000])
    >>> path.predictors.round(3).tolist()
    [[0.4, 0.8], [0.399, 0.8], [0.033, 0.983]]
    """

    times: Float
    predictors: Float
    test_error: Float | None
    decay: float
    model: Any = field(repr=False)
    converged: NDArray[np.bool_]
    seconds: float
    X: Float = field(repr=False)
    y: Float = field(repr=False)
    X_test: Float | None = field(default=None, repr=False)
    y_test: Float | None = field(default=None, repr=False)
    features: tuple[str, ...] | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        times = f"{len(self.times)} times up to {self.times[-1]:.4g}"
        return f"DecayPath({shortened(repr(self.model), MODEL)}, decay={self.decay:g}, {times})"

    def at(self, time: float) -> Float:
        """Predictor at any training time.

        Parameters
        ----------
        time : float
            A time, 0 or later.

        Returns
        -------
        (d,) array
            The limit of the flow from weights e^{−decay·time} times as large.
        """
        value = float(as_floats(time, "time", ndim=(0,)))
        if value < 0:
            raise InputError(f"time must be 0 or later, got {value:g}")
        found: Float = delegate(self, "predictor_at", value)
        return found

    def error_at(self, time: float) -> float:
        """Mean square error on the test data at any training time.

        Parameters
        ----------
        time : float
            A time, 0 or later.

        Returns
        -------
        float
            The error.
        """
        if self.X_test is None or self.y_test is None:
            raise InputError(_NO_TEST)
        return float(np.mean((self.X_test @ self.at(time) - self.y_test) ** 2))

    def grokking_time(self, level: float) -> float:
        """Training time at which the test error falls below a level.

        The training data are fitted long before, after a time that does not depend on the decay. The relative
        error of this prediction is of order decay, divided by the rate at which the data are fitted.

        Parameters
        ----------
        level : float
            A positive mean square error.

        Returns
        -------
        float
            The first such time; 0 if the error starts below the level, ∞ if it does not fall below it at any
            of the times of the path.
        """
        level = float(as_floats(level, "level", ndim=(0,)))
        if level <= 0:
            raise InputError(f"level must be positive, got {level:g}")
        errors = self.test_error
        if errors is None:
            raise InputError(_NO_TEST)
        below = np.flatnonzero(errors < level)
        if not len(below):
            return math.inf
        k = int(below[0])
        before = self.times[k - 1] if k else 0.0
        if self.error_at(float(before)) < level:
            return float(before)
        ends = float(before), float(self.times[k])
        return crossing(lambda t: self.error_at(t) - level, *ends, rtol=_TIME_RTOL)

    def _arrays(self) -> Labelled:
        arrays: Labelled = {"times": (("time",), self.times), "converged": (("time",), self.converged)}
        arrays["predictors"] = (("time", "feature"), self.predictors)
        return arrays if self.test_error is None else arrays | {"test_error": (("time",), self.test_error)}

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON."""
        errors = {} if self.test_error is None else self._values("test_error")
        values = self._values("decay", "times", "predictors", "converged", "seconds")
        return {"model": repr(self.model), **values, **errors}
