"""What figures in the azimuth-pitch plane share: Figures 3b to 3d and 4 of Moroshko et al. 2020."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import xarray as xr

from tacit.papers.moroshko2020.trajectories import Setting, scene

SIZE = (5.8, 3.9)


class Plane:
    """A figure of one setting."""

    setting: ClassVar[Setting]

    def data(
        self, scales: list[float], instants: int, crossings: int, *, seed: int, progress: Callable[..., Any]
    ) -> xr.Dataset:
        """Flows, paths and margins, as directions."""
        return scene(self.setting, scales, instants, crossings, progress)
