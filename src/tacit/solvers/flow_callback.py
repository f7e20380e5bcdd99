"""Callbacks that run a flow, for solvers that cannot determine a limit without one.

Solvers do not import flows; the caller passes `tacit.flow` as an argument.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from tacit.data.arrays import Float


class Run(Protocol):
    """The properties of a flow's result that solvers use."""

    @property
    def predictor(self) -> Float:
        """The predictor at each recorded time."""

    @property
    def converged(self) -> bool:
        """Whether the flow reached its goal."""

    @property
    def final_kernel_distance(self) -> float:
        """1 − cosine of the tangent kernels at the start and the end of the flow."""

    @property
    def reason(self) -> str:
        """Why the flow stopped where it did."""


Follow = Callable[..., Run]  # with the arguments of `tacit.flow`


class FlowCounter:
    """Runs flows and counts them."""

    def __init__(self, follow: Follow) -> None:
        self.follow, self.runs = follow, 0

    def __call__(self, *arguments: Any, **options: Any) -> Run:
        """Run a flow."""
        self.runs += 1
        return self.follow(*arguments, **options)

    def describe(self, method: str, what: str) -> str:
        """The description of a method, with what the flows showed if any were run."""
        flows = "a flow" if self.runs == 1 else f"{self.runs} flows"
        return f"{method}; {flows} showed {what}" if self.runs else method
