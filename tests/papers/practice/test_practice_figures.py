"""The claims of long figures on training in practice hold on less data, too.

`make test-all` makes these figures at their own sizes, which takes seconds for each.
"""

import pytest
from figure_claims import failing, judged
from matplotlib.figure import Figure

from tacit.papers import figures

pytestmark = pytest.mark.any_cpu

SMALL = {  # sizes and seed
    "adam": ({"samples": 3, "features": 6, "steps": 8000, "scales": 7}, 0),
    "edge": ({"samples": 3, "features": 6, "draws": 2, "edges": [0.2, 0.8, 1.4]}, 0),
    "grokking": (
        {
            "samples": 15,
            "features": 30,
            "scale": 1.0,
            "decays": [0.03, 0.003],
            "until": 4.0,
            "level": 0.1,
            "tests": 400,
            "times": 20,
            "step": 0.02,
        },
        0,
    ),
    "momentum": ({"samples": 2, "features": 8, "edges": [0.16, 0.32]}, 1),
    "step-size": ({"samples": 2, "features": 8, "edges": [0.08, 0.16, 0.32]}, 0),
}


@pytest.mark.parametrize("name", SMALL)
def test_claims_hold_on_less_data_and_the_figure_is_drawn(name):
    (entry,) = figures(f"practice/{name}")
    sizes, seed = SMALL[name]
    assert sizes.keys() == entry.presets["quick"].keys()
    result = judged(entry, seed, sizes)
    assert result.claims and failing(result) == []
    layout = {key: value for key, value in entry.layout.items() if key != "figsize"}
    axes = Figure().subplots(**layout)
    entry.make().draw(result.data, axes)
    assert all(each.has_data() for each in axes.flat) if layout else axes.has_data()
