"""The result of `tacit.max_margin`: the predictor of largest margin, with its certificate."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.data.arrays import Float, Index
from tacit.data.status import Status
from tacit.data.units import Units
from tacit.results.prediction import linear_outputs, new_inputs
from tacit.results.result import Labelled, Pictured, Summarized

# Largest residual of the optimality conditions, relative to their terms, that is reported as converged.
KKT_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Margin(Summarized, Pictured):
    """argmin norm(w) subject to y_n x_n·w ≥ 1, with its certificate.

    Attributes
    ----------
    predictor : (d,) array
        w; its margin divided by its norm, 1/value, is the largest possible.
    dual : (N,) array
        ν ≥ 0 with Σ ν_n y_n x_n in the subdifferential of the norm (or potential) at w; Σ ν_n y_n is 0 if
        there is an intercept.
    value : float
        norm(w).
    support : array of int
        Samples with ν_n > 0.
    kkt : float
        The largest relative residual of the optimality conditions.
    error : float
        An estimate of the relative forward error of w, conditioning included (to the nearest solution, if
        there are several).
    unique : bool or None
        Whether w is the only solution; None if this is not known.
    converged : bool
        Whether kkt is at most 1e-9 and error at most 1e-7.
    norm : str
        The name of the norm or potential.
    seconds : float
        Computing time.
    X, y
        The data, y as −1 and +1.
    face : array or None
        If an ℓ1 solution is not unique, the vertices of the set of solutions, as rows (only its extreme
        points, if the set has more than five dimensions).
    stationary : array or None
        For p < 1, all stationary points for up to three features, otherwise the local minima found, as rows,
        best first.
    minimum : array or None
        Which of these are local minima.
    complete : bool
        Whether this list is known to be complete.
    intercept : float
        b of y_n(x_n·w + b) ≥ 1; 0 without an intercept.
    units : Units or None
        The standard deviations by which the features were divided, and the means that were subtracted: the
        norm is that of scale·w.
    features : tuple of str, or None
        Names of the columns, if they have any.

    Examples
    --------
    >>> import tacit
    >>> margin = tacit.max_margin([[2, 1], [-1, -2]], [1, -1], "l1")
    >>> round(margin.value, 4), margin.unique, margin.support.tolist()
    (0.6667, True, [0, 1])
    """

    predictor: Float
    dual: Float
    value: float
    support: Index
    kkt: float
    error: float
    unique: bool | None
    converged: bool
    norm: str
    seconds: float
    X: Float = field(repr=False)
    y: Float = field(repr=False)
    face: Float | None = field(default=None, repr=False)
    stationary: Float | None = field(default=None, repr=False)
    minimum: Any = field(default=None, repr=False)
    complete: bool = True
    intercept: float = 0.0
    units: Units | None = field(default=None, repr=False)
    features: tuple[str, ...] | None = field(default=None, repr=False)

    @property
    def status(self) -> Status:
        """The outcome of the computation in one word."""
        if self.converged:
            return Status.REACHED
        return Status.ROUNDING if self.kkt <= KKT_TOLERANCE else Status.STALLED

    @property
    def reason(self) -> str:
        """Why the margin is not certified; empty if it is."""
        if self.converged:
            return ""
        return f"KKT residual = {self.kkt:.1e}, error = {self.error:.1e}"

    @cached_property
    def margins(self) -> Float:
        """y_n(x_n·w + b) of every sample."""
        return np.asarray(self.y * (self.X @ self.predictor + self.intercept))

    def predict(self, X: ArrayLike) -> Float:
        """Predict the classes of new samples: −1 and +1, the sign of w·x + b.

        Parameters
        ----------
        X : (N, d) array-like
            Rows are samples. If the data had named columns and X has, too, they are matched by name.

        Returns
        -------
        (N,) array
            −1 or +1; samples on the boundary are −1.

        Raises
        ------
        InputError
            If X has another number of features, lacks a named one, or contains entries that are not finite.
        """
        outputs = linear_outputs(self.predictor, new_inputs(X, self.predictor, self.features))
        return np.where(outputs + self.intercept > 0, 1.0, -1.0)

    def _arrays(self) -> Labelled:
        arrays: Labelled = {"predictor": (("feature",), self.predictor), "dual": (("sample",), self.dual)}
        arrays["margins"] = (("sample",), self.margins)
        rows: dict[str, Any] = {"face": self.face, "stationary": self.stationary}
        return arrays | {name: ((name, "feature"), each) for name, each in rows.items() if each is not None}

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON."""
        solution = ("norm", "predictor", "dual", "value", "support", "kkt", "error", "unique", "converged")
        lists = [each for each in ("face", "stationary", "minimum") if getattr(self, each) is not None]
        return self._values(*solution, "status", "reason", "complete", "intercept", "seconds", *lists)
