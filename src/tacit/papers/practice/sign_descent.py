r"""Sign descent, and Adam with ε = 0, tend to the margin in the ℓ∞ norm.

Let f(w) = log Σ exp(−z_n·w), z_n = y_n x_n, B = max ‖z_n‖₁, and γ the largest margin at ‖w‖∞ = 1. The
gradient of f is minus an average of the z_n, of ℓ1 norm at least γ, and along a step of ‖·‖∞ = η the second
derivative of f is at most B²η². Hence f falls by at least γη − ½B²η² in each step, and after all steps

    min_n z_n·w / ‖w‖∞  ≥  γ − (log N + ½B² Σ η²)/Σ η,

which tends to γ for η ∝ t^{−½}. Adam without ε and momentum takes the same steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import tacit
from tacit.data.arrays import check_labelled
from tacit.papers import Bound, Parts, Premise, theorem
from tacit.papers.arguments import arrived

_STEPS = 10_000  # takes a third of a second; the bound tends to 0 like log(steps)/√steps


@theorem("practice/sign-descent", about=("Sign descent",), flows=20, shell=None)
def sign_descent(X: Any, y: Any) -> Parts:
    """w ← w − η·sign(∇L) on the exponential loss tends to the margin max min y_n x_n·w/‖w‖∞ for η ∝ t^{−½}.

    The shortfall is at most (log N + ½B² Σ η²)/(γ Σ η), with B = max ‖x_n‖₁ and γ the largest margin.
    """
    X, y = check_labelled(X, y)
    try:
        best = tacit.max_margin(X, y, "linf")
    except tacit.NotSeparableError as error:
        yield Premise(f"the classes are separable ({error})", False)
        return
    arrived(best, f"the margin was not found ({best.reason})")
    Z = y[:, None] * X
    size = float(np.abs(Z).sum(axis=1).max())
    lengths = 1 / (size * np.sqrt(np.arange(1, _STEPS + 1)))
    w, margins = np.zeros(X.shape[1]), np.zeros(len(X))
    for length in lengths:
        w += length * np.sign(np.exp(margins.min() - margins) @ Z)
        margins = Z @ w
    reached = float(margins.min()) / float(np.abs(w).max()) * best.value
    allowed = (np.log(len(X)) + size**2 * (lengths**2).sum() / 2) / lengths.sum() * best.value
    yield Bound("margin reached, as a share of the largest", reached, at_most=1 + 1e-9)
    yield Bound("shortfall of the margin", 1 - reached, at_most=float(allowed))
