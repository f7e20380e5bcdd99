"""What a person reads of paths: margins by μ, and sweeping processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.data.number_format import shown
from tacit.results.margin_path import MarginPath
from tacit.results.sweeping_path import SweepingPath
from tacit.show.text import CHEAP, aligned, count, exponential, intercept, norms, top_features, units


def path_report(result: MarginPath, scale: float = 1.0, names: Sequence[str] | None = None) -> str:
    """Data, path, ends and support of maximum margins, a line each.

    scale: μ = scale/accuracy, to tell the accuracies at which a flow is near the ends.
    """
    samples, features = result.X.shape
    first, last = int(result.mu.argmax()), int(result.mu.argmin())
    lines = {
        "data": f"{count(samples, 'sample')} × {count(features, 'feature')}",
        **units(result),
        "path": f"depth {shown(result.depth)}, {count(len(result.mu), 'value')} of μ, "
        f"{result.mu[first]:.4g} to {result.mu[last]:.4g}",
        "from": _held(result, first),
        "to": _held(result, last),
        **intercept(result, result.intercept[[first, last]]),
        "features": f"{top_features(result.predictors[last], names, result.units)} "
        f"at μ = {result.mu[last]:.4g}",
        "kernel end": _near_kernel(result, scale),
        "rich end": _near_rich(result, scale),
        **_support_changes(result),
        "computed": f"KKT residuals up to {result.kkt.max():.0e}, errors up to {result.error.max():.0e}, "
        f"{1000 * result.seconds:.0f} ms",
    }
    if not result.converged.all():
        where = ", ".join(f"{mu:.3g}" for mu in result.mu[~result.converged][:6])
        lines["NOT CONVERGED"] = f"at μ = {where}: these predictors are not vouched for"
    return aligned(lines)


def _support_changes(result: MarginPath) -> dict[str, str]:
    """Where the support changes, if that is cheap; else how it does from point to point."""
    if result.X.size <= CHEAP:
        return {"kinks": _changes(result.kinks) or "none"}
    steps = np.diff(result.support[np.argsort(-result.mu)].astype(int), axis=0)
    enters, leaves = int((steps > 0).sum()), int((steps < 0).sum())
    ever = count(int(result.support.any(axis=0).sum()), "sample")
    return {"support": f"{ever} in all; {enters} enter and {leaves} leave on the way (--plot shows where)"}


def _changes(events: Sequence[Any]) -> str:
    """How many samples enter or leave the support, and the first of them."""
    shown = [f"{e.sample} {'enters' if e.enters else 'leaves'} at {e.mu:.4g}" for e in events[:6]]
    more = ", …" if len(events) > 6 else ""
    return f"{len(events)}, counting samples from 0: {', '.join(shown)}{more}" if shown else ""


def _held(result: MarginPath, i: int) -> str:
    w = result.predictors[i]
    return f"μ = {result.mu[i]:.4g}: {norms(w)}   {count(int(result.support[i].sum()), 'support vector')}"


def _near_kernel(result: MarginPath, scale: float) -> str:
    until, excess = result.near()[0], result.excess[0]
    norm = "‖w‖₂" if np.ptp(result.geometry.log_scale) == 0 else "the kernel's norm"
    if until is not None:
        return f"{norm} within 5% of the least down to μ = {until:.3g}: {_accuracy(scale, until)}"
    return f"{norm} within 5% of the least all along" if excess.max() <= 0.05 else "beyond the path"


def _near_rich(result: MarginPath, scale: float) -> str:
    since, excess = result.near()[1], result.excess[1]
    norm = "‖w‖₁" if np.ptp(result.geometry.weight) == 0 else "the weighted ‖w‖₁"
    if since is not None:
        return f"{norm} within 5% of the least from μ = {since:.3g} on: {_accuracy(scale, since)}"
    return f"{norm} within 5% of the least all along" if excess.max() <= 0.05 else "beyond the path"


def _accuracy(scale: float, mu: float) -> str:
    accuracy = scale / mu
    return f"accuracy {accuracy:.4g}, loss {exponential(-accuracy)}, at predictor scale {scale:.3g}"


def sweeping_report(result: SweepingPath) -> str:
    """The infinite-scale flow and its events."""
    leaves = next((e for e in result.events if not e.enters), None)
    known = result.converged.all()
    equal = "equals the path all along" if known else f"equals the path down to μ = {result.down_to:.4g}"
    after = equal if leaves is None else f"leaves the path at μ = {leaves.mu:.4g}"
    lines = {"flow α→∞": f"{after}; events: {_changes(result.events) or 'none'}"}
    if not known:
        lines["NOT CONVERGED"] = (
            f"below μ = {result.down_to:.4g}: who pushes from there on could not be found"
        )
    return aligned(lines, len("kernel end"))
