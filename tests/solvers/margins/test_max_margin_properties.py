"""Maximum margins: invariances, errors and results."""

import dataclasses
import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from margin_oracles import exact_l1, exact_l2, exact_margin, exact_vertices, local_minima, lp_on
from margin_problems import check, close, holds_rows, same_rows, separable, size, solve
from properties import examples

import tacit
from tacit.potentials import L1, DeepHypentropy, Hypentropy, NeuronPotential, Power, Quadratic

whole_numbers = st.integers(1, 4).flatmap(
    lambda d: st.lists(st.lists(st.integers(-2, 2), min_size=d, max_size=d), min_size=1, max_size=5)
)


@examples(150)
@given(whole_numbers)
def test_whole_numbers_with_all_their_ties(rows):
    """Separability, uniqueness and the solution, computed in rational arithmetic."""
    Z = np.array(rows, float)
    if not exact_vertices(Z):
        for norm in ("l1", "l2", 1.5, 0.5, Hypentropy(-1.0)):
            with pytest.raises(tacit.NotSeparableError) as error:
                solve(Z, norm)
            c = np.asarray(error.value.combination)
            assert c.shape == (len(Z),) and (c >= 0).all() and np.abs(c @ Z).max() <= 1e-9 * c.max()
        return
    close(solve(Z, "l2").predictor, exact_l2(Z)[0])
    value, vertices = exact_l1(Z)
    found = solve(Z, "l1")
    check(found, Z, 1)
    assert found.value == pytest.approx(value, rel=1e-12) and bool(found.unique) == (len(vertices) == 1)
    close(found.predictor, vertices[0]) if found.unique else same_rows(found.face, vertices)
    close(solve(Z, 1.5).predictor, exact_margin(Z, partial(lp_on, p=1.5))[0])
    if Z.shape[1] <= 3:
        found, minima = solve(Z, 0.5), local_minima(Z, 0.5)
        check(found, Z, 0.5)
        holds_rows(found.stationary, minima)
        assert found.value == pytest.approx(size(0.5, minima[0]), rel=1e-9)


NORMS = st.sampled_from(["l1", "l2", 1.5, 1.1, 0.5, Hypentropy(-2.0), DeepHypentropy(3, -2.0)])
SHAPES = st.sampled_from([(3, 3), (8, 3), (2, 3)])


@examples(40)
@given(st.integers(0, 10**6), SHAPES, NORMS)
def test_order_signs_and_copies_only_relabel(seed, shape, norm):
    """Samples and features in another order, features and labels with opposite signs, repeated samples."""
    Z, rng = separable(*shape, seed), np.random.default_rng(seed)
    rows, columns = rng.permutation(len(Z)), rng.permutation(Z.shape[1])
    flip, labels = rng.choice([-1.0, 1.0], Z.shape[1]), rng.choice([-1.0, 1.0], len(Z) + 2)
    plain = solve(Z, norm)
    changed = (Z * flip)[rows][:, columns]
    other = solve(changed, norm)
    close(other.predictor, (plain.predictor * flip)[columns])
    close(other.dual, plain.dual[rows], 1e-7)
    repeated = np.vstack([Z, Z[:2]])
    again = tacit.max_margin(labels[:, None] * repeated, labels, norm)
    close(again.predictor, plain.predictor)
    assert again.value == pytest.approx(plain.value, rel=1e-9)


@examples(40)
@given(st.integers(0, 10**6), SHAPES, st.sampled_from(["l1", "l2", 1.5, 1.1, 0.5]), st.floats(-6, 6))
def test_units_of_the_data_only_rescale(seed, shape, norm, digits):
    Z, unit = separable(*shape, seed), 10.0**digits
    plain, other = solve(Z, norm), solve(unit * Z, norm)
    close(unit * other.predictor, plain.predictor)
    close(unit * other.dual, plain.dual, 1e-7)
    assert unit * other.value == pytest.approx(plain.value, rel=1e-9)
    assert other.unique == plain.unique and other.converged


@examples(40)
@given(st.integers(0, 10**6), SHAPES, NORMS, st.floats(1, 3))
def test_a_sample_that_has_its_margin_changes_nothing(seed, shape, norm, margin):
    """Also one whose margin is exactly 1."""
    Z, rng = separable(*shape, seed), np.random.default_rng(seed)
    plain = solve(Z, norm)
    extra = rng.standard_normal(Z.shape[1])
    held = extra @ plain.predictor
    assume(abs(held) > 1e-3)
    more = solve(np.vstack([Z, extra * margin / held]), norm)
    close(more.predictor, plain.predictor, 1e-8)
    assert more.value == pytest.approx(plain.value, rel=1e-9)


def test_the_least_norm_falls_and_is_continuous_in_p():
    Z = separable(12, 15, seed=2)
    powers = [1, 1 + 1e-6, 1.001, 1.01, 1.1, 1.4, 1.8, 1.999, 2]
    values = [solve(Z, p).value for p in powers]
    assert (np.diff(values) < 0).all()
    assert values[1] == pytest.approx(values[0], rel=1e-5) and values[-2] == pytest.approx(
        values[-1], rel=1e-3
    )


NONSEPARABLE = {
    "opposite samples": [[1.0, 2.0], [-1.0, -2.0]],
    "a sample of zeros": [[1.0, 2.0], [0.0, 0.0]],
    "exclusive or": [[1.0, 1, 1], [-1, -1, 1], [1, -1, -1], [-1, 1, -1]],
    "a half-plane": [[1.0, 0], [-1, 0], [0, 1]],
    "many": np.random.default_rng(0).standard_normal((40, 5)),
    "one feature, both signs": [[2.0], [-1e-3]],
}


@pytest.mark.parametrize("norm", ["l1", "l2", 1.5, 0.5, Hypentropy(-3.0), L1(), Quadratic()], ids=str)
@pytest.mark.parametrize("case", NONSEPARABLE)
def test_data_that_no_predictor_separates_are_refused_with_a_proof(case, norm):
    Z = np.array(NONSEPARABLE[case], float)
    with pytest.raises(tacit.NotSeparableError) as error:
        solve(Z, norm)
    c = np.asarray(error.value.combination)
    assert c.shape == (len(Z),) and (c >= 0).all() and c.max() > 0
    assert np.abs(c @ Z).max() <= 1e-9 * (c @ np.abs(Z)).max(initial=1e-300)


@pytest.mark.parametrize("gap", [1e-3, 1e-4, 1e-5, 1e-6])
@pytest.mark.parametrize("norm", ["l1", "l2", 1.5, 0.5])
def test_classes_that_nearly_touch_are_separable(norm, gap):
    found = solve(np.array([[1.0, 0.0], [-1.0, gap]]), norm)
    assert found.converged
    np.testing.assert_allclose(found.predictor, [1, 2 / gap], rtol=1e-9)


X, Y = np.array([[1.0, 2, 0.5], [0.3, -1, 2], [-1, 0.2, 1]]), np.array([1.0, 1, -1])


NO_NORMS = [
    0,
    0.0,
    -1,
    -0.5,
    2.5,
    3,
    True,
    False,
    np.True_,
    np.nan,
    np.inf,
    -np.inf,
    "l3",
    "",
    None,
    1j,
    [1, 2],
]
NO_NORMS += [{}, L1, tacit.Diagonal, L1(np.ones(5)), Quadratic(np.eye(5)), tacit.UntiedDiagonal(np.ones(5))]


@pytest.mark.parametrize("norm", NO_NORMS, ids=str)
def test_what_is_no_norm_is_refused(norm):
    with pytest.raises(tacit.InputError) as error:
        tacit.max_margin(X, Y, norm)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("norm", ["l1", "l2", 1.5, 0.5, Hypentropy(0.0)], ids=str)
def test_bad_data_are_refused(norm):
    holed = X.copy()
    holed[1, 2] = np.nan
    infinite = np.where(np.isnan(holed), np.inf, holed)
    for bad in [
        (holed, Y),
        (infinite, Y),
        (X, [1, np.nan, 1]),
        (X[0], Y),
        (X[None], Y),
        (X, Y[:2]),
        (X, np.c_[Y, Y]),
        (X, 1.0),
        (X, [1, 2, -1]),
        (X, [0.5, 1, -1]),
        (X[:0], Y[:0]),
        (X[:, :0], Y),
        (X + 1j, Y),
        ("X", Y),
        (None, Y),
    ]:
        with pytest.raises(tacit.InputError) as error:
            tacit.max_margin(*bad, norm)
        assert "\n" not in str(error.value)


def test_a_model_without_a_potential_has_no_margin():
    with pytest.raises(tacit.NoPotentialError):
        tacit.max_margin(X, Y, tacit.LinearNetwork.gaussian(3, 4))


@pytest.mark.parametrize(
    "norm", ["l1", "l2", 1.5, 0.5, Hypentropy(0.0), tacit.UntiedDiagonal(0.1, 0.5)], ids=str
)
def test_what_comes_out(norm):
    kept = X.copy()
    found = tacit.max_margin(X, Y, norm)
    np.testing.assert_array_equal(X, kept)
    assert isinstance(found, tacit.Margin) and isinstance(found.summary(), str) and found.summary().strip()
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.value = 0.0
    for array in (found.predictor, found.dual):
        assert isinstance(array, np.ndarray) and array.dtype == np.float64
    assert isinstance(found.value, float) and isinstance(found.kkt, float) and found.converged is True
    plain = json.loads(json.dumps(found.to_dict()))
    np.testing.assert_array_equal(plain["predictor"], found.predictor)
    np.testing.assert_array_equal(plain["dual"], found.dual)
    np.testing.assert_array_equal(plain["support"], found.support)
    assert (plain["value"], plain["kkt"]) == (found.value, found.kkt)
    assert (plain["unique"], plain["converged"]) == (found.unique, found.converged)
    frozen = X.copy()
    frozen.flags.writeable = False
    for same in [(X, Y), (X.tolist(), Y.tolist()), (pd.DataFrame(X), pd.Series(Y)), (frozen, Y.astype(int))]:
        np.testing.assert_array_equal(tacit.max_margin(*same, norm).predictor, found.predictor)


def test_a_model_is_its_potential():
    for model in (tacit.UntiedDiagonal(0.1, 0.5), tacit.Diagonal(3, 0.3, profile=[0.5, 2.0, 1.5])):
        found, other = tacit.max_margin(X, Y, model), tacit.max_margin(X, Y, model.potential(3))
        close(found.predictor, other.predictor, 1e-12)
        check(found, Y[:, None] * X, model.potential(3))
        assert tacit.certify(model, X, Y, found.predictor, problem="margin", tol=1e-7).holds


@pytest.mark.parametrize("potential", [NeuronPotential(0.7), NeuronPotential(-2.0), Power(3.0)])
def test_potentials_of_the_length_have_the_l2_margin(potential):
    rng = np.random.default_rng(8)
    X = rng.standard_normal((12, 5))
    y = np.sign(X @ rng.standard_normal(5))
    found = tacit.max_margin(X, y, potential)
    np.testing.assert_allclose(found.predictor, tacit.max_margin(X, y, "l2").predictor, rtol=1e-12)
    assert (
        found.converged and tacit.certify(potential, X, y, found.predictor, problem="margin", tol=1e-9).holds
    )


def test_a_potential_without_a_solver_is_refused_with_those_that_have_one():
    neuron = tacit.Neuron(1.0, [1.0, 2.0])
    with pytest.raises(tacit.NoPotentialError, match="of NeuronPotential; use NeuronPotential itself"):
        tacit.max_margin([[1.0, 0.0]], [1], neuron)
