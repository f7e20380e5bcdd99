"""Separability: compared with rational arithmetic, in any units, and always with a verified certificate."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from margin_oracles import exact_l2, exact_vertices
from margin_problems import check, close, separable, solve
from properties import examples

import tacit
from tacit.numerics import separation
from tacit.numerics.separation import check_separable


def separates(Z):
    """Whether Z is reported as separable. If not, verify the certificate feature by feature."""
    y = np.where(np.arange(len(Z)) % 2, 1.0, -1.0)
    try:
        check_separable(y[:, None] * Z, y)
    except tacit.NotSeparableError as error:
        c = np.asarray(error.combination)
        assert c.shape == (len(Z),) and (c >= 0).all() and c.sum() == pytest.approx(1)
        live = c > 0
        terms = c[live, None] * Z[live]
        assert (np.abs(terms.sum(axis=0)) <= 1e-14 * np.abs(terms).sum(axis=0)).all()
        return False
    return True


TIES = np.array(
    [
        [-1.0, 1, 1, 1],
        [1, -1, 1, 1],
        [-1, 1, 1, -1],
        [1, -1, 1, -1],
        [1, 1, 1, -1],
        [-1, -1, 1, 1],
        [-1, -1, 1, 1],
    ]
)


@pytest.mark.parametrize("norm", ["l1", "l2", 1.5, 0.5])
def test_samples_of_plus_and_minus_one_with_many_ties(norm):
    """The third feature alone has every margin 1; no predictor has more."""
    found = solve(TIES, norm)
    check(found, TIES, norm)
    close(found.predictor, [0, 0, 1, 0])


def signs(seed):
    """Samples of ±1 labelled by a teacher; None if a sample is close to its hyperplane."""
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (int(rng.integers(20, 80)), int(rng.integers(3, 8))))
    w = rng.standard_normal(X.shape[1])
    Z = np.sign(X @ w)[:, None] * X
    return Z if (Z @ w).min() >= 0.05 * np.linalg.norm(w) else None


@pytest.mark.parametrize("seed", [15, 51, 92, 2680])
def test_signs_that_a_teacher_labelled_are_separated(seed):
    Z = signs(seed)
    assert separates(Z)
    check(solve(Z, "l2"), Z, 2)
    check(solve(Z, "l1"), Z, 1)
    assert tacit.margin_path(Z, np.ones(len(Z)), [10.0, 0.1, 1e-3]).converged.all()


@examples(150)
@given(st.integers(0, 10**6))
def test_whatever_a_teacher_labelled_has_an_l2_margin(seed):
    Z = signs(seed)
    assume(Z is not None)
    check(solve(Z, "l2"), Z, 2)


whole_numbers = st.integers(1, 4).flatmap(
    lambda d: st.lists(st.lists(st.integers(-2, 2), min_size=d, max_size=d), min_size=1, max_size=7)
)


@examples(150)
@given(whole_numbers, st.integers(0, 10**6), st.sampled_from([0, 10, 60]))
def test_units_of_samples_and_features_do_not_matter(rows, seed, reach):
    """Scaling by powers of 2 is exact, so the exact result for integers holds in all these units."""
    Z, rng = np.array(rows, float), np.random.default_rng(seed)
    units = [2.0 ** rng.integers(-reach, reach + 1, n) for n in Z.shape]
    assert separates(units[0][:, None] * Z * units[1]) == bool(exact_vertices(Z))


@examples(60)
@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(1, 3))
def test_entries_of_all_sizes(seed, samples, features):
    rng = np.random.default_rng(seed)
    Z = rng.choice([-1.0, 1.0], (samples, features)) * 10.0 ** rng.uniform(-8, 8, (samples, features))
    assert separates(Z) == bool(exact_vertices(Z))


def measured_in(unit):
    """An uninformative feature in this unit, and one that separates the classes with margin 0.8."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(40) % 2, 1.0, -1.0)
    return np.column_stack([unit * rng.standard_normal(40), y + 0.1 * rng.standard_normal(40)]), y


@pytest.mark.parametrize("unit", [1e-12, 1e-6, 1.0, 1e3, 1e5, 1e6])
def test_a_feature_in_large_or_small_units(unit):
    X, y = measured_in(unit)
    Z = y[:, None] * X
    for norm, p in (("l1", 1), ("l2", 2), (1.5, 1.5), (0.5, 0.5)):
        check(tacit.max_margin(X, y, norm), Z, p)
    close(tacit.max_margin(X, y, "l2").predictor * [unit, 1], exact_l2(Z)[0] * [unit, 1])
    assert tacit.margin_path(X, y, np.geomspace(1e6, 1e-6, 7)).converged.all()


def test_a_flow_on_a_feature_in_large_units():
    """Margins do not depend on the unit of the feature."""
    flows = [tacit.flow(tacit.Diagonal(), *measured_in(unit), loss="exp", until=20.0) for unit in (3e3, 1e4)]
    outputs = [flow.X @ flow.predictor[-1] for flow in flows]
    assert all(flow.converged for flow in flows)
    np.testing.assert_allclose(outputs[0], outputs[1], rtol=1e-6)
    far = tacit.flow(tacit.Diagonal(), *measured_in(1e6), loss="exp", until=20.0)
    assert not far.converged and "rescale" in far.reason


@pytest.mark.parametrize("gap", [1e-4, 3e-5, 1e-6, 1e-9, 1e-12, 1e-14])
def test_a_margin_that_is_small_beside_the_samples(gap):
    Z = np.array([[1, gap], [-1, gap], [0.5, 1]])
    assert separates(Z)
    close(solve(Z, "l2").predictor * gap, [0, 1])


@pytest.mark.parametrize("gap", [1e-2, 1e-4, 1e-5, 1e-6])
@pytest.mark.parametrize("seed", range(5))
def test_classes_that_nearly_touch_in_any_direction(gap, seed):
    """Samples moved onto a plane, and off it by the gap: only a w near its normal separates them."""
    rng = np.random.default_rng(seed)
    normal = rng.standard_normal(3)
    normal /= np.linalg.norm(normal)
    flat = rng.standard_normal((9, 3))
    Z = flat + np.outer(gap * (1 + rng.random(9)) - flat @ normal, normal)
    assert separates(Z)
    found = solve(Z, "l2")
    check(found, Z, 2)
    close(found.predictor, exact_l2(Z)[0], 1e-15 / gap**2 + 1e-9)


def test_ties_that_are_finer_than_the_rounding_of_the_predictor():
    """All samples at the same distance from a plane up to round-off: many supports are possible."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        normal = rng.standard_normal(3)
        normal /= np.linalg.norm(normal)
        flat = rng.standard_normal((23, 3))
        Z = flat + np.outer(2e-5 - flat @ normal, normal)
        found = solve(Z, "l2")
        check(found, Z, 2)
        close(found.predictor, normal / 2e-5, 1e-9)


def test_a_large_sample_that_pulls_little_counts():
    """Its multiplier is 1e-13 times the other's, but its effect is 1e-6 times the other's."""
    Z = np.array([[1e-3, 0.0], [-1e-2, 1e4]])
    found = solve(Z, "l2")
    check(found, Z, 2)
    np.testing.assert_array_equal(found.support, [0, 1])
    np.testing.assert_allclose(found.predictor, [1e3, 1.1e-3], rtol=1e-9)


@pytest.mark.parametrize("noise", [1e-13, 1e-12, 1e-11])
def test_copies_that_a_linear_program_cannot_tell_apart(noise):
    for seed in (0, 12, 16, 28, 43):
        rng = np.random.default_rng(seed)
        once = np.array([[-1.0, 2, 2], [-1, 1, 2], [-2, 1, 0]])
        Z = np.repeat(once, 3, axis=0) * (1 + noise * rng.standard_normal((9, 3)))
        check(solve(Z, "l1"), Z, 1)


@pytest.mark.parametrize("samples", [8, 60])
def test_samples_of_opposite_labels_that_differ_by_rounding_contradict_each_other(samples):
    once = separable(samples, 5, seed=3)
    Z = np.vstack([once, -once[:1] * (1 + 2e-16)])
    assert not separates(Z)


def test_a_kernel_of_low_rank_separates_what_its_features_do():
    """Round-off of a singular kernel must not count as additional dimensions."""
    rng = np.random.default_rng(0)
    for features, verdict in ((12, True), (2, False)):
        J = rng.standard_normal((12, features))
        y = rng.choice([-1.0, 1.0], 12)
        assert separates(y[:, None] * (J @ J.T)) is verdict


def test_without_a_proof_nothing_is_claimed(monkeypatch):
    monkeypatch.setattr(separation, "nearest_combination", lambda Z: np.eye(len(Z))[0])
    for Z in (TIES, np.array([[1.0, 0], [-1, 1], [-1, -1], [0, 1]])):
        with pytest.raises(tacit.NotConvergedError, match="cannot be decided"):
            check_separable(Z, np.ones(len(Z)))
