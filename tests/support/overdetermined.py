"""Random problems with more samples than features, and the limits of gradient flow on the square loss.

As a script, `python tests/support/overdetermined.py 2000` runs this number of problems and prints the worst
of each kind.
"""

import sys
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from flow_oracles import smoothed_leaky
from scipy.integrate import solve_ivp

import tacit

KINDS = (
    "depth 2",
    "depth 3",
    "depth 4",
    "untied",
    "neuron",
    "leaky",
    "network",
    "outputs",
    "narrow",
    "equal rows",
)
ERROR = 1e-6  # relative error of the end
RISE = 1e-10  # allowed relative increase of the loss, due to interpolation between steps


@dataclass(frozen=True)
class Case:
    """A problem, and the predictor at which its flow must end."""

    kind: str
    model: Any
    X: Any
    y: Any

    def end(self):
        """The least-squares solution of the model's rank; for leaky neurons, the end of another
        integration."""
        if self.kind == "leaky":
            coarse, fine = (leaky_end(self.model, self.X, self.y, eps=eps) for eps in (1e-7, 1e-8))
            return fine + (fine - coarse) / 9  # rounding the kink changes the stationary point in proportion
        if self.kind == "equal rows":
            return tacit.limit(self.model, *merged(self.X, self.y)).predictor
        best = np.linalg.lstsq(self.X, self.y, rcond=None)[0]
        if self.kind == "narrow":  # reduced-rank regression (Izenman 1975): the best fits, projected
            directions = np.linalg.svd(self.X @ best)[2][: self.model.outer.shape[1]]
            return best @ directions.T @ directions
        return best


def case(seed):
    """N/d from 1.1 to 50, scales from 1e-3 to 1e2; targets from pure noise to nearly fitted."""
    rng = np.random.default_rng([2021, seed])
    kind = KINDS[seed % len(KINDS)]
    d = int(rng.integers(*{"narrow": (4, 9), "leaky": (1, 4)}.get(kind, (1, 9))))
    N = max(int(np.ceil(d * np.exp(rng.uniform(np.log(1.1), np.log(50))))), d + 1)
    X = rng.standard_normal((N, d)) * np.exp(rng.uniform(-1, 1, d))
    scale, noise = 10 ** rng.uniform(-3, 2), 10 ** rng.uniform(-2, 1)
    outputs = {"outputs": int(rng.integers(2, 4)), "narrow": 3}.get(kind, 1)
    y = X @ rng.standard_normal((d, outputs)) + noise * rng.standard_normal((N, outputs))
    y = y if outputs > 1 else y[:, 0]
    if kind == "equal rows":
        X = rng.standard_normal((d, d + 3)) * np.exp(rng.uniform(-1, 1, d + 3))
        X = X[np.append(np.arange(d), rng.integers(0, d, N - d))]
    return Case(kind, model(kind, scale, X.shape[1], outputs, rng), X, y)


def model(kind, scale, d, outputs, rng):
    """A model of this kind whose initial predictor has approximately this scale."""
    shape = rng.uniform(-0.8, 0.8)
    if kind.startswith("depth"):
        depth = int(kind[-1])
        return tacit.Diagonal(depth, scale ** (2 / depth))
    if kind == "equal rows":
        return tacit.Diagonal(2, np.sqrt(scale))
    if kind == "untied":
        return tacit.UntiedDiagonal(scale, rng.uniform(-0.8, 0.8, d))
    if kind in ("neuron", "leaky"):
        slope = 1.0 if kind == "neuron" else rng.choice([0.1, 0.3, 0.7])
        sign = int(rng.choice([-1, 1]))
        return tacit.Neuron.from_scale(scale, shape, rng.standard_normal(d), sign, slope)
    width = 2 if kind == "narrow" else int(rng.integers(outputs, 30))
    return tacit.LinearNetwork.gaussian(d, width, outputs, std=np.sqrt(scale) * width**-0.25, seed=rng)


def merged(X, y):
    """Equal rows replaced by one with the mean of their targets, which gives weighted normal equations."""
    rows, which, counts = np.unique(X, axis=0, return_inverse=True, return_counts=True)
    sums = np.zeros(len(rows))
    np.add.at(sums, which.ravel(), y)
    return rows, sums / counts


def leaky_end(model, X, y, *, eps=1e-8):
    """The stationary point of the neuron a·σ(w·x) with a rounded kink of σ: Radau on the raw weights."""
    size = max(np.abs(X @ model.weights).max(), 1.0)
    _, velocity, jacobian = smoothed_leaky(model.slope, X, y, eps * size)

    def still(_, state):
        """The relative Newton step, an estimate of the remaining distance, without the direction (a, −w),
        which changes no output."""
        flat = np.append(state[0], -state[1:]) / np.linalg.norm(state)
        matrix = jacobian(0, state)
        values, vectors = np.linalg.eigh(matrix - np.linalg.norm(matrix) * np.outer(flat, flat))
        if values[-1] >= 0:
            return 1.0
        return np.linalg.norm(vectors.T @ velocity(0, state) / values) / np.linalg.norm(state) - 1e-9

    still.terminal = True
    state = np.append(model.output, model.weights)
    options = {"jac": jacobian, "events": still, "rtol": 1e-10, "atol": 1e-13}
    run = solve_ivp(velocity, (0, 1e9), state, "Radau", **options)
    if run.status != 1:
        raise ArithmeticError("the flow did not come to rest")
    state = run.y[:, -1]
    return state[0] * state[1:]


@dataclass(frozen=True)
class Verdict:
    """The error of the end, the increase of the loss, and the reported status."""

    error: float
    rise: float
    converged: bool
    reason: str

    @property
    def good(self):
        """Whether error and increase are within the tolerances."""
        return self.converged and self.error <= ERROR and self.rise <= RISE


def judge(case, **options):
    """Run the flow of a case, with warnings as errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = tacit.flow(case.model, case.X, case.y, **options)
    end = case.end()
    found = run.predictor[-1].reshape(end.shape)
    largest = np.sqrt((run.predictor**2).reshape(len(run.time), -1).sum(axis=1)).max()
    size = np.linalg.norm(end)
    error = np.linalg.norm(found - end) / (size if size > 1e-4 * largest else largest)  # some end at 0
    losses = ((run.outputs - case.y) ** 2).reshape(len(run.time), -1).sum(axis=1)
    rise = float((np.diff(losses) / losses[:-1]).max(initial=0.0))
    return Verdict(float(error), rise, run.converged, run.reason)


def main(count):
    """Run the given number of problems."""
    worst, bad, begun = {kind: [0, 0.0, 0.0] for kind in KINDS}, 0, time.perf_counter()
    for seed in range(count):
        problem = case(seed)
        try:
            verdict = judge(problem)
        except Exception as error:
            verdict = Verdict(np.inf, np.inf, False, repr(error))
        held = worst[problem.kind]
        held[0], held[1], held[2] = held[0] + 1, max(held[1], verdict.error), max(held[2], verdict.rise)
        if not verdict.good:
            bad += 1
            print(seed, problem.kind, problem.model, problem.X.shape, verdict, flush=True)
    for kind, (number, error, rise) in worst.items():
        print(f"{kind:<10}  {number:5} problems   error {error:.1e}   rise of the loss {rise:.1e}")
    print(f"{count} problems, {bad} bad, {time.perf_counter() - begun:.0f} s")
    return bad


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])) > 0)
