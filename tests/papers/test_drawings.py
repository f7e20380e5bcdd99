"""Readable pictures: one colour for each scale, labels with contrast, marks that do not hide others.

Drawn from artificial data, whose curves and marks overlap as they may in a figure.
"""

import numpy as np
import pytest
import xarray as xr
from matplotlib import colormaps
from matplotlib.colors import to_hex, to_rgba
from matplotlib.figure import Figure

from tacit.papers import figures
from tacit.papers.azulay2021 import figure_neuron_limits as neuron_limits
from tacit.papers.azulay2021 import figure_warp as warp

PLANES, NORMS = ("3a", "3b", "3c", "3d", "4a", "4b"), ("7", "8a", "8b", "8c")
MARKED = {"3b": 5, "3c": 5, "3d": 4, "4a": 3, "4b": 3}  # values of μ


def drawn(key, data):
    (entry,) = figures(key)
    figure = Figure(figsize=entry.layout.get("figsize"))
    axes = figure.subplots(**{name: value for name, value in entry.layout.items() if name != "figsize"})
    entry.make().draw(data, axes)
    return np.ravel(axes)


def sphere(scales, depth):
    """The data of the planes, with identical curves."""
    turn = np.linspace(0.1, 0.6, 12)
    curve = np.stack([np.cos(turn), np.sin(turn), 0.2 * turn], axis=-1)
    one, marked = curve[5], curve[:5]
    return xr.Dataset(
        {
            "flow": (("scale", "instant", "feature"), np.tile(curve, (len(scales), 1, 1))),
            "path": (("mu", "feature"), curve),
            "sweeping": (("mu", "feature"), curve),
            "crossing": (("cross", "marked_mu", "feature"), np.tile(marked, (2, 1, 1))),
            "marked": (("marked_mu", "feature"), marked),
            "marked_sweeping": (("marked_mu", "feature"), marked),
            "l1_face": (("vertex", "feature"), curve[[-1]]),
            "rich": (("local", "feature"), curve[[-1, -2]]),
            "visible": (("boundary", "feature"), curve),
            "plane": (("axis", "side"), np.array([[0.1, 0.6], [0.0, 0.2]])),
            **dict.fromkeys(("start", "l2", "l1"), ("feature", one)),
            "kink_mu": ("kink", [0.1]),
            "event_mu": ("event", [0.2]),
            "event_enters": ("event", [0]),
        },
        coords={"scale": scales, "marked_mu": [0.5, 0.1, 0.03, 0.01, 0.001]},
        attrs={"depth": depth},
    )


def norms(scales):
    curve = np.array([np.linspace(1, 0, 12), np.linspace(0.01, 0.3, 12)])
    return xr.Dataset(
        {
            "flow": (("norm", "scale", "instant"), np.tile(curve[:, None], (1, len(scales), 1))),
            "path": (("norm", "mu"), curve),
            "minima": (("norm", "minimum"), np.array([[0.0, 3, 5], [0.3, 2, 4]])),
            "to_l1": ("minimum", [0.0, 1.0, 2.0]),
            "at": (("draw", "outer"), [[0, 0]]),
            "edge": ("point", [0.0, 0.3]),
            **{name: ("norm", curve[:, k]) for name, k in (("start", 0), ("l2", 1), ("l1", -1))},
        },
        coords={"norm": ["l2/3", "l2"], "scale": scales, "point": ["least", "most"]},
    )


def scales_of(axes):
    """Legend label → the line of that scale."""
    handles, labels = axes.get_legend_handles_labels()
    return {label: line for line, label in zip(handles, labels, strict=True) if label.startswith(r"$\alpha=")}


def moroshko(name, scales):
    data = norms(scales) if name in NORMS else sphere(scales, 3 if name in ("4a", "4b") else 2)
    data = data.isel(marked_mu=slice(MARKED[name])) if name in MARKED else data
    return drawn(f"moroshko2020/fig{name}", data)[0]


def test_a_scale_has_one_colour_in_all_figures_of_the_paper():
    colours = {}
    for k, name in enumerate(PLANES + NORMS):
        chosen = [0.001, 0.01, 0.3, 1.0, 100.0, 1e4]
        del chosen[k % 5]  # other neighbours, other rank
        for label, line in scales_of(moroshko(name, chosen)).items():
            colours.setdefault(label, set()).add(to_hex(line.get_color()))
    assert len(colours) == 6 and all(len(found) == 1 for found in colours.values())
    assert len(set.union(*colours.values())) == 6


@pytest.mark.parametrize("name", ["3b", "3c", "3d"])
def test_a_scale_under_a_larger_one_that_goes_the_same_way_is_seen_beside_it(name):
    lines = scales_of(moroshko(name, [0.001, 1.0, 100.0, 1e4]))
    below, above = lines[r"$\alpha=$$100$"], lines[r"$\alpha=$$10^{4}$"]
    assert below.get_zorder() < above.get_zorder() and below.get_linewidth() > 2 * above.get_linewidth()


def luminance(colour):
    """The relative luminance of a colour in sRGB (WCAG 2)."""
    rgb = np.asarray(colour)[..., :3]
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def least_contrast(text, grounds):
    """(L₁ + 0.05)/(L₂ + 0.05) of a text and any background that it may have; WCAG 2 requires 4.5."""
    box = text.get_bbox_patch()
    if box is not None:
        cover = to_rgba(box.get_facecolor())
        grounds = cover[3] * np.array(cover[:3]) + (1 - cover[3]) * grounds[:, :3]
    light = np.sort(
        [np.broadcast_to(luminance(to_rgba(text.get_color())), len(grounds)), luminance(grounds)], 0
    )
    return ((light[1] + 0.05) / (light[0] + 0.05)).min()


def test_labels_of_level_sets_can_be_read_on_every_colour_of_the_map():
    scale, gap = np.logspace(-3, 1, 9), np.logspace(0, -4, 7)
    level = np.tile(np.linspace(0, 1, 9), (7, 1))
    error = xr.Dataset({"error": (("shape", "scale"), level)}, coords={"shape": 1 - gap, "scale": scale})
    share = xr.Dataset(
        {
            "share": (("accuracy", "gap", "scale"), np.tile(level, (3, 1, 1))),
            "root": (("gap", "scale"), 1 + level),
            "path": ("mu", np.linspace(0, 1, 5)),
        },
        coords={"accuracy": [1.0, 1e2, 1e4], "gap": gap, "scale": scale, "mu": np.logspace(-6, 3, 5)},
    )
    grounds = {"azulay2021/fig7.1": (error, "viridis"), "azulay2021/regime-map": (share, "cividis")}
    for key, (data, colours) in grounds.items():
        texts = [text for axes in drawn(key, data)[:3] for text in axes.texts]
        assert len(texts) > 5
        assert min(least_contrast(text, colormaps[colours](np.linspace(0, 1, 50))) for text in texts) > 4.5


def hidden(axes):
    """Pairs of names: a mark, and one of about its size, or a larger filled one, that covers it."""
    axes.get_xlim(), axes.get_ylim()  # axis limits are computed on access
    lines = [
        line for line in axes.lines if line.get_marker() not in ("", "None", None) and line.get_xdata().size
    ]
    lines.sort(key=lambda line: line.get_zorder())
    seen = [(axes.transData.transform(line.get_xydata()) * 72 / axes.figure.dpi, line) for line in lines]
    found = []
    for k, (places, line) in enumerate(seen):
        for others, above in seen[k + 1 :]:
            near = np.linalg.norm(places[:, None] - others, axis=2).min() < line.get_markersize() / 2
            larger = above.get_markersize() / line.get_markersize()
            around = above.get_markerfacecolor() == "none" and larger > 1.3
            if near and larger > 0.75 and not around:
                found.append((line.get_label(), above.get_label()))
    return found


def test_neurons_with_the_same_difference_are_seen_side_by_side():
    scales, shapes, slopes = np.meshgrid([0.01, 10.0], [-0.3, 0.9], [1.0, 0.1])
    columns = {"scale": scales, "shape": shapes, "slope": slopes, "difference": np.full(8, 2e-10)}
    axes = Figure(figsize=(3.8, 2.8)).subplots()
    neuron_limits._draw_differences(
        xr.Dataset({name: ("run", np.ravel(column)) for name, column in columns.items()}), axes
    )
    assert hidden(axes) == []


def test_networks_with_the_same_difference_are_seen_side_by_side():
    data = xr.Dataset(
        {
            "raw": (("scale", "width"), np.full((2, 3), 3e-10)),
            "flow": (("scale", "width"), np.full((2, 3), 3e-10)),
            "distance": (("scale", "width"), np.repeat([[0.1], [1.0]], 3, axis=1)),
            "theory": ("fine", [0.1, 1.0]),
            "tipped": ("tip", [1e-4, 1e-2]),
        },
        coords={"scale": [0.01, 1.0], "width": [1, 3, 30], "fine": [0.01, 1.0], "tip": [0.1, 1.0]},
    )
    assert [hidden(axes) for axes in drawn("azulay2021/proposition1", data)] == [[], [], []]


def test_two_clocks_that_show_the_same_instants_are_both_seen():
    curve = np.stack([np.linspace(0, 1, 30), np.linspace(0, 1, 30) ** 2], axis=1)
    same = {"predictor": "instant", "warped": "instant", "by_time": "mark", "by_tau": "tick"}
    axes = Figure(figsize=(2.8, 2.8)).subplots()
    data = xr.Dataset(
        {
            name: ((along, "feature"), curve[1::7] if along != "instant" else curve)
            for name, along in same.items()
        }
    )
    warp._draw_curve(data, axes)
    assert hidden(axes) == []
    lines = [line.get_xydata() for line in axes.lines if len(line.get_xdata()) == 2]
    tips = np.array([line[1] for line in lines]).reshape(2, -1, 2)  # for each clock, at the same times
    assert len(lines) == 10 and (np.linalg.norm(tips[0] - tips[1], axis=1) > 0.1).all()


def test_descent_that_ends_where_the_flow_does_is_seen():
    widths = [300, 600, 1300, 2800]
    values = 10 / np.sqrt(widths)
    names = ("distance", "initial", "final")
    flows = {name: (("width", "run"), np.tile(values[:, None], 3)) for name in names}
    steps = {f"descent_{name}": (("width", "descent"), values[:, None]) for name in names}
    wide = {f"wide_{name}": ("width", values) for name in names[1:]}
    axes = drawn("min2021/fig4", xr.Dataset({**flows, **steps, **wide}, coords={"width": widths}))
    pairs = [pair for each in axes for pair in hidden(each)]
    assert not [pair for pair in pairs if any("first run" in name for name in pair)]
