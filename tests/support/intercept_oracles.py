"""Independent references for predictors x·w + b with a free intercept b, and for features divided by units.

A free b removes one equation: X w + b = y is equivalent to equations for the differences of samples, (x_{n+1}
− x_n)·w = y_{n+1} − y_n, and y_n(x_n·w + b) ≥ 1 to (x_i − x_j)·w/2 ≥ 1 for all i of one class and j of the
other. Both are problems without an intercept. Others are solved from scratch, with b as a variable.
"""

from statistics import pstdev
from types import SimpleNamespace

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import linprog, minimize_scalar

import tacit


def units(X):
    """The standard deviation of every feature, in rational arithmetic; 1 for features that are constant."""
    return np.array([pstdev(column) or 1.0 for column in np.asarray(X).T.tolist()])


def shifted_problem(seed, samples=4, features=7, outputs=None):
    """Features about means of many sizes and in unequal units, targets about a mean: all read-only."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, features) + rng.standard_normal((samples, features)) * rng.uniform(
        0.3, 3, features
    )
    y = 2 + rng.standard_normal(samples if outputs is None else (samples, outputs))
    for array in (X, y):
        array.setflags(write=False)
    return X, y


def by_differences(model, X, y, unit=1.0):
    """The limit for the differences of samples in divided features: predictor in the user's units, and b."""
    found = tacit.limit(model, np.diff(X / unit, axis=0), np.diff(y, axis=0))
    predictor = (found.predictor.T / unit).T
    return SimpleNamespace(predictor=predictor, intercept=(y - X @ predictor).mean(axis=0), limit=found)


def least_over_b(model, X, y):
    """The minimum over b of Q at the limit of X w = y − b, and its b, by a search over limits without
    intercept."""

    def value(b):
        return tacit.limit(model, X, y - b).value

    reach = 50 * np.abs(y).max()
    found = minimize_scalar(value, bounds=(-reach, reach), method="bounded", options={"xatol": 1e-10 * reach})
    return found.fun, found.x


def free_quadratic(B, X, y):
    """argmin ½wᵀBw subject to X w + b = y, and its multipliers: B w = Xᵀν, Σν = 0, as one linear system."""
    samples, features = X.shape
    system = np.zeros((features + samples + 1,) * 2)
    system[:features, :features] = B
    system[:features, features:-1] = -X.T
    system[features:-1, :features] = X
    system[features:-1, -1] = system[-1, features:-1] = 1
    solved = np.linalg.solve(system, np.concatenate([np.zeros(features), y, [0]]))
    return solved[:features], solved[-1], solved[features:-1]


def free_l1(X, y, weight=1.0):
    """min Σ weight·|w| subject to X w + b = y: the program with a free variable (w and b at a vertex)."""
    samples, features = X.shape
    cost = np.append(np.tile(np.broadcast_to(weight, features), 2), 0.0)
    A = np.hstack([X, -X, np.ones((samples, 1))])
    bounds = [(0, None)] * (2 * features) + [(None, None)]
    found = linprog(cost, A_eq=A, b_eq=y, bounds=bounds)
    return found.fun, found.x[:features] - found.x[features:-1], found.x[-1]


def free_l1_margin(X, y):
    """min ‖w‖₁ subject to y(X w + b) ≥ 1, likewise."""
    samples, features = X.shape
    A = y[:, None] * np.hstack([X, -X, np.ones((samples, 1))])
    bounds = [(0, None)] * (2 * features) + [(None, None)]
    found = linprog(np.append(np.ones(2 * features), 0.0), A_ub=-A, b_ub=-np.ones(samples), bounds=bounds)
    return found.fun, found.x[:features] - found.x[features:-1], found.x[-1]


def pairs(X, y):
    """Rows (x_i − x_j)/2, i of the class +1 and j of −1: their margins are half the gap between classes."""
    X, y = np.asarray(X, float), np.asarray(y)
    return (X[y > 0][:, None] - X[y < 0][None]).reshape(-1, X.shape[1]) / 2


def between(X, y, w):
    """The optimal b for w, half way between the classes."""
    scores = np.asarray(X) @ np.asarray(w).T
    return -(scores[y > 0].min(axis=0) + scores[y < 0].max(axis=0)) / 2


def shared(nu, y):
    """The multipliers of samples from those of pairs (last axis): each sample of a pair gets half of its
    ν."""
    y = np.asarray(y)
    table = np.reshape(nu, (*np.shape(nu)[:-1], (y > 0).sum(), (y < 0).sum())) / 2
    dual = np.zeros((*np.shape(nu)[:-1], len(y)))
    dual[..., y > 0], dual[..., y < 0] = table.sum(axis=-1), table.sum(axis=-2)
    return dual


def _diagonal(depth):
    """w₊^D − w₋^D, and the change of w₊ and w₋ due to a force on it."""
    return (
        lambda p, m: p**depth - m**depth,
        lambda g, p, m: (depth * p ** (depth - 1) * g, -depth * m ** (depth - 1) * g),
    )


_UNTIED = (
    lambda up, vp, um, vm: up * vp - um * vm,
    lambda g, up, vp, um, vm: (g * vp, g * up, -g * vm, -g * um),
)
_NEURON = (lambda a, w: a * w, lambda g, a, w: (g @ w, a * g))
_NETWORK = (lambda U, V: U @ V.T, lambda g, U, V: (g @ V, g.T @ U))


def raw(kind, *weights, depth=2):
    """A network to be integrated: "diagonal", "untied", "neuron" or "network", with its initial weights."""
    rules = {"diagonal": _diagonal(depth), "untied": _UNTIED, "neuron": _NEURON, "network": _NETWORK}
    value, force = rules[kind]
    return SimpleNamespace(weights=[np.asarray(w, float) for w in weights], value=value, force=force)


def raw_flow(network, X, y, times, *, unit=1.0, free=True, rtol=1e-11):
    """w(t), b(t) of θ' = −∇ 1/(2N) Σ (x_n·w(θ)/unit + b − y_n)², with b = mean(y − Xw/unit) at each moment.

    free=False: b = 0. Predictors are those of the features as given, w/unit.
    """
    shapes = [w.shape for w in network.weights]
    ends = np.cumsum([w.size for w in network.weights])[:-1]
    divided = X / unit

    def parts(flat):
        return [w.reshape(shape) for w, shape in zip(np.split(flat, ends), shapes, strict=True)]

    def best(w):
        return (y - divided @ w).mean(axis=0) if free else 0.0 * y[0]

    def velocity(_, flat):
        weights = parts(flat)
        w = network.value(*weights)
        slope = divided.T @ (divided @ w + best(w) - y) / len(y)
        return -np.concatenate([np.ravel(f) for f in network.force(slope, *weights)])

    start = np.concatenate([w.ravel() for w in network.weights])
    run = solve_ivp(velocity, (0, times[-1]), start, "LSODA", t_eval=times, rtol=rtol, atol=1e-3 * rtol)
    inner = [network.value(*parts(flat)) for flat in run.y.T]
    return np.array([(w.T / unit).T for w in inner]), np.array([best(w) for w in inner])


def raw_descent(network, X, y, step, count):
    """The same by `count` steps of gradient descent: the final w and b."""
    weights = network.weights
    for _ in range(count):
        w = network.value(*weights)
        slope = X.T @ (X @ w + (y - X @ w).mean(axis=0) - y) / len(y)
        weights = [a - step * f for a, f in zip(weights, network.force(slope, *weights), strict=True)]
    w = network.value(*weights)
    return w, (y - X @ w).mean(axis=0)
