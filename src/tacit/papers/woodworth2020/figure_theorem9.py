"""Bounds of the kernel regime compared with measured distances: Theorem 9 of Woodworth et al. 2020."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

from tacit.data.arrays import Float
from tacit.papers import Claim, Progress, at_least, at_most, figure, within
from tacit.papers.measures import exponent
from tacit.papers.reproduction import presets
from tacit.papers.statements import check, sharing
from tacit.papers.woodworth2020.lifted import completion, wide
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
    """Movement of the weights W = [U; V] of a factorization (left), and distance from their linearized flow
    (right), against α²k: largest values during training, at infinite width (filled) and finite widths (open).
    Lines, for infinite width: Theorem 9 as stated, solid where its assumptions hold, and the sharp form, from
    the length of the path. The distance to the linearized flow decreases like (α²k)^(−3/2), the stated bound
    like (α²k)^(−1/2).
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
        measured, bound = np.empty((2, len(width), levels, len(_FORMS), len(_MEASURES)))
        applies = np.empty((len(width), levels, len(_FORMS)), dtype=bool)
        with sharing():
            for i, j in progress(list(np.ndindex(len(width), levels)), "widths"):
                start = wide((size, size), width[i], level[j], np.random.default_rng([seed, i]))
                for k, key in enumerate(_FORMS.values()):
                    verdict = check(key, start, problem.X, y, instants=instants)
                    measured[i, j, k] = [each.measured for each in verdict.bounds]
                    bound[i, j, k] = [each.at_most or 0.0 for each in verdict.bounds]
                    applies[i, j, k] = verdict.applies
        return xr.Dataset(
            {
                "measured": (("width", "level", "measure"), measured[:, :, 0]),
                "bound": (("width", "level", "form", "measure"), np.where(np.isfinite(bound), bound, 1e300)),
                "applies": (("width", "level", "form"), applies),
            },
            coords={"inverse_width": ("width", 1 / np.array(width)), "level": level}
            | {"form": list(_FORMS), "measure": list(_MEASURES)},
        )

    def draw(self, data: xr.Dataset, axes: Any) -> None:
        """Measured distances, and both bounds for infinite width."""
        for k, ax in enumerate(axes):
            for j, (name, colour) in enumerate((("Theorem 9", RICH), ("sharp form", KERNEL))):
                bound, applies = data.bound.values[0, :, j, k], data.applies.values[0, :, j]
                ax.plot(data.level, np.where(bound < 1e299, bound, np.nan), ":", color=colour, lw=1)
                ax.plot(data.level, np.where(applies, bound, np.nan), color=colour, label=name)
            for i in range(data.sizes["width"]):
                _draw_measured(data, i, k, ax)
            ax.set(xscale="log", yscale="log", xlabel=r"$\alpha^2k$")
        axes[0].set_ylabel(r"$\sup_t\,\|W(t)-W(0)\|_F$")
        axes[1].set_ylabel(r"$\sup_t\,\|W(t)-W_{\mathrm{TK}}(t)\|_F$")
        marks, names = axes[0].get_legend_handles_labels()
        axes[0].figure.legend(marks, names, loc="outside upper center", ncols=len(names))

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Claims that both forms hold and that the second stated bound exceeds the movement; powers of
        α²k."""
        measured, bound, applies = data.measured.values, data.bound.values, data.applies.values
        for k, form in enumerate(_FORMS):
            used = (measured / bound[:, :, k])[applies[:, :, k]]
            yield at_most(1.0, "the theorem").claim(
                f"the bounds of the {form} form hold wherever it applies (largest measured value over bound)",
                float(used.max()) if used.size else math.nan,
            )
        first = [_first(data.level.values, applies[0, :, k]) for k in range(2)]
        text = "the sharp form applies at smaller scales (ratio of the smallest α²k)"
        yield at_least(2.0, "at least twice").claim(text, np.divide(first[0], first[1]))
        yield at_least(1.0, "the bound exceeds the movement").claim(
            "the second bound, as stated, exceeds the whole movement (smallest ratio)",
            (bound[:, :, 0, 1] / measured[:, :, 0]).min(),
        )
        yield from _power_claims(data)
        narrow = measured[-1, :, 0]
        text = "at finite width initial outputs must be unlearned: movement grows again (largest over least)"
        yield at_least(1.5, "clear growth").claim(text, narrow[-1] / narrow.min())


def _power_claims(data: xr.Dataset) -> Iterator[Claim]:
    """Powers of α²k at infinite width."""
    far = data.level.values >= 100
    levels, measured, bound = data.level.values[far], data.measured.values[0], data.bound.values[0]
    powers = {
        "the movement": (measured[:, 0], -0.5),
        "the distance to the linearized flow": (measured[:, 1], -1.5),
        "its stated bound": (bound[:, 0, 1], -0.5),
        "its sharp bound": (bound[:, 1, 1], -1.5),
    }
    for what, (values, power) in powers.items():
        yield within(power - 0.1, power + 0.1, "distinguishes the powers").claim(
            f"{what} is a power of α²k (exponent, expected: {power:g})", exponent(levels, values[far])
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
