"""Min et al. 2021: evolution of the weights, the rate for every α, and the lemmas of Appendix B.

References: the raw weights at full width, integrated by SciPy, and explicit matrices.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import tacit
from tacit.papers.min2021 import network
from tacit.papers.min2021 import theorem1 as weights
from tacit.papers.min2021 import theorem2 as rate
from tacit.papers.statements import sharing
from tacit.theorems import check

FLOWS = ["imbalance", "weights", "appendixD", "lemmaB.1"]
MATRICES = ["lemmaB.2", "lemmaB.3", "lemmaB.4"]


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((3, 6)), rng.standard_normal((3, 2))
    return tacit.LinearNetwork.gaussian(6, 12, 2, std=0.4, seed=1), X, Y


@pytest.fixture(scope="module")
def verdicts(problem):
    with sharing():
        return {name: check(f"min2021/{name}", *problem) for name in [*FLOWS, *MATRICES]}


@pytest.fixture(scope="module")
def raw(problem):
    """U and V at the times of the reduced flow, integrated directly."""
    model, X, Y = problem
    times = weights.followed(network.split(*problem)).time[[20, 60, 100]]
    features, width = model.inner.shape

    def velocity(_, state):
        U, V = np.split(state.reshape(-1, width), [features])
        residual = Y - X @ U @ V.T
        return np.vstack([X.T @ residual @ V, residual.T @ X @ U]).ravel()

    start = np.vstack([model.inner, model.outer]).ravel()
    run = solve_ivp(velocity, (0, times[-1]), start, "DOP853", times, rtol=1e-11, atol=1e-12)
    return [np.split(state.reshape(-1, width), [features]) for state in run.y.T]


@pytest.mark.parametrize("name", [*FLOWS, *MATRICES])
def test_each_holds(name, verdicts):
    assert verdicts[name].holds and verdicts[name].bounds


@pytest.mark.parametrize("name", [*FLOWS, "rate", *MATRICES])
def test_other_models_are_no_case(name, problem):
    verdict = check(f"min2021/{name}", tacit.Diagonal(), problem[1], problem[2][:, 0])
    assert (verdict.holds, verdict.bounds) == (None, ())


def test_the_narrow_flow_has_the_norms_of_the_raw_weights(problem, raw):
    parts = network.split(*problem)
    Z = weights.stacked(weights.narrow(parts), weights.followed(parts))
    assert Z.shape[1:] == (5, 5)
    for z, (U, V) in zip(Z[[21, 61, 101]], raw, strict=True):
        whole = np.vstack([parts.basis.T @ U, V])
        np.testing.assert_allclose(z @ z.T, whole @ whole.T, atol=1e-8)


def test_bounds_of_the_weights_on_the_raw_weights(problem, raw, verdicts):
    """The last statement of Theorem 1, computed explicitly: λ₁, λ_r of XᵀX, and c from the full matrix Λ."""
    model, X, Y = problem
    seen = np.linalg.svd(X, full_matrices=False)[2]
    U1, V = seen @ model.inner, model.outer
    spectrum = np.sort(np.linalg.eigvalsh(U1.T @ U1 - V.T @ V))
    level, values = spectrum[-3] - spectrum[1], np.linalg.eigvalsh(X @ X.T)
    error = np.linalg.norm(Y - X @ model.inner @ V.T)
    growth = verdicts["weights"].bounds[0]
    assert growth.at_most == pytest.approx(2 * np.sqrt(values[-1]) * error / (level * values[0]), rel=1e-9)
    first = np.linalg.norm(U1) ** 2 + np.linalg.norm(V) ** 2
    for U, outer in raw:
        grown = np.log((np.linalg.norm(seen @ U) ** 2 + np.linalg.norm(outer) ** 2) / first)
        assert grown <= growth.measured + 1e-3


def test_balanced_weights_are_outside_the_bound(problem):
    model = tacit.LinearNetwork.balanced(np.ones((6, 2)), problem[1], 9)
    verdict = check("min2021/weights", model, *problem[1:])
    assert verdict.holds is None and "c = 0" in verdict.assumptions[-1].text


def test_a_fitted_start_stays(problem):
    model, X, _ = problem
    verdict = check("min2021/weights", model, X, X @ model.predictor())
    assert verdict.holds is None and verdict.bounds == ()


def test_a_flow_that_does_not_conserve_is_noticed(problem, monkeypatch):
    def bent(model, flow):
        Z = found(model, flow)
        Z[1:, 0] *= 1 + 1e-6
        return Z

    found = weights.stacked
    monkeypatch.setattr(weights, "stacked", bent)
    assert check("min2021/imbalance", *problem).holds is False
    monkeypatch.setattr(weights, "stacked", lambda model, flow: found(model, flow)[:, ::-1])
    assert check("min2021/weights", *problem).holds is False


@pytest.mark.parametrize(("name", "speed"), [("appendixD", 1.001), ("lemmaB.1", 0.03)])
def test_flows_of_another_speed_are_noticed(name, speed, problem, monkeypatch):
    """The first flow determines the times; the second, recorded at these times, is too fast or too slow."""
    real, calls = tacit.flow, []

    def another(model, X, y, **options):
        if "times" in options:
            calls.append(model)
            options["times"] = speed * np.asarray(options["times"])
        return real(model, X, y, **options)

    with sharing():
        weights.followed(network.split(*problem))
        monkeypatch.setattr(tacit, "flow", another)
        assert check(f"min2021/{name}", *problem).holds is False
    assert len(calls) >= 1


def test_lemma_b1_lies_between_theorem_1_and_the_loss(problem, verdicts):
    theorem = check("min2021/theorem1", *problem, down_to=np.exp(-11.0)).bounds[0].measured
    assert theorem <= verdicts["lemmaB.1"].bounds[0].measured * (1 + 1e-6) <= 1 + 2e-6


def test_lemma_b3_is_an_equality_for_equal_singular_values():
    """Printed with <."""
    model = tacit.LinearNetwork.gaussian(4, 9, seed=0)
    bound = check("min2021/lemmaB.3", model, np.eye(3, 4), np.ones(3)).bounds[0]
    assert bound.measured == pytest.approx(1, rel=1e-12) and bound.holds
    narrow = tacit.LinearNetwork.gaussian(4, 2, seed=0)
    assert check("min2021/lemmaB.3", narrow, np.eye(3, 4), np.ones(3)).holds is None


def test_lemmas_by_hand():
    """U₁ = diag(3, 1) in the coordinates of X = diag(2, 1), V = (1, 1), y = 0."""
    model = tacit.LinearNetwork(np.diag([3.0, 1.0]), np.ones((1, 2)))
    X, y = np.diag([2.0, 1.0]), np.zeros(2)
    b2, b3, b4 = (check(f"min2021/{name}", model, X, y).bounds[0] for name in MATRICES)
    assert b2.measured == pytest.approx(np.sqrt(37) / (6 * np.sqrt(2)))  # ‖(6, 1)‖ over 6·√2
    assert b3.measured == pytest.approx(1.0)  # σ₂(A)σ₂(B) = 1·1 = σ₂(AB)
    assert b4.measured == pytest.approx((144 * 9 + 1) / 145)  # Σ^{1/2}E = (12, 1)


@pytest.mark.parametrize("alpha", [0.3, 0.5])
def test_the_rate_of_any_alpha(alpha, problem):
    verdict = check("min2021/rate", *problem, alpha=alpha)
    assert verdict.holds and abs(verdict.bounds[0].measured - (0.5 - 2 * alpha)) < 0.1


def test_targets_beyond_the_imbalance_are_outside_the_rate(problem):
    model, X, Y = problem
    size = np.linalg.norm(np.linalg.pinv(X) @ Y, 2)
    at_the_edge = check("min2021/rate", model, X, Y * 500**0.25 / size * (1 - 1e-9))
    assert at_the_edge.holds
    assert check("min2021/rate", model, X, 1e6 * Y).holds is None
    assert check("min2021/rate", model, X, 1e3 * Y, alpha=0.5).holds


def test_weights_of_another_size_are_noticed(problem, monkeypatch):
    factor = rate.gaussian_factor
    monkeypatch.setattr(rate, "gaussian_factor", lambda rows, h, rng: factor(rows, h, rng) * h**0.15)
    assert check("min2021/rate", *problem, widths=(500, 4000)).holds is False


def test_mistakes_are_named(problem):
    with pytest.raises(tacit.InputError, match="widths must be"):
        check("min2021/rate", *problem, widths=(100,))
    with pytest.raises(tacit.InputError, match="seed must be an integer"):
        check("min2021/rate", *problem, seed=(1.0, 2.0))
    with pytest.raises(tacit.InputError, match="widths must be an integer"):
        check("min2021/rate", *problem, widths=(100.5, 200.0))
    with pytest.raises(tacit.InputError, match="alpha"):
        check("min2021/appendixD", *problem, alpha=0.2)
    full = tacit.LinearNetwork.gaussian(3, 5, seed=0)
    assert check("min2021/rate", full, np.eye(3), np.ones(3)).holds is None
