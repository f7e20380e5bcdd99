r"""The degree of homogeneity of a network: L with f(cθ) = c^L f(θ), measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tacit.errors import InputError
from tacit.networks.backend import Array

_SCALES = 2.0 ** np.linspace(-1, 1, 5)
_EXACT = {"float32": 1e-4, "float64": 1e-9}  # of the outputs


@dataclass(frozen=True)
class Homogeneity:
    """degree: the L that fits best, from log‖f(cθ)‖ against log c for c from ½ to 2.

    misfit: the largest ‖f(cθ) − c^L f(θ)‖/‖c^L f(θ)‖ over these c. holds: it is rounding.
    """

    degree: float
    misfit: float
    holds: bool

    def summary(self) -> str:
        """In a line."""
        if self.holds:
            return f"homogeneous of degree {self.degree:.6g} in its weights (misfit {self.misfit:.1e})"
        return (
            f"not homogeneous in its weights: the degree that fits best is {self.degree:.3g}, and misses the "
            f"outputs by {100 * self.misfit:.2g}%"
        )


def homogeneity(outputs: Callable[[float], Array], floats: str) -> Homogeneity:
    """Of f(cθ), a function of c, computed in these floats, "float32" or "float64"."""
    here = outputs(1.0).astype(np.float64)
    if not here.any():
        raise InputError(
            "the outputs are all 0 at these weights, and have no degree: ask of other weights or inputs (of "
            "a network before it was doubled)"
        )
    there = [outputs(c).astype(np.float64) for c in _SCALES]
    sizes = [float(np.linalg.norm(each)) for each in there]
    if not all(sizes):
        return Homogeneity(float("nan"), float("inf"), False)
    degree = float(np.polyfit(np.log(_SCALES), np.log(sizes), 1)[0])
    expected = [c**degree * here for c in _SCALES]
    misfit = max(
        float(np.linalg.norm(f - g) / np.linalg.norm(g)) for f, g in zip(there, expected, strict=True)
    )
    return Homogeneity(degree, misfit, bool(misfit <= _EXACT[floats]))
