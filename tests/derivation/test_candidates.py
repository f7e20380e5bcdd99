"""Proposed conserved quantities, and the conserved quantities of ReLU networks."""

import numpy as np
import pytest
from maps import neuron, rectified, two_neurons

import tacit


def balance(theta):
    return theta[0] ** 2 - (theta[1:] ** 2).sum()


def product(theta):
    return theta[0] * theta[1]


def test_conserved_and_violated_candidates_are_distinguished():
    found = tacit.derive(neuron, np.array([1.0, 0.5, 0.3]), samples=2, candidates=[balance, product])
    kept, lost = found.candidates
    assert (kept.name, kept.verdict, kept.held) == ("balance", "held", True)
    assert max(kept.elsewhere, kept.on_orbit, kept.drift) <= 1e-11
    assert (lost.name, lost.verdict, lost.held) == ("product", "violated", False)
    assert min(lost.elsewhere, lost.on_orbit, lost.drift) > 0.1
    assert "balance: held" in found.summary() and found.to_dict()["candidates"][1]["verdict"] == "violated"


def test_a_quantity_conserved_on_one_orbit_only_is_reported_as_such():
    """Parallel balanced neurons stay parallel: the sine of their angle stays 0, and changes elsewhere."""
    direction = np.array([0.6, -0.8])
    theta = np.concatenate([[each, *(abs(each) * direction)] for each in (0.5, 1.25)])

    def crossed(theta):
        return theta[1] * theta[5] - theta[2] * theta[4]

    (found,) = tacit.derive(two_neurons, theta, samples=2, candidates=[crossed]).candidates
    assert found.verdict == "held from this start" and found.elsewhere > 0.01


@pytest.mark.parametrize(
    ("candidate", "words"),
    [
        (lambda theta: theta, "must be a number"),
        (lambda theta: 3.0 + 0 * theta[0], "does not change"),
        (lambda theta: float(theta[0]), "cannot be traced"),
        (5, "must be functions"),
    ],
)
def test_invalid_candidates_are_rejected(candidate, words):
    with pytest.raises(tacit.InputError, match=words):
        tacit.derive(neuron, np.array([1.0, 0.5, 0.3]), samples=2, candidates=[candidate])


@pytest.mark.every(4)
@pytest.mark.parametrize("r", [1, 2, 3, 4])
def test_relu_networks_conserve_one_balance_per_neuron(r):
    """‖wⱼ‖² − aⱼ² and nothing else, near a generic point (Marcotte et al. 2023)."""
    angles = np.linspace(0, 2 * np.pi, 2 * r + 6, endpoint=False) + 0.1
    inputs = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    theta = np.random.default_rng(0).standard_normal(3 * r)
    found = tacit.derive(rectified(r, inputs), theta, samples=3, radius=1e-2)
    assert found.conserved_number == len(found.conserved) == r
    for law in found.conserved:
        neurons = [j for j in range(r) if law.quadratic[2 * r + j, 2 * r + j] != 0]
        (j,) = neurons
        expected = np.zeros(3 * r)
        expected[[2 * j, 2 * j + 1]], expected[2 * r + j] = 1.0, -1.0
        np.testing.assert_allclose(law.quadratic, np.diag(expected), atol=1e-12)
        assert not law.linear.any() and law.drift < 1e-11
