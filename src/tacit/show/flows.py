"""Picture of a trajectory: loss, predictor, margins and conserved quantities against time or accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.data.printable import label
from tacit.errors import InputError
from tacit.results.trajectory import Trajectory
from tacit.show.figures import KERNEL, MUTED, RICH, TRUTH, Picture

_SHOWN = 6  # coordinates with a colour and a name
_FAINT = 400  # coordinates that are drawn
_SAMPLES = 60
_FEW = 20  # fewer recorded times than this are drawn as points
_STILL = 1e-4  # change of accuracy before which nothing is drawn on a logarithmic axis
_FAR = 1e3  # accuracy above which its axis is logarithmic
_KERNEL_WORK = 2e10  # multiplications up to which the change of the kernel is computed for the picture


@dataclass(frozen=True, eq=False)
class FlowPanels:
    """The data of the picture."""

    trajectory: Trajectory
    names: Sequence[str]  # as labels
    clock: Float
    clock_label: str
    paths: Float  # (T, coordinates)
    end: Float | None  # the predicted limit
    fit: Float  # (T, samples)
    turning: Float | None


def flow_picture(
    trajectory: Trajectory, end: Float | None, *, clock: str | None = None, names: Sequence[str] | None = None
) -> Picture:
    """A picture with four panels: loss, predictor, samples and conserved quantities.

    clock: "time" or "accuracy"; by default, time for the square loss and accuracy for the others. end: the
    predicted limit, marked at the end of the curves, if it is known.
    """
    panels = _panels(trajectory, end, clock, names)
    return Picture(lambda axes: _draw(panels, axes), {"figsize": (8.6, 6.0), "nrows": 2, "ncols": 2}, "flow")


def _panels(
    trajectory: Trajectory, end: Float | None, clock: str | None, names: Sequence[str] | None
) -> FlowPanels:
    flat, labels = _paths(trajectory, names)
    times, label = _clock(trajectory, clock)
    separating = trajectory.loss_function.separating and trajectory.model.has_predictor
    sizes = np.linalg.norm(flat, axis=1, keepdims=True) if separating else np.ones((len(flat), 1))
    unit = np.where(sizes > 0, sizes, 1.0)
    by_margin = trajectory.loss_function.separating or trajectory.loss_function.classes
    samples = trajectory.margins.reshape(len(flat), -1)
    target = np.linalg.norm(trajectory.y) or 1.0
    residuals = np.abs(trajectory.y - trajectory.outputs).reshape(len(flat), -1) / target
    return FlowPanels(
        trajectory,
        labels,
        times,
        label,
        flat / unit,
        None if end is None else end.ravel(),
        samples / unit if by_margin else residuals,
        _turning(trajectory),
    )


def _paths(trajectory: Trajectory, names: Sequence[str] | None) -> tuple[Float, Sequence[str]]:
    """The coordinates of the predictor at every time with their labels; the largest of big matrices."""
    predictor, instants = trajectory.predictor, len(trajectory.accuracy)
    if isinstance(predictor, np.ndarray):
        labels = _names(predictor.shape) if names is None else [label(name, 18) for name in names]
        if not trajectory.model.has_predictor:
            labels = [f"$f{label[2:]}" for label in _names(predictor.shape)]
        return predictor.reshape(instants, -1), labels
    which = np.sort(np.argsort(-np.abs(predictor[-1]).ravel())[:_FAINT])
    _, _, columns = predictor.shape
    labels = [f"$W_{{{i // columns + 1},{i % columns + 1}}}$" for i in which]
    return np.array([each.ravel()[which] for each in predictor]), labels


def _clock(trajectory: Trajectory, clock: str | None) -> tuple[Float, str]:
    """The values of the clock, and the label of its axis."""
    separating = trajectory.loss_function.relative
    clock = clock or ("accuracy" if separating else "time")
    if clock == "accuracy":
        return trajectory.accuracy, r"accuracy $\tilde\gamma = -\log$ loss"
    if clock != "time":
        raise InputError(f"clock must be 'time' or 'accuracy', got {clock!r}")
    return _time(trajectory)


def _time(trajectory: Trajectory) -> tuple[Float, str]:
    if np.isfinite(trajectory.time).all():
        return trajectory.time, r"time $t$"
    return trajectory.log_time, r"logarithm of time, $\log t$"


def _names(shape: tuple[int, ...]) -> list[str]:
    if len(shape) == 2:
        return [f"$w_{{{i + 1}}}$" for i in range(shape[1])]
    _, rows, columns = shape
    return [f"$W_{{{i + 1},{j + 1}}}$" for i in range(rows) for j in range(columns)]


def _turning(trajectory: Trajectory) -> Float | None:
    work = len(trajectory.accuracy) * trajectory.X.size * len(trajectory.X)
    small = trajectory.kernel_is_small
    return None if trajectory.linearized or not small or work > _KERNEL_WORK else trajectory.kernel_distance


def _draw(panels: FlowPanels, axes: Any) -> None:
    (loss, predictor), (fit, kept) = axes
    _draw_loss(panels, loss)
    _draw_predictor(panels, predictor)
    _draw_fit(panels, fit)
    _draw_kept(panels, kept)
    for axis in (predictor, fit, kept):
        axis.set_xlabel(panels.clock_label)
        _set_scale(axis, panels.clock, panels.trajectory.accuracy)


def _set_scale(axis: Any, values: Float, accuracy: Float) -> None:
    """Use a logarithmic axis if the values span two decades, from where the accuracy begins to change."""
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


def _draw_loss(panels: FlowPanels, axis: Any) -> None:
    trajectory = panels.trajectory
    times, label = _time(trajectory)
    if (trajectory.loss > 0).all():
        axis.semilogy(times, trajectory.loss, color="k", **_style(trajectory))
        axis.set_ylabel("training loss")
    else:
        axis.plot(times, trajectory.accuracy, color="k", **_style(trajectory))
        axis.set_ylabel(r"accuracy $\tilde\gamma = -\log$ loss")
        axis.set_yscale("log" if trajectory.accuracy[-1] > _FAR else "linear")
    axis.set_xlabel(label)
    _set_scale(axis, times, trajectory.accuracy)
    axis.set_title(trajectory.loss_function.name, loc="left")


def _draw_predictor(panels: FlowPanels, axis: Any) -> None:
    paths, style = panels.paths, _style(panels.trajectory)
    order = np.argsort(-np.abs(paths[-1]))
    faint = order[_SHOWN:_FAINT]
    axis.plot(panels.clock, paths[:, faint], color=MUTED, lw=0.4, alpha=0.6, **style)
    for place, i in enumerate(order[:_SHOWN]):
        axis.plot(panels.clock, paths[:, i], color=f"C{place}", label=panels.names[i], **style)
        if panels.end is not None:
            axis.plot(panels.clock[-1], panels.end[i], "o", mfc="none", color=f"C{place}", clip_on=False)
    if panels.end is not None:
        axis.plot([], [], "o", mfc="none", color="k", label="predicted limit")
    separating = panels.trajectory.loss_function.separating
    what = r"direction $w/\|w\|$" if separating else r"predictor $w$"
    axis.set_ylabel(what if panels.trajectory.model.has_predictor else "outputs $f(x_n)$")
    every = "all coordinates" if panels.trajectory.model.has_predictor else "all outputs"
    title = every if len(order) <= _FAINT else f"the {_FAINT} largest of {len(order):,}"
    axis.set_title(title, loc="left")
    low, high = axis.get_ylim()
    axis.set_ylim(low, high + 0.3 * (high - low))  # space for the legend
    axis.legend(loc="upper left", ncols=3)


def _draw_fit(panels: FlowPanels, axis: Any) -> None:
    order = np.argsort(panels.fit[-1])[:_SAMPLES]
    style = _style(panels.trajectory)
    axis.plot(panels.clock, panels.fit[:, order], color=KERNEL, lw=0.7, alpha=0.7, **style)
    if not (panels.trajectory.loss_function.separating or panels.trajectory.loss_function.classes):
        axis.set_yscale("log")
        axis.set_ylabel(r"residuals $|f(x_n) - y_n| / \|y\|$")
    else:
        least = panels.fit.min(axis=1)
        axis.plot(panels.clock, least, color=RICH, lw=1.6, label="smallest", **style)
        axis.axhline(0, color="k", lw=0.5)
        unit = r" / \|w\|" if panels.trajectory.model.has_predictor else ""
        classes = panels.trajectory.loss_function.classes
        axis.set_ylabel(r"margins $f_y - f_k$" if classes else rf"margins $y_n f(x_n){unit}$")
        axis.legend(loc="best")
    axis.set_title("samples", loc="left")


def _draw_kept(panels: FlowPanels, axis: Any) -> None:
    style = _style(panels.trajectory)
    smallest = 1e-16  # replaces 0 on the logarithmic axis
    for place, (name, drift) in enumerate(panels.trajectory.drifts.items()):
        axis.plot(
            panels.clock, np.maximum(drift, smallest), color=f"C{place}", label=label(name, 40), **style
        )
    if panels.turning is not None:
        turning = np.where(panels.turning > smallest, panels.turning, np.nan)
        style = style or {"ls": "--"}
        axis.plot(panels.clock, turning, color=TRUTH, label="change of the tangent kernel", **style)
    axis.set_yscale("log")
    axis.set_ylim(1e-17, 3)
    axis.set_ylabel("relative change")
    turns = panels.turning is not None
    axis.set_title("conserved quantities" + (", and the kernel" if turns else ""), loc="left")
    if panels.trajectory.drifts or turns:
        axis.legend(loc="best")
