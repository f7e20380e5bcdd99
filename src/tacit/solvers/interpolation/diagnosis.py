"""Why a limit is not certified, in words: what the data do not determine, and how large the doubt is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.data.equations import Equations
from tacit.numerics.normal_equations import Factor, factorize
from tacit.potentials.arrays import quiet

_SHOWN = 4
_TAKES_PART = 0.1  # relative size from which on a sample or a feature is named
_PROBES = 4  # random changes of the last bits of X


@quiet
def doubt_in_words(equations: Equations, W: Float, w: Float, dual: Float, error: float) -> str:
    """What the last bits of the data decide: by which samples, or among which features.

    W: the diagonal of the inverse Hessian of the potential at w, up to a factor. dual: multipliers of all
    original samples.
    """
    W = np.maximum(W / W.max(), 1e-12)
    doubt, size = equations.doubt(w), f"{error:.0e}" if np.isfinite(error) else "no digit"
    if not np.isfinite(W).all() or not len(doubt):
        return f"the data determine it to {size} only"
    factor, worst = factorize(equations.X, W), int(doubt.argmax())
    moved = W * factor.direction(np.where(np.arange(len(doubt)) == worst, doubt, 0.0), np.zeros_like(w))[1]
    decided = np.linalg.norm(moved) >= _TAKES_PART * error * np.linalg.norm(w)
    if equations.near and (decided or not np.isfinite(error)):
        return (
            f"the data determine it to {size} only: {_samples(equations, worst)} nearly depend on each "
            f"other, and their last digits decide about {_named('feature', moved)}"
        )
    if decided or not np.isfinite(error):
        return f"the data determine it to {size} only, {_named('feature', moved)} least of all"
    shared = _named("feature", W * _shifted(equations, factor, dual))
    return (
        f"the data determine it to {size} only: the last digits of X decide how the predictor is shared "
        f"among {shared}, which fit y almost equally well at almost the same cost"
    )


def _shifted(equations: Equations, factor: Factor, dual: Float) -> Float:
    """Changes of slopes, beyond what the equations make of them, if X changes in its last bits."""
    pull = equations.samples.slope_terms(dual[equations.rows] * equations.row_scale)
    rng = np.random.default_rng(0)
    draws = [rng.standard_normal(len(pull)) for _ in range(_PROBES)]
    none = np.zeros(len(equations.y))
    return np.asarray(np.max([np.abs(factor.direction(none, draw * pull)[1]) for draw in draws], axis=0))


def _samples(equations: Equations, row: int) -> str:
    assert equations.T is not None
    part = np.zeros(equations.count)
    part[equations.rows] = np.abs(equations.T.high[row])
    return _named("sample", part)


def _named(what: str, sizes: Float) -> str:
    """The largest, by number, counted from 0."""
    sizes = np.abs(sizes)
    if not (np.isfinite(sizes).all() and sizes.any()):
        return f"some {what}s"
    order = np.argsort(-sizes, kind="stable")
    order = order[sizes[order] >= _TAKES_PART * sizes[order[0]]]
    shown: Sequence[Any] = sorted(order[:_SHOWN].tolist())
    if len(order) > _SHOWN:
        return f"{what}s {', '.join(map(str, shown))} and {len(order) - _SHOWN:,} more"
    if len(shown) == 1:
        return f"{what} {shown[0]}"
    return f"{what}s {', '.join(map(str, shown[:-1]))} and {shown[-1]}"
