"""Summaries of limits, margins and flows: aligned lines of text.

Numbers with a name are printed as `name = value`. Norms and counts of coordinates are those of the features
that the potential acts on, which differ from the original ones if features are standardized.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from tacit.data.arrays import Float, beyond_squares
from tacit.data.entries import Entries
from tacit.data.printable import printable, short_name, some
from tacit.data.units import Units
from tacit.results.limit import Limit
from tacit.results.margin import Margin
from tacit.results.trajectory import Trajectory

_NAMED = 6  # features in a summary
_DECOMPOSED = 2000  # rows or columns; the singular values of larger matrices would take seconds
CHEAP = 100_000  # entries of X up to which a summary may compute more than the result contains


def limit_report(result: Limit, names: Sequence[str] | None = None) -> str:
    """Summarize a limit: data, model, predictor, regime and certificate."""
    w = result.predictor
    lines = {
        "data": f"{size_of(result.X)}, rank {result.rank:,}",
        **units(result),
        "model": (result.model if result.trained is None else result.trained.start).describe(),
        "limit": _spectrum(w) if result.X.ndim == 3 else sizes(w, result.units),
        **intercept(result, result.intercept),
        "features": top_features(w, names, result.units),
        "regime": result.regime.summary(),
        "certificate": equations(
            stationarity=f"{result.stationarity:.0e}",
            feasibility=f"{result.feasibility:.0e}",
            error=f"{result.error:.0e}",
        ),
        "computed": f"{count(result.iterations, 'step')}, {1000 * result.seconds:.0f} ms",
    }
    neuron = result.model.as_neuron() if result.sign else None
    if neuron is not None and result.sign * neuron.output < 0:
        lines["sign"] = "the output weight a changes its sign; the limit is that of the start with −a(0)"
    if result.flows:
        lines["method"] = result.method
    if result.trained is not None and result.trained.training.decay_stays:
        lines["fit"] = f"weight decay that stays on leaves a residual of {result.unfitted:.3g}·‖y‖"
    elif result.unfitted > 0:
        lines["fit"] = f"least squares: no predictor fits the data; residual = {result.unfitted:.3g}·‖y‖"
    if result.distance > 0:
        lines["distance"] = f"limit of vanishing weights; this flow ends within {result.distance:.2g} of it"
    lines |= _trained(result)
    if not result.converged:
        reason = beyond_squares(result.X, result.y) or result.reason
        lines["NOT CONVERGED"] = f"result not certified: {reason}"
    return aligned(lines)


def _trained(result: Limit) -> dict[str, str]:
    """The differences between the training and gradient flow, and their accuracy."""
    if (trained := result.trained) is None:
        return {}
    known = "" if trained.order == "exact" else f", error about {trained.error:.1g}"
    lines = {
        "training": trained.training.describe(),
        "prediction": f"{trained.order}{known}; {trained.note}".removesuffix("; "),
        "flow": f"distance to the limit of gradient flow = {result.distance_to_flow:.2g}",
    }
    if trained.edge:
        near = ": close to the edge, run tacit.descend" if trained.edge > 0.8 * trained.stable_up_to else ""
        lines["edge"] = (
            f"step·sharpness/2 = {trained.edge:.2g} (stable below {trained.stable_up_to:.3g}){near}"
        )
    return lines


def flow_report(result: Trajectory, names: Sequence[str] | None = None) -> str:
    """Summarize a flow: data, model, loss, time, final predictor, and how it was computed."""
    kind = "linearized at initialization, " if result.linearized else ""
    w = result.predictor[-1]
    first, last = result.accuracy[0], result.accuracy[-1]
    lines = {
        "data": size_of(result.X),
        **units(result),
        "model": f"{kind}{result.model.describe()}",
        "loss": f"{result.loss_function.name} = {exponential(-last)}, "
        f"accuracy = {first + 0.0:.4g} → {last:.6g}",
        "time": f"t = {exponential(result.log_time[-1])}, recorded at {count(len(result.accuracy), 'time')}",
        **_predictor(result, w, names),
        "fit": _fit(result),
        **_turned(result),
        "conserved": _conserved(result),
        "computed": f"{result.method}, {count(result.steps, 'step')}, {1000 * result.seconds:.0f} ms",
        "ended" if result.converged else "NOT CONVERGED": result.reason,
    }
    return aligned(lines)


def size_of(X: Any) -> str:
    """The size of the data."""
    if isinstance(X, Entries):
        part = 100 * len(X) / (X.shape[0] * X.shape[1])
        return f"{len(X):,} entries of a {X.shape[0]:,} × {X.shape[1]:,} matrix ({part:.3g}%)"
    shape = " × ".join(f"{size:,}" for size in X.shape[1:])
    return f"{count(len(X), 'sample')} × {shape} feature{'s' if shape != '1' else ''}"


def _predictor(result: Trajectory, w: Float, names: Sequence[str] | None) -> dict[str, str]:
    """Norms and largest features; singular values for matrix completion; outputs for networks."""
    if not result.model.has_predictor:
        return {"outputs": f"between {w.min():.4g} and {w.max():.4g}"}
    if not isinstance(result.X, Entries):
        return {
            "predictor": sizes(w, result.units),
            **intercept(result, result.intercept[-1]),
            "features": top_features(w, names, result.units),
        }
    if max(w.shape) > _DECOMPOSED:
        return {"predictor": f"‖M‖_F = {np.linalg.norm(w):.4g}"}
    sigma = np.asarray(np.linalg.svd(w, compute_uv=False), dtype=float)
    shown = some([f"{size:.4g}" for size in sigma], _NAMED)
    return {"predictor": _spectrum(w), "spectrum": f"singular values {shown}"}


def _turned(result: Trajectory) -> dict[str, str]:
    """The change of the tangent kernel, if it is cheap to compute."""
    if not result.kernel_is_small:
        return {}
    return {"kernel": f"1 − cos(K, K(0)) = {result.final_kernel_distance:.3g} (change of the tangent kernel)"}


def margin_report(result: Margin, names: Sequence[str] | None = None) -> str:
    """Summarize a maximum-margin predictor: norm, predictor, support, uniqueness and certificate."""
    w = result.predictor
    lines = {
        "data": size_of(result.X),
        **units(result),
        "norm": f"{result.norm} = {result.value:.6g} at margin 1",
        "predictor": sizes(w, result.units),
        **intercept(result, result.intercept),
        "features": top_features(w, names, result.units),
        "support": f"{count(len(result.support), 'sample')} of {len(result.X):,}",
        "solutions": _solutions(result),
        "certificate": equations({"KKT residual": f"{result.kkt:.0e}"}, error=f"{result.error:.0e}"),
        "computed": f"{1000 * result.seconds:.0f} ms",
    }
    if not result.converged:
        lines["NOT CONVERGED"] = (
            "result not certified: the KKT residual is above 1e-9, or the error above 1e-7"
        )
    return aligned(lines)


def units(result: Any) -> dict[str, str]:
    """The transformation of the features; no line if there is none."""
    if result.units is None or result.units.plain:
        return {}
    text = result.units.describe()
    if result.units.standardized:
        text += "; norms are for these, coefficients for the original features"
    return {"units": text}


def intercept(result: Any, b: Any) -> dict[str, str]:
    """b of f(x) = w·x + b if there is an intercept; the first few if there are several."""
    if result.units is None or not result.units.intercept:
        return {}
    shown = some([f"{each:.6g}" for each in np.ravel(b)], _NAMED)
    return {"intercept": f"b = {shown} (unpenalized)"}


def _solutions(result: Margin) -> str:
    if result.stationary is not None:
        minima = int(result.minimum.sum())
        if result.complete:
            return (
                f"the best of all {count(len(result.stationary), 'stationary point')} ({minima} local minima)"
            )
        return (
            f"the best of {minima} local minima found; the problem is not convex, so there may be better ones"
        )
    if result.face is not None:
        return f"not unique: a face with {count(len(result.face), 'vertex', 'vertices')}"
    return {True: "unique", False: "not unique", None: "uniqueness unknown"}[result.unique]


def _fit(result: Trajectory) -> str:
    if result.loss_function.classes:
        right = int((result.margins[-1] > 0).sum())
        total = count(len(result.X), "sample")
        return f"{right:,} of {total} correct, smallest margin = {result.margin[-1]:.4g}"
    if result.loss_function.separating:
        margins = result.margins[-1]
        size = np.linalg.norm(result.predictor[-1]) or 1.0
        support = np.flatnonzero(result.support[-1])
        named = some([str(n) for n in support], _NAMED)
        return (
            f"smallest margin = {margins.min():.4g} = {margins.min() / size:.4g}·‖w‖₂; 99% of the "
            f"gradient from {count(len(support), 'sample')} ({named})"
        )
    misfit = result.outputs[-1] - result.y
    largest = np.abs(misfit).max() or 1.0  # its square may be beyond floats where descent diverged
    residual = largest * (np.linalg.norm(misfit / largest) / (np.linalg.norm(result.y) or 1.0))
    least = (
        f"; no predictor fits the data: the least possible is {result.unfitted:.3g}"
        if result.unfitted
        else ""
    )
    return f"relative residual = {residual:.3g}{least}"


def _conserved(result: Trajectory) -> str:
    if not result.drifts:
        if result.linearized:
            return "no quantity: the linearized flow conserves none"
        return "no quantity known for this model"
    worst = max(result.drifts, key=lambda name: float(np.max(result.drifts[name])))
    return f"relative change ≤ {result.drift:.0e} (largest for: {worst})"


def exponential(log: float) -> str:
    """e^log as a number, or as a power of ten if it is out of range."""
    if log == -np.inf:
        return "0"
    if abs(log) < 600:
        return f"{np.exp(log):.4g}"
    power = log / np.log(10)
    return f"10^{power:.6g}" if abs(power) < 1e5 else f"10^({power:.4g})"


def aligned(lines: dict[str, str], least: int = 0) -> str:
    """One line for each entry, with unprintable characters in names escaped."""
    lines = {printable(name): printable(text) for name, text in lines.items()}
    width = max(least, *map(len, lines))
    return "\n".join(f"  {name:<{width}}  {text}" for name, text in lines.items())


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines in which the cells of every column have the same width."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(f"{c:<{w}}" for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]


def count(number: int, what: str, plural: str = "") -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {plural or what + 's'}"


def equations(values: Mapping[str, str] = MappingProxyType({}), **named: str) -> str:
    """name = value, name = value, …"""
    return ", ".join(f"{name} = {value}" for name, value in {**values, **named}.items())


def sizes(w: Float, units: Units | None) -> str:
    """Norms, and how many coordinates carry 99% of ‖w‖₁, for the features that the potential acts on."""
    w = w if units is None else units.inside(w)
    return f"{norms(w)}; {carriers(w.ravel())}"


def norms(w: Float) -> str:
    """‖w‖₁ and ‖w‖₂; scaled, so that squares do not overflow."""
    unit = float(np.abs(w).max(initial=0.0)) or 1.0
    return equations(
        {
            "‖w‖₁": f"{unit * float(np.abs(w / unit).sum()):.4g}",
            "‖w‖₂": f"{unit * float(np.linalg.norm(w / unit)):.4g}",
        }
    )


def top_features(w: Float, names: Sequence[str] | None = None, units: Units | None = None) -> str:
    """The largest coordinates with their names: at most six of those that carry 99% of ‖w‖₁.

    w: one number for each feature, or a row of them, named `name[0]`, `name[1]`, …. units: the transformation
    of the features; the coordinates are sorted by their size for the transformed features.
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

    texts = [f"{name(int(i))} = {w.ravel()[i]:.3g}" for i in order[:count]]
    return ", ".join(texts) + (", …" if count < _carrying(sizes) else "")


def _spectrum(M: Float) -> str:
    """Nuclear norm ‖M‖_*, Frobenius norm ‖M‖_F, and how many singular values carry 99% of ‖M‖_*."""
    sigma = np.asarray(np.linalg.svd(M, compute_uv=False), dtype=float)
    norms = equations({"‖M‖_*": f"{sigma.sum():.4g}", "‖M‖_F": f"{np.linalg.norm(sigma):.4g}"})
    if not sigma[0]:
        return norms
    many = _carrying(sigma)
    return (
        f"{norms}; {many:,} of {len(sigma):,} singular values carr{'y' if many > 1 else 'ies'} 99% of ‖M‖_*"
    )


def _carrying(sizes: Float) -> int:
    """The number of largest entries that make up 99% of the sum."""
    largest = np.sort(sizes / sizes.max())[::-1]  # relative to the largest, so that sums do not overflow
    return int(np.searchsorted(np.cumsum(largest), 0.99 * largest.sum()) + 1)


def carriers(w: Float) -> str:
    """The number of coordinates that carry 99% of ‖w‖₁."""
    sizes = np.abs(w)
    if not sizes.any():
        return "all coordinates are 0"
    count = _carrying(sizes)
    return f"{count:,} coordinate{'s carry' if count > 1 else ' carries'} 99% of ‖w‖₁"
