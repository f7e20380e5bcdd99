"""Starts of different imbalance, and what Theorem 1 says of them: Figures 2 and 3 of Min et al. 2021."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

import tacit
from tacit.papers.min2021.training import Regression
from tacit.papers.registry import Claim
from tacit.theorems.min2021.network import guaranteed_rate, imbalance_level

CASES = {"case 1": (0.1, 0.1), "case 2": (0.5, 0.02), "case 3": (0.05, 0.2)}  # σ_U and σ_V (Appendix A.1)
BALANCED = "balanced"
COLOURS = {"case 1": "#009E73", "case 2": "#D55E00", "case 3": "#0072B2", BALANCED: "#000000"}
DASHED: dict[str, Any] = {"ls": (0, (4, 2)), "lw": 1}
SMALL = 1e-8  # the loss whose time is compared


def imbalanced_starts(problem: Regression, width: int, rng: np.random.Generator) -> dict[str, Any]:
    """The three cases, σ_U U₀ and σ_V V₀ of one draw, and the balanced start with the same product."""
    unit = tacit.LinearNetwork.gaussian(problem.X.shape[1], width, std=1.0, seed=rng)
    starts = {
        name: tacit.LinearNetwork(inner * unit.inner, outer * unit.outer)
        for name, (inner, outer) in CASES.items()
    }
    theta = starts["case 1"].predictor()
    return starts | {BALANCED: tacit.LinearNetwork.balanced(theta, problem.X, width, seed=rng)}


def setting(problem: Regression, starts: dict[str, Any]) -> dict[str, Any]:
    """Of every start: the imbalance, the rate that it guarantees, and how far its predictor is from case 1's.

    Theorem 1 is L(t) ≤ e^{−2λ_r(Σ_x)ct} L(0) for L = ½‖Y − XUVᵀ‖², whose least value is 0 here: the inputs
    are linearly independent. The averaged loss is 2L/n, so its flow is 2/n times as fast (the footnote of
    Appendix A.1 has n/2).
    """
    level = [imbalance_level(model, problem.X) for model in starts.values()]
    rate = np.array([guaranteed_rate(model, problem.X) for model in starts.values()])
    first = starts["case 1"].predictor()
    apart = [np.linalg.norm(model.predictor() - first) / np.linalg.norm(first) for model in starts.values()]
    return {
        "level": ("start", level),
        "guaranteed": ("start", rate * 2 / len(problem.y)),
        "apart": ("start", apart),
    }


def accuracy_at_start(problem: Regression, model: Any) -> float:
    """−log of the averaged loss at the start."""
    residual = problem.y - problem.X @ model.predictor().ravel()
    return float(-np.log(np.mean(residual**2)))


def label_of(data: xr.Dataset, name: str) -> str:
    """Case, deviations and imbalance, as in the legend of the paper."""
    if name == BALANCED:
        return "balanced, $c=0$"
    inner, outer = CASES[name]
    level = float(data.level.sel(start=name))
    return rf"{name}: $\sigma_U={inner:g}$, $\sigma_V={outer:g}$, $c={level:.3g}$"


def draw_bounds(data: xr.Dataset, ax: Any, clock: float, end: float) -> None:
    """L(0)·e^{−rate·t} as dashed lines, for the starts with a guarantee; time in units of `clock`."""
    first = float(np.exp(-data.first))
    for name in CASES:
        last = first * np.exp(-float(data.guaranteed.sel(start=name)) * end)
        ax.plot([0, end / clock], [first, last], color=COLOURS[name], **DASHED)
    ax.plot([], [], color="0.3", label="bound of Theorem 1", **DASHED)


def setting_claims(data: xr.Dataset) -> Iterator[Claim]:
    """The starts differ in nothing but their imbalance."""
    yield Claim(
        "all starts have the same end-to-end matrix (largest relative difference)",
        float(data.apart.max(skipna=False)),
        at_most=1e-12,
        why="rounding, and room",
    )
    yield Claim(
        "the balanced start has no imbalance (c, relative to the least of the others)",
        float(data.level.sel(start=BALANCED) / data.level.sel(start=list(CASES)).min(skipna=False)),
        at_most=1e-12,
        why="rounding, and room",
    )
