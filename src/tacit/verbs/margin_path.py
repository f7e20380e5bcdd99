"""Maximum-margin predictors over μ, from the kernel to the rich end."""

from __future__ import annotations

import logging
import math
import os
import time
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.data.arrays import Float, as_floats, check_labelled, feature_names, kept
from tacit.data.entries import Inputs
from tacit.data.prepared import Design, design_of
from tacit.errors import InputError
from tacit.models import Diagonal
from tacit.models.model import Model
from tacit.results.limit import ERROR_TOLERANCE
from tacit.results.margin import KKT_TOLERANCE
from tacit.results.paths import Kink, MarginPath
from tacit.show.progress import progress
from tacit.solvers.interpolation.geometry import Separable, as_separable
from tacit.solvers.interpolation.solution import unknown_error
from tacit.solvers.margins.constraints import Margins
from tacit.solvers.margins.l1 import least_l1_margin
from tacit.solvers.margins.support import (
    Held,
    at_kernel_scale,
    hold_from,
    margin_residual,
)

_LOG = logging.getLogger(__name__)
_LOCATED = 1e-9  # accuracy of a kink, in log μ


def margin_path(
    X: Inputs,
    y: ArrayLike,
    mu: ArrayLike,
    *,
    depth: float = 2,
    model: Model | None = None,
    intercept: bool = False,
    standardize: bool = False,
) -> MarginPath:
    """Compute argmin Q_μ(w) subject to y_n x_n·w ≥ 1, for every μ (Moroshko et al. 2020, Section 4).

    Gradient flow on the exponential loss, on a diagonal network of depth D with initial weights α, is at
    accuracy γ̃ near the point with μ = α^D/γ̃, as long as no sample leaves the support. At large μ the
    predictor maximizes the ℓ2 margin, at small μ the ℓ1 margin.

    Parameters
    ----------
    X : (N, d) array-like, or Prepared
        Rows are samples.
    y : (N,) array-like
        Two classes, as for `tacit.max_margin`.
    mu : sequence of float
        Positive numbers in any order.
    depth : float, optional
        D of Q_μ, 2 or more.
    model : Diagonal or UntiedDiagonal, optional
        A model whose predictor is 0 at initialization, instead of depth. All scales of its potential are
        multiplied by μ, so that its flow at accuracy γ̃ is near the point with μ = 1/γ̃. `Diagonal()` and
        `UntiedDiagonal()` give the path of depth 2; other shapes and profiles give other paths.
    intercept : bool, optional
        Take margins of x_n·w + b, with an unpenalized intercept b.
    standardize : bool, optional
        Apply Q_μ to the weights of features divided by their standard deviation. Predictors and intercepts
        belong to the original features.

    Returns
    -------
    MarginPath
        A predictor with multipliers and certificate for each μ.

    Raises
    ------
    InputError
        If an argument is invalid.
    NotSeparableError
        If no linear predictor classifies all samples correctly.

    See Also
    --------
    sweeping_path : The flow at infinite scale, which this path approximates.
    support_stability : The values of μ for which the two agree.

    Examples
    --------
    >>> import tacit
    >>> X, y = [[1, 2], [-2, -3]], [1, -1]
    >>> tacit.margin_path(X, y, [1e3, 1e-9]).predictors.round(3).tolist()
    [[0.2, 0.4], [0.0, 0.5]]
    """
    begun, names = time.perf_counter(), feature_names(X)
    design, y, levels = check_levels(X, y, mu, intercept, standardize)
    margins, units = Margins.of(design, y), design.units(y)
    geometry = geometry_of(depth, model, design.X.shape[1])
    held = _follow(margins, geometry, levels)
    kkt = np.array([_residual(margins, geometry, m, each) for m, each in zip(levels, held, strict=True)])
    predictors = np.array([units.predictor(each.predictor) for each in held])
    error = np.array([each.error for each in held])
    _LOG.info("maximum margins at %d values of μ, depth %g", len(levels), depth_of(geometry))
    return MarginPath(
        mu=levels,
        predictors=predictors,
        duals=np.array([each.dual for each in held]),
        kkt=kkt,
        error=error,
        support=np.array([np.isin(np.arange(len(y)), each.support) for each in held]),
        converged=np.array([each.settled for each in held])
        & (kkt <= KKT_TOLERANCE)
        & (error <= ERROR_TOLERANCE),
        depth=depth_of(geometry),
        seconds=time.perf_counter() - begun,
        geometry=geometry,
        X=design.X,
        y=y,
        intercept=np.array([each.intercept for each in held]) - predictors @ units.center,
        units=units,
        _margins=margins,
        features=names,
    )


def _residual(margins: Margins, geometry: Separable, mu: float, held: Held) -> float:
    shifted = geometry.shifted(math.log(mu))
    return margin_residual(shifted, margins, held.predictor, held.intercept, held.dual)


def _follow(margins: Margins, geometry: Separable, levels: Float) -> list[Held]:
    """Solve for every μ, from the largest down, each from the solution at the previous one."""
    none_yet = Held(np.zeros(0), 0.0, np.zeros(0), np.zeros(0, int), False, unknown_error)
    held: list[Held] = [none_yet] * len(levels)
    here, log_here = at_kernel_scale(margins, geometry, float(levels.max()))
    for i in progress(np.argsort(-levels).tolist(), "maximum margins"):
        log_mu = math.log(levels[i])
        found = hold_from(margins, geometry.shifted(log_mu), here, log_mu - log_here)
        if found is None:
            found = replace(here, settled=False, assess=unknown_error)
        else:
            here, log_here = found, log_mu
        held[i] = found
    return held


def kinks_of(path: MarginPath) -> list[Kink]:
    """Kinks of the path: changes of the support between its points, from large μ to small."""
    found: list[Kink] = []
    for i, j in progress(list(pairwise(np.argsort(-path.mu))), "kinks"):
        found += _kinks_between(path._margins, path.geometry, _held(path, i), _held(path, j))
    return found


def _held(path: MarginPath, i: Any) -> tuple[float, Held]:
    support = np.flatnonzero(path.support[i])
    return math.log(path.mu[i]), Held(
        path.predictors[i], 0.0, path.duals[i], support, True, lambda: float(path.error[i])
    )


def _kinks_between(
    margins: Margins, geometry: Separable, above: tuple[float, Held], below: tuple[float, Held]
) -> list[Kink]:
    """Kinks between two points of the path, by bisection in log μ."""
    (top, first), (bottom, last) = above, below
    changed = np.setxor1d(first.support, last.support)
    if not len(changed):
        return []
    if top - bottom < _LOCATED:
        mu = math.exp((top + bottom) / 2)
        return [Kink(mu, int(n), bool(n in last.support)) for n in changed]
    middle = (top + bottom) / 2
    found = hold_from(margins, geometry.shifted(middle), first, middle - top)
    if found is None:
        return []
    between = (middle, found)
    return [
        *_kinks_between(margins, geometry, above, between),
        *_kinks_between(margins, geometry, between, below),
    ]


def excess_of(path: MarginPath) -> tuple[Float, Float]:
    """‖w‖/‖w_end‖ − 1 at every μ, in the norm of the kernel end and in the (weighted) ℓ1 norm."""
    metric, weight = path.geometry.kernel_metric(), path.geometry.weight
    least = at_kernel_scale(path._margins, path.geometry)[0].predictor
    richest = weight @ np.abs(least_l1_margin(path._margins, weight).predictor)
    inside = path.predictors * path.units.scale
    size = np.linalg.norm(inside / np.sqrt(metric), axis=1)
    kernel = size / np.linalg.norm(least / np.sqrt(metric)) - 1
    return kernel, np.abs(inside) @ weight / richest - 1


def check_levels(
    X: Any, y: Any, mu: Any, intercept: bool = False, standardize: bool = False
) -> tuple[Design, Float, Float]:
    """Validate features, labels and values of μ."""
    checked, y = check_labelled(X, y)
    levels = np.atleast_1d(as_floats(mu, "mu", ndim=(0, 1))).copy()
    if levels.size == 0 or not (levels > 0).all():
        found = f"{levels.min():g}" if levels.size else "an empty list"
        raise InputError(f"mu must be one or more positive numbers, got {found}")
    samples, features = checked.shape
    _check_memory(len(levels) * (features + 2 * samples), f"a path of {len(levels):,} values of μ")
    return design_of(X, checked, intercept, standardize), kept(y), levels


def _check_memory(numbers: int, what: str) -> None:
    """Raise `InputError` if this many numbers do not fit into the memory of this machine."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return
    if 8 * numbers > memory:
        need, has = (f"{size / 2**30:,.0f} GiB" for size in (8 * numbers, memory))
        raise InputError(f"{what} needs {need} of memory, but this machine has {has}; pass fewer values of μ")


def geometry_of(depth: Any, model: Any, features: int) -> Separable:
    """The potential at μ = 1, for a depth or for a model with its initialization."""
    if model is None:
        return as_separable(Diagonal(depth=depth).potential(), features)
    made = getattr(model, "potential", None)
    potential = made(features) if callable(made) else None
    if potential is None or potential.family != "separable":
        raise InputError(
            "model must be a diagonal network with tied layers or with two layers, such as Diagonal or "
            f"UntiedDiagonal, got {model!r}; tacit.max_margin accepts any potential"
        )
    if depth != 2 and depth != getattr(model, "depth", 2):
        raise InputError(f"give depth or model, not both: the depth of {model!r} is fixed")
    separable = as_separable(potential, features)
    if separable.origin is not None:
        raise InputError(
            "the predictor of the model must be 0 at initialization, because paths over μ are defined for "
            "such models only; tacit.flow accepts others"
        )
    return separable


def depth_of(geometry: Any) -> float:
    """The depth D of a potential with power p = D/(D−2)."""
    p = getattr(geometry, "power", None)
    if p is None:
        raise InputError(
            f"{type(geometry).__name__} is not the potential of a diagonal network with tied layers or with "
            "two layers, and has no path over μ"
        )
    return 2.0 if p == math.inf else 2 * p / (p - 1)
