r"""Lemma 8 of Woodworth et al. 2020: the multipliers of a deep diagonal network are bounded.

Under L = ½‖Xβ − y‖², with r = Xβ − y, the weights of depth D > 2 are w± = (α^{2−D} ± D(D−2)Xᵀ∫r)^{−1/(D−2)}
(equations 51 and 53). They never vanish nor become infinite, hence |D(D−2)Xᵀ∫r| < α^{2−D}. The integral is
taken by Gauss's rule, of the residuals at the nodes, and compared with what the predictor says of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tacit
from tacit.data.arrays import check_problem
from tacit.theorems.agreement import steady
from tacit.theorems.arguments import log_alpha
from tacit.theorems.moroshko2020.separation import plain_diagonal
from tacit.theorems.quadrature import Panels
from tacit.theorems.registry import Assumption, Bound, Parts, theorem

_LOSS = tacit.losses.Square("half-sum")
_SUDDEN = 1e-5  # part of the time within which a network may jump: it is then seen by the nodes
_AGREE = 1e-5
_SPREAD = 1e4  # of singular values: the integral would be over the squares of as many time scales


@theorem(
    "woodworth2020/lemma8",
    "D > 2: ‖Xᵀ∫r‖∞ ≤ α^{2−D}/(D(D−2)) at all times, r = Xβ − y, for L = ½‖Xβ − y‖².",
    flows=2,
)
def lemma8(model: Any, X: Any, y: Any) -> Parts:
    """Lemma 8, as the largest |z|, z = −α^{D−2}D(D−2)Xᵀ∫r, against 1; and (58), β = α^D·h_D(z)."""
    plain = plain_diagonal(model)
    fits = plain.holds and model.depth > 2
    yield Assumption(f"{plain.text}, of depth above 2", fits)
    if not fits:
        return
    X, y = check_problem(X, y)
    yield (followed := steady(model, X, y, _SUDDEN))
    moving = bool(np.any(X.T @ y))
    yield Assumption("the flow moves", moving)
    sizes = np.linalg.svd(X, compute_uv=False)
    resolved = bool(sizes[-1] * _SPREAD >= sizes[0])
    yield Assumption(f"singular values of X lie within a factor {_SPREAD:.0e}: ∫r is resolved", resolved)
    if not (followed.holds and moving and resolved):
        return
    first = tacit.flow(model, X, y, loss=_LOSS)
    panels = Panels(np.unique(first.time[np.isfinite(first.time)]))
    flow = tacit.flow(model, X, y, loss=_LOSS, times=panels.instants, rtol=1e-10)
    residuals = flow.outputs - y
    D = model.depth
    size = D * (D - 2) * float(np.exp((D - 2) * log_alpha(model)))
    z = -size * panels.integral(residuals) @ X
    yield Bound("α^{D−2}D(D−2)‖Xᵀ∫r‖∞, the largest on the way", float(np.abs(z).max()), at_most=1.0)
    slopes = model.potential(X.shape[1]).gradient(panels.at_ends(np.asarray(flow.predictor)))
    yield Bound("(58) |h_D⁻¹(β/α^D) − z|, the largest", float(np.abs(slopes - z).max()), at_most=_AGREE)
