"""The result of `tacit.explain`: how well each depth and scale explains a predictor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.results.delegation import delegate
from tacit.results.result import Labelled, Pictured


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Pictured):
    """The residual of the optimality conditions of a predictor, for each depth and each scale.

    A residual near round-off means that gradient flow from this depth and scale ends at this predictor.
    Others may do so, too: close to the kernel end all depths agree up to 1e-4, and relative noise of 1e-3 in
    the predictor can hide the depth. Therefore look at the whole curves, not only at their minima.

    Attributes
    ----------
    depths : (K,) array
        Depths D.
    scales : (S,) array
        Scales a of the weights, increasing, with a minimum of every curve among them.
    stationarity : (K, S) array
        ‖(I − P)∇Q(w)‖/‖∇Q(w)‖ with P the projection on the span of the samples.
    feasibility : float
        ‖Xw − y‖/‖y‖: a predictor that does not fit the data is not the end of a flow.
    X, y, w
        The arguments of `tacit.explain`.
    features : tuple of str, or None
        Names of the columns, if they have any.

    Examples
    --------
    >>> import tacit
    >>> X, y = [[1, 2, 0.5, 0.3]], [2]
    >>> w = tacit.limit(tacit.Diagonal(depth=3, scale=0.5), X, y).predictor
    >>> found = tacit.explain(X, y, w)
    >>> found.best_scales.round(4)[found.depths == 3].tolist()
    [0.5]
    """

    depths: Float
    scales: Float
    stationarity: Float
    feasibility: float
    X: Float = field(repr=False)
    y: Float = field(repr=False)
    w: Float = field(repr=False)
    features: tuple[str, ...] | None = field(default=None, repr=False)

    @property
    def best_scales(self) -> Float:
        """The scale of least residual for each depth."""
        return np.asarray(self.scales[self.stationarity.argmin(axis=1)])

    @property
    def least(self) -> Float:
        """The least residual for each depth."""
        return np.asarray(self.stationarity.min(axis=1))

    def summary(self, names: Sequence[str] | None = None) -> str:
        """Describe the curves in a few lines of text.

        Parameters
        ----------
        names : sequence of str, optional
            Not used; all results take it.

        Returns
        -------
        str
            The text.
        """
        return str(delegate(self, "summary"))

    def _arrays(self) -> Labelled:
        return {
            "depths": (("depth",), self.depths),
            "scales": (("scale",), self.scales),
            "stationarity": (("depth", "scale"), self.stationarity),
            "predictor": (("feature",), self.w),
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON."""
        return self._values("depths", "scales", "stationarity", "feasibility", "best_scales", "least")
