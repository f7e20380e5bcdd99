r"""What a picture of a derivation shows: level sets of Q and flows across them, or flows that end apart.

With data that see two coordinates only, ∇Q stays in the plane of their slopes, and the flow of these two
coordinates is the mirror flow of min Q over all others. Its level sets are found by rays of constant
direction in that plane of slopes; where a ray crosses one, the line of solutions with the normal of the ray
touches it, and the flow to this line must end there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from tacit.autodiff import jax
from tacit.data.arrays import Float
from tacit.derivation.potential import Rates
from tacit.derivation.result import Derivation
from tacit.derivation.scale import row_sizes
from tacit.derivation.smooth_map import Jets
from tacit.errors import InputError, NoPotentialError
from tacit.numerics.roots import crossing
from tacit.results.level_sets import Apart, Levels
from tacit.show.figures import Picture
from tacit.show.level_sets import apart_picture, level_picture

_RAYS = 96
_LEVELS = (0.02, 0.08, 0.18, 0.32, 0.5, 0.72, 1.0)  # of the largest: even distances near w₀
_TOUCHED = (3, 4, 5)  # the levels that lines of solutions touch
_REACH, _LONGEST = 0.8, 20.0  # length of rays in θ, relative to its size, and how much longer they may get
_ALIKE = 100.0  # times the map's own length: ‖θ₀‖ up to it is a size to draw
_LOOSE, _TIGHT = 1e-9, 1e-10  # of rays, and of flows
_WEIGHTS = 10.0 ** np.linspace(-2, 2, 5)  # of one sample over the others, where flows end apart
_DRAWS = 3
_DONE = 1e-8  # of the first loss's root, where flows have ended


def portrait(derivation: Derivation, plane: Any) -> Picture:
    """Level sets of the potential in two coordinates; without a potential, flows that end apart."""
    pair = check_plane(derivation, plane)
    if derivation.kind in ("mirror", "warped"):
        return level_picture(level_sets(derivation, pair))
    if derivation.kind == "none" and derivation.features > 2 and derivation.rank == derivation.features:
        return apart_picture(flows_apart(derivation))
    raise NoPotentialError(f"there are no level sets to draw: {derivation.reason}")


def level_sets(derivation: Derivation, pair: tuple[int, int]) -> Levels:
    """The level sets of a derived potential in two coordinates, and flows across them."""
    jets, start = derivation._jets, derivation.theta0
    J = jets.slopes(start)[list(pair)]
    frame = np.linalg.inv(np.linalg.cholesky(J @ J.T)).T  # circles in it are level sets near w₀
    angles = np.linspace(0, 2 * np.pi, _RAYS, endpoint=False) + 0.3
    pulls = np.zeros((_RAYS, derivation.features))
    pulls[:, list(pair)] = (frame @ np.array([np.cos(angles), np.sin(angles)])).T
    top = (_REACH * _size(derivation)) ** 2 / 2  # what Q is after this length in θ, about
    levels = top * np.array(_LEVELS)
    points = np.array([_crossings(derivation, pull, levels) for pull in pulls])
    points = np.swapaxes(points, 0, 1)[..., list(pair)]
    curves = [np.vstack([each, each[:1]]) for each in points]
    flows, touched = [], []
    for at, level in enumerate(_TOUCHED):
        ray = (at * _RAYS) // len(_TOUCHED) + _RAYS // 8
        end = points[level, ray]
        if np.isfinite(end).all():
            y = float(pulls[ray, list(pair)] @ end)
            flows.append(_flow(derivation, pulls[ray][None], np.array([y]), np.ones(1))[:, list(pair)])
            touched.append((pulls[ray, list(pair)], y, end, level))
    origin = jets.value(start)[list(pair)]
    return Levels(pair, origin, curves, flows, touched, f"{derivation.name}: {derivation.kind}")


def _size(derivation: Derivation) -> float:
    """‖θ₀‖, unless the map has quite another length there."""
    length = derivation.length
    return float(np.clip(np.linalg.norm(derivation.theta0), length, _ALIKE * length))


def _crossings(derivation: Derivation, pull: Float, levels: Float) -> Float:
    """Where slopes s·pull, s > 0, cross the levels of Q; NaN for those beyond the end of the ray."""
    jets, start = derivation._jets, derivation.theta0
    d, p = len(pull), len(start)
    step = pull * np.sqrt(2 * levels[-1]) / float(np.linalg.norm(jets.slopes(start).T @ pull))
    atol = _LOOSE * (np.abs(start).max() or 1.0)

    def above(_: float, state: Float) -> float:
        return float(state[-1] - levels[-1])

    above.terminal = True  # type: ignore[attr-defined]
    with jets.double(), np.errstate(all="ignore"):
        rates = jets.compiled(Rates(derivation.kind == "warped", dual=True))
        done = solve_ivp(
            lambda _, state: np.asarray(rates(state, step)),
            (0.0, _LONGEST),
            np.concatenate([start, np.zeros(d + 2)]),
            method="DOP853",
            dense_output=True,
            events=above,
            rtol=_LOOSE,
            atol=atol,
        )
    found = np.full((len(levels), d), np.nan)
    end, dense = float(done.t[-1]), done.sol
    assert dense is not None
    for at, level in enumerate(levels):
        if dense(end)[-1] >= level * (1 - 1e-9):
            s = crossing(partial(_excess, dense, level), 0.0, end * (1 + 1e-9), xtol=1e-12)
            found[at] = jets.value(dense(s)[:p])
    return found


def _excess(dense: Callable[[float], Float], level: float, s: float) -> float:
    """How far the last unknown is beyond a level."""
    return float(dense(s)[-1] - level)


def _flow(derivation: Derivation, X: Float, y: Float, weights: Float) -> Float:
    """Predictors along gradient flow of ½Σ weight·(x·w − y)² on the raw parameters, until it has ended."""
    jets, start = derivation._jets, derivation.theta0

    first = float(np.linalg.norm(np.sqrt(weights) * (X @ jets.value(start) - y)))

    def arrived(_: float, theta: Float) -> float:
        return float(np.linalg.norm(np.sqrt(weights) * (X @ np.asarray(value(theta)) - y))) - _DONE * first

    arrived.terminal = True  # type: ignore[attr-defined]
    J = np.sqrt(weights)[:, None] * (X @ jets.slopes(start))
    slowest = float(np.linalg.svd(J, compute_uv=False)[-1]) ** 2
    atol = _TIGHT * (np.abs(start).max() or 1.0)
    with jets.double():
        value, pull = jets.compiled(_value), jets.compiled(_pull)
        done = solve_ivp(
            lambda _, theta: np.asarray(pull(theta, X, y, weights)),
            (0.0, 1e4 / slowest),
            start,
            method="LSODA",
            events=arrived,
            rtol=_TIGHT,
            atol=atol,
        )
        return np.array([value(theta) for theta in done.y.T])


def _value(jets: Jets) -> Any:
    return jets.flat


def _pull(jets: Jets) -> Any:
    """−∇ of the weighted square loss by θ."""

    def pull(theta: Any, X: Any, y: Any, weights: Any) -> Any:
        w, back = jax.vjp(jets.flat, theta)
        return -back(X.T @ (weights * (X @ w - y)))[0]

    return pull


def flows_apart(derivation: Derivation) -> Apart:
    """Flows of one problem under losses that weigh its samples differently; solutions are a line.

    In the plane of that line and w₀; of some random problems, the one whose ends are furthest apart.
    """
    found = [_spread(derivation, seed) for seed in range(_DRAWS)]
    return max(found, key=lambda each: each.spread)


def _spread(derivation: Derivation, seed: int) -> Apart:
    d, jets, start = derivation.features, derivation._jets, derivation.theta0
    rng, w0 = np.random.default_rng(seed), jets.value(start)
    X = rng.standard_normal((d - 1, d))
    away = row_sizes(jets.slopes(start)) * derivation.length
    away = np.maximum(away, float(np.linalg.norm(w0)))
    y = X @ (w0 + 1.5 * away * rng.standard_normal(d) / np.sqrt(d))
    runs = []
    for weight in _WEIGHTS:
        weights = np.ones(d - 1)
        weights[0] = weight
        runs.append(_flow(derivation, X, y, weights))
    along, foot = np.linalg.svd(X)[2][-1], runs[0][-1]
    across = (w0 - foot) - along * ((w0 - foot) @ along)
    axes = np.array([along, across / np.linalg.norm(across)])
    title = f"{derivation.name}: no potential, the loss decides where flows end"
    return Apart([(run - foot) @ axes.T for run in runs], _WEIGHTS, title)


def check_plane(derivation: Derivation, plane: Any) -> tuple[int, int]:
    """Two different coordinates of w, counted from 0; `InputError` for what is none."""
    if derivation.features < 2:
        raise InputError("w has one coordinate only: there is no plane to draw level sets in")
    try:
        i, j = (int(each) for each in plane)
    except (TypeError, ValueError) as error:
        raise InputError(f"plane must be two coordinates of w, as (0, 1), got {plane!r}") from error
    if i == j or not (0 <= i < derivation.features and 0 <= j < derivation.features):
        raise InputError(
            f"plane must be two of the coordinates 0 to {derivation.features - 1}, got {plane!r}"
        )
    return i, j
