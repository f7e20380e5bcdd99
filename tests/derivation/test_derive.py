"""Verdicts on parametrizations with known geometry from random starts, and rejected arguments."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from maps import KNOWN, TIED, neuron, shared, two_layers, two_neurons, untied
from properties import some

import tacit
from tacit.derivation import closure, metric, smooth_map


def start(seed, p):
    return np.random.default_rng(seed).standard_normal(p)


@pytest.mark.every(12)
@pytest.mark.parametrize("name", KNOWN)
def test_known_maps_have_the_known_verdict(name):
    """No verdict is wrong, and at most 2% of the starts are too close to a degenerate one to decide."""
    function, p, kind, dimension = KNOWN[name]
    found = [tacit.derive(function, start(seed, p), seed=seed) for seed in some(range(100), 50)]
    assert {each.kind for each in found} <= {kind, "undecided"}
    assert sum(each.kind == "undecided" for each in found) <= 0.02 * len(found)
    assert {each.reachable_dimension for each in found if each.kind == kind} == {dimension}


@pytest.mark.every(6)
@pytest.mark.parametrize(("n", "m", "r"), [(2, 1, 1), (2, 1, 2), (1, 1, 3), (2, 1, 4), (2, 2, 2)])
def test_orbits_of_linear_networks_have_the_known_dimension(n, m, r):
    """r(r+1)/2 laws for r ≤ n+m, else (n+m)(2r+1−n−m)/2 (Marcotte et al. 2023)."""
    laws = r * (r + 1) // 2 if r <= n + m else (n + m) * (2 * r + 1 - n - m) // 2
    p = (n + m) * r
    found = tacit.derive(two_layers(n, m, r), start(3, p), samples=3)
    assert found.closed and p - found.reachable_dimension == laws


def test_the_reachable_dimension_is_that_of_transported_fields():
    """The orbit theorem: fields transported back along flows span the tangent space, without brackets."""
    p, theta = 8, start(0, 8)
    rng = np.random.default_rng(1)
    with jax.enable_x64(True):
        jacobian = jax.jit(jax.jacrev(two_neurons))
        pushed = jax.jit(jax.jacfwd(lambda t, c: jacobian(t).T @ c))
        rows = [np.asarray(jacobian(theta))]
        for _ in range(12):
            at, tangent, c = theta.copy(), np.eye(p), rng.standard_normal(3)
            for _ in range(400):  # Euler: the span of a nearby flow
                tangent = tangent + 1e-4 * np.asarray(pushed(at, c)) @ tangent
                at = at + 1e-4 * np.asarray(jacobian(at)).T @ c
            rows.append(np.linalg.solve(tangent, np.asarray(jacobian(at)).T).T)
    singular = np.linalg.svd(np.vstack(rows), compute_uv=False)
    assert tacit.derive(two_neurons, theta).reachable_dimension == 5
    assert singular[4] > 10 * singular[5]


def test_the_warp_of_a_neuron_is_that_of_the_paper():
    """v = ∇log|a|, with a² = δ/2 + √(‖w‖² + δ²/4): ∇a² = w/√(‖w‖² + δ²/4)."""
    for seed in range(5):
        theta = start(seed, 4)
        _, jets, _ = smooth_map.checked_model(neuron, theta)
        a, w = theta[0], theta[0] * theta[1:]
        delta = a**2 - theta[1:] @ theta[1:]
        expected = w / np.hypot(np.linalg.norm(w), delta / 2) / (2 * a**2)
        np.testing.assert_allclose(jets(metric.warp_field, theta), expected, rtol=1e-10)


def test_brackets_agree_with_finite_differences():
    theta, step = start(2, 8), 1e-5
    _, jets, _ = smooth_map.checked_model(two_neurons, theta)

    def rate(i, along):
        ahead, behind = (jets.slopes(theta + sign * step * along)[i] for sign in (1, -1))
        return (ahead - behind) / (2 * step)

    X = jets.slopes(theta)
    pairs = [(i, j) for i in range(3) for j in range(3)]
    brackets = jets(closure.brackets_of, theta, np.eye(3)[np.array(pairs)])[0]
    for (i, j), found in zip(pairs, brackets, strict=True):
        np.testing.assert_allclose(found, rate(j, X[i]) - rate(i, X[j]), atol=1e-8)


def test_two_strictly_balanced_neurons_act_like_one():
    """Parallel neurons with aᵢ² = ‖wᵢ‖² stay so: w is a coordinate there (Azulay et al., Prop. 1)."""
    direction = np.array([2.0, -1.0, 2.0]) / 3
    theta = np.concatenate([[each, *(abs(each) * direction)] for each in (0.5, 1.25)])
    found = tacit.derive(two_neurons, theta)
    assert (found.kind, found.reachable_dimension) == ("warped", 3)


def test_a_shared_weight_is_warped_like_a_neuron():
    assert tacit.derive(shared, start(0, 3)).kind == "warped"


def test_parameters_can_be_a_dict():
    def named(theta):
        return theta["u"] * theta["v"]

    found = tacit.derive(named, {"u": [1.0, 2.0], "v": [0.5, -1.0]})
    assert (found.kind, found.parameters, found.features) == ("mirror", 4, 2)


@pytest.mark.thorough
def test_nearly_degenerate_maps_are_left_undecided():
    """A coupling of 1e-8 is neither round-off nor clearly nonzero; one of 1e-3 is clearly nonzero."""

    def coupled(size):
        return lambda theta: theta[:2] ** 2 + size * jnp.array([theta[0] * theta[1] ** 2, theta[0] ** 3])

    theta = np.array([1.0, 1.5])
    doubtful = tacit.derive(coupled(1e-8), theta)
    assert doubtful.kind == "undecided" and "Undecided at this tolerance" in doubtful.reason
    assert tacit.derive(coupled(1e-3), theta).kind not in ("mirror", "undecided")


def test_singular_starts_are_undecided():
    still = tacit.derive(neuron, np.zeros(3))
    assert still.kind == "undecided" and "critical point" in still.reason
    folded = tacit.derive(neuron, np.array([0.0, 1.0, 2.0]))
    assert folded.kind == "undecided" and "rank 1 at θ₀ but 2" in folded.reason
    flat = tacit.derive(lambda theta: jnp.array([theta[0], theta[0] ** 2, theta[1]]), np.array([1.0, 2.0]))
    assert flat.kind == "none" and "rank 2 < 3" in flat.reason


def test_representation_dict_and_summary():
    found = tacit.derive(untied, start(0, 8))
    assert repr(found) == "Derivation(mirror: untied, 8 parameters → 2)"
    told = json.loads(json.dumps(found.to_dict()))
    assert told["kind"] == "mirror" and told["commutator"] == found.commutator
    assert told["tolerance"] == found.tolerance and told["theta0"] == start(0, 8).tolist()
    for line in ("mirror", "8 parameters to 2 features", "commute", "2 of 8 dimensions"):
        assert line in found.summary()
    assert not jax.config.jax_enable_x64


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("function", "theta", "words"),
    [
        (lambda t: jnp.abs(t) ** 1.0, [0.1, -0.1, 3.0], "not smooth"),
        (lambda t: jnp.where(t > 1.0, t, t + 0.5) * t, [1.01, 1.02, 0.99], "not smooth"),
        (lambda t: jnp.sqrt(t), [0.0, 1.0], "not smooth at theta0"),
        (lambda t: jnp.log(t), [-1.0, 1.0], "is nan at theta0"),
        (lambda t: jnp.outer(t, t), [1.0, 2.0], "must be a vector"),
        (lambda t: t[0], [1.0, 2.0], "must be a vector"),
        (lambda t: np.sin(t), [1.0, 2.0], "cannot be traced"),
        (lambda t: t * float(t[0]), [1.0, 2.0], "cannot be traced"),
        (lambda t: t if t[0] > 0 else -t, [1.0, 2.0], "cannot be traced"),
        (lambda t: t.astype(jnp.float32), [1.0, 2.0], "computes in float32"),
        (lambda t, u: t, [1.0, 2.0], "failed: TypeError"),
        ("neuron", [1.0], "must be a function"),
        (neuron, [np.nan, 1.0], "theta0"),
        (neuron, [], "empty"),
    ],
)
def test_functions_that_are_no_smooth_maps_are_rejected(function, theta, words):
    with pytest.raises(tacit.InputError, match=words):
        tacit.derive(function, theta)


def test_a_smaller_radius_stays_on_a_smooth_piece():
    found = tacit.derive(lambda t: jnp.abs(t) ** 1.0, [0.1, -0.1, 3.0], radius=1e-3)
    assert found.kind == "mirror"


def test_other_arguments_are_checked():
    for words, options in (("samples", {"samples": 1}), ("radius", {"radius": 0.0})):
        with pytest.raises(tacit.InputError, match=words):
            tacit.derive(TIED[2], [1.0, 2.0], **options)
