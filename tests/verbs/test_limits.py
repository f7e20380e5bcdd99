"""Batches of limits against single limits, 60-digit solutions, and the same program in JAX."""

import importlib.util
import math

import numpy as np
import pytest
from oracles import exact_limit, gaussian_problem, relative_error

import tacit
from tacit.solvers.batch import devices, driver
from tacit.solvers.batch.in_numpy import InNumpy
from tacit.solvers.batch.stages import coefficients, stages_of

AGREE = 1e-11  # what the documentation promises
SCALES = np.geomspace(1e-5, 10, 9)


def data_sets(count=3, samples=6, features=20):
    problems = [gaussian_problem(samples, features, nonzero=2, seed=seed) for seed in range(count)]
    return np.array([X for X, _ in problems]), np.array([y for _, y in problems])


def apart(found, expected):
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


def same_as_single(limits, models, Xs, ys):
    for found, model, X, y in zip(limits, models, Xs, ys, strict=True):
        single = tacit.limit(model, X, y)
        assert found.converged
        assert apart(found.predictor, single.predictor) <= AGREE
        assert found.value == pytest.approx(single.value, rel=1e-10)
        assert found.rank == single.rank


@pytest.mark.parametrize(("depth", "scales"), [(2, (1e-4, 1e-2, 1.0)), (3, (1e-2, 0.3)), (4, (0.1, 3.0))])
def test_predictors_and_errors_are_those_of_sixty_digits(depth, scales):
    Xs, ys = data_sets(2)
    models = [tacit.Diagonal(depth, scale) for scale in scales]
    limits = tacit.limits(models, Xs[:, None], ys[:, None], device="cpu")
    assert limits.converged.all() and len(limits.singly) == 0
    for i, (X, y) in enumerate(zip(Xs, ys, strict=True)):
        for j, scale in enumerate(scales):
            exact = exact_limit(X, y, depth=depth, log_scale=depth * math.log(scale))
            found = limits[i, j]
            assert relative_error(found.predictor, exact) <= max(2 * found.error, 1e-15)
            assert found.error < 1e-12


@pytest.mark.parametrize(
    "models",
    [
        [tacit.Diagonal(2, scale) for scale in SCALES],
        [tacit.Diagonal(3, scale) for scale in SCALES[3:]],
        [tacit.UntiedDiagonal(scale, shape) for scale in (1e-4, 0.1) for shape in (-0.99, 0.0, 0.5)],
        [tacit.Diagonal(2, scale, profile=np.linspace(0.5, 2, 20)) for scale in (1e-3, 1.0)],
        [tacit.Diagonal(depth, 0.3, profile=np.linspace(0.5, 2, 20)) for depth in (2.5, 3, 10)],
        [tacit.Diagonal(2, 0.1).potential(), tacit.Diagonal(2, 1.0).potential()],
    ],
    ids=["tied", "deep", "untied", "profile", "depths", "potentials"],
)
def test_batches_agree_with_single_limits(models):
    X, y = gaussian_problem(6, 20, nonzero=2, seed=5)
    limits = tacit.limits(models, X, y)
    same_as_single(limits, models, [X] * len(models), [y] * len(models))
    assert np.array_equal(limits.predictors[0], limits[0].predictor)


def test_models_data_and_targets_are_broadcast():
    Xs, ys = data_sets(3)
    model, models = tacit.Diagonal(2, 0.1), [tacit.Diagonal(2, scale) for scale in (1e-3, 0.1, 1.0)]
    same_as_single(tacit.limits(model, Xs, ys), [model] * 3, Xs, ys)
    same_as_single(tacit.limits(models, Xs, ys), models, Xs, ys)
    same_as_single(tacit.limits(models, Xs[0], ys[0]), models, [Xs[0]] * 3, [ys[0]] * 3)
    same_as_single(tacit.limits(model, Xs[0], ys), [model] * 3, [Xs[0]] * 3, ys)
    same_as_single(tacit.limits(model, tacit.prepare(Xs[0]), ys), [model] * 3, [Xs[0]] * 3, ys)
    same_as_single(tacit.limits(model, Xs[0], ys[0]), [model], [Xs[0]], [ys[0]])
    grid = tacit.limits(models, Xs[:, None], ys[:, None])
    assert grid.shape == (3, 3) and len(grid) == 9
    assert apart(grid[2, 0].predictor, tacit.limit(models[0], Xs[2], ys[2]).predictor) <= AGREE
    nested = tacit.limits([[each] for each in models], Xs, ys)
    assert np.allclose(nested.predictors.reshape(3, 3, -1), grid.predictors.reshape(3, 3, -1).swapaxes(0, 1))
    repeated = tacit.limits(models * 3, np.repeat(Xs, 3, axis=0), np.repeat(ys, 3, axis=0))
    assert np.allclose(repeated.predictors, grid.predictors, rtol=1e-12, atol=1e-14)


def test_a_problem_that_cannot_be_solved_is_named_and_the_others_are_solved():
    Xs, ys = data_sets(5)
    Xs[1, 2, 3] = np.nan
    ys[2, 0] = np.inf
    Xs[3, 1], ys[3, 1] = Xs[3, 0], ys[3, 0] + 1
    limits = tacit.limits(tacit.Diagonal(2, 0.1), Xs, ys)
    assert limits.converged.tolist() == [True, False, False, False, True]
    assert isinstance(limits.errors[3], tacit.InconsistentDataError)
    assert np.isnan(limits.predictors[1:4]).all()
    assert limits.reason.startswith("3 of 5 problems are not certified: problem 1: X must be finite, got nan")
    assert "problem 1" in limits.summary() and limits.status == tacit.Status.STALLED
    with pytest.raises(tacit.InputError, match="y must be finite, got inf"):
        limits[2]
    same_as_single([limits[0], limits[4]], [limits[0].model] * 2, Xs[[0, 4]], ys[[0, 4]])


def test_problems_that_a_batch_does_not_cover_are_solved_singly():
    X, y = gaussian_problem(6, 20, nonzero=2, seed=5)
    rng = np.random.default_rng(0)
    near, uneven, targets = X.copy(), X.copy(), np.array([y, y, 0 * y])
    near[1], targets[0, 1] = near[0] + 1e-9 * rng.standard_normal(20), y[0]
    uneven[:, 3] *= 1e5
    limits = tacit.limits(tacit.Diagonal(2, 0.1), np.array([near, uneven, X]), targets)
    assert limits.singly.tolist() == [0, 1, 2]
    assert limits[1].converged and limits[2].converged and not limits.predictors[2].any()
    neurons = [tacit.Neuron.from_scale(scale, 0.5, np.ones(20)) for scale in (0.1, 1.0)]
    same_as_single(tacit.limits(neurons, X, y), neurons, [X] * 2, [y] * 2)
    biased = tacit.UntiedDiagonal.from_weights(*rng.standard_normal((4, 20)))
    same_as_single(tacit.limits([biased], X, y), [biased], [X], [y])
    zero = tacit.Diagonal(scale=0)
    same_as_single(tacit.limits([zero], X, y), [zero], [X], [y])


def test_what_the_batch_does_not_certify_is_solved_singly(monkeypatch):
    """Newton's method that stops much too early: certificates fail, and no wrong predictor is reported."""
    monkeypatch.setattr(driver, "_CONVERGED", 0.1)
    X, y = gaussian_problem(6, 20, nonzero=2, seed=5)
    models = [tacit.Diagonal(2, scale) for scale in SCALES]
    limits = tacit.limits(models, X, y)
    assert len(limits.singly) > 0
    same_as_single(limits, models, [X] * len(models), [y] * len(models))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([tacit.Diagonal(), tacit.UntiedDiagonal()], [[1, 2]], [1]), "one family, got Diagonal and Untied"),
        (([], [[1, 2]], [1]), "an empty sequence"),
        (([tacit.Diagonal()] * 2, np.ones((3, 1, 2)), [1]), r"models \(2,\), X \(3,\), y \(\)"),
        ((tacit.Diagonal(), [[1, 2]], [1, 2]), "X has 1 rows, y has 2"),
        ((tacit.Diagonal(), [1, 2], [1]), r"X must be \(N, d\), or \(B, N, d\)"),
        ((tacit.Diagonal(), [[1, np.nan]], [1]), "X must be finite, got nan"),
        ((tacit.Diagonal(), [[1, 2]], 1), r"y must be \(N,\)"),
        ((tacit.Diagonal, [[1, 2]], [1]), "model must be an instance"),
    ],
)
def test_invalid_arguments_are_named(arguments, message):
    with pytest.raises(tacit.InputError, match=message):
        tacit.limits(*arguments)


def test_devices_are_named(monkeypatch):
    problem = (tacit.Diagonal(), [[1.0, 2.0]], [2.0])
    for call in (tacit.limit, tacit.limits):
        with pytest.raises(tacit.InputError, match='device must be "auto", "cpu" or "gpu", got \'tpu\''):
            call(*problem, device="tpu")
    with pytest.raises(tacit.InputError, match="leave out intercept"):
        tacit.limit(*problem, device="gpu", intercept=True)
    if importlib.util.find_spec("jax") is None:
        with pytest.raises(tacit.MissingPackageError, match="device='gpu' needs JAX"):
            tacit.limits(*problem, device="gpu")
        return
    monkeypatch.setattr(devices, "first_gpu", lambda: None)
    with pytest.raises(tacit.MissingDeviceError, match="device='gpu' needs a GPU that JAX can use, but JAX"):
        tacit.limit(*problem, device="gpu")
    assert tacit.limit(*problem, device="auto").converged


@pytest.mark.thorough  # JAX compiles for half a minute
def test_the_program_in_jax_gives_the_same(monkeypatch):
    jax = pytest.importorskip("jax")
    monkeypatch.setattr(devices, "first_gpu", lambda: jax.devices("cpu")[0])
    Xs, ys = data_sets(2)
    models = [tacit.Diagonal(2, scale) for scale in np.geomspace(10, 1e-4, 40)]
    limits = tacit.limits(models, Xs[:, None], ys[:, None], device="gpu")
    assert limits.device == "gpu" and limits.converged.all() and len(limits.singly) == 0
    other = tacit.limits(models, Xs[:, None], ys[:, None], device="cpu")
    assert np.abs(limits.predictors - other.predictors).max() < 1e-12
    assert limits.error.max() < 1e-12
    single = tacit.limit(models[30], Xs[0], ys[0], device="gpu")
    assert apart(single.predictor, other[0, 30].predictor) < 1e-12
    assert jax.numpy.ones(1).dtype == "float32"  # the setting of the user is not changed


def test_every_lane_is_in_one_stage_and_starts_from_solved_ones():
    stages = stages_of([9, 1, 5], [4, 2, 1])
    assert sorted(np.concatenate([stage.lanes for stage in stages])) == list(range(15))
    solved, line = set(stages[0].lanes.tolist()), np.repeat([0, 1, 2], [9, 1, 5])
    for stage in stages[1:]:
        for lane, nodes in zip(stage.lanes, stage.nodes, strict=True):
            assert set(nodes.tolist()) <= solved and (line[nodes] == line[lane]).all()
        solved |= set(stage.lanes.tolist())


def test_states_are_interpolated_by_cubics_and_equal_levels_count_once():
    level = np.array([[4.0, 3.5, 3.5, 2.0, 1.0, 0.0, -3.0]])
    stages = stages_of([7], [2, 1])
    for usable in (np.ones((1, 7), bool), level != 1.0):
        by = coefficients(level, stages[1], usable)
        count = (by != 0).sum(axis=-1)
        for power in range(3):
            values = (level**power)[:, stages[1].nodes]
            exact = (level**power)[:, stages[1].lanes]
            good = count > power
            np.testing.assert_allclose((by * values).sum(axis=-1)[good], exact[good], atol=1e-12)
    assert np.isnan(coefficients(level, stages[1], np.zeros((1, 7), bool))).all()


def test_packed_lanes_contain_all_that_remain():
    rng = np.random.default_rng(0)
    for shape in ((1, 40), (40, 1), (5, 16)):
        remaining = rng.random(shape) < 0.1
        remaining[0, 0] = True
        groups, lanes = InNumpy().packing(remaining)
        packed = np.zeros(shape, bool)
        packed[groups, lanes] = True
        assert (packed >= remaining).all() and packed.sum() <= remaining.size / 2
    assert InNumpy().packing(np.ones((3, 4), bool)) is None


def test_results_are_described_drawn_and_labelled(tmp_path):
    Xs, ys = data_sets(3)
    limits = tacit.limits(tacit.Diagonal(2, 0.1), Xs, ys)
    assert "3 of 3" in limits.summary() and limits.reason == ""
    assert limits.to_xarray()["predictors"].dims == ("problem", "feature")
    assert limits.to_dict()["converged"] == [True] * 3
    assert limits.plot(tmp_path / "limits.png").exists()
    assert [each.iterations for each in limits] == limits.iterations.tolist()
    assert limits[0].regime.name == tacit.limit(tacit.Diagonal(2, 0.1), Xs[0], ys[0]).regime.name
    assert apart(limits[0].predict(Xs[0]) if hasattr(limits[0], "predict") else ys[0], ys[0]) < 1e-12


def test_margin_paths_are_those_of_single_calls_and_failures_are_named(tmp_path):
    rng = np.random.default_rng(0)
    X, mu = rng.standard_normal((3, 6, 20)), [10.0, 1e-3]
    y = np.where(X[:, :, 0] > 0, 1, -1)
    X[1, 1], y[1, :2] = X[1, 0], (1, -1)
    paths = tacit.margin_paths(X, y, mu, depth=3)
    for i in (0, 2):
        single = tacit.margin_path(X[i], y[i], mu, depth=3)
        np.testing.assert_array_equal(paths.predictors[i], single.predictors)
        np.testing.assert_array_equal(paths[i].duals, paths.duals[i])
    assert paths.converged.all(axis=1).tolist() == [True, False, True]
    assert isinstance(paths.errors[1], tacit.NotSeparableError) and np.isnan(paths.predictors[1]).all()
    assert "problem 1" in paths.reason and "2 of 3" in paths.summary()
    assert paths.plot(tmp_path / "paths.png").exists()
    assert paths.to_xarray()["duals"].dims == ("problem", "mu", "sample")
    shared = tacit.margin_paths(X[0], y[[0, 0]], mu, depth=3)
    np.testing.assert_array_equal(shared.predictors[1], paths.predictors[0])
    with pytest.raises(tacit.InputError, match="mu must be one or more positive numbers"):
        tacit.margin_paths(X, y, [-1.0])
    with pytest.raises(tacit.InputError, match="same number of problems, got 3 and 2"):
        tacit.margin_paths(X, y[:2], mu)
