r"""The limit of gradient flow: Tacit compared with alternatives.

    argmin Q(β)  subject to  Xβ = y,      Q of a depth-2 diagonal network whose weights start at α

on Gaussian sparse regression (Woodworth et al. 2020, Section 4). Every method solves the same problems in the
same run; errors are relative to a 60-digit solution that is computed independently of Tacit.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import tacit

Float = NDArray[np.float64]
SIZES, ALPHAS, DEPTHS = ((20, 100), (100, 1000)), (1e-1, 1e-3, 1e-10), (2, 3, 4, 10)
EXPONENTS = (4, 0, -2, -6, -12, -20, -50, -100, -300)  # predictor scales, as powers of ten
RESIDUAL = 1e-10  # ‖Xβ − y‖/‖y‖ at which a simulation stops
REPEATS, ENOUGH = 5, 1.0  # largest number of runs of one case, and seconds after which no other is started
SIGNS = np.array([[1.0], [-1.0]])  # signs of w₊² and w₋² in β


class Answer(NamedTuple):
    """The result of a method: a predictor or None, whether the method reports success, and a remark."""

    predictor: Float | None
    done: bool
    note: str


def by_tacit(X: Float, y: Float, alpha: float, cap: float) -> Answer:
    """tacit.limit with default settings."""
    limit = tacit.limit(tacit.Diagonal(depth=2, scale=alpha), X, y)
    return Answer(limit.predictor, limit.converged, f"{limit.iterations} Newton steps")


def by_cones(X: Float, y: Float, alpha: float, cap: float) -> Answer:
    """cvxpy with Clarabel at 1e-12: Q(β) = min Σ kl(b₊, m) + kl(b₋, m) over b₊ − b₋ = β, with m = α².

    At the minimum log(b₊/m) = −log(b₋/m) = arcsinh(β/2m), which is Q'. The constants of
    kl(b, m) = b log(b/m) − b + m are moved out of the cones, β is a separate variable, and the objective is
    divided by 10 log(1/m): the fastest form found that Clarabel solves to "optimal" on all problems here.
    """
    import cvxpy as cp

    log_m = 2 * math.log(alpha)
    beta, plus, minus = (cp.Variable(X.shape[1]) for _ in range(3))
    objective = -cp.sum(cp.entr(plus) + cp.entr(minus)) - (1 + log_m) * cp.sum(plus + minus)
    program = cp.Problem(cp.Minimize(objective / (-10 * log_m)), [beta == plus - minus, X @ beta == y])
    tolerances = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-12)
    program.solve(solver=cp.CLARABEL, time_limit=cap, **tolerances)
    note = f"{program.solver_stats.num_iters} steps, {program.status}"
    return Answer(beta.value, program.status == cp.OPTIMAL, note)


def by_dual(X: Float, y: Float, alpha: float, cap: float) -> Answer:
    """SciPy's L-BFGS on the dual, min Σ 2m cosh(Xᵀν) − yᵀν, until round-off prevents progress."""
    from scipy.optimize import minimize

    def dual(nu: Float) -> tuple[float, Float]:
        plus, minus = np.exp(2 * math.log(alpha) + SIGNS * (X.T @ nu))
        return float(plus.sum() + minus.sum() - y @ nu), X @ (plus - minus) - y

    options: Any = {"gtol": 1e-12, "ftol": 0.0, "maxiter": 100_000, "maxfun": 100_000}
    found = minimize(dual, np.zeros(len(y)), jac=True, method="L-BFGS-B", options=options)
    return Answer(2 * alpha**2 * np.sinh(X.T @ found.x), bool(found.success), f"{found.nit} steps")


def by_lsoda(X: Float, y: Float, alpha: float, cap: float) -> Answer:
    """SciPy's LSODA on the 2d weights with exact Jacobian and rtol 1e-10, until the data are fitted."""
    from scipy.integrate import LSODA

    start, gram = np.full((2, X.shape[1]), alpha), np.tile(X.T @ X, (2, 2))

    def rates(flat: Float) -> Float:
        return (-2 * SIGNS * (X.T @ (X @ predictor(flat.reshape(start.shape)) - y))).ravel()

    def jacobian(_: float, flat: Float) -> Float:
        slope = (2 * SIGNS * flat.reshape(start.shape)).ravel()
        matrix = gram * -slope * slope[:, None]
        matrix[np.diag_indices_from(matrix)] += rates(flat)
        return matrix

    def step(*_: Float) -> Float:
        trouble = flow.step()
        if flow.status == "failed":
            raise ArithmeticError(trouble)
        return flow.y.reshape(start.shape)

    atol = 1e-13 * alpha
    flow = LSODA(lambda _, w: w * rates(w), 0.0, start.ravel(), 1e15, rtol=1e-10, atol=atol, jac=jacobian)
    return simulate(step, start, X, y, cap)


def by_descent(X: Float, y: Float, alpha: float, cap: float) -> Answer:
    """Gradient descent on ½‖Xβ − y‖² in the 2d weights, with step 1/(4b‖X‖²).

    b is the largest coefficient of one feature alone. This is between 1/45 and 1/25 of the largest stable
    step at the solution; a larger one is faster and less accurate in proportion.
    """
    largest = np.max(np.abs(X.T @ y) / np.einsum("nd,nd->d", X, X))
    rate = 2 / (4 * largest * np.linalg.norm(X, 2) ** 2)
    start = np.full((2, X.shape[1]), alpha)
    return simulate(lambda w, misfit: w * (1 - SIGNS * (rate * (misfit @ X))), start, X, y, cap)


def predictor(w: Float) -> Float:
    """β = w₊² − w₋²."""
    return w[0] * w[0] - w[1] * w[1]


def simulate(step: Callable[[Float, Float], Float], w: Float, X: Float, y: Float, cap: float) -> Answer:
    """Repeat (w, Xβ − y) ↦ w until the data are fitted, time runs out, or numbers overflow."""
    deadline, target, steps = time.process_time() + cap, RESIDUAL * np.linalg.norm(y), 0
    while time.process_time() < deadline:
        misfit = X @ predictor(w) - y
        size = float(np.linalg.norm(misfit))
        if size <= target or not math.isfinite(size):
            return Answer(predictor(w), math.isfinite(size), f"{steps} steps")
        w, steps = step(w, misfit), steps + 1
    return Answer(predictor(w), False, f"{steps} steps, time limit of {cap:g} s reached")


METHODS: dict[str, Callable[[Float, Float, float, float], Answer]] = {
    "Tacit": by_tacit,
    "cvxpy + Clarabel": by_cones,
    "L-BFGS, dual": by_dual,
    "LSODA, weights": by_lsoda,
    "gradient descent": by_descent,
}


def gaussian_problem(samples: int, features: int) -> tuple[Float, Float]:
    """Gaussian X, and y = Xβ* plus noise 0.1, where β* has norm 1 and 5 equal nonzero entries."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((samples, features))
    return X, X[:, :5].sum(axis=1) / math.sqrt(5) + 0.1 * rng.standard_normal(samples)


def exact(X: Float, y: Float, alpha: float) -> Float | None:
    """The rounded 60-digit solution from the tests; None if its libraries are not installed."""
    sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))
    try:
        from oracles import exact_limit
    except ImportError:
        return None
    return exact_limit(X, y, depth=2, log_scale=2 * math.log(alpha)).astype(float)


def timed(solve: Callable[..., Answer], *case: Any) -> tuple[Answer, float]:
    """The result and the shortest CPU time of several runs; an exception becomes the remark."""
    times: list[float] = []
    while len(times) < REPEATS and sum(times) < ENOUGH:
        begun = time.process_time()
        try:
            with np.errstate(all="ignore"):
                answer = solve(*case)
        except Exception as failure:  # a failure of a method is its result
            answer = Answer(None, False, f"{type(failure).__name__}: {failure}".splitlines()[0])
        times.append(time.process_time() - begun)
    if answer.predictor is None or np.isfinite(answer.predictor).all():
        return answer, min(times)
    return Answer(None, False, f"{answer.note}, numbers no longer finite"), min(times)


def compare(X: Float, y: Float, alpha: float, cap: float) -> list[dict[str, Any]]:
    """Measure every method on one problem."""
    rows: list[dict[str, Any]] = []
    problem, reference = "{}x{}".format(*X.shape), exact(X, y, alpha)
    for method, solve in METHODS.items():
        print(f"{problem}, alpha {alpha:g}: {method}", file=sys.stderr)
        answer, seconds = timed(solve, X, y, alpha, cap)
        row = {"problem": problem, "alpha": alpha, "method": method, "seconds": seconds}
        row |= {"ratio": None, "error": None, "done": answer.done, "note": answer.note}
        rows.append(row)
        if answer.predictor is not None:
            row["ratio"] = seconds / rows[0]["seconds"]
        if answer.predictor is not None and reference is not None:
            row["error"] = float(np.linalg.norm(answer.predictor - reference) / np.linalg.norm(reference))
        reference = answer.predictor if reference is None else reference
    return rows


def sweep(X: Float, y: Float, runs: int = 3) -> list[dict[str, Any]]:
    """Measure Tacit over depths and predictor scales; the fastest of several runs."""
    cells = []
    for depth, exponent in itertools.product(DEPTHS, EXPONENTS):
        model = tacit.Diagonal(depth=depth, log_scale=exponent * math.log(10) / depth)
        best = min((tacit.limit(model, X, y) for _ in range(runs)), key=lambda limit: limit.seconds)
        cell = {"steps": best.iterations, "seconds": best.seconds, "done": best.converged}
        cells.append({"depth": depth, "exponent": exponent} | cell)
    return cells


def show(rows: list[dict[str, Any]], cells: list[dict[str, Any]]) -> None:
    """Print both tables."""
    print("problem   alpha  method              seconds  x Tacit    error  done  note")
    for r in rows:
        ratio = "-" if r["ratio"] is None else f"{r['ratio']:.{2 if r['ratio'] < 100 else 0}f}"
        error = "-" if r["error"] is None else f"{r['error']:.1e}"
        numbers = f"{r['seconds']:9.4f} {ratio:>8} {error:>8}  {'yes' if r['done'] else 'NO':4}"
        print(f"{r['problem']:8} {r['alpha']:6.0e}  {r['method']:17} {numbers}  {r['note']}")
    missing = rows[0]["error"] is None
    against = "Tacit, because python-flint is not installed" if missing else "a 60-digit solution"
    print(f"error: relative distance to {against}. done: whether the method reports success.\n")
    print(f"Tacit on {rows[-1]['problem']} by depth and predictor scale: Newton steps, ms (! not converged)")
    print("depth" + "".join(f"{f'1e{exponent}':>10}" for exponent in EXPONENTS))
    for depth in DEPTHS:
        row = [c for c in cells if c["depth"] == depth]
        shown = [f"{c['steps']}, {1e3 * c['seconds']:.0f}{'' if c['done'] else '!'}" for c in row]
        print(f"{depth:5}" + "".join(f"{text:>10}" for text in shown))


def main() -> None:
    """Parse the options, measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="only the small problem")
    parser.add_argument(
        "--cap", type=float, default=30.0, metavar="SECONDS", help="time limit for one run (default: 30)"
    )
    parser.add_argument("--json", metavar="FILE", help="also write all numbers to this file")
    options = parser.parse_args()
    problems = [gaussian_problem(*size) for size in (SIZES[:1] if options.quick else SIZES)]
    for solve in METHODS.values():
        timed(solve, *gaussian_problem(5, 20), 1e-1, options.cap)  # imports are not timed
    rows = [row for X, y in problems for alpha in ALPHAS for row in compare(X, y, alpha, options.cap)]
    print("Tacit at many depths and scales", file=sys.stderr)
    cells = sweep(*problems[-1])
    show(rows, cells)
    if options.json:
        Path(options.json).write_text(json.dumps({"methods": rows, "sweep": cells}, indent=1) + "\n")


if __name__ == "__main__":
    main()
