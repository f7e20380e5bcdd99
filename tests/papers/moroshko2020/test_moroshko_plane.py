"""Trajectories of Moroshko et al. 2020 on the sphere: data, geometry, flows, and claims that can fail."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from figure_claims import failing, judged
from properties import some
from scipy.optimize import linprog, minimize

import tacit
from tacit.papers import figures, reproduce
from tacit.papers.moroshko2020 import data as datasets
from tacit.papers.moroshko2020 import figure3a as sphere
from tacit.papers.moroshko2020 import figure_open_question as question
from tacit.papers.moroshko2020 import margins as plot_grid
from tacit.papers.moroshko2020 import trajectories

SHALLOW = {"scales": [0.001, 1.0, 100.0, 1e4], "instants": 30, "crossings": 2}
SIZES = {  # smaller than the presets
    "fig3a": {"scales": [0.001, 1e4], "instants": 25},
    "fig3b": SHALLOW,
    "fig3c": SHALLOW,
    "fig3d": SHALLOW,
    "fig4a": {"scales": [0.01, 1e3], "instants": 20, "crossings": 2},
    "fig4b": {"scales": [0.01, 0.3, 1e3], "instants": 20, "crossings": 2},
    "fig6": {"scales": [0.001, 1.0, 100.0, 1e4], "instants": 50},
    "open-question": {"sizes": [1e3, 1e6], "levels": 11, "draws": 1},
}


def entry_of(name):
    (entry,) = figures(f"moroshko2020/{name}")
    return replace(entry, presets=dict.fromkeys(entry.presets, SIZES[name]))


def best_l1(rows, direction=(0.0, 0.0, 0.0)):
    """The maximum-ℓ1-margin predictor that is farthest in a direction: a linear program in w = p − n, p, n ≥
    0."""
    cost = np.ones(6) - 1e-4 * np.concatenate([direction, np.negative(direction)])
    found = linprog(cost, A_ub=np.hstack([-rows, rows]), b_ub=-np.ones(len(rows)), method="highs")
    return found.x[:3] - found.x[3:], found.ineqlin.marginals < -1e-9


def best_l2(rows):
    constraint = {"type": "ineq", "fun": lambda w: rows @ w - 1, "jac": lambda w: rows}
    start = 5 * rows.mean(axis=0)
    return minimize(lambda w: w @ w / 2, start, jac=lambda w: w, constraints=constraint, tol=1e-14).x


def tight(rows, w):
    return np.flatnonzero(rows @ w < 1 + 1e-6).tolist()


def test_every_dataset_has_the_property_of_its_figure():
    for name in ("3b", "3b, two support vectors"):
        rows = datasets.ALL[name]
        w, active = best_l1(rows)
        assert tight(rows, best_l2(rows)) == np.flatnonzero(active).tolist() == tight(rows, w)
    assert len(tight(datasets.SAME_SUPPORT, best_l2(datasets.SAME_SUPPORT))) == 1
    assert len(tight(datasets.TWO_SUPPORT_VECTORS, best_l2(datasets.TWO_SUPPORT_VECTORS))) == 2
    ends = [best_l1(datasets.MANY_L1, (sign, 0.0, 0.0))[0] for sign in (1, -1)]
    np.testing.assert_allclose(ends, [[1, 0, 0], [8 / 23, 15 / 23, 0]], atol=1e-6)
    leaving = datasets.SUPPORT_LEAVES
    assert tight(leaving, best_l2(leaving)) == [0, 1, 2] and tight(leaving, best_l1(leaving)[0]) == [1]


def test_a_local_margin_cannot_be_improved_nearby_but_far_away():
    rows, rng = datasets.DEEP_LOCAL_END, np.random.default_rng(0)

    def size(w):
        """Σ|w|^{2/3} of the predictor scaled to margin 1; ∞ where it does not separate."""
        margin = (rows @ w).min()
        return (np.abs(w / margin) ** (2 / 3)).sum() if margin > 0 else np.inf

    local, best = np.array([2.941, 0, 0]), np.array([1.548, 0, 0.324])
    for w in (local, best):
        assert min(size(w + 0.003 * step) for step in rng.standard_normal((2000, 3))) > 0.9999 * size(w)
    assert size(best) < 0.9 * size(local)


def test_datasets_cannot_be_changed_by_accident():
    for rows in datasets.ALL.values():
        with pytest.raises(ValueError, match="read-only"):
            rows[0, 0] = 1.0


@pytest.mark.parametrize(
    ("direction", "azimuth", "pitch"),
    [
        ([1, 0, 0], 0, 0),
        ([0, 1, 0], 90, 0),
        ([0, 0, 1], 0, 90),
        ([-1, 0, 0], 180, 0),
        ([1, 1, -(2**0.5)], 45, -45),
    ],
)
def test_azimuth_and_pitch(direction, azimuth, pitch):
    found = trajectories.azimuth_pitch(trajectories.unit(direction))
    np.testing.assert_allclose(np.degrees(found), [azimuth, pitch], atol=1e-12)
    np.testing.assert_allclose(sphere.direction(*found), trajectories.unit(direction), atol=1e-12)


def test_the_distance_to_a_curve_is_that_to_its_nearest_point():
    rng = np.random.default_rng(1)
    curve, points = rng.standard_normal((7, 3)), rng.standard_normal((20, 3))
    share = np.linspace(0, 1, 2001)[:, None]
    dense = np.vstack([a * (1 - share) + b * share for a, b in pairwise(curve)])
    nearest = np.linalg.norm(points[:, None] - dense, axis=-1).min(axis=1)
    np.testing.assert_allclose(trajectories.off_curve(points, curve), nearest, atol=2e-3)
    np.testing.assert_allclose(trajectories.off_curve(curve, curve), 0, atol=1e-12)


def test_the_grey_area_is_what_separates_the_data():
    assert sphere.area(sphere.corners(np.eye(3))) == pytest.approx(1 / 8)
    rows, rng = datasets.SAME_SUPPORT, np.random.default_rng(2)
    everywhere = trajectories.unit(rng.standard_normal((200_000, 3)))
    separating = (everywhere @ rows.T > 0).all(axis=1).mean()
    assert sphere.area(sphere.corners(rows)) == pytest.approx(separating, abs=5e-3)
    edge = sphere.outline(sphere.corners(rows))
    np.testing.assert_allclose((edge @ rows.T).min(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(edge, axis=1), 1)


def normalized_descent(rows, depth, scale, accuracy, step):
    """The authors' own algorithm (Appendix H.5): the direction when −log of the mean loss passes a value."""
    u = np.full((2, 3), scale)
    while True:
        margins = rows @ (u[0] ** depth - u[1] ** depth)
        weights = np.exp(margins.min() - margins)
        if margins.min() - np.log(weights.mean()) >= accuracy:
            return trajectories.unit(u[0] ** depth - u[1] ** depth)
        pull = weights @ rows / weights.sum()
        u = u + step * depth * u ** (depth - 1) * np.array([pull, -pull])


@pytest.mark.parametrize("setting", [trajectories.ONE_SUPPORT, trajectories.LEAVING, trajectories.DEEP_LOCAL])
@pytest.mark.parametrize(("scale", "accuracy"), [(0.1, 0.5), (1.0, 3.0), (1.0, 30.0)])
def test_flows_are_those_of_the_authors_algorithm(setting, scale, accuracy):
    found, reached = trajectories.flow(setting, scale, [accuracy / 2, accuracy])
    by_descent = normalized_descent(setting.rows, setting.depth, scale, accuracy, 2e-4)
    assert reached and trajectories.apart(found[-1], by_descent) < 2e-3


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["fig3c", "fig3d", "fig4b"])
def test_what_planes_show_is_sound(name):
    """Directions are unit vectors, paths satisfy the margin constraints, and ends agree with independent
    programs."""
    data = judged(entry_of(name)).data
    for variable in ("flow", "path", "sweeping", "marked", "crossing", "l1", "l2", "start"):
        np.testing.assert_allclose(np.linalg.norm(data[variable].values, axis=-1), 1, rtol=1e-12)
    rows = data.rows.values
    assert (data.path.values @ rows.T > 0).all()
    assert (np.diff(data.accuracy.values, axis=1) > 0).all()
    assert trajectories.apart(data.l2, trajectories.unit(best_l2(rows))) < 1e-6
    if data.sizes["vertex"] == 1:
        assert trajectories.apart(data.l1, trajectories.unit(best_l1(rows)[0])) < 1e-8


def test_figure_3a_computes_nothing_that_it_does_not_show(monkeypatch):
    """No paths, and no flows to marked values of μ.

    Two flows for each scale (a coarse one places the points), one on other data, and one of raw weights.
    """
    flows, plain = [], tacit.flow
    monkeypatch.setattr(tacit, "flow", lambda *given, **options: flows.append(1) or plain(*given, **options))
    for verb in ("margin_path", "sweeping_path"):
        monkeypatch.setattr(tacit, verb, lambda *given, **options: pytest.fail("no path is shown"))
    result = judged(entry_of("fig3a"))
    assert len(flows) == 2 * len(SIZES["fig3a"]["scales"]) + 2
    assert result.data.reached.values.tolist() == [1, 1] and failing(result) == []


REAL = {verb: getattr(tacit, verb) for verb in ("flow", "sweeping_path", "margin_path", "max_margin")}


def kernel_flow(model, X, y, **options):
    """A wrong implementation: one that never leaves the tangent model."""
    return REAL["flow"](model, X, y, **{**options, "linearized": True, "rtol": 1e-8})


def flow_along_the_path(model, X, y, *, at=None, **options):
    """A wrong implementation of what the paper conjectures: the flow is always on the Q_μ path."""
    if at is None:
        return REAL["flow"](model, X, y, **options)
    log_scale = np.log(model.scale) if model.log_scale is None else model.log_scale
    size = float(np.exp(model.depth * log_scale))
    path = REAL["margin_path"](X, y, size / np.asarray(at), depth=model.depth)
    return replace(REAL["flow"](model, X, y, at=at, **options), predictor=path.predictors)


def scaleless_flow(model, X, y, **options):
    """A wrong implementation: it ignores the scale."""
    return REAL["flow"](tacit.Diagonal(model.depth, 1.0), X, y, **options)


def lost_flow(model, X, y, *, at=(1.0,), **options):
    """A wrong implementation: it returns NaN and reports no convergence."""
    trajectory = REAL["flow"](model, X, y, at=np.asarray(at)[:1], loss="exp")
    return replace(trajectory, predictor=np.full((1, X.shape[1]), np.nan), converged=False)


WRONG = [
    ("fig3b", kernel_flow),
    ("fig3b", scaleless_flow),
    ("fig3c", kernel_flow),
    ("fig3d", flow_along_the_path),
    ("fig4a", flow_along_the_path),
    ("fig4b", scaleless_flow),
    ("open-question", flow_along_the_path),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "wrong"), WRONG)
def test_a_wrong_flow_fails_claims(monkeypatch, name, wrong):
    monkeypatch.setattr(tacit, "flow", wrong)
    assert failing(judged(entry_of(name)))


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["fig3a", "fig6", "open-question"])
def test_a_figure_is_made_of_what_has_no_numbers_too(monkeypatch, tmp_path, name):
    monkeypatch.setattr(tacit, "flow", lost_flow)
    result = reproduce(entry_of(name), out=tmp_path)
    assert failing(result)
    assert (tmp_path / f"moroshko2020/{name}.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert json.loads((tmp_path / f"moroshko2020/{name}.json").read_text())["holds"] is False


@pytest.mark.thorough
def test_a_sweeping_process_that_is_the_path_fails(monkeypatch):
    """A wrong process, in which no sample leaves the support."""

    def path(X, y, mu, *, depth=2):
        found = REAL["sweeping_path"](X, y, mu, depth=depth)
        return replace(found, predictors=REAL["margin_path"](X, y, mu, depth=depth).predictors)

    monkeypatch.setattr(tacit, "sweeping_path", path)
    for name in ("fig3d", "open-question"):
        assert failing(judged(entry_of(name)))


@pytest.mark.thorough
def test_the_open_question_is_answered_on_other_draws_too():
    assert failing(judged(entry_of("open-question"), seed=5)) == []


def test_random_datasets_have_a_sample_that_leaves():
    rng = np.random.default_rng(3)
    for _ in some(range(3), 3):
        rows = question.draw_dataset(rng)
        assert rows.shape == (4, 5)
        path = tacit.margin_path(rows, np.ones(4), np.geomspace(10, 1e-3, 30))
        sweep = tacit.sweeping_path(rows, np.ones(4), np.geomspace(10, 1e-3, 30))
        gap = trajectories.apart(trajectories.unit(path.predictors), trajectories.unit(sweep.predictors))
        assert gap[0] < 1e-9 < gap.max()


# where curves are computed


def chord(fine, coarse):
    """The largest distance of a curve from its polygon, in coordinates in which the page has side length
    1."""
    low, size = fine.min(axis=0), np.ptp(fine, axis=0)
    return trajectories.off_curve((fine - low) / size, (coarse - low) / size).max()


@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("setting", "scale"),
    [
        (trajectories.ONE_SUPPORT, 1.0),
        (trajectories.MANY_ENDS, 1e4),
        (trajectories.LEAVING, 100.0),
        (trajectories.DEEP, 1e3),
    ],
)
def test_flows_are_drawn_without_chords(setting, scale):
    """At the times of the quick preset the polygon is within a line's width of the curve."""
    size = scale**setting.depth
    ends = 1e-3 * min(1, size), max(1, size) / setting.last
    fixed = size / np.array([0.3, 0.01])
    accuracy, directions, reached = trajectories.trace(setting, scale, ends, fixed, 80)
    assert reached and len(accuracy) == 80 and (np.diff(accuracy) > 0).all()
    assert (accuracy[0], accuracy[-1]) == ends and set(fixed) < set(accuracy)
    dense, _ = trajectories.flow(setting, scale, np.geomspace(*ends, 200))
    page = [np.stack(trajectories.azimuth_pitch(w), axis=-1) for w in (dense, directions)]
    assert chord(*page) < 3e-3


def test_paths_are_drawn_without_chords_and_have_their_kinks():
    rows = datasets.SUPPORT_LEAVES
    mu = plot_grid.levels(rows, 2, (1e2, 1e-14), 80, sweeping=True)
    assert len(mu) == 80 and (mu[0], mu[-1]) == (1e2, 1e-14) and (np.diff(mu) < 0).all()
    for change in (0.0403660, 0.1891457, 0.00192811):  # of the path, and of the flow at infinite scale
        assert np.abs(np.log(mu / change)).min() < 1e-5
    for verb in (tacit.margin_path, tacit.sweeping_path):
        dense, drawn = (
            verb(rows, datasets.LABELS, at).predictors for at in (np.geomspace(1e2, 1e-14, 200), mu)
        )
        page = [np.stack(trajectories.azimuth_pitch(trajectories.unit(w)), axis=-1) for w in (dense, drawn)]
        assert chord(*page) < 3e-3


def test_points_are_spread_by_length_and_clock():
    clock = np.array([0.0, 1.0, 2.0, 4.0])
    still_then_fast = np.array([[0.0], [0.0], [3.0], [3.0]])
    np.testing.assert_allclose(
        plot_grid.spread(clock, still_then_fast, 4, even=0.0)[1:3], [1 + 1 / 3, 1 + 2 / 3]
    )
    np.testing.assert_allclose(plot_grid.spread(clock, still_then_fast, 3), [0, 1.6, 4])  # 1/4 + 0.6·5/4 = 1
    for nowhere in (np.zeros((4, 1)), np.full((4, 1), np.nan)):
        np.testing.assert_allclose(plot_grid.spread(clock, nowhere, 5), np.linspace(0, 4, 5))


def test_refining_keeps_the_rough_points_and_adds_where_the_curve_moves():
    def step(x):
        return np.stack([np.tanh(20 * np.log(x)), 0 * x], axis=-1)

    rough = np.geomspace(0.01, 100, 7)
    for looks in (1, 2):
        clock, points = plot_grid.refined(step, rough, 40, lambda w: w, looks=looks)
        assert len(clock) == 40 and set(rough) < set(clock)
        np.testing.assert_array_equal(points, step(clock))
        inside = (np.abs(np.log(clock)) < 0.2).sum()
        assert inside > (8 if looks == 2 else 2)


@pytest.mark.thorough
def test_the_open_question_is_asked_at_the_very_event():
    """Distances to both are equal until then, and differ immediately afterwards."""
    data = judged(entry_of("open-question")).data
    mu, leaves = data.mu.values, 0.1891457
    assert np.abs(mu / leaves - 1).min() < 1e-5
    infinite, path = data.distance.sel(depth=2, size=1e6).values
    before, after = mu > leaves * (1 + 1e-5), mu < leaves * 0.95
    np.testing.assert_allclose(path[before], infinite[before], rtol=1e-3)
    assert (path[after] > 30 * infinite[after]).all()


@pytest.mark.thorough
def test_dark_diamonds_are_nearer_in_weights(tmp_path):
    """Computed again from distances between predictors."""
    (entry,) = figures("moroshko2020/fig8a")
    data = entry.make().data([10.0], 1, 20, seed=0, progress=lambda items, _: items)
    rows = np.random.default_rng(0).spawn(1)[0].uniform(0, 1, (10, 10))
    best = tacit.max_margin(rows, np.ones(10), "l1").predictor
    end = tacit.flow(tacit.Diagonal(3, 10.0), rows, np.ones(10), loss="exp", until=1e28).predictor[-1]
    end /= (rows @ end).min()
    distance = np.linalg.norm(end - best)
    assert distance == pytest.approx(data.to_l1.values[data["at"].values[0, -1]], rel=1e-3)
    nearer = (data.to_l1.values < distance * (1 - 1e-3)).mean()
    assert nearer == pytest.approx(data.nearer.values[0, -1])
