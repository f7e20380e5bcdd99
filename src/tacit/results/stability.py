"""The result of `tacit.support_stability`: whether Condition 5 of Moroshko et al. 2020 holds."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from tacit.data.arrays import as_floats
from tacit.errors import InputError, NotConvergedError
from tacit.results.sweeping_path import SweepingPath

_NAMED = 6  # breaches in a summary


@dataclass(frozen=True)
class Breach:
    """A sample that leaves the support as μ decreases through `leaves`, and enters it again at `returns`.

    returns is 0 if the sample has not entered again by the smallest μ that was followed.
    """

    sample: int
    leaves: float
    returns: float


@dataclass(frozen=True, eq=False)
class Stability:
    """The values of μ for which Condition 5 of Moroshko et al. 2020 holds, on the flow at infinite scale.

    Between `leaves` and `returns` of a breach the flow is off the path of Q_μ margins; elsewhere it is on it
    (Theorem 6).

    Attributes
    ----------
    holds : bool
        Whether the condition holds for every μ from ∞ to down_to ("uniformly").
    breaches : tuple
        The samples that violate it, with the interval of μ for each.
    down_to : float
        The smallest μ that was followed.
    converged : bool
        Whether down_to is as small as requested. If not, the flow could not be followed further, and nothing
        is known below.
    sweeping : SweepingPath
        The flow at infinite scale.

    Examples
    --------
    >>> import tacit
    >>> stability = tacit.support_stability([[1, 2], [-2, -3]], [1, -1], down_to=0.01)
    >>> stability.holds, stability.breaches, stability.holds_at(1)
    (True, (), True)
    """

    holds: bool
    breaches: tuple[Breach, ...]
    down_to: float
    converged: bool
    sweeping: SweepingPath = field(repr=False)

    def holds_at(self, mu: float) -> bool:
        """Whether the condition holds at one μ, that is at accuracy α^D/μ.

        Parameters
        ----------
        mu : float
            A positive number, at least down_to.

        Returns
        -------
        bool
            True if μ is in no interval of a breach.

        Raises
        ------
        InputError
            If μ is below down_to.
        NotConvergedError
            If the flow could not be followed that far.
        """
        level = float(as_floats(mu, "mu", ndim=(0,)))
        if not self.converged and level < self.down_to:
            raise NotConvergedError(f"Condition 5 is not decided at mu = {level:g}: {self._unknown()}")
        if not level >= self.down_to:
            raise InputError(
                f"mu must be at least down_to = {self.down_to:g}, got {mu!r}; for smaller values, call "
                "support_stability with a smaller down_to"
            )
        return not any(breach.returns < level < breach.leaves for breach in self.breaches)

    def summary(self) -> str:
        """Whether the condition holds, and the first samples that violate it."""
        unknown = "" if self.converged else f"; {self._unknown()}"
        if self.holds:
            return f"the support is stable (Condition 5) for every μ down to {self.down_to:g}{unknown}"
        parts = [
            f"sample {b.sample} leaves at μ = {b.leaves:.4g}"
            + (f" and returns at {b.returns:.4g}" if b.returns else "")
            for b in self.breaches[:_NAMED]
        ]
        more = f", and {len(self.breaches) - _NAMED} more" if len(self.breaches) > _NAMED else ""
        return f"the support is not stable (Condition 5 fails): {', '.join(parts)}{more}{unknown}"

    def _unknown(self) -> str:
        return f"the flow at infinite scale could not be followed below μ = {self.down_to:.4g}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        numbers = {name: getattr(self, name) for name in ("holds", "down_to", "converged")}
        return numbers | {"breaches": [asdict(breach) for breach in self.breaches]}
