"""Coefficients as functions of the scale of the initialization."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.data.arrays import Float
from tacit.results.result import Labelled, Result, numbered
from tacit.show.fits import CoefficientCurves, coefficients_picture

if TYPE_CHECKING:
    from tacit.show.figures import Picture


@dataclass(frozen=True, eq=False)
class CoefficientPath(Result):
    """Coefficients and intercepts at several scales, in decreasing order, for the original features.

    chosen: the scale of the estimator. kernel, rich: the coefficients at infinite and at zero scale, those of
    least ℓ2 and ℓ1 norm; rich is None for stopped flows, where it is not known. stop: that of the estimator.
    """

    scales: Float
    coefs: Float
    intercepts: Float
    chosen: float
    kernel: Float = field(repr=False)
    rich: Float | None = field(repr=False)
    depth: float
    stop: float | None
    features: tuple[str, ...] | None = field(default=None, repr=False)

    def picture(self) -> Picture:
        """A plot of the coefficients against the scale."""
        names = numbered(self.features, self.coefs.shape[1])
        stop = "" if self.stop is None else f", stopped at {self.stop:.3g} of the loss"
        title = f"depth {self.depth:g}{stop}"
        curves = CoefficientCurves(self.scales, self.coefs, self.chosen, self.kernel, self.rich, title)
        return coefficients_picture(curves, names)

    def summary(self) -> str:
        """The path in one line."""
        large = np.abs(self.coefs) > 0.01 * np.abs(self.coefs).max(axis=1, keepdims=True)
        first, last = int(large[0].sum()), int(large[-1].sum())
        return (
            f"scale {self.scales[0]:.3g} to {self.scales[-1]:.3g}, depth {self.depth:g}: {first} to {last} "
            f"of {self.coefs.shape[1]} coefficients exceed 1% of the largest; chosen scale {self.chosen:.3g}"
        )

    def _arrays(self) -> Labelled:
        arrays: Labelled = {
            "scales": (("scale",), self.scales),
            "coefs": (("scale", "feature"), self.coefs),
            "intercepts": (("scale",), self.intercepts),
            "kernel": (("feature",), self.kernel),
        }
        return arrays if self.rich is None else arrays | {"rich": (("feature",), self.rich)}

    def to_dict(self) -> dict[str, Any]:
        """The path as plain numbers and lists, for JSON."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        if self.features is not None:
            values["features"] = list(self.features)
        return {
            name: each.tolist() if isinstance(each, np.ndarray) else each for name, each in values.items()
        }
