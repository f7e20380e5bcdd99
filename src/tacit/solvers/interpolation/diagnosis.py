"""Explain why a limit is not accurate: which samples or features the data leave undetermined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.data.equations import Equations
from tacit.numerics.normal_equations import Factor, factorize
from tacit.potentials.arrays import quiet

_SHOWN = 4  # samples or features that are named; the others are counted
_NAMED = 0.1  # size, relative to the largest, from which a sample or a feature is named
_PROBES = 4  # random changes of the last bits of X
_STIFFEST = 1e-12  # lower bound of the inverse Hessian, relative to its largest entry


@quiet
def explain_error(equations: Equations, W: Float, w: Float, dual: Float, error: float) -> str:
    """A sentence that names the samples, or the features, whose last digits determine the limit.

    W: the diagonal of the inverse Hessian of the potential at w, up to a factor. dual: multipliers of all
    original samples.
    """
    W = np.maximum(W / W.max(), _STIFFEST)
    uncertainty = equations.uncertainty(w)
    what = f"to a relative error of {error:.0e}" if np.isfinite(error) else "to no digit"
    if not np.isfinite(W).all() or not len(uncertainty):
        return f"the data determine it only {what}"
    factor, worst = factorize(equations.X, W), int(uncertainty.argmax())
    change = np.where(np.arange(len(uncertainty)) == worst, uncertainty, 0.0)
    moved = W * factor.direction(change, np.zeros_like(w))[1]
    explained = np.linalg.norm(moved) >= _NAMED * error * np.linalg.norm(w) or not np.isfinite(error)
    if equations.near and explained:
        return (
            f"the data determine it only {what}: {_samples(equations, worst)} nearly depend on each other, "
            f"and their last digits determine {_named('feature', moved)}"
        )
    if explained:
        return f"the data determine it only {what}, least accurately {_named('feature', moved)}"
    shared = _named("feature", W * _slope_changes(equations, factor, dual))
    return (
        f"the data determine it only {what}: the last digits of X determine how the predictor is shared "
        f"among {shared}, which fit y almost equally well at almost the same cost"
    )


def _slope_changes(equations: Equations, factor: Factor, dual: Float) -> Float:
    """Changes of the slopes that the equations cannot absorb, if X changes in its last bits."""
    terms = equations.samples.slope_terms(dual[equations.rows] * equations.row_scale)
    rng = np.random.default_rng(0)
    draws = [rng.standard_normal(len(terms)) for _ in range(_PROBES)]
    zero = np.zeros(len(equations.y))
    return np.asarray(np.max([np.abs(factor.direction(zero, draw * terms)[1]) for draw in draws], axis=0))


def _samples(equations: Equations, row: int) -> str:
    """The samples that enter an equation."""
    assert equations.T is not None
    part = np.zeros(equations.count)
    part[equations.rows] = np.abs(equations.T.high[row])
    return _named("sample", part)


def _named(what: str, sizes: Float) -> str:
    """The indices (from 0) of the largest entries, as text."""
    sizes = np.abs(sizes)
    if not (np.isfinite(sizes).all() and sizes.any()):
        return f"some {what}s"
    order = np.argsort(-sizes, kind="stable")
    order = order[sizes[order] >= _NAMED * sizes[order[0]]]
    shown: Sequence[Any] = sorted(order[:_SHOWN].tolist())
    if len(order) > _SHOWN:
        return f"{what}s {', '.join(map(str, shown))} and {len(order) - _SHOWN:,} more"
    if len(shown) == 1:
        return f"{what} {shown[0]}"
    return f"{what}s {', '.join(map(str, shown[:-1]))} and {shown[-1]}"
