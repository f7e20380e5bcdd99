"""Wrong potentials are detected by the metric of the weights alone and by the theorems.

The integration of the weights is tested on its own, against the closed forms of w± (Woodworth et al. 2020,
equations 17 and 51).
"""

import math

import numpy as np
import pytest
from oracles import gaussian_problem

import tacit
from tacit.papers import agreement
from tacit.papers.agreement import _integrate_weights, metric
from tacit.potentials import Bregman, DeepHypentropy, Hypentropy
from tacit.theorems import check

PROFILE = np.linspace(0.5, 2, 12)


@pytest.fixture(scope="module")
def problem():
    return gaussian_problem(5, 12, nonzero=2, seed=3)


@pytest.mark.parametrize(("depth", "alpha"), [(2, 1e-3), (2, 5.0), (2.3, 0.1), (3, 1e-2), (7, 0.5)])
def test_tau_matches_the_closed_form(depth, alpha):
    """w± = α·exp(±2τ) at depth 2, (α^{2−D} ∓ D(D−2)τ)^{−1/(D−2)} beyond."""
    model = tacit.Diagonal(depth, alpha)
    unit = np.array([alpha**depth])
    moved, tau = _integrate_weights(model.parametrization, model.start(1), unit, np.array([12.0]))
    if depth == 2:
        expected = 2 * alpha**2 * np.sinh(4 * tau)
    else:
        plus, minus = (alpha ** (2 - depth) - sign * depth * (depth - 2) * tau for sign in (1, -1))
        expected = plus ** (-depth / (depth - 2)) - minus ** (-depth / (depth - 2))
    np.testing.assert_allclose(expected, moved, rtol=1e-7)
    np.testing.assert_allclose(moved[-1], unit * np.sinh(12.0), rtol=1e-14)  # the farthest w is compared


MODELS = {
    "rich": tacit.Diagonal(2, 1e-6),
    "kernel": tacit.Diagonal(2, 1e3),
    "shaped": tacit.Diagonal(2, 0.3, profile=PROFILE),
    "deep": tacit.Diagonal(3, 1e-3),
    "deep and shaped": tacit.Diagonal(4.5, 0.1, profile=PROFILE),
    "untied": tacit.UntiedDiagonal(1e-3, 0.9),
    "untied and shaped": tacit.UntiedDiagonal(PROFILE, np.linspace(-0.9, 0.9, 12)),
    "biased": tacit.UntiedDiagonal.from_weights(*np.random.default_rng(0).standard_normal((4, 12))),
}


@pytest.mark.parametrize("name", MODELS)
def test_potentials_of_all_diagonal_models_match_the_metric_of_their_weights(name):
    """The largest value over these models and 30 draws of biased initializations is 3e-9."""
    assert metric(MODELS[name], 12, 1.0).measured < 1e-7


@pytest.mark.parametrize("side", [1, -1])
def test_the_metric_is_compared_on_both_sides_of_the_start(side, monkeypatch):
    """The slope of the potential is wrong by 1 % on one side only."""
    right = Hypentropy.gradient
    monkeypatch.setattr(Hypentropy, "gradient", lambda self, w: right(self, w) * (1 + 0.01 * (side * w > 0)))
    assert metric(MODELS["rich"], 12, 1.0).measured == pytest.approx(0.01, rel=1e-4)


def test_no_metric_if_the_initial_weights_overflow_or_underflow():
    for log_scale in (-1000.0, 400.0):
        assert metric(tacit.Diagonal(2, log_scale=log_scale), 3, 1.0) is None


class OtherScale(tacit.Diagonal):
    """A model whose potential, and hence its mirror form, belongs to twice the scale."""

    def potential(self, d=None):
        real = super().potential(d)
        if self.depth == 2:
            return Hypentropy(np.asarray(real.log_scale) + math.log(2))
        return DeepHypentropy(self.depth, np.asarray(real.log_scale) + math.log(2), real.weight)


class OtherDepth(tacit.Diagonal):
    """A model whose potential belongs to a network that is one layer deeper."""

    def potential(self, d=None):
        real = super().potential(d)
        return DeepHypentropy(self.depth + 1, real.log_scale, real.weight)


class OtherWeight(tacit.Diagonal):
    """A model whose profile enters the potential with a wrong power."""

    def potential(self, d=None):
        real = super().potential(d)
        return DeepHypentropy(self.depth, real.log_scale, np.sqrt(real.weight))


class OtherShape(tacit.UntiedDiagonal):
    """A model whose potential ignores the imbalance of the layers."""

    def _log_predictor_scale(self):
        return np.log(np.atleast_1d(np.asarray(self.scale)))


WRONG = {
    "scale": OtherScale(2, 1e-3),
    "scale, kernel": OtherScale(2, 0.9),
    "scale, deep": OtherScale(3, 0.1),
    "depth": OtherDepth(3, 0.3),
    "weight": OtherWeight(3, 0.3, profile=PROFILE),
    "shape": OtherShape(0.3, 0.7),
}


@pytest.mark.parametrize("name", WRONG)
def test_flows_of_raw_weights_detect_wrong_potentials(name, problem):
    model = WRONG[name]
    verdict = checked(model, problem)
    assert verdict.holds is False and "raw weights" in verdict.bounds[0].text
    assert not any(each.holds for each in verdict.bounds)


@pytest.mark.parametrize("name", WRONG)
def test_the_metric_detects_wrong_potentials_if_flows_are_simulated_in_mirror_space(
    name, problem, monkeypatch
):
    """The flow then ends at the minimizer of the wrong potential, so its bound holds."""
    monkeypatch.setattr(agreement, "_raw_weights_are_fast", lambda *_: False)
    verdict = checked(WRONG[name], problem)
    assert verdict.holds is False and "mirror space" in verdict.bounds[0].text
    assert verdict.bounds[0].holds and not verdict.bounds[1].holds


def checked(model, problem):
    """The verdict of the theorem about the limit of the model, among all theorems of its paper."""
    found = {each.key: each for each in tacit.check(model, *problem, only=paper(model))}
    return found[statement(model)]


def test_raw_weights_are_used_for_moderate_scales_and_sizes(problem):
    """These take about a second: moderate scales, hundreds of weights, well-conditioned samples."""
    wide = gaussian_problem(50, 200, nonzero=5, seed=0)
    for model in (tacit.Diagonal(2, 1e-3), tacit.Diagonal(3, 0.1), tacit.UntiedDiagonal(1e-3, 0.5)):
        assert agreement._raw_weights_are_fast(model, *problem) and agreement._raw_weights_are_fast(
            model, *wide
        )
    for model in (tacit.Diagonal(2, 1e-9), tacit.Diagonal(5, 1e-3), tacit.Diagonal(2, log_scale=-1000.0)):
        assert not agreement._raw_weights_are_fast(model, *problem)
    collinear = problem[0] * np.array([1.0, 1.0, 1.0, 1.0, 1e-3])[:, None]
    assert not agreement._raw_weights_are_fast(tacit.Diagonal(2, 1e-3), collinear, problem[1])
    assert not agreement._raw_weights_are_fast(tacit.Diagonal(2, 1e-3), *gaussian_problem(5, 500, seed=0))


def paper(model):
    return "azulay2021" if isinstance(model, tacit.UntiedDiagonal) else "woodworth2020"


def statement(model):
    if paper(model) == "azulay2021":
        return "azulay2021/theorem1"
    return f"woodworth2020/theorem{1 if model.depth == 2 else 3}"


def test_a_wrong_origin_of_the_divergence_is_detected(problem, monkeypatch):
    model = MODELS["biased"]
    assert check("azulay2021/theorem1", model, *problem).holds
    plain = Hypentropy(model._log_predictor_scale(), 0.5)
    monkeypatch.setattr(tacit.UntiedDiagonal, "potential", lambda self, d=None: Bregman(plain, np.zeros(12)))
    verdict = check("azulay2021/theorem1", model, *problem)
    assert verdict.holds is False


@pytest.mark.parametrize("shift", [-2000.0, 2000.0])
def test_the_tested_potential_does_not_influence_how_the_flow_is_simulated(shift, problem, monkeypatch):
    """Two scales: at the first the raw weights are too slow to integrate, at the second only they are
    used."""
    model, huge = tacit.Diagonal(2, 0.3), tacit.Diagonal(2, log_scale=-800.0)
    wrong = Hypentropy(model.potential().log_scale + shift)
    assert not agreement._raw_weights_are_fast(huge, *problem)
    monkeypatch.setattr(tacit.Diagonal, "potential", lambda self, d=None: wrong)
    assert agreement.ended(model, *problem).how.startswith("raw weights, LSODA: independent of Q")
    assert not agreement._raw_weights_are_fast(huge, *problem)


def test_mirror_space_is_used_if_raw_weights_do_not_converge(problem, monkeypatch):
    real = tacit.flow

    def stalled(model, X, y, **options):
        if options["method"] == "parameters":
            options["at"] = [options["at"][0] + 100.0]  # below the round-off of the data
        return real(model, X, y, **options)

    monkeypatch.setattr(tacit, "flow", stalled)
    assert agreement.ended(tacit.Diagonal(2, 0.3), *problem).how.startswith("mirror space")


@pytest.mark.parametrize("depth", [2, 3, 5])
def test_the_work_of_raw_weights_is_proportional_to_the_growth_of_the_predictor(problem, depth, monkeypatch):
    """The number of steps is proportional to |log(β/α^D)| of the largest coordinate."""
    X, y = problem
    model = tacit.Diagonal(depth, 0.03)
    growth = abs(np.log(np.abs(np.linalg.lstsq(X, y, rcond=None)[0]).max()) - depth * np.log(0.03))
    weights = max(2 * X.shape[1], agreement._MIN_WEIGHTS)
    for factor, fast in ((1.01, True), (0.99, False)):
        monkeypatch.setattr(agreement, "_MAX_WORK", factor * weights * depth / 2 * growth)
        assert agreement._raw_weights_are_fast(model, X, y) == fast
