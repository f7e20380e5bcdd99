"""Flows of matrix factorizations: time against width and scale, and completion in little memory."""

from __future__ import annotations

import argparse
import math
import resource
import sys
import time

import numpy as np
from scipy.integrate import DOP853

import tacit
from tacit.data.entries import Entries


def peak_megabytes() -> float:
    """The peak memory of this process."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e6 if sys.platform == "darwin" else 1e3)


def seconds(function, repeats: int = 3):
    """The shortest CPU time of several runs, and the last result."""
    best = math.inf
    for _ in range(repeats):
        begun = time.process_time()
        found = function()
        best = min(best, time.process_time() - begun)
    return best, found


def small(rows: int = 10, observed: int = 60):
    """A matrix of rank 1 with some known entries (Woodworth et al. 2020, Appendix A)."""
    rng = np.random.default_rng(0)
    target = np.outer(rng.standard_normal(rows), rng.standard_normal(rows))
    gaps = np.full(rows * rows, np.nan)
    places = rng.choice(rows * rows, observed, replace=False)
    gaps[places] = target.ravel()[places]
    return *tacit.observed(gaps.reshape(rows, rows)), target


def raw(model, X, y, rtol: float, until: float) -> int:
    """Integrate all weights by DOP853 to a relative residual; return the number of steps."""
    shapes = [model.left.shape, model.right.shape]
    cut, measured = model.left.size, X.dense()

    def rate(_, z):
        U, V = z[:cut].reshape(shapes[0]), z[cut:].reshape(shapes[1])
        G = np.tensordot(y - np.einsum("nij,ij->n", measured, U @ V.T), measured, 1) / len(y)
        return np.concatenate([(G @ V).ravel(), (G.T @ U).ravel()])

    start = np.concatenate([model.left.ravel(), model.right.ravel()])
    solver, steps = DOP853(rate, 0.0, start, np.inf, rtol=rtol, atol=1e-3 * rtol), 0
    while True:
        U, V = solver.y[:cut].reshape(shapes[0]), solver.y[cut:].reshape(shapes[1])
        if np.linalg.norm(X.products(U, V) - y) <= until * np.linalg.norm(y):
            return steps
        solver.step()
        steps += 1


def widths(repeats: int) -> None:
    """Print times by width at a fixed scale α²k of the lifted matrix."""
    X, y, _ = small()
    print("10×10, 60 entries, to a relative residual of 1e-10; seconds, and × those of width 50")
    for level in (1e-4, 1.0):
        base = None
        for width in (50, 1000, 10_000, math.inf):
            scale = math.sqrt(level if width == math.inf else level / width)
            model = tacit.Factorization.gaussian((10, 10), width, scale, seed=1)
            took, run = seconds(lambda model=model: tacit.flow(model, X, y), repeats)
            base = took if base is None else base
            print(
                f"  α²k {level:g}  width {width:>6}  {took:.2f} s  × {took / base:.2f}  {run.steps} steps  "
                f"drift {run.drift:.0e}  time {run.time[-1]:.1e}",
                flush=True,
            )


def against_raw(repeats: int) -> None:
    """Print the cost of integrating the raw weights."""
    X, y, _ = small()
    print("the same, width 50: lifted, and DOP853 on all weights (rtol 1e-8)")
    for level, residual in ((1.0, 1e-3), (1.0, 1e-8), (1e-2, 1e-3), (1e-2, 1e-5)):
        until = -math.log(float(np.mean(y**2)) / 2) - 2 * math.log(residual)
        model = tacit.Factorization.gaussian((10, 10), 50, math.sqrt(level / 50), seed=1)
        ours, run = seconds(lambda model=model, until=until: tacit.flow(model, X, y, until=until), repeats)
        theirs, steps = seconds(lambda model=model, residual=residual: raw(model, X, y, 1e-8, residual), 1)
        print(
            f"  α²k {level:g}, to a relative residual of {residual:g}, time {run.time[-1]:.1e}: "
            f"{ours:.2f} s ({run.steps} steps)  {theirs:.2f} s ({steps} steps)  × {theirs / ours:.2g}",
            flush=True,
        )


def large(rows: int, width: int) -> None:
    """Print time and peak memory for a matrix of rank 3 with 5% of its entries, to a residual of 1e-2."""
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((rows, 3)), rng.standard_normal((rows, 3)) / math.sqrt(3)
    places = np.unique(rng.integers(rows * rows, size=rows * rows // 20))
    X = Entries(places // rows, places % rows, (rows, rows))
    y = X.products(left, right)
    before = peak_megabytes()
    model = tacit.Factorization.gaussian((rows, rows), width, 1e-3)
    until = -math.log(float(np.mean(y**2)) / 2) - 2 * math.log(1e-2)
    took, run = seconds(lambda: tacit.flow(model, X, y, until=until, rtol=1e-6), 1)
    held = 8e-6 * (3 * len(X) + 2 * rows * width)
    print(
        f"{rows}×{rows}, {len(X):,} entries, width {width}: {took:.0f} s, {run.steps} steps, {run.method}; "
        f"entries and factors take {held:.1f} MB, the flow {peak_megabytes() - before:.0f} MB more"
    )
    error = np.linalg.norm(run.predictor[-1] - left @ right.T) / np.linalg.norm(left @ right.T)
    print(f"  relative error of the whole matrix {error:.3g}")


def main() -> None:
    """Run the selected parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one repetition, and a large matrix of 300×300")
    options = parser.parse_args()
    repeats = 1 if options.quick else 3
    widths(repeats)
    against_raw(repeats)
    large(300 if options.quick else 1000, 50)


if __name__ == "__main__":
    main()
