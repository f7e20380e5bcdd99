"""A limit between its two ends, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tacit.data import Float, shortened
from tacit.errors import NoPotentialError
from tacit.figures import KERNEL, RICH, save_figure
from tacit.limits.answer import Limit
from tacit.limits.geometry import potential_of
from tacit.limits.interpolation import limit
from tacit.models import LinearNetwork, Neuron
from tacit.potentials import Bregman
from tacit.progress import progress
from tacit.regimes import both_ends, relative_distance
from tacit.regimes_connected import is_connected

_SHOWN = 24  # coordinates
_FLAT = 0.05  # the distance axis reaches at least this far, so that rounding is not magnified
_DECADES = 8  # of the predictor's scale, to either side of the model's own


@dataclass(frozen=True, eq=False)
class Portrait:
    """What the picture shows: the limit, the ends, and the way between them as the scale changes."""

    result: Limit
    names: Sequence[str]
    kernel: Float
    rich: Float
    factors: Float  # by which the predictor's scale is changed
    to_kernel: Float
    to_rich: Float


def draw_limit(result: Limit, names: Sequence[str], path: str | Path) -> Path:
    """Largest coordinates of the limit and its ends; and distances to the ends against the scale."""
    portrait = _portrait(result, names)
    return save_figure(lambda axes: _draw(portrait, axes), [path], figsize=(8.4, 3.4), ncols=2)[0]


def _portrait(result: Limit, names: Sequence[str]) -> Portrait:
    solved = result.inside or result  # distances are those of the units that it was solved in
    kernel, rich = both_ends(solved)
    decades = np.linspace(-_DECADES, _DECADES, 33)
    distances = np.full((2, len(decades)), np.nan)
    for i in progress(range(len(decades)), "limits at other scales"):
        try:
            other = limit(_rescaled(solved, decades[i] * np.log(10)), solved.X, solved.y)
        except NoPotentialError:  # a neuron that would flip, a network that is not small enough
            continue
        moving = is_connected(result.model)  # the ends move with the start
        ends = both_ends(other) if moving else (kernel, rich)
        distances[:, i] = [relative_distance(other.predictor, end) for end in ends]
    return Portrait(result, names, *both_ends(result), 10.0**decades, *distances)


def _rescaled(result: Limit, shift: float) -> Any:
    """The same model started at a predictor scale e^shift times as large."""
    model, factor = result.model, np.exp(shift / 2)
    if isinstance(model, Neuron):
        return Neuron(factor * model.output, factor * model.weights, model.slope)
    if isinstance(model, LinearNetwork):
        return LinearNetwork(factor * model.inner, factor * model.outer)
    return _shifted(potential_of(model, result.X.shape[1]), shift)


def _shifted(potential: Any, shift: float) -> Any:
    if isinstance(potential, Bregman):
        return replace(potential, potential=_shifted(potential.potential, shift))
    return replace(potential, log_scale=np.asarray(potential.log_scale) + shift)


def _draw(portrait: Portrait, axes: Any) -> None:
    left, right = axes
    w, kernel, rich = (each.ravel() for each in (portrait.result.predictor, portrait.kernel, portrait.rich))
    order = np.argsort(-np.abs(w))[:_SHOWN]
    end = portrait.result.regime.rich_end
    end = r"rich end ($\ell_1$)" if end == "ℓ1" else r"anti-kernel end (least $\ell_2$ norm)"
    place = np.arange(len(order))
    left.bar(place, w[order], color="0.8", width=0.75, label="limit")
    left.plot(place, rich[order], "D", ms=3.5, color=RICH, label=end)
    left.plot(place, kernel[order], "o", ms=3.5, color=KERNEL, label="kernel end")
    left.axhline(0, color="k", lw=0.5)
    labels = [shortened(" ".join(portrait.names[i % len(portrait.names)].split()), 20) for i in order]
    left.set_xticks(place, labels, rotation=90, fontsize=6.5, parse_math=False)
    which = "all" if len(order) == len(w) else f"the {len(order)} largest of {len(w):,}"
    left.set(ylabel="coefficient", title=f"{which} coefficients")
    left.legend(loc="best")
    right.semilogx(portrait.factors, portrait.to_rich, color=RICH, label=f"to the {end}")
    right.semilogx(portrait.factors, portrait.to_kernel, color=KERNEL, label="to the kernel end")
    right.axvline(1, color="0.5", lw=0.8, ls="--")
    right.annotate("your model", (1, 1.02), xycoords=("data", "axes fraction"), fontsize=8, ha="center")
    highest = np.nanmax([portrait.to_rich, portrait.to_kernel, np.full_like(portrait.to_rich, _FLAT)])
    right.set(
        xlabel="predictor's initial scale, relative to your model",
        ylabel="relative distance of the limit",
        ylim=(0, 1.35 * highest),  # room for the legend
    )
    right.legend(loc="upper left", frameon=True, framealpha=1.0, edgecolor="none")
