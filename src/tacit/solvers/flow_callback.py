"""Where only a flow can decide something, whoever asks for the limit hands over the means to run one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from tacit.data.arrays import Float


class Run(Protocol):
    """What is asked of a flow that was run."""

    @property
    def predictor(self) -> Float:
        """At every recorded instant."""
        ...

    @property
    def converged(self) -> bool:
        """Was what was asked for reached?"""
        ...

    @property
    def final_kernel_distance(self) -> float:
        """1 − cos of the angle between the tangent kernels at its start and at its end."""
        ...

    @property
    def reason(self) -> str:
        """Where the flow ended, and why no later."""
        ...


Follow = Callable[..., Run]  # with the arguments of `tacit.flow`


class Decider:
    """Runs the flows without which a limit is not known, and counts them."""

    def __init__(self, follow: Follow) -> None:
        self.follow, self.runs = follow, 0

    def __call__(self, *arguments: Any, **options: Any) -> Run:
        """The flow."""
        self.runs += 1
        return self.follow(*arguments, **options)

    def told(self, method: str, what: str) -> str:
        """The method, and what flows have told."""
        flows = "a flow" if self.runs == 1 else f"{self.runs} flows"
        return f"{method}; {flows} told {what}" if self.runs else method
