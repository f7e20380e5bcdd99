"""Normalized gradient descent on the exponential loss: how far it ends from the path of maximum margins.

No theorem gives this distance for a positive step; the figure measures it. What is known concerns the end of
training: gradient descent on homogeneous networks tends to a stationary point of the margin problem if its
steps are small (Lyu and Li 2020), and momentum does not change the limit of linear models (Wang et al. 2022).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

import tacit
from tacit.data.arrays import Float
from tacit.papers import Claim, Progress, at_least, at_most, figure
from tacit.papers.practice.data import relative
from tacit.show.figures import KERNEL, MUTED, RICH, TRUTH

_COLOURS = (KERNEL, TRUTH, RICH)


@figure(
    "practice/normalized",
    quick={
        "samples": 6,
        "features": 12,
        "scale": 10.0,
        "draws": 10,
        "mu": [1.0, 0.03, 0.001],
        "steps": [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0],
    },
    paper={
        "samples": 10,
        "features": 30,
        "scale": 10.0,
        "draws": 40,
        "mu": [1.0, 0.03, 0.001],
        "steps": [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0],
    },
    figsize=(6.0, 3.2),
    about=("Normalized descent",),
    seconds=3,
    short="normalized gradient descent",
)
class Normalized:
    """Normalized gradient descent, w ← w − γ∇L/L, on the exponential loss of random labels (depth 2):
    relative distance of the predictor to the minimizer of Q_μ under the margin constraints, when training
    passes μ = (scale of the predictor)/accuracy. Medians over random problems; dashed: gradient flow. The
    distances are measured, not predicted. Missing points: more than half of the runs diverge.
    """

    def data(
        self,
        samples: int,
        features: int,
        scale: float,
        draws: int,
        mu: list[float],
        steps: list[float],
        *,
        seed: int,
        progress: Progress,
    ) -> xr.Dataset:
        """Distances to the path at every μ, of descent with every step and of the flow."""
        found = np.full((draws, len(steps), len(mu)), np.nan)
        flows = np.empty((draws, len(mu)))
        model, levels = tacit.Diagonal(scale=scale), scale**2 / np.array(mu)
        for i in progress(range(draws), "problems"):
            rng = np.random.default_rng([seed, i])
            X, y = rng.standard_normal((samples, features)), rng.choice([-1.0, 1.0], samples)
            path = tacit.margin_path(X, y, mu).predictors
            run = tacit.flow(model, X, y, loss="exp", at=levels)
            reached = [int(np.argmin(np.abs(run.accuracy - level))) for level in levels]
            flows[i] = [relative(run.predictor[k] / run.accuracy[k], path[n]) for n, k in enumerate(reached)]
            for j, step in enumerate(steps):
                ends = _normalized(X, y, scale, step, levels)
                found[i, j] = [relative(end, path[n]) for n, end in enumerate(ends)]
        return xr.Dataset(
            {"distance": (("draw", "step", "mu"), found), "flow": (("draw", "mu"), flows)},
            coords={"step": steps, "mu": mu},
        )

    def draw(self, data: xr.Dataset, ax: Any) -> None:
        """Median distances against the step."""
        for mu, colour in zip(data.mu.values, _COLOURS, strict=False):
            median = data.distance.sel(mu=mu).fillna(np.inf).median("draw")
            shown = median.where(np.isfinite(median))
            ax.plot(data.step, shown, "o-", color=colour, ms=4, lw=0.8, label=rf"$\mu={mu:g}$")
            ax.axhline(float(data.flow.sel(mu=mu).median()), color=colour, ls="--", lw=0.8)
        ax.plot([], [], "--", color=MUTED, lw=0.8, label="gradient flow")
        ax.set(xscale="log", yscale="log", xlabel=r"step $\gamma$", ylabel=r"distance to the $Q_\mu$ path")
        ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))

    def claims(self, data: xr.Dataset) -> Iterator[Claim]:
        """Small steps follow the path, and large ones leave it."""
        worst = data.distance.fillna(np.inf).median("draw").max("mu")
        yield at_most(0.1, "a tenth of the predictor").claim(
            f"with step {float(data.step[0]):g} normalized descent is near the path at every μ "
            "(largest median distance)",
            float(worst[0]),
        )
        far = data.distance.sel(step=1.0).fillna(np.inf).min("mu") > 1 / 3
        yield at_least(0.5, "most problems", of=far.size).claim(
            "with step 1 it is nowhere near: at least a third of the predictor away, or diverged (share)",
            float(far.mean()),
        )


def _normalized(X: Float, y: Float, scale: float, step: float, levels: Float) -> list[Float]:
    """w/γ̃ of normalized gradient descent on the weights, where the accuracy γ̃ first exceeds each level."""
    Z, found = y[:, None] * X, list[Float]()
    plus, minus = np.full(X.shape[1], scale), np.full(X.shape[1], scale)
    most = math.ceil(100 / step)  # the flow needs a time of about 10, and accuracies grow exponentially
    for _ in range(most):
        w = plus**2 - minus**2
        margins = Z @ w
        least = margins.min()
        terms = np.exp(least - margins)
        accuracy = least - math.log(terms.mean())
        if not math.isfinite(accuracy):
            break
        while len(found) < len(levels) and accuracy >= levels[len(found)]:
            found.append(w / accuracy)
        if len(found) == len(levels):
            break
        pull = 2 * step * (terms @ Z) / terms.sum()
        plus, minus = plus * (1 + pull), minus * (1 - pull)
    return found + [np.full_like(plus, np.nan)] * (len(levels) - len(found))
