"""The points of a study: a grid or a list, with a seed for every point that depends on its content only."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.errors import InputError
from tacit.studies.content import digest, name_of

Values = dict[str, Any]
_MOST = 10_000_000  # points of a study


@dataclass(frozen=True, eq=False)
class Points:
    """The points in order. axes: parameters and their values, for a grid; None for a list."""

    each: list[Values]
    names: tuple[str, ...]
    axes: dict[str, list[Any]] | None

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of values of every parameter of a grid, or the number of points of a list."""
        return (len(self.each),) if self.axes is None else tuple(map(len, self.axes.values()))


def points_of(grid: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> Points:
    """The points of a grid, given by a list of values for every parameter, or of a list of points.

    Raises `InputError` if a value is not a number or text.
    """
    if isinstance(grid, Mapping):
        return _product(grid)
    points = [dict(point) for point in grid]
    if not points or not points[0]:
        raise InputError("grid has no points; give a dict of lists, or a list of dicts")
    names = tuple(points[0])
    for k, point in enumerate(points):
        if set(point) != set(names):
            raise InputError(f"every point must have the parameters {', '.join(names)}; grid[{k}] is {point}")
    each = [
        {name: _plain(point[name], f"grid[{k}][{name!r}]") for name in names}
        for k, point in enumerate(points)
    ]
    return Points(each, names, None)


def _product(grid: Mapping[str, Any]) -> Points:
    axes = {}
    for name, values in grid.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise InputError(f"parameters are named like arguments in Python, got {name!r}")
        if isinstance(values, str) or not hasattr(values, "__iter__"):
            raise InputError(f"grid[{name!r}] must be a list of values, got {values!r}")
        axes[name] = [_plain(value, f"grid[{name!r}][{k}]") for k, value in enumerate(values)]
        if not axes[name]:
            raise InputError(f"grid[{name!r}] is empty")
        if len(set(axes[name])) < len(axes[name]):
            raise InputError(f"grid[{name!r}] has a value twice")
    if not axes:
        raise InputError("grid has no parameters; give a dict of lists, such as {'scale': [0.1, 1.0]}")
    if (count := math.prod(map(len, axes.values()))) > _MOST:
        raise InputError(f"grid has {count:,} points; at most {_MOST:,} are allowed")
    each = [dict(zip(axes, values, strict=True)) for values in itertools.product(*axes.values())]
    return Points(each, tuple(axes), axes)


def _plain(value: Any, where: str) -> Any:
    """A value as a number or text of Python."""
    value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(value, bool | int | float | str) or value != value:
        raise InputError(
            f"{where} must be a number or text, got {value!r:.80}; use a name, which the function looks up"
        )
    return value


def as_seed(seed: Any) -> int:
    """The seed as a whole number; raises `InputError` if it is not a whole number, or negative."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError(f"seed must be a whole number, 0 or more, got {seed!r}")
    return int(seed)


def seed_of(seed: int, point: Values) -> int:
    """The seed of a point, from the seed of the study and the values of the parameters, in any order."""
    return int(digest("seed", seed, sorted(point.items()))[:15], 16)


def key_of(study: str, seed: int, point: Values) -> str:
    """The key of the result of a point: the function and versions (study), the seed, and the values."""
    return digest("point", study, seed, sorted(point.items()))[:32]


def check_arguments(function: Callable[..., Any], names: Sequence[str]) -> bool:
    """Whether the function takes a seed; raises `InputError` if it does not take the parameters."""
    if not callable(function):
        raise InputError(f"function must be callable, got {function!r:.80}")
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # a compiled function, whose arguments are unknown
        return True
    if any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        return True
    takes = {
        name
        for name, each in parameters.items()
        if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
    }
    for name in names:
        if name not in takes:
            listed = ", ".join(sorted(takes)) or "none"
            raise InputError(
                f"{name_of(function)} takes no argument {name!r}, a parameter of grid; it takes {listed}"
            )
    for name, each in parameters.items():
        if each.default is each.empty and name in takes and name not in {*names, "seed"}:
            raise InputError(f"{name_of(function)} needs the argument {name!r}, which grid does not have")
    return "seed" in takes
