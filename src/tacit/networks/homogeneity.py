r"""The degree of homogeneity of a network, L with f(cθ) = c^L f(θ), by measurement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tacit.errors import InputError
from tacit.networks.backend import Array

_SCALES = 2.0 ** np.linspace(-1, 1, 5)  # the factors c
_ROUND_OFF = {"float32": 1e-4, "float64": 1e-9}  # a smaller misfit, relative to the outputs, is round-off


@dataclass(frozen=True)
class Homogeneity:
    """degree: the L that fits log‖f(cθ)‖ against log c best, for c from ½ to 2.

    misfit: the largest ‖f(cθ) − c^L f(θ)‖/‖c^L f(θ)‖ over these c. holds: whether the misfit is round-off.
    """

    degree: float
    misfit: float
    holds: bool

    def summary(self) -> str:
        """The result in one line."""
        if self.holds:
            return f"homogeneous of degree {self.degree:.6g} in its weights (misfit {self.misfit:.1e})"
        return (
            f"not homogeneous in its weights: the best-fitting degree is {self.degree:.3g}, with an error of "
            f"{100 * self.misfit:.2g}% of the outputs"
        )


def homogeneity(outputs: Callable[[float], Array], dtype: str) -> Homogeneity:
    """The homogeneity of outputs f(cθ), a function of c computed in "float32" or "float64"."""
    here = outputs(1.0).astype(np.float64)
    if not here.any():
        raise InputError(
            "the outputs are all 0, so that no degree can be measured: use other weights or inputs (for a "
            "doubled network, use the network before doubling)"
        )
    scaled = [outputs(c).astype(np.float64) for c in _SCALES]
    sizes = [float(np.linalg.norm(each)) for each in scaled]
    if not all(sizes):
        return Homogeneity(float("nan"), float("inf"), False)
    degree = float(np.polyfit(np.log(_SCALES), np.log(sizes), 1)[0])
    errors = [
        np.linalg.norm(f - c**degree * here) / np.linalg.norm(c**degree * here)
        for c, f in zip(_SCALES, scaled, strict=True)
    ]
    misfit = float(max(errors))
    return Homogeneity(degree, misfit, bool(misfit <= _ROUND_OFF[dtype]))
