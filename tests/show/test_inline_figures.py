"""Figures are displayed once in a notebook, are small, and are drawn into given axes."""

import base64
import io
import pickle
import subprocess
import sys
from types import ModuleType, SimpleNamespace

import matplotlib as mpl
import matplotlib.image
import numpy as np
import pytest
from matplotlib.figure import Figure
from test_pickling import RESULTS, made

import tacit
from tacit.show.inline_figure import InlineFigure

pytestmark = pytest.mark.any_cpu

RNG = np.random.default_rng(4)
X = RNG.standard_normal((5, 8))
Y = X[:, :2] @ [1.0, -0.5]
LIMIT = tacit.limit(tacit.Diagonal(scale=0.1), X, Y)
MARGIN = tacit.max_margin(X, np.sign(Y), "l2")
SLOW = ("derivation", "derived model", "derived potential", "probe", "probe sweep", "monitor", "risk")


class Shell:
    """A notebook: what it displays, and the functions that it calls after each cell."""

    def __init__(self):
        self.shown, self.callbacks, self.kernel, self.execution_count = [], [], None, 1
        self.events = SimpleNamespace(
            register=lambda event, call: self.callbacks.append((event, call)),
            unregister=lambda event, call: self.callbacks.remove((event, call)),
        )
        self.display_pub = SimpleNamespace(publish=self.shown.append)

    def run(self, cell):
        """Run a cell, display its value as IPython does, and return what is displayed."""
        self.shown.clear()
        self.execution_count += 1
        value = cell()
        if hasattr(value, "_ipython_display_"):
            value._ipython_display_()
        for event, call in list(self.callbacks):
            assert event == "post_execute"
            call()
        assert not self.callbacks
        return [each["text/plain"] for each in self.shown]


@pytest.fixture
def shell(monkeypatch):
    found = Shell()
    ipython = ModuleType("IPython")
    ipython.get_ipython, ipython.version_info = (lambda: found), (9, 0)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    return found


def test_a_figure_is_displayed_once_wherever_it_is_made(shell):
    assert len(shell.run(lambda: MARGIN.plot())) == 1  # the last value of a cell
    assert (
        shell.run(lambda: [MARGIN.plot() for _ in range(3)] and None) == [repr(MARGIN.plot())] * 3
    )  # a loop
    shell.run(lambda: None)
    kept = []
    assert len(shell.run(lambda: kept.append(MARGIN.plot()))) == 1  # assigned to a name
    assert shell.run(lambda: None) == []  # and not again
    assert len(shell.run(lambda: kept[0])) == 1  # unless asked for

    def displayed():
        figure = MARGIN.plot()
        figure._ipython_display_()
        MARGIN.plot()

    assert len(shell.run(displayed)) == 2
    assert base64.b64decode(shell.shown[0]["image/png"]).startswith(b"\x89PNG")


def test_nothing_is_displayed_for_a_file_or_your_own_axes(shell, tmp_path):
    axes = Figure().subplots(1, 2)
    assert shell.run(lambda: LIMIT.plot(tmp_path / "a.png") and None) == []
    assert shell.run(lambda: LIMIT.plot(ax=axes) is None or None) == []


def test_in_a_terminal_a_figure_is_a_value(shell):
    del shell.kernel
    with pytest.raises(NotImplementedError):  # IPython takes this to mean: print the representation
        LIMIT.plot()._ipython_display_()
    assert not shell.callbacks


@pytest.mark.pictures
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.thorough] * (name not in ("limit", "flow of classes")))
        for name in RESULTS
        if name not in ("verdicts",)
    ],
)
def test_pictures_in_notebooks_are_small(name):
    if not hasattr(made(name), "plot"):
        return
    picture = made(name).plot()._repr_png_()
    assert len(picture) <= 80_000
    assert matplotlib.image.imread(io.BytesIO(picture)).shape[1] >= 400


def test_a_picture_that_is_too_large_has_fewer_pixels():
    figure = InlineFigure(figsize=(5, 5))
    figure.subplots().imshow(RNG.random((500, 500)), aspect="auto", interpolation="nearest")
    full = len(figure._png(110))
    assert len(figure._repr_png_()) < 80_000 < full


@pytest.mark.pictures
def test_colours_are_ours_whenever_the_figure_is_drawn():
    """Matplotlib looks up C0 when a figure is drawn, which a notebook does after `plot` has returned."""
    found = {}
    for place, cycle in enumerate((["red"], ["lime"])):
        figure = made("explanation").plot()
        with mpl.rc_context({"axes.prop_cycle": mpl.cycler(color=cycle)}):
            found[place] = figure._repr_png_()
    assert found[0] == found[1]
    pixels = matplotlib.image.imread(io.BytesIO(found[0]))[..., :3]
    assert not (np.abs(pixels - [1, 0, 0]).max(axis=-1) < 0.05).any()


def test_a_figure_can_be_pickled():
    again = pickle.loads(pickle.dumps(LIMIT.plot()))
    assert isinstance(again, InlineFigure) and again._repr_png_().startswith(b"\x89PNG")


def panels(result):
    picture = result.picture()
    return picture.layout.get("nrows", 1), picture.layout.get("ncols", 1)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.thorough] * (name in SLOW)) for name in RESULTS],
)
def test_every_picture_can_be_drawn_into_your_own_axes(name):
    result = made(name)
    if not hasattr(result, "plot") or isinstance(result, tacit.Verdicts):
        return
    rows, columns = panels(result)
    figure = Figure()
    axes = figure.subplots(rows, columns)
    assert result.plot(ax=axes) is axes
    own = result.plot()
    for ours, theirs in zip(np.ravel(axes), own.axes, strict=False):
        assert ours.get_xlabel() == theirs.get_xlabel() and len(ours.lines) == len(theirs.lines)
        assert len(ours.collections) == len(theirs.collections) and ours.has_data() == theirs.has_data()
    assert len(figure.axes) == len(own.axes)
    assert result.plot(ax=list(np.ravel(axes))) is not None


def test_an_audit_of_an_initialization_is_drawn_without_warnings(recwarn):
    """All coefficients are 0, which a logarithmic axis cannot show."""
    tacit.audit(tuple(tacit.Diagonal(scale=0.1).start(8).values()), X).plot()._repr_png_()
    assert not recwarn.list


def test_verdicts_are_drawn_into_one_axes():
    axes = Figure().subplots()
    assert made("verdicts").plot(ax=axes) is axes and axes.has_data()


def test_a_title_of_a_larger_figure_stays():
    figure = Figure()
    figure.suptitle("mine")
    figure.subplots(1, 3)
    MARGIN.plot(ax=figure.axes[:2])
    assert figure.get_suptitle() == "mine" and not figure.axes[2].has_data()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ax": Figure().subplots()}, r"a sequence of 2 axes .*plt.subplots\(1, 2\).*; got 1 axes"),
        ({"ax": Figure().subplots(2, 2)}, "got 4 axes"),
        ({"ax": [None, 1]}, "an object of type NoneType"),
        ({"ax": "left"}, "an object of type str"),
        ({"ax": Figure().subplots(1, 2), "file": "a.png"}, "file or ax, not both"),
        ({"axes": 1}, "Margin.plot does not take axes; it takes file, ax, names"),
    ],
)
def test_errors_name_what_is_wrong(options, words):
    with pytest.raises(tacit.InputError, match=words):
        MARGIN.plot(**options)


_ALONE = """
import matplotlib, sys, tacit
before = matplotlib.rcParams.copy()  # reading from a copy does not choose a backend
figure = tacit.max_margin([[2, 1], [-1, -2]], [1, -1], "l1").plot()
assert len(figure._repr_png_()) > 1000
assert matplotlib.rcParams.copy() == before
assert "matplotlib.pyplot" not in sys.modules and "IPython" not in sys.modules
"""


def test_pyplot_backend_and_settings_are_left_alone():
    done = subprocess.run([sys.executable, "-W", "error", "-c", _ALONE], capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
