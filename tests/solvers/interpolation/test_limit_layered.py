"""Limits of untied networks with several layers, compared with flows of weights and limits of the scale."""

import numpy as np
import pytest
from scipy.optimize import linprog

import tacit

N, D = 3, 8


def drawn(seed, depth, kind):
    """Layers with random signs: biased or unbiased, with ties, or with a zero layer."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((N, D)), rng.standard_normal(N)
    plus, minus = rng.standard_normal((2, depth, D))
    if kind == "unbiased":
        minus = plus
    if kind == "tied":
        plus[1], minus = np.abs(plus[0]), np.abs(plus)
        plus = np.abs(plus)
    if kind == "zero":
        plus[0] = 0.0
    return X, y, plus, minus


@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("depth", "kind"),
    [(3, "biased"), (3, "unbiased"), (3, "tied"), (3, "zero"), (4, "biased"), (5, "unbiased")],
)
def test_limits_are_where_flows_of_the_weights_end(depth, kind):
    """Measured: 4e-12, from the tolerance of the flow; allowed: 1e-9."""
    X, y, plus, minus = drawn(depth, depth, kind)
    model = tacit.UntiedDiagonal.from_layers(plus, minus)
    found = tacit.limit(model, X, y)
    flow = tacit.flow(model, X, y, method="parameters", rtol=1e-10)
    assert found.converged and found.error < 1e-12
    np.testing.assert_allclose(found.predictor, flow.predictor[-1], atol=1e-9 * np.abs(found.predictor).max())
    assert tacit.certify(model, X, y, flow.predictor[-1], tol=1e-6).holds


@pytest.mark.parametrize("scale", [1e-3, 0.3, 1e2])
def test_equal_layers_end_where_tied_ones_do(scale):
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((10, 40)), rng.standard_normal(10)
    profile = rng.uniform(0.5, 2, 40)
    layered = tacit.limit(tacit.UntiedDiagonal.from_layers([scale * profile] * 3), X, y)
    tied = tacit.limit(tacit.Diagonal(3, scale, profile=profile), X, y)
    assert layered.converged and layered.regime.name == tied.regime.name
    np.testing.assert_allclose(layered.predictor, tied.predictor, atol=1e-12 * np.abs(tied.predictor).max())


@pytest.mark.parametrize("depth", [3, 4])
def test_the_rich_end_weighs_the_two_signs_by_where_slopes_end(depth):
    """All layers times c → 0: the linear program with weights F(∞) − F(x₀) for each sign, at rate c^{L−2}."""
    X, y, plus, minus = drawn(11, depth, "biased")
    below, above = tacit.UntiedDiagonal.from_layers(plus, minus).potential(D).ends
    assert np.abs(below / above - 1).max() > 0.1
    program = linprog(np.concatenate([above, below]), A_eq=np.hstack([X, -X]), b_eq=y, method="highs")
    end = program.x[:D] - program.x[D:]
    distances = []
    for c in (1e-2, 1e-3, 1e-6):
        found = tacit.limit(tacit.UntiedDiagonal.from_layers(c * plus, c * minus), X, y)
        assert found.converged
        distances.append(np.abs(found.predictor - end).max() / np.abs(end).max())
    assert distances[0] > distances[1] > distances[2]
    assert distances[2] < 1e-5
    assert found.regime == "rich" and found.regime.distance_to_rich == pytest.approx(
        distances[2], rel=2, abs=1e-9
    )


def test_the_kernel_end_is_that_of_the_tangent_kernel():
    """All layers times c → ∞, from an unbiased start: least ‖·‖ in the tangent metric, at rate c^{−L}."""
    X, y, plus, _ = drawn(12, 3, "unbiased")
    metric = 2 * sum((plus.prod(axis=0) / layer) ** 2 for layer in plus)
    end = metric * (X.T @ np.linalg.solve((X * metric) @ X.T, y))
    for c, allowed in ((10.0, 1e-2), (1e4, 1e-9)):
        found = tacit.limit(tacit.UntiedDiagonal.from_layers(c * plus), X, y)
        assert found.converged
        np.testing.assert_allclose(found.predictor, end, atol=allowed * np.abs(end).max())
    assert found.regime == "kernel"


@pytest.mark.parametrize("scale", [1e-90, 1e-30, 1e90])
def test_scales_far_from_one(scale):
    """The ℓ1 vertex, or the kernel solution, both certified by multipliers."""
    X, y, plus, _ = drawn(13, 3, "unbiased")
    found = tacit.limit(tacit.UntiedDiagonal.from_layers(scale * plus), X, y)
    assert found.settled and found.feasibility < 1e-12 and found.stationarity < 1e-8
    end = found.regime.distance_to_kernel if scale > 1 else found.regime.distance_to_rich
    assert end < 1e-9


def test_two_zero_layers_leave_the_other_product_alone():
    """The minus side stays at 0: the limit is that of the plus side, which crosses zero."""
    X, y, plus, minus = drawn(14, 3, "biased")
    minus[:2] = 0.0
    model = tacit.UntiedDiagonal.from_layers(plus, minus)
    found = tacit.limit(model, X, y)
    flow = tacit.flow(model, X, y, method="parameters", rtol=1e-10)
    np.testing.assert_allclose(found.predictor, flow.predictor[-1], atol=1e-9 * np.abs(found.predictor).max())


@pytest.mark.thorough
def test_the_derived_potential_of_the_same_map_has_the_same_gradient():
    from maps import untied_three

    _, _, plus, minus = drawn(15, 3, "biased")
    plus, minus = plus[:, :1], minus[:, :1]
    derived = tacit.derive(untied_three, np.concatenate([plus.ravel(), minus.ravel()])).potential
    closed = tacit.UntiedDiagonal.from_layers(plus, minus).potential(1)
    for shift in (0.1, -0.3, 0.8):
        w = closed.start(1) + shift
        np.testing.assert_allclose(derived.gradient(w), closed.gradient(w), rtol=1e-8)


def test_margins_are_held_by_multipliers():
    rng = np.random.default_rng(6)
    X = rng.standard_normal((12, 20))
    labels = np.sign(X @ rng.standard_normal(20))
    Q = tacit.UntiedDiagonal.from_layers([0.3, 0.5, 0.9]).potential(20)
    found = tacit.max_margin(X, labels, Q)
    Z = labels[:, None] * X
    margins = Z @ found.predictor
    assert margins.min() > 1 - 1e-9 and (found.dual >= 0).all()
    assert np.abs(found.dual * (margins - 1)).max() < 1e-9 * found.dual.max()
    np.testing.assert_allclose(Z.T @ found.dual, Q.gradient(found.predictor), rtol=1e-8, atol=1e-9)


def of_layers(kind="biased", depth=3):
    return tacit.UntiedDiagonal.from_layers(*drawn(1, depth, kind)[2:])


@pytest.mark.parametrize("kind", ["biased", "unbiased", "tied", "zero"])
def test_where_the_data_say_nothing_it_ends_where_it_starts(kind):
    """X is zero, or becomes zero by centring."""
    model = of_layers(kind)
    start = model.predictor()
    for X, y, options in (
        (np.zeros((2, D)), np.zeros(2), {}),
        (np.ones((3, D)), np.full(3, 4.0), {"intercept": True}),
        (np.ones((3, D)), np.full(3, 4.0), {"intercept": True, "standardize": True}),
        (np.ones((1, D)), np.ones(1), {"intercept": True}),
    ):
        found = tacit.limit(model, X, y, **options)
        np.testing.assert_allclose(found.predictor, start, rtol=1e-15)
        assert found.converged and found.error == 0 and found.summary()
        assert found.regime.to_dict()


@pytest.mark.parametrize("kind", ["biased", "unbiased", "tied", "zero"])
@pytest.mark.parametrize("depth", [3, 4, 5])
def test_huge_targets_end_at_the_rich_end(kind, depth):
    """y·1e30: slopes are at their ends to all their digits; w/1e30 is that of a weighted ℓ1 norm."""
    X, y, plus, minus = drawn(depth, depth, kind)
    model = tacit.UntiedDiagonal.from_layers(plus, minus)
    found = tacit.limit(model, X, 1e30 * y)
    assert found.converged
    below, above = model.potential(D).ends
    cost = np.concatenate([above, below])
    if not np.isfinite(cost).all():  # slopes without an end: the coordinate costs more than any other
        cost = np.minimum(cost, 1e6 * cost[np.isfinite(cost)].max())
    program = linprog(cost, A_eq=np.hstack([X, -X]), b_eq=y)
    exact = program.x[:D] - program.x[D:]
    np.testing.assert_allclose(found.predictor / 1e30, exact, atol=1e-6 * np.abs(exact).max())
