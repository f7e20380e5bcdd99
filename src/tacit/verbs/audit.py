"""The start of the gradient flow that ends at given weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.data.arrays import Float, as_floats, feature_names, kept
from tacit.data.entries import Inputs
from tacit.errors import InputError
from tacit.models.diagonal import UntiedDiagonal
from tacit.models.model import Model
from tacit.results.audit import Audit


def audit(weights: Sequence[ArrayLike], X: Inputs) -> Audit:
    """Read from the weights at the end of any training of β = w₊² − w₋² which flow explains them.

    The flow, from any start, keeps √(w₊w₋) and the part of ½·log(w₊/w₋) that is orthogonal to the rows of X.
    Gradient descent changes both only slightly; Adam, for example, changes them substantially, because its
    steps do not lie in the row space.

    Parameters
    ----------
    weights : pair of (d,) array-like
        (w₊, w₋). A product β = u∘v has w± = (u ± v)/2. Only their absolute values matter.
    X : (N, d) array-like, or Prepared
        Rows are samples.

    Returns
    -------
    Audit
        The scale and the bias of the start, and the share of the end that no flow from a single scale
        explains.

    Raises
    ------
    InputError
        If an argument is invalid.

    See Also
    --------
    descend : Runs gradient descent; its `effective` is the same start, for any depth.

    Examples
    --------
    >>> import tacit
    >>> found = tacit.audit(([1.0, 0.1], [0.01, 0.1]), [[1.0, 0.0]])
    >>> found.scale.round(6).tolist(), found.shift.tolist()
    ([0.1, 0.1], [0.0, 0.0])
    """
    names = feature_names(X)
    X = kept(as_floats(X, "X", ndim=(2,)))
    plus, minus = _pair(weights, X.shape[1])
    alive = (plus > 0) & (minus > 0)
    scale = np.sqrt(plus) * np.sqrt(minus)
    bias = np.zeros(len(scale))
    bias[alive] = (np.log(plus[alive]) - np.log(minus[alive])) / 2
    shift = np.where(alive, _outside_rows(X, bias, alive), 0.0)
    size = float(np.linalg.norm(bias)) or 1.0
    spread = float(scale[alive].max() / scale[alive].min()) if alive.any() else float("inf")
    share = float(np.linalg.norm(shift)) / size
    return Audit(scale, shift, share, spread, np.flatnonzero(~alive), plus**2 - minus**2, X, names)


def _pair(weights: Any, features: int) -> tuple[Float, Float]:
    """|w₊| and |w₋|."""
    if isinstance(weights, dict) or not hasattr(weights, "__len__") or len(weights) != 2:
        raise InputError(
            "weights must be a pair (w_plus, w_minus) of arrays; for a run, (run.weights['w₊'], "
            "run.weights['w₋'])"
        )
    plus, minus = (as_floats(w, n, ndim=(1,)) for w, n in zip(weights, ("w_plus", "w_minus"), strict=True))
    for w, name in ((plus, "w_plus"), (minus, "w_minus")):
        if len(w) != features:
            raise InputError(f"{name} has {len(w)} entries but X has {features} features")
    return np.abs(plus), np.abs(minus)


def _outside_rows(X: Float, bias: Float, alive: Any) -> Float:
    """The part of the bias that is orthogonal to the rows, for coordinates whose weights are not 0."""
    rows = X[:, alive]
    if not rows.size:
        return bias
    found = bias.copy()
    solution = np.linalg.lstsq(rows.T, bias[alive], rcond=None)[0]
    found[alive] -= rows.T @ solution
    return found


def start_of(result: Audit) -> Model:
    """The model that starts at scale·exp(±shift)."""
    plus, minus = result.scale * np.exp(result.shift), result.scale * np.exp(-result.shift)
    return UntiedDiagonal.from_weights(plus, plus, minus, minus)
