"""Every way Tacit can refuse or fail, by name."""

from __future__ import annotations

from typing import Any


class TacitError(Exception):
    """Base of everything Tacit raises on purpose."""


class InputError(TacitError, ValueError):
    """An argument is not what it should be; the message names it and says what to do."""


class MissingPackageError(InputError, ImportError):
    """An optional package is needed and not installed; the message says which, and how to install it."""


class NoPotentialError(TacitError):
    """No convex function is known whose minimizer is the limit of this flow; the message says why.

    Attributes
    ----------
    nearest : Potential or None
        For measurements of a matrix that do not commute: the potential that theory has for ones that do.
    commutator : float
        How far they are from commuting.
    distance : float
        How far from the minimizer of nearest the flow of the model ended on the data, relative; NaN if it was
        not run.
    """

    def __init__(
        self,
        message: str = "",
        nearest: Any = None,
        commutator: float = float("nan"),
        distance: float = float("nan"),
    ):
        super().__init__(message)
        self.nearest, self.commutator, self.distance = nearest, commutator, distance


class NoClosedFormError(TacitError):
    """A potential has no formula that is known here; the message says which step has none."""


class OutsideDomainError(TacitError):
    """A predictor lies where a potential is not defined.

    Attributes
    ----------
    share : float
        How much of the way to it is inside.
    """

    def __init__(self, message: str, share: float = float("nan")):
        super().__init__(message)
        self.share = share


class InconsistentDataError(TacitError):
    """The equations X w = y have no solution.

    Attributes
    ----------
    residual : float
        What least squares leaves, relative to y.
    """

    def __init__(self, message: str, residual: float = float("nan")):
        super().__init__(message)
        self.residual = residual


class NotSeparableError(TacitError):
    """No linear predictor classifies every sample correctly.

    Attributes
    ----------
    combination : (N,) array or None
        The proof: weights c ≥ 0 with Σc = 1 and Σ c_n y_n x_n = 0.
    """

    def __init__(self, message: str, combination: Any = None):
        super().__init__(message)
        self.combination = combination


class NotConvergedError(TacitError):
    """A computation stopped before it reached its tolerance, and no answer can be vouched for."""


class MissingDataError(TacitError):
    """A data set that an experiment needs is not on this machine; the message says how to get it."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a flow.

    Attributes
    ----------
    trajectory : Trajectory
        What was computed until then.
    """

    def __init__(self, trajectory: Any):
        super().__init__("interrupted; .trajectory has what was computed")
        self.trajectory = trajectory
