"""Whether support vectors that leave the support stay behind (Condition 5 of Moroshko et al. 2020)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tacit.data.arrays import as_floats
from tacit.errors import InputError, NotConvergedError
from tacit.results.sweeping_path import SweepingPath


@dataclass(frozen=True)
class Breach:
    """A support vector that leaves as μ falls through `leaves`, and is one again from `returns` on.

    returns is 0 if it had not come back by the smallest μ looked at.
    """

    sample: int
    leaves: float
    returns: float


@dataclass(frozen=True, eq=False)
class Stability:
    """For which μ Condition 5 of Moroshko et al. 2020 holds, on the flow at infinite scale.

    While no breach is open the flow is on the path of Q_μ margins (Theorem 6), otherwise off it.

    Attributes
    ----------
    holds : bool
        For every μ from ∞ to down_to ("uniformly")?
    breaches : tuple
        Which samples break it, and where.
    down_to : float
        The smallest μ that was looked at.
    converged : bool
        Is down_to as small as was asked for? If not, the flow could not be followed further, and nothing is
        known below.
    sweeping : SweepingPath
        The flow at infinite scale.
    """

    holds: bool
    breaches: tuple[Breach, ...]
    down_to: float
    converged: bool
    sweeping: SweepingPath = field(repr=False)

    def holds_at(self, mu: float) -> bool:
        """Does the condition hold for accuracies α^D/μ?

        Parameters
        ----------
        mu : float
            Positive.

        Returns
        -------
        bool
            Is no breach open at this μ?

        Raises
        ------
        NotConvergedError
            Where the flow could not be followed that far.
        """
        level = float(as_floats(mu, "mu", ndim=(0,)))
        if not self.converged and level < self.down_to:
            raise NotConvergedError(f"mu = {level:g} is not decided: {self._open()}")
        if not level >= self.down_to:
            raise InputError(
                f"mu must be at least down_to = {self.down_to:g}, got {mu!r}; ask for a smaller one"
            )
        return not any(breach.returns < level < breach.leaves for breach in self.breaches)

    def summary(self) -> str:
        """The verdict, and which sample breaks it where."""
        unknown = "" if self.converged else f"; {self._open()}"
        if self.holds:
            return f"the support is stable (Condition 5) for every μ down to {self.down_to:g}{unknown}"
        parts = [
            f"sample {b.sample} leaves at μ = {b.leaves:.4g}"
            + (f" and returns at {b.returns:.4g}" if b.returns else "")
            for b in self.breaches[:6]
        ]
        more = f", and {len(self.breaches) - 6} more" if len(self.breaches) > 6 else ""
        return f"the support is not stable (Condition 5 fails): {', '.join(parts)}{more}{unknown}"

    def _open(self) -> str:
        return f"the flow at infinite scale could not be followed below μ = {self.down_to:.4g}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "holds": self.holds,
            "down_to": self.down_to,
            "converged": self.converged,
            "breaches": [
                {"sample": b.sample, "leaves": b.leaves, "returns": b.returns} for b in self.breaches
            ],
        }
