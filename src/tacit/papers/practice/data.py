"""Random problems for the figures about training in practice, and axes that several of them share."""

from __future__ import annotations

from typing import Any

import numpy as np

import tacit
from tacit.data.arrays import Float

_SIGNAL = (1.5, -1.0, 0.7)


def sparse_problem(samples: int, features: int, seed: int | list[int]) -> tuple[Float, Float, Float]:
    """Gaussian X, targets y = X b* without noise, and the signal b*, which has three nonzero entries."""
    X = np.random.default_rng(seed).standard_normal((samples, features))
    signal = np.zeros(features)
    signal[: len(_SIGNAL)] = _SIGNAL
    return X, X @ signal, signal


def relative(found: Float, truth: Float) -> float:
    """The relative distance of a predictor from another."""
    return float(np.linalg.norm(found - truth) / np.linalg.norm(truth))


def step_at_edge(model: tacit.Model, X: Float, y: Float) -> float:
    """The step size at the edge of stability, 2/sharpness at the limit of the flow."""
    tiny = 1e-9
    return float(tiny / tacit.limit(model, X, y, training=tacit.Training(step=tiny)).edge)


def draw_axes_of_steps(ax: Any, steps: Float, name: str) -> None:
    """Logarithmic axes of the distance of ends against a few steps, and the legend beside them."""
    ax.set(xscale="log", yscale="log", xlabel=name, ylabel="relative distance of the end")
    ax.set_xticks(steps, [f"{step:g}" for step in steps])
    ax.minorticks_off()
    ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
