"""The flow at infinite scale if samples tie, nearly tie, or enter and leave within one step."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from properties import examples

import tacit
from tacit.cli import main
from tacit.flows.catching_up import Place

MU = np.geomspace(30, 1e-3, 40)


def signs(text):
    return np.array([[1.0 if sign == "+" else -1.0 for sign in row] for row in text.split()])


def near_twins(seed, distance):
    rng = np.random.default_rng(seed)
    Z = np.repeat(rng.standard_normal((3, 6)), 2, axis=0)
    return Z * np.sign(Z[:, :1]) + distance * rng.standard_normal(Z.shape)


# At the ℓ2 margin of rows 0 and 1, row 3 also has margin 1, and would fall below it in the order g³.
TIED = -np.array(
    [[0, 2, 0, 0], [1, 0, 1, 2], [2, 0, 0, 2], [1, 1, 2, 0], [0, 1, 2, 1], [1, 2, 0, 1], [2, 2, 2, 1.0]]
)
CASES = {
    "a tie at the start": (TIED, 3),
    "symmetric": (np.array([[2, 2, 2, 0, 2], [0, 1, 0, 2, 0], [2, 0, 2, 2, 2], [0, 2, 0, 1, 0.0]]), 3),
    "signs": (signs("+--++ +++-- +++++ +-+-+ +---+ +--+- +-+-- +--+- ++++- +++++ ++++- +---+"), 2),
    "more samples than features": (
        signs("+---+ ----- +--++ +-+-- +---- ---++ ---++ ++--+ ---+- ++-+- ----- +-+++ ----- ++--+ +---+"),
        3,
    ),
    "signs, deep": (
        signs(
            "+----+--+++ ++--+-+-+-- ---+-+---++ --++--+-+-- ++---++---+ -+-+-++---+ --++------- -+--+---++- "
            "+-+++-+--++ +-+-----+++"
        ),
        10,
    ),
    "near twins": (near_twins(5, 1e-9), 3),
    "nearer twins": (near_twins(43, 1e-12), 3),
    "integers": (
        np.array(
            [
                [0, 0, 2, 1, 1],
                [1, 2, 1, 0, 0],
                [2, 2, 2, 0, 1],
                [1, 2, 1, 2, 0],
                [0, 1, 1, 2, 1],
                [1, 2, 2, 0, 0],
                [2, 1, 1, 0, 1],
                [1, 1, 1, 0, 2.0],
            ]
        ),
        2.5,
    ),
}


def separable(samples, features, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((samples, features))
    return np.sign(X @ rng.standard_normal(features))[:, None] * X


def mirrored(s, depth):
    """The formula of h_D."""
    if depth == 2:
        return 2 * np.sinh(s)
    p = depth / (depth - 2)
    return (1 - s) ** -p - (1 + s) ** -p


def assert_sweeps(Z, depth, mu):
    """ν' ≥ 0, m ≥ g, ν'(m − g) = 0 between all μ and events, with W = h_D(Zᵀν), define the process."""
    ones = np.ones(len(Z))
    changes = [event.mu for event in tacit.sweeping_path(Z, ones, mu, depth=depth).events]
    path = tacit.sweeping_path(Z, ones, np.union1d(mu, changes)[::-1], depth=depth)
    assert path.converged.all() and path.down_to == path.mu.min()
    margins, theta = path.predictors @ Z.T, path.duals
    np.testing.assert_allclose(margins.min(axis=1), 1, rtol=0, atol=1e-9)
    formula = mirrored(theta @ Z, depth) * path.mu[:, None]
    np.testing.assert_allclose(path.predictors, formula, rtol=0, atol=1e-8 * np.abs(formula).max())
    pushes = np.diff(theta, axis=0, prepend=0) / theta.max(axis=1, keepdims=True)
    assert pushes.min() > -1e-10
    behind = np.maximum(np.abs(margins - 1), np.abs(np.roll(margins, 1, axis=0) - 1))
    behind[0] = np.abs(margins[0] - 1)
    assert behind[pushes > 1e-6].max() < 1e-9


@pytest.mark.parametrize("name", CASES)
def test_ties_are_resolved(name):
    assert_sweeps(*CASES[name], MU)


@pytest.mark.parametrize("name", ["a tie at the start", "symmetric", "signs", "near twins", "integers"])
def test_flows_approach_the_process_through_ties(name):
    Z, depth = CASES[name]
    ones, mu = np.ones(len(Z)), tacit.max_margin(Z, np.ones(len(Z)), "l2").value * np.array([1, 0.1, 0.02])
    sweep, gaps = tacit.sweeping_path(Z, ones, mu, depth=depth).predictors, []
    for size in (1e3, 1e5):
        model = tacit.Diagonal(depth=depth, log_scale=math.log(size) / depth)
        flow = tacit.flow(model, Z, ones, loss="exp", at=size / mu)
        gaps.append(
            np.abs(flow.predictor[-3:] / flow.accuracy[-3:, None] - sweep).max() / np.abs(sweep).max()
        )
    assert gaps[1] < gaps[0] / 40 and gaps[1] < 30 * math.log(1e5) / 1e5


@examples(25)
@given(
    st.integers(2, 6).flatmap(
        lambda d: st.lists(st.lists(st.integers(-2, 2), min_size=d, max_size=d), min_size=1, max_size=9)
    ),
    st.sampled_from([2, 2.5, 3, 10]),
)
def test_small_integers(rows, depth):
    Z = np.array(rows, float)
    total = Z.sum(axis=1)
    assume((total != 0).all())
    assert_sweeps(Z * np.sign(total)[:, None], depth, MU)


@pytest.mark.every(4)
@pytest.mark.parametrize(("seed", "depth"), [(5, 10), (37, 10), (49, 3), (93, 3)])
def test_visits_between_the_looks_are_seen(seed, depth):
    """A sample enters and leaves within 3 to 5% of μ: few and many values of μ give the same events."""
    Z, few = separable(18, 24, seed), np.array([3.0, 0.1, 0.01, 0.001])
    many = np.union1d(few, np.geomspace(3, 1e-3, 400))
    coarse, fine = (tacit.sweeping_path(Z, np.ones(18), mu, depth=depth) for mu in (few, many))
    assert [(e.sample, e.enters) for e in coarse.events] == [(e.sample, e.enters) for e in fine.events]
    np.testing.assert_allclose(coarse.predictors[::-1], fine.predictors[np.isin(many, few)], atol=1e-12)
    assert_sweeps(Z, depth, many)


def stopping_after(monkeypatch, turns):
    """A process in which, after some events, no new support is found."""
    real, calls = Place.turned, iter(range(turns))
    monkeypatch.setattr(Place, "turned", lambda *given: None if next(calls, None) is None else real(*given))


def test_what_is_known_is_kept_where_the_process_cannot_be_followed(monkeypatch):
    Z = separable(18, 24, 5)
    whole = tacit.sweeping_path(Z, np.ones(18), MU)
    stopping_after(monkeypatch, 3)
    part = tacit.sweeping_path(Z, np.ones(18), MU[::-1])
    known = part.mu >= part.down_to
    np.testing.assert_array_equal(part.converged, known)
    assert known.any() and not known.all()
    np.testing.assert_allclose(part.predictors[known], whole.predictors[::-1][known], rtol=1e-10)
    assert np.isnan(part.predictors[~known]).all() and not part.support[~known].any()
    assert part.events == [event for event in whole.events if event.mu > part.down_to * (1 + 1e-9)]
    assert f"NOT CONVERGED  below μ = {part.down_to:.4g}" in part.summary()
    assert "NOT converged" in repr(part) and "NOT" not in repr(whole) + whole.summary()
    assert part.to_dict()["converged"] == known.tolist()


def test_a_process_that_does_not_start_is_known_nowhere(monkeypatch):
    stopping_after(monkeypatch, 0)
    part = tacit.sweeping_path(TIED, np.ones(7), [1.0, 0.1])
    assert part.down_to == math.inf and not part.converged.any() and np.isnan(part.predictors).all()
    found = tacit.support_stability(TIED, np.ones(7))
    assert not found.converged and found.down_to == math.inf


def test_stability_says_down_to_where_it_is_decided(monkeypatch):
    Z = separable(18, 24, 5)
    whole = tacit.support_stability(Z, np.ones(18))
    assert whole.converged
    stopping_after(monkeypatch, 3)
    part = tacit.support_stability(Z, np.ones(18))
    assert not part.converged and part.down_to > whole.down_to
    assert f"could not be followed below μ = {part.down_to:.4g}" in part.summary()
    assert part.holds_at(2 * part.down_to) == whole.holds_at(2 * part.down_to)
    with pytest.raises(tacit.NotConvergedError, match="not decided"):
        part.holds_at(part.down_to / 2)


def test_the_command_says_from_where_on_nothing_is_known(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Z = separable(18, 24, 5)
    np.savez("data.npz", X=Z, y=np.ones(18))
    stopping_after(monkeypatch, 3)
    main(["path", "data.npz", "--mu", "10:1e-3:12", "--sweeping", "--json", "path.json"])
    said = " ".join(capsys.readouterr().out.split())
    assert "the samples with growing multipliers could not be found" in said


@pytest.mark.every(2)
@pytest.mark.parametrize("unit", [1e-10, 1e10])
def test_the_verdict_on_the_support_is_the_same_in_all_units(unit):
    for Z in (separable(18, 24, 5), TIED, CASES["integers"][0]):
        plain, other = (tacit.support_stability(each, np.ones(len(Z)), depth=3) for each in (Z, unit * Z))
        assert other.down_to == pytest.approx(plain.down_to / unit, rel=1e-9)
        assert [b.sample for b in other.breaches] == [b.sample for b in plain.breaches]
        for ours, theirs in zip(other.breaches, plain.breaches, strict=True):
            assert ours.leaves * unit == pytest.approx(theirs.leaves, rel=1e-8)
            assert ours.returns * unit == pytest.approx(theirs.returns, rel=1e-8)


def test_the_default_of_down_to_follows_the_scale_of_a_model():
    plain = tacit.support_stability(TIED, np.ones(7))
    least = np.linalg.norm(tacit.max_margin(TIED, np.ones(7), "l2").predictor)
    assert plain.down_to == pytest.approx(1e-9 * least)
    model = tacit.Diagonal(scale=1e-3)
    assert tacit.support_stability(TIED, np.ones(7), model=model).down_to == pytest.approx(1e-3 * least)
