"""The result of `tacit.risk`: the risk of a limit on Gaussian features."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.results.result import Labelled, Result


@dataclass(frozen=True, eq=False, repr=False)
class Risk(Result):
    """The risk ‖w − signal‖² of limits on Gaussian features: the prediction, and single data sets.

    Attributes
    ----------
    risk : float
        E‖w − signal‖², which for features N(0, I) is the excess of the test error over noise².
    tau : float
        τ, the effective noise per coordinate: τ² = (noise² + risk)/samples.
    threshold : float
        c, the strength of the equivalent penalty: each coordinate is that of argmin ½(z − x)² + c·Q(x).
    scatter : float
        Standard deviation of the risk of a single data set, relative to `risk`, from the simulated ones.
    simulated : array
        The risks of the simulated data sets.
    model : Model
        The model.
    signal : (d,) array
        The true predictor.
    noise : float
        The standard deviation of the noise in the targets.
    samples : int
        N.

    Examples
    --------
    >>> import numpy as np
    >>> import tacit
    >>> found = tacit.risk(tacit.Diagonal(scale=0.1), np.repeat([1.0, 0.0], [5, 395]), 0.5, 100, draws=3)
    >>> round(found.risk, 4), round(found.tau, 4)
    (1.0918, 0.1158)
    """

    risk: float
    tau: float
    threshold: float
    scatter: float
    simulated: Float
    model: Any = field(repr=False)
    signal: Float = field(repr=False)
    noise: float
    samples: int

    @property
    def bias(self) -> tuple[float, float]:
        """(mean of the simulated risks)/risk − 1, and its standard error."""
        ratios = self.simulated / self.risk
        return float(ratios.mean() - 1), float(ratios.std(ddof=1) / np.sqrt(len(ratios)))

    def _arrays(self) -> Labelled:
        return {"signal": (("feature",), self.signal), "simulated": (("draw",), self.simulated)}

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON."""
        found = self._values("risk", "tau", "threshold", "scatter", "simulated")
        return {"model": repr(self.model), **self._values("noise", "samples", "signal"), **found}
