"""The demonstration `make demo`: limits of a diagonal network from the kernel to the rich regime.

One of the limits is compared with a flow of the raw weights, which is independent of the potential that the
limits minimize. The size of the problem is chosen so that this flow takes seconds: its cost grows with the
cube of the number of weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tacit.data.arrays import Float
from tacit.data.problems import SparseRegression, sparse_regression
from tacit.models import Diagonal
from tacit.potentials import L1, Quadratic
from tacit.results.limit import Limit
from tacit.results.trajectory import Trajectory
from tacit.show.figures import KERNEL, MUTED, RICH, TRUTH, save_figure
from tacit.show.output_files import Output, check_output, make_folder
from tacit.show.progress import progress
from tacit.verbs.flow import flow
from tacit.verbs.limit import limit
from tacit.verbs.regime import relative_distance

_SAMPLES, _FEATURES = 100, 500
_RUN = 1e-3  # scale of the flow that is integrated
_RTOL = 1e-7  # of this flow: it stops at a relative residual of 1e-9, about its distance from the limit
_AGREE = 1e-7  # relative distance between flow and limit below which the demonstration succeeds
_EVERY = 3  # limits per row of the table
_LINES = 400  # irrelevant features in the figure


@dataclass(frozen=True, eq=False)
class Sweep:
    """Limits at many scales, both ends, and one flow with its predicted limit."""

    problem: SparseRegression
    scales: Float
    limits: list[Limit]
    rich: Float
    kernel: Float
    flow: Trajectory
    predicted: Float

    def errors(self) -> Float:
        """Population error at every scale."""
        return np.array([self.problem.population_error(found.predictor) for found in self.limits])

    def distances(self, end: Float) -> Float:
        """Relative distance of every limit to an end."""
        return np.array([relative_distance(found.predictor, end) for found in self.limits])


def demo(out: str, seed: int = 0) -> bool:
    """Compute the limits and one flow of the raw weights, print a table and draw the figure.

    Return whether every limit is certified and the flow ends at the limit of its model.
    """
    make_folder(out)
    target = check_output(Output(Path(out) / "demo.png", "png", "demo"))
    print(f"Sparse regression: {_SAMPLES} samples, {_FEATURES} features, 5 of them relevant, noise 0.1.")
    print("A depth-2 diagonal network fits the data exactly. The initialization determines the solution:\n")
    sweep = _sweep(sparse_regression(_SAMPLES, _FEATURES, seed=seed))
    print(_table(sweep))
    save_figure(lambda axes: draw(sweep, axes), target, "demo", figsize=(11.4, 3.4), ncols=3)
    good = sum(found.converged for found in sweep.limits)
    milliseconds = 1000 * np.median([found.seconds for found in sweep.limits])
    print(f"\n{good} of {len(sweep.limits)} limits certified, {milliseconds:.0f} ms each (median).")
    apart = relative_distance(sweep.flow.predictor[-1], sweep.predicted)
    print(
        f"Gradient flow of the raw weights from scale {_RUN:g}, independent of the potential that the\n"
        f"limits minimize: {sweep.flow.steps:,} steps, {sweep.flow.seconds:.1f} s. Its end is within a "
        f"relative distance of {apart:.0e}\nof the predicted limit."
    )
    print(f"figure: {target}")
    return good == len(sweep.limits) and sweep.flow.converged and apart < _AGREE


def _sweep(problem: SparseRegression) -> Sweep:
    scales = np.logspace(1, -6, 43)
    limits = [
        limit(Diagonal(depth=2, scale=scale), problem.X, problem.y)
        for scale in progress(list(scales), "limits from kernel to rich")
    ]
    rich = limit(L1(), problem.X, problem.y).predictor
    kernel = limit(Quadratic(), problem.X, problem.y).predictor
    model = Diagonal(depth=2, scale=_RUN)
    predicted = limit(model, problem.X, problem.y).predictor
    run = flow(model, problem.X, problem.y, rtol=_RTOL, method="parameters")
    return Sweep(problem, scales, limits, rich, kernel, run, predicted)


def _table(sweep: Sweep) -> str:
    """The table of limits, as text."""
    limits, predictors = sweep.limits, np.array([found.predictor for found in sweep.limits])
    columns = {
        "scale": ("{:.1e}", sweep.scales),
        "regime": ("{}", [found.regime.name for found in limits]),
        "‖β‖₁": ("{:.3f}", np.abs(predictors).sum(axis=1)),
        "‖β‖₂": ("{:.3f}", np.linalg.norm(predictors, axis=1)),
        "to ℓ1": ("{:.3f}", sweep.distances(sweep.rich)),
        "to ℓ2": ("{:.3f}", sweep.distances(sweep.kernel)),
        "population": ("{:.4f}", sweep.errors()),
        "stationarity": ("{:.0e}", [found.stationarity for found in limits]),
        "feasibility": ("{:.0e}", [found.feasibility for found in limits]),
        "ms": ("{:.0f}", [1000 * found.seconds for found in limits]),
    }
    shown = {
        name: [form.format(each) for each in values[::_EVERY]] for name, (form, values) in columns.items()
    }
    return pd.DataFrame(shown).to_string(index=False, col_space=6)


def draw(sweep: Sweep, axes: Any) -> None:
    """Draw coordinates by scale, distances to the ends and population error by scale, and one flow."""
    left, right, run = axes
    _draw_flow(sweep, run)
    paths = np.array([found.predictor for found in sweep.limits])
    relevant = sweep.problem.truth > 0
    largest = np.argsort(-np.abs(paths[-1]))
    others = [i for i in largest if not relevant[i]]
    left.semilogx(sweep.scales, paths[:, others[:_LINES]], color=MUTED, lw=0.35, alpha=0.6)
    left.semilogx(sweep.scales, paths[:, relevant], color=TRUTH, lw=1.6)
    left.axhline(sweep.problem.truth.max(), color=TRUTH, lw=0.8, ls=":", label="their true value")
    left.plot([], [], color=TRUTH, label="the 5 relevant features")
    left.plot([], [], color=MUTED, label=f"the other {len(others)}")
    left.set(
        xlabel=r"initialization scale $\alpha$",
        ylabel=r"coefficient $\beta_\alpha^\infty$",
        ylim=(-0.06, 0.58),
    )
    left.set_title("every network fits the data exactly", loc="left")
    left.legend(loc="upper right")
    right.loglog(
        sweep.scales, sweep.distances(sweep.rich), color=RICH, label=r"distance to $\beta^*_{\ell_1}$"
    )
    right.loglog(
        sweep.scales, sweep.distances(sweep.kernel), color=KERNEL, label=r"distance to $\beta^*_{\ell_2}$"
    )
    right.loglog(sweep.scales, sweep.errors(), color="k", label="population error")
    right.set(xlabel=r"initialization scale $\alpha$", ylabel="relative distance, or error", ylim=(1e-3, 3))
    right.set_title("rich", loc="left", color=RICH)
    right.set_title("kernel", loc="right", color=KERNEL)
    right.legend(loc="lower left")


def _draw_flow(sweep: Sweep, axis: Any) -> None:
    """Draw one flow of the raw weights as lines, and its predicted limit as circles."""
    time, paths = sweep.flow.time, sweep.flow.predictor
    relevant = np.flatnonzero(sweep.problem.truth > 0)
    others = np.setdiff1d(np.argsort(-np.abs(paths).max(axis=0))[:_LINES], relevant)
    axis.semilogx(time, paths[:, others], color=MUTED, lw=0.35, alpha=0.6)
    axis.semilogx(time, paths[:, relevant], color=TRUTH, lw=1.6)
    for group, color in ((others, MUTED), (relevant, TRUTH)):
        axis.plot(np.full(len(group), time[-1]), sweep.predicted[group], "o", ms=4, mfc="none", color=color)
    axis.plot([], [], "o", ms=4, mfc="none", color="k", label="predicted limit")
    axis.set(xlabel=r"training time $t$", xlim=(0.5, 2.2 * time[-1]), ylim=(-0.06, 0.58))
    axis.set_title(rf"raw weights from $\alpha = 10^{{{np.log10(_RUN):.0f}}}$", loc="left")
    axis.legend(loc="upper left")
