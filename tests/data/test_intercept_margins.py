"""Maximum margins with a free intercept and with standardized features: every norm, potentials, paths."""

import json
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from intercept_oracles import between, free_l1_margin, pairs, shared, units
from margin_oracles import diagonal_on, exact_l1, exact_l2, exact_margin, local_minima, lp_on
from margin_problems import close, holds_rows, same_rows, size, slopes
from properties import examples

import tacit
from tacit.potentials import L1, Bregman, Hypentropy, Power, Quadratic


def labelled(seed, positive=2, negative=3, features=3):
    """Two clouds about a point far from 0, on a grid so coarse that differences of samples are exact."""
    rng = np.random.default_rng(seed)
    y = np.repeat([1.0, -1.0], [positive, negative])
    X = rng.standard_normal((len(y), features)) + 1.5 * y[:, None] * rng.uniform(0.5, 1, features)
    X = np.round(64 * (X * rng.uniform(0.5, 3, features) + rng.uniform(-9, 9, features))) / 64
    order = rng.permutation(len(y))
    return X[order], y[order]


SMALL = {f"clouds {seed}": labelled(seed) for seed in (0, 1, 4)} | {
    "one of each": ([[3, 1, 0.5], [1, 2, 0.25]], [1, -1]),
    "one feature": ([[1], [2], [3]], [-1, 1, 1]),
    "a sample at the mean": ([[0, 3], [4, 1], [2, 2]], [-1, 1, 1]),
    "a square": ([[5, 5], [5, 6], [7, 5], [7, 6]], [-1, -1, 1, 1]),
    "a diamond": ([[5, 5], [6, 6], [4, 6]], [-1, 1, 1]),
    "equal samples": ([[1, 2, 0], [1, 2, 0], [3, 3, 3], [3, 3, 3], [4, 3, 2]], [-1, -1, 1, 1, 1]),
    "a constant feature": ([[1, 0.1, 4], [2, 0.1, 1], [5, 0.1, 2]], [-1, -1, 1]),
    "equal features": ([[1, 1, 4], [2, 2, 1], [5, 5, 2]], [-1, -1, 1]),
    "far away": ([[1025, 2048, 4097], [1024, 2050, 4096], [1027, 2051, 4099]], [-1, -1, 1]),
}
SMALL = {name: (np.array(X, float), np.array(y, float)) for name, (X, y) in SMALL.items()}
every = pytest.mark.parametrize("name", SMALL)
clouds = pytest.mark.parametrize("name", ["clouds 0", "clouds 1", "clouds 4", "far away"])


def check(found, X, y, norm, unit=1.0, tol=1e-9):
    """Recompute all quantities of a result with an intercept: a certificate of optimality for p ≥ 1."""
    w, b, nu = found.predictor * unit, found.intercept, found.dual
    margins = y * (X @ found.predictor + b)
    assert isinstance(b, float) and found.converged and 0 <= found.kkt <= tol
    assert (nu >= 0).all() and margins.min() >= 1 - tol
    np.testing.assert_array_equal(found.support, np.flatnonzero(nu > 0))
    assert (nu * np.abs(margins - 1)).max() <= tol * nu.max()
    assert abs(nu @ y) <= tol * nu.sum()
    lower, upper = slopes(norm, w)
    force, largest = (X / unit).T @ (nu * y), np.abs(np.where(np.isfinite(lower), lower, 0)).max()
    assert np.maximum(lower - force, force - upper).max() <= tol * largest
    assert found.value == pytest.approx(size(norm, w), rel=1e-12)
    assert b == pytest.approx(between(X, y, found.predictor), rel=tol, abs=tol)


def free(X, y, norm, **options):
    return tacit.max_margin(X, y, norm, intercept=True, **options)


@every
def test_the_references_agree_among_themselves(name):
    X, y = SMALL[name]
    Z = pairs(X, y)
    value, _ = exact_l1(Z)
    program, w, b = free_l1_margin(X, y)
    assert program == pytest.approx(value, rel=1e-7)
    assert b == pytest.approx(between(X, y, w), rel=1e-7)
    w, nu = exact_l2(Z)
    close(X.T @ (shared(nu, y) * y), w)
    assert shared(nu, y) @ y == pytest.approx(0, abs=1e-12)
    assert (y * (X @ w + between(X, y, w))).min() == pytest.approx(1, rel=1e-9)
    close(tacit.max_margin(Z, np.ones(len(Z)), "l2").predictor, w)


@every
def test_the_l2_margin_is_that_of_all_pairs_in_rational_arithmetic(name):
    X, y = SMALL[name]
    found = free(X, y, "l2")
    check(found, X, y, 2)
    close(found.predictor, exact_l2(pairs(X, y))[0])
    assert found.unique


@every
@pytest.mark.parametrize("norm", ["l1", L1()], ids=["l1", "L1()"])
def test_the_l1_margin_is_that_of_all_pairs_in_rational_arithmetic(name, norm):
    X, y = SMALL[name]
    value, vertices = exact_l1(pairs(X, y))
    found = free(X, y, norm)
    check(found, X, y, 1)
    assert found.value == pytest.approx(value, rel=1e-12)
    assert bool(found.unique) == (len(vertices) == 1)
    if found.unique:
        close(found.predictor, vertices[0])
    else:
        same_rows(found.face, vertices)


@pytest.mark.parametrize("norm", ["l1", 0.5])
def test_all_solutions_are_in_the_units_of_the_user(norm):
    X, y = SMALL["equal features"]
    unit = units(X)
    found, expected = free(X, y, norm, standardize=True), free(X / unit, y, norm)
    rows, wanted = (each.face if norm == "l1" else each.stationary for each in (found, expected))
    assert len(rows) > 1
    same_rows(rows * unit, wanted)
    check(found, X, y, 1 if norm == "l1" else norm, unit)


@pytest.mark.parametrize("p", [1.1, 1.5])
@clouds
def test_norms_between_agree_with_sixty_digits(name, p):
    X, y = SMALL[name]
    found = free(X, y, p)
    check(found, X, y, p)
    close(found.predictor, exact_margin(pairs(X, y), partial(lp_on, p=p))[0])


@pytest.mark.parametrize(("depth", "mu"), [(2, 10.0), (2, 0.01), (2, 1e-8), (3, 0.1), (6, 1e-4)])
@clouds
def test_potentials_and_paths_agree_with_sixty_digits(name, depth, mu):
    X, y = SMALL[name]
    model = tacit.Diagonal(depth, log_scale=np.log(mu) / depth)
    w, nu = exact_margin(pairs(X, y), partial(diagonal_on, depth=depth, log_scale=np.log(mu)))
    found = free(X, y, model)
    check(found, X, y, model.potential(3))
    close(found.predictor, w)
    close(found.dual, shared(nu.astype(float), y), 1e-7)
    path = tacit.margin_path(X, y, [mu], depth=depth, intercept=True)
    assert path.converged.all()
    close(path.predictors[0], w)
    assert path.intercept == pytest.approx([between(X, y, w.astype(float))], rel=1e-9)


@pytest.mark.every(6)
@pytest.mark.parametrize("p", [0.4, 2 / 3])
@every
def test_below_one_what_is_found_are_local_minima(name, p):
    X, y = SMALL[name]
    exact, found = local_minima(pairs(X, y), p), free(X, y, p)
    check(found, X, y, p)
    holds_rows(exact, found.stationary[found.minimum])
    holds_rows(exact, found.predictor[None])
    assert found.value <= size(p, free(X, y, "l1").predictor) * (1 + 1e-12)
    if found.complete:
        same_rows(found.stationary[found.minimum], exact)


def test_below_one_in_many_features_a_local_minimum_is_found():
    X, y = labelled(3, 6, 7, 12)
    Z, found = pairs(X, y), free(X, y, 0.5)
    check(found, X, y, 0.5)
    w, rng = found.predictor, np.random.default_rng(0)
    steps = rng.standard_normal((4000, 12)) * 10.0 ** rng.uniform(-9, -5, (4000, 1)) * np.abs(w).max()
    steps[::3] *= w != 0
    steps[1::3] *= rng.random((len(steps[1::3]), 12)) < 0.2
    tried = w + steps
    values = np.sum(np.sqrt(np.abs(tried)), axis=1) ** 2 / (tried @ Z.T).min(axis=1)
    assert values.min() >= found.value * (1 - 1e-12)
    assert "local" in found.summary()


_ROOT = np.random.default_rng(5).standard_normal((8, 8))
LARGER = {
    "l1": "l1",
    "l2": "l2",
    "p": 1.3,
    "diagonal": tacit.Diagonal(2, 0.1),
    "deep": tacit.Diagonal(3, 0.3),
    "untied": tacit.UntiedDiagonal(0.1, 0.5),
    "metric": Quadratic(_ROOT @ _ROOT.T + np.eye(8)),
    "power": Power(1.5),
    "divergence": Bregman(Hypentropy(-2.0), 0.02 * _ROOT[0]),
}
larger = pytest.mark.parametrize("name", LARGER)


@larger
@pytest.mark.parametrize("standardize", [False, True])
def test_larger_problems_are_those_of_all_pairs(name, standardize):
    X, y = labelled(6, 9, 12, 8)
    unit = units(X) if standardize else np.ones(8)
    Z = pairs(X / unit, y)
    expected = tacit.max_margin(Z, np.ones(len(Z)), LARGER[name])
    found = free(X, y, LARGER[name], standardize=standardize)
    norm = LARGER[name].potential(8) if hasattr(LARGER[name], "conserved") else LARGER[name]
    check(found, X, y, norm, unit)
    close(found.predictor * unit, expected.predictor)
    assert found.value == pytest.approx(expected.value, rel=1e-9)


@larger
def test_divided_features_without_an_intercept(name):
    X, y = labelled(7, 5, 6, 12)
    X = X[:, :8] - X[:, :8].mean(axis=0)
    found, expected = (
        tacit.max_margin(A, y, LARGER[name], **options)
        for A, options in ((X, {"standardize": True}), (X / units(X), {}))
    )
    close(found.predictor * units(X), expected.predictor)
    assert found.converged and found.intercept == 0.0
    assert found.value == pytest.approx(expected.value, rel=1e-9)


def solved(verb, X, y, **options):
    """Predictor and intercept of a maximum margin, or of a path ("path depth")."""
    if isinstance(verb, str) and verb.startswith("path"):
        found = tacit.margin_path(X, y, [1.0, 0.03, 1e-4], depth=int(verb[5:]), **options)
        assert found.converged.all() and found.kkt.max() <= 1e-9
        return found.predictors, found.intercept
    found = tacit.max_margin(X, y, verb, **options)
    assert found.converged
    return found.predictor[None], np.array([found.intercept])


VERBS = st.sampled_from([*LARGER.values(), 0.5, "path 2", "path 3"])


@given(st.integers(0, 10**6), VERBS, st.booleans(), st.floats(1, 1000))
@examples(15)
def test_constants_added_to_features_change_nothing(seed, verb, standardize, reach):
    X, y = labelled(seed, 4, 5, 8)
    shift = np.round(reach * np.random.default_rng(seed).standard_normal(8))  # X stays on its grid
    options = {"intercept": True, "standardize": standardize}
    (w, b), (moved, other) = (solved(verb, A, y, **options) for A in (X, X + shift))
    new = X + np.random.default_rng(seed).standard_normal(X.shape)
    close(moved @ (new + shift).T + other[:, None], w @ new.T + b[:, None])


@given(st.integers(0, 10**6), VERBS, st.booleans())
@examples(15)
def test_units_of_features_change_nothing_once_they_are_divided(seed, verb, intercept):
    X, y = labelled(seed, 4, 4, 8)
    X = X - (0 if intercept else X.mean(axis=0))
    unit = 10 ** np.random.default_rng(seed).uniform(-4, 4, 8)
    options = {"intercept": intercept, "standardize": True}
    (w, b), (moved, other) = (solved(verb, A, y, **options) for A in (X, X * unit))
    new = X + np.random.default_rng(seed).standard_normal(X.shape)
    close(moved @ (new * unit).T + other[:, None], w @ new.T + b[:, None])


@given(st.integers(0, 10**6), VERBS)
@examples(15)
def test_order_names_of_classes_and_constant_features_do_not_matter(seed, verb):
    X, y = labelled(seed, 3, 4, 8)
    order = np.random.default_rng(seed).permutation(7)
    (w, b), (moved, other) = (solved(verb, X[i], y[i], intercept=True) for i in (np.arange(7), order))
    close(moved, w)
    close(other, b)
    (turned, other) = solved(verb, X, -y, intercept=True)
    if not isinstance(verb, Bregman):  # because rotations about another origin change it
        close(turned, -w)
        close(other, -b)
    if not isinstance(verb, Bregman | Quadratic):  # they have a fixed number of features
        names = np.where(y > 0, "ill", "healthy")
        wider, other = solved(verb, np.insert(X, 3, 0.1, axis=1), names, intercept=True)
        close(np.delete(wider, 3, axis=1), w)
        assert np.abs(wider[:, 3]).max() <= 1e-12 * np.abs(w).max()
        close(other + 0.1 * wider[:, 3], b)


def test_labels_that_only_an_intercept_separates():
    X, y = [[1.0], [2.0], [3.0]], [-1, 1, 1]
    verbs = (partial(tacit.max_margin, norm="l1"), partial(tacit.max_margin, norm=0.5))
    for verb in (*verbs, partial(tacit.margin_path, mu=[1.0, 0.1])):
        with pytest.raises(tacit.NotSeparableError):
            verb(X, y)
        with pytest.raises(tacit.NotSeparableError):
            verb(X, [1, -1, 1], intercept=True)
        with pytest.raises(tacit.NotSeparableError):
            verb([[1.0], [2.0], [2.0]], y=[-1, -1, 1], intercept=True)
    for norm in ("l1", "l2", 1.5, 0.5, Quadratic(3.0), tacit.Diagonal(3, 0.1)):
        found = free(X, y, norm)
        np.testing.assert_allclose([*found.predictor, found.intercept], [2, -3], rtol=1e-12)
        assert found.support.tolist() == [0, 1]
    path = tacit.margin_path(X, y, [1.0, 0.1], intercept=True)
    np.testing.assert_allclose([path.predictors[:, 0], path.intercept], [[2, 2], [-3, -3]], rtol=1e-12)


@pytest.mark.parametrize("label", [-1.0, 1.0])
@pytest.mark.parametrize("verb", ["l1", tacit.Diagonal(3, 0.1), "path 2"], ids=str)
def test_one_class_is_refused(verb, label):
    with pytest.raises(tacit.InputError, match="one class, so an intercept alone separates them"):
        solved(verb, labelled(0)[0], np.full(5, label), intercept=True)


PATHS = {
    "depth 2": {},
    "depth 4": {"depth": 4},
    "shapes": {"model": tacit.UntiedDiagonal(0.5, np.linspace(-0.9, 0.9, 8))},
    "profile": {"model": tacit.Diagonal(3, 1.0, profile=np.linspace(0.5, 2, 8))},
}


@pytest.mark.every(3)
@pytest.mark.parametrize("kind", PATHS)
@pytest.mark.parametrize("standardize", [False, True])
def test_paths_are_those_of_all_pairs(kind, standardize):
    X, y = labelled(8, 5, 6, 8)
    unit, mu = units(X) if standardize else np.ones(8), np.geomspace(10, 1e-6, 8)
    Z = pairs(X / unit, y)
    expected = tacit.margin_path(Z, np.ones(len(Z)), mu, **PATHS[kind])
    found = tacit.margin_path(X, y, mu, intercept=True, standardize=standardize, **PATHS[kind])
    assert found.converged.all() and found.kkt.max() <= 1e-9 and found.intercept.shape == (8,)
    close(found.predictors * unit, expected.predictors)
    dual = shared(expected.duals, y)
    np.testing.assert_allclose(found.duals, dual, atol=1e-7 * dual.max())
    assert np.abs(found.duals @ y).max() <= 1e-9 * found.duals.max()
    np.testing.assert_array_equal(found.support, dual > 1e-9 * dual.max(axis=1, keepdims=True))
    np.testing.assert_allclose(found.intercept, between(X, y, found.predictors), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.excess, expected.excess, rtol=1e-6, atol=1e-9)


def supports(X, y, mu):
    """The support of the path at these μ is known from the pairs of samples."""
    Z = pairs(X, y)
    dual = shared(tacit.margin_path(Z, np.ones(len(Z)), mu).duals, y)
    return dual > 1e-9 * dual.max(axis=1, keepdims=True)


@pytest.mark.parametrize("seed", [2, 9, 10])
def test_kinks_are_where_the_pairs_have_them(seed):
    X, y = labelled(seed, 3, 4, 5)
    mu = np.geomspace(10, 1e-4, 12)
    found, seen = tacit.margin_path(X, y, mu, intercept=True), supports(X, y, mu)
    here, left = set(np.flatnonzero(seen[0])), list(found.kinks)
    assert left
    for level, row in zip(mu, seen, strict=True):
        while left and left[0].mu >= level:
            kink = left.pop(0)
            assert (kink.sample in here) != kink.enters
            here ^= {kink.sample}
            before, after = supports(X, y, [kink.mu * (1 + 1e-5), kink.mu * (1 - 1e-5)])
            assert after[kink.sample] == kink.enters != before[kink.sample]
        assert here == set(np.flatnonzero(row))


def test_results_say_so():
    X, y = SMALL["clouds 0"]
    found, path = free(X, y, "l2"), tacit.margin_path(X, y, [1.0, 0.1], intercept=True, standardize=True)
    plain = tacit.max_margin(X - X.mean(axis=0), y, "l2")
    assert plain.intercept == 0.0 and "intercept" not in plain.summary()
    assert "intercept" in found.summary() and "intercept" in path.summary() and "standard" in path.summary()
    assert "standard" not in found.summary() and "standard" in free(X, y, "l1", standardize=True).summary()
    assert json.loads(json.dumps(found.to_dict()))["intercept"] == found.intercept
    assert json.loads(json.dumps(path.to_dict()))["intercept"] == path.intercept.tolist()
