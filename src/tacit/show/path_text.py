"""Summaries of margin paths and sweeping processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.data.number_format import shown
from tacit.results.margin_path import MarginPath
from tacit.results.sweeping_path import SweepingPath
from tacit.show.text import (
    CHEAP,
    aligned,
    count,
    equations,
    exponential,
    intercept,
    norms,
    top_features,
    units,
)


def path_report(result: MarginPath, scale: float = 1.0, names: Sequence[str] | None = None) -> str:
    """Summarize a margin path: data, path, both ends, and changes of the support.

    scale: the predictor's scale, which converts μ = scale/accuracy to the accuracy of a flow.
    """
    samples, features = result.X.shape
    first, last = int(result.mu.argmax()), int(result.mu.argmin())
    lines = {
        "data": f"{count(samples, 'sample')} × {count(features, 'feature')}",
        **units(result),
        "path": f"depth {shown(result.depth)}, {count(len(result.mu), 'value')} of μ from "
        f"{result.mu[first]:.4g} to {result.mu[last]:.4g}",
        "from": _held(result, first),
        "to": _held(result, last),
        **intercept(result, result.intercept[[first, last]]),
        "features": f"{top_features(result.predictors[last], names, result.units)} "
        f"at μ = {result.mu[last]:.4g}",
        "kernel end": _near_kernel(result, scale),
        "rich end": _near_rich(result, scale),
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
    shown = [f"{e.sample} {'enters' if e.enters else 'leaves'} at μ = {e.mu:.4g}" for e in events[:6]]
    more = ", …" if len(events) > 6 else ""
    return f"{len(events)} (samples are numbered from 0): {', '.join(shown)}{more}" if shown else ""


def _held(result: MarginPath, i: int) -> str:
    w = result.predictors[i] if result.units is None else result.units.inside(result.predictors[i])
    return f"μ = {result.mu[i]:.4g}: {norms(w)}; {count(int(result.support[i].sum()), 'support vector')}"


def _near_kernel(result: MarginPath, scale: float) -> str:
    until, excess = result.near()[0], result.excess[0]
    norm = "‖w‖₂" if np.ptp(result.geometry.log_scale) == 0 else "the kernel's norm"
    if until is not None:
        return f"{norm} within 5% of its minimum down to μ = {until:.3g}: {_accuracy(scale, until)}"
    return f"{norm} within 5% of its minimum everywhere" if excess.max() <= 0.05 else "beyond the path"


def _near_rich(result: MarginPath, scale: float) -> str:
    since, excess = result.near()[1], result.excess[1]
    norm = "‖w‖₁" if np.ptp(result.geometry.weight) == 0 else "the weighted ‖w‖₁"
    if since is not None:
        return f"{norm} within 5% of its minimum below μ = {since:.3g}: {_accuracy(scale, since)}"
    return f"{norm} within 5% of its minimum everywhere" if excess.max() <= 0.05 else "beyond the path"


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
