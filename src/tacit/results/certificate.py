"""Residuals of the optimality conditions at a predictor."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tacit.data.arrays import Float
from tacit.data.json_values import as_json
from tacit.data.status import Status
from tacit.results.result import Labelled, Result


@dataclass(frozen=True, eq=False, repr=False)
class Certificate(Result):
    """Residuals of the KKT conditions at a predictor, with the multipliers that make them small.

    Attributes
    ----------
    problem : str
        "regression" or "margin".
    stationarity : float
        ‖∇Q(w) − Zᵀν‖∞/‖∇Q(w)‖∞ for the best multipliers ν found; Z = X for regression, the rows y_n x_n for
        margins.
    feasibility : float
        ‖Xw−y‖/‖y‖, or the largest shortfall of a margin below 1.
    complementarity : float
        The largest ν_n·(margin_n − 1) relative to the largest ν; 0 for regression.
    error : float
        An estimate of the relative distance from the predictor to the solution: the size of a Newton step
        from here. If samples or features nearly coincide, it can be large although all residuals are small.
    dual : (N,) array
        The multipliers ν, one for each sample.
    tol : float
        The tolerance for the residuals.

    Examples
    --------
    >>> import tacit
    >>> certificate = tacit.certify(tacit.Diagonal(), [[1, 2]], [2], [0.4, 0.8])
    >>> certificate.holds, certificate.stationarity > 1e-3, certificate.feasibility < 1e-9
    (False, True, True)
    """

    problem: str
    stationarity: float
    feasibility: float
    complementarity: float
    error: float
    dual: Float
    tol: float

    @property
    def holds(self) -> bool:
        """Whether all residuals are at most tol, and the error at most √tol (half of the digits)."""
        residuals = (self.stationarity, self.feasibility, self.complementarity)
        return all(x <= self.tol for x in residuals) and self.error <= math.sqrt(self.tol)

    @property
    def status(self) -> Status:
        """The outcome in one word."""
        return Status.REACHED if self.holds else Status.REFUSED

    @property
    def reason(self) -> str:
        """Why the certificate fails; empty if it holds."""
        return "" if self.holds else self.summary()

    def summary(self) -> str:
        """The certificate in one line."""
        verdict = "holds" if self.holds else "FAILS"
        line = f"KKT {verdict} (tolerance {self.tol:.0e}): stationarity = {self.stationarity:.1e}"
        line += f", feasibility = {self.feasibility:.1e}"
        if self.problem == "margin":
            line += f", complementarity = {self.complementarity:.1e}"
        return f"{line}; error = {self.error:.1e} (estimated distance to the solution)"

    def _arrays(self) -> Labelled:
        return {"dual": (("sample",), self.dual)}

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON."""
        names = ("problem", "holds", "status", "reason", "stationarity", "feasibility", "complementarity")
        return self._values(*names) | {"error": as_json(self.error)} | self._values("dual", "tol")
