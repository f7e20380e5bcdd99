"""Comparison of tangent kernels."""

from __future__ import annotations

import numpy as np

from tacit.numerics.rounding import Float


def cosine_distance(first: Float, last: Float) -> float:
    """1 − cos of the angle between two kernels (Frobenius inner product); 0 if one of them is 0."""
    first, last = (K / (np.abs(K).max(initial=0.0) or 1.0) for K in (first, last))  # avoids overflow
    size = np.linalg.norm(first) * np.linalg.norm(last)
    return float(max(0.0, 1 - np.sum(first * last) / size)) if size > 0 else 0.0
