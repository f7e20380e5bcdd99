r"""Data for the picture of a derivation: level sets of Q with flows, or flows with different losses.

If the data involve two coordinates only, ∇Q stays in the plane of their slopes, and these two coordinates
follow the mirror flow of the minimum of Q over all others. Its level sets are found along rays of constant
direction in this plane of slopes. Where a ray crosses a level set, the line of solutions whose normal is the
ray's direction touches it, and the flow to this line must end there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from tacit.autodiff import jax
from tacit.data.arrays import Float
from tacit.derivation.length_scale import row_norms
from tacit.derivation.potential import Rates
from tacit.derivation.result import Derivation
from tacit.derivation.smooth_map import Jets
from tacit.errors import InputError, NoPotentialError
from tacit.show.figures import Picture
from tacit.show.level_sets import Apart, Levels, apart_picture, level_picture

_RAYS = 96
_LEVELS = (0.02, 0.08, 0.18, 0.32, 0.5, 0.72, 1.0)  # relative to the highest; equidistant curves near w₀
_TOUCHED = (3, 4, 5)  # indices of the levels that lines of solutions touch
_REACH = 0.8  # length of rays in θ, relative to its size
_LONGEST = 20.0  # largest multiple of the expected length of a ray
_MAX_SIZE = 100.0  # length scales: the size of the picture is at most this
_RAY_RTOL, _FLOW_RTOL = 1e-9, 1e-10  # of the integrators
_WEIGHTS = 10.0 ** np.linspace(-2, 2, 5)  # of one sample relative to the others, without a potential
_DRAWS = 3  # random problems, of which the one with the largest spread is drawn
_DONE = 1e-8  # residual relative to the initial one, at which a flow has ended


def derivation_picture(derivation: Derivation, plane: Any) -> Picture:
    """Level sets of the potential in two coordinates, or, without a potential, flows with different ends."""
    pair = check_plane(derivation, plane)
    if derivation.kind in ("mirror", "warped"):
        return level_picture(level_sets(derivation, pair))
    if derivation.kind == "none" and derivation.features > 2 and derivation.rank == derivation.features:
        return apart_picture(flows_apart(derivation))
    raise NoPotentialError(f"there are no level sets to draw: {derivation.reason}")


def check_plane(derivation: Derivation, plane: Any) -> tuple[int, int]:
    """Two different coordinates of w, counted from 0; raises `InputError` if `plane` is something else."""
    d = derivation.features
    if d < 2:
        raise InputError("w has one coordinate only, so there is no plane in which to draw level sets")
    try:
        i, j = (int(each) for each in plane)
    except (TypeError, ValueError) as error:
        raise InputError(f"plane must be two coordinates of w, such as (0, 1), got {plane!r}") from error
    if i == j or not (0 <= i < d and 0 <= j < d):
        raise InputError(f"plane must be two of the coordinates 0 to {d - 1}, got {plane!r}")
    return i, j


def level_sets(derivation: Derivation, pair: tuple[int, int]) -> Levels:
    """The level sets of a derived potential in two coordinates, and flows across them."""
    jets, start, plane = derivation._jets, derivation.theta0, list(pair)
    J = jets.slopes(start)[plane]
    frame = np.linalg.inv(np.linalg.cholesky(J @ J.T)).T  # maps circles to level sets near w₀
    angles = np.linspace(0, 2 * np.pi, _RAYS, endpoint=False) + 0.3
    slopes = np.zeros((_RAYS, derivation.features))
    slopes[:, plane] = (frame @ np.array([np.cos(angles), np.sin(angles)])).T
    highest = (_REACH * _size(derivation)) ** 2 / 2  # approximately Q after this length in θ
    levels = highest * np.array(_LEVELS)
    crossings = np.array([_crossings(derivation, slope, levels) for slope in slopes])
    points = np.swapaxes(crossings, 0, 1)[..., plane]
    curves = [np.vstack([curve, curve[:1]]) for curve in points]
    flows, touched = [], []
    for at, level in enumerate(_TOUCHED):
        ray = (at * _RAYS) // len(_TOUCHED) + _RAYS // 8
        end, normal = points[level, ray], slopes[ray, plane]
        if np.isfinite(end).all():
            y = float(normal @ end)
            flows.append(_flow(derivation, slopes[ray][None], np.array([y]), np.ones(1))[:, plane])
            touched.append((normal, y, end, level))
    title = f"{derivation.name}: {derivation.kind}"
    return Levels(pair, jets.value(start)[plane], curves, flows, touched, title)


def _size(derivation: Derivation) -> float:
    """‖θ₀‖, unless the length scale of the map is very different."""
    length = derivation.length
    return float(np.clip(np.linalg.norm(derivation.theta0), length, _MAX_SIZE * length))


def _crossings(derivation: Derivation, slope: Float, levels: Float) -> Float:
    """The points at which slopes s·slope, s > 0, cross the levels of Q; NaN beyond the end of the ray."""
    jets, start = derivation._jets, derivation.theta0
    d, p = len(slope), len(start)
    step = slope * np.sqrt(2 * levels[-1]) / float(np.linalg.norm(jets.slopes(start).T @ slope))

    def crossing(level: float) -> Any:
        def above(_: float, state: Float) -> float:
            return float(state[-1] - level)  # Q is the last unknown

        above.terminal = level == levels[-1]  # type: ignore[attr-defined]
        return above

    with jets.double(), np.errstate(all="ignore"):
        rates = jets.compiled(Rates(derivation.kind == "warped", dual=True))
        ray = solve_ivp(
            lambda _, state: np.asarray(rates(state, step)),
            (0.0, _LONGEST),
            np.concatenate([start, np.zeros(d + 2)]),
            method="DOP853",
            events=[crossing(level) for level in levels],
            rtol=_RAY_RTOL,
            atol=_RAY_RTOL * (np.abs(start).max() or 1.0),
        )
    found = [
        jets.value(states[0][:p]) if len(states) else np.full(d, np.nan) for states in ray.y_events or ()
    ]
    return np.array(found)


def _flow(derivation: Derivation, X: Float, y: Float, weights: Float) -> Float:
    """Predictors along gradient flow of ½Σ weight·(x·w − y)² on the raw weights, until it has ended."""
    jets, start, roots = derivation._jets, derivation.theta0, np.sqrt(weights)
    first = float(np.linalg.norm(roots * (X @ jets.value(start) - y)))

    def arrived(_: float, theta: Float) -> float:
        return float(np.linalg.norm(roots * (X @ np.asarray(value(theta)) - y))) - _DONE * first

    arrived.terminal = True  # type: ignore[attr-defined]
    slowest = float(np.linalg.svd(roots[:, None] * (X @ jets.slopes(start)), compute_uv=False)[-1]) ** 2
    atol = _FLOW_RTOL * (np.abs(start).max() or 1.0)
    with jets.double():
        value, descent = jets.compiled(Jets.flat), jets.compiled(_descent)
        solution = solve_ivp(
            lambda _, theta: np.asarray(descent(theta, X, y, weights)),
            (0.0, 1e4 / slowest),
            start,
            method="LSODA",
            events=arrived,
            rtol=_FLOW_RTOL,
            atol=atol,
        )
        return np.array([value(theta) for theta in solution.y.T])


def _descent(jets: Jets, theta: Any, X: Any, y: Any, weights: Any) -> Any:
    """The negative gradient of the weighted square loss."""
    w, transpose = jax.vjp(jets.flat, theta)
    return -transpose(X.T @ (weights * (X @ w - y)))[0]


def flows_apart(derivation: Derivation) -> Apart:
    """Flows to one line of solutions under losses with different weights of one sample.

    They are drawn in the plane of this line and w₀, for the one of some random problems whose ends are
    furthest apart.
    """
    return max((_random_flows(derivation, seed) for seed in range(_DRAWS)), key=lambda flows: flows.spread)


def _random_flows(derivation: Derivation, seed: int) -> Apart:
    d, jets, start = derivation.features, derivation._jets, derivation.theta0
    rng, w0 = np.random.default_rng(seed), jets.value(start)
    X = rng.standard_normal((d - 1, d))
    distance = np.maximum(row_norms(jets.slopes(start)) * derivation.length, float(np.linalg.norm(w0)))
    y = X @ (w0 + 1.5 * distance * rng.standard_normal(d) / np.sqrt(d))
    flows = [_flow(derivation, X, y, np.append(weight, np.ones(d - 2))) for weight in _WEIGHTS]
    along, foot = np.linalg.svd(X)[2][-1], flows[0][-1]
    across = (w0 - foot) - along * ((w0 - foot) @ along)
    axes = np.array([along, across / np.linalg.norm(across)])
    title = f"{derivation.name}: no potential, the loss decides where flows end"
    return Apart([(flow - foot) @ axes.T for flow in flows], _WEIGHTS, title)
