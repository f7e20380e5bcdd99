"""Trajectories of Moroshko et al. 2020 on the sphere: data, geometry, flows, and claims that can fail."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

import tacit
from tacit.papers import (
    figures,
    moroshko2020_plane,  # noqa: F401  (registers its figures)
    reproduce,
)
from tacit.papers import moroshko2020_data as datasets
from tacit.papers import moroshko2020_question as question
from tacit.papers import moroshko2020_sphere as sphere
from tacit.papers import moroshko2020_trajectories as trajectories

SHALLOW = {"scales": [0.001, 1.0, 100.0, 1e4], "instants": 30, "crossings": 2}
SIZES = {  # smaller than the presets
    "fig3a": {"scales": [0.001, 1e4], "instants": 25},
    "fig3b": SHALLOW,
    "fig3c": SHALLOW,
    "fig3d": SHALLOW,
    "fig4a": {"scales": [0.01, 1e3], "instants": 20, "crossings": 2},
    "fig4b": {"scales": [0.01, 0.3, 1e3], "instants": 20, "crossings": 2},
    "fig6": {"scales": [0.001, 1.0, 100.0, 1e4], "per_decade": 1},
    "open-question": {"sizes": [1e3, 1e6], "levels": 11, "draws": 1},
}


def entry_of(name):
    (entry,) = figures(f"moroshko2020/{name}")
    return replace(entry, presets=dict.fromkeys(entry.presets, SIZES[name]))


def failing(result):
    return [claim.summary() for claim in result.claims if not claim.holds]


def best_l1(rows, direction=(0.0, 0.0, 0.0)):
    """A largest ℓ1 margin, farthest in a direction among those: a linear program in w = p − n, p, n ≥ 0."""
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


@pytest.mark.parametrize("name", ["fig3c", "fig3d", "fig4b"])
def test_what_planes_show_is_sound(tmp_path, name):
    """Directions are unit vectors, paths keep the margins, ends are those of independent programs."""
    data = reproduce(entry_of(name), out=tmp_path).data
    for variable in ("flow", "path", "sweeping", "marked", "crossing", "l1", "l2", "start"):
        np.testing.assert_allclose(np.linalg.norm(data[variable].values, axis=-1), 1, rtol=1e-12)
    rows = data.rows.values
    assert (data.path.values @ rows.T > 0).all()
    assert (np.diff(data.accuracy.values, axis=1) > 0).all()
    assert trajectories.apart(data.l2, trajectories.unit(best_l2(rows))) < 1e-6
    if data.sizes["vertex"] == 1:
        assert trajectories.apart(data.l1, trajectories.unit(best_l1(rows)[0])) < 1e-8


REAL = {verb: getattr(tacit, verb) for verb in ("flow", "sweeping_path", "margin_path", "max_margin")}


def kernel_flow(model, X, y, **options):
    """A wrong implementation: one that never leaves the tangent model."""
    return REAL["flow"](model, X, y, **{**options, "linearized": True, "rtol": 1e-8})


def flow_along_the_path(model, X, y, *, at, **options):
    """What the paper hopes for: the flow is on the Q_μ path, always."""
    log_scale = np.log(model.scale) if model.log_scale is None else model.log_scale
    size = float(np.exp(model.depth * log_scale))
    path = REAL["margin_path"](X, y, size / np.asarray(at), depth=model.depth)
    return replace(REAL["flow"](model, X, y, at=at, **options), predictor=path.predictors)


def scaleless_flow(model, X, y, *, at, **options):
    """One that forgets the scale."""
    return REAL["flow"](tacit.Diagonal(model.depth, 1.0), X, y, at=at, **options)


def lost_flow(model, X, y, *, at, **options):
    """And one that gives no numbers, and says so."""
    trajectory = REAL["flow"](model, X, y, at=np.asarray(at)[:1], loss="exp")
    return replace(trajectory, predictor=np.full((1, X.shape[1]), np.nan), converged=False)


WRONG = [
    ("fig3a", lost_flow),
    ("fig3b", kernel_flow),
    ("fig3b", scaleless_flow),
    ("fig3c", kernel_flow),
    ("fig3d", flow_along_the_path),
    ("fig4a", flow_along_the_path),
    ("fig4b", scaleless_flow),
    ("fig6", lost_flow),
    ("open-question", flow_along_the_path),
    ("open-question", lost_flow),
]


@pytest.mark.parametrize(("name", "wrong"), WRONG)
def test_a_wrong_flow_fails_claims_and_the_figure_is_still_made(monkeypatch, tmp_path, name, wrong):
    monkeypatch.setattr(tacit, "flow", wrong)
    assert failing(reproduce(entry_of(name), out=tmp_path))
    assert (tmp_path / f"moroshko2020/{name}.png").exists()


def test_a_sweeping_process_that_is_the_path_fails(monkeypatch, tmp_path):
    """A wrong process, with no departures at all."""

    def path(X, y, mu, *, depth=2):
        found = REAL["sweeping_path"](X, y, mu, depth=depth)
        return replace(found, predictors=REAL["margin_path"](X, y, mu, depth=depth).predictors)

    monkeypatch.setattr(tacit, "sweeping_path", path)
    for name in ("fig3d", "open-question"):
        assert failing(reproduce(entry_of(name), out=tmp_path))


def test_the_open_question_is_answered_on_other_draws_too(tmp_path):
    assert failing(reproduce(entry_of("open-question"), out=tmp_path, seed=5)) == []


def test_random_datasets_have_a_sample_that_leaves():
    rng = np.random.default_rng(3)
    for _ in range(3):
        rows = question.draw_dataset(rng)
        assert rows.shape == (4, 5)
        path = tacit.margin_path(rows, np.ones(4), np.geomspace(10, 1e-3, 30))
        sweep = tacit.sweeping_path(rows, np.ones(4), np.geomspace(10, 1e-3, 30))
        gap = trajectories.apart(trajectories.unit(path.predictors), trajectories.unit(sweep.predictors))
        assert gap[0] < 1e-9 < gap.max()
