"""Figures of Min et al. 2021 against plain gradient descent, raw flows and dense eigenvalues."""

from dataclasses import replace

import numpy as np
import pytest
from figure_claims import judged
from scipy.integrate import solve_ivp

import tacit
from tacit.papers import figures
from tacit.papers.min2021 import figure1_4 as widths
from tacit.papers.min2021 import figure2_3 as figure3_descent
from tacit.papers.min2021 import figure2_3 as imbalance
from tacit.papers.min2021 import training

SMALL = {
    "fig1": {"samples": 20, "features": 80, "widths": [100, 250, 700, 2000], "runs": 6},
    "fig2": {"samples": 20, "features": 80, "width": 100, "points": 41},
    "fig3": {"samples": 20, "features": 80, "width": 100, "most": 8000, "marks": 21},
    "fig4": {"samples": 20, "features": 80, "widths": [100, 400, 2000], "runs": 6, "descents": 1},
}
TINY = {
    "fig1": {"samples": 4, "features": 9, "widths": [8, 13], "runs": 2},
    "fig2": {"samples": 4, "features": 9, "width": 12, "points": 12},
    "fig3": {"samples": 4, "features": 9, "width": 12, "most": 300, "marks": 7},
    "fig4": {"samples": 4, "features": 9, "widths": [8, 13], "runs": 2, "descents": 1},
}
REAL = tacit.flow


def entry_of(name):
    (entry,) = figures(f"min2021/{name}")
    return entry


def data_of(name, sizes, seed=0):
    return judged(entry_of(name), seed, sizes[name]).data


def claims_of(name, sizes, seed=0):
    return judged(entry_of(name), seed, sizes[name]).claims


def failing(claims):
    return [claim.text for claim in claims if not claim.holds]


@pytest.fixture
def watched(monkeypatch):
    """Every flow that a figure requests: model, X, y and the accuracies."""
    seen = []

    def flow(model, X, y, **options):
        seen.append((model, X, y, options["at"]))
        return REAL(model, X, y, **options)

    monkeypatch.setattr(tacit, "flow", flow)
    return seen


def averaged_loss(U, V, X, y):
    return np.mean((y - X @ U @ V[0]) ** 2)


def gradients(U, V, X, y):
    """The gradients of ‖y − X U Vᵀ‖²/n, entry by entry."""
    force = -2 / len(y) * X.T @ (y - X @ U @ V[0])
    return np.outer(force, V[0]), (force @ U)[None, :]


def plain_descent(model, X, y, step, count):
    """The average loss of every iterate, and the last weights."""
    U, V = model.inner.copy(), model.outer.copy()
    losses = [averaged_loss(U, V, X, y)]
    for _ in range(count):
        dU, dV = gradients(U, V, X, y)
        U, V = U - step * dU, V - step * dV
        losses.append(averaged_loss(U, V, X, y))
    return np.array(losses), U, V


def raw_flow(model, X, y, loss):
    """The time at which gradient flow on the average loss reaches `loss`, and its weights at this time."""
    shape, size = model.inner.shape, model.inner.size

    def unpack(flat):
        return flat[:size].reshape(shape), flat[size:].reshape(model.outer.shape)

    def rate(_, flat):
        dU, dV = gradients(*unpack(flat), X, y)
        return -np.concatenate([dU.ravel(), dV.ravel()])

    def reached(_, flat):
        return np.log(averaged_loss(*unpack(flat), X, y) / loss)

    reached.terminal = True
    start = np.concatenate([model.inner.ravel(), model.outer.ravel()])
    solution = solve_ivp(rate, (0, 1e9), start, "LSODA", events=reached, rtol=1e-11, atol=1e-13)
    return solution.t[-1], *unpack(solution.y[:, -1])


def dense_level(model, X):
    """c of Theorem 1 from all h eigenvalues of Λ."""
    basis = np.linalg.svd(X, full_matrices=False)[2]
    seen, rank = basis @ model.inner, len(basis)
    values = np.sort(np.linalg.eigvalsh(seen.T @ seen - model.outer.T @ model.outer))[::-1]
    return max(values[rank - 1], 0) + max(-values[-len(model.outer)], 0)


def test_the_four_figures_are_registered_at_the_sizes_of_the_paper():
    entries = figures("min2021")
    assert [entry.key for entry in entries] == [f"min2021/fig{number}" for number in (1, 2, 3, 4)]
    for entry in entries:
        paper = entry.presets["paper"]
        assert (paper["features"], paper["samples"]) == (400, 100)
        if "widths" in paper:
            assert (min(paper["widths"]), max(paper["widths"]), paper["runs"]) == (500, 10_000, 5)
        else:
            assert paper["width"] == 500
    assert (widths.STEP, widths.STOP, figure3_descent.STEP) == (5e-3, 1e-8, 5e-4)
    assert list(imbalance.CASES.values()) == [(0.1, 0.1), (0.5, 0.02), (0.05, 0.2)]


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "seed"), [("fig1", 5), ("fig2", 5), ("fig3", 5)])
def test_claims_hold_of_another_draw(name, seed):
    assert failing(claims_of(name, SMALL, seed)) == []


@pytest.mark.every(2)
@pytest.mark.parametrize("name", ["fig1", "fig2", "fig3"])
def test_a_seed_decides_everything_and_may_be_any_number(name):
    again = data_of(name, TINY, seed=2**70)
    assert data_of(name, TINY, seed=2**70).identical(again)
    assert not data_of(name, TINY, seed=3).equals(again)


def test_inputs_of_appendix_a1_are_white_and_those_of_a2_have_variance_1_over_d():
    rng = np.random.default_rng(3)
    white = training.white_inputs(30, 90, rng)
    np.testing.assert_allclose(white.X @ white.X.T, np.eye(30), atol=1e-13)
    gaussian = training.gaussian_inputs(300, 400, rng)
    assert 400 * gaussian.X.var() == pytest.approx(1, rel=0.02)


def test_responses_are_linear_with_noise_of_a_hundredth():
    problem = training.gaussian_inputs(20_000, 50, np.random.default_rng(4))
    truth, (residual,), *_ = np.linalg.lstsq(problem.X, problem.y, rcond=None)
    assert np.sqrt(residual / 20_000) == pytest.approx(0.01, rel=0.03)
    assert 50 * truth.var() == pytest.approx(1, rel=0.5)


@pytest.mark.parametrize("start", ["narrow", "wide", "balanced"])
def test_descent_of_few_units_is_descent_of_all_of_them(start):
    rng = np.random.default_rng(5)
    problem = training.gaussian_inputs(5, 11, rng)
    model = {
        "narrow": tacit.LinearNetwork.gaussian(11, 3, seed=1),
        "wide": tacit.LinearNetwork.gaussian(11, 40, seed=2),
        "balanced": tacit.LinearNetwork.balanced(rng.standard_normal(11), problem.X, 40, seed=3),
    }[start]
    found = training.descend(model, problem, step=0.3, loss=0.0, most=60)
    losses, U, V = plain_descent(model, problem.X, problem.y, 0.3, 60)
    assert found.iterations == 60
    np.testing.assert_allclose(np.exp(-found.accuracy), losses, rtol=1e-10)
    np.testing.assert_allclose(found.predictor, U @ V[0], atol=1e-12)
    assert losses[-1] < 0.9 * losses[0]


def test_descent_ends_with_the_first_iterate_below_the_loss():
    problem = training.gaussian_inputs(5, 11, np.random.default_rng(6))
    model = tacit.LinearNetwork.gaussian(11, 20, seed=1)
    losses, _, _ = plain_descent(model, problem.X, problem.y, 0.3, 400)
    goal = losses[60] * 1.0001
    found = training.descend(model, problem, step=0.3, loss=goal, most=10_000)
    assert found.iterations == np.flatnonzero(losses < goal)[0]
    already = training.descend(model, problem, step=0.3, loss=2 * losses[0], most=10)
    assert already.iterations == 0


@pytest.mark.every(2)
@pytest.mark.parametrize("name", ["fig1", "fig4"])
def test_distances_are_those_of_the_raw_flow(watched, name):
    data = data_of(name, TINY)
    assert len(watched) == 4
    for (model, X, y, _), width, run in zip(watched, [8, 8, 13, 13], [0, 1, 0, 1], strict=True):
        found = data.sel(width=width).isel(run=run)
        _, U, V = raw_flow(model, X, y, 1e-8)
        assert model.inner.shape == (9, width)
        assert float(found.distance) == pytest.approx(
            np.linalg.norm(U @ V[0] - np.linalg.pinv(X) @ y), rel=1e-5
        )
        kernel = np.linalg.svd(X)[2][4:]
        assert float(found.initial) == pytest.approx(np.linalg.norm(kernel @ model.inner @ model.outer[0]))
        assert float(found.final) == pytest.approx(np.linalg.norm(kernel @ U @ V[0]), rel=1e-5)
    starts = [model.inner[0, :8] for model, *_ in watched]
    assert len({tuple(start) for start in starts}) == 4
    assert all(
        np.array_equal(X, watched[0][1]) and np.array_equal(y, watched[0][2]) for _, X, y, _ in watched
    )


def test_figure_4_runs_descent_from_the_starts_of_the_flows(watched):
    data = data_of("fig4", TINY)
    for (model, X, y, _), width in zip(watched[::2], [8, 13], strict=True):
        found = data.sel(width=width).isel(descent=0)
        count = int(found.iterations)
        losses, U, V = plain_descent(model, X, y, 5e-3, count)
        assert losses[-1] < 1e-8 <= losses[-2]
        assert float(found.descent_distance) == pytest.approx(
            np.linalg.norm(U @ V[0] - np.linalg.pinv(X) @ y), rel=1e-8
        )


def test_the_limit_of_wide_networks_is_exact_where_hidden_weights_are_orthonormal():
    """Infinite width makes the rows of U₁ and V orthonormal; `orthogonal` does so at any width."""
    problem = training.gaussian_inputs(4, 9, np.random.default_rng(7))
    y = 3 * problem.y / np.linalg.norm(problem.y)  # a distant target, so that V grows substantially
    model = tacit.LinearNetwork.orthogonal(problem.X, 12, seed=1)
    _, _, V = raw_flow(model, problem.X, y, 1e-20)
    growth = np.linalg.norm(V) / np.linalg.norm(model.outer)
    assert growth > 1.3
    wide = widths._wide(replace(problem, y=y), [100, 400])
    np.testing.assert_allclose(wide["wide_initial"][1], np.sqrt(5 / np.array([100, 400])))
    np.testing.assert_allclose(wide["wide_final"][1] / wide["wide_initial"][1], growth, rtol=1e-8)


def test_figure_2_has_the_times_of_the_raw_flow_and_the_rates_of_dense_eigenvalues(watched):
    data = data_of("fig2", TINY)
    first = watched[0][0].predictor()
    for (model, X, y, at), name in zip(watched, [*imbalance.CASES, "balanced"], strict=True):
        np.testing.assert_allclose(model.predictor(), first, atol=1e-14)
        level = dense_level(model, X)
        assert float(data.level.sel(start=name)) == pytest.approx(level, abs=1e-12)
        # L = ½‖·‖² decreases like exp(−2ct) for white inputs; the average loss and its rate are 2/n of those
        # of L
        assert float(data.guaranteed.sel(start=name)) == pytest.approx(2 * level * 2 / 4, abs=1e-12)
        np.testing.assert_array_equal(at, data.accuracy[1:])
        chosen = data.time.sel(start=name)[[2, 5]]
        times = [raw_flow(model, X, y, np.exp(-float(level)))[0] for level in chosen.accuracy]
        np.testing.assert_allclose(chosen, times, rtol=1e-6)
        assert float(np.exp(-data.first)) == pytest.approx(averaged_loss(model.inner, model.outer, X, y))
    assert (data.time[:, 0] == 0).all()


def test_the_cases_are_one_draw_at_the_deviations_of_the_paper(watched):
    data_of("fig2", SMALL)
    models = [model for model, *_ in watched[:3]]
    for model, (inner, outer) in zip(models, imbalance.CASES.values(), strict=True):
        assert model.inner.std() == pytest.approx(inner, rel=0.05)
        assert model.outer.std() == pytest.approx(outer, rel=0.25)
        np.testing.assert_allclose(model.inner / inner, models[0].inner / 0.1, rtol=1e-12)


def test_figure_3_is_plain_descent_beside_the_flow(watched):
    data = data_of("fig3", TINY)
    for (model, X, y, _), name in zip(watched, [*imbalance.CASES, "balanced"], strict=True):
        run = data.sel(start=name)
        iteration = run.iteration.values.astype(int)
        losses, _, _ = plain_descent(model, X, y, 5e-4, 300)
        np.testing.assert_allclose(np.exp(-run.accuracy), losses[iteration], rtol=1e-9)
        assert iteration[0] == 0 and (iteration[-1] == 300 or losses[iteration[-1]] < 1e-8)
        time, _, _ = raw_flow(model, X, y, float(np.exp(-run.accuracy[-1])))
        assert float(run.time[-1]) == pytest.approx(time, rel=1e-6)


def at_half_speed(model, X, y, **options):
    """A wrong implementation: the flow on half the loss, with its own time."""
    options["at"] = np.asarray(options["at"]) + np.log(2)
    return REAL(model, X, y, **options | {"loss": tacit.losses.Square("half-mean")})


def elsewhere(model, X, y, **options):
    """A wrong implementation: it ends at the minimum-norm solution for every width, at a rate that ignores
    the imbalance."""
    found = REAL(model, X, y, **options)
    predictor = np.broadcast_to((np.linalg.pinv(X) @ y)[:, None], found.predictor.shape)
    return replace(
        found, predictor=predictor, _times=lambda: (found.accuracy + 20, np.log(found.accuracy + 20))
    )


def too_far(model, X, y, **options):
    """A wrong implementation: it doubles the part of the predictor that the data do not determine."""
    found = REAL(model, X, y, **options)
    seen = np.linalg.pinv(X) @ X @ found.predictor
    return replace(found, predictor=2 * found.predictor - seen)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("wrong", "name", "claim"),
    [
        (at_half_speed, "fig2", "never above the bound"),
        (at_half_speed, "fig3", "the loss of the flow at the same time"),
        (elsewhere, "fig1", "the distance falls like"),
        (elsewhere, "fig2", "case 3"),
        (elsewhere, "fig3", "the loss of the flow at the same time"),
        (too_far, "fig1", "close to its initial value"),
    ],
)
def test_a_wrong_flow_fails_claims(monkeypatch, wrong, name, claim):
    monkeypatch.setattr(tacit, "flow", wrong)
    assert any(claim in text for text in failing(claims_of(name, SMALL)))


@pytest.mark.thorough
@pytest.mark.parametrize("wrong", [elsewhere, too_far])
def test_descent_that_ends_elsewhere_fails_figure_4(monkeypatch, wrong):
    monkeypatch.setattr(tacit, "flow", wrong)
    assert any("at the same distance as the flow" in text for text in failing(claims_of("fig4", TINY)))


@pytest.mark.parametrize("name", ["fig2", "fig3"])
def test_a_start_that_is_not_balanced_fails_claims(monkeypatch, name):
    def another(theta, X, width, seed):
        return tacit.LinearNetwork.gaussian(len(theta), width, seed=seed)

    monkeypatch.setattr(tacit.LinearNetwork, "balanced", another)
    texts = failing(claims_of(name, TINY))
    assert any("same end-to-end matrix" in text for text in texts)
    assert any("no imbalance" in text for text in texts)


@pytest.mark.parametrize("name", ["fig1", "fig2", "fig3", "fig4"])
def test_a_flow_that_stops_early_is_an_error(monkeypatch, name):
    monkeypatch.setattr(
        tacit,
        "flow",
        lambda *given, **options: replace(REAL(*given, **options), converged=False, reason="tired"),
    )
    with pytest.raises(tacit.NotConvergedError, match="stopped early: tired"):
        data_of(name, TINY)
