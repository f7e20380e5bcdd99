"""Maps into an affine subspace: verdict and potential are those of coordinates on it."""

import copy
import pickle

import jax.numpy as jnp
import numpy as np
import pytest

import tacit

TALL = np.random.default_rng(0).standard_normal((6, 3))


def softmax(theta):
    e = jnp.exp(theta)
    return e / e.sum()


def short(theta):
    return softmax(theta)[:2]


def tall(theta):
    return jnp.asarray(TALL) @ theta**2


def test_softmax_agrees_with_all_its_entries_but_one():
    """On the simplex both potentials and both mirror maps agree."""
    start = np.array([0.1, 0.5, -0.3])
    found, part = (tacit.derive(function, start, samples=3) for function in (softmax, short))
    assert (found.kind, part.kind, found.rank) == ("warped", "warped", 2)
    np.testing.assert_allclose(np.ones(3) @ found.basis, 0.0, atol=1e-12)
    Q, q = found.potential, part.potential
    w = np.asarray(softmax(jnp.asarray(start + np.array([0.2, -0.1, 0.05]))), dtype=float)
    w = w / w.sum()
    np.testing.assert_allclose(Q.value(w), q.value(w[:2]), rtol=1e-7)
    slope = Q.gradient(w)
    np.testing.assert_allclose(slope[:2] - slope[2], q.gradient(w[:2]), rtol=1e-7)
    np.testing.assert_allclose(Q.mirror(slope), w, rtol=1e-9)
    np.testing.assert_allclose(Q.mirror(slope + 5.0), w, rtol=1e-9)  # normal parts of slopes do not matter
    assert "affine subspace" in found.summary() and found.to_dict()["subspace"] is not None


def test_squares_times_a_tall_matrix_have_the_potential_of_squares():
    """In u = θ², θ' = 2θ·z makes ∇Q_u = ¼·log(u/u₀): A⁺ᵀ carries it to the subspace."""
    start = np.array([1.0, 0.5, 0.3])
    found = tacit.derive(tall, start, samples=3)
    assert found.kind == "mirror"
    u = np.array([1.2, 0.2, 0.15])
    slope = np.log(u / start**2) / 4
    np.testing.assert_allclose(TALL.T @ found.potential.gradient(TALL @ u), slope, rtol=1e-8)
    H = found.potential.hessian(TALL @ u)
    np.testing.assert_allclose(TALL.T @ H @ TALL, np.diag(1 / (4 * u)), atol=1e-7)
    with pytest.raises(tacit.OutsideDomainError, match="affine subspace"):
        found.potential.value(TALL @ u + 1e-3)
    with pytest.raises(tacit.InputError, match=r"derivation\.basis"):
        tacit.limit(found.model, np.ones((1, 6)), [1.0])


def test_the_limit_in_coordinates_is_the_end_of_the_flow():
    start = np.array([1.0, 0.5, 0.3])
    B = tacit.derive(tall, start, samples=3).basis
    X = np.random.default_rng(1).standard_normal((2, 6))
    y, w0 = X @ TALL @ np.array([0.7, 0.6, 0.2]), TALL @ start**2
    inside = tacit.derive(lambda t: jnp.asarray(B).T @ tall(t), start, samples=3)
    c = tacit.limit(inside.model, X @ B, y - X @ (w0 - B @ (B.T @ w0))).predictor
    end = tacit.flow(tacit.model(tall, start), X, y).predictor[-1]
    np.testing.assert_allclose(w0 + B @ (c - B.T @ w0), end, atol=1e-6)


@pytest.mark.every(2)
@pytest.mark.parametrize("function", [softmax, lambda t: softmax(t)], ids=["named", "lambda"])
def test_results_survive_copies(function):
    found = tacit.derive(function, np.array([0.1, 0.5, -0.3]), samples=2)
    w = found._jets.value(np.array([0.2, 0.4, -0.3]))
    for again in (pickle.loads(pickle.dumps(found)), copy.copy(found), copy.deepcopy(found)):
        assert again.to_dict() == found.to_dict()
    np.testing.assert_allclose(copy.deepcopy(found.potential).value(w), found.potential.value(w))


def test_curved_images_have_no_potential():
    found = tacit.derive(lambda t: jnp.array([jnp.sin(t[0]), jnp.cos(t[0]), t[1]]), [0.3, 2.0], samples=3)
    assert found.kind == "none" and "curved" in found.reason


def test_constant_entries_are_left_out():
    found = tacit.derive(lambda t: jnp.array([t[0] ** 2, 3.0, t[1] * t[2]]), [1.0, 2.0, 0.5], samples=3)
    assert (found.kind, found.rank) == ("mirror", 2)


def test_ninety_parameters_in_pairs_are_searched_and_a_dense_map_is_not():
    pairs = tacit.derive(lambda t: t[:45] * t[45:], np.linspace(0.3, 1.2, 90), samples=2)
    assert pairs.conserved_number == len(pairs.conserved) == 45
    mixing = jnp.asarray(np.random.default_rng(0).standard_normal((2, 90)))
    dense = tacit.derive(lambda t: mixing @ t, np.linspace(0.3, 1.2, 90), samples=2)
    assert dense.conserved == () and "not searched" in dense.summary()
