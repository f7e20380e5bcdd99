"""Independent references: the papers' formulas in any precision, and plain ODEs on the raw weights.

Formulas of one coordinate are evaluated as printed; if terms cancel, the precision is increased.
"""

from functools import cache
from types import SimpleNamespace

import numpy as np
from flint import arb, arb_mat, ctx
from mpmath import mp, mpf
from scipy.integrate import solve_ivp


def gaussian_problem(samples, features, nonzero=5, noise=0.1, seed=0):
    """Sparse regression of Woodworth et al. 2020: Gaussian X, `nonzero` equal coefficients of unit norm."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((samples, features))
    return X, X[:, :nonzero].sum(axis=1) / np.sqrt(nonzero) + noise * rng.standard_normal(samples)


def h(s, depth):
    """h_D(s) = (1−s)^{−D/(D−2)} − (1+s)^{−D/(D−2)} (Woodworth et al. 2020, Theorem 3); 2 sinh s for D = 2."""
    if depth == 2:
        return 2 * mp.sinh(s)
    power = mpf(depth) / (mpf(depth) - 2)
    return (1 - s) ** -power - (1 + s) ** -power


@cache
def _zeta(x, depth, digits):
    """ζ with h_D(ζ) = x for D = 2 and h_D(tanh ζ) = x for D > 2: Newton on the convex log|x| (log|ζ|).

    digits: the current precision.
    """
    if depth == 2 or x == 0:
        return mp.asinh(x / 2)
    power = mpf(depth) / (mpf(depth) - 2)
    zeta = mp.asinh(abs(x) / 2) / power
    step = mpf(1)
    while abs(step) > mpf(10) ** (-digits // 2 - 2):
        excess = mp.log(2 * mp.sinh(power * zeta) / abs(x)) + power * mp.log(mp.cosh(zeta))
        step = excess / (zeta * power * (mp.tanh(zeta) + mp.coth(power * zeta)))
        zeta *= mp.exp(-step)
    return mp.sign(x) * zeta


def h_inverse(x, depth):
    """The s in (−1, 1) with h_D(s) = x; arcsinh(x/2) for D = 2."""
    zeta = _zeta(x, depth, mp.dps)
    return zeta if depth == 2 else mp.tanh(zeta)


def q(x, depth=2):
    """q_D(x) = ∫₀ˣ h_D⁻¹: the formula of Theorem 1 for D = 2, Legendre's x·s − ∫₀ˢ h_D for D > 2."""
    if depth == 2:
        return 2 - mp.sqrt(4 + x * x) + x * mp.asinh(x / 2)
    s, power = h_inverse(x, depth), 2 / (mpf(depth) - 2)
    return x * s - ((1 - s) ** -power + (1 + s) ** -power - 2) / power


def q_hessian(x, depth=2):
    """q_D''(x) = 1/h_D'(h_D⁻¹(x))."""
    if depth == 2:
        return 1 / mp.sqrt(4 + x * x)
    s, power = h_inverse(x, depth), mpf(depth) / (mpf(depth) - 2)
    return 1 / (power * ((1 - s) ** (-power - 1) + (1 + s) ** (-power - 1)))


def distance_quartic(x):
    """Coefficients, highest first, of the polynomial of which r(x) is a root (Woodworth et al. 2020)."""
    return [1, -6, 12 - 2 * x**2, -(8 + 10 * x**2), x**2 + x**4]


def r(x, depth=2):
    """The smallest real root of that quartic, bisected between 0 and a point where it is negative."""
    low, high, quartic = mpf(0), min(abs(x), x * x / 8), np.array(distance_quartic(x), object)
    assert x == 0 or np.polyval(quartic, low) > 0 > np.polyval(quartic, high)
    while high - low > high * mpf(10) ** -min(mp.dps - 2, 40):
        middle = (low + high) / 2
        low, high = (middle, high) if np.polyval(quartic, middle) > 0 else (low, middle)
    return high


def q_azulay(x, k):
    """q_k(x) of Azulay et al. 2021, Theorem 1."""
    t = 2 * x / mp.sqrt(k)
    return mp.sqrt(k) / 4 * (1 - mp.sqrt(1 + t * t) + t * mp.asinh(t))


@cache
def _scale(log_scale, digits):
    """m = exp(log_scale) in this many digits."""
    with mp.workdps(digits):
        return mp.exp(mpf(log_scale))


def scaled(function, w, log_scale, depth=2, digits=60):
    """m·q(w/m), h⁻¹(w/m), q''(w/m)/m or m·r(w/m) at m = exp(log_scale), correct to `digits` digits."""
    m = _scale(log_scale, digits + 2000)
    with mp.workdps(digits + 2000):
        x = mpf(w) / m
    with mp.workdps(digits + 15 + (int(2.2 * abs(mp.log10(abs(x)))) if x else 0)):
        return m ** {h_inverse: 0, q_hessian: -1}.get(function, 1) * function(x, depth)


def bregman(w, origin, log_scale, depth=2, digits=60):
    """Q(w) − Q(o) − Q'(o)(w − o) of one coordinate, with additional digits for the cancellation."""
    gap = mpf(w) - mpf(origin)
    lost = int(2.2 * mp.log10(abs(origin / gap))) if origin and gap else 0
    with mp.workdps(digits + 30 + max(0, lost)):
        value, base = (scaled(q, point, log_scale, depth, mp.dps) for point in (w, origin))
        return value - base - scaled(h_inverse, origin, log_scale, depth, mp.dps) * gap


_middle = np.frompyfunc(lambda ball: ball.mid(), 1, 1)  # of object arrays of arb, the numbers of exact_limit


def _ball(value):
    """Exactly the float or mpf given."""
    sign, mantissa, exponent, _ = mp.convert(value)._mpf_
    return arb((-int(mantissa) if sign else int(mantissa), int(exponent)))


def _times(matrix, vector):
    return np.array((matrix * arb_mat(len(vector), 1, list(vector))).entries(), object)


def _state(model, zeta):
    """β, z and dβ/dz. D = 2: β = 2m sinh ζ, z = ζ. D > 2: β = 2m coshᵖζ sinh pζ, z = tanh ζ."""
    m, p, cosh = 2 * model.scale, model.power, np.cosh(zeta)
    if p is None:
        return m * np.sinh(zeta), zeta, m * cosh
    return m * cosh**p * np.sinh(zeta * p), np.tanh(zeta), m * cosh ** (p + 1) * np.cosh(zeta * (p + 1)) * p


def _moved(p, t, z, dz):
    """ζ after z → z + dz, to first order; approximately linear in β if |β| grows, linear in z if it
    decreases."""
    if z * dz < 0:
        return z + dz if p is None or (z + dz) * z < 0 else (z + dz).atanh()
    step = dz if p is None else dz * t.cosh() ** 2
    rate = abs(t.tanh()) if p is None else p * (abs(t.tanh()) + abs((p * t).tanh()))
    return t + step if rate == 0 else t + step.sgn() * (rate * abs(step)).log1p() / rate


def _ratio(part, whole):
    """max|part| / max|whole|, or max|part| if the whole is 0."""
    size, unit = (max(_middle(abs(vector))) for vector in (part, whole))
    return size / unit if unit > 0 else size


def _newton(model, X, y, zeta, tol):
    """ζ with Xβ = y and weight·z − offset = Xᵀν, with both residuals and the step in β below `tol`; None if
    this is not reached."""
    for _ in range(100):
        beta, z, slope = _state(model, zeta)
        force, slope = model.weight * z - model.offset, _middle(slope / model.weight)
        XW = arb_mat((np.array(X.tolist(), object) * slope).tolist())
        error = y - _times(X, beta)
        try:
            right = arb_mat(len(y), 1, list(error + _times(XW, force)))
            nu = (XW * X.transpose()).solve(right, algorithm="approx").entries()
        except ZeroDivisionError:
            return None
        misfit = _times(X.transpose(), nu) - force
        if max(_ratio(error, y), _ratio(misfit, model.weight * z), _ratio(slope * misfit, beta)) < tol:
            return zeta
        moves = zip(zeta, z, _middle(misfit / model.weight), strict=True)
        zeta = _middle(np.array([_moved(model.power, *move) for move in moves], object))
        if not all(t.is_finite() for t in zeta):
            return None
    return None


def _path(model, X, y):
    """ζ reached from the start of the flow, ν = 0, along y₀ + τ(y − y₀) with τ growing geometrically to 1."""
    zeta = np.array([v if model.power is None else v.atanh() for v in model.offset / model.weight], object)
    origin = _times(X, _state(model, zeta)[0])
    target = arb_mat(len(y), 1, list(y - origin))
    shortest = _times(X.transpose(), (X * X.transpose()).solve(target, algorithm="approx").entries())
    reached = min(_middle(model.scale)) / (1000 * _ratio(shortest, shortest * 0))
    drift, growth = zeta * 0, arb(4)
    while growth > 1.001:
        tau = min(reached * growth, arb(1)).mid()
        length, goal = (tau / reached).log(), origin + (y - origin) * tau
        found = _newton(model, X, goal, _middle(zeta + drift * length), 1e-40 if tau == 1 else 1e-25)
        if found is None:
            growth = growth.sqrt()
            continue
        if tau == 1:
            return found
        drift, zeta, reached, growth = (found - zeta) / length, found, tau, growth**1.25
    raise ArithmeticError("Newton's method did not reach the limit")


def exact_limit(X, y, *, depth, log_scale, weight=1, offset=0, start=None, digits=60):
    """The β with Xβ = y and weight·q_D'(β/m) − offset = Xᵀν, an array of mpf, by Newton in `digits` digits.

    Q is strictly convex and X has full row rank, so β is unique; a `start` only saves time. Raises
    ArithmeticError unless both relative residuals and the last step in β are below 1e-40.
    """
    given = [np.broadcast_to(np.asarray(v, object), np.shape(X)[1]) for v in (log_scale, weight, offset)]
    digits += int((1 if depth == 2 else 3) * max(0, -min(map(float, given[0])) / np.log(10)))
    with ctx.workdps(digits), mp.workdps(digits):
        log_scale, weight, offset = (np.array([_ball(v) for v in vector], object) for vector in given)
        power = None if depth == 2 else arb(depth) / (arb(depth) - 2)
        model = SimpleNamespace(scale=np.exp(log_scale), weight=weight, offset=offset, power=power)
        X, y = arb_mat(np.asarray(X).tolist()), np.array([arb(v) for v in np.asarray(y).tolist()], object)
        zeta = None
        if start is not None:
            x = [mpf(float(w)) / mp.exp(mpf(v)) for w, v in zip(start, given[0], strict=True)]
            zeta = _newton(model, X, y, np.array([_ball(_zeta(v, depth, mp.dps)) for v in x], object), 1e-40)
        beta = _state(model, _path(model, X, y) if zeta is None else zeta)[0]
        return np.array([mpf(v.mid().str(digits, radius=False)) for v in beta], object)


def bits_decide_nothing(depth, scale):
    """Whether the slacks 1 − |s| = m^{(D−2)/D} of tied features are far above 2⁻⁵³, the effect of the last
    bits of X on s.

    Tied features share the predictor according to their slacks. At depth 2 slopes are unbounded.
    """
    return depth == 2 or scale ** ((depth - 2) / depth) >= 1e9 * 2.0**-53  # shares are known to 1e-9, times d


def relative_error(computed, exact):
    """‖computed − exact‖₂ / ‖exact‖₂."""
    with mp.workdps(100):
        return float(mp.norm(np.asarray(computed, object) - exact) / mp.norm(exact))


def powers(depth):
    """w₊^D − w₋^D, from two weights per coordinate: its value, slopes (2, d) and curvatures (2, 2, d)."""
    sign, bend = np.array([[depth], [-depth]]), (depth - 1) * np.diag([depth, -depth])[:, :, None]
    return (
        lambda w: w[0] ** depth - w[1] ** depth,
        lambda w: sign * w ** (depth - 1),
        lambda w: bend * w ** (depth - 2),
    )


def products():
    """u₊v₊ − u₋v₋, from the weights u₊, v₊, u₋, v₋: its value, slopes and curvatures."""
    swap = np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, -1], [0, 0, -1, 0]], float)
    return lambda w: w[0] * w[1] - w[2] * w[3], lambda w: swap @ w, lambda w: swap[:, :, None] + 0 * w[0]


def parameter_flow(weights, parametrization, X, y, *, residual=1e-12, rtol=1e-12):
    """The limit of gradient flow on ½‖Xw − y‖²: LSODA on the weights (k, d), exact Jacobian."""
    (value, slope, curvature), weights = parametrization, np.array(weights, float)
    shape, each = weights.shape, np.arange(X.shape[1])

    def velocity(_, flat):
        w = flat.reshape(shape)
        return -(slope(w) * (X.T @ (X @ value(w) - y))).ravel()

    def jacobian(_, flat):
        w = flat.reshape(shape)
        blocks = np.einsum("ai,ij,bj->aibj", slope(w), X.T @ X, slope(w))
        blocks[:, each, :, each] += (curvature(w) * (X.T @ (X @ value(w) - y))).transpose(2, 0, 1)
        return -blocks.reshape(flat.size, flat.size)

    def fitted(_, flat):
        return np.log(np.linalg.norm(X @ value(flat.reshape(shape)) - y) / np.linalg.norm(y) / residual)

    fitted.terminal = True
    options = {"jac": jacobian, "events": fitted, "rtol": rtol, "atol": 1e-3 * rtol * np.abs(weights).min()}
    run = solve_ivp(velocity, (0, 1e12), weights.ravel(), "LSODA", **options)
    if run.status != 1:
        raise ArithmeticError("the flow did not fit the data")
    return value(run.y[:, -1].reshape(shape))
