"""A large dense problem, 1000 samples by 100,000 features: time, certificate, and peak memory."""

from __future__ import annotations

import argparse
import resource
import sys

import numpy as np

import tacit


def peak_gigabytes() -> float:
    """The peak memory of this process."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1e9 if sys.platform == "darwin" else 1e9 / 1024)


def main() -> None:
    """Build the problem in place, solve it at each depth and print one line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--features", type=int, default=100_000)
    parser.add_argument("--depths", type=float, nargs="+", default=[2, 3], metavar="DEPTH")
    parser.add_argument("--scale", type=float, default=1e-3, help="of the weights at the start (1e-3)")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    X = np.empty((options.samples, options.features))
    rng.standard_normal(out=X)
    y = X[:, :5].sum(axis=1) / np.sqrt(5) + 0.1 * rng.standard_normal(options.samples)
    print(f"X {options.samples}x{options.features}, {X.nbytes / 1e9:.2f} GB; peak {peak_gigabytes():.2f} GB")
    for depth in options.depths:
        limit = tacit.limit(tacit.Diagonal(depth=depth, scale=options.scale), X, y)
        print(
            f"depth {depth:g}: {limit.seconds:.1f} s, {limit.iterations} Newton steps, "
            f"feasibility {limit.feasibility:.1e}, stationarity {limit.stationarity:.1e}, "
            f"{'converged' if limit.converged else 'NOT CONVERGED'}; peak {peak_gigabytes():.2f} GB",
            flush=True,
        )
        del limit  # it keeps a copy of X


if __name__ == "__main__":
    main()
