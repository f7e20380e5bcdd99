"""The ends of the range of scales, and coefficients between them."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.estimators import FlowClassifier, FlowRegressor, FlowRegressorCV, scale_range


def draw(seed=0, samples=15, features=40):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((samples, features))
    return X, X[:, :3] @ [3.0, -2.0, 1.0] + 0.1 * rng.standard_normal(samples)


def norms(X, y, scale, depth):
    w = FlowRegressor(scale, depth).fit(X, y).coef_
    return np.abs(w).sum(), np.linalg.norm(w)


@pytest.mark.parametrize(("depth", "share"), [(2, 0.05), (2, 0.3), (4, 0.05)])
def test_norms_exceed_the_least_ones_by_the_share(depth, share):
    X, y = draw()
    rich, kernel = scale_range(X, y, depth, share=share)
    centred = X - X.mean(axis=0), y - y.mean()
    l2 = np.linalg.norm(np.linalg.lstsq(*centred, rcond=None)[0])
    l1 = np.abs(tacit.limit(tacit.potentials.L1(), X, y, intercept=True).predictor).sum()
    assert norms(X, y, rich, depth)[0] / l1 - 1 == pytest.approx(
        share, rel=0.1
    )  # scales are located to 0.01 in the logarithm
    assert norms(X, y, kernel, depth)[1] / l2 - 1 == pytest.approx(share, rel=0.1)


def test_the_range_does_not_depend_on_units():
    X, y = draw(1)
    np.testing.assert_allclose(scale_range(100 * X, y / 7), scale_range(X, y), rtol=1e-6)


def test_data_with_a_unique_solution_have_a_range():
    X, y = draw(2, features=4)
    rich, kernel = scale_range(X, y)
    assert 0 < rich < kernel < np.inf
    assert all(0 < end < np.inf for end in scale_range(X, np.ones(15)))
    with pytest.raises(ValueError, match="share"):
        scale_range(X, y, share=2)


@pytest.mark.parametrize("stop", [None, 0.1])
def test_paths_agree_with_fits_at_other_scales(stop):
    X, y = draw(3)
    table = pd.DataFrame(X, columns=[f"gene {i}" for i in range(40)])
    fit = FlowRegressor(0.05, stop=stop, standardize=True).fit(table, y)
    path = fit.path(scales=[1.0, 0.1, 0.01])
    for scale, w, b in zip(path.scales, path.coefs, path.intercepts, strict=True):
        other = FlowRegressor(scale, stop=stop, standardize=True).fit(table, y)
        assert np.linalg.norm(w - other.coef_) < 5e-3 * np.linalg.norm(other.coef_)
        assert abs(b - other.intercept_) < 5e-3 * np.abs(y).max()
    far = FlowRegressor(1e3, stop=stop, standardize=True).fit(table, y).coef_
    assert np.linalg.norm(path.kernel - far) < 5e-3 * np.linalg.norm(far)
    assert (path.rich is None) == (stop is not None)
    assert path.features == tuple(table.columns) and path.chosen == 0.05
    assert 0.05 in fit.path(4).scales and "depth 2" in path.summary()
    assert path.to_xarray()["coefs"].shape == (3, 40) and len(path.to_dict()["coefs"]) == 3


@pytest.mark.parametrize("stop", [None, 0.2])
def test_paths_of_classifiers(stop):
    X, y = draw(4)
    fit = FlowClassifier(0.05, stop=stop).fit(X, y > 0)
    path = fit.path(scales=[1.0, 0.05])
    np.testing.assert_allclose(path.coefs[1], fit.coef_[0], rtol=0, atol=5e-3 * np.abs(fit.coef_).max())
    far = FlowClassifier(1e3, stop=stop).fit(X, y > 0).coef_[0]
    assert np.linalg.norm(path.kernel - far) < 5e-3 * np.linalg.norm(far)
    assert (path.rich is None) == (stop is not None)


def test_paths_are_drawn(tmp_path):
    X, y = draw(5)
    fit = FlowRegressorCV(scales=3, stops=4, cv=3).fit(X, y)
    figure = fit.plot_path(scales=5)
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert len(labels) == 7 and set(labels) <= {f"x{i}" for i in range(40)}
    assert fit.plot_path(tmp_path / "path.png", scales=3).stat().st_size > 1000


def test_without_scikit_learn_the_error_says_what_to_install():
    code = "import sys; sys.modules['sklearn'] = None; import tacit; tacit.limit; tacit.estimators"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode != 0 and "pip install 'scikit-learn>=1.7'" in run.stderr
