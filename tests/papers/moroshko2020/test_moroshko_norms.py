"""Figures 5, 7, 8 and 9 of Moroshko et al. 2020: their measurements, compared with formulas and other
algorithms."""

from dataclasses import replace

import numpy as np
import pytest
from figure_claims import judged
from flow_oracles import exact_exp_flow, exponential, power_network, raw_flow
from margin_oracles import exact_l1, local_minima
from scipy.optimize import brentq, linprog, minimize

import tacit
from tacit.papers import figures, moroshko2020
from tacit.papers.moroshko2020.data import MANY_L1, SAME_SUPPORT, TWO_SUPPORT_VECTORS
from tacit.papers.moroshko2020.margins import (
    accuracy_needed,
    along,
    best_margin,
    followed,
    level_of_average,
    level_of_path,
    local_margins,
    margins_on_path,
    off_path,
    points_of_edge,
    reached_at,
)

LABELS = np.ones(3)
KEYS = [f"moroshko2020/fig{name}" for name in ("5a", "5b", "7", "8a", "8b", "8c", "9")]
DEPTHS = [2.0, 3.0, 10.0]


def figure(key):
    (entry,) = figures(key)
    return entry


def computed(key, **parameters):
    return figure(key).make().data(**parameters, seed=0, progress=lambda items, _: items)


def h(z, depth):
    """The predictor of unit scale as a function of its dual (Moroshko et al. 2020, after equation 6)."""
    if depth == 2:
        return 2 * np.sinh(z)
    return (1 - z) ** (-depth / (depth - 2)) - (1 + z) ** (-depth / (depth - 2))


def excess(w, rows, smallest):
    return np.abs(w).sum() / (rows @ w).min() / smallest - 1


def smallest_l1(rows):
    return exact_l1(rows)[0]


def along_a_sample(sample, depth, rows):
    """h_D(s·sample) at the s where its excess ℓ1 norm is 5%."""
    longest = (30 if depth == 2 else 1 - 1e-12) / np.abs(sample).max()
    value = smallest_l1(rows)
    s = brentq(
        lambda s: excess(h(s * sample, depth), rows, value) - 0.05, 1e-3 * longest, longest, xtol=1e-15
    )
    return h(s * sample, depth)


# the quantity measured by each figure


@pytest.mark.every(3)
@pytest.mark.parametrize(("depth", "scale"), [(2.0, 0.1), (3.0, 0.1), (3.0, 1.0), (10.0, 1.0)])
def test_the_accuracy_needed_is_that_of_the_raw_weights(depth, scale):
    """At this accuracy, LSODA on the weights themselves gives an excess of 5%."""
    needed = accuracy_needed(SAME_SUPPORT, depth, scale, 1e3)
    weights = np.full((2, 3), scale ** (1 / depth))
    nearby = needed * np.array([1 - 1e-6, 1 + 1e-6])
    run = raw_flow(weights, power_network(depth), SAME_SUPPORT, LABELS, exponential, nearby)
    before, after = (excess(w, SAME_SUPPORT, smallest_l1(SAME_SUPPORT)) for w in run.predictor)
    assert after < 0.05 < before


@pytest.mark.every(6)
@pytest.mark.parametrize("rows", [SAME_SUPPORT, TWO_SUPPORT_VECTORS])
@pytest.mark.parametrize(("depth", "scale"), [(2.0, 1e-3), (3.0, 1e3), (10.0, 1e3)])
def test_the_accuracy_needed_is_that_of_many_digits(rows, depth, scale):
    """At scales far from 1, on both data sets, the flow in 30 digits crosses 5% at the same point within
    1e-6."""
    needed = accuracy_needed(rows, depth, scale, 4e2 * scale + 20)
    nearby = needed * np.array([1 - 1e-6, 1 + 1e-6, 2.0])
    run = exact_exp_flow(rows, depth, np.log(scale), nearby)
    before, after, later = (excess(w, rows, smallest_l1(rows)) for w in run.predictor)
    assert later < after < 0.05 < before


def test_an_excess_that_is_not_reached_is_nan():
    assert np.isnan(accuracy_needed(SAME_SUPPORT, 2.0, 1.0, 10.0))


@pytest.mark.parametrize("depth", DEPTHS)
def test_the_level_of_the_path_has_a_closed_form_for_one_support_vector(depth):
    """w = μ h_D(ν z) of the first sample alone, z·w = 1."""
    w = along_a_sample(SAME_SUPPORT[0], depth, SAME_SUPPORT)
    assert level_of_path(SAME_SUPPORT, depth) == pytest.approx(1 / (SAME_SUPPORT[0] @ w), rel=1e-9)


@pytest.mark.every(3)
@pytest.mark.parametrize("depth", DEPTHS)
def test_small_scales_follow_the_average_sample(depth):
    """In multiprecision arithmetic, at α^D = 1e-9: 5% at γ̃ = α^D z̄·h_D(s z̄)."""
    level = level_of_average(SAME_SUPPORT, depth)
    average = SAME_SUPPORT.mean(axis=0)
    assert level == pytest.approx(average @ along_a_sample(average, depth, SAME_SUPPORT), rel=1e-9)
    (w,) = exact_exp_flow(SAME_SUPPORT, depth, np.log(1e-9), [1e-9 * level]).predictor
    assert excess(w, SAME_SUPPORT, smallest_l1(SAME_SUPPORT)) == pytest.approx(0.05, rel=1e-6)


@pytest.mark.every(3)
@pytest.mark.parametrize("depth", DEPTHS)
def test_the_average_does_not_lead_to_l1_on_the_other_data(depth):
    """Hence the required accuracy does not decrease with the scale, even for tiny scales."""
    assert np.isnan(level_of_average(TWO_SUPPORT_VECTORS, depth))
    needed = [accuracy_needed(TWO_SUPPORT_VECTORS, depth, scale, 30.0) for scale in (1e-6, 1e-3)]
    assert needed[1] / needed[0] == pytest.approx(1, abs=0.01)


def test_kernel_distances_are_those_of_the_kernels():
    """At depth 2, K = 4 Z diag(√(w² + 4α⁴)) Zᵀ, with w from a flow of the raw weights."""
    data = computed("moroshko2020/fig9", depths=[2.0], scales=[0.1], accuracies=7)
    at = data.accuracy.values[2:5]
    run = raw_flow(np.full((2, 3), 0.1**0.5), power_network(2), SAME_SUPPORT, LABELS, exponential, at)
    first = SAME_SUPPORT @ SAME_SUPPORT.T
    for w, distance in zip(run.predictor, data.distance.values[0, 0, 2:5], strict=True):
        kernel = SAME_SUPPORT * np.sqrt(w**2 + 4 * 0.1**2) @ SAME_SUPPORT.T
        cosine = np.trace(kernel @ first) / np.linalg.norm(kernel) / np.linalg.norm(first)
        assert distance == pytest.approx(1 - cosine, rel=1e-5, abs=1e-13)
    rich = np.outer(SAME_SUPPORT[:, 0], SAME_SUPPORT[:, 0])
    cosine = np.trace(rich @ first) / np.linalg.norm(rich) / np.linalg.norm(first)
    assert data.rich.item() == pytest.approx(1 - cosine, rel=1e-9)


def test_the_edge_of_l1_solutions():
    points = points_of_edge(best_margin(MANY_L1, "l1").face)
    assert np.sort(exact_l1(MANY_L1)[1][:, 0]) == pytest.approx([8 / 23, 1])
    np.testing.assert_allclose(points["least"], [0.5, 0.5, 0], atol=1e-9)
    np.testing.assert_allclose(points["most"], [1, 0, 0], atol=1e-9)
    np.testing.assert_allclose(points["entropic"], [0.5, 0.5, 0], atol=1e-6)


def test_what_large_scales_select_is_entropy_and_only_on_an_edge_the_least_l2_norm():
    """Three coordinates share the ℓ1 margin, and the second sample is a support vector, so the two differ."""
    rows = np.array([[1, 1, 1], [1.2, 0.9, -0.5]])
    binding = [
        {"type": "eq", "fun": lambda w: w.sum() - 1},
        {"type": "ineq", "fun": lambda w: rows[1] @ w - 1},
    ]
    entropic, least = (
        minimize(f, [0.5, 0.25, 0.25], constraints=binding, bounds=[(1e-9, 1)] * 3, options={"ftol": 1e-14}).x
        for f in (lambda w: w @ np.log(w), lambda w: w @ w)
    )
    assert np.abs(entropic - least).max() > 0.01
    np.testing.assert_allclose(margins_on_path(rows, np.array([1e-9]), 2)[0], entropic, atol=1e-5)
    _, w = along(2, 1e4, rows, 1e12, 5)
    np.testing.assert_allclose(w[-1], entropic, atol=1e-3)


# all local margins


@pytest.mark.parametrize("p", [2 / 3, 0.2])
@pytest.mark.parametrize("sparse", [False, True])
def test_local_margins_are_those_of_exact_arithmetic(p, sparse):
    """This includes data whose margins are all equal at the best vertex."""
    rng = np.random.default_rng(5)
    for _ in range(3):
        rows = rng.uniform(0, 1, (4, 4))
        if sparse:
            rows = np.hstack([np.ones((4, 1)), rows / 2])
        np.testing.assert_allclose(local_margins(rows, p), local_minima(rows, p), atol=1e-8)


def test_local_margins_agree_with_max_margin_in_three_dimensions():
    rows = np.random.default_rng(2).standard_normal((6, 3)) + 1.0
    found = tacit.max_margin(rows, np.ones(6), 2 / 3)
    np.testing.assert_allclose(local_margins(rows, 2 / 3), found.stationary[found.minimum], atol=1e-8)


def test_reweighted_linear_programs_end_at_local_margins_of_the_list():
    """Local minima from random weights, in the ten dimensions of Figure 8a: all are listed, and none is
    better."""
    rng = np.random.default_rng(0)
    rows = rng.uniform(0, 1, (10, 10))
    known, p = local_margins(rows, 2 / 3), 2 / 3
    for _ in range(40):
        cost, w = rng.exponential(size=10), None
        for _ in range(50):
            program = linprog(np.tile(cost, 2), A_ub=np.hstack([-rows, rows]), b_ub=-np.ones(10))
            before, w = w, program.x[:10] - program.x[10:]
            if before is not None and np.abs(w - before).max() < 1e-9:
                break
            cost = (np.abs(w) + 1e-10) ** (p - 1)
            cost /= cost.min()
        assert np.abs(known - w).max(axis=1).min() < 1e-6
        assert (np.abs(w) ** p).sum() > (1 - 1e-6) * (np.abs(known[0]) ** p).sum()


# instants and failures


def test_instants_are_spread_along_the_curve_and_are_points_of_the_flow():
    accuracy, w = along(3, 1.0, SAME_SUPPORT, 1e6, 30)
    assert (np.diff(accuracy) > 0).all() and accuracy[-1] == pytest.approx(1e6)
    assert np.linalg.norm(np.diff(w, axis=0), axis=1).max() < 0.1
    assert (w @ SAME_SUPPORT.T).min(axis=1) == pytest.approx(np.ones(30))
    exact = exact_exp_flow(SAME_SUPPORT, 3, 0.0, accuracy[[10, 20]]).predictor
    exact /= (exact @ SAME_SUPPORT.T).min(axis=1, keepdims=True)
    np.testing.assert_allclose(w[[10, 20]], exact, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([8, 4, 1], 2**1.5),
        ([1, 8, 0.5], 2**1.5),  # the last crossing counts
        ([8, 1, 8], np.nan),
        ([8, np.nan, 1], np.nan),
        ([1, 1, 1], np.nan),
    ],
)
def test_a_level_is_reached_between_instants_as_by_a_power_law(values, expected):
    found = reached_at(np.array([1.0, 2.0, 4.0]), np.array(values, dtype=float), 2.0)
    assert found == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("flow", lambda: followed(2, 1.0, SAME_SUPPORT, until=5.0)),
        ("margin_path", lambda: margins_on_path(SAME_SUPPORT, np.array([1.0, 0.1]), 3)),
        ("max_margin", lambda: best_margin(SAME_SUPPORT, "l1")),
    ],
)
def test_what_did_not_converge_is_not_shown(monkeypatch, name, call):
    real = getattr(tacit, name)

    def failing(*args, **options):
        result = real(*args, **options)
        return replace(result, converged=np.zeros(2, bool) if name == "margin_path" else False)

    call()
    monkeypatch.setattr(tacit, name, failing)
    with pytest.raises(tacit.NotConvergedError):
        call()


def test_off_path_is_the_distance_at_the_same_mu():
    mu = np.array([10.0, 0.5, 0.1, 1e-12])
    w = margins_on_path(SAME_SUPPORT, mu, 2)
    w[[0, 3]] += 7.0  # outside the range
    assert off_path(SAME_SUPPORT, w, mu, 2) == 0
    w[1] += [0.0, 3.0, 4.0]
    assert off_path(SAME_SUPPORT, w, mu, 2) == pytest.approx(5)
    assert np.isnan(off_path(SAME_SUPPORT, w[:1], mu[:1], 2))


# claims


SMALL = {
    "5a": {"depths": DEPTHS, "scales": [0.1, 1.0], "accuracies": 25},
    "5b": {"depths": [2.0, 10.0], "scales": 3},
    "7": {"scales": [1e-3, 0.3, 100.0], "instants": 30},
    "8a": {"scales": [0.01, 10.0], "draws": 1, "instants": 30},
    "8b": {"scales": [0.01, 10.0], "draws": 2, "instants": 20},
    "8c": {"scales": [0.01, 10.0], "draws": 1, "instants": 40},
    "9": {"depths": DEPTHS, "scales": [0.1, 1.0], "accuracies": 25},
}
REAL = tacit.flow


def claims_of(name, seed=0):
    return judged(replace(figure(f"moroshko2020/fig{name}"), presets={"quick": SMALL[name]}), seed).claims


def kernel_forever(model, X, y, **options):
    """A wrong flow: the model linearized at its initialization."""
    return REAL(model, X, y, linearized=True, **options)


def one_scale_for_all(model, X, y, **options):
    """A wrong flow: it ignores the scale."""
    return REAL(tacit.Diagonal(depth=model.depth, scale=1.0), X, y, **options)


@pytest.mark.thorough
@pytest.mark.parametrize("wrong", [kernel_forever, one_scale_for_all])
@pytest.mark.parametrize("name", SMALL)
def test_a_wrong_flow_fails_claims(monkeypatch, name, wrong):
    monkeypatch.setattr(tacit, "flow", wrong)
    assert [claim.text for claim in claims_of(name) if not claim.holds]


def test_these_figures_are_registered_with_the_paper():
    assert {*KEYS} <= {entry.key for entry in figures("moroshko2020")} and moroshko2020.__doc__
    for key in KEYS:
        assert f"(Figure {key.removeprefix('moroshko2020/fig')})" in figure(key).caption
