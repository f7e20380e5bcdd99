r"""Lemmas 1 to 3 of Azulay et al. 2021: scale, shape and balance of a neuron, and its warp near zero.

α = |a|·‖w‖, s = (|a| − ‖w‖)/(|a| + ‖w‖) and δ = a² − ‖w‖². They are statements about the weights of a start,
so no data are asked for.

Errata
------
### Lemma 3: the limit of the warp
- **Stated.** ĝ(x) → 0 as x → 0. **Proved, and true.** ĝ(x) → √δ.
- **What the warp is.** ĝ = |a|, the size of the output weight; with the q̂ of Theorem 2 it is (3/2)|a|. H
  fails the test of a Hessian (equation 6), |a|·H passes.
- **Tests.** `test_lemma_3_has_the_limit_root_delta`, `test_the_warp_is_the_size_of_the_output_weight`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import tacit
from tacit.papers import Assumption, Bound, Parts, Setting, theorem

_EXACT = 1e-12  # relative, to α + |δ|
_FLOWN = 1e-8  # what the integrator leaves of a conserved quantity
_NEAR = 1e-6  # of α + |δ|: an x near 0


def _sizes(model: tacit.Neuron) -> tuple[float, float, float]:
    """α, s and δ, by their definitions."""
    a, w = abs(float(model.output)), float(np.linalg.norm(model.weights))
    return a * w, (a - w) / (a + w), (a - w) * (a + w)


def _neuron(model: Any) -> Setting:
    return Setting("the model is a Neuron", isinstance(model, tacit.Neuron))


@theorem("azulay2021/lemma1", flows=0)
def lemma1(model: Any) -> Parts:
    """δ = a(0)² − ‖w(0)‖² = 4αs/(1−s²).

    Lemma 1, with scale and shape of the model, for its weights at the start and as a flow moves them.
    """
    yield _neuron(model)
    _, _, delta = _sizes(model)
    alpha, s = float(model.scale), float(model.shape)
    size = alpha + abs(delta)
    told = 4 * alpha * s / (1 - s * s)
    room = _EXACT / (1 - s * s)
    yield Bound("|δ − 4αs/(1−s²)| over α + |δ|", abs(delta - told) / size, at_most=room)
    if size == 0:
        return
    moved, kept = _moved(model, size)
    text = f"the same after a flow by which a² + ‖w‖² has changed by {moved:.2g} of α + |δ|"
    yield Bound(text, abs(kept - told / size), at_most=_FLOWN + room)


def _moved(model: tacit.Neuron, size: float) -> tuple[float, float]:
    """By how much a flow changes a² + ‖w‖², and δ after it, of the weights in units of √(α + |δ|).

    The flow is that of the raw weights on a sample that pulls it away from the kink of a leaky neuron.
    """
    unit = math.sqrt(size)
    start = np.append(model.weights, model.output) / unit
    sideways = np.cos(np.arange(len(start) - 1)) / math.sqrt(len(start))
    x = start[:-1] + math.copysign(1.0, float(sideways @ start[:-1])) * sideways
    X, y = x[None] / np.linalg.norm(x), np.array([math.copysign(3.0, model.output)])

    def velocity(_: float, flat: Any) -> Any:
        weights = {"a": flat[-1], "w": flat[:-1]}
        pulled = model.parametrization.pull(weights, X, y - model.parametrization.outputs(weights, X))
        return np.append(pulled["w"], pulled["a"])

    end = solve_ivp(velocity, (0, 1), start, "DOP853", rtol=1e-10, atol=1e-12).y[:, -1]
    return abs(float(end @ end - start @ start)), float(end[-1] ** 2 - end[:-1] @ end[:-1])


@theorem("azulay2021/lemma2", flows=0)
def lemma2(model: Any) -> Parts:
    """√(α²+δ²/4) = α(1+s²)/(1−s²), and less or plus δ/2 it is α(1∓s)/(1±s).

    Lemma 2: the second is ‖w(0)‖², the third a(0)².
    """
    yield _neuron(model)
    alpha, s, delta = _sizes(model)
    root = math.hypot(alpha, delta / 2)
    pairs = {
        "√(α²+δ²/4)": (root, alpha * (1 + s * s) / (1 - s * s)),
        "√(α²+δ²/4) − δ/2": (root - delta / 2, alpha * (1 - s) / (1 + s)),
        "√(α²+δ²/4) + δ/2": (root + delta / 2, alpha * (1 + s) / (1 - s)),
    }
    for text, (left, right) in pairs.items():
        room = _EXACT / (1 - s * s)
        yield Bound(f"error of {text}, over √(α²+δ²/4)", abs(left - right) / root, at_most=room)


@theorem("azulay2021/lemma3", flows=0)
def lemma3(model: Any) -> Parts:
    """The warp ĝ(x) = (√P/x)·(δ/2 + √(δ²/4+x²)), P = √(x²+δ²/4) − δ/2, tends to √δ as x → 0.

    Printed: ĝ(x) → 0; the proof arrives at √δ, which holds.

    Lemma 3 with the limit that its proof arrives at: ĝ is |a|, which is √δ where ‖w‖ = 0 (errata).
    """
    yield _neuron(model)
    alpha, _, delta = _sizes(model)
    yield Assumption(f"δ = {delta:.4g} is not negative", delta >= 0)
    if delta < 0 or alpha == 0:
        return
    size = math.sqrt(alpha + delta)
    near = warp(_NEAR * (alpha + delta), delta)
    apart = abs(near - math.sqrt(delta)) / size
    yield Bound("|ĝ(x) − √δ| near 0, over √(α+δ)", apart, at_most=2 * math.sqrt(_NEAR))
    yield Bound("the same for the printed limit 0 (no claim)", near / size)
    start = abs(warp(alpha, delta) - abs(float(model.output))) / size
    yield Bound("|ĝ(‖w̃(0)‖) − |a(0)||, over √(α+δ)", start, at_most=_EXACT)


def warp(x: float, delta: float) -> float:
    """ĝ as it is printed, with P = x²/(√(x²+δ²/4) + δ/2), which does not cancel for δ ≥ 0."""
    above = math.hypot(x, delta / 2) + delta / 2
    return math.sqrt(x * x / above) / x * above
