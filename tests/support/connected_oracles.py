"""Independent references for the limits of neurons and linear networks, computed in several ways.

The weights w of a neuron a·σ(w·x) only move within the row space of X, and a² − ‖w‖² = δ is conserved. With
P⊥ the projection on the orthogonal complement of the row space and w* the minimum-norm solution of X w̃ = t,
the predictor w̃ = a·w ends at

    w̃ = w* + a∞·P⊥w(0),    a∞⁴ − (δ + ‖P⊥w(0)‖²)·a∞² − ‖w*‖² = 0.

This does not determine the sign of a∞, which is the sign of a once the loss is below that of the zero
predictor: at a = 0 the predictor is zero, so that a cannot return to 0 while the loss decreases.
"""

from types import SimpleNamespace

import numpy as np
from flow_oracles import layer_network, linear_neuron, raw_flow, smoothed_leaky_flow, square
from mpmath import mp, mpf
from scipy.linalg import null_space
from scipy.optimize import minimize

import tacit


def enough_digits(x, delta, digits=30):
    """The working precision for which the formulas below, which cancel, have `digits` correct digits."""
    apart = abs(mp.log10(abs(mpf(x) / mpf(delta)))) if x and delta else 0
    return mp.workdps(int(digits + 4.5 * apart) + 10)


def q_hat(x, delta):
    """q̂_δ(x) as printed in Theorem 2 of Azulay et al. 2021; its limit at 0."""
    x, delta = mpf(x), mpf(delta)
    if x == 0:
        return -(delta ** mpf("1.5")) / 2 if delta > 0 else mpf(0)
    root = mp.sqrt(x**2 + delta**2 / 4)
    return (x**2 - delta / 2 * (delta / 2 + root)) * mp.sqrt(root - delta / 2) / x


def inner_size(x, delta):
    """√P = ‖w‖ for a predictor of length x: P = √(x² + δ²/4) − δ/2."""
    x, delta = mpf(x), mpf(delta)
    return mp.sqrt(mp.sqrt(x**2 + delta**2 / 4) - delta / 2)


def length(vector):
    """‖vector‖₂ in the current number of digits."""
    return mp.sqrt(mp.fsum(mpf(v) ** 2 for v in np.ravel(vector)))


def leaky_targets(y, slope, sign):
    """t with a·σ(t/a) = y, for a of the given sign: σ⁻¹(y), or −σ⁻¹(−y)."""
    same = sign * np.asarray(y, float)
    return sign * np.where(same > 0, same, same / slope)


def split(X, targets, w):
    """The minimum-norm solution of X w̃ = t, and P⊥w, for X of full row rank."""
    X, t, w = (mp.matrix(np.asarray(v, float).tolist()) for v in (X, targets, w))
    gram = X * X.T
    smallest = X.T * mp.lu_solve(gram, t)
    return smallest, w - X.T * mp.lu_solve(gram, X * w)


def neuron_end(a, w, X, targets, sign=None):
    """The closed form above in 60 digits; `sign` is that of a∞, by default that of a."""
    with mp.workdps(60):
        smallest, hidden = split(X, targets, w)
        level = mpf(a) ** 2 - length(w) ** 2 + mp.fsum(v * v for v in hidden)
        square_of_a = (level + mp.sqrt(level**2 + 4 * mp.fsum(v * v for v in smallest))) / 2
        a_end = (np.sign(a) if sign is None else sign) * mp.sqrt(square_of_a)
        end = smallest + a_end * hidden
        return np.array([float(v) for v in end])


def neuron_end_by_minimization(a, w, X, targets):
    """The minimum of q̂_δ(‖w̃‖) + z·w̃ over the solutions w* + N c, N a basis of the null space: BFGS."""
    delta, start = a * a - w @ w, a * w
    smallest, free = np.linalg.pinv(X) @ targets, null_space(X)

    def slope(size):
        return 1.5 * np.sqrt(max(np.hypot(size, delta / 2) - delta / 2, 0.0))

    z = -slope(np.linalg.norm(start)) * start / np.linalg.norm(start)

    def objective(c):
        v = smallest + free @ c
        size = np.linalg.norm(v)
        P = np.hypot(size, delta / 2) - delta / 2
        value = np.sqrt(P + delta) * (P - delta / 2) + z @ v
        return value, free.T @ (slope(size) * v / size + z)

    found = minimize(objective, free.T @ start, jac=True, method="BFGS", options={"gtol": 1e-11})
    return smallest + free @ found.x


def neuron_flow(a, w, slope, X, y, *, accuracy=47.0):
    """The predictor and the output weight of a neuron, simulated up to this accuracy."""
    if slope == 1:
        run = raw_flow([a, w], linear_neuron(), X, y, square, [accuracy])
        return SimpleNamespace(predictor=run.predictor[0], output=float(run.weights[0][0]))
    eps = 1e-8 * max(1e-3, np.linalg.norm(w))
    run = smoothed_leaky_flow(a, w, slope, X, y, [accuracy], eps=eps)
    return SimpleNamespace(predictor=run.predictor[0], output=float(run.output[0]))


def final_sign(a, w, slope, X, y):
    """The sign of a∞; if necessary, by a simulation until the loss is below that of the zero predictor."""
    t = X @ w
    begin, zero = square(a * np.maximum(t, slope * t), y)[0], square(np.zeros(len(y)), y)[0]
    if abs(a) >= np.linalg.norm(w) or begin > zero:
        return np.sign(a)
    if slope == 1:
        end = raw_flow([a, w], linear_neuron(), X, y, square, [zero + 1e-2], rtol=1e-9).weights[0][0]
    else:
        eps = 1e-6 * max(1e-3, np.linalg.norm(w))
        end = smoothed_leaky_flow(a, w, slope, X, y, [zero + 1e-2], eps=eps, rtol=1e-7).output[0]
    return np.sign(float(end))


def kernel_end(a, w, X, targets):
    """The solution nearest to w̃(0) in the metric a²I + wwᵀ of the tangent kernel at initialization."""
    metric, start = a * a * np.eye(len(w)) + np.outer(w, w), a * w
    return start + metric @ X.T @ np.linalg.solve(X @ metric @ X.T, targets - X @ start)


def network_flow(inner, outer, X, y, *, accuracy=47.0):
    """The predictor (D, m), U and V of a linear network, simulated up to this accuracy."""
    run = raw_flow([inner, outer], layer_network(), X, y, square, [accuracy])
    return SimpleNamespace(predictor=run.predictor[0], inner=run.weights[0][0], outer=run.weights[0][1])


def gap(found, exact):
    """‖found − exact‖₂ / ‖exact‖₂."""
    return float(np.linalg.norm(np.asarray(found) - exact) / np.linalg.norm(exact))


def draw(scale, shape, sign, slope, seed, samples=4, features=7):
    """Random data, and a neuron with this scale and shape."""
    rng = np.random.default_rng([seed, samples, features])
    X, y = rng.standard_normal((samples, features)), rng.standard_normal(samples)
    return tacit.Neuron.from_scale(scale, shape, rng.standard_normal(features), sign, slope), X, y


def weights_of(model):
    return model.output, model.weights


def end_of(model, X, y, sign=None):
    """The closed form, for the sign of a∞ given or that of a(0)."""
    sign = np.sign(model.output) if sign is None else sign
    return neuron_end(*weights_of(model), X, leaky_targets(y, model.slope, sign), sign)
