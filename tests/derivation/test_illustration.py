"""Pictures of derivations: level sets, and flows that end where these touch the solutions."""

import numpy as np
import pytest
from maps import TIED, neuron, two_neurons

import tacit
from tacit.derivation.illustration import _flow, flows_apart, level_sets
from tacit.show.level_sets import apart_picture


def test_level_sets_belong_to_the_potential_and_flows_end_where_lines_touch_them():
    found = tacit.derive(TIED[2], np.array([0.5, 0.6, 0.4, 0.7, 0.3, 0.5]), samples=2)
    shown = level_sets(found, (0, 2))
    top = (0.8 * np.linalg.norm(found.theta0)) ** 2 / 2
    rest = found.potential.origin[1]
    for curve, share in ((shown.curves[0], 0.02), (shown.curves[-1], 1.0)):
        values = [found.potential.value([w[0], rest, w[1]]) for w in curve[::32]]
        np.testing.assert_allclose(values, share * top, rtol=1e-6)
    assert len(shown.flows) == 3
    for flow, (normal, offset, end, _) in zip(shown.flows, shown.touched, strict=True):
        np.testing.assert_allclose(normal @ end, offset, rtol=1e-12)
        np.testing.assert_allclose(flow[-1], end, atol=1e-6)


def test_flows_are_drawn_until_the_relative_residual_is_1e_8():
    """In any unit of the targets, and not later."""
    found = tacit.derive(TIED[2], np.array([0.5, 0.6, 0.4, 0.3, 0.7, 0.5]), samples=2)
    X, w0 = np.array([[0.3, 1.0, -0.4]]), found._jets.value(found.theta0)
    for size in (1e-3, 1.0, 30.0):
        first = size * np.ones(1)
        y = X @ w0 + first
        left = np.abs(_flow(found, X, y, np.ones(1)) @ X.T - y).ravel() / size
        assert left[-1] == pytest.approx(1e-8, rel=1e-2)
        assert (left[:-1] > 1e-8).all() and left[0] == pytest.approx(1)


def test_without_a_potential_flows_end_at_different_points(tmp_path, monkeypatch):
    monkeypatch.setattr("tacit.derivation.illustration._DRAWS", 1)
    found = tacit.derive(two_neurons, np.random.default_rng(0).standard_normal(8), samples=2)
    shown = flows_apart(found)
    assert all(abs(flow[-1, 1]) < 1e-6 for flow in shown.flows)
    assert shown.spread > 1e-4  # flows end within 1e-7
    assert apart_picture(shown).to(tmp_path / "apart.png").stat().st_size > 1000


def test_invalid_planes_are_rejected(tmp_path):
    found = tacit.derive(neuron, np.array([1.2, 0.5, -0.3]), samples=2)
    for plane in ((0, 0), (0, 2), 3, "ab"):
        with pytest.raises(tacit.InputError, match="plane must be two"):
            found.plot(plane=plane)
    assert found.plot(tmp_path / "neuron.pdf").stat().st_size > 1000
    with pytest.raises(tacit.InputError, match="one coordinate only"):
        tacit.derive(neuron, np.array([1.2, 0.5]), samples=2).plot()
    with pytest.raises(tacit.NoPotentialError, match="no level sets to draw"):
        tacit.derive(neuron, np.zeros(3), samples=2).plot()
