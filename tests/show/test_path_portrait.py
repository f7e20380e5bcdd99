"""The picture of a path: its bars end where the support changes, and omitted samples are counted."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

import tacit
from tacit.results.paths import Kink
from tacit.show import figures
from tacit.show.paths import path_picture, support_spans

pytestmark = pytest.mark.any_cpu

KINK = np.array([[1.18, 1.37, -0.27], [0.83, 0.76, 0.70], [1.06, -0.49, 1.39]])
"""Sample 0 leaves the path at μ = 0.0404, the flow at 0.189; sample 2 the flow at 0.00193."""
ALL = np.ones(3)
MU = np.array([1e-4, 3.0, 0.1, 10.0])  # not sorted, and far apart


@pytest.fixture
def drawn(monkeypatch, tmp_path):
    """Draw and return the axes."""

    def draw(*args, **options):
        kept = []

        def keep(draw, path, by, *, figsize, **layout):
            kept.append(Figure().subplots(**layout))
            draw(kept[0])
            return path

        monkeypatch.setattr(figures, "save_figure", keep)
        path_picture(*args, **options).to(tmp_path / "path.png")
        return kept[0]

    return draw


def bars(axis, width):
    """(height, from, to) of the lines of this width."""
    lines = [line for line in axis.lines if line.get_linewidth() == width and len(line.get_xdata())]
    return sorted((round(line.get_ydata()[0]), *line.get_xdata()) for line in lines)


def test_bars_end_exactly_where_samples_leave(drawn):
    """Far from the points of the path."""
    found, sweeping = tacit.margin_path(KINK, ALL, MU), tacit.sweeping_path(KINK, ALL, MU)
    _, axis = drawn(found, names=["a", "b", "c"], sweeping=sweeping)
    (kink,) = found.kinks
    first, second = sweeping.events
    assert bars(axis, 3) == [(0, 10.0, kink.mu), (1, 10.0, 1e-4), (2, 10.0, 1e-4)]
    assert bars(axis, 1.5) == [(0, 10.0, first.mu), (1, 10.0, 1e-4), (2, 10.0, second.mu)]
    assert [kink.mu, first.mu, second.mu] == pytest.approx([0.040366, 0.189146, 0.00192811], rel=1e-5)


@pytest.mark.every(6)
@pytest.mark.parametrize("verb", [tacit.margin_path, tacit.sweeping_path])
@pytest.mark.parametrize("seed", range(4))
def test_bars_are_where_the_support_is(verb, seed):
    """At values of μ that were not used for the bars."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((8, 12)) + 0.5
    y = np.sign(X @ rng.standard_normal(12))
    spans = support_spans(verb(X, y, np.geomspace(10, 1e-5, 25)))
    between = verb(X, y, np.geomspace(9, 1.1e-5, 73))
    for n, each in enumerate(spans):
        inside = np.array([any(low <= mu <= high for high, low in each) for mu in between.mu])
        np.testing.assert_array_equal(inside, between.support[:, n])
    assert sum(map(len, spans)) > 3


def test_a_change_that_is_not_located_is_put_at_the_next_point():
    """A change that contradicts the next point is ignored."""
    found = tacit.sweeping_path(KINK, ALL, MU)
    assert support_spans(replace(found, events=[]))[0] == [(10.0, 0.1)]
    touches = replace(found, events=[Kink(0.5, 1, False), *found.events])
    assert support_spans(touches)[1] == [(10.0, 1e-4)]


def test_a_sample_can_come_and_go_between_two_points():
    found = tacit.sweeping_path(KINK, ALL, [10.0, 0.1])
    out = replace(found, support=np.zeros_like(found.support), events=[])
    assert support_spans(out) == [[], [], []]
    assert support_spans(replace(out, events=[Kink(2.0, 1, True), Kink(1.0, 1, False)]))[1] == [(2.0, 1.0)]


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (None, r"scale of the predictor / accuracy $\tilde\gamma$"),
        (tacit.Diagonal(3, 0.1), r"\alpha^D / \tilde\gamma"),
        (tacit.UntiedDiagonal(0.1, 0.9), r"\sqrt{k} / (4\tilde\gamma)"),
    ],
)
def test_the_axis_says_what_mu_is(drawn, model, words):
    clock = None if model is None else model.path_clock
    for axis in drawn(tacit.margin_path(KINK, ALL, MU), names=["a", "b", "c"], clock=clock):
        assert words in axis.get_xlabel()


def test_untied_flows_are_on_the_path_at_that_mu():
    """√k/(4γ̃), where √k/4 = α(1+s²)/(1−s²): within log λ/λ of the path."""
    scale, shape, mu = 1e6, 0.5, np.array([1.0, 0.3])
    size = scale * (1 + shape**2) / (1 - shape**2)
    flow = tacit.flow(tacit.UntiedDiagonal(scale, shape), KINK[1:], ALL[1:], loss="exp", at=size / mu)
    path = tacit.margin_path(KINK[1:], ALL[1:], mu).predictors
    assert np.abs(flow.predictor / (size / mu)[:, None] - path).max() < 3e-5


def test_what_is_not_shown_is_counted(drawn):
    """Seven copies of a sample twice as far from the boundary never become support vectors."""
    X = np.vstack([KINK, np.repeat(2 * KINK[:1], 7, axis=0)])
    _, axis = drawn(tacit.margin_path(X, np.ones(10), MU), names=["a", "b", "c"])
    assert axis.get_title(loc="left") == (
        "support vectors, 1 change\n7 of 10 samples are never in the support"
    )
    assert [label.get_text() for label in axis.get_yticklabels()] == ["0", "1", "2"]
    assert "numbered from 0" in axis.get_ylabel()
    wide = np.eye(70) + 0.01
    _, axis = drawn(tacit.margin_path(wide, np.ones(70), [1.0, 0.1]), names=[str(i) for i in range(70)])
    assert axis.get_title(loc="left") == "support vectors, no changes\nthe first 60 of 70"
    assert len(axis.get_yticks()) == 30


@pytest.mark.pictures
def test_a_single_mu_is_a_picture_too(tmp_path):
    found, sweeping = (verb(KINK, ALL, 0.1) for verb in (tacit.margin_path, tacit.sweeping_path))
    drawn = found.plot(tmp_path / "one.png", names=["a", "b", "c"], sweeping=sweeping)
    assert drawn.read_bytes().startswith(b"\x89PNG")
