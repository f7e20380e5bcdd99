"""What the figures on linear networks share: Proposition 1 and Theorem 3 of Azulay et al. 2021."""

from __future__ import annotations

import numpy as np

from tacit.data.arrays import Float
from tacit.show.figures import KERNEL, RICH, TRUTH

COLOURS = (KERNEL, RICH, TRUTH, "#CC79A7", "#E69F00", "#56B4E9")
MARKS = ("o", "s", "^", "D", "v", "P")


def gap(found: Float, expected: Float) -> float:
    """‖found − expected‖/‖expected‖."""
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


def around(values: Float) -> tuple[float, float]:
    """Limits of a logarithmic axis, given so that what cannot be drawn does not decide them."""
    return float(values.min()) / 1.6, float(values.max()) * 1.6
