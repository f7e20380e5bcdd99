"""Flows, paths and margins of three samples in three dimensions, as directions on the sphere.

They are shown in Figures 3, 4 and 6 of Moroshko et al. 2020.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

import tacit
from tacit.data.arrays import Float
from tacit.papers import Claim, Progress, at_least, at_most
from tacit.papers.measures import share, variables
from tacit.papers.moroshko2020 import data as samples
from tacit.papers.moroshko2020.margins import (
    between,
    levels,
    middle,
    off_raw_weights,
    raw_weights_claim,
    refined,
    spread,
)

KERNEL_END = 1e2  # μ at which the Q_μ path begins, within 1e-6 of the ℓ2 margin
_EARLY = 1e-3  # accuracy, relative to min(1, α^D), at which the flow still has its initial direction
_EVEN = 0.4  # share of states that are even in log γ̃, relative to those where the flow turns
_SEEN = 1e-4  # smallest visible step, relative to the size of the page
_LOOKS = 160  # states, evenly in log γ̃, that show when the flow turns
_TURNING = (1e-3, 1e3)  # range of α^D in which the ends of flows at fixed μ move most


@dataclass(frozen=True)
class Setting:
    """A dataset (rows y_n x_n), the depth, values of μ to mark, and the smallest μ."""

    rows: Float
    depth: int
    marked: tuple[float, ...]
    last: float


ONE_SUPPORT = Setting(samples.SAME_SUPPORT, 2, (0.5, 0.1, 0.03, 0.01, 0.001), 1e-6)
MANY_ENDS = Setting(samples.MANY_L1, 2, (0.5, 0.1, 0.03, 0.01, 0.001), 1e-6)
LEAVING = Setting(samples.SUPPORT_LEAVES, 2, (0.04, 1e-3, 1e-5, 1e-8), 1e-14)
DEEP = Setting(samples.DEEP_ONE_END, 3, (1.0, 0.1, 0.03), 1e-6)
DEEP_LOCAL = Setting(samples.DEEP_LOCAL_END, 3, (2.0, 0.5, 0.3), 1e-6)


def unit(predictors: Any) -> Float:
    """Unit vectors: each predictor divided by its norm."""
    w = np.asarray(predictors, dtype=float)
    return np.asarray(w / np.linalg.norm(w, axis=-1, keepdims=True))


def azimuth_pitch(directions: Any) -> tuple[Float, Float]:
    """Coordinates on the sphere: the angle in the plane of the first two axes, and the angle above it."""
    w = np.asarray(directions, dtype=float)
    return np.arctan2(w[..., 1], w[..., 0]), np.arcsin(np.clip(w[..., 2], -1, 1))


def on_page(directions: Float) -> Float:
    """Azimuth and pitch relative to their ranges, for several curves: (state, 2 for each curve)."""
    flat = np.stack(azimuth_pitch(directions), axis=-1)
    return np.asarray((flat / np.maximum(np.ptp(flat, axis=0), 1e-300)).reshape(len(flat), -1))


def apart(first: Any, second: Any) -> Float:
    """The distance between directions, the norm of their difference, from 0 to 2."""
    return np.asarray(np.linalg.norm(np.asarray(first) - np.asarray(second), axis=-1))


def off_curve(directions: Float, curve: Float) -> Float:
    """The distance of each direction to a polygonal curve."""
    start, step = curve[:-1], np.diff(curve, axis=0)
    squared = np.maximum((step**2).sum(axis=-1), 1e-300)
    along = np.clip(((directions[:, None] - start) * step).sum(axis=-1) / squared, 0, 1)
    return np.asarray(apart(directions[:, None], start + along[..., None] * step).min(axis=1))


def arc(ends: Float) -> Float:
    """The segment from the first predictor to the last, as directions."""
    share = np.linspace(0, 1, 60)[:, None]
    return unit(ends[0] * (1 - share) + ends[-1] * share)


def flow(setting: Setting, scale: float, at: Any) -> tuple[Float, bool]:
    """Directions of gradient flow on the exponential loss at these accuracies, and whether it reached all of
    them."""
    trajectory = _run(setting, scale, at=at)
    found = np.full((len(at), 3), np.nan)
    found[: len(trajectory.accuracy)] = unit(trajectory.predictor)
    return found, bool(trajectory.converged)


def _run(setting: Setting, scale: float, **targets: Any) -> Any:
    model = tacit.Diagonal(depth=setting.depth, scale=scale)
    return tacit.flow(model, setting.rows, samples.LABELS, loss="exp", **targets)


def trace(
    setting: Setting, scale: float, ends: tuple[float, float], fixed: Any, count: int
) -> tuple[Float, Float, bool]:
    """`count` accuracies between these ends, including fixed ones; directions; and convergence.

    A first flow shows when the direction turns; a second one is recorded mostly there.
    """
    look = _run(setting, scale, at=np.geomspace(*ends, _LOOKS)[1:])
    seen = unit(np.vstack([setting.rows.mean(axis=0), look.predictor]))
    clock = np.log([ends[0], *look.accuracy])
    shown = on_page(seen)
    inner = between([*fixed, *np.exp(clock[_reversals(shown)])], ends)
    more = np.exp(spread(clock, shown, count - len(inner), even=_EVEN)[1:-1])
    accuracy = np.sort([*ends, *inner, *more])
    return (accuracy, *flow(setting, scale, accuracy))


def _reversals(curve: Float) -> Any:
    """Points at which a curve reverses its direction, which may be far from its other vertices."""
    before, after = curve[2:-2] - curve[:-4], curve[4:] - curve[2:-2]
    seen = np.minimum(*(np.linalg.norm(each, axis=1) for each in (before, after))) > _SEEN
    return 2 + np.flatnonzero(seen & ((before * after).sum(axis=1) < 0))


def q_path(setting: Setting, mu: Any) -> Any:
    """The Q_μ maximum margins."""
    return tacit.margin_path(setting.rows, samples.LABELS, mu, depth=setting.depth)


def sweeping(setting: Setting, mu: Any) -> Any:
    """The flow at infinite scale."""
    return tacit.sweeping_path(setting.rows, samples.LABELS, mu, depth=setting.depth)


def traces(
    setting: Setting, scales: list[float], instants: int, changes: Any, progress: Progress
) -> dict[str, Any]:
    """Flows of these scales as unit vectors, with their initial directions.

    changes: values of μ = α^D/γ̃ at which all flows are recorded, since the paths have kinks there.
    """
    runs = [
        trace(setting, s, _ends(setting, s), s**setting.depth / np.asarray(changes), instants)
        for s in progress(scales, "flows")
    ]
    return {
        **recorded(setting, scales, runs),
        "reached": ("run", np.array([reached for _, _, reached in runs], dtype=int)),
        "rows": (("sample", "feature"), setting.rows),
    }


def recorded(setting: Setting, scales: list[float], runs: list[tuple[Float, Float, bool]]) -> dict[str, Any]:
    """Flows of these scales, their initial directions, and the distance of one from the raw weights."""
    accuracy, flow = (np.array([run[part] for run in runs]) for part in (0, 1))
    k = middle(scales)
    size = scales[k] ** setting.depth
    return {
        "off_raw_weights": off_raw_weights(setting.depth, size, setting.rows, accuracy[k], flow[k]),
        "flow": (("scale", "instant", "feature"), flow),
        "accuracy": (("scale", "instant"), accuracy),
        "start": ("feature", unit(setting.rows.mean(axis=0))),
    }


def scene(
    setting: Setting, scales: list[float], instants: int, crossings: int, progress: Progress
) -> xr.Dataset:
    """The data of one of the planes, as unit vectors.

    flow: for each scale at each instant, with its distances to the Q_μ path and to the flow at infinite scale
    at the same μ = α^D/γ̃. crossing: flows of many scales at γ̃ = α^D/μ, for the marked μ.
    """
    paths = _paths(setting, instants)
    changes = np.concatenate([paths[name][1] for name in ("kink_mu", "event_mu")])
    seen = traces(setting, scales, instants, changes, progress)
    flows, accuracy, reached = (seen[name][1] for name in ("flow", "accuracy", "reached"))
    many, ends, met = _crossings(setting, scales, crossings, progress)
    same = (np.array(scales)[:, None] ** setting.depth / accuracy).ravel()
    return xr.Dataset(
        {
            **seen,
            "off_path": (("scale", "instant"), apart(flows, _at(q_path(setting, same), flows))),
            "off_sweeping": (("scale", "instant"), apart(flows, _at(sweeping(setting, same), flows))),
            "crossing": (("cross_scale", "marked_mu", "feature"), ends),
            "reached": (("run",), np.array([*reached, *met], dtype=int)),
            **paths,
            **margins(setting),
        },
        coords={"scale": scales, "cross_scale": many, "marked_mu": list(setting.marked)},
        attrs={"depth": setting.depth},
    )


def _crossings(
    setting: Setting, scales: list[float], count: int, progress: Progress
) -> tuple[Float, Float, list[bool]]:
    """Additional scales, all scales, the flows at the marked μ, and whether each converged."""
    marked = np.array(setting.marked)
    reached: list[bool] = []

    def ends(at: Float) -> Float:
        scales = progress(at.tolist(), "flows to fixed μ")
        found, good = zip(*(flow(setting, s, s**setting.depth / marked) for s in scales), strict=True)
        reached.extend(good)
        return np.array(found)

    rough = np.unique([*scales, *(np.geomspace(*_TURNING, count // 2) ** (1 / setting.depth))])
    many, crossing = refined(ends, rough, len(scales) + count, on_page, looks=2)
    return many, crossing, reached


def _at(path: Any, like: Float) -> Float:
    return unit(path.predictors).reshape(like.shape)


def _ends(setting: Setting, scale: float) -> tuple[float, float]:
    """The first accuracy, and the one at which μ has its last value (at least for a scale of 1)."""
    size = scale**setting.depth
    return _EARLY * min(1, size), max(1, size) / setting.last


def _paths(setting: Setting, count: int) -> dict[str, Any]:
    """The Q_μ path and the flow at infinite scale, and the changes of their supports."""
    mu = levels(setting.rows, setting.depth, (KERNEL_END, setting.last), count, sweeping=True)
    path, sweep = q_path(setting, mu), sweeping(setting, mu)
    marked = (unit(verb(setting, setting.marked).predictors) for verb in (q_path, sweeping))
    found = {
        "mu": (("mu",), mu),
        **variables("mu feature", path=unit(path.predictors), sweeping=unit(sweep.predictors)),
        **variables("marked_mu feature", **dict(zip(("marked", "marked_sweeping"), marked, strict=True))),
    }
    for name, verb, changes in (("kink", q_path, path.kinks), ("event", sweeping, sweep.events)):
        at = np.array([change.mu for change in changes])
        where = unit(verb(setting, at).predictors) if at.size else np.zeros((0, 3))
        signs = ("sample", "enters")
        told = {f"{name}_{sign}": np.array([getattr(c, sign) for c in changes], dtype=int) for sign in signs}
        found |= variables(name, **{f"{name}_mu": at}, **told) | {name: ((name, "feature"), where)}
    return found


def margins(setting: Setting) -> dict[str, Any]:
    """Maximum margins in the ℓ2 and ℓ1 norm and in the norm of the rich end, with their supports.

    rich: minima of the ℓ_{2/D} norm under the margin constraints, the global one first; stationary: with
    saddles.
    """
    rows, labels = setting.rows, samples.LABELS
    kernel, l1 = (tacit.max_margin(rows, labels, norm) for norm in ("l2", "l1"))
    stationary, minimum = l1.predictor[None], np.ones(1, dtype=bool)
    if setting.depth > 2:
        deep = tacit.max_margin(rows, labels, 2 / setting.depth)
        stationary, minimum = np.asarray(deep.stationary), np.asarray(deep.minimum)
    supported = [np.isin(np.arange(len(rows)), each.support).astype(int) for each in (kernel, l1)]
    return {
        **variables("feature", l2=unit(kernel.predictor), l1=unit(l1.predictor)),
        "l1_face": (("vertex", "feature"), unit(l1.predictor[None] if l1.face is None else l1.face)),
        "stationary": (("point", "feature"), unit(stationary)),
        "rich": (("local", "feature"), unit(stationary[minimum])),
        **variables("sample", l2_support=supported[0], l1_support=supported[1]),
    }


def worst(values: Any, where: Any) -> float:
    """The largest of the selected values; NaN if there are none."""
    chosen = np.asarray(values)[np.asarray(where)]
    return float(chosen.max()) if chosen.size else np.nan


def common_claims(data: xr.Dataset) -> Iterator[Claim]:
    """Claims about all flows."""
    text = "flows reach the required accuracy (fraction)"
    yield at_least(1.0).claim(text, share(data.reached.values))
    text = "at every scale the initial direction is the average of the data (largest distance)"
    yield at_most(1e-3).claim(text, apart(data.flow[:, 0], data.start).max())
    yield raw_weights_claim(data)
