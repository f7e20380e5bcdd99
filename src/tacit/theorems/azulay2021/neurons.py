r"""Lemmas 1 to 3 of Azulay et al. 2021: scale, shape and balance of a neuron, and its warp near zero.

α = |a|·‖w‖, s = (|a| − ‖w‖)/(|a| + ‖w‖) and δ = a² − ‖w‖². They are statements about the weights of a start,
so no data are asked for.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tacit
from tacit.theorems.registry import Assumption, Bound, Parts, Setting, theorem

_EXACT = 1e-12  # relative, to α + |δ|
_NEAR = 1e-6  # of α + |δ|: an x near 0


def _sizes(model: tacit.Neuron) -> tuple[float, float, float]:
    """α, s and δ, by their definitions."""
    a, w = abs(float(model.output)), float(np.linalg.norm(model.weights))
    return a * w, (a - w) / (a + w), (a - w) * (a + w)


def _neuron(model: Any) -> Setting:
    return Setting("the model is a Neuron", isinstance(model, tacit.Neuron))


@theorem("azulay2021/lemma1", "δ = a(0)² − ‖w(0)‖² = 4αs/(1−s²).", flows=0)
def lemma1(model: Any) -> Parts:
    """Lemma 1, on the weights of a neuron, and what the model conserves."""
    yield (setting := _neuron(model))
    if not setting.holds:
        return
    alpha, s, delta = _sizes(model)
    size = alpha + abs(delta)
    apart = abs(delta - 4 * alpha * s / (1 - s * s)) / size
    yield Bound("|δ − 4αs/(1−s²)| over α + |δ|", apart, at_most=_EXACT / (1 - s * s))
    kept = float(next(iter(model.conserved().values())))
    yield Bound("the same for what the flow conserves", abs(kept - delta) / size, at_most=_EXACT)


@theorem(
    "azulay2021/lemma2",
    "√(α²+δ²/4) = α(1+s²)/(1−s²), and less or plus δ/2 it is α(1∓s)/(1±s).",
    flows=0,
)
def lemma2(model: Any) -> Parts:
    """Lemma 2: the second is ‖w(0)‖², the third a(0)²."""
    yield (setting := _neuron(model))
    if not setting.holds:
        return
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


@theorem(
    "azulay2021/lemma3",
    "The warp ĝ(x) = (√P/x)·(δ/2 + √(δ²/4+x²)), P = √(x²+δ²/4) − δ/2, tends to √δ as x → 0.",
    printed="ĝ(x) → 0; the proof arrives at √δ, which holds.",
    flows=0,
)
def lemma3(model: Any) -> Parts:
    """Lemma 3 with the limit that its proof arrives at: ĝ is |a|, which is √δ where ‖w‖ = 0 (errata)."""
    yield (setting := _neuron(model))
    if not setting.holds:
        return
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
