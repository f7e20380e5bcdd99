"""Many limits, and large ones, on a GPU: time, certificates, and agreement with `tacit.limit` on the CPU.

    python benchmarks/limits_gpu.py --out limits_gpu.json
    python benchmarks/limits_gpu.py --device cpu --share 0.01    # on the CPU, fewer problems

Every case runs three times: the first run compiles. Needs JAX with support for the GPU; Tacit is used from
its source (PYTHONPATH=src).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

import tacit

Results = dict[str, Any]
COMPARED = 12  # limits that are computed again on the CPU, for comparison
REPEATS = 3


def main() -> None:
    """Run all cases, print a table, and write the numbers."""
    options = _options()
    found: Results = {"machine": machine(), "share": options.share, "device": options.device}
    print(json.dumps(found["machine"]))
    for name, case in CASES.items():
        if options.only and name not in options.only:
            continue
        try:
            found[name] = case(options.device, options.share)
        except Exception:
            found[name] = {"failed": traceback.format_exc()[-1500:]}
        print(f"{name}: {json.dumps(found[name])}", flush=True)
        Path(options.out).write_text(json.dumps(found, indent=1))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="gpu", choices=("gpu", "cpu"))
    parser.add_argument("--share", type=float, default=1.0, help="part of the problems, and of large sizes")
    parser.add_argument("--out", default=str(Path(os.environ.get("OUT", ".")) / "limits_gpu.json"))
    parser.add_argument("--only", nargs="*", choices=sorted(CASES))
    return parser.parse_args()


def machine() -> Results:
    """Versions, cores and devices."""
    import jax

    versions = {"python": platform.python_version(), "numpy": np.__version__, "jax": jax.__version__}
    return {**versions, "cores": os.cpu_count(), "devices": [each.device_kind for each in jax.devices()]}


def regression(seeds: int, samples: int, features: int, nonzero: int = 5) -> tuple[Any, Any]:
    """Gaussian X, and y of a sparse signal (Woodworth et al. 2020, Section 4), for several seeds."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((seeds, samples, features))
    signal = np.zeros(features)
    signal[:nonzero] = 1 / math.sqrt(nonzero)
    return X, X @ signal + 0.01 * rng.standard_normal((seeds, samples))


def many_scales(device: str, share: float) -> Results:
    """25,000 limits of 100 × 1000: 2,500 scales from 1e-6 to 10, for 10 seeds."""
    X, y = regression(10, 100, 1000)
    models = [tacit.Diagonal(scale=scale) for scale in np.logspace(1, -6, math.ceil(2500 * share))]
    return batch(models, X[:, None], y[:, None], device)


def shapes(device: str, share: float) -> Results:
    """Azulay et al. 2021, Figure 7.1, on a grid of 50 scales × 50 shapes, for 10 seeds of 100 × 1000."""
    X, y = regression(10, 100, 1000)
    count = math.ceil(50 * math.sqrt(share))
    models = [
        tacit.UntiedDiagonal(scale=scale, shape=shape)
        for scale in np.logspace(-6, 3, count)
        for shape in np.linspace(-0.999, 0.999, count)
    ]
    return batch(models, X[:, None], y[:, None], device)


def many_data_sets(device: str, share: float) -> Results:
    """2,500 data sets of 100 × 1000, at one scale."""
    X, y = regression(math.ceil(2500 * share), 100, 1000)
    return batch(tacit.Diagonal(scale=1e-3), X, y, device)


def deep(device: str, share: float) -> Results:
    """Depth 3: 2,500 limits of 100 × 1000, 250 scales from 1e-3 to 10, for 10 seeds."""
    X, y = regression(10, 100, 1000)
    models = [tacit.Diagonal(depth=3, scale=scale) for scale in np.logspace(1, -3, math.ceil(250 * share))]
    return batch(models, X[:, None], y[:, None], device)


def batch(models: Any, X: Any, y: Any, device: str) -> Results:
    """Time, certificates and agreement of `tacit.limits`."""
    seconds, limits = timed(lambda: run_limits(models, X, y, device))
    good = limits.converged
    chosen = np.random.default_rng(1).choice(len(limits), min(COMPARED, len(limits)), replace=False)
    apart = [distance(limits[int(i)]) for i in chosen]
    return {
        "problems": len(limits),
        "seconds": seconds,
        "certified": int(good.sum()),
        "largest_error": float(limits.error[good].max(initial=0)),
        "singly": len(limits.singly),
        "why_not": limits.reason[:300],
        "steps": float(limits.iterations.mean()),
        "distance_to_single": max(apart),
        "gpu_memory_gib": memory(),
    }


def run_limits(models: Any, X: Any, y: Any, device: str) -> Any:
    """`tacit.limits` on the device; "cpu" means the same compiled program on the CPU."""
    with ExitStack() as stack:
        if device == "cpu":
            stack.enter_context(on_cpu_through_jax())
        return tacit.limits(models, X, y, tol=1e-9, device="gpu")


def on_cpu_through_jax() -> Any:
    """A context in which JAX's CPU counts as a GPU."""
    from unittest.mock import patch

    import jax

    return patch("tacit.solvers.batch.devices.first_gpu", lambda: jax.devices("cpu")[0])


def distance(limit: Any) -> float:
    """The relative distance of a limit from that of `tacit.limit`."""
    other = tacit.limit(limit.model, limit.X, limit.y).predictor
    return float(np.linalg.norm(limit.predictor - other) / np.linalg.norm(other))


def large(depth: int) -> Callable[[str, float], Results]:
    """One limit of 1000 × 100,000."""

    def case(device: str, share: float) -> Results:
        samples, features = math.ceil(1000 * math.sqrt(share)), math.ceil(100_000 * math.sqrt(share))
        X, y = regression(1, samples, features, nonzero=20)
        model = tacit.Diagonal(depth=depth, scale=1e-2)
        with ExitStack() as stack:
            if device == "cpu":
                stack.enter_context(on_cpu_through_jax())
            seconds, limit = timed(lambda: tacit.limit(model, X[0], y[0], device="gpu"))
        return {
            "size": [samples, features],
            "seconds": seconds,
            "feasibility": limit.feasibility,
            "stationarity": limit.stationarity,
            "error": limit.error,
            "converged": limit.converged,
            "method": limit.method,
            "steps": limit.iterations,
            "gpu_memory_gib": memory(),
        }

    return case


def parts(device: str, share: float) -> Results:
    """Milliseconds of the parts of one Newton step for 10 × 2,500 lanes of 100 × 1000."""
    import jax

    from tacit.solvers.batch import lanes as on_lanes
    from tacit.solvers.batch.in_jax import InJax, in_float64
    from tacit.solvers.batch.linear import inverse_of, solve_scaled
    from tacit.solvers.batch.moves import move

    X, y = regression(10, 100, 1000)
    L = math.ceil(2500 * share)
    target = jax.devices("gpu" if device == "gpu" else "cpu")[0]
    backend, found = InJax(target), Results()
    with in_float64(target):
        levels = np.broadcast_to(np.linspace(4, -27, L)[:, None], (10, L, 1))
        data = (X, np.broadcast_to(y[:, None], (10, L, 100)), levels, np.ones((10, L, 1)))
        lanes = on_lanes.Lanes(*map(backend.array, data), math.inf)
        lanes = lanes.with_pairs(backend.pairs(lanes.X))
        W = backend.array(np.random.default_rng(0).uniform(0.5, 1.5, (10, L, 1000)))
        normal = jax.jit(lambda lanes, W: lanes.normal_matrix(W))
        A = normal(lanes, W)
        state = on_lanes.State(W - 1, lanes.y, W - 1, W[..., 0])
        cases = {
            "normal_matrix": (normal, lanes, W),
            "normal_matrix_without_pairs": (normal, on_lanes.Lanes(*map(backend.array, data), math.inf), W),
            "solve": (jax.jit(solve_scaled), A, lanes.y),
            "cholesky": (jax.jit(jax.numpy.linalg.cholesky), A),
            "lu_solve": (jax.jit(lambda A, b: jax.numpy.linalg.solve(A, b[..., None])), A, lanes.y),
            "inverse": (jax.jit(lambda A: inverse_of(A).inverse), A),
            "move": (jax.jit(lambda u, s: move(jax.numpy, u, s, math.inf)), W - 1, W),
            "newton_step": (backend.newton_step, lanes, state),
            "certified": (backend.certified, lanes, state),
        }
        for name, (function, *arguments) in cases.items():
            try:
                found[name] = milliseconds(function, arguments)
            except Exception as error:
                found[name] = str(error)[:200]
    return found | {"gpu_memory_gib": memory()}


def milliseconds(function: Callable[..., Any], arguments: list[Any]) -> float:
    """The shortest of three runs after compilation."""
    import jax

    times = []
    for _ in range(4):
        begun = time.perf_counter()
        jax.block_until_ready(function(*arguments))
        times.append(1000 * (time.perf_counter() - begun))
    return round(min(times[1:]), 3)


def timed(function: Callable[[], Any]) -> tuple[list[float], Any]:
    """Seconds of each run, the first with compilation, and the last result."""
    seconds = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        found = function()
        seconds.append(round(time.perf_counter() - begun, 3))
    return seconds, found


def memory() -> float | None:
    """The largest GPU memory in use so far."""
    import jax

    known = jax.devices()[0].memory_stats()
    return None if not known else round(known.get("peak_bytes_in_use", 0) / 2**30, 2)


CASES: dict[str, Callable[[str, float], Results]] = {
    "parts": parts,
    "many_scales": many_scales,
    "shapes": shapes,
    "many_data_sets": many_data_sets,
    "deep": deep,
    "large_depth_2": large(2),
    "large_depth_3": large(3),
}

if __name__ == "__main__":
    sys.exit(main())
