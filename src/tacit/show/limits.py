"""Pictures of limits, margins and certificates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.data.arrays import Float, Index
from tacit.data.printable import label
from tacit.results.certificate import Certificate
from tacit.results.limit import Limit, OtherScales
from tacit.results.limits import Limits
from tacit.results.margin import Margin
from tacit.show.figures import KERNEL, RICH, Picture
from tacit.show.text import aligned

_SHOWN = 24  # coordinates
_CERTIFICATE = ("stationarity", "feasibility", "error")
_FLAT = 0.05  # least range of the distance axis, so that round-off is not magnified


def limit_picture(result: Limit, names: Sequence[str], scales: OtherScales | None) -> Picture:
    """A picture of the largest coordinates of the limit and its ends, and of the distances by scale.

    The distances are omitted if the model has no scale; the ends are omitted if they do not exist.
    """

    def draw(axes: Any) -> None:
        panels = np.atleast_1d(axes)
        draw_coordinates(result.predictor, names, scales, panels[0])
        if len(panels) > 1 and scales is not None:
            _draw_distances(scales, panels[1])

    far = scales is not None and len(scales.factors) > 0
    layout = {"figsize": (8.4, 3.4), "ncols": 2} if far else {"figsize": (4.6, 3.4)}
    return Picture(draw, layout, "limit")


def margin_picture(result: Margin, names: Sequence[str]) -> Picture:
    """A picture of the largest coordinates of the predictor, the margins and the support vectors."""

    def draw(axes: Any) -> None:
        draw_coordinates(result.predictor, names, None, axes[0])
        _draw_margins(result.margins, result.support, axes[1])

    return Picture(draw, {"figsize": (8.4, 3.4), "ncols": 2}, "margin")


def _draw_margins(margins: Float, support: Index, ax: Any) -> None:
    held = np.argsort(np.argsort(margins))[support]
    ax.plot(np.sort(margins), ".", color=KERNEL, label="margin $y\\,(x\\cdot w + b)$")
    ax.plot(held, margins[support], "o", mfc="none", color=RICH, label="support vectors")
    ax.axhline(1, color="0.5", lw=0.8, ls="--")
    ax.set(xlabel="samples, by their margin", ylabel="margin")
    ax.legend(loc="upper left")


def certificate_picture(result: Certificate) -> Picture:
    """A picture of the multipliers of the samples."""
    dual, title = result.dual, f"KKT {'holds' if result.holds else 'FAILS'}"

    def draw(ax: Any) -> None:
        ax.axhline(0, color="k", lw=0.5)
        ax.vlines(np.arange(len(dual)), 0, dual, color="0.6", lw=1.0)
        ax.plot(dual, "o", ms=3.5, color=KERNEL)
        ax.set(xlabel="sample (numbered from 0)", ylabel=r"multiplier $\nu$", title=title)

    return Picture(draw, {"figsize": (4.6, 3.4)}, "certificate")


def draw_coordinates(predictor: Float, names: Sequence[str], scales: OtherScales | None, ax: Any) -> None:
    """Draw the largest coordinates of a predictor as bars, with those of both ends if known."""
    w = predictor.ravel()
    order = np.argsort(-np.abs(w))[:_SHOWN]
    place = np.arange(len(order))
    ax.bar(place, w[order], color="0.8", width=0.75, label="predictor")
    if scales is not None:
        ax.plot(place, scales.rich[order], "D", ms=3.5, color=RICH, label=scales.rich_end)
        ax.plot(place, scales.kernel[order], "o", ms=3.5, color=KERNEL, label="kernel end")
    ax.axhline(0, color="k", lw=0.5)
    labels = [label(names[i % len(names)], 20) for i in order]
    ax.set_xticks(place, labels, rotation=90, fontsize=6.5)
    which = "all" if len(order) == len(w) else f"the {len(order)} largest of {len(w):,}"
    ax.set(ylabel="coefficient", title=f"{which} coefficients")
    if scales is not None:  # bars alone need no legend
        ax.legend(loc="best")


def _draw_distances(scales: OtherScales, ax: Any) -> None:
    ax.semilogx(scales.factors, scales.to_rich, color=RICH, label=f"to the {scales.rich_end}")
    ax.semilogx(scales.factors, scales.to_kernel, color=KERNEL, label="to the kernel end")
    ax.axvline(1, color="0.5", lw=0.8, ls="--")
    ax.annotate("your model", (1, 1.02), xycoords=("data", "axes fraction"), fontsize=8, ha="center")
    highest = np.nanmax([scales.to_rich, scales.to_kernel, np.full_like(scales.to_rich, _FLAT)])
    ax.set(
        xlabel="predictor's initial scale, relative to your model",
        ylabel="relative distance of the limit",
        ylim=(0, 1.35 * highest),  # space for the legend
    )
    ax.legend(loc="upper left", frameon=True, framealpha=1.0, edgecolor="none")


def limits_report(result: Limits) -> str:
    """Summarize many limits: their number, the certificates, and which are not certified."""
    good = result.converged
    worst = {name: getattr(result, name)[good].max(initial=0.0) for name in _CERTIFICATE}
    shape = " × ".join(f"{size:,}" for size in result.shape)
    lines = {
        "problems": f"{shape}, {result.duals.shape[1]:,} samples × {result.predictors.shape[1]:,} features",
        "certified": f"{int(good.sum()):,} of {len(result):,}",
        "certificate": ", ".join(f"largest {name} = {value:.0e}" for name, value in worst.items()),
        "singly": f"{len(result.singly):,} of {len(result):,} were solved one by one",
        "computed": f"{result.seconds:.2g} s on the {result.device.upper()}",
    }
    if result.reason:
        lines["NOT CONVERGED"] = result.reason
    return aligned(lines)


def limits_picture(result: Limits) -> Picture:
    """A picture of the norms of the predictors, and of their errors, by the number of the problem."""

    def draw(axes: Any) -> None:
        number, good = np.arange(len(result)), result.converged
        size = np.abs(result.predictors)
        axes[0].plot(number, size.sum(axis=1), ".", color=RICH, label=r"$\|w\|_1$")
        axes[0].plot(number, np.sqrt((size**2).sum(axis=1)), ".", color=KERNEL, label=r"$\|w\|_2$")
        axes[0].set(xlabel="problem (numbered from 0)", ylabel="norm of the predictor", yscale="log")
        axes[0].legend(loc="best")
        for chosen, color, name in ((good, KERNEL, "certified"), (~good, RICH, "not certified")):
            if chosen.any():
                axes[1].plot(number[chosen], result.error[chosen], ".", color=color, label=name)
        axes[1].set(xlabel="problem (numbered from 0)", ylabel="estimated relative error", yscale="log")
        axes[1].legend(loc="best")

    return Picture(draw, {"figsize": (8.4, 3.4), "ncols": 2}, "limits")
