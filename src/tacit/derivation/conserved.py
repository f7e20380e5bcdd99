"""Quadratic polynomials that gradient flows conserve, and flows of random losses along which they must."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.integrate import DOP853

from tacit.data.arrays import Float
from tacit.derivation.scale import own_length, row_sizes, tolerance
from tacit.derivation.smooth_map import Jets

_TIGHT = 1e-12  # of flows along which they are verified
_CALLS = 2_000  # evaluations along one of them
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


@dataclass(frozen=True, eq=False)
class Conserved:
    """I(θ) = linear·θ + θᵀ quadratic θ, which is the same all along every gradient flow.

    drift: the largest change that was seen along simulated flows with random losses, relative to its terms.
    """

    linear: Float
    quadratic: Float
    names: tuple[str, ...]
    drift: float = float("nan")

    def __call__(self, theta: Any) -> float:
        """I(θ), of the flat θ."""
        theta = np.asarray(theta, dtype=float)
        return float(self.linear @ theta + theta @ self.quadratic @ theta)

    def terms(self, theta: Float) -> float:
        """The sum of the sizes of its terms."""
        size = np.abs(theta)
        return float(np.abs(self.linear) @ size + size @ np.abs(self.quadratic) @ size)

    def gradient(self, theta: Float) -> Float:
        """∇I(θ)."""
        return np.asarray(self.linear + 2 * self.quadratic @ theta)

    @cached_property
    def text(self) -> str:
        """The polynomial as it is written."""
        p, parts = len(self.linear), []
        for i in range(p):
            for j in range(i, p):
                c = self.quadratic[i, j] * (1 if i == j else 2)
                parts.append((c, f"{self.names[i]}²" if i == j else f"{self.names[i]}·{self.names[j]}"))
        parts = [(c, name) for c, name in [*parts, *zip(self.linear, self.names, strict=True)] if c != 0]
        written = "".join(f" {'−' if c < 0 else '+'} {_coefficient(abs(c))}{name}" for c, name in parts)
        return written.strip().removeprefix("+ ") or "0"

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Conserved({self.text})"


def _coefficient(c: float) -> str:
    return "" if c == 1 else f"{c:.6g}·"


def parameter_names(jets: Jets) -> tuple[str, ...]:
    """θ₁, θ₂, … or the names of the arrays with their indices, from 1."""
    found: list[str] = []
    for name, shape in jets.layout:
        size = int(np.prod(shape))
        found += [f"{name}{str(at + 1).translate(_SUBSCRIPTS)}" for at in range(size)]
    return tuple(found)


def random_flows(jets: Jets, start: Float, length: float, seed: int = 0) -> Iterator[Float]:
    """Gradient flows of three random losses ½‖A(w − b)‖² from θ₀, about half the map's own length long."""
    rng, w0, J0 = np.random.default_rng(seed), jets.value(start), jets.slopes(start)
    units = row_sizes(J0)
    for _ in range(3):
        A = rng.standard_normal((len(w0), len(w0))) / units
        b = w0 + rng.standard_normal(len(w0)) * units * length
        speed = float(np.linalg.norm(J0.T @ (A.T @ (A @ (w0 - b))))) or 1.0
        duration = 0.5 * length / speed

        def rate(_: float, step: Float, A: Float = A, b: Float = b) -> Float:
            theta = start + length * step
            return np.asarray(-jets.slopes(theta).T @ (A.T @ (A @ (jets.value(theta) - b)))) / length

        with np.errstate(all="ignore"):
            atol = tolerance(_TIGHT, start, length)
            steps = DOP853(rate, 0.0, np.zeros_like(start), duration, rtol=_TIGHT, atol=atol)
            rows = [start]
            while steps.status == "running" and steps.nfev < _CALLS:  # kinks and poles end a flow
                steps.step()
                rows.append(start + length * steps.y)
        yield np.array([theta for theta in rows if np.isfinite(theta).all()])


def drifts(
    jets: Jets, laws: tuple[Conserved, ...], start: Float, length: float | None = None, seed: int = 0
) -> list[float]:
    """The largest relative change of each along flows of random losses from θ₀."""
    worst = np.zeros(len(laws))
    length = own_length(jets, start) if length is None and laws else length
    for flow in random_flows(jets, start, length or 1.0, seed) if laws else ():
        for at, law in enumerate(laws):
            changes = [abs(law(theta) - law(start)) / (law.terms(theta) or 1.0) for theta in flow]
            worst[at] = max(worst[at], *changes)
    return worst.tolist()
