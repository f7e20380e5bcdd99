"""Theorem 1 of Guest 2030: the limit of a network with a large initialization has minimum norm."""

import numpy as np

import tacit
from tacit.papers import Bound, Parts, Setting, theorem


@theorem(
    "guest2030/theorem1",
    "The limit at a large scale is no longer than the truth.",
    printed="‖w‖ ≤ ‖w*‖², which has the wrong unit.",
    shell="--scale 100",
)
def theorem1(model, X, y) -> Parts:
    """The norm of the limit, compared with that of the least-squares solution."""
    yield Setting("the model is Diagonal with a scale of 10 at least", getattr(model, "scale", 0) >= 10)
    least = float(np.linalg.norm(np.linalg.lstsq(X, y, rcond=None)[0]))
    yield Bound(
        "‖w‖ over the least", float(np.linalg.norm(tacit.limit(model, X, y).predictor)) / least, at_most=1.01
    )
