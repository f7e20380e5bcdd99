"""What a person reads: results as a few aligned lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tacit.data import Float

if TYPE_CHECKING:
    from tacit.limits.interpolation import Limit


def limit_report(result: Limit) -> str:
    """Data, model, limit, regime and certificate, a line each."""
    samples, features = result.X.shape
    w = result.predictor
    describe = getattr(result.model, "describe", None)
    lines = {
        "data": f"{_count(samples, 'sample')} × {_count(features, 'feature')}, rank {result.rank:,}",
        "model": describe() if describe else type(result.model).__name__,
        "limit": f"‖w‖₁ {np.abs(w).sum():.4g}   ‖w‖₂ {np.linalg.norm(w):.4g}   {carriers(w)}",
        "regime": result.regime.summary(),
        "certificate": (
            f"stationarity {result.stationarity:.0e}   feasibility {result.feasibility:.0e}   "
            f"{_count(result.iterations, 'step')}, {1000 * result.seconds:.0f} ms"
        ),
    }
    if not result.converged:
        lines["NOT CONVERGED"] = "this predictor is not vouched for; its certificate is above the tolerance"
    width = max(map(len, lines))
    return "\n".join(f"  {name:<{width}}  {text}" for name, text in lines.items())


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def carriers(w: Float) -> str:
    """How many coordinates carry 99% of ‖w‖₁."""
    sizes = np.sort(np.abs(w))[::-1]
    if sizes.sum() == 0:
        return "all coordinates are 0"
    count = int(np.searchsorted(np.cumsum(sizes), 0.99 * sizes.sum()) + 1)
    return f"{count:,} coordinate{'s carry' if count > 1 else ' carries'} 99% of ‖w‖₁"
