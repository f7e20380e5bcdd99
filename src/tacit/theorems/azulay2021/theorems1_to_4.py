r"""Theorems 1 to 4 and Proposition 1 of Azulay et al. 2021: where a flow ends, against the flow itself.

Each says that gradient flow on the square loss ends at the minimizer of a potential if it fits the data. What
is measured is the distance between the two, relative to the predictor (`agreement`). Theorem 3 comes with the
distance that it leaves out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tacit
from tacit.data.arrays import check_problem
from tacit.solvers.networks.wide import distance_bound
from tacit.theorems.agreement import AGREE, compared, ended
from tacit.theorems.registry import Assumption, Bound, Parts, Setting, theorem


@theorem(
    "azulay2021/theorem1",
    "w̃(∞) = argmin Q_k(w) s.t. Xw = y for an untied diagonal network (the divergence from a biased start).",
    printed="Q_k is minimized from any start; from w̃(0) ≠ 0 it is the divergence D_{Q_k}(w, w̃(0)) instead.",
)
def theorem1(model: Any, X: Any, y: Any) -> Parts:
    """Theorem 1 (4.1 at ICML), corrected for biased starts."""
    yield Setting("the model is UntiedDiagonal", untied := isinstance(model, tacit.UntiedDiagonal))
    if untied:
        yield from compared(model, X, y)


@theorem(
    "azulay2021/theorem2",
    "w̃(∞) = argmin q_δ(w) s.t. Xw = y for a linear neuron whose output weight keeps its sign.",
    printed="q̂' = √P in Appendices B, D and F, P = √(x²+δ²/4) − δ/2; with the q̂ and z of the theorem it is "
    "(3/2)√P.",
)
def theorem2(model: Any, X: Any, y: Any) -> Parts:
    """Theorem 2 (6.1 at ICML), with the factor 3/2 throughout, and for δ < 0."""
    yield Setting("the model is a linear Neuron", linear := _neuron(model) and model.slope == 1)
    if linear:
        yield from compared(model, X, y)


@theorem(
    "azulay2021/theorem4",
    "w̃(∞) = argmin q_δ(w) s.t. a·σ(Xw/a) = y for a leaky neuron whose output weight keeps its sign.",
    printed="The argmin over a, too; the flow keeps the sign of a(0), even where the other has a smaller q.",
)
def theorem4(model: Any, X: Any, y: Any) -> Parts:
    """Theorem 4 (8.1 at ICML), with the sign of the output weight kept."""
    yield Setting("the model is a leaky Neuron", leaky := _neuron(model) and model.slope < 1)
    if leaky:
        yield from compared(model, X, y)


@theorem(
    "azulay2021/proposition1",
    "w̃(∞) = argmin ‖w‖^{3/2} − (3/2)‖w̃(0)‖^{−1/2}w̃(0)·w s.t. Xw = y for a balanced network of one output.",
    printed="The display before (25) has 1/‖w̃‖ twice; it belongs there once, as in (25).",
)
def proposition1(model: Any, X: Any, y: Any) -> Parts:
    """Proposition 1 (6.2 at ICML): balanced means UᵀU = VᵀV, which makes the hidden layer of rank one."""
    neuron = model.as_neuron() if isinstance(model, tacit.LinearNetwork) else None
    yield Setting(
        "the model is a LinearNetwork of one output whose hidden layer has rank one", neuron is not None
    )
    if neuron is None:
        return
    yield Assumption(f"its layers are balanced (shape {neuron.shape:.2g})", abs(neuron.shape) <= 1e-10)
    yield from compared(model, X, y)


@theorem(
    "azulay2021/theorem3",
    "w̃(∞) is the solution of least norm up to P⊥W(0)·a(∞), which vanishes with W(0).",
    printed="|aᵢ(0)|·‖wᵢ(0)‖ → 0 suffices; with small output weights and inner ones of order 1 it does not.",
    flows=2,
)
def theorem3(model: Any, X: Any, y: Any) -> Parts:
    """Theorem 3 (6.3 at ICML), whose hypothesis must be ‖wᵢ(0)‖ → 0, with the distance that it leaves out.

    The bound is that of `tacit.solvers.networks.wide.distance_bound`; ‖P⊥W(0)‖·‖a(∞)‖ with ‖a(∞)‖² at most
    (−λ + √(λ² + 4‖ŵ‖²))/2, λ the smallest eigenvalue of the imbalance, is a simpler one.
    """
    single = isinstance(model, tacit.LinearNetwork) and model.outputs == 1
    yield Setting("the model is a LinearNetwork of one output", single)
    if not single:
        return
    X, y = check_problem(X, y)
    end = ended(model, X, y)
    yield end.fits
    least = np.linalg.lstsq(X, y, rcond=None)[0]
    size = float(np.linalg.norm(least)) or 1.0
    bound = distance_bound(model.inner, model.outer, X, end.outputs)  # it holds at every instant
    left = AGREE + float(np.linalg.norm(np.linalg.lstsq(X, end.outputs - y, rcond=None)[0])) / size
    apart = float(np.linalg.norm(end.predictor - least))
    yield Bound("‖w̃(∞) − ŵ‖/‖ŵ‖", apart / size, at_most=bound / size + left)


def _neuron(model: Any) -> bool:
    return isinstance(model, tacit.Neuron)
