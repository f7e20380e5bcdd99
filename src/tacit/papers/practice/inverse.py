r"""The inverse question: depth and scale from the end of a flow."""

from __future__ import annotations

from typing import Any

import numpy as np

import tacit
from tacit.data.arrays import check_problem
from tacit.papers import Bound, Parts, Premise, Setting, theorem
from tacit.papers.agreement import limit_of
from tacit.papers.arguments import arrived, log_alpha

# ∇Q of the limit is a combination of samples up to the stationarity of the limit; its slopes are known to the
# last digits of the scale, on which they depend with a factor of the order of 1/(1 − |slope|).
_RECOVERED = 1e-6


@theorem("practice/inverse", about=("Inverse question",), flows=0)
def inverse(model: Any, X: Any, y: Any) -> Parts:
    """‖(I − P)∇Q(w)‖/‖∇Q(w)‖ vanishes at the depth and scale from which the flow ended at w.

    P is the projection on the span of the samples.
    """
    plain = isinstance(model, tacit.Diagonal) and model.profile is None
    yield Setting("the model is Diagonal with equal initial weights", plain)
    X, y = check_problem(X, y)
    yield Premise("the samples do not determine the predictor", bool(np.linalg.matrix_rank(X) < X.shape[1]))
    end = yield from limit_of(model, X, y)
    arrived(end, f"the limit did not converge ({end.reason})")
    yield Premise("the targets are not zero", bool(end.predictor.any()))
    share = model.depth * log_alpha(model) - float(np.log(np.abs(end.predictor).max()))
    yield Premise(
        "the scale of the predictor is between 1e-12 and 1e2 times its size", bool(-27.6 <= share <= 4.6)
    )
    found = tacit.explain(X, y, end.predictor, depths=(model.depth,))
    yield Bound("least residual over the scales", float(found.least[0]), at_most=_RECOVERED)
