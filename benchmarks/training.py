"""Training in practice on random problems: runs against predictions, and the speed of `tacit.descend`.

python benchmarks/training.py [exact] [closed] [batches] [speed] [--problems 200]

exact: gradient descent of depths 2, 3, 4 and 6 with momentum, batches and decay; the distance of its end
from the limit of its effective start. closed: weight decay that is switched off, other losses and weights of
samples, and two tasks in turn, simulated by SciPy in the logarithms of the weights; the distance from the
limits. batches: the mean of 64 runs with mini-batches; its distance from the prediction in standard errors,
along the predicted shift. speed: CPU time of steps. Takes minutes; set OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import tacit
from tacit import Training

DEPTHS = (2, 3, 4, 6)
# Smaller scales of deep networks wait longer at 0 than 10⁶ steps, or than an integrator can resolve.
SMALLEST = {2: 1e-3, 3: 0.03, 4: 0.15, 6: 0.35}
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"batch": 1},
    {"momentum": 0.5},
    {"momentum": 0.9, "nesterov": True},
    {"decay": 0.05, "decay_time": 2.0},
)


def problems(count: int) -> Iterator[tuple[int, Any, Any, Any, tacit.Diagonal]]:
    """Gaussian features and targets, and a model of random scale between 1e-3 and 1."""
    for i in range(count):
        rng = np.random.default_rng([7, i])
        D, samples, features = DEPTHS[i % len(DEPTHS)], rng.integers(2, 6), rng.integers(6, 12)
        X, y = rng.standard_normal((samples, features)), rng.standard_normal(samples)
        yield i, rng, X, y, tacit.Diagonal(D, max(10 ** rng.uniform(-3, 0), SMALLEST[D]))


def distance(w: Any, other: Any) -> float:
    """Relative to the first."""
    return float(np.linalg.norm(w - other) / np.linalg.norm(w))


def step_at_edge(model: tacit.Diagonal, X: Any, y: Any) -> float:
    """2/sharpness at the limit of the flow."""
    return 1e-12 / tacit.limit(model, X, y, training=Training(1e-12)).edge


def exact(count: int) -> None:
    """Section by depth: the worst distance from the limit of the effective start."""
    worst = dict.fromkeys(DEPTHS, 0.0)
    for i, rng, X, y, model in problems(count):
        options = OPTIONS[i // len(DEPTHS) % len(OPTIONS)]
        slower = (1 - options.get("momentum", 0.0)) / (4 if "batch" in options else 1)
        training = Training(rng.uniform(0.05, 0.5) * slower * step_at_edge(model, X, y), **options)
        run = tacit.descend(model, X, y, training, until=1e-13, max_steps=10**6, seed=i)
        worst[int(model.depth)] = max(worst[int(model.depth)], run.effective_error)
    for depth, error in worst.items():
        print(f"effective start, depth {depth}: largest distance {error:.1e}", flush=True)


def simulated(
    X: Any, y: Any, D: float, z: Any, until: float | None, decay: Callable[[float], float], pull: Any
) -> Any:
    """Logarithms of weights under the flow, at a time or when the data are fitted."""
    d = X.shape[1]

    def residual(z: Any) -> Any:
        return X @ (np.exp(D * z[:d]) - np.exp(D * z[d:])) - y

    def velocity(t: float, z: Any) -> Any:
        z = np.minimum(z, 50.0)  # trial steps of the integrator overshoot
        g = X.T @ pull(residual(z), t) / len(y)
        return -D * np.concatenate([g, -g]) * np.exp((D - 2) * z) - decay(t)

    def fitted(t: float, z: Any) -> float:
        return float(np.linalg.norm(residual(z)) / np.linalg.norm(y)) - 1e-12

    fitted.terminal = True  # type: ignore[attr-defined]
    options: dict[str, Any] = {"rtol": 1e-13, "atol": 1e-14, "events": None if until else fitted}
    return solve_ivp(velocity, (0, until or 1e9), z, "LSODA", **options).y[:, -1]


def closed(count: int) -> None:
    """The worst distance of each closed form from simulations."""
    found: dict[str, list[float]] = {"decay": [], "what does not matter": [], "tasks in turn": []}
    for i, rng, X, y, model in problems(count):
        D, d = model.depth, X.shape[1]
        start = np.log(np.concatenate(list(model.start(d).values())))

        def flow(
            X: Any, y: Any, z: Any, until: Any = None, decay: Any = None, pull: Any = None, D: Any = D
        ) -> Any:
            return simulated(X, y, D, z, until, decay or (lambda t: 0.0), pull or (lambda r, t: r))

        def end(z: Any, D: Any = D, d: Any = d) -> Any:
            return np.exp(D * z[:d]) - np.exp(D * z[d:])

        size, off = rng.uniform(0.02, 0.2), rng.uniform(1, 8)
        decay = lambda t, size=size, off=off: size * (1 - t / off) ** 2  # noqa: E731
        limit = tacit.limit(model, X, y, training=Training(0, decay=decay, decay_time=off)).predictor
        found["decay"].append(distance(limit, end(flow(X, y, flow(X, y, start, off, decay)))))
        weights, mixed = rng.uniform(0.2, 3, len(y)), rng.standard_normal((len(y), len(y)))
        mixed = mixed @ mixed.T / len(y) + 0.3 * np.eye(len(y))
        pulls = (
            lambda r, t: np.clip(r, -0.2, 0.2),
            lambda r, t: np.tanh(r),
            lambda r, t: r + r**3,
            lambda r, t, weights=weights: weights * r,
            lambda r, t: r * (1 + 0.5 * np.sin(t)),
            lambda r, t: r / max(1, 5 * np.linalg.norm(r)),
            lambda r, t, mixed=mixed: mixed @ r,
        )
        first = tacit.limit(model, X, y)
        other = end(flow(X, y, start, pull=pulls[i % len(pulls)]))
        found["what does not matter"].append(distance(first.predictor, other))
        Z, z = rng.standard_normal(X.shape), rng.standard_normal(len(y))
        second = tacit.limit(first.model(), Z, z).predictor
        found["tasks in turn"].append(distance(second, end(flow(Z, z, flow(X, y, start)))))
    for name, errors in found.items():
        print(f"{name}: largest distance {max(errors):.1e}, median {np.median(errors):.1e}", flush=True)


def batches(count: int) -> None:
    """Means of 64 runs, against the prediction."""
    for i, _, X, y, model in problems(count):
        if model.depth > 4 or model.scale < 0.1:
            continue
        training = Training(0.005 * step_at_edge(model, X, y), batch=1)
        found, plain = tacit.limit(model, X, y, training=training), tacit.limit(model, X, y)
        ends = np.array(
            [tacit.descend(model, X, y, training, until=1e-8, seed=s).predictor for s in range(64)]
        )
        shift = found.predictor - plain.predictor
        along = ends @ (shift / np.linalg.norm(shift))
        off = along.mean() - found.predictor @ shift / np.linalg.norm(shift)
        error = along.std(ddof=1) / 8
        print(
            f"batches, problem {i}, depth {model.depth:g}: {off / error:+.1f} standard errors; the shift is "
            f"{np.linalg.norm(shift) / error:.0f}",
            flush=True,
        )


def speed() -> None:
    """CPU time of steps."""
    rng = np.random.default_rng(0)
    for samples, features, steps in ((40, 200, 100_000), (100, 1000, 10_000)):
        X, y = rng.standard_normal((samples, features)), rng.standard_normal(samples)
        begun = time.process_time()
        tacit.descend(tacit.Diagonal(2, 0.1), X, y, Training(1e-3), until=0, max_steps=steps)
        seconds = time.process_time() - begun
        print(f"{samples}×{features}, {steps:,} steps: {seconds:.2f} s of CPU time", flush=True)


def main() -> None:
    """Run the sections that were asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("sections", nargs="*", default=["exact", "closed", "batches", "speed"])
    parser.add_argument("--problems", type=int, default=200, help="how many (default: %(default)s)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # steps near the edge, and LSODA's messages
    for name, section in (("exact", exact), ("closed", closed), ("batches", batches)):
        if name in options.sections:
            section(options.problems if name != "batches" else max(options.problems // 10, 1))
    if "speed" in options.sections:
        speed()


if __name__ == "__main__":
    main()
