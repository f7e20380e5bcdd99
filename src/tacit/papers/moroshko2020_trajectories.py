"""Flows, paths and margins of three samples in three dimensions, as directions on the sphere.

What Figures 3, 4 and 6 of Moroshko et al. 2020 show is computed here, once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

import tacit
from tacit.data import Float
from tacit.papers import moroshko2020_data as samples

KERNEL_END = 1e2  # μ at which the Q_μ path begins: there it is within 1e-6 of the ℓ2 margin
_EARLY = 1e-3  # of min(1, α^D): the accuracy at which the flow has not yet turned from its first direction
_TURNING = (1e-3, 1e3)  # values of α^D between which the ends of flows at fixed μ move most


@dataclass(frozen=True)
class Setting:
    """A dataset (rows y_n x_n), the depth, values of μ to mark, and the last μ to which all is followed."""

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
    """Directions: each predictor over its length."""
    w = np.asarray(predictors, dtype=float)
    return np.asarray(w / np.linalg.norm(w, axis=-1, keepdims=True))


def azimuth_pitch(directions: Any) -> tuple[Float, Float]:
    """Coordinates on the sphere: the angle in the plane of the first two axes, and the one above it."""
    w = np.asarray(directions, dtype=float)
    return np.arctan2(w[..., 1], w[..., 0]), np.arcsin(np.clip(w[..., 2], -1, 1))


def apart(first: Any, second: Any) -> Float:
    """How far directions are from each other, the length of their difference: 0 to 2."""
    return np.asarray(np.linalg.norm(np.asarray(first) - np.asarray(second), axis=-1))


def off_curve(directions: Float, curve: Float) -> Float:
    """The distance of each direction to a curve, given by its vertices."""
    start, step = curve[:-1], np.diff(curve, axis=0)
    squared = np.maximum((step**2).sum(axis=-1), 1e-300)
    along = np.clip(((directions[:, None] - start) * step).sum(axis=-1) / squared, 0, 1)
    return np.asarray(apart(directions[:, None], start + along[..., None] * step).min(axis=1))


def arc(ends: Float) -> Float:
    """The edge from the first predictor to the last, as directions."""
    share = np.linspace(0, 1, 60)[:, None]
    return unit(ends[0] * (1 - share) + ends[-1] * share)


def flow(setting: Setting, scale: float, at: Any) -> tuple[Float, bool]:
    """Directions of gradient flow on the exponential loss at these accuracies; did it get to all of them?"""
    model = tacit.Diagonal(depth=setting.depth, scale=scale)
    trajectory = tacit.flow(model, setting.rows, samples.LABELS, loss="exp", at=at)
    found = np.full((len(at), 3), np.nan)
    found[: len(trajectory.accuracy)] = unit(trajectory.predictor)
    return found, bool(trajectory.converged)


def q_path(setting: Setting, mu: Any) -> Any:
    """Maximum Q_μ margins."""
    return tacit.margin_path(setting.rows, samples.LABELS, mu, depth=setting.depth)


def sweeping(setting: Setting, mu: Any) -> Any:
    """The flow at infinite scale."""
    return tacit.sweeping_path(setting.rows, samples.LABELS, mu, depth=setting.depth)


def scene(
    setting: Setting, scales: list[float], instants: int, crossings: int, progress: Callable[..., Any]
) -> xr.Dataset:
    """Everything that one of the planes shows, as unit directions.

    flow: for each scale at each instant, with its distances to the Q_μ path and to the flow at infinite scale
    at the same μ = α^D/γ̃. crossing: where flows of many scales are when γ̃ = α^D/μ, for the marked μ.
    """
    size = np.array(scales)[:, None] ** setting.depth
    levels = np.linspace(0, 1, instants)
    first, last = _EARLY * np.minimum(1, size), np.maximum(1, size) / setting.last
    accuracy = first * (last / first) ** levels
    runs = [flow(setting, s, at) for s, at in progress(list(zip(scales, accuracy, strict=True)), "flows")]
    flows = np.array([run for run, _ in runs])
    many = np.unique([*scales, *(np.geomspace(*_TURNING, crossings) ** (1 / setting.depth))])
    marked = np.array(setting.marked)
    ends = [flow(setting, s, s**setting.depth / marked) for s in progress(many.tolist(), "flows to fixed μ")]
    same = (size / accuracy).ravel()
    return xr.Dataset(
        {
            "flow": (("scale", "instant", "feature"), flows),
            "accuracy": (("scale", "instant"), accuracy),
            "off_path": (("scale", "instant"), apart(flows, _at(q_path(setting, same), flows))),
            "off_sweeping": (("scale", "instant"), apart(flows, _at(sweeping(setting, same), flows))),
            "crossing": (("cross_scale", "marked_mu", "feature"), np.array([end for end, _ in ends])),
            "reached": (("run",), np.array([good for _, good in (*runs, *ends)], dtype=int)),
            "start": (("feature",), unit(setting.rows.mean(axis=0))),
            "rows": (("sample", "feature"), setting.rows),
            **_paths(setting, np.geomspace(KERNEL_END, setting.last, instants)),
            **margins(setting),
        },
        coords={"scale": scales, "cross_scale": many, "marked_mu": marked},
        attrs={"depth": setting.depth},
    )


def _at(path: Any, like: Float) -> Float:
    return unit(path.predictors).reshape(like.shape)


def _paths(setting: Setting, mu: Float) -> dict[str, Any]:
    """The Q_μ path and the flow at infinite scale, and where their supports change."""
    path, sweep = q_path(setting, mu), sweeping(setting, mu)
    variables = {
        "mu": (("mu",), mu),
        "path": (("mu", "feature"), unit(path.predictors)),
        "sweeping": (("mu", "feature"), unit(sweep.predictors)),
        "marked": (("marked_mu", "feature"), unit(q_path(setting, setting.marked).predictors)),
        "marked_sweeping": (("marked_mu", "feature"), unit(sweeping(setting, setting.marked).predictors)),
    }
    for name, verb, changes in (("kink", q_path, path.kinks), ("event", sweeping, sweep.events)):
        at = np.array([change.mu for change in changes])
        where = unit(verb(setting, at).predictors) if at.size else np.zeros((0, 3))
        variables[f"{name}_mu"] = ((name,), at)
        variables[f"{name}_sample"] = ((name,), np.array([change.sample for change in changes], dtype=int))
        variables[f"{name}_enters"] = ((name,), np.array([change.enters for change in changes], dtype=int))
        variables[name] = ((name, "feature"), where)
    return variables


def margins(setting: Setting) -> dict[str, Any]:
    """Maximum margins in the ℓ2 and ℓ1 norm and in that of the rich end, and what supports them.

    rich: minima of the ℓ_{2/D} norm under the margin constraints, the global one first; stationary: with
    saddles.
    """
    rows, labels = setting.rows, samples.LABELS
    kernel, l1 = (tacit.max_margin(rows, labels, norm) for norm in ("l2", "l1"))
    stationary, minimum = l1.predictor[None], np.ones(1, dtype=bool)
    if setting.depth > 2:
        deep = tacit.max_margin(rows, labels, 2 / setting.depth)
        stationary, minimum = np.asarray(deep.stationary), np.asarray(deep.minimum)
    each = np.arange(len(rows))
    return {
        "l2": (("feature",), unit(kernel.predictor)),
        "l1": (("feature",), unit(l1.predictor)),
        "l1_face": (("vertex", "feature"), unit(l1.predictor[None] if l1.face is None else l1.face)),
        "stationary": (("point", "feature"), unit(stationary)),
        "rich": (("local", "feature"), unit(stationary[minimum])),
        "l2_support": (("sample",), np.isin(each, kernel.support).astype(int)),
        "l1_support": (("sample",), np.isin(each, l1.support).astype(int)),
    }
