"""Points at which the curves of Moroshko et al. 2020 are computed, so that pictures show smooth curves.

Comparison of the flows in figures with flows of the raw weights, which do not use the potential.

The former are integrated in mirror space, whose metric is made from the same potential as the paths and
margins they are compared with.

Flows and margins that are checked before a figure shows them, and all local maxima of an ℓp margin.

Shared by the figures of Moroshko et al. 2020. Rows are y_n x_n throughout: all labels are +1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import xarray as xr
from scipy.interpolate import PchipInterpolator
from scipy.optimize import brentq, minimize_scalar

import tacit
from tacit.data.arrays import Float
from tacit.papers import Claim, at_most
from tacit.papers.arguments import arrived

_EVEN = 0.1  # weight of the clock in regions that contain points already
_ROUGH = 40  # points of a first evaluation, which shows where the path moves


def spread(clock: Float, curve: Float, count: int, *, even: float = 1.0) -> Float:
    """Values of the clock, including both ends, distributed by the length of the curve and by the clock.

    clock: increasing. curve: a point for each value of the clock; a length of NaN counts as 0.
    even: the weight of the clock; that of the length is 1.
    """
    moved = np.nan_to_num(np.linalg.norm(np.diff(curve, axis=0), axis=1)).cumsum()
    gone = np.append(0.0, moved / (moved[-1] or 1.0)) + even * (clock - clock[0]) / (clock[-1] - clock[0])
    return np.interp(np.linspace(0, gone[-1], count), gone, clock)


def refined(
    follow: Callable[[Float], Float],
    rough: Float,
    count: int,
    shown: Callable[[Float], Float],
    *,
    looks: int = 1,
) -> tuple[Float, Float]:
    """`count` values of a positive clock, including a coarse grid, and the points of a curve there.

    follow: computes points at increasing values of the clock. shown: their coordinates in the picture, as
    rows. The grid is even, and the other values are added where the curve moves, in several rounds.
    """
    clock, points = rough, follow(rough)
    for left in range(looks, 0, -1):
        more = max(count - len(clock), 0) // left
        if more:
            at = np.exp(spread(np.log(clock), shown(points), more + 2, even=_EVEN)[1:-1])
            order = np.argsort(np.append(clock, at), kind="stable")
            clock, points = np.append(clock, at)[order], np.concatenate([points, follow(at)])[order]
    return clock, points


def levels(
    rows: Float, depth: float, ends: tuple[float, float], count: int, *, sweeping: bool = False
) -> Float:
    """`count` decreasing values of μ for the Q_μ path: both ends, all kinks, and more where it moves.

    sweeping: also at the events of the flow at infinite scale, and where it moves.
    """
    labels, rough = np.ones(len(rows)), np.geomspace(*ends, min(_ROUGH, count))
    path = tacit.margin_path(rows, labels, rough, depth=depth)
    curve, changes = path.predictors, path.kinks
    if sweeping:
        other = tacit.sweeping_path(rows, labels, rough, depth=depth)
        curve, changes = np.hstack([curve, other.predictors]), [*changes, *other.events]
    fixed = between([change.mu for change in changes], ends)
    more = np.exp(-spread(-np.log(rough), curve, max(count - len(fixed), 2))[1:-1])
    return np.sort([*ends, *fixed, *more])[::-1]


def between(values: Any, ends: tuple[float, float]) -> list[float]:
    """The distinct values between the ends."""
    return sorted({float(each) for each in values if min(ends) < each < max(ends)})


def reached_at(accuracy: Float, values: Float, level: float) -> float:
    """The accuracy above which values are at most this level, with power-law interpolation; or NaN."""
    above = np.flatnonzero(~(values <= level))
    if not above.size or above[-1] + 1 == len(values):
        return np.nan
    pair = slice(above[-1], above[-1] + 2)
    return float(np.exp(np.interp(-np.log(level), -np.log(values[pair]), np.log(accuracy[pair]))))


# Range of γ̃ in which they are compared, the first relative to α^D. Earlier, predictors are differences of
# nearly equal weights, with large round-off errors; later, they hardly depend on the scale.
_FIRST, _LAST = 1e-2, 1e6


def middle(scales: Sequence[float]) -> int:
    """The index of the scale closest to 1, where flows are between the regimes."""
    return int(np.argmin(np.abs(np.log(scales))))


def off_raw_weights(depth: float, scale: float, rows: Float, accuracy: Float, shown: Float) -> float:
    """The largest distance between directions of a flow and those of its raw weights, for α^D = scale.

    accuracy: the accuracies to compare; shown: the predictors there. NaN if the raw weights do not converge.
    """
    seen = (accuracy >= _FIRST * scale) & (accuracy <= _LAST)
    run = raw_weights(depth, scale, rows, accuracy[seen])
    if not run.converged:
        return np.nan
    first, second = (w / np.linalg.norm(w, axis=1, keepdims=True) for w in (shown[seen], run.predictor))
    return float(np.linalg.norm(first - second, axis=1).max())


def raw_weights(depth: float, scale: float, rows: Float, accuracy: Float) -> tacit.Trajectory:
    """Gradient flow of the raw weights on the exponential loss, at these accuracies."""
    model = tacit.Diagonal(depth=depth, log_scale=np.log(scale) / depth)
    return tacit.flow(model, rows, np.ones(len(rows)), loss="exp", at=accuracy, method="parameters")


def raw_weights_claim(data: xr.Dataset) -> Claim:
    """Claim that the flow shown agrees with that of the raw weights."""
    return at_most(1e-6, "a hundred times the tolerance of the integrators").claim(
        "at the scale closest to 1 raw weights agree (largest distance at the same accuracy)",
        data.off_raw_weights.max(skipna=False),
    )


CLOSE = 0.05  # excess ℓ1 norm that counts as the rich regime
EARLY = 1e-4  # accuracy, relative to min(1, α^D), at which the flow still has its initial direction


def size(w: Float, p: float) -> Float:
    """‖w‖_p of each row, p > 0."""
    return np.asarray((np.abs(w) ** p).sum(axis=-1) ** (1 / p))


def over_margin(w: Float, rows: Float) -> Float:
    """Each predictor divided by its smallest margin, min rows·w."""
    return np.asarray(w / (w @ rows.T).min(axis=-1, keepdims=True))


def followed(depth: float, scale: float, rows: Float, **targets: Any) -> tacit.Trajectory:
    """Gradient flow on the exponential loss (rows y_n x_n) whose *predictor* starts at scale = α^D.

    Raises `NotConvergedError` if the flow does not reach its goal.
    """
    model = tacit.Diagonal(depth=depth, log_scale=math.log(scale) / depth)
    trajectory = tacit.flow(model, rows, np.ones(len(rows)), loss="exp", **targets)
    return arrived(trajectory, f"depth {depth:g}, α^D = {scale:g}: {trajectory.reason}")


def margins_on_path(rows: Float, mu: Float, depth: float) -> Float:
    """The Q_μ maximum-margin predictors; raises if one is not certified."""
    path = tacit.margin_path(rows, np.ones(len(rows)), mu, depth=depth)
    if not path.converged.all():
        raise tacit.NotConvergedError(f"no margin at μ = {path.mu[~path.converged][0]:g}, depth {depth:g}")
    return path.predictors


def best_margin(rows: Float, norm: Any) -> tacit.Margin:
    """The maximum margin in a norm; raises if it is not certified."""
    found = tacit.max_margin(rows, np.ones(len(rows)), norm)
    return arrived(found, f"no largest margin in the norm {norm}: residual {found.kkt:.1g}")


def excess_l1(w: Float, rows: Float, smallest: float) -> Float:
    """‖ŵ‖₁/‖w_ℓ1‖₁ − 1 of each predictor, ŵ its multiple of margin 1; smallest: ‖w_ℓ1‖₁."""
    return np.asarray(size(over_margin(w, rows), 1) / smallest - 1)


def accuracy_needed(rows: Float, depth: float, scale: float, last: float) -> float:
    """The accuracy above which the excess ℓ1 norm stays below 5%, at predictor scale α^D = scale.

    A flow to accuracy `last` brackets it; inverse interpolation between three states of a second flow, close
    to the first estimate, determines it to about 1e-8. NaN if the excess is not below 5% at the end.
    """
    smallest = best_margin(rows, "l1").value
    rough = followed(depth, scale, rows, until=last)
    clock = np.log(rough.accuracy[1:])
    excess = np.log(excess_l1(rough.predictor[1:], rows, smallest) / CLOSE)
    above = np.flatnonzero(excess > 0)
    if not above.size or above[-1] + 1 == len(excess):
        return np.nan
    bracket = slice(max(above[-1] - 2, 0), above[-1] + 4)
    curve = PchipInterpolator(clock[bracket], excess[bracket])
    estimate = brentq(lambda x: float(curve(x)), clock[above[-1]], clock[above[-1] + 1], xtol=1e-12)
    close = followed(depth, scale, rows, at=np.exp(estimate + np.array([-1e-3, 0.0, 1e-3])))
    excess = np.log(excess_l1(close.predictor, rows, smallest) / CLOSE)
    return float(np.exp(np.polyfit(excess, np.log(close.accuracy), 2)[-1]))


def level_of_path(rows: Float, depth: float) -> float:
    """The μ at which the excess ℓ1 norm of the Q_μ margin is 5%: large scales need γ̃ = α^D/μ (Theorem 6)."""
    smallest = best_margin(rows, "l1").value

    def above(log_mu: float) -> float:
        w = margins_on_path(rows, np.exp([log_mu]), depth)
        return float(excess_l1(w, rows, smallest)[0]) - CLOSE

    return float(np.exp(brentq(above, np.log(1e-8), np.log(1e3), xtol=1e-12)))


def level_of_average(rows: Float, depth: float) -> float:
    """lim γ̃/α^D for α → 0 at 5% excess, if the average sample z̄ alone leads there; NaN if it does not.

    As long as γ̃ is small, all samples have the same weight in the gradient, w = α^D h_D(s z̄) for an
    increasing s, and γ̃ = z̄·w. Then only the scale of w and γ̃ depends on α. h_D is infinite at s|z̄_j| = 1
    for D > 2.
    """
    smallest, average = best_margin(rows, "l1").value, rows.mean(axis=0)
    mirror = tacit.Diagonal(depth=depth, scale=1.0).potential(rows.shape[1]).mirror
    longest = (30.0 if depth == 2 else 1 - 1e-12) / np.abs(average).max()

    def above(s: float) -> float:
        w = np.asarray(mirror(s * average))
        return float(excess_l1(w, rows, smallest)) - CLOSE if (rows @ w).min() > 0 else np.inf

    if above(longest) > 0:
        return np.nan
    s = brentq(above, 1e-3 * longest, longest, xtol=1e-14)
    return float(average @ mirror(s * average))


def along(depth: float, scale: float, rows: Float, last: float, count: int) -> tuple[Float, Float]:
    """Accuracies and normalized predictors at `count` states of a flow that ends at γ̃ = last.

    A first flow shows when the predictor moves. The states of a second one are distributed evenly in the
    length of its path and in the logarithm of the accuracy.
    """
    rough = followed(depth, scale, rows, until=last)
    accuracy = np.concatenate([[min(EARLY * min(1.0, scale), rough.accuracy[1] / 2)], rough.accuracy[1:]])
    w = over_margin(np.vstack([rows.mean(axis=0), rough.predictor[1:]]), rows)
    smooth = followed(depth, scale, rows, at=np.exp(spread(np.log(accuracy), w, count)))
    return smooth.accuracy, over_margin(smooth.predictor, rows)


def off_path(rows: Float, w: Float, mu: Float, depth: float, lowest: float = 1e-10) -> float:
    """The largest distance of predictors to the Q_μ margins at their μ, from 1 to the lowest; NaN if none."""
    near = (mu >= lowest) & (mu <= 1)
    if not near.any():
        return math.nan
    return float(np.linalg.norm(w[near] - margins_on_path(rows, mu[near], depth), axis=1).max())


def points_of_edge(face: Float | None) -> dict[str, Float]:
    """The ℓ1 solutions of smallest and largest ℓ2 norm and of largest entropy −Σ|w| log|w|."""
    if face is None or len(face) != 2:
        raise tacit.NotConvergedError("the ℓ1 solutions of this dataset are an edge, and no edge was found")
    first, way = face[0], face[1] - face[0]
    lowest = float(np.clip(-first @ way / (way @ way), 0, 1))

    def order(t: float) -> float:
        w = np.abs(first + t * way) + 1e-300
        return float(w @ np.log(w))

    mixed = float(minimize_scalar(order, bounds=(0, 1), method="bounded", options={"xatol": 1e-10}).x)
    most = face[np.linalg.norm(face, axis=1).argmax()]
    return {"least": first + lowest * way, "most": most, "entropic": first + mixed * way}


def local_margins(rows: Float, p: float) -> Float:
    """All local minima of ‖w‖_p, p < 1, subject to rows·w ≥ 1, in increasing order.

    The quasi-norm is concave between its zeros and has infinite slope at them. A minimum with nonzero
    coordinates J is therefore a vertex w_J = A⁻¹1, with as many samples A, and its multipliers
    A⁻ᵀ(sign(w)|w|^{p−1}) are nonnegative. All C(N + d, d) square blocks A are tried.
    """
    samples, features = rows.shape
    found = []
    for count in range(1, min(samples, features) + 1):
        active = np.array(list(combinations(range(samples), count)))
        for used in combinations(range(features), count):
            blocks = rows[active[:, :, None], np.array(used)]
            volume = np.linalg.norm(blocks, axis=2).prod(axis=1)
            blocks = blocks[np.abs(np.linalg.det(blocks)) > 1e-13 * volume]
            part = np.linalg.solve(blocks, np.ones((len(blocks), count, 1)))[:, :, 0]
            able = ((part @ rows[:, used].T).min(axis=1) >= 1 - 1e-9) & (np.abs(part).min(axis=1) > 1e-9)
            part, blocks = part[able], blocks[able]
            pull = np.sign(part) * np.abs(part) ** (p - 1)
            dual = np.linalg.solve(blocks.swapaxes(1, 2), pull[:, :, None])[:, :, 0]
            for each in part[dual.min(axis=1) >= 0]:
                w = np.zeros(features)
                w[list(used)] = each
                found.append(w)
    ordered = np.array(found)[np.argsort(size(np.array(found), p), kind="stable")]
    twice = [np.abs(ordered[:k] - w).max(axis=1, initial=0.0) < 1e-7 for k, w in enumerate(ordered)]
    return np.asarray(ordered[[not any(each) for each in twice]])
