"""Where cross-validation looks: depths, scales from the kernel end down, and stops along each flow."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit.data.arrays import Float, as_floats
from tacit.errors import InputError
from tacit.estimators.start import Start
from tacit.estimators.training import Training

STOPS = 25
_FIRST, _LAST = 0.9, 1e-5  # shares of the loss
MODERATE = 0.01  # share of the loss at which the kernel end of stopped flows is looked for
_KERNEL = 4.0  # times the largest coefficient: there sinh z = z to 0.3%
_RICH = {2: 1e-6}  # how far down predictor scales go, relative to the kernel end
_DEEP = 1e-4


@dataclass(frozen=True, eq=False)
class Grid:
    """All points of the search: for every depth its scales, from large to small; stops for all of them.

    stops: shares of the loss, decreasing; None, for the end of the flow, comes last. losses: of which all of
    this is tried, where there is a choice.
    """

    depths: tuple[float, ...]
    scales: tuple[Float, ...]
    stops: tuple[float | None, ...]
    losses: tuple[str, ...] = ()

    def flows(self) -> Iterator[tuple[float, float]]:
        """Depth and scale of every flow."""
        for depth, scales in zip(self.depths, self.scales, strict=True):
            yield from ((depth, float(scale)) for scale in scales)

    @property
    def shape(self) -> tuple[int, int, int]:
        """How many depths (for each loss), scales of each, and stops."""
        return len(self.depths) * max(len(self.losses), 1), len(self.scales[0]), len(self.stops)

    def points(self) -> list[dict[str, Any]]:
        """Every point, loss after loss, flow after flow, the earliest stop first."""
        return [
            {**loss, "depth": depth, "scale": scale, "stop": stop}
            for loss in [{"loss": loss} for loss in self.losses] or [{}]
            for depth, scale in self.flows()
            for stop in self.stops
        ]


def grid_of(depth: Any, scales: Any, stops: Any, top: Callable[[float], float]) -> Grid:
    """The grid that is asked for; what is a number is how many. top: the kernel end for a depth."""
    depths = tuple(np.atleast_1d(as_floats(depth, "depth", ndim=(0, 1))).tolist())
    if min(depths, default=0.0) < 2:
        raise InputError(f"depth must be at least 2, or several such numbers, got {depth!r}")
    return Grid(depths, tuple(_scales(each, scales, top) for each in depths), as_stops(stops))


def path_grid(start: Start, scales: Any, stop: float | None, top: Callable[[float], float]) -> Grid:
    """The grid of one stop; where scales are a number, that of the start is among them."""
    grid = grid_of(start.depth, scales, [stop], top)
    if not is_count(scales):
        return grid
    return replace(grid, scales=(np.unique([*grid.scales[0], float(start.scale)])[::-1],))


def _scales(depth: float, scales: Any, top: Callable[[float], float]) -> Float:
    if not is_count(scales):
        given = np.atleast_1d(as_floats(scales, "scales", ndim=(0, 1)))
        if not given.size or not (given > 0).all():
            raise InputError("scales must be positive numbers, or how many to try")
        return np.sort(given)[::-1]
    end = top(depth)
    return np.geomspace(end, end * _RICH.get(int(depth), _DEEP) ** (1 / depth), int(scales))


def is_count(value: Any) -> bool:
    """A number of scales or stops, not these themselves?"""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) > 0


def as_stops(stops: Any) -> tuple[float | None, ...]:
    """Shares, decreasing, and None for the end of the flow, which so many shares have after them."""
    if stops is None:
        return (None,)
    if is_count(stops):
        return (*np.geomspace(_FIRST, _LAST, int(stops)).tolist(), None)
    given = list(np.atleast_1d(np.asarray(stops, dtype=object)))
    shares = sorted({float(as_floats(each, "stops", ndim=(0,))) for each in given if each is not None})
    if not given or any(not 0 < share < 1 for share in shares):
        raise InputError("stops must be shares of the loss between 0 and 1, None for its end, or how many")
    return (*reversed(shares), *([None] if any(each is None for each in given) else []))


def kernel_end(training: Training, depth: float, share: float | None = MODERATE) -> float:
    """The scale from which on a flow is that of its tangent kernel, until its loss has fallen to a share.

    w = 2M sinh(z) is 2Mz, to 0.3%, where no |w| exceeds M/4 (and deeper networks are closer). The flow of the
    kernel is known: with X = U S Vᵀ, w(t) = V (1 − e^{−S²t})/S Uᵀy. share: None for its end.
    """
    if not training.targets.any() or not training.rows.any():
        return 1.0
    U, sizes, V = training.visible
    seen = U.T @ training.evened_targets
    learned = np.ones_like(seen) if share is None else _learned(sizes, seen, share * float(seen @ seen))
    w = V @ (learned * seen / sizes)
    return float((_KERNEL * np.abs(w).max()) ** (1 / depth)) or 1.0


def _learned(sizes: Float, seen: Float, left: float) -> Float:
    """1 − e^{−S²t} when this much is left of Σ e^{−2S²t}(Uᵀy)²: by bisection in log t."""
    low, high = -60.0 - 2 * math.log(sizes.max()), 60.0 - 2 * math.log(sizes.min())
    for _ in range(100):
        middle = (low + high) / 2
        rest = np.exp(-np.minimum(2 * sizes**2 * math.exp(middle), 700.0))
        low, high = (middle, high) if rest @ seen**2 > left else (low, middle)
    return -np.expm1(-np.minimum(sizes**2 * math.exp(high), 700.0))
