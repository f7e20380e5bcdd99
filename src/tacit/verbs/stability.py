"""Condition 5 of Moroshko et al. 2020: samples that leave the support do not enter it again."""

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

_TIE = 1e-9  # relative difference of two values of μ that count as equal
_RICH = 1e-9  # scale relative to ‖w_ℓ2‖₂ at which Q_μ counts as the ℓ1 norm


def support_stability(
    X: Inputs, y: ArrayLike, *, depth: float = 2, model: Model | None = None, down_to: float | None = None
) -> Stability:
    """Check Condition 5 of Moroshko et al. 2020 (stability of the support) on these data.

    At accuracy γ̃ the condition says: every sample whose margin is now above the smallest margin has been
    above it at all earlier accuracies, from accuracies small against α^D on. As α grows, the flow tends to
    the sweeping process of `tacit.sweeping_path`, for which the condition says: every sample that has left
    the support has entered it again.

    Parameters
    ----------
    X : (N, d) array-like, or Prepared
        Rows are samples.
    y : (N,) array-like
        Two classes, as for `tacit.max_margin`.
    depth : float, optional
        D, 2 or more.
    model : Diagonal or UntiedDiagonal, optional
        Instead of depth, as for `tacit.margin_path`.
    down_to : float, optional
        The smallest μ to follow the flow to. By default the μ with μ·α^D = 1e-9·‖w_ℓ2‖₂, where w_ℓ2 is the
        maximum-ℓ2-margin predictor and α = 1 unless a model is given; it does not depend on units of the
        data.

    Returns
    -------
    Stability
        Whether the condition holds, and the samples that violate it.

    Raises
    ------
    InputError
        If an argument is invalid.
    NotSeparableError
        If no linear predictor classifies all samples correctly.

    See Also
    --------
    sweeping_path : The flow at infinite scale.

    Examples
    --------
    >>> import tacit
    >>> tacit.support_stability([[1, 2], [-2, -3]], [1, -1], down_to=0.01).holds
    True
    """
    if down_to is None:
        down_to = _rich_mu(X, y, depth, model)
    elif not float(as_floats(down_to, "down_to", ndim=(0,))) > 0:
        raise InputError(f"down_to must be positive, got {down_to!r}")
    return stability_of(sweeping_path(X, y, down_to, depth=depth, model=model))


def _rich_mu(X: Any, y: Any, depth: float, model: Any) -> float:
    """A μ so small that Q_μ is nearly the ℓ1 norm (for D > 2)."""
    size = max_margin(X, y, "l2").value
    scale = geometry_of(depth, model, np.shape(X)[1]).log_scale.max()
    return float(_RICH * size * np.exp(-scale))


def stability_of(sweeping: SweepingPath) -> Stability:
    """Check the condition on a sweeping path that is already computed."""
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
