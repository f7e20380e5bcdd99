r"""Quantities that a user believes to be conserved, put to the test.

I is conserved by every gradient flow where ∇I·∇Fᵢ = 0 for all i: looked at on random points, on points that
flows from θ₀ reach, and along simulated flows with random losses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.autodiff import jax, jnp
from tacit.data.arrays import Float
from tacit.derivation.conserved import random_flows
from tacit.derivation.smooth_map import Jets, words
from tacit.derivation.span import CLEAR, ZERO
from tacit.errors import InputError

_POINTS = 8  # random ones


@dataclass(frozen=True)
class Candidate:
    """What became of a quantity I(θ).

    verdict: "held", "held from this start" (on the orbit of θ₀, not elsewhere), "violated", or "undecided".
    elsewhere, on_orbit: the largest |cos∠(∇I, ∇Fᵢ)| at random points and on the orbit of θ₀. drift: the
    largest change along flows of random losses, over ‖∇I‖ times how far θ has moved.
    """

    name: str
    verdict: str
    elsewhere: float
    on_orbit: float
    drift: float

    @property
    def held(self) -> bool:
        """Is it conserved by flows from θ₀?"""
        return self.verdict.startswith("held")

    def __str__(self) -> str:
        numbers = f"|cos∠(∇I, ∇F)| ≤ {self.on_orbit:.0e} on the orbit, {self.elsewhere:.0e} elsewhere"
        return f"{self.name}: {self.verdict} ({numbers}; drift {self.drift:.0e})"


@dataclass(frozen=True)
class _Gradient:
    """θ ↦ I and ∇I of the flat θ."""

    quantity: Callable[[Any], Any]

    def __call__(self, jets: Jets) -> Callable[..., Any]:
        def number(theta: Any) -> Any:
            found = jnp.asarray(self.quantity(jets.shaped(theta)))
            if found.shape != ():
                raise InputError(f"a conserved quantity must be a number, got shape {found.shape}")
            return found

        return jax.value_and_grad(number)


def put_to_test(
    jets: Jets, quantities: Sequence[Any], points: Float, length: float, seed: int = 0
) -> tuple[Candidate, ...]:
    """The verdict on each; points: on the orbit of θ₀, which comes first; length: the map's own."""
    if callable(quantities) or not isinstance(quantities, Sequence):
        quantities = [quantities]
    rng, start = np.random.default_rng(seed), points[0]
    size = max(float(np.sqrt(np.mean(start**2))), length / np.sqrt(len(start)))
    anywhere = size * rng.standard_normal((_POINTS, len(start)))
    flows = list(random_flows(jets, start, length, seed)) if len(quantities) else []
    return tuple(_one(jets, each, points, anywhere, flows) for each in quantities)


def _one(jets: Jets, quantity: Any, points: Float, anywhere: Float, flows: list[Float]) -> Candidate:
    if not callable(quantity):
        raise InputError(f"candidates must be functions of θ, got {type(quantity).__name__}")
    gradient, name = _Gradient(quantity), getattr(quantity, "__name__", type(quantity).__name__)
    on_orbit, elsewhere = (_cosine(jets, gradient, each, name) for each in (points, anywhere))
    drift = max(_drift(jets, gradient, flow) for flow in flows)
    if max(on_orbit, elsewhere, drift) <= ZERO:
        verdict = "held"
    elif max(on_orbit, drift) <= ZERO and elsewhere >= CLEAR:
        verdict = "held from this start"
    else:
        verdict = "violated" if max(on_orbit, drift) >= CLEAR else "undecided"
    return Candidate(name, verdict, elsewhere, on_orbit, drift)


def _cosine(jets: Jets, gradient: _Gradient, points: Float, name: str) -> float:
    """The largest over points where F and I have derivatives."""
    found, moves = [], False
    for theta in points:
        with words(f"the candidate {name}"):
            slope = np.asarray(jets(gradient, theta)[1])
        J = jets.slopes(theta)
        size = np.linalg.norm(slope) * np.linalg.norm(J, axis=1)
        moves = moves or bool(np.linalg.norm(slope) > 0)
        if np.isfinite(size).all():
            found.append(float((np.abs(J @ slope) / np.where(size > 0, size, 1.0)).max()))
    if not moves:
        raise InputError(f"the candidate {name} does not change with θ: every constant is conserved")
    return max(found, default=float("nan"))


def _drift(jets: Jets, gradient: _Gradient, flow: Float) -> float:
    """Along one flow, (T, p)."""
    first, slope = (np.asarray(each) for each in jets(gradient, flow[0]))
    changes = []
    for theta in flow[1:]:
        value, here = (np.asarray(each) for each in jets(gradient, theta))
        steep = max(float(np.linalg.norm(slope)), float(np.linalg.norm(here)))
        moved = float(np.linalg.norm(theta - flow[0]))
        scale = steep * moved + abs(float(first)) * 1e-3
        changes.append(abs(float(value - first)) / (scale or 1.0))
    return max(changes, default=0.0)
