"""What a closed form consists of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tacit.derivation.symbolic.curve import Curve


@dataclass(frozen=True, eq=False)
class Formula:
    """Formulas of the potential of a parametrization; `ClosedForm` says what each means."""

    family: str
    variables: tuple[Any, ...]
    origin: tuple[Any, ...]
    curves: tuple[Curve, ...] = field(default=(), repr=False)
    metric: Any = field(default=None, repr=False)

    @property
    def kind(self) -> str:
        """Radial ones of more than one coordinate have a clock of their own."""
        return "warped" if self.family == "radial" else "mirror"

    @property
    def explicit(self) -> bool:
        """Is Q a formula in w, and not of a parameter only?"""
        return all(curve.inverse is not None for curve in self.curves)
