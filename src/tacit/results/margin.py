"""The largest margin, with its certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from tacit.data.arrays import Float, Index
from tacit.data.status import Status
from tacit.data.units import Units
from tacit.results.delegation import ask
from tacit.results.result import Drawn, Labelled, Result, numbered

VOUCHED = 1e-9  # residual of the optimality conditions, relative to their terms


@dataclass(frozen=True, eq=False)
class Margin(Result):
    """argmin norm(w) subject to y_n x_n·w ≥ 1, with its certificate.

    Attributes
    ----------
    predictor : (d,) array
        w; its margin over its norm is the largest there is, 1/value.
    dual : (N,) array
        ν ≥ 0 with Σ ν_n y_n x_n in the subdifferential of the norm (or potential) at w; Σ ν_n y_n is 0 beside
        an intercept.
    value : float
        norm(w).
    support : array of int
        Samples with ν_n > 0.
    kkt : float
        The largest relative residual of the optimality conditions.
    error : float
        An estimate of the relative forward error of w, conditioning included (to the nearest solution, where
        there are several).
    unique : bool or None
        Is w the only solution? None: not known.
    converged : bool
        kkt is 1e-9 or less, and error 1e-7 or less.
    norm : str
        What was minimized, in words.
    seconds : float
        How long it took.
    X, y
        The data, y as −1 and +1.
    face : array or None
        Where an ℓ1 solution is not unique, the vertices of all solutions, as rows (extreme points of them,
        for faces of more than five dimensions).
    stationary : array or None
        For p < 1, all stationary points for up to three features, otherwise the local minima found, as rows,
        best first.
    minimum : array or None
        Which of these are local minima.
    complete : bool
        Is that list all there is?
    intercept : float
        b of y_n(x_n·w + b) ≥ 1, 0 where none was asked for.
    units : Units or None
        What the features were divided by, where they were standardized: the norm is that of scale·w.
    features : tuple of str, or None
        Names of columns, if they have any.
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

    def summary(self, names: Sequence[str] | None = None) -> str:
        """The margin in a few lines.

        Parameters
        ----------
        names : sequence of str, optional
            Of the features; x0, x1, … if left out.

        Returns
        -------
        str
            Predictor, margin, support and certificate.
        """
        return str(ask(self, "summary", names or self.features))

    @property
    def status(self) -> Status:
        """How it ended, in a word."""
        if self.converged:
            return Status.REACHED
        return Status.ROUNDING if self.kkt <= VOUCHED else Status.STALLED

    @property
    def reason(self) -> str:
        """Why the margin is not vouched for; empty if it is."""
        if self.converged:
            return ""
        return f"residual {self.kkt:.1e} of the optimality conditions, error about {self.error:.1e}"

    @cached_property
    def margins(self) -> Float:
        """y_n(x_n·w + b) of every sample."""
        return np.asarray(self.y * (self.X @ self.predictor + self.intercept))

    def picture(self, names: Sequence[str] | None = None) -> Drawn:
        """Largest coordinates of the predictor, and the margins of all samples.

        Parameters
        ----------
        names : sequence of str, optional
            Of the features; x0, x1, … if left out.

        Returns
        -------
        Drawn
            What `plot` draws.
        """
        drawn: Drawn = ask(self, "picture", numbered(names or self.features, len(self.predictor)))
        return drawn

    def _arrays(self) -> Labelled:
        arrays: Labelled = {"predictor": (("feature",), self.predictor), "dual": (("sample",), self.dual)}
        arrays["margins"] = (("sample",), self.margins)
        rows: dict[str, Any] = {"face": self.face, "stationary": self.stationary}
        return arrays | {name: ((name, "feature"), each) for name, each in rows.items() if each is not None}

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON."""
        lists = {name: getattr(self, name) for name in ("face", "stationary", "minimum")}
        return {
            "norm": self.norm,
            "predictor": self.predictor.tolist(),
            "dual": self.dual.tolist(),
            "value": self.value,
            "support": self.support.tolist(),
            "kkt": self.kkt,
            "error": self.error,
            "unique": self.unique,
            "converged": self.converged,
            "status": self.status.value,
            "reason": self.reason,
            "complete": self.complete,
            "intercept": self.intercept,
            "seconds": self.seconds,
        } | {name: each.tolist() for name, each in lists.items() if each is not None}
