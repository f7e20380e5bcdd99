"""Figures on neurons and networks of Azulay et al. 2021: their numbers, and claims that can fail."""

import json
from dataclasses import replace
from types import SimpleNamespace

import connected_oracles as oracles
import numpy as np
import pytest
from figure_claims import failing, judged
from mpmath import mp
from scipy.integrate import solve_ivp

import tacit
from tacit.papers import figures, reproduce
from tacit.papers.azulay2021 import figure7_2 as neuron
from tacit.papers.azulay2021 import figure_proposition1 as proposition1
from tacit.papers.azulay2021 import figure_theorem3 as theorem3
from tacit.papers.azulay2021 import figure_warp as warped
from tacit.papers.azulay2021 import training
from tacit.papers.azulay2021 import training as neurons
from tacit.potentials import NeuronPotential, Quadratic

KEYS = ["fig7.2", "neuron-limits", "proposition1", "theorem3", "warp"]
SMALL = {
    "fig7.2": {"points": 12, "sweep": 5},
    "neuron-limits": {"scales": [0.5], "shapes": [0.2], "slopes": [1.0, 0.3], "marks": 1, "points": 12},
    "proposition1": {"widths": [1, 7], "scales": [0.01, 2.0], "tips": 4},
    "theorem3": {"widths": [3], "seeds": 1, "scales": 4},
    "warp": {"along": 6, "marks": 3},
}


def entry_of(name):
    (entry,) = figures(f"azulay2021/{name}")
    return replace(entry, presets=dict.fromkeys(("quick", "paper"), SMALL[name]))


def draw(seed, samples=2, features=4):
    rng = np.random.default_rng(seed)
    return training.draw_problem(samples, features, rng), rng


def unit(rng, features):
    u = rng.standard_normal(features)
    return u / np.linalg.norm(u)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["neuron-limits", "proposition1", "theorem3"])
def test_claims_hold_of_other_draws_too(name):
    first, second = (judged(entry_of(name), seed) for seed in (3, 4))
    assert failing(first) == failing(second) == []
    assert first.claims != second.claims


def test_figure_7_2_draws_the_settings_of_the_paper(made):
    data = made("azulay2021/fig7.2").data
    assert list(zip(data.scale.values, data["shape"].values, strict=True)) == [
        (2, 0), (2, 0.2), (2, 0.8), (0.01, 0.1), (1, 0.1), (2.5, 0.1),
    ]  # fmt: skip


def test_contours_are_those_of_theorem_2_in_many_digits(made):
    data = made("azulay2021/fig7.2").data
    for k, (alpha, s) in enumerate(neuron.PANELS):
        delta = 4 * alpha * s / (1 - s**2)
        z = -1.5 * oracles.inner_size(alpha, delta)

        def q(w, alpha=alpha, delta=delta, z=z):
            with mp.workdps(40):
                return oracles.q_hat(oracles.length(w), delta) + z * (0.6 * w[0] + 0.8 * w[1])

        for i, j in ((0, 0), (5, 17), (19, 20), (31, 8)):
            w = np.array([data.w1[j], data.w2[i]])
            expected = float(q(w) - q([0.6 * alpha, 0.8 * alpha]))
            assert float(data.q[k, i, j]) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("alpha", "s"), [(0.3, 0.0), (2.0, 0.4), (50.0, 0.95)])
def test_B_is_the_inverse_of_the_tangent_metric(alpha, s):
    model = tacit.Neuron.from_scale(alpha, s, [0.6, 0.8])
    metric = model.output**2 * np.eye(2) + np.outer(model.weights, model.weights)
    B = neurons.kernel_metric(s, np.array([0.6, 0.8]))
    np.testing.assert_allclose(model.output**2 * np.linalg.inv(metric), B, rtol=1e-12)
    np.testing.assert_allclose(neuron.curvature(alpha, s), 1.5 * abs(model.output) * np.linalg.inv(metric))


@pytest.mark.parametrize("seed", range(3))
def test_distances_are_to_the_ends_of_independent_formulas(seed):
    problem, rng = draw(seed)
    model = tacit.Neuron.from_scale(0.7, 0.3, unit(rng, 4))
    kernel = oracles.kernel_end(model.output, model.weights, problem.X, problem.y)
    np.testing.assert_allclose(neurons.kernel_end(model, problem), kernel, rtol=1e-10)
    end = oracles.neuron_end(model.output, model.weights, problem.X, problem.y)
    to_least, to_kernel = neurons.to_ends(model, problem, end)
    assert to_least == pytest.approx(np.linalg.norm(end - np.linalg.pinv(problem.X) @ problem.y))
    way = np.linalg.norm(end - model.output * model.weights)
    assert to_kernel == pytest.approx(np.linalg.norm(end - kernel) / way)


@pytest.mark.parametrize("s", [0.0, 0.3, 0.8])
def test_large_neurons_stay_away_from_the_kernel_end_unless_the_data_do_not_see_them(s):
    """The limit α → ∞ of Section 7.2, with closed forms that share no code with Tacit."""
    problem, rng = draw(5)
    u = unit(rng, 4)
    hidden = problem.unseen(u)

    def distance(direction):
        model = tacit.Neuron.from_scale(1e7, s, direction)
        end, kernel = (
            form(model.output, model.weights, problem.X, problem.y)
            for form in (oracles.neuron_end, oracles.kernel_end)
        )
        return np.linalg.norm(end - kernel) / np.linalg.norm(end - model.output * model.weights)

    seen = np.sqrt(1 - hidden @ hidden)
    assert distance(u) == pytest.approx(neurons.far_from_kernel(s, seen), rel=1e-5)
    assert neurons.far_from_kernel(s, seen) > 1e-4
    assert distance(hidden) < 1e-6


def test_the_data_have_a_least_norm_solution_of_length_1():
    problem, rng = draw(6, 3, 7)
    assert np.linalg.norm(problem.smallest) == pytest.approx(1)
    np.testing.assert_allclose(np.linalg.pinv(problem.X) @ problem.y, problem.smallest, rtol=1e-10)
    v = rng.standard_normal((7, 2))
    np.testing.assert_allclose(problem.X @ problem.unseen(v), 0, atol=1e-12)
    np.testing.assert_allclose(problem.unseen(problem.unseen(v)), problem.unseen(v), atol=1e-12)


@pytest.mark.parametrize(("width", "size"), [(1, 0.1), (3, 0.01), (6, 1.0)])
def test_training_of_layers_is_gradient_flow(width, size):
    problem, rng = draw(width, 3, 5)
    inner, outer = size * rng.standard_normal((5, width)), size * rng.standard_normal(width)
    U, v = training.train_layers(inner, outer, problem)
    run = oracles.network_flow(inner, outer[None], problem.X, problem.y, accuracy=problem.accuracy(1e-10))
    np.testing.assert_allclose(U, run.inner, atol=1e-8)
    np.testing.assert_allclose(v, run.outer[0], atol=1e-8)


def test_training_that_does_not_end_says_so(monkeypatch):
    monkeypatch.setattr(training, "_HORIZON", 1.0)
    problem, rng = draw(0)
    with pytest.raises(tacit.NotConvergedError, match="did not fit its data"):
        training.train_layers(1e-6 * rng.standard_normal((4, 2)), 1e-6 * rng.standard_normal(2), problem)


def test_networks_are_balanced_or_tipped_as_asked():
    rng = np.random.default_rng(0)
    theta = rng.standard_normal(5)
    inner, outer = proposition1.balanced(theta, 9, rng)
    np.testing.assert_allclose(inner.T @ inner, np.outer(outer, outer), atol=1e-12)
    np.testing.assert_allclose(inner @ outer, theta)
    assert (outer > 0).any() and (outer < 0).any()
    tipped = proposition1.tipped(inner, outer, 0.5, rng)
    np.testing.assert_allclose(tipped @ outer, theta)
    assert np.linalg.norm(tipped - inner) == pytest.approx(0.5 * np.linalg.norm(inner))


@pytest.mark.parametrize("width", [1, 4])
def test_the_distance_of_small_networks_is_known_to_first_order(width):
    problem, rng = draw(width, 3, 6)
    inner, outer = rng.standard_normal((6, width)), rng.standard_normal(width)
    ratios = []
    for size in (1e-3, 1e-4):
        run = oracles.network_flow(size * inner, size * outer[None], problem.X, problem.y)
        found = np.linalg.norm(run.predictor[:, 0] - problem.smallest)
        ratios.append(found / (size * theorem3.first_order(problem, inner, outer)) - 1)
    assert abs(ratios[1]) < 1e-2
    assert abs(ratios[1]) < 0.2 * abs(ratios[0])


def test_the_warped_flow_is_that_of_the_weights_in_a_faster_clock():
    """da/dτ = ω·Xᵀr/(3|a|/2) and dω/dτ = a·Xᵀr/(3|a|/2), integrated for the weights without a potential."""
    X, y, model = warped.SAMPLES, warped.RESPONSES, warped.START

    def rate(_, state):
        a, omega = state[0], state[1:]
        pull = X.T @ (y - X @ (a * omega)) / len(y)
        return np.array([omega @ pull, *(a * pull)]) / (1.5 * abs(a))

    ticks, start = np.linspace(0, 30, 7), np.array([model.output, *model.weights])
    run = solve_ivp(rate, (0, 30), start, t_eval=ticks, method="DOP853", rtol=1e-12, atol=1e-14)
    found = warped.warped_flow(model.potential(), 30.0)(ticks)
    np.testing.assert_allclose(found, (run.y[0] * run.y[1:]).T, atol=1e-9)


def test_the_samples_of_the_two_clocks_make_a_curve_that_bends(made):
    w = made("azulay2021/warp").data.predictor.values
    way = np.diff(w, axis=0)
    assert np.linalg.norm(way, axis=1).sum() > 1.1 * np.linalg.norm(w[-1] - w[0])


REAL = SimpleNamespace(limit=tacit.limit, flow=tacit.flow)


def least_norm_always(model, X, y, **options):
    """A wrong implementation: the minimum-norm solution for every start."""
    return REAL.limit(model if isinstance(model, Quadratic) else Quadratic(), X, y, **options)


def forgets_the_start(model, X, y, **options):
    """A wrong implementation: it minimizes Q itself instead of the divergence from the start."""
    base = model.potential(X.shape[1]) if hasattr(model, "conserved") else model
    return REAL.limit(getattr(base, "potential", base), X, y, **options)


def nowhere(model, X, y, **options):
    """A wrong implementation: it returns no solution."""
    return replace(least_norm_always(model, X, y), predictor=np.full(X.shape[1], np.nan))


@pytest.mark.thorough
@pytest.mark.parametrize("wrong", [least_norm_always, forgets_the_start])
@pytest.mark.parametrize("name", ["neuron-limits", "proposition1"])
def test_a_wrong_limit_fails_claims(monkeypatch, name, wrong):
    monkeypatch.setattr(tacit, "limit", wrong)
    assert failing(judged(entry_of(name)))


def kernel_flow(model, X, y, **options):
    """A wrong implementation: the linearized model."""
    return REAL.flow(model, X, y, **{**options, "linearized": True})


def lost_flow(model, X, y, **options):
    """A wrong implementation: it returns NaN."""
    run = REAL.flow(model, X, y, until=options.get("until", 40.0))
    return replace(run, predictor=np.full_like(run.predictor, np.nan), converged=False)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("neuron-limits", kernel_flow),
        ("proposition1", kernel_flow),
        ("theorem3", kernel_flow),
        ("theorem3", lost_flow),
    ],
)
def test_a_wrong_flow_fails_claims(monkeypatch, name, wrong):
    monkeypatch.setattr(tacit, "flow", wrong)
    assert failing(judged(entry_of(name)))


@pytest.mark.thorough
@pytest.mark.parametrize(("verb", "wrong"), [("limit", nowhere), ("flow", lost_flow)])
@pytest.mark.parametrize("name", ["neuron-limits", "proposition1"])
def test_a_figure_is_made_of_what_has_no_numbers_too(monkeypatch, tmp_path, name, verb, wrong):
    monkeypatch.setattr(tacit, verb, wrong)
    result = reproduce(entry_of(name), out=tmp_path)
    assert failing(result)
    assert (tmp_path / f"azulay2021/{name}.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert json.loads((tmp_path / f"azulay2021/{name}.json").read_text())["holds"] is False


@pytest.mark.thorough
def test_a_wrong_flow_or_a_wrong_warp_is_seen_in_the_two_clocks(monkeypatch):
    def texts(module, name, wrong):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, wrong)
            return failing(judged(entry_of("warp")))

    right_warp, right_clock = warped.warp, warped.warped_clock
    hessian = lambda delta, w: NeuronPotential(delta).hessian(w)  # noqa: E731
    assert any("same curve" in text for text in texts(tacit, "flow", kernel_flow))
    assert any("gH is a Hessian" in text for text in texts(warped, "warp", lambda *at: right_warp(*at) ** 2))
    assert any("H is not a Hessian" in text for text in texts(warped, "metric", hessian))
    assert any(
        "at the times" in text for text in texts(warped, "warped_clock", lambda run: right_clock(run) / 1.5)
    )


def test_a_wrong_potential_is_seen_in_figure_7_2(monkeypatch):
    def shifted(scale, shape):
        """q with z without the factor 3/2, as printed in the appendix."""
        right = tacit.Neuron.from_scale(scale, shape, [0.6, 0.8]).potential()
        z = np.asarray(right.potential.gradient(right.origin))
        return SimpleNamespace(
            value=lambda w: float(right.value(w)) + z @ (w - right.origin) / 3,
            gradient=lambda w: right.gradient(w) + z / 3,
            hessian=right.hessian,
        )

    def shapeless(scale, shape):
        return tacit.Neuron.from_scale(scale, 0.0, [0.6, 0.8]).potential()

    for wrong in (shifted, shapeless):
        monkeypatch.setattr(neuron, "potential", wrong)
        assert len(failing(judged(entry_of("fig7.2")))) >= 2
