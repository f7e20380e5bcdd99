"""The flow at scale 0: its conditions at all times, its end, its averages, and raw weights at tiny scales."""

import json

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import linprog

import tacit

X = np.array([[1, 0.5, 0.7, 0], [0.5, 1, 0.1, 0.7]])
Y = np.array([1.0, 0.0])
TIED = np.array(
    [[1, 1, 1, 1, 0.4, 0.08], [2, 0.4, -0.5, -2, 0.12, -0.4], [-2.6, -0.6, -0.2, -0.2, 0.2, 0.32]]
)
TIED_Y = np.array([1.5, 0.42, -1.86])


def random_problem(seed, shape=(12, 40), profile=False):
    rng = np.random.default_rng(seed)
    features = rng.standard_normal(shape)
    y = features[:, :3] @ [2.0, -1.0, 0.5] + 0.5 * rng.standard_normal(shape[0])
    return features, y, rng.uniform(0.5, 2, shape[1]) if profile else None


def integers(seed):
    """Small whole numbers: ties, equal and dependent features, and coefficients that are 0 at the end."""
    rng = np.random.default_rng(seed)
    shape = (rng.integers(2, 6), rng.integers(3, 12))
    features = rng.integers(-2, 3, shape).astype(float)
    return features, features @ rng.integers(-2, 3, shape[1]), None


def basis_pursuit(features, y, thresholds):
    """min Σ θ|b| subject to Xb = y by linear programming, solved again on its support; None if not unique."""
    program = linprog(np.tile(thresholds, 2), A_eq=np.hstack([features, -features]), b_eq=y, method="highs")
    plus, minus = np.split(program.x, 2)
    b = plus - minus
    support = np.abs(b) > 1e-9 * np.abs(b).max()
    slack = thresholds - np.abs(features.T @ program.eqlin.marginals)
    b[support] = np.linalg.lstsq(features[:, support], y, rcond=None)[0]
    b[~support] = 0.0
    return b, bool((slack[~support] > 1e-7).all())


def test_numbers_that_were_computed_elsewhere():
    path = tacit.saddle_path(X, Y)
    np.testing.assert_allclose(path.times, [1, 4, 5.632653061224490], rtol=1e-13)
    expected = [[0.8, 0, 0, 0], [0, 0, 1.4, 0], [0, 0, 10 / 7, -10 / 49]]
    np.testing.assert_allclose(path.predictors, expected, atol=1e-14)
    events = [(0, 0, True), (1, 0, False), (1, 2, True), (2, 3, True)]
    assert [(event.feature, event.enters) for event in path.events] == [each[1:] for each in events]
    assert [event.time for event in path.events] == [path.times[k] for k, _, _ in events]
    np.testing.assert_array_equal(path.at(0.99), np.zeros(4))
    np.testing.assert_array_equal(path.at(5), path.predictors[1])


CASES = [(random_problem, seed, {}) for seed in range(8)]
CASES += [(random_problem, seed, {"profile": True}) for seed in range(4)]
CASES += [(random_problem, seed, {"shape": (30, 9)}) for seed in range(3)]  # more samples than features
CASES += [(integers, seed, {}) for seed in range(60)]


@pytest.mark.parametrize(("make", "seed", "options"), CASES)
def test_the_conditions_hold_at_all_times(make, seed, options):
    """The definition of the process, checked from times and predictors alone."""
    features, y, profile = make(seed, **options)
    path = tacit.saddle_path(features, y, depth=3, profile=profile)
    theta = path.thresholds
    np.testing.assert_allclose(theta, np.ones(len(theta)) if profile is None else 1 / profile, rtol=1e-14)
    s, b, since = np.zeros(len(theta)), np.zeros(len(theta)), 0.0
    size = np.linalg.norm(features, axis=0) * (
        np.linalg.norm(y) + np.abs(features @ path.predictors.T).max(initial=0)
    )
    for k, until in enumerate([*path.times, None]):
        u = features.T @ (y - features @ b)
        on = np.abs(s) >= theta * (1 - 1e-9)
        assert (np.abs(u[b != 0]) <= 1e-12 * size[b != 0]).all()  # 1e-12: round-off of least squares
        assert (u * np.sign(s) <= 1e-12 * size)[on].all()
        assert (b * s >= 0).all()
        assert on[b != 0].all()
        if until is None:
            assert (np.abs(u) <= 1e-12 * size).all()
        else:
            assert until > since
            s, b, since = s + (until - since) * np.where(b != 0, 0, u), path.predictors[k], until
            assert (np.abs(s) <= theta * (1 + 1e-9)).all()
            np.testing.assert_allclose(path.slopes[k], s, atol=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_the_path_ends_at_basis_pursuit(seed):
    """The required accuracy is 1e-12; the worst error over 40 seeds is 6e-15."""
    features, y, profile = random_problem(seed, profile=seed % 2 == 1)
    path = tacit.saddle_path(features, y, depth=3, profile=profile)
    expected, unique = basis_pursuit(features, y, path.thresholds)
    assert unique
    np.testing.assert_allclose(path.predictors[-1], expected, atol=1e-12 * np.abs(expected).max())
    assert path.residuals[-1] < 1e-14
    assert (np.diff(path.residuals) < 0).all()


def lasso_residual(features, y, b, penalty):
    """Largest violation of the conditions of ½‖Xb − y‖² + Σ penalty|b|, relative to the penalty."""
    slope = features.T @ (y - features @ b) / penalty
    return max(np.abs(slope[b != 0] - np.sign(b[b != 0])).max(initial=0), np.abs(slope).max() - 1)


@pytest.mark.parametrize("profile", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_averages_solve_the_lasso_exactly_where_they_say_so(seed, profile):
    features, y, profile = random_problem(seed, profile=profile)
    path = tacit.saddle_path(features, y, depth=4, profile=profile)
    held = []
    for tau in np.geomspace(path.times[0] / 2, 2 * path.times[-1], 60):
        average = path.average(tau)
        residual = lasso_residual(features, y, average.predictor, path.thresholds / tau)
        assert (residual < 1e-8) == average.holds, (tau, residual)
        held.append(average.holds)
        np.testing.assert_array_equal(np.asarray(average), average.predictor)
    assert any(held)


def test_there_are_averages_that_do_not_solve_the_lasso():
    path = tacit.saddle_path(X, Y)
    assert [bool(path.average(tau).holds) for tau in (0.5, 2, 4, 5, 100)] == [True, True, True, False, False]
    assert path.average(5).gap == pytest.approx(0.05)  # s₀ has decreased from 1 by 0.05; x0 contributes 0.48


@pytest.mark.parametrize("seed", range(3))
def test_averages_are_those_of_scikit_learn(seed):
    linear_model = pytest.importorskip("sklearn.linear_model")
    features, y, _ = random_problem(seed)
    path, compared = tacit.saddle_path(features, y), 0
    for tau in np.geomspace(path.times[0], path.times[-1], 20):
        average = path.average(tau)
        if average.holds:
            lasso = linear_model.Lasso(average.alpha, fit_intercept=False, tol=1e-14, max_iter=10**6)
            expected = lasso.fit(features, y).coef_
            np.testing.assert_allclose(average.predictor, expected, atol=1e-8 * np.abs(expected).max())
            compared += 1
    assert compared > 3


def raw_weights(features, y, depth, log_scale, profile, times):
    """Gradient flow of w₊^D − w₋^D in the logarithms of the weights, by SciPy: predictors at these times."""
    d = features.shape[1]

    def predictor(z):
        z = np.minimum(z, 50.0)  # trial steps of the integrator overshoot
        return np.exp(depth * z[:d]) - np.exp(depth * z[d:])

    def velocity(_, z):
        g = features.T @ (features @ predictor(z) - y) / len(y)
        return -depth * np.concatenate([g, -g]) * np.exp((depth - 2) * np.minimum(z, 50.0))

    start = np.tile(log_scale + np.log(profile), 2)
    longest = times[-1] / 1000  # longer steps would miss jumps
    run = solve_ivp(velocity, (0, times[-1]), start, "LSODA", times, rtol=1e-10, atol=1e-12, max_step=longest)
    assert run.success
    return np.array([predictor(z) for z in run.y.T])


PROFILE = np.array([1.0, 0.6, 1.3, 0.8])
FLOWS = {  # depth, log a, profile, tolerance: how fast the flow tends to the path
    "depth 3": (3, np.log(1e-6), np.ones(4), 1e-12),
    "depth 4": (4, np.log(1e-3), np.ones(4), 1e-8),
    "depth 3 with a profile": (3, np.log(1e-6), PROFILE, 1e-10),
    "depth 2": (2, -276.0, np.ones(4), 1e-8),
    "depth 2 with a profile": (2, -276.0, PROFILE, 1e-8),
}


@pytest.mark.parametrize("name", FLOWS)
def test_raw_weights_at_a_tiny_scale_follow_the_path(name):
    """Between jumps. The simulation shares nothing with the path, neither its clock nor its thresholds."""
    depth, log_scale, profile, tolerance = FLOWS[name]
    path = tacit.saddle_path(X, Y, depth=depth, profile=profile)
    model = tacit.Diagonal(depth, log_scale=log_scale, profile=profile)
    between = np.concatenate(
        [[0.6 * path.times[0]], (path.times[1:] + path.times[:-1]) / 2, [1.5 * path.times[-1]]]
    )
    times = between * (path.time(model) / path.times)[0]
    expected = np.vstack([np.zeros(4), path.predictors])
    found = raw_weights(X, Y, depth, log_scale, profile, times)
    np.testing.assert_allclose(found, expected, atol=tolerance)


def test_the_clock_of_two_layers():
    """UntiedDiagonal(a²) starts like Diagonal(2, a), and its weights grow half as fast."""
    path = tacit.saddle_path(X, Y)
    tied, untied = (path.time(model) for model in (tacit.Diagonal(2, 1e-6), tacit.UntiedDiagonal(1e-12)))
    np.testing.assert_allclose(tied, path.times * 2 * np.log(1e6) / 2)
    np.testing.assert_allclose(untied, 2 * tied)
    run = tacit.flow(tacit.UntiedDiagonal(1e-200), X, Y, times=path.time(tacit.UntiedDiagonal(1e-200)) * 1.1)
    np.testing.assert_allclose(run.predictor, path.predictors, atol=1e-3)


@pytest.mark.parametrize("depth", [2, 3, 5])
def test_equal_features_share_as_small_scales_share(depth):
    """Equal features share equally at a common start, and by profile² at depth 2."""
    doubled = np.column_stack([X, X[:, :2], -X[:, 2]])
    path, single = tacit.saddle_path(doubled, Y, depth=depth), tacit.saddle_path(X, Y)
    np.testing.assert_allclose(path.times, single.times, rtol=1e-12)
    shares = single.predictors * [0.5, 0.5, 0.5, 1]
    expected = np.column_stack([shares, shares[:, :2], -shares[:, 2]])
    np.testing.assert_allclose(path.predictors, expected, atol=1e-12)


def test_a_profile_decides_the_shares_of_equal_features():
    doubled, profile = np.column_stack([X, X[:, 2]]), np.array([1, 1, 1, 1, 3.0])
    last = tacit.saddle_path(doubled, Y, profile=profile).predictors[-1]
    np.testing.assert_allclose(last[4], 9 * last[2], rtol=1e-12)
    near = tacit.limit(tacit.Diagonal(2, 1e-100, profile), doubled, Y).predictor
    np.testing.assert_allclose(last, near, atol=1e-10)
    deep = tacit.saddle_path(doubled, Y, depth=3, profile=profile).predictors[-1]
    assert deep[2] == 0  # at larger depths the feature that starts larger takes the whole predictor


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_the_end_with_many_l1_minimizers_is_the_limit_of_small_scales(depth):
    path = tacit.saddle_path(TIED, TIED_Y, depth=depth)
    near = tacit.limit(tacit.Diagonal(depth, log_scale=-5e4), TIED, TIED_Y).predictor
    np.testing.assert_allclose(path.predictors[-1], near, atol=1e-8)
    if depth == 2:
        expected = [0.607537778, 0.254773331, 0.252261929, 0.385426962, 0, 0]
        np.testing.assert_allclose(path.predictors[-1], expected, atol=1e-9)


def test_intercept_and_standardization():
    features, y, _ = random_problem(3)
    features, y = 5 * features + np.arange(40), y + 7
    path = tacit.saddle_path(features, y, intercept=True, standardize=True)
    inside = (features - features.mean(axis=0)) / features.std(axis=0)
    plain = tacit.saddle_path(inside, y - y.mean())
    np.testing.assert_allclose(path.times, plain.times, rtol=1e-9)
    np.testing.assert_allclose(path.predictors * features.std(axis=0), plain.predictors, atol=1e-10)
    fitted = features @ path.predictors[-1] + path.intercepts[-1]
    np.testing.assert_allclose(fitted, y, rtol=1e-11)
    for tau in plain.times[::5]:
        one, other = path.average(tau), plain.average(tau)
        assert one.holds == other.holds
        np.testing.assert_allclose(one.predictor * features.std(axis=0), other.predictor, atol=1e-10)


@pytest.mark.parametrize("y", [np.zeros(2), np.array([3.0, 3.0])])
def test_targets_that_say_nothing_have_a_path_without_jumps(y):
    path = tacit.saddle_path(np.array([[1.0, 2], [3, 4]]), y, intercept=True)
    assert (path.times.shape, path.predictors.shape, path.events) == ((0,), (0, 2), [])
    assert "no jumps" in path.summary()
    assert path.average(1.0).holds
    json.dumps(path.to_dict(), allow_nan=False)
    path.picture().to()


@pytest.mark.parametrize("unit", [1e-120, 1e120])
def test_units_change_only_units(unit):
    path, scaled = tacit.saddle_path(X, Y), tacit.saddle_path(X, unit * Y)
    np.testing.assert_allclose(scaled.times * unit, path.times, rtol=1e-12)
    np.testing.assert_allclose(scaled.predictors / unit, path.predictors, atol=1e-13)


def test_what_is_shown(tmp_path):
    path = tacit.saddle_path(X, Y)
    text = path.summary(["age", "size", "weight", "height"])
    assert "3 jumps from τ = 1 to 5.633" in text
    assert "age enters at τ = 1, age leaves at τ = 4, weight enters at τ = 4" in text
    assert "at 2 of 3 jumps, not at τ = 5.633" in text
    assert path.plot(tmp_path / "path.png").stat().st_size > 5_000
    assert json.loads(json.dumps(path.to_dict()))["events"][1] == {
        "time": path.times[1],
        "feature": 0,
        "enters": False,
    }
    assert path.to_xarray().predictors.shape == (3, 4)


def test_errors_say_what_is_wrong():
    path = tacit.saddle_path(X, Y)
    for call, words in (
        (lambda: tacit.saddle_path(X, Y, depth=1), "depth must be at least 2"),
        (lambda: tacit.saddle_path(X, Y, depth=3, profile=[1, 2]), "profile has 2 entries"),
        (lambda: tacit.saddle_path(X, [1, 2, 3]), "one row per sample"),
        (lambda: tacit.saddle_path(X, [1, np.nan]), "must be finite"),
        (lambda: tacit.saddle_path(1e200 * X, Y), "use another unit"),
        (lambda: path.average(0), "tau must be positive, got 0"),
        (lambda: path.at(-1), "tau must be 0 or later, got -1"),
        (lambda: path.time(tacit.Diagonal(2, 3.0)), "must be below 1"),
        (lambda: path.time(tacit.Diagonal(3, 0.1, [1, 2, 3, 4])), "another saddle path"),
        (lambda: path.time(tacit.Diagonal), "write Diagonal"),
    ):
        with pytest.raises(tacit.InputError, match=words):
            call()
    biased = tacit.UntiedDiagonal.from_weights(1e-3, 2e-3, 1e-3, 1e-3)
    for model in (
        tacit.LinearNetwork.orthogonal(X, 8),
        biased,
        tacit.UntiedDiagonal.from_layers([0.1, 0.2, 0.3]),
    ):
        with pytest.raises(tacit.NoPotentialError):
            path.time(model)


@pytest.mark.parametrize("seed", range(5))
def test_no_depth_changes_the_path(seed):
    features, y, _ = random_problem(seed)
    paths = [tacit.saddle_path(features, y, depth=depth) for depth in (2, 2.5, 7)]
    for path in paths[1:]:
        np.testing.assert_array_equal(path.times, paths[0].times)
        np.testing.assert_array_equal(path.predictors, paths[0].predictors)
