"""The result of `tacit.limits`: the limits of many problems, with their certificates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.arrays import Float, Index
from tacit.data.prepared import design_of
from tacit.data.status import Status
from tacit.errors import TacitError
from tacit.results.limit import Estimate, Limit
from tacit.results.result import Labelled, Result

_NAMED = 5  # problems without a certified solution that a message names


@dataclass(frozen=True, eq=False, repr=False)
class Limits(Result):
    """The limits of B problems, in arrays; `limits[i]` is a `Limit`, and iterating yields all of them.

    Attributes
    ----------
    predictors : (B, d) array
        The predictors; NaN for problems without a solution.
    duals : (B, N) array
        The multipliers.
    feasibility, stationarity, error : (B,) array
        The certificates, as in `Limit`.
    converged : (B,) array of bool
        Whether each problem is certified, as in `Limit`.
    iterations : (B,) array of int
        Matrix factorizations.
    errors : dict
        For each problem that raised an error, its index and the error.
    shape : tuple of int
        The shape to which models, X and y were broadcast; its axes are flattened in C order.
    singly : (K,) array of int
        Problems that were solved one by one, because the batch did not certify them or does not cover them.
    device : str
        "cpu" or "gpu".
    seconds : float
        Computing time.
    tol : float
        The tolerance.
    features : tuple of str, or None
        Names of the columns, if they have any.

    Examples
    --------
    >>> import tacit
    >>> models = [tacit.Diagonal(scale=scale) for scale in (1e-8, 1.0, 1e4)]
    >>> limits = tacit.limits(models, [[1, 2]], [2])
    >>> limits.predictors.round(3).tolist()
    [[0.0, 1.0], [0.394, 0.803], [0.4, 0.8]]
    >>> limits[0].converged, len(limits)
    (True, 3)
    """

    predictors: Float
    duals: Float
    feasibility: Float
    stationarity: Float
    error: Float
    converged: NDArray[np.bool_]
    iterations: Index
    errors: Mapping[int, TacitError]
    shape: tuple[int, ...]
    singly: Index
    device: str
    seconds: float
    tol: float
    features: tuple[str, ...] | None = None
    _models: Sequence[Any] = field(repr=False, kw_only=True)
    _Xs: Sequence[Any] = field(repr=False, kw_only=True)  # the distinct X
    _X_of: Index = field(repr=False, kw_only=True)  # which of them each problem has
    _y: Float = field(repr=False, kw_only=True)
    _solved: Mapping[int, Limit] = field(repr=False, kw_only=True)  # problems that were solved singly

    def __len__(self) -> int:
        return len(self.predictors)

    def __iter__(self) -> Iterator[Limit]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Limit:
        """The limit of problem `index`: a number, or a tuple of numbers for an entry of `shape`."""
        if isinstance(index, tuple):
            index = int(
                np.ravel_multi_index(
                    tuple(n % size for n, size in zip(index, self.shape, strict=True)), self.shape
                )
            )
        place = range(len(self))[index]
        if place in self.errors:
            raise self.errors[place]
        return self._solved.get(place) or self._made(place)

    def _made(self, place: int) -> Limit:
        X, w = self._Xs[self._X_of[place]], self.predictors[place]
        model, error = self._models[place], float(self.error[place])
        design = design_of(X, np.asarray(X))
        potential = model.potential(len(w)) if hasattr(model, "potential") else model
        return Limit(
            predictor=w,
            dual=self.duals[place],
            value=float(potential.value(w)),
            feasibility=float(self.feasibility[place]),
            stationarity=float(self.stationarity[place]),
            iterations=int(self.iterations[place]),
            rank=len(self.duals[place]),
            seconds=self.seconds / len(self),
            model=model,
            X=design.X,
            y=self._y[place],
            tol=self.tol,
            settled=True,
            method="Newton's method in a batch",
            features=self.features,
            _error=Estimate(lambda: error),
            _fits=True,
            _samples=design.samples,
        )

    @property
    def status(self) -> Status:
        """The outcome of the computation in one word."""
        return Status.REACHED if self.converged.all() else Status.STALLED

    @property
    def reason(self) -> str:
        """Which problems are not certified, and why; empty if all are."""
        failed = np.flatnonzero(~self.converged)
        if not len(failed):
            return ""
        named = "; ".join(f"problem {i}: {self._reason_of(i)}" for i in failed[:_NAMED].tolist())
        more = f"; and {len(failed) - _NAMED:,} more" if len(failed) > _NAMED else ""
        return f"{len(failed):,} of {len(self):,} problems are not certified: {named}{more}"

    def _reason_of(self, place: int) -> str:
        return str(self.errors[place]) if place in self.errors else self._solved[place].reason

    def _arrays(self) -> Labelled:
        numbers = ("feasibility", "stationarity", "error", "converged", "iterations")
        return {
            "predictors": (("problem", "feature"), self.predictors),
            "duals": (("problem", "sample"), self.duals),
            **{name: (("problem",), getattr(self, name)) for name in numbers},
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON."""
        errors = {str(place): str(error) for place, error in self.errors.items()}
        return {
            **self._values("predictors", "duals", "feasibility", "stationarity", "error", "converged"),
            **self._values("iterations", "status", "reason"),
            "errors": errors,
            **self._values("shape", "singly", "device", "seconds", "tol"),
        }
