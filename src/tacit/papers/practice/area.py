r"""The area under the loss of gradient flow, known before training.

    ∫₀^∞ L dt = Q(w(∞))/(2c)    if    d∇Q/dt = c·Xᵀ(y − Xw)/N,    L = 1/(2N)·‖Xw − y‖²

because the divergence D_Q(w(∞), w(t)) falls at the rate c‖Xw − y‖²/N = 2cL. c = 4 for `Diagonal` of depth 2
and D(D−2)α^{D−2} for larger depths; the divergence from w(0) stands for Q if the start is biased. At depth
2, ∫g_j² dt ≤ 2m_j∫L dt by the Cauchy-Schwarz inequality, m_j the mean of x_nj², so that steps of gradient
descent lower the scale of coordinate j by at most e^{−λ m_j Q}.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tacit
from tacit.papers import Bound, Parts, Premise, Setting, theorem
from tacit.papers.practice.steps import diagonal_network, step_at

_EQUAL = 1e-6  # relative; the flow of raw weights is integrated with a tolerance of 1e-8
_EDGE = 0.02  # of the steps of the bound, which holds to first order


@theorem("practice/area-law", about=("Area law",), flows=2)
def area_law(model: Any, X: Any, y: Any) -> Parts:
    """∫L dt = Q(w(∞))/(2c): the area under the training curve of gradient flow is known before training."""
    yield diagonal_network(model)
    area = tacit.limit(model, X, y).area
    run = tacit.flow(model, X, y, method="parameters")
    yield Premise("the flow of the raw weights reaches its limit", run.converged)
    yield Bound("distance of ∫L dt from Q/(2c), relative", abs(run.area / area - 1), at_most=_EQUAL)


@theorem("practice/area-bound", about=("Area law",))
def area_bound(model: Any, X: Any, y: Any) -> Parts:
    """log α − log w±ᵉ ≤ λ m_j Q(w(∞)) at depth 2, to first order in the step; m_j = mean_n x_nj²."""
    tied = isinstance(model, tacit.Diagonal) and model.depth == 2
    yield Setting("the model is Diagonal of depth 2", tied)
    training = tacit.Training(step_at(model, X, y, _EDGE))
    start, Q = model.start(np.shape(X)[1])["w₊"], tacit.limit(model, X, y).value
    found = tacit.limit(model, X, y, training=training)
    shrunk = np.log(start) - np.log(found.model.start(np.shape(X)[1])["w₊"])
    bound = training.delay * np.mean(np.square(np.asarray(X, dtype=float)), axis=0) * Q
    seen = bound > 0
    yield Bound("largest share of the bound", float((shrunk[seen] / bound[seen]).max()), at_most=1.0)
