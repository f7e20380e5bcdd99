r"""Tests of quantities that a user expects to be conserved.

I is conserved by every gradient flow if ∇I·∇Fᵢ = 0 for all i. This is tested at random points, at points that
flows from θ₀ reach, and along simulated flows with random losses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.autodiff import jax, jnp
from tacit.data.arrays import Float
from tacit.derivation.conserved import cosines, random_flows
from tacit.derivation.length_scale import sampling_width
from tacit.derivation.smooth_map import Jets, readable_errors
from tacit.derivation.span import CLEAR, ZERO
from tacit.errors import InputError

_POINTS = 8  # random points
_ROUNDING = (
    1e-3  # of |I(θ₀)|: added to the size to which a drift is relative, since I is rounded to bits of |I|
)


@dataclass(frozen=True)
class Candidate:
    """The result of testing a quantity I(θ).

    verdict: "held", "held from this start" (on the orbit of θ₀ only), "violated", or "undecided". elsewhere,
    on_orbit: the largest |cos∠(∇I, ∇Fᵢ)| at random points and on the orbit of θ₀. drift: the largest change
    along flows of random losses, relative to ‖∇I‖ times the distance from θ₀.
    """

    name: str
    verdict: str
    elsewhere: float
    on_orbit: float
    drift: float

    @property
    def held(self) -> bool:
        """Is I conserved by flows from θ₀?"""
        return self.verdict.startswith("held")

    def __str__(self) -> str:
        numbers = f"|cos∠(∇I, ∇F)| ≤ {self.on_orbit:.0e} on the orbit, {self.elsewhere:.0e} elsewhere"
        return f"{self.name}: {self.verdict} ({numbers}; drift {self.drift:.0e})"


@dataclass(frozen=True)
class _Gradient:
    """θ ↦ I and ∇I, of the flat θ."""

    quantity: Callable[[Any], Any]

    def __call__(self, jets: Jets) -> Callable[..., Any]:
        def scalar(theta: Any) -> Any:
            value = jnp.asarray(self.quantity(jets.shaped(theta)))
            if value.shape != ():
                raise InputError(f"a conserved quantity must be a number, got shape {value.shape}")
            return value

        return jax.value_and_grad(scalar)


def check_candidates(
    jets: Jets, quantities: Sequence[Any], points: Float, length: float, seed: int = 0
) -> tuple[Candidate, ...]:
    """Test each quantity; points: on the orbit of θ₀, which is the first; length: the map's length scale."""
    if callable(quantities) or not isinstance(quantities, Sequence):
        quantities = [quantities]
    rng, start = np.random.default_rng(seed), points[0]
    size = sampling_width(start, length)
    elsewhere = size * rng.standard_normal((_POINTS, len(start)))
    flows = list(random_flows(jets, start, length, seed)) if len(quantities) else []
    return tuple(_check(jets, each, points, elsewhere, flows) for each in quantities)


def _check(jets: Jets, quantity: Any, points: Float, others: Float, flows: list[Float]) -> Candidate:
    if not callable(quantity):
        raise InputError(f"candidates must be functions of θ, got {type(quantity).__name__}")
    gradient, name = _Gradient(quantity), getattr(quantity, "__name__", type(quantity).__name__)
    on_orbit, elsewhere = (_largest_cosine(jets, gradient, each, name) for each in (points, others))
    drift = max(_drift(jets, gradient, flow) for flow in flows)
    if max(on_orbit, elsewhere, drift) <= ZERO:
        verdict = "held"
    elif max(on_orbit, drift) <= ZERO and elsewhere >= CLEAR:
        verdict = "held from this start"
    else:
        verdict = "violated" if max(on_orbit, drift) >= CLEAR else "undecided"
    return Candidate(name, verdict, elsewhere, on_orbit, drift)


def _largest_cosine(jets: Jets, gradient: _Gradient, points: Float, name: str) -> float:
    """The largest |cos∠(∇I, ∇Fᵢ)| over the points at which F and I are differentiable."""
    found, constant = [], True
    for theta in points:
        with readable_errors(f"the candidate {name}", "a number"):
            slope = np.asarray(jets(gradient, theta)[1])
        J = jets.slopes(theta)
        constant = constant and not np.linalg.norm(slope) > 0
        if np.isfinite(slope).all() and np.isfinite(J).all():
            found.append(float(cosines(J, slope).max()))
    if constant:
        raise InputError(f"the candidate {name} does not change with θ; give a function that is not constant")
    return max(found, default=float("nan"))


def _drift(jets: Jets, gradient: _Gradient, flow: Float) -> float:
    """The largest relative change of I along one flow, (T, p)."""
    first, slope = (np.asarray(each) for each in jets(gradient, flow[0]))
    changes = []
    for theta in flow[1:]:
        value, here = (np.asarray(each) for each in jets(gradient, theta))
        steepness = max(float(np.linalg.norm(slope)), float(np.linalg.norm(here)))
        scale = steepness * float(np.linalg.norm(theta - flow[0])) + _ROUNDING * abs(float(first))
        changes.append(abs(float(value - first)) / (scale or 1.0))
    return max(changes, default=0.0)
