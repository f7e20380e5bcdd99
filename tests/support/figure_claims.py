"""Data and claims of a figure without the picture, which takes longer to draw."""

from types import SimpleNamespace

import numpy as np


def judged(entry, seed=0, sizes=None):
    """Data and claims at some sizes, or those of the quick preset."""
    shown = entry.make()
    data = shown.data(**(sizes or entry.presets["quick"]), seed=seed, progress=lambda items, _: items)
    with np.errstate(divide="ignore", invalid="ignore"):
        return SimpleNamespace(data=data, claims=tuple(shown.claims(data)))


def failing(result):
    """The claims that do not hold."""
    return [claim.text for claim in result.claims if not claim.holds]
