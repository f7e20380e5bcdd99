r"""Quantities that gradient flows conserve, and flows of random losses that verify them.

I is conserved by every gradient flow if ∇I·∇Fᵢ = 0 for all i. Quantities that a user expects to be conserved
are tested at random points, at points that flows from θ₀ reach, and along simulated flows with random losses;
`polynomials` finds those that are quadratic polynomials.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.integrate import DOP853

from tacit.autodiff import jax, jnp, readable_errors
from tacit.data.arrays import Float
from tacit.derivation.closure import CLEAR, ZERO
from tacit.derivation.length_scale import length_scale, row_norms, sampling_width, tolerance
from tacit.derivation.smooth_map import Jets
from tacit.errors import InputError

_RTOL = 1e-12  # of the integrator
_EVALUATIONS = 2_000  # limit for one flow
_FLOWS = 3  # random losses
_PART = 0.5  # length of a flow at its initial speed, in units of the length scale
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_DIGITS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_POINTS = 8  # random points
# Of |I(θ₀)|: added to the size to which a drift is relative, since I is rounded to bits of |I|.
_ROUNDING = 1e-3


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
    def _terms(self) -> list[tuple[float, tuple[str, ...]]]:
        """The coefficients that are not 0, each with the names of its one or two factors."""
        p = len(self.linear)
        terms: list[tuple[float, tuple[str, ...]]] = []
        for i in range(p):
            for j in range(i, p):
                c = self.quadratic[i, j] * (1 if i == j else 2)
                terms.append((c, (self.names[i], self.names[j])))
        terms += [(c, (name,)) for c, name in zip(self.linear, self.names, strict=True)]
        return [(c, factors) for c, factors in terms if c != 0]

    @cached_property
    def text(self) -> str:
        """The polynomial as text."""
        parts = [
            (c, f"{factors[0]}²" if len(factors) == 2 and factors[0] == factors[1] else "·".join(factors))
            for c, factors in self._terms
        ]
        text = "".join(f" {'−' if c < 0 else '+'} {_coefficient(abs(c))}{name}" for c, name in parts)
        return text.strip().removeprefix("+ ") or "0"

    def latex(self) -> str:
        """The polynomial in LaTeX."""
        parts = []
        for c, factors in self._terms:
            first, *others = map(_latex_name, factors)
            product = f"{first}^{{2}}" if others == [first] else " ".join([first, *others])
            parts.append(f" {'-' if c < 0 else '+'} {_latex_coefficient(abs(c))}{product}")
        return "".join(parts).strip().removeprefix("+ ") or "0"

    def _repr_latex_(self) -> str:
        return rf"$\displaystyle {self.latex()}$"

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Conserved({self.text})"


def _latex_coefficient(c: float) -> str:
    size, _, power = _coefficient(c).removesuffix("·").partition("e")
    return rf"{size} \cdot 10^{{{int(power)}}} \, " if power else f"{size} " * bool(size)


def _latex_name(name: str) -> str:
    """A name with its index, such as θ₁₂ or weight₁, in LaTeX."""
    base = name.rstrip("₀₁₂₃₄₅₆₇₈₉")
    index = name[len(base) :].translate(_DIGITS)
    plain = re.sub(r"[^\w .-]", " ", base).replace("_", r"\_")  # other characters may be commands
    letter = r"\theta" if base == "θ" else base if base.isalpha() and len(base) == 1 else rf"\text{{{plain}}}"
    return f"{letter}_{{{index}}}" if index else letter


def _coefficient(c: float) -> str:
    return "" if c == 1 else f"{c:.6g}·"


def parameter_names(jets: Jets) -> tuple[str, ...]:
    """θ₁, θ₂, …, or the names of the arrays with indices from 1."""
    names: list[str] = []
    for name, shape in jets.layout.shapes:
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
        """Whether I is conserved by flows from θ₀."""
        return self.verdict.startswith("held")

    def __str__(self) -> str:
        numbers = f"|cos∠(∇I, ∇F)| ≤ {self.on_orbit:.0e} on the orbit, {self.elsewhere:.0e} elsewhere"
        return f"{self.name}: {self.verdict} ({numbers}; drift {self.drift:.0e})"


@dataclass(frozen=True)
class _Gradient:
    """I and ∇I, of the flat θ."""

    quantity: Callable[[Any], Any]

    def __call__(self, jets: Jets, theta: Any) -> Any:
        def scalar(theta: Any) -> Any:
            value = jnp.asarray(self.quantity(jets.shaped(theta)))
            if value.shape != ():
                raise InputError(f"a conserved quantity must be a number, got shape {value.shape}")
            return value

        return jax.value_and_grad(scalar)(theta)


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
        with readable_errors(f"the candidate {name}", "take θ and return a number"):
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
