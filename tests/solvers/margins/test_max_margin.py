"""Maximum margins in every norm and potential, against exact arithmetic, certificates and perturbations."""

from functools import partial

import numpy as np
import pytest
from margin_oracles import (
    certified,
    diagonal_on,
    exact_l1,
    exact_l2,
    exact_margin,
    exact_vertices,
    local_minima,
    lp_on,
    scanned_minima,
)
from margin_problems import SMALL, THREE, check, close, holds_rows, same_rows, separable, size, solve
from scipy.optimize import linprog, minimize

import tacit
from tacit.potentials import L1, Bregman, DeepHypentropy, Hypentropy, Quadratic, WeightDistance
from tacit.solvers.margins.constraints import Margins
from tacit.solvers.margins.support import _exchanged, _short

every_small = pytest.mark.parametrize("name", SMALL)
every_three = pytest.mark.parametrize("name", THREE)


@every_small
def test_the_references_agree_among_themselves(name):
    Z, features = SMALL[name], SMALL[name].shape[1]
    w, nu = exact_l2(Z)
    close(w, Z.T @ nu)
    close(exact_margin(Z, partial(lp_on, p=2))[0].astype(float), w)
    program = linprog(np.ones(2 * features), A_ub=np.hstack([-Z, Z]), b_ub=-np.ones(len(Z)))
    value, vertices = exact_l1(Z)
    assert program.fun == pytest.approx(value, rel=1e-7)
    np.testing.assert_allclose(np.abs(vertices).sum(axis=1), value, rtol=1e-12)


@every_small
@pytest.mark.parametrize("norm", ["l2", 2, 2.0, np.float64(2)], ids=repr)
def test_the_l2_margin_is_that_of_rational_arithmetic(name, norm):
    Z = SMALL[name]
    found = solve(Z, norm)
    check(found, Z, 2)
    close(found.predictor, exact_l2(Z)[0])
    assert found.unique


@every_small
@pytest.mark.parametrize("norm", ["l1", 1, 1.0, L1()], ids=["l1", "1", "1.0", "L1()"])
def test_the_l1_margin_is_that_of_rational_arithmetic(name, norm):
    Z = SMALL[name]
    value, vertices = exact_l1(Z)
    found = solve(Z, norm)
    check(found, Z, 1)
    assert found.value == pytest.approx(value, rel=1e-12)
    assert bool(found.unique) == (len(vertices) == 1)
    if found.unique:
        close(found.predictor, vertices[0])
        np.testing.assert_array_equal(found.predictor == 0, vertices[0] == 0)
    else:
        same_rows(found.face, vertices)


@pytest.mark.parametrize("p", [1.01, 1.1, 1.5, 1.9])
@every_three
def test_norms_between_agree_with_sixty_digits(name, p):
    Z = THREE[name]
    w, nu = exact_margin(Z, partial(lp_on, p=p))
    found = solve(Z, p)
    check(found, Z, p)
    assert found.unique
    close(found.predictor, w)
    close(found.dual, nu, 1e-8)


@pytest.mark.parametrize("p", [1.2, 1.7])
@every_small
def test_a_general_optimizer_finds_nothing_better(name, p):
    Z = SMALL[name]
    found = solve(Z, p)
    check(found, Z, p)
    other = minimize(
        lambda w: np.sum(np.abs(w) ** p) / p,
        1.5 * found.predictor + 0.1 * np.abs(found.predictor).max(),
        jac=lambda w: np.sign(w) * np.abs(w) ** (p - 1),
        constraints={"type": "ineq", "fun": lambda w: Z @ w - 1, "jac": lambda w: Z},
        options={"ftol": 1e-14, "maxiter": 500},
        method="SLSQP",
    ).x
    feasible = other / min(1.0, (Z @ other).min())
    assert found.value <= size(p, feasible) * (1 + 1e-12)


def test_coordinates_below_the_smallest_float_do_not_spoil_the_certificate():
    """At p = 1.01 the second coordinate is (1e-4)^100; its slope, 1e-4, still matters for the margin."""
    Z = np.array([[1.0, 1e-4]])
    found = solve(Z, 1.01)
    check(found, Z, 1.01)
    np.testing.assert_allclose(found.predictor, [1, 0], rtol=1e-12, atol=1e-300)


@pytest.mark.every(4)
@pytest.mark.parametrize("noise", [1e-12, 1e-9, 1e-6])
@pytest.mark.parametrize("p", [1.3, 1.7, 2])
def test_samples_measured_twice_are_kept_apart(p, noise):
    for seed in (0, 1, 2, 17):
        once, rng = separable(4, 3, seed), np.random.default_rng(seed)
        Z = np.vstack([once, once * (1 + noise * rng.standard_normal(once.shape))])
        found = solve(Z, p)
        check(found, Z, p)
        close(found.predictor, exact_margin(Z, partial(lp_on, p=p))[0])


@pytest.mark.every(6)
@pytest.mark.parametrize("mu", [1e3, 0.1, 1e-3, 1e-8, 1e-12])
@pytest.mark.parametrize("depth", [2, 3, 10])
@every_three
def test_potentials_of_networks_agree_with_sixty_digits_and_the_path(name, depth, mu):
    Z = THREE[name]
    model = tacit.Diagonal(depth=depth, log_scale=np.log(mu) / depth)
    potential = model.potential(3)
    w, nu = exact_margin(Z, partial(diagonal_on, depth=depth, log_scale=potential.log_scale))
    for norm in (potential, model):
        found = solve(Z, norm)
        check(found, Z, potential)
        assert found.unique
        close(found.predictor, w)
        close(found.dual, nu, 1e-8)
    close(tacit.margin_path(Z, np.ones(3), [mu], depth=depth).predictors[0], found.predictor, 1e-8)


VECTOR = np.array([0.5, 2.0, 1.5])
MATRIX = np.array([[2.0, 0.5, -0.3], [0.5, 1.0, 0.2], [-0.3, 0.2, 3.0]])
ORIGIN = np.array([0.3, -0.2, 0.1])
OTHERS = {
    "weighted deep": (DeepHypentropy(3, -2.0, VECTOR), {"depth": 3, "log_scale": -2.0, "weight": VECTOR}),
    "scales": (Hypentropy(np.log(VECTOR)), {"depth": 2, "log_scale": np.log(VECTOR)}),
    "distance": (WeightDistance(-1.0), {"depth": 4, "log_scale": -1.0}),
    "bregman": (Bregman(Hypentropy(-1.0), ORIGIN), {"depth": 2, "log_scale": -1.0, "origin": ORIGIN}),
    "half": (Hypentropy(-3.0, 0.5), {"depth": 2, "log_scale": -3.0, "weight": 0.5}),
}


@pytest.mark.parametrize("case", OTHERS)
@every_three
def test_potentials_with_weights_and_origins_agree_with_sixty_digits(name, case):
    Z, (potential, options) = THREE[name], OTHERS[case]
    found = solve(Z, potential)
    check(found, Z, potential)
    close(found.predictor, exact_margin(Z, partial(diagonal_on, **options))[0])


@every_three
def test_weighted_norms_are_norms_in_other_units(name):
    Z = THREE[name]
    value, vertices = exact_l1(Z, VECTOR)
    found = solve(Z, L1(VECTOR))
    check(found, Z, L1(VECTOR))
    assert found.value == pytest.approx(value, rel=1e-12) and bool(found.unique) == (len(vertices) == 1)
    close(found.predictor, vertices[0]) if found.unique else same_rows(found.face, vertices)
    half = np.linalg.cholesky(MATRIX)
    for metric, root in ((1.0, np.eye(3)), (VECTOR, np.diag(np.sqrt(VECTOR))), (MATRIX, half)):
        found = solve(Z, Quadratic(metric))
        check(found, Z, Quadratic(metric))
        close(found.predictor, np.linalg.solve(root.T, exact_l2(Z @ np.linalg.inv(root).T)[0]))


def test_a_start_with_the_margin_is_left_as_it_is():
    Z, origin = THREE["kink"], np.array([3.0, 2.0, 1.5])
    found = solve(Z, Bregman(Hypentropy(0.0), origin))
    close(found.predictor, origin, 1e-12)
    assert found.converged and found.value == pytest.approx(0, abs=1e-20) and not found.dual.any()
    assert len(found.support) == 0 and found.kkt <= 1e-9


few_features = pytest.mark.parametrize("name", [name for name, Z in SMALL.items() if Z.shape[1] <= 3])


@pytest.mark.every(3)
@pytest.mark.parametrize("p", [0.2, 0.5, 2 / 3, 0.9])
@few_features
def test_below_one_the_best_of_all_local_minima_is_returned(name, p):
    Z = SMALL[name]
    exact, found = local_minima(Z, p), solve(Z, p)
    check(found, Z, p)
    values = np.array([size(p, w) for w in exact])
    assert found.value == pytest.approx(values[0], rel=1e-9)
    assert bool(found.unique) == (np.count_nonzero(values <= values[0] * (1 + 1e-9)) == 1)
    holds_rows(found.stationary, exact)
    np.testing.assert_array_equal(found.predictor, found.stationary[0])
    listed = np.array([size(p, w) for w in found.stationary])
    assert (np.diff(listed) >= -1e-9 * listed[1:]).all()


@pytest.mark.every(3)
@pytest.mark.parametrize("p", [0.2, 0.5, 2 / 3, 0.9])
@few_features
def test_below_one_minima_are_told_from_saddles(name, p):
    """Exactly the points reported as minima are surrounded by larger values within the margin constraints."""
    found = solve(SMALL[name], p)
    same_rows(found.stationary[found.minimum], local_minima(SMALL[name], p))


@pytest.mark.every(3)
@pytest.mark.parametrize("p", [0.3, 2 / 3])
@every_three
def test_below_one_a_search_by_brute_force_finds_no_other(name, p):
    Z = THREE[name]
    found = solve(Z, p)
    scanned = scanned_minima(Z, p)
    gaps = np.abs(scanned[:, None] - found.stationary[None]).max(axis=2)
    assert gaps.min(axis=1).max() < 1e-9 and gaps[:, 0].min() < 1e-9


def test_the_two_minima_that_initialization_chooses_between():
    """Moroshko et al. 2020, Figure 4b: at depth 3 one is global, the other is the limit of small scales."""
    found = solve(THREE["4b"], 2 / 3)
    np.testing.assert_allclose(found.stationary[:2], [[1.548, 0, 0.324], [2.941, 0, 0]], atol=5e-4)


def test_below_one_two_equal_minima_are_not_unique():
    found = solve(np.ones((1, 2)), 0.5)
    holds_rows(found.stationary, np.eye(2))
    assert not found.unique


def perturbed(Z, p, w, rng):
    """The minimum of ‖v‖_p/min(Zv) over random v near w, changing all, few, or nonzero coordinates."""
    steps = rng.standard_normal((4000, len(w))) * 10.0 ** rng.uniform(-9, -5, (4000, 1)) * np.abs(w).max()
    steps[::3] *= w != 0
    steps[1::3] *= rng.random((len(steps[1::3]), len(w))) < 2 / len(w)
    tried = w + steps
    return (np.sum(np.abs(tried) ** p, axis=1) ** (1 / p) / (tried @ Z.T).min(axis=1)).min()


@pytest.mark.every(5)
@pytest.mark.parametrize("p", [0.4, 2 / 3, 0.9])
@pytest.mark.parametrize(("samples", "features"), [(4, 4), (5, 12), (20, 40), (60, 10)])
def test_below_one_in_many_features_a_local_minimum_is_found_and_called_so(samples, features, p):
    Z = separable(samples, features, seed=features)
    found = solve(Z, p)
    check(found, Z, p)
    assert not found.unique and "local" in found.summary()
    used, tight = found.predictor != 0, found.dual > 0
    assert np.linalg.matrix_rank(Z[tight][:, used]) == used.sum()
    assert perturbed(Z, p, found.predictor, np.random.default_rng(0)) >= found.value * (1 - 1e-12)
    assert found.value <= size(p, solve(Z, "l1").predictor) * (1 + 1e-12)


@pytest.mark.every(2)
@pytest.mark.parametrize("p", [0.5, 2 / 3])
def test_below_one_the_best_found_is_often_the_best_of_all(p):
    hits = 0
    for seed in range(10):
        Z = separable(5, 5, seed)
        value = solve(Z, p).value
        least = min(size(p, np.array([float(x.p) / float(x.q) for x in w])) for w in exact_vertices(Z))
        assert value >= least * (1 - 1e-9)
        hits += value <= least * (1 + 1e-9)
    assert hits >= 6


LARGE = pytest.mark.parametrize(("samples", "features"), [(50, 200), (100, 20), (30, 30)])


@LARGE
@pytest.mark.parametrize("p", [1.1, 1.5, 2])
def test_larger_problems_in_norms_are_proved_in_sixty_digits(samples, features, p):
    Z = separable(samples, features, seed=samples)
    found = solve(Z, p)
    check(found, Z, p)
    exact = certified(Z, found.support, partial(lp_on, p=p, start=found.dual[found.support] * found.value))
    assert exact is not None
    close(found.predictor, exact[0])


@pytest.mark.every(4)
@pytest.mark.parametrize("p", [1.05, 1.2, 1.5])
@pytest.mark.parametrize(
    ("samples", "features", "seeds"),
    [(8, 3, (383, 459, 667, 749)), (20, 4, (146, 149, 177, 567)), (40, 8, (10, 57, 111, 155, 158, 159))],
)
def test_the_support_is_found_among_many_samples(samples, features, seeds, p):
    """Gaussian samples, neither nearly equal nor degenerate."""
    for seed in seeds:
        Z = separable(samples, features, seed)
        found = solve(Z, p)
        check(found, Z, p)
        start = found.dual[found.support] * found.value
        close(found.predictor, certified(Z, found.support, partial(lp_on, p=p, start=start))[0])


@pytest.mark.every(5)
@LARGE
@pytest.mark.parametrize(("depth", "mu"), [(2, 1e-3), (2, 1e-9), (3, 0.05), (10, 1e-5)])
def test_larger_problems_in_potentials_are_proved_in_sixty_digits(samples, features, depth, mu):
    Z = separable(samples, features, seed=samples)
    potential = tacit.Diagonal(depth=depth, log_scale=np.log(mu) / depth).potential(features)
    found = solve(Z, potential)
    check(found, Z, potential)
    options = {"depth": depth, "log_scale": potential.log_scale, "start": found.predictor}
    exact = certified(Z, found.support, partial(diagonal_on, **options))
    assert exact is not None
    close(found.predictor, exact[0])


@LARGE
def test_larger_l1_problems_are_unique_and_proved_so(samples, features):
    Z = separable(samples, features, seed=samples)
    found = solve(Z, "l1")
    check(found, Z, 1)
    program = linprog(np.ones(2 * features), A_ub=np.hstack([-Z, Z]), b_ub=-np.ones(samples))
    assert found.value == pytest.approx(program.fun, rel=1e-10)
    used = found.predictor != 0
    block = Z[found.support][:, used]  # the system is square, and no other slope is 1: strict complementarity
    assert block.shape[0] == block.shape[1] and np.linalg.cond(block) < 1e6
    assert (
        np.abs(Z.T @ found.dual)[~used].max(initial=0) < 1 - 1e-6 and found.dual[found.support].min() > 1e-6
    )
    close(found.predictor[used], np.linalg.solve(block, np.ones(len(block))))
    assert found.unique


@pytest.mark.parametrize("gap", [1e-2, 1e-4, 1e-6])
def test_l1_solutions_that_are_nearly_tied_are_still_unique(gap):
    found = solve(np.array([[1 - gap, 1.0, 1 - 2 * gap]]), "l1")
    assert found.unique
    np.testing.assert_array_equal(found.predictor, [0, 1, 0])


def test_features_given_twice_span_a_face():
    once, twice = separable(20, 30, seed=1), np.hstack([separable(20, 30, seed=1)] * 2)
    w, found = solve(once, "l1").predictor, solve(twice, "l1")
    check(found, twice, 1)
    assert not found.unique and len(found.face) >= 2
    assert (found.face @ twice.T).min() >= 1 - 1e-9
    np.testing.assert_allclose(np.abs(found.face).sum(axis=1), np.abs(w).sum(), rtol=1e-9)
    close(found.face[:, :30] + found.face[:, 30:], np.tile(w, (len(found.face), 1)))
    for j in np.flatnonzero(w):  # either of the two may have all of the weight, or none
        ends = np.sort(found.face[:, j] / w[j])[[0, -1]]
        np.testing.assert_allclose(ends, [0, 1], atol=1e-9)


def test_a_shortfall_is_real_only_beyond_the_round_off_of_the_margin():
    """Terms of 1e9 cancel in the first margin: its round-off is about 1e-7."""
    margins = Margins(np.array([[1e9, -1e9], [1.0, 1.0]]))
    short = partial(_short, margins, np.ones(2), 0.0)
    assert short(np.full(2, 1 - 1e-7)).tolist() == [1]
    assert short(np.full(2, 1 - 1e-3)).tolist() == [0, 1]
    assert short(np.ones(2)).tolist() == []


def test_samples_leave_and_enter_the_support_together_or_one_by_one():
    support, none = np.array([0, 2, 3, 5]), np.array([], dtype=int)
    dual = np.array([0.5, 0.0, -0.1, -0.3, 0.0, 0.2, 0.0])
    margins = np.array([1.0, 0.7, 1.0, 1.0, 0.2, 1.0, 0.4])
    wrong, short = np.array([2, 3]), np.array([1, 4, 6])

    def exchanged(wrong, short, one_by_one, most=4):
        return _exchanged(support, wrong, short, dual, margins, most, one_by_one).tolist()

    assert exchanged(wrong, short, False) == [0, 4, 5, 6]
    assert exchanged(wrong, short, False, most=3) == [0, 4, 5]
    assert exchanged(wrong, short, True) == exchanged(wrong, none, True) == [0, 2, 5]
    assert exchanged(none, short, True) == [0, 2, 3, 4, 5]
