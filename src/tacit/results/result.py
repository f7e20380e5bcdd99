"""What every result has in common: a data set of its arrays, and a picture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tacit.data.json_values import MADE_BY

if TYPE_CHECKING:
    import xarray as xr


Labelled = dict[str, tuple[tuple[str, ...], Any]]
PREDICTOR = (("feature",), ("feature", "output"))  # axes of predictors of one output, and of several


class Drawn(Protocol):
    """A picture."""

    def to(self, file: str | Path | None) -> Any:
        """Write it into a file, or return it as a figure of Matplotlib."""


class Result:
    """A result that holds arrays; each kind says what they are, and how it is drawn (`picture`)."""

    picture: Callable[..., Drawn]

    def _arrays(self) -> Labelled:
        """Its arrays, with the names of their axes."""
        raise TypeError(f"{type(self).__name__} must implement _arrays")

    def _names(self) -> tuple[str, ...] | None:
        """The names of the features, where the data had some."""
        return getattr(self, "features", None)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, ready for JSON."""
        raise TypeError(f"{type(self).__name__} must implement to_dict")

    def to_xarray(self) -> xr.Dataset:
        """A labelled data set, which netCDF keeps as it is; plain numbers and words are attributes."""
        import xarray as xr

        names, arrays = self._names(), self._arrays()
        plain = {
            key: value for key, value in self.to_dict().items() if _is_plain(value) and key not in arrays
        }
        known = any("feature" in axes for axes, _ in arrays.values())
        coordinates = {"feature": list(names)} if names is not None and known else {}
        attributes = {"made_by": MADE_BY} | {
            k: int(v) if isinstance(v, bool) else v for k, v in plain.items()
        }
        return xr.Dataset(arrays, coordinates, attributes)

    def plot(self, file: str | Path | None = None, **options: Any) -> Any:
        """Draw it: into a file (.png, .pdf or .svg), whose path is returned, or as a figure of Matplotlib.

        Parameters
        ----------
        file : path, optional
            Where to write it; its ending says how.
        **options
            As `picture` takes them, where the result has one.

        Returns
        -------
        Path or matplotlib.figure.Figure
            The file, or the figure where none was named.
        """
        return self.picture(**options).to(file)


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | bool | int | float) and value == value  # no NaN


def numbered(names: Any, features: int) -> list[str]:
    """Names of features: those given, or x0, x1, …"""
    return [f"x{i}" for i in range(features)] if names is None else list(names)


def axes_of(predictor: np.ndarray) -> tuple[str, ...]:
    """The axes of a predictor."""
    return PREDICTOR[predictor.ndim - 1]
