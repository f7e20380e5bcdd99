"""Depth and scale from a predictor: limits are identified; noise and the kernel end hide the depth."""

import json

import numpy as np
import pytest

import tacit

RNG = np.random.default_rng(0)
X = RNG.standard_normal((20, 60))
Y = X[:, :3].sum(axis=1)
CASES = [(2, 0.1), (3, 0.3), (4, 0.5), (3, 0.05), (2, 0.02)]


@pytest.mark.parametrize(("depth", "scale"), CASES)
def test_the_depth_and_scale_of_a_limit_are_found(depth, scale):
    """The correct depth reaches 2e-9 to 3e-8, limited by the digits of the scale; others stay above 5e-5."""
    w = tacit.limit(tacit.Diagonal(depth, scale), X, Y).predictor
    found = tacit.explain(X, Y, w)
    right = list(found.depths).index(depth)
    assert found.least[right] < 1e-6
    np.testing.assert_allclose(found.best_scales[right], scale, rtol=1e-4)
    assert np.delete(found.least, right).min() > 5e-5
    assert found.feasibility < 1e-12


def test_the_residual_is_that_of_the_certificate():
    """‖(I − P)∇Q‖/‖∇Q‖, with a projection by least squares."""
    w = tacit.limit(tacit.Diagonal(2, 0.1), X, Y).predictor
    found = tacit.explain(X, Y, w, depths=[2.5])
    for k in (30, 60, 90):
        slope = tacit.Diagonal(2.5, found.scales[k]).potential().gradient(w)
        rest = slope - X.T @ np.linalg.lstsq(X.T, slope, rcond=None)[0]
        np.testing.assert_allclose(
            found.stationarity[0, k], np.linalg.norm(rest) / np.linalg.norm(slope), rtol=1e-9
        )


def test_near_the_kernel_end_all_depths_agree():
    w = tacit.limit(tacit.Diagonal(2, 5.0), X, Y).predictor
    assert tacit.explain(X, Y, w).least.max() < 1e-4


def test_noise_hides_the_depth():
    w = tacit.limit(tacit.Diagonal(2, 0.3), X, Y).predictor
    noisy = w + 1e-2 * np.abs(w).max() * np.random.default_rng(1).standard_normal(60)
    found = tacit.explain(X, Y, noisy)
    assert found.least.min() > 1e-2
    assert found.feasibility > 1e-3


def test_units_change_only_the_scale():
    w = tacit.limit(tacit.Diagonal(3, 0.3), X, Y).predictor
    found, scaled = tacit.explain(X, Y, w), tacit.explain(1e-6 * X, Y, 1e6 * w)
    np.testing.assert_allclose(scaled.best_scales[1], 100 * found.best_scales[1], rtol=1e-6)


def test_what_is_shown(tmp_path):
    w = tacit.limit(tacit.Diagonal(3, 0.3), X, Y).predictor
    found = tacit.explain(X, Y, w)
    text = found.summary()
    assert all(f"depth {depth}" in text for depth in (2, 3, 4)) and "cannot be distinguished" in text
    assert found.plot(tmp_path / "curves.png").stat().st_size > 5_000
    assert found.stationarity.shape == (3, len(found.scales))
    assert (np.diff(found.scales) > 0).all()
    json.dumps(found.to_dict(), allow_nan=False)
    assert found.to_xarray().stationarity.dims == ("depth", "scale")


def test_errors_say_what_is_wrong():
    for call, words in (
        (lambda: tacit.explain(X, Y, np.ones(3)), "w has 3 entries but X has 60 features"),
        (lambda: tacit.explain(X, Y, np.zeros(60)), "w is 0"),
        (lambda: tacit.explain(X, Y, np.ones(60), depths=[]), "one depth or more"),
        (lambda: tacit.explain(X, Y, np.ones(60), depths=[1]), "depth must be at least 2"),
        (lambda: tacit.explain(X[:, :10], Y, np.ones(10)), "the data determine the predictor"),
    ):
        with pytest.raises(tacit.InputError, match=words):
            call()
