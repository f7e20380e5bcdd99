r"""Gradient descent with steps: the effective start of a run, and its prediction.

Even, Pesme, Gunasekar and Flammarion 2023 ((S)GD over diagonal linear networks, arXiv:2302.08982) show at
depth 2 that steps of any size act like another initialization. Here the statement is extended to any depth,
momentum, and tied or untied weights (`tacit.training.descent`). Papazov, Pesme and Flammarion 2024
(arXiv:2403.05293) describe momentum by γ/(1 − β)²; to second order in the step it is γ(1 + β)/(2(1 − β)²) for
the heavy ball.

The runs are gradient descent on the raw weights, which is independent of the potential.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tacit
from tacit.papers import Bound, Parts, Premise, Setting, theorem

_EXACT = 1e-9  # relative; round-off of a run of 10⁵ steps is 1e-11
_LONGEST = 200_000  # steps of a run
_EDGE = 0.1  # step·sharpness/2 of the runs
_ORDER = (1.7, 2.3)  # of a fit through three steps: 2 plus the next order
_FLOOR = 1e-8  # distances to the prediction below which the round-off of runs and integrals dominates
_UNTIL = 1e-12  # relative residual at which runs stop


def diagonal_network(model: Any) -> Setting:
    known = (
        isinstance(model, tacit.Diagonal | tacit.UntiedDiagonal) or type(model).__name__ == "LayeredDiagonal"
    )
    return Setting("the model is a diagonal network", known and getattr(model, "scale", 1.0) is not None)


def step_at(model: Any, X: Any, y: Any, edge: float) -> float:
    """The step size at this fraction of the edge of stability."""
    tiny = 1e-12
    return float(edge * tiny / tacit.limit(model, X, y, training=tacit.Training(tiny)).edge)


@theorem("practice/effective-start", about=("Effective start",), flows=2, shell="--scale 0.1")
def effective_start(model: Any, X: Any, y: Any, momentum: float = 0.0, seed: int = 0) -> Parts:
    """Gradient descent with any step size ends at the limit of the flow from its effective start.

    D = 2: log w±ᵉ = log w±(0) + Σ[log|1 − x±| + x±]; D > 2: a sum for w±^{2−D}; with x± = ±γ D g w±^{D−2}, or
    any gradient in the row space of X. momentum: of the heavy ball.
    """
    yield diagonal_network(model)
    training = tacit.Training(step_at(model, X, y, 5 * _EDGE * (1 - momentum)), momentum)
    run = tacit.descend(model, X, y, training, until=_UNTIL, max_steps=_LONGEST, seed=seed)
    yield Premise(f"the run fits the data within {_LONGEST:,} steps", run.converged)
    text = "distance from the limit of the effective start, relative"
    yield Bound(text, run.effective_error, at_most=_EXACT)


@theorem("practice/second-order", about=("Second order",), flows=4, shell="--scale 0.1")
def second_order(model: Any, X: Any, y: Any, momentum: float = 0.0, nesterov: bool = False) -> Parts:
    """The error of the start predicted from one gradient flow is of second order in the step.

    log w±ᵉ = log w±(0) − D²λ∫g²dt at depth 2, (w±ᵉ)^{2−D} = w±(0)^{2−D} + D²(D−1)(D−2)λ∫g²w±^{D−2}dt above.
    """
    yield diagonal_network(model)
    steps = step_at(model, X, y, _EDGE * (1 - momentum) ** 2 / 4 ** bool(momentum)) / np.array(
        [1.0, 2.0, 4.0]
    )
    errors, flow = [], 0.0
    for step in steps:
        training = tacit.Training(float(step), momentum, nesterov)
        run = tacit.descend(model, X, y, training, until=_UNTIL, max_steps=_LONGEST)
        yield Premise(f"the run of step {step:.3g} fits the data within {_LONGEST:,} steps", run.converged)
        errors.append(run.prediction_error)
        flow = run.flow_error
    text = "error of the prediction, relative to that of the flow's limit"
    yield Bound(text, errors[-1] / flow, at_most=0.2)
    if min(errors) > _FLOOR:
        order = float(np.polyfit(np.log(steps), np.log(errors), 1)[0])
        yield Bound("fitted order of the error in the step", order, at_least=_ORDER[0], at_most=_ORDER[1])
