"""Advice on the columns of a table that was read, in lines that name the option to use."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from tacit.data.printable import short_name, some

if TYPE_CHECKING:
    from tacit.data.arrays import Float
    from tacit.data.tables import Table

_SHOWN = 6  # names in a line
# Features are in mixed units if their spreads differ by more than the first factor, and those of neighbouring
# columns typically by more than the second: spectra reach 2000 and 1.1, clinical measurements 300 and 5.
_MIXED, _NEIGHBOURS = 30.0, 2.0


def advice_on(table: Table, standardized: bool, labels: bool = False) -> list[str]:
    """Lines about constant columns, names of samples among the features, mixed units, and a single class."""
    import numpy as np

    from tacit.data.tables import counts_rows

    advice = []
    if labels and np.ptp(table.y) == 0:
        advice.append(
            f"all samples have the label {table.y[0]:g}; the result is about half-spaces through 0 "
            "that contain all samples"
        )
    spreads = table.X.max(axis=0) / 2 - table.X.min(axis=0) / 2  # the whole range could overflow
    constant = np.flatnonzero(spreads == 0)
    if len(table.X) > 1 and len(constant):
        what = "a feature is constant" if len(constant) == 1 else f"{len(constant)} features are constant"
        advice.append(f"{what}; leave out with {_dropped(table, constant.tolist())}")
    if suspects := np.flatnonzero(counts_rows(table.X)).tolist():
        advice.append(
            f"{_named(table, suspects)} counts the samples, like a row index; if it is one, leave it out "
            f"with {_dropped(table, suspects, '--index' if len(suspects) == 1 else '--drop')}"
        )
    if not standardized and (ratio := _mixed_units(spreads[spreads > 0])):
        advice.append(
            f"the spreads of the features differ by a factor of {ratio:.3g}, and those with a large spread "
            "are penalized less; if they are in different units, use --standardize"
        )
    return advice


def _mixed_units(spreads: Float) -> float:
    """The ratio of the largest to the smallest spread if the features seem to be in mixed units; else 0."""
    import numpy as np

    if len(spreads) < 2:
        return 0.0
    logs = np.log(spreads)  # ratios may overflow
    if np.median(np.abs(np.diff(logs))) <= np.log(_NEIGHBOURS) or np.ptp(logs) <= np.log(_MIXED):
        return 0.0
    return float(np.exp(min(np.ptp(logs), 700.0)))


def _named(table: Table, places: list[int]) -> str:
    names = some([repr(short_name(table.features[i], 40)) for i in places], _SHOWN)
    return f"column {names}" if len(places) == 1 else f"each of the columns {names}"


def _dropped(table: Table, places: list[int], option: str = "--drop") -> str:
    """The option that leaves out these columns."""
    names = [shlex.quote(short_name(table.features[i], 40)) for i in places[:_SHOWN]]
    return f"{option} {' '.join(names)}{' …' if len(places) > _SHOWN else ''}"
