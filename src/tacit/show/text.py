"""What a person reads: results as a few aligned lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.data.arrays import Float, beyond_squares
from tacit.data.entries import Entries
from tacit.data.printable import printable, short_name
from tacit.data.units import Units
from tacit.results.limit import Limit
from tacit.results.margin import Margin
from tacit.results.trajectory import Trajectory

_NAMED = 6  # features in a summary

_DECOMPOSED = 2000  # rows or columns up to which the singular values of a matrix are told
CHEAP = 100_000  # entries of X up to which more is computed for a summary than the answer


def limit_report(result: Limit, names: Sequence[str] | None = None) -> str:
    """Data, model, limit, regime and certificate, a line each."""
    shape = " × ".join(f"{size:,}" for size in result.X.shape[1:])
    w = result.predictor
    lines = {
        "data": f"{count(len(result.X), 'sample')} × {shape} feature{'s' if shape != '1' else ''}, "
        f"rank {result.rank:,}",
        **units(result),
        "model": result.model.describe(),
        "limit": _spectrum(w) if result.X.ndim == 3 else f"{norms(w)}   {carriers(w.ravel())}",
        **intercept(result, result.intercept),
        "features": top_features(w, names, result.units),
        "regime": result.regime.summary(),
        "certificate": (
            f"stationarity {result.stationarity:.0e}   feasibility {result.feasibility:.0e}   "
            f"error {result.error:.0e}   "
            f"{count(result.iterations, 'step')}, {1000 * result.seconds:.0f} ms"
        ),
    }
    neuron = result.model.as_neuron() if result.sign else None
    if neuron is not None and result.sign * neuron.output < 0:
        lines["sign"] = "the output weight changes sign on the way: it ends where the start with −a(0) does"
    if result.flows:
        lines["method"] = result.method
    if result.unfitted > 0:
        lines["fit"] = f"these data cannot be fitted: least squares leaves {result.unfitted:.3g} of ‖y‖"
    if result.distance > 0:
        lines["distance"] = f"the flow of this small start ends within {result.distance:.2g} of it"
    lines |= _trained(result)
    if not result.converged:
        reason = beyond_squares(result.X, result.y) or result.reason
        lines["NOT CONVERGED"] = f"this predictor is not vouched for: {reason}"
    return aligned(lines)


def _trained(result: Limit) -> dict[str, str]:
    """How the training differs from gradient flow, and how well that is known."""
    if (trained := result.trained) is None:
        return {}
    known = "" if trained.order == "exact" else f", error about {trained.error:.1g}"
    lines = {
        "training": trained.training.describe(),
        "from": trained.start.describe(),
        "prediction": f"{trained.order}{known}; {trained.note}".removesuffix("; "),
        "flow": f"gradient flow ends {result.distance_to_flow:.2g} from here",
    }
    if trained.edge:
        near = ": close to the edge, run tacit.descend" if trained.edge > 0.8 * trained.stable_up_to else ""
        lines["edge"] = (
            f"step·sharpness/2 = {trained.edge:.2g} (stable below {trained.stable_up_to:.3g}){near}"
        )
    return lines


def flow_report(result: Trajectory, names: Sequence[str] | None = None) -> str:
    """Data, model, loss, way and end of a flow, a line each."""
    kind = "linearized at the start, " if result.linearized else ""
    w = result.predictor[-1]
    first, last = result.accuracy[0], result.accuracy[-1]
    lines = {
        "data": _data(result.X),
        **units(result),
        "model": f"{kind}{result.model.describe()}",
        "loss": f"{result.loss_function.name}, accuracy {first + 0.0:.4g} → {last:.6g} "
        f"(loss {exponential(-last)})",
        "time": f"{exponential(result.log_time[-1])}, recorded at {count(len(result.accuracy), 'instant')}",
        **_predictor(result, w, names),
        "fit": _fit(result),
        **_turned(result),
        "conserved": _conserved(result),
        "computed": f"{result.method}, {count(result.steps, 'step')}, {1000 * result.seconds:.0f} ms",
        "ended" if result.converged else "NOT CONVERGED": result.reason,
    }
    return aligned(lines)


def _data(X: Any) -> str:
    """How much data there are."""
    if isinstance(X, Entries):
        part = 100 * len(X) / (X.shape[0] * X.shape[1])
        return f"{len(X):,} entries of a {X.shape[0]:,} × {X.shape[1]:,} matrix ({part:.3g}%)"
    shape = " × ".join(f"{size:,}" for size in X.shape[1:])
    return f"{count(len(X), 'sample')} × {shape} feature{'s' if shape != '1' else ''}"


def _predictor(result: Trajectory, w: Float, names: Sequence[str] | None) -> dict[str, str]:
    """Norms and largest features; of a matrix to complete, its singular values; of networks, outputs."""
    if not result.model.has_predictor:
        return {"outputs": f"from {w.min():.4g} to {w.max():.4g}"}
    if not isinstance(result.X, Entries):
        return {
            "predictor": f"{norms(w)}   {carriers(w.ravel())}",
            **intercept(result, result.intercept[-1]),
            "features": top_features(w, names, result.units),
        }
    if max(w.shape) > _DECOMPOSED:
        return {"predictor": f"Frobenius norm {np.linalg.norm(w):.4g}"}
    sizes = np.asarray(np.linalg.svd(w, compute_uv=False), dtype=float)
    shown = ", ".join(f"{size:.4g}" for size in sizes[:_NAMED]) + (", …" if len(sizes) > _NAMED else "")
    carry = f"99% of the nuclear norm in {count(_carrying(sizes), 'singular value')}"
    return {
        "predictor": f"nuclear norm {sizes.sum():.4g}   Frobenius norm {np.linalg.norm(sizes):.4g}   {carry}",
        "spectrum": shown,
    }


def _turned(result: Trajectory) -> dict[str, str]:
    """How far the tangent kernel has turned, where that can be afforded."""
    if not result.kernel_is_small:
        return {}
    return {"kernel": f"the tangent kernel has turned by {result.final_kernel_distance:.3g} (1 − cos)"}


def margin_report(result: Margin, names: Sequence[str] | None = None) -> str:
    """Data, norm, predictor, support, other solutions and certificate, a line each."""
    samples, features = result.X.shape
    w = result.predictor
    lines = {
        "data": f"{count(samples, 'sample')} × {count(features, 'feature')}",
        **units(result),
        "norm": f"{result.norm}, {result.value:.6g} at margin 1",
        "predictor": f"{norms(w)}   {carriers(w)}",
        **intercept(result, result.intercept),
        "features": top_features(w, names, result.units),
        "support": f"{count(len(result.support), 'sample')} of {samples:,}",
        "solutions": _solutions(result),
        "certificate": f"KKT residual {result.kkt:.0e}   error {result.error:.0e}   "
        f"{1000 * result.seconds:.0f} ms",
    }
    if not result.converged:
        lines["NOT CONVERGED"] = (
            "this predictor is not vouched for: its KKT residual is above 1e-9, or its error above 1e-7"
        )
    return aligned(lines)


def units(result: Any) -> dict[str, str]:
    """What was done to the features before they were taken, if anything."""
    if result.units is None or result.units.plain:
        return {}
    return {"units": f"{result.units.describe()}; what follows is for them as they came"}


def intercept(result: Any, b: Any) -> dict[str, str]:
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
                f"the best of all {count(len(result.stationary), 'stationary point')}, {minima} local minima"
            )
        return (
            f"the best local minimum of {minima} found; there may be better ones (the problem is not convex)"
        )
    if result.face is not None:
        return f"not unique: a face with {count(len(result.face), 'vertex').replace('vertexs', 'vertices')}"
    return {True: "unique", False: "not unique", None: "uniqueness not known"}[result.unique]


def _fit(result: Trajectory) -> str:
    if result.loss_function.classes:
        right = int((result.margins[-1] > 0).sum())
        return f"{right:,} of {count(len(result.X), 'sample')} right, smallest margin {result.margin[-1]:.4g}"
    if result.loss_function.separating:
        margins = result.margins[-1]
        size = np.linalg.norm(result.predictor[-1]) or 1.0
        support = np.flatnonzero(result.support[-1])
        named = ", ".join(map(str, support[:6])) + (", …" if len(support) > 6 else "")
        return (
            f"smallest margin {margins.min():.4g}, {margins.min() / size:.4g}·‖w‖₂; 99% of the pull from "
            f"{count(len(support), 'sample')} ({named})"
        )
    misfit = result.outputs[-1] - result.y
    largest = np.abs(misfit).max() or 1.0  # its square may be beyond floats where descent diverged
    residual = largest * (np.linalg.norm(misfit / largest) / (np.linalg.norm(result.y) or 1.0))
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


def exponential(log: float) -> str:
    """e^log as a number, or as a power of ten where it is out of range."""
    if log == -np.inf:
        return "0"
    if abs(log) < 600:
        return f"{np.exp(log):.4g}"
    power = log / np.log(10)
    return f"10^{power:.6g}" if abs(power) < 1e5 else f"10^({power:.4g})"


def aligned(lines: dict[str, str], least: int = 0) -> str:
    """A line for each entry, whatever characters names have brought into it."""
    lines = {printable(name): printable(text) for name, text in lines.items()}
    width = max(least, *map(len, lines))
    return "\n".join(f"  {name:<{width}}  {text}" for name, text in lines.items())


def count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def norms(w: Float) -> str:
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
        known = f"x{row}" if names is None else short_name(names[row], 24)
        return known if columns == 1 else f"{known}[{column}]"

    texts = [f"{name(int(i))} {w.ravel()[i]:.3g}" for i in order[:count]]
    return ", ".join(texts) + (", …" if count < _carrying(sizes) else "")


def _spectrum(M: Float) -> str:
    """‖M‖_* and ‖M‖_F, and how many singular values carry most of the first."""
    sigma = np.asarray(np.linalg.svd(M, compute_uv=False), dtype=float)
    carrying = f"{_carrying(sigma):,} of {len(sigma):,} singular values carry 99% of it" if sigma[0] else ""
    return f"‖M‖_* {sigma.sum():.4g}   ‖M‖_F {np.linalg.norm(sigma):.4g}   {carrying}".rstrip()


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
