"""Picture of a trajectory: loss, predictor, margins and conserved quantities against time or accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.data.printable import label
from tacit.errors import InputError
from tacit.results.trajectory import Trajectory
from tacit.show.figures import FAINT, KERNEL, RICH, TRUTH, Picture, draw_largest

_SAMPLES = 60
_FEW = 20  # fewer recorded times than this are drawn as points
_STILL = 1e-4  # change of accuracy before which nothing is drawn on a logarithmic axis
_FAR = 1e3  # accuracy above which its axis is logarithmic
_KERNEL_WORK = 2e10  # multiplications up to which the change of the kernel is computed for the picture
_SMALLEST = 1e-16  # replaces 0 on the logarithmic axis
_ACCURACY = r"accuracy $\tilde\gamma = -\log$ loss"


def flow_picture(
    trajectory: Trajectory, end: Float | None, *, clock: str | None = None, names: Sequence[str] | None = None
) -> Picture:
    """A picture with four panels: loss, predictor, samples and conserved quantities.

    clock: "time" or "accuracy"; by default, time for the square loss and accuracy for the others. end: the
    predicted limit, marked at the end of the curves, if it is known.
    """
    times, time_label = _clock(trajectory, clock)

    def draw(axes: Any) -> None:
        (loss, predictor), (fit, kept) = axes
        _draw_loss(trajectory, loss)
        _draw_predictor(trajectory, times, end, names, predictor)
        _draw_fit(trajectory, times, fit)
        _draw_kept(trajectory, times, kept)
        for axis in (predictor, fit, kept):
            axis.set_xlabel(time_label)
            _set_scale(axis, times, trajectory.accuracy)

    return Picture(draw, {"figsize": (8.6, 6.0), "nrows": 2, "ncols": 2}, "flow")


def _clock(trajectory: Trajectory, clock: str | None) -> tuple[Float, str]:
    """The values of the clock, and the label of its axis."""
    clock = clock or ("accuracy" if trajectory.loss_function.relative else "time")
    if clock == "accuracy":
        return trajectory.accuracy, _ACCURACY
    if clock != "time":
        raise InputError(f"clock must be 'time' or 'accuracy', got {clock!r}")
    return _time(trajectory)


def _time(trajectory: Trajectory) -> tuple[Float, str]:
    if np.isfinite(trajectory.time).all():
        return trajectory.time, r"time $t$"
    return trajectory.log_time, r"logarithm of time, $\log t$"


def _set_scale(axis: Any, values: Float, accuracy: Float) -> None:
    """Use a logarithmic axis if the values span two decades; it begins where the accuracy begins to
    change."""
    if values is accuracy and accuracy[-1] < 100:
        return
    finite = np.isfinite(values)
    moved = (accuracy > accuracy[0] + _STILL) | (len(values) < _FEW)
    positive = values[finite & moved & (values > 0)]
    spans = len(positive) > 1 and positive[-1] > 100 * positive[0]
    if spans and values[finite].min() > -positive[-1] / 100:
        axis.set_xscale("log")
        axis.set_xlim(positive[0] / 1.3, positive[-1] * 1.3)


def _style(trajectory: Trajectory) -> dict[str, Any]:
    """Draw few recorded times as points, since the curve between them is unknown."""
    return {"marker": "o", "ms": 3, "ls": ":"} if len(trajectory.accuracy) < _FEW else {}


def _draw_loss(trajectory: Trajectory, axis: Any) -> None:
    times, label = _time(trajectory)
    if (trajectory.loss > 0).all():
        axis.semilogy(times, trajectory.loss, color="k", **_style(trajectory))
        axis.set_ylabel("training loss")
    else:
        axis.plot(times, trajectory.accuracy, color="k", **_style(trajectory))
        axis.set_ylabel(_ACCURACY)
        axis.set_yscale("log" if trajectory.accuracy[-1] > _FAR else "linear")
    axis.set_xlabel(label)
    _set_scale(axis, times, trajectory.accuracy)
    axis.set_title(trajectory.loss_function.name, loc="left")


def _draw_predictor(
    trajectory: Trajectory, times: Float, end: Float | None, names: Sequence[str] | None, axis: Any
) -> None:
    paths, labels = _paths(trajectory, names)
    paths, style = paths / _sizes(trajectory), _style(trajectory)
    order = np.argsort(-np.abs(paths[-1]))
    for colour, i in draw_largest(axis, times, paths, order, labels, **style):
        if end is not None:
            axis.plot(times[-1], end.ravel()[i], "o", mfc="none", color=colour, clip_on=False)
    if end is not None:
        axis.plot([], [], "o", mfc="none", color="k", label="predicted limit")
    what, every = r"predictor $w$", "all coordinates"
    if not trajectory.model.has_predictor:
        what, every = "outputs $f(x_n)$", "all outputs"
    elif trajectory.loss_function.separating:
        what = r"direction $w/\|w\|$"
    axis.set_ylabel(what)
    axis.set_title(every if len(order) <= FAINT else f"the {FAINT} largest of {len(order):,}", loc="left")
    low, high = axis.get_ylim()
    axis.set_ylim(low, high + 0.3 * (high - low))  # space for the legend
    axis.legend(loc="upper left", ncols=3)


def _paths(trajectory: Trajectory, names: Sequence[str] | None) -> tuple[Float, Sequence[str]]:
    """The coordinates of the predictor at every time with their labels; the largest of big matrices."""
    predictor, (*_, columns) = trajectory.predictor, trajectory.predictor.shape
    if not trajectory.is_kept:
        which = np.sort(np.argsort(-np.abs(predictor[-1]).ravel())[:FAINT])
        paths = np.array([each.ravel()[which] for each in predictor])
    else:
        paths = predictor.reshape(len(predictor), -1)
        which = np.arange(paths.shape[1])
        if names is not None and trajectory.model.has_predictor:
            return paths, [label(name, 18) for name in names]
    letter = "w" if predictor.ndim == 2 else "W"
    letter = letter if trajectory.model.has_predictor else "f"
    places = which[:, None] + 1 if predictor.ndim == 2 else np.stack(np.divmod(which, columns), axis=1) + 1
    return paths, [f"${letter}_{{{','.join(map(str, place))}}}$" for place in places]


def _sizes(trajectory: Trajectory) -> Any:
    """‖w‖ at every time if directions are drawn, as for separating losses; otherwise 1."""
    if not (trajectory.loss_function.separating and trajectory.model.has_predictor):
        return 1.0
    predictors = trajectory.predictor.reshape(len(trajectory.accuracy), -1)
    sizes = np.linalg.norm(predictors, axis=1, keepdims=True)
    return np.where(sizes > 0, sizes, 1.0)


def _draw_fit(trajectory: Trajectory, times: Float, axis: Any) -> None:
    style, loss = _style(trajectory), trajectory.loss_function
    if loss.separating or loss.classes:
        fit = trajectory.margins.reshape(len(times), -1) / _sizes(trajectory)
        axis.plot(times, fit.min(axis=1), color=RICH, lw=1.6, label="smallest", zorder=2.1, **style)
        axis.axhline(0, color="k", lw=0.5)
        unit = r" / \|w\|" if trajectory.model.has_predictor else ""
        axis.set_ylabel(r"margins $f_y - f_k$" if loss.classes else rf"margins $y_n f(x_n){unit}$")
        axis.legend(loc="best")
    else:
        misfit = np.abs(trajectory.y - trajectory.outputs).reshape(len(times), -1)
        fit = misfit / (np.linalg.norm(trajectory.y) or 1.0)
        axis.set_yscale("log")
        axis.set_ylabel(r"residuals $|f(x_n) - y_n| / \|y\|$")
    order = np.argsort(fit[-1])[:_SAMPLES]
    axis.plot(times, fit[:, order], color=KERNEL, lw=0.7, alpha=0.7, **style)
    axis.set_title("samples", loc="left")


def _draw_kept(trajectory: Trajectory, times: Float, axis: Any) -> None:
    style = _style(trajectory)
    for place, (name, drift) in enumerate(trajectory.drifts.items()):
        drift = np.maximum(drift, _SMALLEST)
        axis.plot(times, drift, color=f"C{place}", label=label(name, 40), **style)
    turning, title = _turning(trajectory), "conserved quantities"
    if turning is not None:
        title += ", and the kernel"
        turning = np.where(turning > _SMALLEST, turning, np.nan)
        name = "change of the tangent kernel"
        axis.plot(times, turning, color=TRUTH, label=name, **(style or {"ls": "--"}))
    axis.set_yscale("log")
    axis.set_ylim(1e-17, 3)
    axis.set_ylabel("relative change")
    axis.set_title(title, loc="left")
    if axis.lines:
        axis.legend(loc="best")


def _turning(trajectory: Trajectory) -> Float | None:
    """The change of the tangent kernel, if it is cheap enough to compute."""
    work = len(trajectory.accuracy) * trajectory.X.size * len(trajectory.X)
    small = trajectory.kernel_is_small
    return None if trajectory.linearized or not small or work > _KERNEL_WORK else trajectory.kernel_distance
