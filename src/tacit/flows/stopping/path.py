"""Predictors along one flow at many stopping points, for those who choose among them by validation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.arrays import Float, as_floats, as_labels, check_problem
from tacit.data.prepared import Design, design_of
from tacit.errors import InputError
from tacit.flows.stopping.losses import StoppedExponential, StoppedLogistic, StoppedLoss, StoppedSquare
from tacit.flows.stopping.mirror_flow import MirrorFlow
from tacit.flows.stopping.samples import Samples
from tacit.flows.stopping.stops import Levels, Stops, levels_of_accuracies, levels_of_shares
from tacit.potentials.arrays import quiet

_FINEST, _COARSEST = 1e-7, 0.1  # tolerances that these steps and maps are made for
_MARGINS: dict[str, Any] = {"exp": StoppedExponential, "logistic": StoppedLogistic}


@dataclass(frozen=True, eq=False)
class StoppedPath:
    r"""Predictors w (K, d) at K stopping points of a flow, with duals ν (K, N), ∇Q(w) = ∇Q(w(0)) + Xᵀν.

    times: of the flow on the loss (1/2N)·Σ(f − y)², or on the mean of the others. reached: False where the
    flow ends before it comes to the stop; the predictor is then that at its end, and its time infinite.
    steps: that were taken. reason: why a stop was not reached, in words.
    """

    predictors: Float
    duals: Float
    times: Float
    reached: NDArray[np.bool_]
    steps: int
    reason: str = ""


def stopped_path(
    model: Any,
    X: Any,
    y: Any,
    stops: Any,
    *,
    loss: str = "square",
    rtol: float = 1e-4,
    enough: Callable[[Float], bool] | None = None,
) -> StoppedPath:
    """The flow of a diagonal network, stopped where the loss has fallen to given values.

    stops: for the square loss shares of the loss at the start, in (0, 1], decreasing; for loss "exp" or
    "logistic", of labels y = ±1, increasing accuracies γ̃ = −log L. rtol: relative accuracy of the predictors,
    from 1e-7 to 0.1; that of the loss at a stop is ten times it. enough: is asked about the
    predictor at every stop, and ends the flow there when it says so. For predictors to many digits there is
    `tacit.flow`.
    """
    return next(stopped_paths([model], X, y, stops, loss=loss, rtol=rtol, enough=enough))


def stopped_paths(
    models: Iterable[Any],
    X: Any,
    y: Any,
    stops: Any,
    *,
    loss: str = "square",
    rtol: float = 1e-4,
    enough: Callable[[Float], bool] | None = None,
) -> Iterator[StoppedPath]:
    """The same for one model after the other, which share what of the samples is prepared."""
    checked, y = check_problem(X, y)
    design = design_of(X, checked)
    if not _FINEST <= rtol <= _COARSEST:
        raise InputError(f"rtol must be between {_FINEST:g} and {_COARSEST:g}, got {rtol:g}")
    if loss == "square":
        shares, samples = _decreasing(stops), _once(Samples.of, design, y)
        levels = levels_of_shares(shares, samples.unfitted / (2 * len(y)))
        stopped: StoppedLoss = StoppedSquare(samples.y, len(y))
    elif loss in _MARGINS:
        y = as_labels(y, f"loss {loss!r}")
        levels = levels_of_accuracies(_increasing(stops))
        samples = _once(Samples.labelled, design, y)
        stopped = _MARGINS[loss](y)
    else:
        raise InputError(f"loss must be 'square', 'exp' or 'logistic', got {loss!r}")
    for model in models:
        yield _stopped(model, samples, stopped, levels, rtol, enough or _never)


def _once(make: Callable[[Design, Float], Samples], design: Design, y: Float) -> Samples:
    return design.samples.memory.once((make.__name__, y.tobytes()), lambda: make(design, y))


def _never(_: Float) -> bool:
    return False


@quiet
def _stopped(
    model: Any,
    samples: Samples,
    stopped: StoppedLoss,
    levels: Levels,
    rtol: float,
    enough: Callable[[Float], bool],
) -> StoppedPath:
    form = model.mirror_form(samples.X.shape[1])
    if form is None:
        raise InputError(f"{model!r} has no flow in mirror space; tacit.flow runs it")
    found = Stops(MirrorFlow(form, samples, stopped, rtol), levels, enough)
    found.run()
    duals = found.duals if samples.basis is None else found.duals @ samples.basis.T
    times = found.clocks * np.exp(-form.log_speed)
    return StoppedPath(found.predictors, duals, times, found.reached, found.steps, found.reason)


def _decreasing(shares: Any) -> Float:
    found = np.atleast_1d(as_floats(shares, "shares", ndim=(0, 1)))
    if found.size == 0 or (np.diff(found) >= 0).any() or found[0] > 1 or found[-1] <= 0:
        raise InputError(
            "shares must be decreasing numbers between 0 and 1 (1 included, 0 not), at least one"
        )
    return found


def _increasing(accuracies: Any) -> Float:
    found = np.atleast_1d(as_floats(accuracies, "accuracies", ndim=(0, 1)))
    if found.size == 0 or (np.diff(found) <= 0).any():
        raise InputError("accuracies must be increasing numbers, at least one")
    return found
