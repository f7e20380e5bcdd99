"""Bounds of the kernel regime compared with measured distances: Theorem 9 of Woodworth et al. 2020."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

from tacit.data.arrays import Float
from tacit.papers import Claim, Progress, at_least, at_most, figure, within
from tacit.papers.measures import slope
from tacit.papers.reproduction import presets
from tacit.papers.shared_results import sharing
from tacit.papers.statements import check
from tacit.papers.woodworth2020.lifted import wide
from tacit.papers.woodworth2020.matrices import completion
from tacit.show.figures import KERNEL, RICH

_FORMS = {"stated": "woodworth2020/theorem9", "sharp": "woodworth2020/theorem9-sharp"}
_MEASURES = ("moved", "apart")


@figure(
    "woodworth2020/theorem9",
    **presets(
        size=(3, 10),
        observed=(6, 60),
        levels=(6, 21),
        widths=([10_000], [10_000, 1_000_000]),
        instants=(31, 121),
    ),
    figsize=(7.6, 3.2),
    ncols=2,
    about=("Corollary 10",),
    seconds=7,
    short="how far weights move",
)
class KernelBounds:
    """How far the weights W = [U; V] of a factorization move (left), and how far they get from their
    linearized flow (right), against α²k: largest distances during training, at infinite width (filled) and
    finite widths (open). Lines, for infinite width: Theorem 9 as stated, solid where its assumptions hold,
    and the sharp form, from the length of the path. The distance to the linearized flow decreases like
    (α²k)^(−3/2), the stated bound like (α²k)^(−1/2).
    """

    def data(
        self,
        size: int,
        observed: int,
        levels: int,
        widths: list[int],
        instants: int,
        *,
        seed: int,
        progress: Progress,
    ) -> xr.Dataset:
        """Both forms of the theorem for every level and width, infinite width first."""
        problem = completion(size, observed, seed)
        y = problem.y / np.linalg.norm(problem.y)
        level, width = np.logspace(0, 5, levels), [math.inf, *map(float, widths)]
        found = np.empty((len(width), levels, 2, 3, 2))
        with sharing():
            for i in progress(range(len(width)), "widths"):
                for j in range(levels):
                    start = wide((size, size), width[i], level[j], np.random.default_rng([seed, i]))
                    for k, key in enumerate(_FORMS.values()):
                        verdict = check(key, start, problem.X, y, instants=instants)
                        numbers = [(bound.measured, bound.at_most or 0.0) for bound in verdict.bounds]
                        found[i, j, k, :2] = np.transpose(numbers)
                        found[i, j, k, 2] = verdict.applies
        places = ("width", "level", "form", "measure")
        return xr.Dataset(
            {
                "measured": (("width", "level", "measure"), found[:, :, 0, 0]),
                "bound": (places, np.where(np.isfinite(found[:, :, :, 1]), found[:, :, :, 1], 1e300)),
                "applies": (places[:3], found[:, :, :, 2, 0] > 0),
            },
            coords={
                "inverse_width": ("width", 1 / np.array(width)),
                "level": level,
                "form": list(_FORMS),
                "measure": list(_MEASURES),
            },
        )

    def draw(self, data: xr.Dataset, axes: Any) -> None:
        """Measured distances, and both bounds for infinite width."""
        for k, ax in enumerate(axes):
            for j, (form, colour) in enumerate(zip(_FORMS, (RICH, KERNEL), strict=True)):
                bound, applies = data.bound.values[0, :, j, k], data.applies.values[0, :, j]
                ax.plot(data.level, np.where(bound < 1e299, bound, np.nan), ":", color=colour, lw=1)
                name = {"stated": "Theorem 9", "sharp": "sharp form"}[form]
                ax.plot(data.level, np.where(applies, bound, np.nan), color=colour, label=name)
            for i in range(data.sizes["width"]):
                _draw_measured(data, i, k, ax)
            ax.set(xscale="log", yscale="log", xlabel=r"$\alpha^2k$")
        axes[0].set_ylabel(r"$\sup_t\,\|W(t)-W(0)\|_F$")
        axes[1].set_ylabel(r"$\sup_t\,\|W(t)-W_{\mathrm{TK}}(t)\|_F$")
        marks, names = axes[0].get_legend_handles_labels()
        axes[0].figure.legend(marks, names, loc="outside upper center", ncols=len(names))

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Both forms hold, the second stated bound exceeds the movement, and the powers of α²k."""
        measured, bound, applies = data.measured.values, data.bound.values, data.applies.values
        for k, form in enumerate(_FORMS):
            used = (measured / bound[:, :, k])[applies[:, :, k]]
            yield at_most(1.0, "the theorem").claim(
                f"the bounds of the {form} form hold wherever it applies (largest measured value over bound)",
                float(used.max()) if used.size else math.nan,
            )
        first = [_first(data.level.values, applies[0, :, k]) for k in range(2)]
        yield at_least(2.0, "at least twice").claim(
            "the sharp form applies at smaller scales (ratio of the smallest α²k)",
            np.divide(first[0], first[1]),
        )
        yield at_least(1.0, "the bound exceeds the movement").claim(
            "the second bound, as stated, exceeds the whole movement (smallest ratio)",
            (bound[:, :, 0, 1] / measured[:, :, 0]).min(),
        )
        yield from _power_claims(data)
        narrow = measured[-1, :, 0]
        yield at_least(1.5, "clear growth").claim(
            "at finite width initial outputs must be unlearned: movement grows again (largest over least)",
            narrow[-1] / narrow.min(),
        )


def _power_claims(data: xr.Dataset) -> Iterator[Claim]:
    """Powers of α²k at infinite width."""
    far = data.level.values >= 100
    logs, measured, bound = np.log(data.level.values[far]), data.measured.values[0], data.bound.values[0]
    powers: list[tuple[str, Float, float]] = [
        ("the movement", measured[:, 0], -0.5),
        ("the distance to the linearized flow", measured[:, 1], -1.5),
        ("its stated bound", bound[:, 0, 1], -0.5),
        ("its sharp bound", bound[:, 1, 1], -1.5),
    ]
    for what, values, power in powers:
        yield within(power - 0.1, power + 0.1, "distinguishes the powers").claim(
            f"{what} is a power of α²k (exponent, expected: {power:g})", slope(logs, np.log(values[far]))
        )


def _draw_measured(data: xr.Dataset, i: int, k: int, ax: Any) -> None:
    """The measured distances at one width."""
    inverse = float(data.inverse_width[i])
    name = rf"$k=10^{{{-math.log10(inverse):.0f}}}$" if inverse else r"$k=\infty$"
    marker = "oDs^"[i % 4]
    style = {"mfc": "k"} if not inverse else {"mfc": "w"}
    ax.plot(data.level, data.measured[i, :, k], marker, color="k", ms=3.5, mew=0.7, label=name, **style)


def _first(levels: Float, applies: Any) -> float:
    """The smallest level above which the theorem always applies; NaN if there is none."""
    fails = np.flatnonzero(~applies)
    after = int(fails[-1]) + 1 if fails.size else 0
    return float(levels[after]) if after < len(levels) else math.nan
