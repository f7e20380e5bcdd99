"""Pictures and summaries of margin paths and sweeping processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.data.printable import label, shown, some
from tacit.results.margin_paths import MarginPaths
from tacit.results.paths import Kink, MarginPath, SweepingPath
from tacit.show.figures import KERNEL, RICH, Picture, draw_largest
from tacit.show.text import (
    CHEAP,
    aligned,
    count,
    equations,
    exponential,
    intercept,
    norms,
    size_of,
    top_features,
    units,
)

_SAMPLES = 60  # samples with a bar
_NUMBERED = 30  # samples up to which all are numbered
_EVENTS = 6  # events in a summary
_FEW = 20  # values of μ that are drawn as points

Span = tuple[float, float]  # a range of μ, from the larger to the smaller


def path_picture(
    found: MarginPath | SweepingPath,
    names: Sequence[str],
    *,
    sweeping: SweepingPath | None = None,
    clock: str | None = None,
) -> Picture:
    """A picture of the directions (left) and of the support and its changes (right) against μ.

    clock: the label of μ, such as "μ = α²/γ̃".
    """

    def draw(axes: Any) -> None:
        _draw_directions(found, names, sweeping, axes[0])
        _draw_support(found, sweeping, axes[1])
        for axis in axes:
            axis.set_xscale("log")
            axis.set_xlim(*_limits(found.mu))
            axis.set_xlabel(clock or r"$\mu$ = scale of the predictor / accuracy $\tilde\gamma$")

    return Picture(draw, {"figsize": (8.6, 4.0), "ncols": 2}, "path")


def _limits(mu: Float) -> Span:
    """The limits of the axis, from the largest μ to the smallest; wider if there is a single value."""
    first, last = float(mu.max()), float(mu.min())
    return (first, last) if first > last else (3 * first, last / 3)


def _directions(predictors: Float) -> Float:
    return predictors / np.linalg.norm(predictors, axis=1, keepdims=True)


def _draw_directions(
    found: MarginPath | SweepingPath, names: Sequence[str], sweeping: SweepingPath | None, axis: Any
) -> None:
    order = np.argsort(-found.mu)
    mu, ways = found.mu[order], _directions(found.predictors)[order]
    points: dict[str, Any] = {"marker": "o", "ms": 3} if len(mu) < _FEW else {}
    largest = np.argsort(-np.abs(ways[-1]))
    for colour, i in draw_largest(axis, mu, ways, largest, [label(name, 18) for name in names], **points):
        if sweeping is not None:
            flow = _directions(sweeping.predictors)[order, i]
            axis.plot(mu, flow, color=colour, ls="--", mfc="w", **points)
    if sweeping is not None:
        axis.plot([], [], color="k", ls="--", label=r"the flow at $\alpha\to\infty$")
    axis.set_ylabel(r"direction $w/\|w\|$")
    axis.set_title(r"kernel ($\ell_2$)", loc="left", color=KERNEL)
    axis.set_title(r"rich ($\ell_1$)", loc="right", color=RICH)
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=4)


def support_spans(path: MarginPath | SweepingPath) -> list[list[Span]]:
    """The ranges of μ in which each sample is in the support; they end at kinks or events."""
    order = np.argsort(-path.mu)
    changes = _changes_of(path)
    return [
        _spans(path.mu[order], path.support[order, n], [each for each in changes if each.sample == n])
        for n in range(path.support.shape[1])
    ]


def _changes_of(path: MarginPath | SweepingPath) -> list[Kink]:
    """The changes of the support; of large data only to the resolution of the path, which a picture shows.

    Locating the kinks between the points takes many times as long as the path.
    """
    if isinstance(path, MarginPath) and path.X.size <= CHEAP:
        return path.kinks
    return path.changes


def _spans(mu: Float, inside: Any, changes: list[Kink]) -> list[Span]:
    """The ranges of one sample, from its membership of the support at decreasing values of μ.

    Located changes that contradict the membership at the next μ are ignored, since a sample can touch the
    margin with multiplier 0. A change that was not located is placed at the next μ.
    """
    spans, since = [], mu[0] if inside[0] else None
    for above, below, now in zip(mu, mu[1:], inside[1:], strict=False):
        between = [(each.mu, each.enters) for each in changes if below <= each.mu < above]
        if not between or between[-1][1] != now:
            between = [(below, bool(now))]
        for at, enters in between:
            if enters and since is None:
                since = at
            elif not enters and since is not None:
                spans.append((since, at))
                since = None
    return spans if since is None else [*spans, (since, mu[-1])]


def _draw_support(found: MarginPath | SweepingPath, sweeping: SweepingPath | None, axis: Any) -> None:
    bars = support_spans(found)
    pushes = [[] for _ in bars] if sweeping is None else support_spans(sweeping)
    ever = [n for n, spans in enumerate(zip(bars, pushes, strict=True)) if any(spans)]
    shown = ever[:_SAMPLES]
    thick, above = min(3, 80 / (len(shown) or 1)), min(0.4, 0.025 * len(shown))  # bars that do not overlap
    for place, n in enumerate(shown):
        _draw_bars(axis, place, bars[n], color=KERNEL, lw=thick)
        _draw_bars(axis, place + above, pushes[n], color=RICH, lw=thick / 2)
    for kink in _changes_of(found):
        axis.axvline(kink.mu, color="0.5", lw=0.7, ls=":")
    axis.plot([], [], color=KERNEL, lw=3, label="in the support")
    if sweeping is not None:
        axis.plot([], [], color=RICH, lw=1.5, label=r"of the flow at $\alpha\to\infty$")
    step = -(-len(shown) // _NUMBERED)
    axis.set_yticks(range(0, len(shown), step or 1), [str(n) for n in shown[:: step or 1]], fontsize=6.5)
    axis.set_ylim(-1, len(shown))
    axis.set_ylabel("sample (numbered from 0)")
    axis.set_title(_title(len(_changes_of(found)), len(bars), len(ever), len(shown)), loc="left")
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)


def _draw_bars(axis: Any, height: float, spans: list[Span], **style: Any) -> None:
    for since, until in spans:
        points = {"marker": "o", "ms": 4} if since == until else {}
        axis.plot([since, until], [height, height], solid_capstyle="butt", **style, **points)


def _title(changes: int, samples: int, ever: int, shown: int) -> str:
    """The number of changes of the support, and of samples that are not shown."""
    lines = [f"support vectors, {changes or 'no'} {'change' if changes == 1 else 'changes'}"]
    if ever > shown:
        lines.append(f"the first {shown} of {ever}")
    if samples > ever:
        lines.append(f"{samples - ever} of {samples} samples are never in the support")
    return "\n".join(lines)


def path_report(result: MarginPath, scale: float = 1.0, names: Sequence[str] | None = None) -> str:
    """Summarize a margin path: data, path, both ends, and changes of the support.

    scale: the predictor's scale, which converts μ = scale/accuracy to the accuracy of a flow.
    """
    first, last = int(result.mu.argmax()), int(result.mu.argmin())
    lines = {
        "data": size_of(result.X),
        **units(result),
        "path": f"depth {shown(result.depth)}, {count(len(result.mu), 'value')} of μ from "
        f"{result.mu[first]:.4g} to {result.mu[last]:.4g}",
        "from": _held(result, first),
        "to": _held(result, last),
        **intercept(result, result.intercept[[first, last]]),
        "features": f"{top_features(result.predictors[last], names, result.units)} "
        f"at μ = {result.mu[last]:.4g}",
        "kernel end": _near_end(result, 0, scale),
        "rich end": _near_end(result, 1, scale),
        **_support_changes(result),
        "certificate": equations(
            {"largest KKT residual": f"{result.kkt.max():.0e}", "largest error": f"{result.error.max():.0e}"}
        ),
        "computed": f"{1000 * result.seconds:.0f} ms",
    }
    if not result.converged.all():
        where = ", ".join(f"{mu:.3g}" for mu in result.mu[~result.converged][:6])
        lines["NOT CONVERGED"] = f"results not certified at μ = {where}"
    return aligned(lines)


def _support_changes(result: MarginPath) -> dict[str, str]:
    """All changes of the support if they are cheap to compute; else only those between points of the path."""
    if result.X.size <= CHEAP:
        return {"kinks": _changes(result.kinks) or "none"}
    steps = np.diff(result.support[np.argsort(-result.mu)].astype(int), axis=0)
    enters, leaves = int((steps > 0).sum()), int((steps < 0).sum())
    ever = count(int(result.support.any(axis=0).sum()), "sample")
    return {
        "support": f"{ever} in total; {enters} enter and {leaves} leave along the path (--plot shows where)"
    }


def _changes(events: Sequence[Any]) -> str:
    """The number of samples that enter or leave the support, and the first few of them."""
    told = [f"{e.sample} {'enters' if e.enters else 'leaves'} at μ = {e.mu:.4g}" for e in events]
    return f"{len(events)} (samples are numbered from 0): {some(told, _EVENTS)}" if told else ""


def _held(result: MarginPath, i: int) -> str:
    w = result.predictors[i] if result.units is None else result.units.inside(result.predictors[i])
    return f"μ = {result.mu[i]:.4g}: {norms(w)}; {count(int(result.support[i].sum()), 'support vector')}"


def _near_end(result: MarginPath, end: int, scale: float) -> str:
    """The range in which the norm of the kernel end (0) or of the rich end (1) is near its minimum."""
    mu, excess = result.near()[end], result.excess[end]
    spread = np.ptp((result.geometry.log_scale, result.geometry.weight)[end])
    norm = (("‖w‖₂", "the kernel's norm"), ("‖w‖₁", "the weighted ‖w‖₁"))[end][int(spread != 0)]
    if mu is None:
        everywhere = f"{norm} within 5% of its minimum everywhere"
        return everywhere if excess.max() <= 0.05 else "outside the range of μ"
    where = "below" if end else "down to"
    return f"{norm} within 5% of its minimum {where} μ = {mu:.3g}: {_accuracy(scale, mu)}"


def _accuracy(scale: float, mu: float) -> str:
    accuracy = scale / mu
    return f"accuracy = {accuracy:.4g}, loss = {exponential(-accuracy)} for predictor scale = {scale:.3g}"


def sweeping_report(result: SweepingPath) -> str:
    """Summarize a sweeping process: where it leaves the margin path, and its events."""
    leaves = next((e for e in result.events if not e.enters), None)
    known = result.converged.all()
    equal = "equals the path everywhere" if known else f"equals the path down to μ = {result.down_to:.4g}"
    after = equal if leaves is None else f"leaves the path at μ = {leaves.mu:.4g}"
    lines = {"flow α→∞": f"{after}; events: {_changes(result.events) or 'none'}"}
    if not known:
        lines["NOT CONVERGED"] = (
            f"below μ = {result.down_to:.4g}, where the samples with growing multipliers could not be found"
        )
    return aligned(lines, len("kernel end"))


def paths_report(result: MarginPaths) -> str:
    """Summarize the paths of many data sets: their number, the certificates, and which are not certified."""
    good = result.converged.all(axis=1)
    problems, points, features = result.predictors.shape
    lines = {
        "problems": f"{problems:,}, {result.duals.shape[2]:,} samples × {features:,} features, "
        f"{points} values of μ",
        "certified": f"{int(good.sum()):,} of {problems:,}",
        "certificate": f"largest residual = {result.kkt[good].max(initial=0.0):.0e}",
        "computed": f"{result.seconds:.2g} s",
    }
    if result.reason:
        lines["NOT CONVERGED"] = result.reason
    return aligned(lines)


def paths_picture(result: MarginPaths) -> Picture:
    """A picture of the ℓ1 norms of the predictors of all problems against μ."""

    def draw(ax: Any) -> None:
        order = np.argsort(result.mu)
        norms = np.abs(result.predictors).sum(axis=2)[:, order]
        ax.loglog(result.mu[order], norms.T, color=KERNEL, lw=0.8, alpha=0.6)
        ax.set(xlabel=r"$\mu$", ylabel=r"$\|w\|_1$", title=f"{len(result):,} data sets")

    return Picture(draw, {"figsize": (4.6, 3.4)}, "margin paths")
