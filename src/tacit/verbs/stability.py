"""Condition 5 of Moroshko et al. 2020: do support vectors, once left behind, stay behind?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.data.arrays import as_floats
from tacit.data.inputs import Inputs
from tacit.errors import InputError
from tacit.models.model import Model
from tacit.results.stability import Breach, Stability
from tacit.results.sweeping_path import SweepingPath
from tacit.verbs.max_margin import max_margin
from tacit.verbs.path_inputs import geometry_of
from tacit.verbs.sweeping_path import sweeping_path

_TIE = 1e-9  # relative difference of two μ that are one
_RICH = 1e-9  # scale, in units of the predictor, that is as good as 0


def support_stability(
    X: Inputs, y: ArrayLike, *, depth: float = 2, model: Model | None = None, down_to: float | None = None
) -> Stability:
    """Does Condition 5 of Moroshko et al. 2020 hold on these data, for which μ, and which sample breaks it?

    The condition asks of every sample whose margin is above the smallest at the end that it has stayed above
    all along, from accuracies small against α^D on. As α grows the flow tends to the sweeping process of
    `tacit.sweeping_path`, on which this says: no support vector has left without coming back.

    Parameters
    ----------
    X : (N, d) array-like, or Prepared
        Rows are samples.
    y : (N,) array-like
        Two classes, as for `tacit.max_margin`.
    depth : float, optional
        D, 2 or more.
    model : Diagonal or UntiedDiagonal, optional
        In place of depth, as for `tacit.margin_path`.
    down_to : float, optional
        The smallest μ looked at; if left out, that at which the scale μ·α^D, α = 1 unless a model says
        otherwise, is 1e-9 of ‖w_ℓ2‖₂, in any units of the data.

    Returns
    -------
    Stability
        Whether it holds, and the breaches.

    Raises
    ------
    InputError
        Where an argument is not what it should be.
    NotSeparableError
        Where no linear predictor has all samples on the right side.
    """
    if down_to is None:
        down_to = _far_down(X, y, depth, model)
    elif not float(as_floats(down_to, "down_to", ndim=(0,))) > 0:
        raise InputError(f"down_to must be positive, got {down_to!r}")
    return stability_of(sweeping_path(X, y, down_to, depth=depth, model=model))


def _far_down(X: Any, y: Any, depth: float, model: Any) -> float:
    """A μ so small that Q_μ is as good as ℓ1 (for D > 2)."""
    size = max_margin(X, y, "l2").value
    scale = geometry_of(depth, model, np.shape(X)[1]).log_scale.max()
    return float(_RICH * size * np.exp(-scale))


def stability_of(sweeping: SweepingPath) -> Stability:
    """The same, from a sweeping path that is already known."""
    left: dict[int, float] = {}
    breaches: list[Breach] = []
    for event in sweeping.events:
        if not event.enters:
            left[event.sample] = event.mu
        elif event.sample in left:
            breaches.append(Breach(event.sample, left.pop(event.sample), event.mu))
    breaches = [breach for breach in breaches if breach.leaves > breach.returns * (1 + _TIE)]
    breaches += [Breach(sample, mu, 0.0) for sample, mu in left.items()]
    breaches.sort(key=lambda breach: -breach.leaves)
    decided = bool(sweeping.converged.all())
    return Stability(not breaches, tuple(breaches), sweeping.down_to, decided, sweeping)
