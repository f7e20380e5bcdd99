"""The result of `tacit.audit`: the start of the flow that explains the weights at the end of a training."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit.data.arrays import Float, Index
from tacit.errors import NoPotentialError
from tacit.models.model import Model
from tacit.results.delegation import delegate
from tacit.results.result import Labelled, Pictured, Summarized


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Summarized, Pictured):
    """The start of a flow of depth 2 that ends at given weights.

    Gradient flow conserves w₊w₋, and changes ½·log(w₊/w₋) only by combinations of the rows of X. The weights
    at the end therefore determine the start of the flow: w± = scale·exp(±shift).

    Attributes
    ----------
    scale : (d,) array
        √(w₊w₋) of each coordinate; 0 if one of its weights is 0.
    shift : (d,) array
        (I − P_row)·½log(w₊/w₋): the bias of the start that no combination of rows explains; 0 for coordinates
        with a weight that is 0.
    shift_share : float
        ‖shift‖/‖½log(w₊/w₋)‖: the share of the end that no flow from w₊ = w₋ explains.
    spread : float
        The largest scale over the smallest, of coordinates whose weights are not 0: 1 for a flow from a
        single scale.
    dead : (k,) array of int
        Coordinates with a weight that is 0 at the end.
    predictor : (d,) array
        w₊² − w₋².
    X
        The data.
    features : tuple of str, or None
        Names of the columns, if they have any.

    Examples
    --------
    >>> import tacit
    >>> X, y = [[1, 2, 0], [0, 1, 1]], [1, 2]
    >>> run = tacit.descend(tacit.Diagonal(scale=0.1), X, y, tacit.Training(step=0.01))
    >>> found = tacit.audit((run.weights["w₊"], run.weights["w₋"]), X)
    >>> found.scale.round(3).tolist(), found.shift_share < 1e-3
    ([0.1, 0.097, 0.098], True)
    """

    scale: Float
    shift: Float
    shift_share: float
    spread: float
    dead: Index
    predictor: Float
    X: Float = field(repr=False)
    features: tuple[str, ...] | None = field(default=None, repr=False)

    @property
    def model(self) -> Model:
        """The model that starts at scale·exp(±shift), for `tacit.limit`."""
        if len(self.dead):
            raise NoPotentialError(
                f"a weight of coordinate {int(self.dead[0])} is 0 at the end: no flow arrives there in "
                "finite time"
            )
        found: Model = delegate(self, "start")
        return found

    @property
    def explained(self) -> bool:
        """Whether a flow from one scale explains the end: shift below 1%, scales within a factor of 1.5."""
        return bool(not len(self.dead) and self.shift_share < _SHARE and self.spread < _SPREAD)

    def _arrays(self) -> Labelled:
        return {name: (("feature",), getattr(self, name)) for name in ("scale", "shift", "predictor")}

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON."""
        spread = None if not np.isfinite(self.spread) else self.spread
        names = ("scale", "shift", "shift_share", "dead", "explained", "predictor")
        return {**self._values(*names), "spread": spread}


# Gradient descent at 0.1 of its edge has shifts of about 1e-4 and scales within 1.1; Adam 0.4 and 1e11.
_SHARE, _SPREAD = 0.01, 1.5
