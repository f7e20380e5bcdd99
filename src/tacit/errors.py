"""The exceptions of Tacit."""

from __future__ import annotations

from typing import Any


class TacitError(Exception):
    """Base class of the exceptions that Tacit raises.

    Examples
    --------
    >>> import tacit
    >>> try:
    ...     tacit.Diagonal(depth=1)
    ... except tacit.TacitError as error:
    ...     print(type(error).__name__)
    InputError
    """


class InputError(TacitError, ValueError):
    """An argument is invalid; the message names the argument and its value, and says what to do.

    Examples
    --------
    >>> import tacit
    >>> try:
    ...     tacit.Diagonal(depth=1)
    ... except tacit.InputError as error:
    ...     print(error)
    depth must be at least 2, got 1; depth 1 is plain linear regression
    """


class MissingPackageError(InputError, ImportError):
    """An optional package is not installed; the message says which one, and how to install it.

    Examples
    --------
    >>> import tacit
    >>> issubclass(tacit.MissingPackageError, ImportError)
    True
    """


class MissingDeviceError(InputError):
    """The device that was requested is not available; the message says which one, and what to do.

    Examples
    --------
    >>> import tacit
    >>> issubclass(tacit.MissingDeviceError, tacit.InputError)
    True
    """


class NoPotentialError(TacitError):
    """No potential is known whose minimizer is the limit of this flow; the message gives the reason.

    Attributes
    ----------
    nearest : Potential or None
        For measurements of a matrix that do not commute: the potential that is known for commuting ones.
    commutator : float
        The size of the commutators, relative to that of the measurements.
    distance : float
        The relative distance from the minimizer of nearest to the end of the model's flow on the data; NaN if
        the flow was not integrated.

    Examples
    --------
    >>> import tacit
    >>> try:
    ...     tacit.Factorization.gaussian((2, 2), width=3, scale=1.0).potential()
    ... except tacit.NoPotentialError as error:
    ...     print(error.nearest)
    None
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
    """No closed form of a potential was found; the message says which step failed.

    Examples
    --------
    >>> import tacit
    >>> issubclass(tacit.NoClosedFormError, tacit.TacitError)
    True
    """


class OutsideDomainError(TacitError):
    """A predictor is outside the domain of a potential.

    Attributes
    ----------
    share : float
        The fraction of the line from the initial predictor to this one that is inside the domain.

    Examples
    --------
    >>> import tacit
    >>> tacit.OutsideDomainError("w is outside the domain", share=0.5).share
    0.5
    """

    def __init__(self, message: str, share: float = float("nan")):
        super().__init__(message)
        self.share = share


class InconsistentDataError(TacitError):
    """The equations X w = y have no solution.

    Attributes
    ----------
    residual : float
        The residual of least squares relative to ‖y‖.

    Examples
    --------
    >>> import tacit
    >>> try:
    ...     tacit.limit(tacit.Diagonal(), [[1, 2], [2, 4]], [1, 3])
    ... except tacit.InconsistentDataError as error:
    ...     print(round(error.residual, 3))
    0.141
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

    Examples
    --------
    >>> import tacit
    >>> try:
    ...     tacit.max_margin([[1], [1]], [1, -1], "l2")
    ... except tacit.NotSeparableError as error:
    ...     print(error.combination)
    [0.5 0.5]
    """

    def __init__(self, message: str, combination: Any = None):
        super().__init__(message)
        self.combination = combination


class NotConvergedError(TacitError):
    """A computation stopped before it reached its tolerance, and has no certified result.

    Examples
    --------
    >>> import tacit
    >>> issubclass(tacit.NotConvergedError, tacit.TacitError)
    True
    """


class MissingDataError(TacitError):
    """A data set of an experiment is not on this machine; the message says how to get it.

    Examples
    --------
    >>> import tacit
    >>> issubclass(tacit.MissingDataError, tacit.TacitError)
    True
    """


class Interrupted(KeyboardInterrupt):
    """Ctrl-C was pressed during a flow.

    Attributes
    ----------
    trajectory : Trajectory
        The flow up to that moment.

    Examples
    --------
    >>> import tacit
    >>> run = tacit.flow(tacit.Diagonal(), [[1, 2]], [2])
    >>> tacit.Interrupted(run).trajectory is run
    True
    """

    def __init__(self, trajectory: Any):
        super().__init__("interrupted; the flow computed so far is in .trajectory")
        self.trajectory = trajectory
