"""The grid of a cross-validation: depths, scales from the kernel end down, and stops along each flow."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit.data.arrays import Float, as_floats
from tacit.errors import InputError
from tacit.estimators.training import Start, Training
from tacit.numerics.roots import crossing

STOPS = 25  # default number of stops
_FIRST, _LAST = 0.9, 1e-5  # first and last stop: fractions of the initial loss
MODERATE = 0.01  # fraction of the initial loss up to which the kernel end of stopped flows is defined
_KERNEL = 4.0  # predictor scale at the kernel end, in units of the largest coefficient: sinh z = z to 0.3%
# The smallest predictor scale of a grid, in units of that at the kernel end, for depth 2 and above.
_RICH = {2: 1e-6}
_RICH_DEEP = 1e-4
_LOG_TIMES = 60.0  # range of the search for log t around the logarithms of the time scales
_LARGE = 700.0  # exp(-700) is close to the smallest float


@dataclass(frozen=True, eq=False)
class Grid:
    """The points of a search: for every depth its scales, in decreasing order, and stops for all of them.

    stops: decreasing fractions of the loss; None, for the limit of the flow, comes last. losses: names of the
    losses that are tried, empty if there is only one.
    """

    depths: tuple[float, ...]
    scales: tuple[Float, ...]
    stops: tuple[float | None, ...]
    losses: tuple[str, ...] = ()

    def flows(self) -> Iterator[tuple[float, float]]:
        """The depth and scale of every flow."""
        for depth, scales in zip(self.depths, self.scales, strict=True):
            yield from ((depth, float(scale)) for scale in scales)

    @property
    def shape(self) -> tuple[int, int, int]:
        """The numbers of depths (times that of losses), scales and stops."""
        return len(self.depths) * max(len(self.losses), 1), len(self.scales[0]), len(self.stops)

    def points(self) -> list[dict[str, Any]]:
        """All points, ordered by loss, depth, scale and stop, with the earliest stop first."""
        return [
            {**loss, "depth": depth, "scale": scale, "stop": stop}
            for loss in [{"loss": loss} for loss in self.losses] or [{}]
            for depth, scale in self.flows()
            for stop in self.stops
        ]


def grid_of(depth: Any, scales: Any, stops: Any, top: Callable[[float], float]) -> Grid:
    """The grid for these parameters; scales and stops may be counts. top: the kernel end of a depth."""
    depths = tuple(np.atleast_1d(as_floats(depth, "depth", ndim=(0, 1))).tolist())
    if min(depths, default=0.0) < 2:
        raise InputError(f"depth must be at least 2 (a number or a sequence), got {depth!r}")
    return Grid(depths, tuple(_scales(each, scales, top) for each in depths), as_stops(stops))


def path_grid(start: Start, scales: Any, stop: float | None, top: Callable[[float], float]) -> Grid:
    """The grid with a single stop; if scales is a count, the scale of the start is added."""
    grid = grid_of(start.depth, scales, [stop], top)
    if not is_count(scales):
        return grid
    return replace(grid, scales=(np.unique([*grid.scales[0], float(start.scale)])[::-1],))


def _scales(depth: float, scales: Any, top: Callable[[float], float]) -> Float:
    if not is_count(scales):
        given = np.atleast_1d(as_floats(scales, "scales", ndim=(0, 1)))
        if not given.size or not (given > 0).all():
            raise InputError(f"scales must be positive numbers, or the number of scales, got {scales!r}")
        return np.sort(given)[::-1]
    end = top(depth)
    return np.geomspace(end, end * _RICH.get(int(depth), _RICH_DEEP) ** (1 / depth), int(scales))


def is_count(value: Any) -> bool:
    """Whether a value is a number of scales or stops, rather than the scales or stops themselves."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) > 0


def as_stops(stops: Any) -> tuple[float | None, ...]:
    """Decreasing fractions of the loss; None, for the limit, comes last and is added if stops is a count."""
    if stops is None:
        return (None,)
    if is_count(stops):
        return (*np.geomspace(_FIRST, _LAST, int(stops)).tolist(), None)
    given = list(np.atleast_1d(np.asarray(stops, dtype=object)))
    fractions = sorted({float(as_floats(each, "stops", ndim=(0,))) for each in given if each is not None})
    if not given or any(not 0 < fraction < 1 for fraction in fractions):
        raise InputError(
            "stops must be fractions of the loss between 0 and 1 (with None for the limit), or the number of "
            f"stops, got {stops!r}"
        )
    return (*reversed(fractions), *([None] if any(each is None for each in given) else []))


def kernel_end(training: Training, depth: float, fraction: float | None = MODERATE) -> float:
    """The kernel end: the scale above which a flow equals that of its tangent kernel.

    This holds until the loss has fallen to the fraction, or to the limit of the flow if the fraction is None.
    For depth 2, w = 2M sinh(z) equals 2Mz to 0.3% if all |w| are at most M/4; deeper networks are closer to
    their kernel. The flow of the kernel is w(t) = V (1 − e^{−S²t})/S Uᵀy, where X = U S Vᵀ.
    """
    if not training.targets.any() or not training.rows.any():
        return 1.0
    U, sizes, V = training.singular
    parts = U.T @ training.normalized_targets
    learned = np.ones_like(parts) if fraction is None else _learned(sizes, parts, fraction)
    w = V @ (learned * parts / sizes)
    return float((_KERNEL * np.abs(w).max()) ** (1 / depth)) or 1.0


def _learned(sizes: Float, parts: Float, fraction: float) -> Float:
    """1 − e^{−S²t} when Σ e^{−2S²t}(Uᵀy)² is this fraction of its start."""
    left = fraction * float(parts @ parts)

    def too_large(log_time: float) -> float:
        rest = np.exp(-np.minimum(2 * sizes**2 * math.exp(log_time), _LARGE))
        return float(rest @ parts**2) - left

    low, high = -_LOG_TIMES - 2 * math.log(sizes.max()), _LOG_TIMES - 2 * math.log(sizes.min())
    return -np.expm1(-np.minimum(sizes**2 * math.exp(crossing(too_large, low, high)), _LARGE))
