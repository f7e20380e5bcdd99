"""Gradient descent with steps, on the weights of a diagonal network."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.data.arrays import Float, as_floats, check_problem, check_squares, feature_names, kept
from tacit.data.entries import Inputs
from tacit.data.prepared import Design, design_of
from tacit.data.status import Status
from tacit.errors import InconsistentDataError, InputError, Interrupted, NoPotentialError
from tacit.models.model import Model, check_model
from tacit.numerics.rounding import quiet
from tacit.results.limit import Limit
from tacit.results.run import Run
from tacit.show.progress import Meter
from tacit.training.descent import Descent
from tacit.training.draws import Draws
from tacit.training.settings import Training
from tacit.verbs.limit import limit
from tacit.verbs.predict_training import check_training

_LONGEST = 512  # steps between two checks of the residual
_GROWTH = 0.02  # relative distance between the steps at which losses are recorded
_BLOWN_UP = 1e8  # growth of the residual that does not occur in stable runs
_SOLVABLE = 1e-8  # relative residual of least squares above which the data cannot be fitted


def descend(
    model: Model,
    X: Inputs,
    y: ArrayLike,
    training: Training,
    *,
    until: float = 1e-10,
    max_steps: int = 10**7,
    seed: int | np.random.Generator = 0,
    batches: Iterable[ArrayLike] | None = None,
) -> Run:
    """Run gradient descent on L = 1/(2N)·‖Xw − y‖², with the steps of a `Training`.

    The result contains the start from which gradient flow would end where the run did, exactly for any step
    size, momentum, batches and decay (`Run.effective`), and compares the run with the prediction of `limit`
    and with gradient flow.

    Parameters
    ----------
    model : Model
        `Diagonal` or `UntiedDiagonal` with its initialization.
    X : (N, d) array-like, or Prepared
        Rows are samples.
    y : (N,) array-like
        Targets.
    training : Training
        Step size, momentum, batches, weight decay, label noise.
    until : float, optional
        The relative residual ‖Xw − y‖/‖y‖ at which to stop; checked every few steps, at most 512. 0: take
        max_steps steps.
    max_steps : int, optional
        The largest number of steps.
    seed : int or Generator, optional
        For batches and label noise.
    batches : iterable of index arrays, optional
        The samples of each step, instead of random batches, for example those of a data loader. The run ends
        with
        them.

    Returns
    -------
    Run
        Predictor, weights and losses of the run, and its effective start.

    Raises
    ------
    InputError
        If an argument is invalid.
    InconsistentDataError
        If X w = y has no solution, unless decay stays on.
    NoPotentialError
        If the model is not a diagonal network whose layers move like two vectors.
    Interrupted
        If Ctrl-C is pressed; its `trajectory` is the run so far.

    See Also
    --------
    limit : With training=…, where the run will end, without running it.
    flow : Gradient flow, and gradient descent on any model.

    Examples
    --------
    >>> import tacit
    >>> X, y = [[1, 2, 0], [0, 1, 1]], [1, 2]
    >>> model, training = tacit.Diagonal(scale=0.1), tacit.Training(step=0.1, momentum=0.5)
    >>> run = tacit.descend(model, X, y, training)
    >>> run.converged, run.flow_error > 100 * run.effective_error
    (True, True)
    """
    begun, names = time.perf_counter(), feature_names(X)
    check_model("descend(model, X, y, training)", model, X, y)
    check_training(training)
    if training.step == 0:
        raise InputError("step = 0 is gradient flow: call tacit.flow, or give a positive step")
    until = _checked(until, max_steps)
    given = X
    X, y = check_problem(X, y)
    check_squares(X, y)
    training.check_samples(len(y))
    design = design_of(given, X)
    if not training.decay_stays:
        _check_solvable(design, y)
    pair = model.weight_pair(X.shape[1])
    if not (pair.plus + pair.minus).any():
        raise InputError(
            "all weights are 0 at the start, or below the floating-point range, and cannot change; "
            "give a larger scale"
        )
    draws = Draws(len(y), training.batch, seed, batches)
    X, y = kept(X), kept(y)
    run = _Loop(Descent(pair, X, y, training, draws), until, max_steps)
    ended = run.follow()
    fields = {"model": model, "X": X, "y": y, "until": until, "seed": seed, "features": names}
    result = _result(run, ended, training, time.perf_counter() - begun, fields)
    if result.status == Status.INTERRUPTED:
        raise Interrupted(result)
    return result


def _checked(until: Any, max_steps: Any) -> float:
    found = float(as_floats(until, "until", ndim=(0,)))
    if not 0 <= found < 1:
        raise InputError(f"until must be a relative residual between 0 and 1, got {until!r}")
    if isinstance(max_steps, bool) or not isinstance(max_steps, int | np.integer) or max_steps < 1:
        raise InputError(f"max_steps must be a positive whole number, got {max_steps!r}")
    return found


def _check_solvable(design: Design, y: Float) -> None:
    size = float(np.linalg.norm(y)) or 1.0
    residual = float(np.linalg.norm(y - design.samples.fittable(y))) / size
    if residual > _SOLVABLE:
        raise InconsistentDataError(
            f"X w = y has no solution (least squares leaves {residual:.3g} of ‖y‖): the model cannot "
            "fit the data, and training with batches would not converge. Fit y to X first, or use "
            "weight decay that stays on",
            residual,
        )


@dataclass(frozen=True)
class _Ending:
    status: Status
    reason: str


class _Loop:
    """A run, its checks and its record."""

    def __init__(self, descent: Descent, until: float, max_steps: int):
        self.descent, self.until, self.max_steps = descent, until, max_steps
        self.size = float(np.linalg.norm(descent.y)) or 1.0
        self.settings = descent.training
        self.first_end = max(self.settings.noise_steps, _finite(self.settings.decay_steps))
        self.recorded, self.loss = [0], [self._loss(descent.residual)]
        self.safe = descent.state.copy()

    def _loss(self, residual: Float) -> float:
        return float(residual @ residual) / (2 * len(residual))

    @quiet
    def follow(self) -> _Ending:
        """Run to the end."""
        goal = -math.log(self.until) if self.until else math.log(1e16)
        with Meter("gradient descent", self._level(self.loss[0]), goal) as meter:
            try:
                while True:
                    ending = self._advance()
                    meter.update(self._level(self.loss[-1]))
                    if ending is not None:
                        return ending
            except KeyboardInterrupt:
                self.descent.state = self.safe
                return _Ending(Status.INTERRUPTED, "interrupted")

    def _level(self, loss: float) -> float:
        relative = math.sqrt(2 * len(self.descent.y) * loss) / self.size if loss < math.inf else math.inf
        return -math.log(relative) if 0 < relative < math.inf else 0.0

    def _advance(self) -> _Ending | None:
        """A number of steps, and why the run ends after them, if it does."""
        done = self.descent.state.steps
        steps = min(max(1, int(_GROWTH * done)), _LONGEST, self.max_steps - done)
        more = self.descent.run(steps)
        now = self.descent.state
        residual = self.descent.residual
        self.recorded.append(now.steps)
        self.loss.append(self._loss(residual))
        relative = float(np.linalg.norm(residual)) / self.size
        grown = math.sqrt(self.loss[-1] / self.loss[0]) if self.loss[0] else relative
        if not grown < _BLOWN_UP or not np.isfinite(now.W).all():
            return self._diverged()
        if now.steps >= self.first_end and self._reached(residual, relative):
            vanished = "the gradient with weight decay vanished"
            reached = f"reached relative residual {relative:.2g}"
            return _Ending(Status.REACHED, vanished if self.settings.decay_stays else reached)
        here = f"at relative residual {relative:.2g}"
        if not more:
            return _Ending(Status.STALLED, f"the given batches ended, {here}")
        still = np.array_equal(now.W, self.safe.W) and np.array_equal(now.V, self.safe.V)
        if still and now.steps >= self.first_end:
            return _Ending(Status.STATIONARY, f"the steps no longer change the weights, {here}")
        self.safe = now.copy()
        if now.steps >= self.max_steps:
            spent = f"stopped after {now.steps:,} steps {here}; max_steps allows more"
            return _Ending(Status.STALLED, spent)
        return None

    def _reached(self, residual: Float, relative: float) -> bool:
        if not self.settings.decay_stays:
            return relative <= self.until
        return self._gradient(residual) <= self.until

    def _gradient(self, residual: Float) -> float:
        """‖∇L + λw‖/‖λw‖, for decay that stays on."""
        d, W = self.descent, self.descent.state.W
        decay = self.settings.decay_at(d.state.steps * self.settings.time_step)
        g = residual @ d.X / len(residual)
        pull = d.pair.rate * np.array([g, -g]) * W ** (d.pair.depth - 1) + decay * W
        return float(np.linalg.norm(pull) / (np.linalg.norm(decay * W) or 1.0))

    def _diverged(self) -> _Ending:
        steps = self.descent.state.steps
        self.descent.state = self.safe
        grown = f"the residual grew {_BLOWN_UP:.0e} times or left the floating-point range"
        return _Ending(Status.STALLED, f"diverged within {steps:,} steps: {grown}; choose a smaller step")


def _finite(steps: float) -> float:
    return 0 if steps == math.inf else steps


@quiet
def _result(run: _Loop, ended: _Ending, training: Training, seconds: float, fields: dict[str, Any]) -> Run:
    descent, state = run.descent, run.descent.state
    residual = descent.residual
    relative = float(np.linalg.norm(residual)) / run.size
    gains = descent.pair.sensitivity(*state.W)
    edge = training.step * float(np.linalg.norm(descent.X * np.sqrt(gains), 2) ** 2 / len(residual)) / 2
    converged, reason = ended.status == Status.REACHED, ended.reason
    if not converged and edge >= training.stable_up_to:
        reason += (
            f"; step·sharpness/2 = {edge:.3g} is beyond the edge of stability, {training.stable_up_to:.3g}"
        )
    effective: Model | str
    try:
        effective = descent.effective()
    except NoPotentialError as error:
        effective = str(error)
    return Run(
        predictor=descent.pair.predictor(*state.W),
        weights=descent.pair.lift(*state.W),
        loss=np.array(run.loss),
        recorded=np.array(run.recorded),
        steps=state.steps,
        converged=converged,
        reason=reason,
        status=ended.status,
        residual=relative,
        edge=edge,
        seconds=seconds,
        training=training,
        _effective=effective,
        **fields,
    )


@quiet
def explained(run: Run) -> Limit:
    """The limit of the effective start, for the outputs at the end of the run."""
    return limit(run.effective, run.X, run.X @ run.predictor)


def flow_limit(run: Run) -> Limit:
    """The end of gradient flow."""
    return limit(run.model, run.X, run.y, least_squares=True)


def predicted(run: Run) -> Limit:
    """The prediction without the run; the summary says how close the step is to the edge."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return limit(run.model, run.X, run.y, training=run.training)
