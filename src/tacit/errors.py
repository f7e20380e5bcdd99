"""Every way Tacit can refuse or fail, by name."""

from __future__ import annotations


class TacitError(Exception):
    """Base of everything Tacit raises on purpose."""


class InputError(TacitError, ValueError):
    """An argument is not what it should be; the message names it and says what to do."""


class NoPotentialError(TacitError):
    """No convex function is known whose minimizer is the limit of this flow; the message says why."""


class InconsistentDataError(TacitError):
    """The equations X w = y have no solution; `residual` is the relative least-squares residual."""

    def __init__(self, message: str, residual: float = float("nan")):
        super().__init__(message)
        self.residual = residual


class NotSeparableError(TacitError):
    """No linear predictor classifies every sample correctly."""


class NotConvergedError(TacitError):
    """A computation stopped before it reached its tolerance, and no answer can be vouched for."""
