"""Why a limit is not vouched for, in words: what the data do not determine, and how large the doubt is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.data.arrays import Float
from tacit.limits.interpolation.equations import ANY, Equations, prepare
from tacit.numerics.normal import factorize
from tacit.potentials.arrays import quiet

_SHOWN = 4
_TAKES_PART = 0.1  # relative size from which on a sample or a feature is named


@quiet
def doubt_in_words(X: Float, y: Float, W: Float, w: Float, error: float) -> str:
    """Which samples nearly coincide, and which features their last digits decide about.

    W: the diagonal of the inverse Hessian of the potential at w, up to a factor.
    """
    equations = prepare(X, y, ANY)
    doubt = equations.doubt(w)
    worst = int(doubt.argmax()) if len(doubt) else 0
    only = np.zeros_like(doubt)
    only[worst : worst + 1] = 1.0
    W = np.maximum(W / W.max(), 1e-12)
    moved = np.abs(W * factorize(equations.X, W).direction(only, np.zeros_like(w))[1])
    features = _named("feature", moved)
    size = f"{error:.0e}" if np.isfinite(error) else "no digit"
    if equations.T is None:
        return f"the data determine it to {size} only, {features} least of all"
    return (
        f"the data determine it to {size} only: {_samples(equations, worst)} nearly depend on each "
        f"other, and their last digits decide about {features}"
    )


def _samples(equations: Equations, row: int) -> str:
    assert equations.T is not None
    part = np.zeros(equations.count)
    part[equations.rows] = np.abs(equations.T.high[row])
    return _named("sample", part)


def _named(what: str, sizes: Float) -> str:
    """The largest, by number, counted from 0."""
    order = np.argsort(-sizes)
    order = order[sizes[order] >= _TAKES_PART * sizes[order[0]]]
    shown: Sequence[Any] = sorted(order[:_SHOWN].tolist())
    if len(order) > _SHOWN:
        return f"{what}s {', '.join(map(str, shown))} and {len(order) - _SHOWN:,} more"
    if len(shown) == 1:
        return f"{what} {shown[0]}"
    return f"{what}s {', '.join(map(str, shown[:-1]))} and {shown[-1]}"
