"""The result of `tacit.descend`: a run of gradient descent."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.data.status import Status
from tacit.errors import NoPotentialError, TacitError
from tacit.models.model import Model
from tacit.results.delegation import delegate
from tacit.results.prediction import Predicting
from tacit.results.result import Labelled, Pictured, Summarized


@dataclass(frozen=True, eq=False, repr=False)
class Run(Predicting, Summarized, Pictured):
    """A run of gradient descent with steps, and the start of the flow that ends where it did.

    Attributes
    ----------
    predictor : (d,) array
        w at the end.
    weights : dict of arrays
        The weights of the model at the end, by name.
    loss : (T,) array
        The training loss 1/(2N)·‖Xw − y‖² after `recorded` steps.
    recorded : (T,) array
        The numbers of steps after which the loss was recorded: all at first, then about 2% apart.
    steps : int
        The number of steps.
    converged : bool
        Whether the relative residual ‖Xw − y‖/‖y‖ fell to `until`, after decay and label noise had ended
        (with decay that stays on: whether the gradient with decay did, relative to the decay).
    reason : str
        Why the run ended.
    status : Status
        The reason in one word.
    residual : float
        ‖Xw − y‖/‖y‖ at the end.
    edge : float
        step·sharpness/2 at the end; NaN if the weights are not finite.
    seconds : float
        Computing time.
    training : Training
        The settings.
    model, X, y, until, seed
        The arguments of `tacit.descend`.
    features : tuple of str, or None
        Names of the columns, if they have any.

    Examples
    --------
    >>> import tacit
    >>> X, y = [[1, 2, 0], [0, 1, 1]], [1, 2]
    >>> run = tacit.descend(tacit.Diagonal(scale=0.1), X, y, tacit.Training(step=0.1))
    >>> run.converged, run.effective_error < 1e-9 < run.flow_error
    (True, True)
    """

    predictor: Float
    weights: dict[str, Float] = field(repr=False)
    loss: Float = field(repr=False)
    recorded: Any = field(repr=False)
    steps: int
    converged: bool
    reason: str
    status: Status
    residual: float
    edge: float
    seconds: float
    training: Any
    model: Model = field(repr=False)
    X: Float = field(repr=False)
    y: Float = field(repr=False)
    until: float
    seed: Any = field(repr=False)
    _effective: Model | str = field(repr=False)
    features: tuple[str, ...] | None = field(default=None, repr=False)

    @property
    def effective(self) -> Model:
        """The effective start: the model whose gradient flow ends where this run did, for `tacit.limit`.

        It is exact at every moment of the run: of all predictors with the outputs Xw of this moment, w
        minimizes the potential of this model. Raises `NoPotentialError` if there is none: a weight is 0, or,
        at depth D > 2, a step was so large that it changed a sign.
        """
        if isinstance(self._effective, str):
            raise NoPotentialError(self._effective)
        return self._effective

    @cached_property
    def effective_error(self) -> float:
        """The relative distance from the limit of `effective` to the end of the run; NaN if there is none."""
        return self._distance_to(lambda: delegate(self, "explained").predictor)

    @cached_property
    def flow_error(self) -> float:
        """Relative distance from the limit of gradient flow to the end of the run; NaN if unknown."""
        return self._distance_to(lambda: self.flow)

    @cached_property
    def prediction_error(self) -> float:
        """Relative distance from the prediction of `limit(…, training=…)` to the end; NaN without one."""
        return self._distance_to(lambda: self.prediction.predictor)

    @cached_property
    def flow(self) -> Float:
        """The end of gradient flow."""
        found: Float = delegate(self, "flow_limit").predictor
        return found

    @cached_property
    def prediction(self) -> Any:
        """The `Limit` of limit(model, X, y, training=…), which does not use the run."""
        return delegate(self, "predicted")

    def _distance_to(self, find: Any) -> float:
        try:
            other = find()
        except TacitError:
            return float("nan")
        size = float(np.linalg.norm(self.predictor)) or 1.0
        return float(np.linalg.norm(other - self.predictor)) / size

    def _arrays(self) -> Labelled:
        return {"predictor": (("feature",), self.predictor), "loss": (("record",), self.loss)}

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON."""
        names = ("steps", "converged", "status", "reason", "residual", "edge", "until", "seconds")
        errors = {
            name: None if np.isnan(value) else value
            for name in ("effective_error", "prediction_error", "flow_error")
            for value in [getattr(self, name)]
        }
        loss = [None if not np.isfinite(each) else float(each) for each in self.loss]
        return {
            "model": repr(self.model),
            "training": self.training.describe(),
            **self._values("predictor"),
            "weights": {name: np.asarray(each).tolist() for name, each in self.weights.items()},
            **self._values(*names),
            **errors,
            "recorded": np.asarray(self.recorded).tolist(),
            "loss": loss,
        }
