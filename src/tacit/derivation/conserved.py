"""Quadratic polynomials that gradient flows conserve, and flows of random losses that verify them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.integrate import DOP853

from tacit.data.arrays import Float
from tacit.derivation.length_scale import length_scale, row_norms, tolerance
from tacit.derivation.smooth_map import Jets

_RTOL = 1e-12  # of the integrator
_EVALUATIONS = 2_000  # limit for one flow
_FLOWS = 3  # random losses
_PART = 0.5  # length of a flow at its initial speed, in units of the length scale
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


@dataclass(frozen=True, eq=False)
class Conserved:
    """I(θ) = linear·θ + θᵀ quadratic θ, which is constant along every gradient flow.

    drift: the largest change observed along simulated flows with random losses, relative to its terms.
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
        """The sum of the absolute values of the terms of I(θ)."""
        size = np.abs(theta)
        return float(np.abs(self.linear) @ size + size @ np.abs(self.quadratic) @ size)

    def gradient(self, theta: Float) -> Float:
        """∇I(θ)."""
        return np.asarray(self.linear + 2 * self.quadratic @ theta)

    @cached_property
    def text(self) -> str:
        """The polynomial as text."""
        p, parts = len(self.linear), []
        for i in range(p):
            for j in range(i, p):
                c = self.quadratic[i, j] * (1 if i == j else 2)
                parts.append((c, f"{self.names[i]}²" if i == j else f"{self.names[i]}·{self.names[j]}"))
        parts = [(c, name) for c, name in [*parts, *zip(self.linear, self.names, strict=True)] if c != 0]
        text = "".join(f" {'−' if c < 0 else '+'} {_coefficient(abs(c))}{name}" for c, name in parts)
        return text.strip().removeprefix("+ ") or "0"

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Conserved({self.text})"


def _coefficient(c: float) -> str:
    return "" if c == 1 else f"{c:.6g}·"


def parameter_names(jets: Jets) -> tuple[str, ...]:
    """θ₁, θ₂, …, or the names of the arrays with indices from 1."""
    names: list[str] = []
    for name, shape in jets.layout:
        size = int(np.prod(shape))
        names += [f"{name}{str(at + 1).translate(_SUBSCRIPTS)}" for at in range(size)]
    return tuple(names)


def cosines(J: Float, gradient: Float) -> Float:
    """|cos∠(∇I, ∇Fᵢ)| for each row of J; 0 if one of the two vectors is 0."""
    size = np.linalg.norm(gradient) * np.linalg.norm(J, axis=1)
    return np.asarray(np.abs(J @ gradient) / np.where(size > 0, size, 1.0))


def random_flows(jets: Jets, start: Float, length: float, seed: int = 0) -> Iterator[Float]:
    """The points of gradient flows from θ₀ of random losses ½‖A(w − b)‖², half a length scale long."""
    rng, w0, J0 = np.random.default_rng(seed), jets.value(start), jets.slopes(start)
    units = row_norms(J0)
    for _ in range(_FLOWS):
        A = rng.standard_normal((len(w0), len(w0))) / units
        b = w0 + rng.standard_normal(len(w0)) * units * length
        speed = float(np.linalg.norm(J0.T @ (A.T @ (A @ (w0 - b))))) or 1.0

        def rate(_: float, step: Float, A: Float = A, b: Float = b) -> Float:
            theta = start + length * step
            return np.asarray(-jets.slopes(theta).T @ (A.T @ (A @ (jets.value(theta) - b)))) / length

        with np.errstate(all="ignore"):
            atol = tolerance(_RTOL, start, length)
            solver = DOP853(rate, 0.0, np.zeros_like(start), _PART * length / speed, rtol=_RTOL, atol=atol)
            points = [start]
            while solver.status == "running" and solver.nfev < _EVALUATIONS:  # a kink or pole ends the flow
                solver.step()
                points.append(start + length * solver.y)
        yield np.array([theta for theta in points if np.isfinite(theta).all()])


def drifts(
    jets: Jets, laws: tuple[Conserved, ...], start: Float, length: float | None = None, seed: int = 0
) -> list[float]:
    """The largest relative change of each polynomial along flows of random losses from θ₀."""
    worst = np.zeros(len(laws))
    if laws:
        length = length_scale(jets, start) if length is None else length
        for flow in random_flows(jets, start, length, seed):
            for at, law in enumerate(laws):
                changes = [abs(law(theta) - law(start)) / (law.terms(theta) or 1.0) for theta in flow]
                worst[at] = max(worst[at], *changes)
    return worst.tolist()
