"""Independent references for gradient flow: raw weights in training time, and the exponential loss in
multiprecision.

A network is three functions of its weights: `predictor(weights)`, `outputs(weights, X)` and
`pull(weights, X, r)`, the sum over samples of rₙ times the gradient of the n-th output.
"""

from functools import partial
from itertools import combinations
from types import SimpleNamespace

import numpy as np
from flint import arb, arb_mat, ctx
from mpmath import mp
from scipy.integrate import solve_ivp


def square(f, y):
    """−log of Σ(f − y)²/2N, and −∂/∂f of the loss itself."""
    r = f - y
    with np.errstate(divide="ignore"):
        return -np.log(np.sum(r * r) / (2 * len(y))), -r / len(y)


def _log_of_sum(logs):
    """log Σ exp; for a few numbers, a hundred times as fast as SciPy's."""
    largest = logs.max()
    return largest + np.log(np.exp(logs - largest).sum())


def exponential(f, y):
    """−log of the mean of exp(−yf), and −∂/∂f of log loss."""
    total = _log_of_sum(-y * f)
    return np.log(len(y)) - total, y * np.exp(-y * f - total)


def logistic(f, y):
    """−log of the mean of log(1 + exp(−yf)), and −∂/∂f of log loss."""
    m = y * f
    with np.errstate(under="ignore"):
        size = np.where(m > 30, -m - np.exp(-np.abs(m)) / 2, np.log(np.logaddexp(0, -np.minimum(m, 30))))
        total = _log_of_sum(size)
        return np.log(len(y)) - total, y * np.exp(-np.logaddexp(0, m) - total)


def _linear(predictor, slopes):
    """A network with outputs X w and one weight vector after another for each coordinate of w."""
    return SimpleNamespace(
        predictor=predictor,
        outputs=lambda weights, X: X @ predictor(weights),
        pull=lambda weights, X, r: [slope * (r @ X) for slope in slopes(weights)],
    )


def power_network(depth):
    """w₊^D − w₋^D (Woodworth et al. 2020, equation 10)."""
    return _linear(
        lambda w: w[0] ** depth - w[1] ** depth,
        lambda w: [depth * w[0] ** (depth - 1), -depth * w[1] ** (depth - 1)],
    )


def product_network():
    """u₊v₊ − u₋v₋ (Azulay et al. 2021, Section 4)."""
    return _linear(lambda w: w[0] * w[1] - w[2] * w[3], lambda w: [w[1], w[0], -w[3], -w[2]])


def linear_neuron():
    """a·⟨w, x⟩ (Azulay et al. 2021, Section 5)."""
    return SimpleNamespace(
        predictor=lambda p: p[0] * p[1],
        outputs=lambda p, X: p[0] * (X @ p[1]),
        pull=lambda p, X, r: [np.asarray(r @ (X @ p[1])), p[0] * (r @ X)],
    )


def rounded_neuron(slope, eps):
    """a·σ(⟨w, x⟩), the kink of σ(t) = max(t, slope·t) rounded over eps (Azulay et al. 2021, Section 8)."""
    high, low = (1 + slope) / 2, (1 - slope) / 2

    def sigma(t):
        return high * t + low * np.hypot(t, eps)

    def pull(p, X, r):
        t = X @ p[1]
        return [np.asarray(r @ sigma(t)), p[0] * ((r * (high + low * t / np.hypot(t, eps))) @ X)]

    return SimpleNamespace(
        predictor=lambda p: p[0] * p[1], outputs=lambda p, X: p[0] * sigma(X @ p[1]), pull=pull
    )


def layer_network():
    """V Uᵀx with U (D, h) and V (m, h) (Min et al. 2021, Section 2); outputs (N, m), or (N,) for m = 1."""

    def outputs(p, X):
        f = X @ (p[0] @ p[1].T)
        return f[:, 0] if f.shape[1] == 1 else f

    def pull(p, X, r):
        force = X.T @ r.reshape(len(X), -1)
        return [force @ p[1], force.T @ p[0]]

    return SimpleNamespace(predictor=lambda p: p[0] @ p[1].T, outputs=outputs, pull=pull)


def factor_network():
    """⟨U Vᵀ, X⟩ for matrices X (Woodworth et al. 2020, Section 6)."""

    def pull(p, X, r):
        force = np.einsum("n,nij->ij", r, X)
        return [force @ p[1], force.T @ p[0]]

    return SimpleNamespace(
        predictor=lambda p: p[0] @ p[1].T,
        outputs=lambda p, X: np.einsum("nij,ij->n", X, p[0] @ p[1].T),
        pull=pull,
    )


def tangent_network(network, start):
    """The linearization at `start`: outputs f₀ + J(θ − θ₀), predictor w₀ + ∂w/∂θ (θ − θ₀) where f = Xw."""
    start = [np.array(w, float) for w in start]
    sizes, known = np.cumsum([w.size for w in start])[:-1], {}

    def jacobian(X):
        if X.tobytes() not in known:
            rows = [network.pull(start, X, unit) for unit in np.eye(len(X))]
            flat = np.array([np.concatenate([np.ravel(g) for g in row]) for row in rows])
            known[X.tobytes()] = network.outputs(start, X), flat
        return known[X.tobytes()]

    def outputs(weights, X):
        f, J = jacobian(X)
        return f + J @ np.concatenate([np.ravel(w - o) for w, o in zip(weights, start, strict=True)])

    def pull(weights, X, r):
        parts = np.split(r @ jacobian(X)[1], sizes)
        return [part.reshape(w.shape) for part, w in zip(parts, start, strict=True)]

    features = np.eye(len(network.predictor(start)))
    return SimpleNamespace(predictor=lambda weights: outputs(weights, features), outputs=outputs, pull=pull)


def _crossings(level, accuracies):
    """Events of `solve_ivp`, one for each level, of which the last is terminal; the state is evaluated once
    per time."""
    seen = {}

    def now(time, state):
        if time not in seen:
            seen.clear()
            seen[time] = level(state)
        return seen[time]

    def crossing(accuracy):
        return lambda time, state: now(time, state) - accuracy

    events = [crossing(accuracy) for accuracy in accuracies]
    events[-1].terminal = True
    return events


def raw_flow(weights, network, X, y, loss, accuracies, *, rtol=1e-12, horizon=1e14):
    """Gradient flow of the raw weights up to each of the accuracies γ̃ = −log loss: LSODA, roots located.

    The square loss is integrated in training time. The others are integrated in s with dθ/ds = −∇L/L, which
    avoids underflow, together with p = t·L, dp/ds = 1 − p‖∇L/L‖², so that log t = log p + γ̃.
    Returns predictor (T, …), log_time (T,), weights (a list for each accuracy).
    """
    weights = [np.array(w, float) for w in weights]
    ends, ordinary = np.cumsum([w.size for w in weights]), loss is square
    places = [(slice(end - w.size, end), w.shape) for w, end in zip(weights, ends, strict=True)]

    def split(state):
        return [state[place].reshape(shape) for place, shape in places]

    def velocity(_, state):
        current = split(state)
        slope = loss(network.outputs(current, X), y)[1]
        rates = np.zeros_like(state)
        for (place, _), pull in zip(places, network.pull(current, X, slope), strict=True):
            rates[place] = np.ravel(pull)
        if not ordinary:
            rates[-1] = 1 - state[-1] * (rates[:-1] @ rates[:-1])
        return rates

    def level(state):
        return loss(network.outputs(split(state), X), y)[0]

    flat = np.concatenate([np.ravel(w) for w in weights])
    atol = np.append(np.full(flat.size, 1e-3 * rtol * np.abs(flat[flat != 0]).min()), 1e-3 * rtol)
    options = {"rtol": rtol, "atol": atol, "events": _crossings(level, accuracies)}
    run = solve_ivp(velocity, (0, horizon), np.append(flat, 0.0), "LSODA", **options)
    if run.status != 1 or not all(len(times) for times in run.t_events):
        raise ArithmeticError("the flow did not reach the accuracies")
    states = [states[0] for states in run.y_events]
    clock = [times[0] for times in run.t_events] if ordinary else [state[-1] for state in states]
    with np.errstate(divide="ignore"):
        log_time = np.log(clock) + (0 if ordinary else np.asarray(accuracies))
    ends = [split(state) for state in states]
    predictor = np.array([network.predictor(end) for end in ends])
    return SimpleNamespace(predictor=predictor, log_time=log_time, weights=ends)


def smoothed_leaky(slope, X, y, eps):
    """Outputs, velocity and Jacobian at (a, w) of a·σ(w·x), σ(t) = (1+ρ)/2·t + (1−ρ)/2·√(t² + eps²)."""
    N, high, low = len(y), (1 + slope) / 2, (1 - slope) / 2

    def parts(state):
        t = X @ state[1:]
        size = np.hypot(t, eps)
        return high * t + low * size, high + low * t / size, low * eps**2 / size**3

    def velocity(_, state):
        value, rise, _ = parts(state)
        r = (y - state[0] * value) / N
        return np.append(r @ value, state[0] * ((r * rise) @ X))

    def jacobian(_, state):
        value, rise, bend = parts(state)
        r = (y - state[0] * value) / N
        cross = (rise * (r - state[0] * value / N)) @ X
        inner = (X.T * (r * state[0] * bend - (state[0] * rise) ** 2 / N)) @ X
        return np.block([[np.atleast_2d(-value @ value / N), cross[None]], [cross[:, None], inner]])

    return lambda state: state[0] * parts(state)[0], velocity, jacobian


def smoothed_leaky_flow(a, w, slope, X, y, accuracies, *, eps=1e-8, rtol=1e-10, horizon=1e9):
    """The neuron a·σ(w·x) under the square loss Σ(f − y)²/2N, kink rounded over eps: Radau, exact Jacobian.

    Where the exact flow slides along a kink, this one stays within a few eps of it. Returns predictor (T, d),
    log_time (T,), output (T,), weights (T, d), and the number of samples that stayed on their kink for some
    time: `slid`.
    """
    outputs, velocity, jacobian = smoothed_leaky(slope, X, y, eps)

    events = _crossings(lambda state: square(outputs(state), y)[0], accuracies)
    options = {"jac": jacobian, "events": events, "rtol": rtol, "atol": 1e-2 * rtol}
    run = solve_ivp(velocity, (0, horizon), np.append(a, w), "Radau", **options)
    if run.status != 1:
        raise ArithmeticError("the flow did not reach the accuracies")
    states = np.array([states[0] for states in run.y_events])
    stays = [_longest_stay(np.abs(t) < 100 * eps, run.t) for t in X @ run.y[1:]]
    return SimpleNamespace(
        predictor=states[:, :1] * states[:, 1:],
        log_time=np.log([times[0] for times in run.t_events]),
        output=states[:, 0],
        weights=states[:, 1:],
        slid=sum(stay > 1e-3 for stay in stays),
    )


def _longest_stay(inside, times):
    """The longest time interval between two steps in which all steps are `inside`."""
    longest, since = 0.0, None
    for here, time in zip(inside, times, strict=True):
        since = (time if since is None else since) if here else None
        longest = max(longest, 0.0 if since is None else time - since)
    return longest


def _number(value):
    """Exactly the float or mpf given, as an arb."""
    sign, mantissa, exponent, _ = mp.convert(value)._mpf_
    return arb((-int(mantissa) if sign else int(mantissa), int(exponent)))


_numbers = np.frompyfunc(_number, 1, 1)
_middle = np.frompyfunc(lambda ball: ball.mid(), 1, 1)


def _solve(matrix, right):
    right = arb_mat(len(right), 1, list(_middle(right)))
    return _middle(np.array(arb_mat(_middle(matrix).tolist()).solve(right, algorithm="approx").entries()))


def _largest(values):
    return max(abs(v) for v in values.ravel())


class _Collocation:
    """Interpolation by polynomials of degree s at 0 and the Radau points c (the roots of P_s − P_{s−1} on (0,
    1]).

    u'(cᵢ) = Σ slopes[i, j] (u(cⱼ) − u(0)); `leading` takes u(0), u(c₁), … to the coefficient of xˢ.
    """

    def __init__(self, stages):
        series = np.append(np.zeros(stages - 1), [-1, 1])
        with mp.workdps(int(ctx.dps) + 10):
            guesses = sorted(np.polynomial.legendre.legroots(series).real)[:-1]
            points = [mp.findroot(partial(_radau, stages), (1 + mp.mpf(x)) / 2) for x in guesses]
            points.append(mp.mpf(1))
            powers = mp.matrix([[c**k for k in range(1, stages + 1)] for c in points])
            rates = mp.matrix([[k * c ** (k - 1) for k in range(1, stages + 1)] for c in points])
            self.points = _numbers(np.array(points, object))
            self.slopes = _numbers(np.array((rates * powers**-1).tolist(), object))
        self.nodes = np.append(arb(0), self.points)
        self.leading = 1 / np.array([np.prod(np.delete(c - self.nodes, i)) for i, c in enumerate(self.nodes)])

    def extrapolation(self, x):
        """The weights of u(0), u(c₁), … in u(x)."""
        products = [np.prod(np.delete(x - self.nodes, i)) for i in range(len(self.nodes))]
        return _middle(np.array(products, object) * self.leading)


def _radau(stages, c):
    return mp.legendre(stages, 2 * c - 1) - mp.legendre(stages - 1, 2 * c - 1)


class _Margins:
    """f = λ Z W with Wᵢ = πᵢᴰ h_D(πᵢ^{D−2} sᵢ), s = Zᵀθ, π the profile."""

    def __init__(self, Z, depth, scale, profile):
        self.Z, self.scale = _numbers(np.array(Z, float)), scale
        self.power = None if depth == 2 else arb(depth) / (arb(depth) - 2)
        profile = _numbers(np.ones(len(self.Z[0])) if profile is None else np.array(profile, float))
        self.outer, self.inner = profile ** arb(depth), profile ** (arb(depth) - 2)

    def predictor(self, theta):
        """W and dW/ds for every row θ; None if some s is outside the domain of h_D."""
        s, p = theta @ self.Z * self.inner, self.power
        if p is None:
            return self.outer * 2 * np.sinh(s), self.outer * 2 * np.cosh(s)
        if not all(abs(v) < 1 for v in s.ravel()):
            return None
        up, down = (1 - s) ** -p, (1 + s) ** -p
        return self.outer * (up - down), self.outer * self.inner * p * (up / (1 - s) + down / (1 + s))

    def kernel(self, slope):
        """df/dθ."""
        return self.scale * ((self.Z * slope) @ self.Z.T)


class _Exponential:
    """With a = −∂ℓ/∂f: ℓ = e^{−f} = a, and e^{−f} = a."""

    start = staticmethod(lambda: (arb(0), arb(1)))  # γ̃, and d(mean f)/dγ̃, at f = 0
    odds = staticmethod(lambda a: (a, 1 + 0 * a))  # e^{−f}, and d log(e^{−f}) / d log a
    weight = staticmethod(lambda odds: (odds, 1 + 0 * odds))  # a, and d log a / d log(e^{−f})
    loss = staticmethod(lambda a: (a, 1 + 0 * a))  # ℓ, and dℓ/da


class _Logistic:
    """With a = −∂ℓ/∂f: ℓ = log(1 + e^{−f}) = −log(1 − a), and e^{−f} = a/(1 − a)."""

    start = staticmethod(lambda: (-arb(2).log().log(), 2 * arb(2).log()))
    odds = staticmethod(lambda a: (a / (1 - a), 1 / (1 - a)))
    weight = staticmethod(lambda odds: (odds / (1 + odds), 1 / (1 + odds)))
    loss = staticmethod(lambda a: (-np.log1p(-a), 1 / (1 - a)))


def _normalization(q, level, loss):
    """ρ with Σ ℓ(e^ρ q) = e^level: Newton's method from the right on an increasing convex function."""
    rho = level - sum(q).log()
    if loss is _Logistic:
        rho = min(rho, (arb(0.999) / max(q)).log())
    for _ in range(60):
        a = np.exp(rho) * q
        value, rate = loss.loss(a)
        step = (sum(value).log() - level) * sum(value) / sum(a * rate)
        rho = (rho - step).mid()
        if abs(step) < 1e-12:
            break
    return rho


def _equations(margins, loss, theta, q, rho, level, length):
    """The N + 1 equations of one stage, and their derivatives by θ, qₙ (in the n-th), q (in the last) and ρ.

    aₙ = e^ρ qₙ is the weight of sample n, represented by its logarithm unless it is tiny; the last equation
    sets the loss to e^{−γ̃}.
    """
    found = margins.predictor(theta[None])
    if found is None or not max(q) > 0:
        return None
    f, K = margins.scale * (margins.Z @ found[0][0]), margins.kernel(found[1][0])
    a = np.exp(rho) * q
    if loss is _Logistic and not all(v < 1 for v in a):
        return None
    target, bend = loss.weight(np.exp(-f))
    target = target / rho.exp()
    rows, by_q, by_rho = [], [], []
    for n in range(len(f)):
        small = min(max(q) / 100, 1 / (K[n, n] * length))
        if q[n] > small or target[n] > small:
            value = max(q[n], small)
            odds, lift = loss.odds(rho.exp() * value)
            rows.append((f[n] + odds.log(), K[n]))
            by_q.append(lift / value)
            by_rho.append(lift)
        else:
            rows.append((q[n] - target[n], K[n] * bend[n] * target[n]))
            by_q.append(arb(1))
            by_rho.append(target[n])
    value, rate = loss.loss(a)
    residuals, by_theta = zip(*rows, strict=True)
    last = np.exp(rho) * rate / sum(value)
    by_rho.append(sum(a * rate) / sum(value))
    return [*residuals, sum(value).log() - level], np.array(by_theta), by_q, last, by_rho


def _newton(margins, loss, rule, origin, theta, length, levels, tol):
    """The values Θ (s, N) of the collocation polynomial over a step, and ρ (s,); None if not found."""
    s, N = theta.shape
    each = np.arange(N)
    q = _middle(rule.slopes @ (theta - origin) / length)
    if margins.predictor(theta) is None or not all(max(row) > 0 and sum(row) > 0 for row in q):
        return None
    rho = np.array([_normalization(row, level, loss) for row, level in zip(q, levels, strict=True)])
    for _ in range(25):
        by_theta, by_rho = np.full((s, N + 1, s, N), arb(0)), np.full((s, N + 1, s), arb(0))
        right, rates = np.full((s, N + 1), arb(0)), rule.slopes / length
        for i in range(s):
            found = _equations(margins, loss, theta[i], q[i], rho[i], levels[i], length)
            if found is None:
                return None
            right[i], by_theta[i, :N, i], by_q, last, by_rho[i, :, i] = found
            by_theta[i, each, :, each] += np.outer(by_q, rates[i])
            by_theta[i, N] += np.outer(rates[i], last)
        matrix = np.concatenate([by_theta.reshape(right.size, s * N), by_rho.reshape(right.size, s)], axis=1)
        try:
            step = -_solve(matrix, right.ravel())
        except ZeroDivisionError:
            return None
        step, turn = step[: s * N].reshape(s, N), step[s * N :]
        change, fraction = _middle(rule.slopes @ step / length), arb(1)
        for value, move in zip(q.ravel(), change.ravel(), strict=True):
            if value > max(q.ravel()) / 100 and value + move < 0:
                fraction = min(fraction, (-value / move * 0.9).mid())
        theta, rho = _middle(theta + fraction * step), _middle(rho + fraction * turn)
        found = margins.predictor(theta)
        if found is None or not all(v.is_finite() for v in theta.ravel()):
            return None
        moved = _largest(found[1] * (step @ margins.Z)) / _largest(found[0])
        if fraction == 1 and moved < tol and _largest(turn) < 1e-6:
            return theta, rho
        q = _middle(rule.slopes @ (theta - origin) / length)
    return None


def exact_exp_flow(
    Z, depth, log_lambda, accuracies, *, loss="exp", profile=None, digits=30, stages=8, tol=1e-15
):
    """A diagonal network with the exponential (or "logistic") loss at any λ = α^D, in multiprecision
    arithmetic.

    The rows of Z are yₙxₙ. w = λW, W = h_D(Zᵀθ), and θ' is proportional to the weights a = −∂ℓ/∂f of the
    samples: aₙ(λZW) = e^ρ θₙ' with L = e^{−γ̃}. The clock is x = log(1 + g/g₀), γ̃ = γ̃(0) + λg; the method is
    collocation at Radau points with steps such that the last power of the polynomial contributes `tol`
    relative to w.
    Time is p e^{γ̃}, with dp/dx = N e^{−γ̃−ρ}/c − p dγ̃/dx and c = D(D−2)α^{D−2} (4 for D = 2).
    Returns predictor (T, d), log_time (T,), dual (T, N) and the number of steps.
    """
    loss = {"exp": _Exponential, "logistic": _Logistic}[loss]
    with ctx.workdps(digits + 10 + int(abs(log_lambda))):  # small W cancel in h_D, large ones in 1 − s
        N, scale, D = len(Z), _number(log_lambda).exp(), arb(depth)
        margins, rule = _Margins(Z, depth, scale, profile), _Collocation(stages)
        rate = arb(4) if depth == 2 else D * (D - 2) * (_number(log_lambda) * (D - 2) / D).exp()
        (begin, lift), unit = loss.start(), min(arb(1), 1 / scale) / 10
        ends = [(1 + (_number(g) - begin) / (scale * unit)).log().mid() for g in accuracies]
        theta, x, clock, before = np.full(N, arb(0)), arb(0), arb(0), None
        length, steps, found = arb(0.01), 0, []
        for end, accuracy in zip(ends, accuracies, strict=True):
            while x < end:
                last = bool(x + length >= end)
                H = (end - x if last else min(length, (end - x) / 2)).mid()
                speed = scale * unit * np.exp(x + rule.points * H)
                levels = _middle(arb(N).log() - begin + scale * unit - speed)
                if before is None:  # all samples alike
                    K = margins.kernel(margins.predictor(theta[None])[1][0]).sum()
                    guess = np.outer((arb(N).log() - begin - levels) * lift * N / K, np.full(N, arb(1)))
                else:
                    table = np.array([rule.extrapolation(1 + H / before[0] * c) for c in rule.points])
                    guess = table @ before[1]
                solved = _newton(
                    margins, loss, rule, theta, _middle(guess), H, levels, arb(10) ** (8 - digits)
                )
                if solved is None:
                    length = (H / 3).mid()
                    if length < 1e-13:
                        raise ArithmeticError("the steps have become too short")
                    continue
                stage, rho = solved
                values = np.vstack([theta[None], stage])
                W, slope = (each[-1] for each in margins.predictor(stage))
                top = rule.leading @ values / 4**stages  # ∏(x − cᵢ) is of the order of 4^{−s}
                error = float((_largest(slope * (top @ margins.Z)) / _largest(W)).mid())
                factor = arb(min(3.0, max(0.2, 0.9 * (tol / max(error, 1e-300)) ** (1 / stages))))
                if error > tol:
                    length = (H * factor).mid()
                    continue
                source = np.exp(levels - rho) / rate + rule.slopes.sum(axis=1) * clock / H
                clock = _solve(rule.slopes / H + np.diag(speed), source)[-1]
                before, theta = (H, values), stage[-1]
                x, steps = (end if last else (x + H).mid()), steps + 1
                length = max(length, H * factor).mid() if last else (H * factor).mid()
            w = scale * margins.predictor(theta[None])[0][0]
            found.append((w.astype(float), float(clock.log() + _number(accuracy)), theta.astype(float)))
        predictor, log_time, dual = (np.array(each) for each in zip(*found, strict=True))
    return SimpleNamespace(predictor=predictor, log_time=log_time, dual=dual, steps=steps)


def sweeping_flow(Z, depth, levels, *, steps=1000):
    """W at each level g of the process θ' ≥ 0, m ≥ g, θ'·(m − g) = 0, m = Z h_D(Zᵀθ): the flow as λ → ∞.

    Each of the steps, geometric in g, tries every support A: m_A = g by Newton's method with the other θ
    fixed.
    """
    N, p = len(Z), None if depth == 2 else depth / (depth - 2)
    supports = [np.array(A, int) for k in range(1, N + 1) for A in combinations(range(N), k)]

    def h(s):
        if p is None:
            return 2 * np.sinh(s), 2 * np.cosh(s)
        return (1 - s) ** -p - (1 + s) ** -p, p * ((1 - s) ** (-p - 1) + (1 + s) ** (-p - 1))

    def advanced(theta, g, A):
        theta = theta.copy()
        for _ in range(30):
            W, slope = h(Z.T @ theta)
            move = np.linalg.solve(((Z * slope) @ Z.T)[np.ix_(A, A)], g - (Z @ W)[A])
            theta[A] += move
            if p is not None and np.abs(Z.T @ theta).max() >= 1:
                return None
            if np.abs(move).max() < 1e-14:
                return theta
        return None

    theta, found, support = np.zeros(N), [], supports[-1]
    grid = np.geomspace(levels[0] / 100, levels[-1], steps)
    for g in np.union1d(grid, levels):
        for A in [support, *supports]:
            moved = advanced(theta, g, A)
            if moved is None or (moved < theta - 1e-13).any():
                continue
            W = h(Z.T @ moved)[0]
            if ((Z @ W) / g).min() > 1 - 1e-10:
                theta, support = moved, A
                break
        else:
            raise ArithmeticError("no support fits")
        if g in levels:
            found.append(W)
    return np.array(found)
