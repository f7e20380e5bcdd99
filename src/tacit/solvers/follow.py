"""Where only a flow can decide something, whoever asks for the limit hands over the means to run one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

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
    def reason(self) -> str:
        """Where the flow ended, and why no later."""
        ...


Follow = Callable[..., Run]  # with the arguments of `tacit.flow`
