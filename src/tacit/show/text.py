"""What a person reads: results as a few aligned lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.data.arrays import Float, beyond_squares, shortened
from tacit.data.numbers import shown
from tacit.models.model import neuron_of

if TYPE_CHECKING:
    from tacit.data.units import Units
    from tacit.verbs.answer import Limit
    from tacit.verbs.margin_path import MarginPath
    from tacit.verbs.max_margin import Margin
    from tacit.verbs.sweeping_path import SweepingPath
    from tacit.verbs.trajectory import Trajectory

_NAMED = 6  # features in a summary

_CHEAP = 100_000  # entries of X up to which more is computed for a summary than the answer


def limit_report(result: Limit, names: Sequence[str] | None = None) -> str:
    """Data, model, limit, regime and certificate, a line each."""
    samples, features = result.X.shape
    w = result.predictor
    lines = {
        "data": f"{_count(samples, 'sample')} × {_count(features, 'feature')}, rank {result.rank:,}",
        **_units(result),
        "model": result.model.describe(),
        "limit": f"{_norms(w)}   {carriers(w.ravel())}",
        **_intercept(result, result.intercept),
        "features": top_features(w, names, result.units),
        "regime": result.regime.summary(),
        "certificate": (
            f"stationarity {result.stationarity:.0e}   feasibility {result.feasibility:.0e}   "
            f"error {result.error:.0e}   "
            f"{_count(result.iterations, 'step')}, {1000 * result.seconds:.0f} ms"
        ),
    }
    neuron = neuron_of(result.model)
    if neuron is not None and result.sign * neuron.output < 0:
        lines["sign"] = "the output weight changes sign on the way: it ends where the start with −a(0) does"
    if result.flows:
        lines["method"] = result.method
    if result.unfitted > 0:
        lines["fit"] = f"these data cannot be fitted: least squares leaves {result.unfitted:.3g} of ‖y‖"
    if result.distance > 0:
        lines["distance"] = f"the flow of this small start ends within {result.distance:.2g} of it"
    if not result.converged:
        reason = beyond_squares(result.X, result.y) or result.reason
        lines["NOT CONVERGED"] = f"this predictor is not vouched for: {reason}"
    return _aligned(lines)


def flow_report(result: Trajectory, names: Sequence[str] | None = None) -> str:
    """Data, model, loss, way and end of a flow, a line each."""
    shape = " × ".join(f"{size:,}" for size in result.X.shape[1:])
    kind = "linearized at the start, " if result.linearized else ""
    w = result.predictor[-1]
    first, last = result.accuracy[0], result.accuracy[-1]
    lines = {
        "data": f"{_count(len(result.X), 'sample')} × {shape} feature{'s' if shape != '1' else ''}",
        **_units(result),
        "model": f"{kind}{result.model.describe()}",
        "loss": f"{result.loss_function.name}, accuracy {first + 0.0:.4g} → {last:.6g} "
        f"(loss {_exponential(-last)})",
        "time": f"{_exponential(result.log_time[-1])}, recorded at {_count(len(result.accuracy), 'instant')}",
        "predictor": f"{_norms(w)}   {carriers(w.ravel())}",
        **_intercept(result, result.intercept[-1]),
        "features": top_features(w, names, result.units),
        "fit": _fit(result),
        "kernel": f"the tangent kernel has turned by {result.final_kernel_distance:.3g} (1 − cos)",
        "conserved": _conserved(result),
        "computed": f"{result.method}, {_count(result.steps, 'step')}, {1000 * result.seconds:.0f} ms",
        "ended" if result.converged else "NOT CONVERGED": result.reason,
    }
    return _aligned(lines)


def margin_report(result: Margin, names: Sequence[str] | None = None) -> str:
    """Data, norm, predictor, support, other solutions and certificate, a line each."""
    samples, features = result.X.shape
    w = result.predictor
    lines = {
        "data": f"{_count(samples, 'sample')} × {_count(features, 'feature')}",
        **_units(result),
        "norm": f"{result.norm}, {result.value:.6g} at margin 1",
        "predictor": f"{_norms(w)}   {carriers(w)}",
        **_intercept(result, result.intercept),
        "features": top_features(w, names, result.units),
        "support": f"{_count(len(result.support), 'sample')} of {samples:,}",
        "solutions": _solutions(result),
        "certificate": f"KKT residual {result.kkt:.0e}   error {result.error:.0e}   "
        f"{1000 * result.seconds:.0f} ms",
    }
    if not result.converged:
        lines["NOT CONVERGED"] = (
            "this predictor is not vouched for: its KKT residual is above 1e-9, or its error above 1e-7"
        )
    return _aligned(lines)


def _units(result: Any) -> dict[str, str]:
    """What was done to the features before they were taken, if anything."""
    if result.units is None or result.units.plain:
        return {}
    return {"units": f"{result.units.describe()}; what follows is for them as they came"}


def _intercept(result: Any, b: Any) -> dict[str, str]:
    """b of f(x) = w·x + b, where there is one; of several, the first few."""
    if result.units is None or not result.units.intercept:
        return {}
    values = np.ravel(b)
    told = ", ".join(f"{each:.6g}" for each in values[:_NAMED]) + (", …" if len(values) > _NAMED else "")
    return {"intercept": f"{told} (free, and not in the potential)"}


def _solutions(result: Margin) -> str:
    if result.stationary is not None:
        minima = int(result.minimum.sum())
        if result.complete:
            return (
                f"the best of all {_count(len(result.stationary), 'stationary point')}, {minima} local minima"
            )
        return (
            f"the best local minimum of {minima} found; there may be better ones (the problem is not convex)"
        )
    if result.face is not None:
        return f"not unique: a face with {_count(len(result.face), 'vertex').replace('vertexs', 'vertices')}"
    return {True: "unique", False: "not unique", None: "uniqueness not known"}[result.unique]


def path_report(result: MarginPath, scale: float = 1.0, names: Sequence[str] | None = None) -> str:
    """Data, path, ends and support of maximum margins, a line each.

    scale: μ = scale/accuracy, to tell the accuracies at which a flow is near the ends.
    """
    samples, features = result.X.shape
    first, last = int(result.mu.argmax()), int(result.mu.argmin())
    lines = {
        "data": f"{_count(samples, 'sample')} × {_count(features, 'feature')}",
        **_units(result),
        "path": f"depth {shown(result.depth)}, {_count(len(result.mu), 'value')} of μ, "
        f"{result.mu[first]:.4g} to {result.mu[last]:.4g}",
        "from": _held(result, first),
        "to": _held(result, last),
        **_intercept(result, result.intercept[[first, last]]),
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
    return _aligned(lines)


def _support_changes(result: MarginPath) -> dict[str, str]:
    """Where the support changes, if that is cheap; else how it does from point to point."""
    if result.X.size <= _CHEAP:
        return {"kinks": _changes(result.kinks) or "none"}
    steps = np.diff(result.support[np.argsort(-result.mu)].astype(int), axis=0)
    enters, leaves = int((steps > 0).sum()), int((steps < 0).sum())
    ever = _count(int(result.support.any(axis=0).sum()), "sample")
    return {"support": f"{ever} in all; {enters} enter and {leaves} leave on the way (--plot shows where)"}


def _changes(events: Sequence[Any]) -> str:
    """How many samples enter or leave the support, and the first of them."""
    shown = [f"{e.sample} {'enters' if e.enters else 'leaves'} at {e.mu:.4g}" for e in events[:6]]
    more = ", …" if len(events) > 6 else ""
    return f"{len(events)}, counting samples from 0: {', '.join(shown)}{more}" if shown else ""


def _held(result: MarginPath, i: int) -> str:
    w = result.predictors[i]
    return f"μ = {result.mu[i]:.4g}: {_norms(w)}   {_count(int(result.support[i].sum()), 'support vector')}"


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
    return f"accuracy {accuracy:.4g}, loss {_exponential(-accuracy)}, at predictor scale {scale:.3g}"


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
    return _aligned(lines, len("kernel end"))


def _fit(result: Trajectory) -> str:
    if result.loss_function.separating:
        margins = result.margins[-1]
        size = np.linalg.norm(result.predictor[-1]) or 1.0
        support = np.flatnonzero(result.support[-1])
        named = ", ".join(map(str, support[:6])) + (", …" if len(support) > 6 else "")
        return (
            f"smallest margin {margins.min():.4g}, {margins.min() / size:.4g}·‖w‖₂; 99% of the pull from "
            f"{_count(len(support), 'sample')} ({named})"
        )
    residual = np.linalg.norm(result.outputs[-1] - result.y) / (np.linalg.norm(result.y) or 1.0)
    least = (
        f"; these data cannot be fitted: least squares leaves {result.unfitted:.3g}"
        if result.unfitted
        else ""
    )
    return f"relative residual {residual:.3g}{least}"


def _conserved(result: Trajectory) -> str:
    if not result.drifts:
        if result.linearized:
            return "nothing: the linearized flow keeps no quantity of the weights"
        return "nothing that the model knows of"
    worst = max(result.drifts, key=lambda name: float(np.max(result.drifts[name])))
    return f"to {result.drift:.0e} or better ({worst})"


def _exponential(log: float) -> str:
    """e^log as a number, or as a power of ten where it is out of range."""
    if log == -np.inf:
        return "0"
    if abs(log) < 600:
        return f"{np.exp(log):.4g}"
    power = log / np.log(10)
    return f"10^{power:.6g}" if abs(power) < 1e5 else f"10^({power:.4g})"


def _aligned(lines: dict[str, str], least: int = 0) -> str:
    width = max(least, *map(len, lines))
    return "\n".join(f"  {name:<{width}}  {text}" for name, text in lines.items())


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _norms(w: Float) -> str:
    """‖w‖₁ and ‖w‖₂, also where their squares leave the range of floats."""
    unit = float(np.abs(w).max(initial=0.0)) or 1.0
    sums = (unit * float(norm) for norm in (np.abs(w / unit).sum(), np.linalg.norm(w / unit)))
    return "   ".join(f"‖w‖{mark} {size:.4g}" for mark, size in zip("₁₂", sums, strict=True))


def top_features(w: Float, names: Sequence[str] | None = None, units: Units | None = None) -> str:
    """The largest coordinates by name, in order, six of those that carry 99% of ‖w‖₁ at most.

    w: one number for each feature, or a row of them, which count as `name[0]`, `name[1]`, …. units: of
    standardized features, in which their order is that of what they contribute.
    """
    sizes = np.abs(w if units is None else units.inside(w)).ravel()
    if not sizes.any():
        return "none: all coordinates are 0"
    order = np.argsort(-sizes, kind="stable")[:_NAMED]
    count = min(_carrying(sizes), len(order))
    columns = w.size // len(w)

    def name(i: int) -> str:
        row, column = divmod(i, columns)
        known = f"x{row}" if names is None else shortened(names[row], 24)
        return known if columns == 1 else f"{known}[{column}]"

    texts = [f"{name(int(i))} {w.ravel()[i]:.3g}" for i in order[:count]]
    return ", ".join(texts) + (", …" if count < _carrying(sizes) else "")


def _carrying(sizes: Float) -> int:
    """How many of the largest make up 99% of the sum."""
    largest = np.sort(sizes / sizes.max())[::-1]  # in this unit, sums are numbers
    return int(np.searchsorted(np.cumsum(largest), 0.99 * largest.sum()) + 1)


def carriers(w: Float) -> str:
    """How many coordinates carry 99% of ‖w‖₁."""
    sizes = np.abs(w)
    if not sizes.any():
        return "all coordinates are 0"
    count = _carrying(sizes)
    return f"{count:,} coordinate{'s carry' if count > 1 else ' carries'} 99% of ‖w‖₁"
