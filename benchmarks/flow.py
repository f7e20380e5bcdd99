r"""Integration of gradient flow: Tacit compared with alternatives.

    θ' = −∇L(θ)   on diagonal networks of depth 2 whose weights start at α, and on wide linear networks

Every method integrates the same flows in the same run and returns the predictor at the same training
accuracies −log L; its error is the largest error there. The solvers of SciPy use the tolerance with which
they are fastest among those that reach the accuracy of Tacit or 1e-8; the search for it is not timed.
"""

from __future__ import annotations

import argparse
import functools
import math
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import BDF, DOP853, LSODA, Radau
from scipy.optimize import brentq

import tacit
from tacit.data.problems import sparse_regression

Float = NDArray[np.float64]
Point = tuple[Float, Callable[[], Callable[[float], Float]] | None, float]  # β, β in the last step, clock
SIZES, WIDTHS = ((20, 100), (100, 1000)), (500, 10_000)
TOLERANCES = (1e-13, 1e-12, 1e-10, 1e-9, 1e-8, 1e-7)
TIGHT, GOAL = 1e-12, 1e-8  # tolerance of the reference; required error, or that of Tacit if larger
RESIDUALS = np.array(
    [0.5, 1e-1, 1e-2, 1e-4, 1e-6, 1e-8]
)  # ‖Xβ − y‖/‖y‖ at which flows of the square loss are compared
NORMALIZED_STEP = 1e-3  # Moroshko et al. 2020, Appendix H.5
REPEATS, ENOUGH = 3, 3.0  # largest number of runs of one case, and seconds after which no other is started
SIGNS = np.array([[1.0], [-1.0]])  # signs of w₊² and w₋² in β
THREE = np.array([[0.9, 0.5, -0.2], [1.5, 0.8, 0.1], [1.2, 0.8, 0.2]])


@dataclass(frozen=True, eq=False)
class Case:
    """A flow, and the training accuracies at which it is compared."""

    name: str
    X: Float
    y: Float
    model: Any
    levels: Any
    loss: str = "exp"

    def accuracy(self, beta: Float) -> float:
        """−log L."""
        if self.loss == "square":
            return -math.log(np.mean((self.X @ beta - self.y) ** 2) / 2)
        margins = self.y * (self.X @ beta)
        return float(margins.min() - math.log(np.mean(np.exp(margins.min() - margins))))

    def pull(self, beta: Float) -> Float:
        """−∂L/∂f for the square loss; −(1/L)·∂L/∂f for the exponential one, in the clock ds = L dt."""
        if self.loss == "square":
            return (self.y - self.X @ beta) / len(self.y)
        margins = self.y * (self.X @ beta)
        shares = np.exp(margins.min() - margins)
        return shares / shares.sum() * self.y

    def error(self, path: Float | None, reference: Float) -> float:
        """The largest relative distance of predictors, or of their directions if they diverge."""
        if path is None:
            return math.inf
        if self.loss == "exp":
            path, reference = (p / np.linalg.norm(p, axis=1, keepdims=True) for p in (path, reference))
        return float((np.linalg.norm(path - reference, axis=1) / np.linalg.norm(reference, axis=1)).max())


class Run(NamedTuple):
    """The result of a method: the predictors at the levels it reached, its time, and a remark."""

    path: Float | None
    seconds: float
    note: str
    late: bool = False


def by_tacit(case: Case, rtol: float = 1e-8) -> Run:
    """tacit.flow with default settings."""
    begun = time.perf_counter()
    flow = tacit.flow(case.model, case.X, case.y, loss=case.loss, at=case.levels, rtol=rtol)
    path = flow.predictor.reshape(len(flow.predictor), -1)
    note = f"{flow.steps} steps" if flow.converged else flow.reason
    return Run(path if flow.converged else None, time.perf_counter() - begun, note)


def predictor(w: Float) -> Float:
    """β = w₊² − w₋²."""
    return w[0] * w[0] - w[1] * w[1]


def stiff(solver: Any, case: Case, rtol: float) -> Iterator[Point]:
    """A stiff SciPy solver on the 2d weights with exact Jacobian."""
    start, gram = np.full((2, case.X.shape[1]), case.model.scale), case.X.T @ case.X / len(case.y)

    def rates(_: float, flat: Float) -> Float:
        w = flat.reshape(start.shape)
        return (2 * SIGNS * w * (case.pull(predictor(w)) @ case.X)).ravel()

    def jacobian(_: float, flat: Float) -> Float:
        w = flat.reshape(start.shape)
        pull, slope = case.pull(predictor(w)), (2 * SIGNS * w).ravel()
        force, shares = pull @ case.X, pull * case.y
        bend = -gram if case.loss == "square" else np.outer(force, force) - (case.X.T * shares) @ case.X
        matrix = np.tile(bend, (2, 2)) * slope
        matrix *= slope[:, None]
        matrix[np.diag_indices_from(matrix)] += (2 * SIGNS * force).ravel()
        return matrix

    atol = 1e-3 * rtol * case.model.scale
    ode = solver(rates, 0.0, start.ravel(), 1e300, rtol=rtol, atol=atol, jac=jacobian)
    return steps_of(ode, lambda flat: predictor(flat.reshape(start.shape)))


def wide(case: Case, rtol: float) -> Iterator[Point]:
    """SciPy's DOP853 on all weights of a two-layer linear network with one output, on the square loss."""
    U, V = case.model.inner, case.model.outer

    def rates(_: float, flat: Float) -> Float:
        inner, outer = flat[: U.size].reshape(U.shape), flat[U.size :]
        force = case.pull(inner @ outer) @ case.X
        return np.concatenate([np.outer(force, outer).ravel(), force @ inner])

    ode = DOP853(rates, 0.0, np.concatenate([U.ravel(), V[0]]), 1e300, rtol=rtol, atol=1e-3 * rtol)
    return steps_of(ode, lambda flat: flat[: U.size].reshape(U.shape) @ flat[U.size :])


def steps_of(ode: Any, beta: Callable[[Float], Float]) -> Iterator[Point]:
    """Yield the steps of a SciPy solver as predictors."""

    def inside() -> Callable[[float], Float]:
        dense = ode.dense_output()
        return lambda clock: beta(dense(clock))

    while True:
        trouble = ode.step()
        if ode.status == "failed":
            raise ArithmeticError(trouble)
        yield beta(ode.y), inside, ode.t


def descent(case: Case) -> Iterator[Point]:
    """Gradient descent on the 2d weights; for the exponential loss on log L, that is, normalized descent.

    The step for the square loss is that of limit.py, between 1/45 and 1/25 of the largest stable one.
    """
    largest = np.max(np.abs(case.X.T @ case.y) / np.einsum("nd,nd->d", case.X, case.X))
    slow = len(case.y) / (4 * largest * np.linalg.norm(case.X, 2) ** 2)
    rate = 2 * SIGNS * (slow if case.loss == "square" else NORMALIZED_STEP)
    w = np.full((2, case.X.shape[1]), case.model.scale)
    while True:
        w = w * (1 + rate * (case.pull(predictor(w)) @ case.X))
        yield predictor(w), None, 0.0


def follow(case: Case, method: Callable[[Case], Iterator[Point]], limit: float) -> Run:
    """The predictors at the levels, from the interpolant of the solver, or the first ones beyond."""
    path: list[Float] = []
    begun, steps, accuracy, before, points = time.perf_counter(), 0, math.nan, 0.0, method(case)
    while len(path) < len(case.levels):
        try:
            beta, inside, clock = next(points)
        except (ArithmeticError, ValueError) as failure:
            note = f"gave up at accuracy {accuracy:.3g} of {case.levels[-1]:.3g}: {failure}"
            return Run(None, time.perf_counter() - begun, note.splitlines()[0])
        accuracy, steps = case.accuracy(beta), steps + 1
        for level in case.levels[len(path) :]:
            if accuracy >= level:
                path.append(beta if inside is None else locate(case, inside(), level, before, clock))
        before = clock
        if time.perf_counter() > begun + limit:
            note = f"{steps} steps, to accuracy {accuracy:.3g} of {case.levels[-1]:.3g}"
            return Run(None, limit, note, late=True)
    return Run(np.array(path), time.perf_counter() - begun, f"{steps} steps")


def locate(case: Case, inside: Callable[[float], Float], level: float, start: float, end: float) -> Float:
    """The predictor at which the accuracy equals the level, within the last step."""

    def excess(clock: float) -> float:
        return case.accuracy(inside(clock)) - level

    ends = excess(start), excess(end)
    if ends[0] >= 0 or ends[1] <= 0:
        return inside(start if ends[0] >= 0 else end)
    return inside(brentq(excess, start, end, xtol=1e-300, rtol=1e-15))


def fastest(solve: Callable[[], Run]) -> Run:
    """The fastest of several runs."""
    runs = [solve()]
    while runs[0].path is not None and len(runs) < REPEATS and sum(run.seconds for run in runs) < ENOUGH:
        runs.append(solve())
    return min(runs, key=lambda run: (run.late, run.seconds))


def search(case: Case, method: Callable[..., Any], reference: Float, limit: float, goal: float) -> Run:
    """The run with the tolerance that reaches the goal fastest, or else the most accurate run.

    Tolerances are increased until one misses the goal or takes twice as long.
    """
    best, others = None, []
    for rtol in TOLERANCES:
        cap = limit if best is None else min(limit, 2 * best.seconds)
        run = fastest(functools.partial(follow, case, functools.partial(method, rtol=rtol), cap))
        run = run._replace(note=f"rtol {rtol:g}, {run.note}")
        error = case.error(run.path, reference)
        if error <= goal:
            best = run if best is None else min(best, run, key=lambda run: run.seconds)
        elif best is None:
            others.append((error, not run.late, run))
        else:
            break
    return best or min(reversed(others), key=lambda other: other[:2])[2]


def compare(case: Case, limit: float) -> float:
    """Print a line for every method on one flow, and return the time of Tacit."""
    reference, goal, mine = by_tacit(case, TIGHT).path, GOAL, math.nan
    assert reference is not None, "Tacit does not reach the required accuracies"
    for name, method in methods_for(case).items():
        if name == "Tacit":
            run = fastest(lambda: by_tacit(case))
            mine, goal = run.seconds, max(goal, case.error(run.path, reference))
        elif method is descent:
            run = fastest(functools.partial(follow, case, descent, limit))
        else:
            run = search(case, method, reference, limit, goal)
        more = "> " if run.late else ""
        seconds = f"{more}{run.seconds:.{0 if run.late else 3}f}"
        ratio = f"{more}{run.seconds / mine:.{2 if run.seconds < 100 * mine else 0}f}"
        error = "-" if run.path is None else f"{case.error(run.path, reference):.1e}"
        head = f"{case.name:14}  {case.loss:6}  {name:18} {seconds:>8} {ratio:>8}"
        print(f"{head} {error:>8} {distance_to_limit(case, run.path):>9}  {run.note}", flush=True)
    return mine


def distance_to_limit(case: Case, path: Float | None) -> str:
    """The distance of the end from tacit.limit as text; a dash if there is no limit."""
    if path is None or case.loss == "exp" or not isinstance(case.model, tacit.Diagonal):
        return "-"
    end = tacit.limit(case.model, case.X, case.y).predictor
    return f"{np.linalg.norm(path[-1] - end) / np.linalg.norm(end):.1e}"


def methods_for(case: Case) -> dict[str, Any]:
    """The methods that are compared on a flow, Tacit first."""
    if not isinstance(case.model, tacit.Diagonal):
        return {"Tacit": by_tacit, "DOP853, weights": wide}
    solvers = {f"{s.__name__}, weights": functools.partial(stiff, s) for s in (LSODA, BDF, Radau)}
    last = "gradient descent" if case.loss == "square" else "normalized descent"
    return {"Tacit": by_tacit, **solvers, last: descent}


def cases(quick: bool) -> Iterator[Case]:
    """The flows that are compared."""
    for size in SIZES[: 1 if quick else 2]:
        data, model = sparse_regression(*size), tacit.Diagonal(depth=2, scale=1e-3)
        yield Case("{}x{}, 1e-3".format(*size), data.X, data.y, model, levels_of(data.y), "square")
    few, many = (np.random.default_rng(0).standard_normal(size) for size in ((50, 100), (100, 1000)))
    flows = [(THREE, 1e4, 5, 11), (few, 1.0, 1, 4), (few, 100.0, 1, 4)]
    for X, scale, *ends in flows if quick else [*flows, (few, 1e4, 5, 11), (many, 1.0, 1, 4)]:
        name, levels = "{}x{}, {:g}".format(*X.shape, scale), 10.0 ** np.arange(ends[0], ends[1] + 1)
        yield Case(name, X, np.ones(len(X)), tacit.Diagonal(depth=2, scale=scale), levels)
    for width in () if quick else WIDTHS:
        data, network = sparse_regression(100, 400), tacit.LinearNetwork.gaussian(400, width, seed=0)
        yield Case(f"width {width}", data.X, data.y, network, levels_of(data.y), "square")


def levels_of(y: Float) -> Float:
    """The accuracies that belong to these relative residuals."""
    return np.asarray(-math.log(np.mean(y * y) / 2) - 2 * np.log(RESIDUALS))


def main() -> None:
    """Parse the options, measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="only the small problems")
    parser.add_argument(
        "--limit", type=float, default=60, metavar="SECONDS", help="time limit for one run (default: 60)"
    )
    options = parser.parse_args()
    print("flow            loss    method              seconds  x Tacit    error  to limit  note")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of solvers that fail
        times = [compare(case, options.limit) for case in cases(options.quick)]
    print(f"error: largest relative distance to Tacit at rtol {TIGHT:g} along the flow; for loss exp that of")
    print("directions. to limit: that of the end to tacit.limit.")
    if not options.quick:
        print(f"Tacit's time at width {WIDTHS[1]:,} over that at {WIDTHS[0]:,}: {times[-1] / times[-2]:.1f}")


if __name__ == "__main__":
    main()
