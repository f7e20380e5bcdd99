"""Independent references for maximum margins: argmin norm(w) subject to Z w ≥ 1, for small problems.

Floats are rational numbers, so the ℓ1 and ℓ2 margins, and the vertices on which all local minima for p < 1
lie, are found by trying every candidate in exact arithmetic. Other norms and potentials are minimized in 60
digits on every support; the optimality conditions identify the correct one.
"""

from itertools import combinations

import numpy as np
from flint import arb, arb_mat, ctx, fmpq, fmpq_mat
from mpmath import mp, mpf
from oracles import exact_limit, h_inverse
from scipy.optimize import linprog

NEGLIGIBLE = mpf(10) ** -30


def _rational(Z):
    return [[fmpq(*float(x).as_integer_ratio()) for x in row] for row in np.asarray(Z)]


def _floats(exact):
    return np.array([[int(x.p) / int(x.q) for x in row] for row in exact])


def _dot(a, b):
    return sum((x * y for x, y in zip(a, b, strict=True)), fmpq(0))


def _solved(rows, right):
    """The exact solution of a square system, or None if it is singular."""
    n = len(rows)
    try:
        return fmpq_mat(n, n, [x for row in rows for x in row]).solve(fmpq_mat(n, 1, right)).entries()
    except ZeroDivisionError:
        return None


def _subsets(n, largest, smallest=1):
    for size in range(smallest, min(n, largest) + 1):
        yield from combinations(range(n), size)


def exact_l2(Z):
    """argmin ‖w‖₂, and multipliers with w = Zᵀν, as floats: each independent support in rational numbers.

    w is a combination of samples at the margin, and by Carathéodory of independent ones.
    """
    rows = _rational(Z)
    samples, features = np.shape(Z)
    for support in _subsets(samples, features):
        held = [rows[n] for n in support]
        nu = _solved([[_dot(a, b) for b in held] for a in held], [fmpq(1)] * len(held))
        if nu is None or min(nu) < 0:
            continue
        w = [_dot(nu, column) for column in zip(*held, strict=True)]
        if min(_dot(row, w) for row in rows) >= 1:
            dual = np.zeros(samples)
            dual[list(support)] = _floats([nu])[0]
            return _floats([w])[0], dual
    raise ArithmeticError("no support satisfies the optimality conditions")


def exact_vertices(Z):
    """Every vertex of {Z w ≥ 1} cut by the coordinate planes, in rational numbers.

    In an orthant the ℓ1 norm is linear and norms with p < 1 are strictly concave, so these points include the
    vertices of the set of ℓ1 minimizers, and every local minimum for p < 1.
    """
    rows = _rational(Z)
    samples, features = np.shape(Z)
    found = set()
    for size in range(1, min(samples, features) + 1):
        for used in combinations(range(features), size):
            for tight in combinations(range(samples), size):
                part = _solved([[rows[n][i] for i in used] for n in tight], [fmpq(1)] * size)
                if part is None:
                    continue
                w = [fmpq(0)] * features
                for i, value in zip(used, part, strict=True):
                    w[i] = value
                if min(_dot(row, w) for row in rows) >= 1:
                    found.add(tuple(w))
    return sorted(found)


def exact_l1(Z, weight=None):
    """min Σ weightᵢ|wᵢ|, and the vertices of the set of minimizers as rows."""
    weight = _rational([np.ones(np.shape(Z)[1]) if weight is None else weight])[0]
    vertices = exact_vertices(Z)
    values = [_dot(weight, map(abs, w)) for w in vertices]
    least = min(values)
    return int(least.p) / int(least.q), _floats(
        [w for w, v in zip(vertices, values, strict=True) if v == least]
    )


def _edges(rows):
    """The edges of the pointed cone {rows·δ ≥ 0}, each orthogonal to all but one of as many rows."""
    size = len(rows[0])
    for chosen in combinations(rows, size - 1):
        minors = [[[row[j] for j in range(size) if j != i] for row in chosen] for i in range(size)]
        edge = [
            (-1) ** i * fmpq_mat(size - 1, size - 1, [x for row in minor for x in row]).det()
            if minor
            else fmpq(1)
            for i, minor in enumerate(minors)
        ]
        for direction in (edge, [-x for x in edge]):
            if any(direction) and min(_dot(row, direction) for row in rows) >= 0:
                yield direction


def _rises(slope, edge):
    """Whether slope·edge > 0; a tie is a maximum along the edge, since the norm is strictly concave."""
    terms = [g * int(x.p) / int(x.q) for g, x in zip(slope, edge, strict=True)]
    return sum(terms) > 1e-12 * max(map(abs, terms))


def local_minima(Z, p):
    """All local minima of ‖w‖_p over Z w ≥ 1 for p < 1, best first, as floats.

    The norm has infinite slope at coordinates that are 0, so only nonzero ones can change. In the nonzero
    coordinates the norm is strictly concave: a minimum is a vertex from which the norm increases along every
    edge.
    """
    rows, found = _rational(Z), []
    for w in exact_vertices(Z):
        used = [i for i, value in enumerate(w) if value]
        slope = [mp.sign(float(w[i])) * mpf(abs(float(w[i]))) ** (p - 1) for i in used]
        tight = [[row[i] for i in used] for row in rows if _dot(row, w) == 1]
        if all(_rises(slope, edge) for edge in _edges(tight)):
            found.append(w)
    return np.array(sorted(_floats(found).tolist(), key=lambda w: np.sum(np.abs(w) ** p)))


def scanned_minima(Z, p, fine=160):
    """Some of them by brute force: local minima of ‖θ‖_p/min(Zθ) on a grid of directions in 2 or 3 features.

    The grid contains the axes. Grid minima in oblique valleys may be spurious, so the norm is decreased from
    each of them, by random steps, which stay in the basin if it is wide enough, and by linear programs.
    """
    features, side, starts = np.shape(Z)[1], np.linspace(-1, 1, 2 * fine + 1), []
    mesh = np.stack(np.meshgrid(*[side] * (features - 1), indexing="ij"), axis=-1)
    for axis, sign in [(axis, sign) for axis in range(features) for sign in (-1.0, 1.0)]:
        theta = np.insert(mesh, axis, sign, axis=-1)
        values = _per_margin(Z, p, theta)
        around = np.pad(values, 1, constant_values=np.inf)
        corners = np.ndindex(*[3] * (features - 1))
        least = np.min([around[tuple(slice(c, c + len(side)) for c in corner)] for corner in corners], axis=0)
        starts += theta[np.isfinite(values) & (values <= least)].tolist()
    return np.array([_linear_steps(Z, p, _random_steps(Z, p, np.array(theta), 1 / fine)) for theta in starts])


def _per_margin(Z, p, theta):
    """‖θ‖_p divided by the smallest margin of θ; ∞ if that is not positive."""
    margin = (theta @ np.transpose(Z)).min(axis=-1)
    size = np.sum(np.abs(theta) ** p, axis=-1) ** (1 / p)
    return np.where(margin > 0, size, np.inf) / np.where(margin > 0, margin, 1)


def _random_steps(Z, p, theta, reach):
    rng = np.random.default_rng(0)
    for _ in range(300):  # a narrow valley is left to the linear programs
        steps = rng.standard_normal((200, len(theta))) * reach * (rng.random((200, len(theta))) < 0.6)
        tried = np.vstack([theta + steps, np.where(np.abs(theta + steps) < reach, 0, theta + steps)])
        values = _per_margin(Z, p, tried)
        if values.min() < _per_margin(Z, p, theta):
            theta = tried[values.argmin()]
        else:
            reach /= 2
        if reach < 1e-6:
            break
    return theta / (np.asarray(Z) @ theta).min()


def _linear_steps(Z, p, w):
    """Repeatedly minimize the tangent of Σ|w|^p, which is an upper bound; coordinates at 0 stay there."""
    for _ in range(20):
        used = np.abs(w) > 1e-5 * np.abs(w).max()
        A = np.asarray(Z, float)[:, used] * np.sign(w[used])
        best = linprog(np.abs(w[used]) ** (p - 1), A_ub=-A, b_ub=-np.ones(len(A)))
        if best.status != 0:  # coordinates that were small, but not 0, are needed
            return w
        previous, w = w, np.zeros(len(w))
        w[used] = best.x * np.sign(previous[used])
        if np.abs(w - previous).max() < 1e-12:
            break
    return w


def lp_on(Z, p, start=None):
    """The w of least ‖w‖_p with Z w = 1, and ν with Zᵀν = ∇‖w‖_p, for 1 < p ≤ 2: arrays of mpf.

    None if the rows of Z are dependent. Without a start, p is decreased from 2 by factors of p − 1.
    """
    digits = 120 + int(2 / (p - 1))  # nearly equal rows lose twice the number of digits that they share
    with ctx.workdps(digits), mp.workdps(digits):
        A, one = arb_mat(np.asarray(Z, float).tolist()), arb_mat([[1]] * len(Z))
        try:
            nu = np.array(((A * A.transpose()).inv() * one).entries(), object)
        except ZeroDivisionError:
            return None
        if start is not None:
            nu = np.array([arb(float(v)) for v in start], object)
        steps = 1 if start is not None else 1 + int(np.ceil(-np.log2(p - 1)))
        for power in [1 + arb(p - 1) ** (arb(k) / steps) for k in range(1, steps)] + [arb(p)]:
            w, nu = _lp_newton(A, power, nu, arb(10) ** -45)
        nu = nu / sum(abs(x) ** arb(p) for x in w if x != 0) ** (1 / arb(p))
        return tuple(np.array([mpf(v.mid().str(digits, radius=False)) for v in x], object) for x in (w, nu))


def _lp_newton(A, p, nu, tol):
    """w and ν with A w = 1 and Aᵀν = ∇½‖w‖_p²: the minimum of ½‖Aᵀν‖_q² − Σν, where 1/p + 1/q = 1."""
    q = p / (p - 1)

    def at(nu):
        u = _times(A.transpose(), nu)
        size = sum(_power(abs(x), q) for x in u) ** (1 / q)
        w = np.array([x.sgn() * size * _power(abs(x) / size, q - 1) for x in u], object)
        return u / size, size, _middle(w), (size**2 / 2 - sum(nu)).mid()

    for _ in range(200):
        u, size, w, value = at(nu)
        error = _middle(_times(A, w) - 1)
        if max(abs(error)) < tol:
            return w, nu
        bend = _middle(np.array([(q - 1) * _power(abs(x), q - 2) for x in u], object))
        lean = arb_mat([[x] for x in _times(A, w / size)])
        H = arb_mat((np.array(A.tolist(), object) * bend).tolist()) * A.transpose()
        H = H + (lean * lean.transpose()) * (2 - q)
        H = H + arb_mat(A.nrows(), A.nrows(), 1) * H.trace() * 1e-40  # singular if too many u vanish
        right = arb_mat([[x] for x in error])
        step = np.array(H.solve(right, algorithm="approx").entries(), object)
        length, slope = arb(1), sum(step * error).mid()
        while (
            slope > 1e-20
            and length > 1e-12
            and not at(nu - length * step)[3] <= value - length * slope / 1000
        ):
            length = length / 2
        nu = _middle(nu - length * step)
    raise ArithmeticError("Newton's method did not converge")


_middle = np.frompyfunc(lambda ball: ball.mid(), 1, 1)


def _times(matrix, vector):
    return np.array((matrix * arb_mat(len(vector), 1, list(vector))).entries(), object)


def _power(x, exponent):
    return x**exponent if x > 0 else arb(1 if exponent == 0 else 0)


def diagonal_on(Z, depth, log_scale, weight=1.0, origin=0.0, start=None):
    """The same for Q = Σ weight·m·q_D(w/m), m = exp(log_scale), or its Bregman divergence from the origin."""
    if np.linalg.matrix_rank(Z) < len(Z):
        return None
    with mp.workdps(80):
        scale, weight, origin = (
            np.array([mpf(float(x)) for x in np.broadcast_to(v, np.shape(Z)[1])], object)
            for v in (log_scale, weight, origin)
        )

        def slope(w):
            return [c * h_inverse(x / mp.exp(m), depth) for x, m, c in zip(w, scale, weight, strict=True)]

        offset = np.array(slope(origin), object)
        options = {"depth": depth, "log_scale": scale, "weight": weight, "offset": offset, "start": start}
        w = exact_limit(Z, np.ones(len(Z)), **options)
        force = (np.array(slope(w), object) - offset).tolist()
    with ctx.workdps(60), mp.workdps(60):
        A = arb_mat(np.asarray(Z, float).tolist())
        right = A * arb_mat([[arb(mp.nstr(x, 60))] for x in force])
        nu = (A * A.transpose()).solve(right, algorithm="approx").entries()
        return w, np.array([mpf(v.mid().str(60, radius=False)) for v in nu], object)


def certified(Z, support, solve):
    """(w, ν) in full precision if that is the support of the minimizer, otherwise None.

    `solve` minimizes subject to equality on the support. For convex functions, ν ≥ 0 and Z w ≥ 1 then prove
    optimality.
    """
    support = list(support)
    solved = solve(np.asarray(Z, float)[support])
    if solved is None:
        return None
    w, nu = solved
    with mp.workdps(60):
        shortfall = max(1 - mp.fdot(map(mpf, map(float, row)), w) for row in np.asarray(Z))
    if min(nu) < 0 or shortfall > NEGLIGIBLE:
        return None
    dual = np.full(len(Z), mpf(0), object)
    dual[support] = nu
    return w, dual


def exact_margin(Z, solve):
    """The minimizer and its multipliers in full precision, by trying all supports of independent samples."""
    for support in _subsets(len(Z), np.shape(Z)[1]):
        if (found := certified(Z, support, solve)) is not None:
            return found
    raise ArithmeticError("no support satisfies the optimality conditions")
