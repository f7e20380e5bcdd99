"""The residuals of the optimality conditions at a predictor."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tacit.data.arrays import Float
from tacit.data.status import Status
from tacit.results.delegation import ask
from tacit.results.result import Drawn, Labelled, Result


@dataclass(frozen=True, eq=False)
class Certificate(Result):
    """How well a predictor satisfies the KKT conditions of a problem.

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
        An estimate of the relative distance from the predictor to the solution. Small residuals do not make
        that small where samples or features nearly coincide: the step that Newton's method would take from
        here does.
    dual : (N,) array
        These multipliers, one for each sample.
    tol : float
        What the residuals were held against.
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
        """All residuals within the tolerance, and the error within its root: half of the digits."""
        residuals = (self.stationarity, self.feasibility, self.complementarity)
        return all(x <= self.tol for x in residuals) and self.error <= math.sqrt(self.tol)

    @property
    def status(self) -> Status:
        """The verdict in a word."""
        return Status.REACHED if self.holds else Status.REFUSED

    @property
    def reason(self) -> str:
        """Why it does not hold; empty if it does."""
        return "" if self.holds else self.summary()

    def summary(self) -> str:
        """The certificate in a line."""
        verdict = "holds" if self.holds else "FAILS"
        line = f"KKT {verdict} (tolerance {self.tol:.0e}): stationarity {self.stationarity:.1e}"
        line += f", feasibility {self.feasibility:.1e}"
        if self.problem == "margin":
            line += f", complementarity {self.complementarity:.1e}"
        return f"{line}; distance to the solution about {self.error:.1e}"

    def picture(self) -> Drawn:
        """The multipliers of the samples."""
        drawn: Drawn = ask(self, "picture")
        return drawn

    def _arrays(self) -> Labelled:
        return {"dual": (("sample",), self.dual)}

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON."""
        return {
            "problem": self.problem,
            "holds": self.holds,
            "status": self.status.value,
            "reason": self.reason,
            "stationarity": self.stationarity,
            "feasibility": self.feasibility,
            "complementarity": self.complementarity,
            "error": self.error if math.isfinite(self.error) else None,
            "dual": self.dual.tolist(),
            "tol": self.tol,
        }
