"""The outcomes of a study as a labelled data set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.data.json_values import MADE_BY
from tacit.studies.outcomes import ERRORS, Outcome
from tacit.studies.points import Points

if TYPE_CHECKING:
    import xarray as xr

POINT = "point"  # the dimension of a study over a list of points


def dataset_of(points: Points, outcomes: Sequence[Outcome], attributes: dict[str, Any]) -> xr.Dataset:
    """The values at all points; missing where there was an error, which is in the variable `errors`.

    Arrays have dimensions "name_0", "name_1", …; where their shapes differ, missing entries fill them up.
    """
    import xarray as xr

    errors = _agreeing(outcomes)
    dims = (POINT,) if points.axes is None else points.names
    coordinates: dict[str, Any] = {name: [each[name] for each in points.each] for name in points.names}
    if points.axes is None:
        coordinates = {name: (POINT, np.array(values)) for name, values in coordinates.items()}
    else:
        coordinates = {name: np.array(values) for name, values in points.axes.items()}
    variables: dict[str, Any] = {}
    good = [outcome.values for outcome, error in zip(outcomes, errors, strict=True) if not error]
    for name in good[0] if good else ():
        column = _column(
            [None if error else outcome.values[name] for outcome, error in zip(outcomes, errors, strict=True)]
        )
        own = tuple(f"{name}_{k}" for k in range(column.ndim - 1))
        variables[name] = ((*dims, *own), column.reshape(*points.shape, *column.shape[1:]))
    variables[ERRORS] = (dims, np.array(errors, dtype=str).reshape(points.shape))
    return xr.Dataset(variables, coordinates, {"made_by": MADE_BY, **attributes})


def _agreeing(outcomes: Sequence[Outcome]) -> list[str]:
    """The errors; points whose variables differ from those of the first success also have one."""
    expected = next((_form(outcome) for outcome in outcomes if not outcome.error), None)
    errors = []
    for outcome in outcomes:
        error = outcome.error
        if not error and _form(outcome) != expected:
            error = f"InputError: returned {_form(outcome)}, but other points returned {expected}"
        errors.append(error)
    return errors


def _form(outcome: Outcome) -> dict[str, str]:
    """The variables with their numbers of dimensions."""
    return {
        name: "text" if value.dtype.kind == "U" else f"{value.ndim}-d" if value.ndim else "number"
        for name, value in sorted(outcome.values.items())
    }


def _column(values: Sequence[np.ndarray | None]) -> np.ndarray:
    """The values of a variable in one array, in which NaN or an empty text is missing."""
    given = [value for value in values if value is not None]
    kind = np.result_type(*{value.dtype for value in given})
    shape = tuple(np.max([value.shape for value in given], axis=0).tolist())
    complete = len(given) == len(values) and all(value.shape == shape for value in given)
    if kind.kind == "U":
        missing: Any = ""
    else:
        missing = np.nan
        kind = kind if complete or kind.kind == "f" else np.dtype(np.float64)
    column = np.full((len(values), *shape), missing if not complete else 0, dtype=kind)
    for place, value in enumerate(values):
        if value is not None:
            corner: Any = (place, *map(slice, value.shape))
            column[corner] = value
    return column
