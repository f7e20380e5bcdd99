"""A limit between its two ends, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tacit.data import Float, shortened
from tacit.figures import KERNEL, RICH, save_figure
from tacit.limits.interpolation import Limit, limit, potential_of
from tacit.potentials import Bregman
from tacit.progress import progress
from tacit.regimes import ends_of, relative_distance

_SHOWN = 24  # coordinates
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
    features = result.X.shape[1]
    potential = potential_of(result.model, features)
    ends = ends_of(result)
    kernel, rich = ends.kernel, ends.rich
    decades = np.linspace(-_DECADES, _DECADES, 33)
    distances = np.empty((2, len(decades)))
    for i in progress(range(len(decades)), "limits at other scales"):
        rescaled = _rescaled(potential, decades[i] * np.log(10))
        w = limit(rescaled, result.X, result.y).predictor
        distances[:, i] = relative_distance(w, kernel), relative_distance(w, rich)
    return Portrait(result, names, kernel, rich, 10.0**decades, *distances)


def _rescaled(potential: Any, shift: float) -> Any:
    """The potential of the same model started at predictor scales e^shift times as large."""
    if isinstance(potential, Bregman):
        return replace(potential, potential=_rescaled(potential.potential, shift))
    return replace(potential, log_scale=np.asarray(potential.log_scale) + shift)


def _draw(portrait: Portrait, axes: Any) -> None:
    left, right = axes
    w = portrait.result.predictor
    order = np.argsort(-np.abs(w))[:_SHOWN]
    place = np.arange(len(order))
    left.bar(place, w[order], color="0.8", width=0.75, label="limit")
    left.plot(place, portrait.rich[order], "D", ms=3.5, color=RICH, label=r"rich end ($\ell_1$)")
    left.plot(place, portrait.kernel[order], "o", ms=3.5, color=KERNEL, label="kernel end")
    left.axhline(0, color="k", lw=0.5)
    labels = [shortened(" ".join(portrait.names[i].split()), 20) for i in order]
    left.set_xticks(place, labels, rotation=90, fontsize=6.5, parse_math=False)
    which = "all" if len(order) == len(w) else f"the {len(order)} largest of {len(w):,}"
    left.set(ylabel="coefficient", title=f"{which} coefficients")
    left.legend(loc="best")
    right.semilogx(portrait.factors, portrait.to_rich, color=RICH, label=r"to the rich end ($\ell_1$)")
    right.semilogx(portrait.factors, portrait.to_kernel, color=KERNEL, label="to the kernel end")
    right.axvline(1, color="0.5", lw=0.8, ls="--")
    right.annotate("your model", (1, 1.0), xycoords=("data", "axes fraction"), fontsize=8, ha="center")
    right.set(
        xlabel="predictor's initial scale, relative to your model",
        ylabel="relative distance of the limit",
        ylim=(0, None),
    )
    right.legend(loc="best")
