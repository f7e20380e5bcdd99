"""Woodworth et al. 2020, Section 4: the smallest movement of the weights, and samples for the rich regime.

References: a general optimizer over the raw weights, the quartic of the paper, simulations, and explicit
cases.
"""

import math

import numpy as np
import pytest
from oracles import distance_quartic, gaussian_problem
from scipy.optimize import minimize

import tacit
from tacit.papers.woodworth2020 import explicit
from tacit.papers.woodworth2020 import section4 as recovery
from tacit.theorems import check


@pytest.fixture(scope="module")
def problem():
    return gaussian_problem(3, 6, nonzero=2, seed=1)


class TestExplicit:
    @pytest.mark.parametrize("seed", range(4))
    @pytest.mark.parametrize("alpha", [1e-60, 1e-4, 0.1, 1.0, 1e4])
    def test_holds(self, alpha, seed):
        verdict = check(
            "woodworth2020/explicit", tacit.Diagonal(2, alpha), *gaussian_problem(6, 20, seed=seed)
        )
        assert verdict.holds and len(verdict.bounds) == 6, verdict.summary()

    @pytest.mark.parametrize("alpha", [0.2, 1.0])
    def test_no_fitting_weights_are_nearer_to_the_initialization(self, alpha, problem):
        """(8) with the raw weights, minimized by SLSQP from the initialization."""
        X, y = problem
        d = X.shape[1]
        found = minimize(
            lambda w: np.sum((w - alpha) ** 2),
            np.full(2 * d, alpha),
            jac=lambda w: 2 * (w - alpha),
            constraints={"type": "eq", "fun": lambda w: X @ (w[:d] ** 2 - w[d:] ** 2) - y},
            options={"ftol": 1e-14, "maxiter": 500},
        )
        beta = found.x[:d] ** 2 - found.x[d:] ** 2
        np.testing.assert_allclose(explicit._explicit(alpha, X, y), beta, atol=1e-5)
        assert explicit.least_move(beta, alpha) == pytest.approx(found.fun, rel=1e-6)

    @pytest.mark.parametrize("z", [1e-8, 0.1, 0.99, 1.01, 8.0, 200.0])
    def test_movements_are_the_smaller_root_of_the_quartic(self, z):
        if z > 1e-3:
            roots = np.roots(distance_quartic(z))
            least = np.min(roots[np.abs(roots.imag) < 1e-4 * np.abs(roots)].real)
        else:
            least = z**2 / 8
        assert explicit.least_move(np.array([z, -z]), 1.0) == pytest.approx(2 * least, rel=1e-6)
        assert explicit.least_move(np.array([z]) / 4, 0.5) == pytest.approx(least / 4, rel=1e-6)

    def test_both_bounds_of_r(self):
        """|β| − 2α√|β| ≤ R(β) ≤ |β|, which implies the bound on the norm."""
        for beta in np.geomspace(1e-6, 1e12, 40):
            assert beta - 2 * math.sqrt(beta) <= explicit.least_move(np.array([beta]), 1.0) <= beta

    def test_a_wrong_regularizer_is_detected(self, problem, monkeypatch):
        model = tacit.Diagonal(2, 0.2)
        real = explicit._explicit
        monkeypatch.setattr(explicit, "_explicit", lambda _, X, y: tacit.limit(model, X, y).predictor)
        assert check("woodworth2020/explicit", model, *problem).holds is False  # in the limits of R
        monkeypatch.setattr(explicit, "_explicit", lambda alpha, X, y: real(100 * alpha, X, y))
        assert not check("woodworth2020/explicit", model, *problem).bounds[1].holds  # the flow moves less
        monkeypatch.undo()
        monkeypatch.setattr(tacit.potentials.WeightDistance, "value", lambda self, beta: np.abs(beta).sum())
        assert not check("woodworth2020/explicit", model, *problem).bounds[0].holds

    def test_other_models_and_data(self, problem):
        X, y = problem
        for model in (
            tacit.Diagonal(3),
            tacit.UntiedDiagonal(),
            tacit.Diagonal(2, profile=np.arange(1.0, 7.0)),
        ):
            assert check("woodworth2020/explicit", model, X, y).holds is None
        for model in (tacit.Diagonal(2, log_scale=-500.0), tacit.Diagonal(2, log_scale=500.0)):
            assert check("woodworth2020/explicit", model, X, y).holds is None
        assert check("woodworth2020/explicit", tacit.Diagonal(), X, np.zeros(3)).holds is None
        assert check("woodworth2020/explicit", tacit.Diagonal(), np.ones((2, 3)), [1.0, 2.0]).holds is None


class TestRecovery:
    @pytest.mark.parametrize("depth", [2, 2.3, 4])
    def test_holds(self, depth):
        verdict = check("woodworth2020/sample-size-rich", tacit.Diagonal(depth), features=200, nonzero=3)
        assert verdict.holds and verdict.bounds[0].measured == 0, verdict.summary()

    @pytest.mark.parametrize("nonzero", [1, 5, 40])
    def test_the_number_of_samples_is_minimal_for_the_probability(self, nonzero):
        """For many numbers of features, because rounding up hides small errors of a formula."""
        for features in range(50, 1000, 19):
            width = math.sqrt(2 * nonzero * math.log(features / nonzero) + 1.25 * nonzero)

            def failing(samples, width=width):
                return math.exp(-((samples / math.sqrt(samples + 1) - width) ** 2) / 2)

            samples = recovery.samples_needed(features, nonzero)
            assert failing(samples) <= 1e-3 < failing(samples - 1)

    def test_it_grows_like_the_logarithm_of_the_features(self):
        few, more, most = (recovery.samples_needed(10**k, 5) for k in (4, 8, 12))
        assert most - more == pytest.approx(more - few, rel=0.15)
        assert most < 3 * few

    def test_too_few_samples_are_detected(self, monkeypatch):
        monkeypatch.setattr(recovery, "samples_needed", lambda features, nonzero: 2 * nonzero)
        verdict = check("woodworth2020/sample-size-rich", tacit.Diagonal(), features=200, nonzero=5)
        assert not verdict.bounds[0].holds and verdict.bounds[1].holds

    def test_an_initialization_that_is_not_small_is_detected(self, monkeypatch):
        monkeypatch.setattr(recovery, "_LOG_SCALE", {True: 5.0, False: 5.0})
        assert check("woodworth2020/sample-size-rich", tacit.Diagonal(), features=200).holds is False

    def test_it_does_not_apply_to_few_features(self):
        key = "woodworth2020/sample-size-rich"
        assert check(key, tacit.UntiedDiagonal(), features=200).holds is None
        assert check(key, tacit.Diagonal(), features=60).holds is None  # needs N = 82
        assert check(key, tacit.Diagonal(), features=5).holds is None
        with pytest.raises(tacit.InputError, match="nonzero"):
            check(key, tacit.Diagonal(), features=100, nonzero=0)
