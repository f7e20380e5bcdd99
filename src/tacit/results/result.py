"""Base classes of results: a summary, a dictionary, a labelled data set and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, is_dataclass
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tacit.data.display import Displayed
from tacit.data.json_values import MADE_BY
from tacit.data.status import Status
from tacit.errors import InputError
from tacit.results.delegation import delegate

if TYPE_CHECKING:
    import xarray as xr


Labelled = dict[str, tuple[tuple[str, ...], Any]]
PREDICTOR = (("feature",), ("feature", "output"))  # axes of predictors of one output, and of several


class Drawn(Protocol):
    """A picture."""

    def to(self, file: str | Path | None, ax: Any = None) -> Any:
        """Write the picture to a file, draw it into axes, or return it as a Matplotlib figure."""


class Result(Displayed):
    """Base class of results. Subclasses implement `_arrays` and `to_dict`; `show` describes and draws it."""

    def _arrays(self) -> Labelled:
        """Arrays by name, each with the names of its axes."""
        raise TypeError(f"{type(self).__name__} must implement _arrays")

    def _coordinates(self) -> Labelled:
        """Coordinates of the labelled data set, besides the names of features."""
        return {}

    def _attributes(self) -> dict[str, Any]:
        """Values of which numbers and text become attributes of the labelled data set."""
        return self.to_dict()

    def _names(self) -> tuple[str, ...] | None:
        """Names of the features, if the data had names."""
        return getattr(self, "features", None)

    def _values(self, *names: str) -> dict[str, Any]:
        """Attributes as plain numbers, text and lists."""
        return {name: _plain(getattr(self, name)) for name in names}

    def summary(self) -> str:
        """Describe the result in a few lines of text."""
        return str(delegate(self, "summary"))

    def picture(self) -> Drawn:
        """Draw the result.

        Returns
        -------
        Drawn
            The picture that `plot` writes.
        """
        return self._draw()

    def _draw(self, *arguments: Any, **options: Any) -> Drawn:
        """Call the registered function that draws this kind of result."""
        drawn: Drawn = delegate(self, "picture", *arguments, **options)
        return drawn

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON."""
        raise TypeError(f"{type(self).__name__} must implement to_dict")

    def to_xarray(self) -> xr.Dataset:
        """Arrays as a labelled data set that can be written to netCDF; numbers and text are attributes."""
        import xarray as xr

        names, arrays, coordinates = self._names(), self._arrays(), self._coordinates()
        if names is not None and any("feature" in axes for axes, _ in arrays.values()):
            coordinates["feature"] = (("feature",), list(names))
        plain = {key: x for key, x in self._attributes().items() if _is_plain(x) and key not in arrays}
        numbers = {key: int(x) if isinstance(x, bool) else x for key, x in plain.items()}
        return xr.Dataset(arrays, coordinates, {"made_by": MADE_BY} | numbers)

    def plot(self, file: str | Path | None = None, ax: Any = None, **options: Any) -> Any:
        """Draw the result into a file (.png, .pdf or .svg), into given axes, or as a Matplotlib figure.

        Parameters
        ----------
        file : path, optional
            The file to write; its suffix decides the format.
        ax : matplotlib.axes.Axes, or a sequence of them, optional
            Your own axes to draw into: one, or one for each panel of the picture, row by row.
        **options
            Arguments of `picture`.

        Returns
        -------
        Path, matplotlib.figure.Figure or axes
            The path of the file, `ax` if it is given, or a figure, which a notebook displays once.

        Raises
        ------
        InputError
            If the number of axes is not that of the panels, both file and ax are given, or an option is
            unknown.
        """
        known = list(signature(self.picture).parameters)
        if unknown := [name for name in options if name not in known]:
            raise InputError(
                f"{type(self).__name__}.plot does not take {', '.join(unknown)}; it takes "
                f"{', '.join(['file', 'ax', *known])}"
            )
        return self.picture(**options).to(file, ax)


class Summarized(Result):
    """A result whose summary names features."""

    features: tuple[str, ...] | None

    def summary(self, names: Sequence[str] | None = None) -> str:
        """Describe the result in a few lines of text.

        Parameters
        ----------
        names : sequence of str, optional
            Names of the features; x0, x1, … by default.

        Returns
        -------
        str
            The text that the command line prints.
        """
        return str(delegate(self, "summary", names or self.features))


class Pictured(Result):
    """A result whose picture names features."""

    features: tuple[str, ...] | None
    X: Any

    def _labels(self, names: Sequence[str] | None) -> list[str]:
        """Names of the features: those given, those of the data, or x0, x1, …"""
        return numbered(names or self.features, self.X.shape[1])

    def picture(self, names: Sequence[str] | None = None) -> Drawn:
        """Draw the result.

        Parameters
        ----------
        names : sequence of str, optional
            Names of the features; x0, x1, … by default.

        Returns
        -------
        Drawn
            The picture that `plot` writes.
        """
        return self._draw(self._labels(names))


def numbered(names: Sequence[str] | None, features: int) -> list[str]:
    """Names of features: those given, or x0, x1, …"""
    return [f"x{i}" for i in range(features)] if names is None else list(names)


def axes_of(predictor: np.ndarray) -> tuple[str, ...]:
    """Names of the axes of a predictor."""
    return PREDICTOR[predictor.ndim - 1]


def supports(support: Any) -> list[list[int]]:
    """Indices of the samples in the support, one list for each row of a boolean array."""
    return [np.flatnonzero(row).tolist() for row in support]


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | bool | int | float) and value == value  # no NaN


def _plain(value: Any) -> Any:
    """A value as text, number, list or dictionary."""
    if isinstance(value, Status):
        return value.value
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return value.tolist() if hasattr(value, "tolist") else value
