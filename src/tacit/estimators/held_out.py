"""Outputs on samples that were held out, at all points of a grid, to the accuracy that their errors need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tacit.data.arrays import Float
from tacit.data.units import Units
from tacit.estimators.grid import Grid
from tacit.estimators.predictors import predictors
from tacit.estimators.start import Start
from tacit.estimators.training import Training

_FINE, _ROUGH = 0.01, 0.1  # relative accuracy of predictors that are only compared
_NEAR = (
    2.0  # logarithms of the predictor's scale between which a cubic tells errors to 1%, or 8% at the worst
)
_POINTS = 4  # of the cubic
_NEARLY = 0.02  # of the least error, by which another is nearly the least
_BENT = 0.05  # of an error, what a cubic and a straight line may differ by

Followed = tuple[Float, int]  # outputs at all stops, and at how many the flow has arrived


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Samples that were held out, beside the units of those that were not."""

    X: Float
    y: Float
    weights: Float | None
    units: Units

    def outputs(self, w: Float) -> Float:
        """Of predictors (stops, d): (stops, samples)."""
        return np.asarray(w @ self.X.T + (self.units.target - w @ self.units.center)[:, None])

    def scores(self, outputs: Float) -> Float:
        """Mean square errors, negative, at every stop."""
        return -np.average((self.y - outputs) ** 2, axis=1, weights=self.weights)

    def tolerance(self, training: Training, grid: Grid, start: Start) -> float:
        """The accuracy of predictors: errors of them count beside what they leave of y, not beside y.

        What is left is taken from the flow at the kernel end, the cheapest one.
        """
        first = Grid(grid.depths[:1], (grid.scales[0][:1],), grid.stops)
        ((outputs, _),) = _follow(training, first, start, _FINE, self)
        score = self.scores(outputs)
        nothing = self.scores(self.outputs(np.zeros((1, self.X.shape[1]))))[0]
        left = float(np.sqrt(score.max() / nothing)) if nothing < 0 else 0.0
        return float(np.clip(_ROUGH * left, _FINE, _ROUGH))


def held_out_outputs(
    training: Training, grid: Grid, start: Start, rtol: float, held_out: HeldOut
) -> Iterator[Float]:
    """For every flow of a grid the outputs at its stops, (stops, samples).

    Outputs at a share of the loss depend smoothly on the logarithm of the scale: where scales are close, only
    some of the flows are run, and cubics tell of the others.
    """
    for depth, scales in zip(grid.depths, grid.scales, strict=True):
        sizes = depth * np.log(scales)
        run = _spread(sizes)

        def flows(
            which: list[int], depth: float = depth, scales: Float = scales
        ) -> Iterator[tuple[int, Followed]]:
            part = Grid((depth,), (scales[which],), grid.stops)
            return zip(which, _follow(training, part, start, rtol, held_out), strict=True)

        found = dict(flows(run))
        between = {i: _between(i, sizes, run, found, held_out) for i in range(len(scales)) if i not in found}
        missing = [i for i, outputs in between.items() if outputs is None]
        found |= dict(flows(missing)) if missing else {}
        for i in range(len(scales)):
            yield found[i][0] if i in found else np.asarray(between[i])


def _follow(
    training: Training, grid: Grid, start: Start, rtol: float, held_out: HeldOut
) -> Iterator[Followed]:
    """For every flow its outputs, and at how many stops it has arrived before patience ended it."""
    count = 0

    def score(w: Float) -> float:
        nonlocal count
        count += 1
        return float(held_out.scores(held_out.outputs(w[None]))[0])

    for w in predictors(training, grid, start, rtol, score):
        yield held_out.outputs(w), count
        count = 0


def _spread(sizes: Float) -> list[int]:
    """Places of some of these decreasing numbers, no farther apart than need be, with both ends."""
    last = len(sizes) - 1
    places = [0]
    while places[-1] < last:
        near = int(np.searchsorted(-sizes, _NEAR - sizes[places[-1]], side="right")) - 1
        places.append(max(near, places[-1] + 1))
    return places if len(places) >= _POINTS else list(range(len(sizes)))


def _between(
    place: int, sizes: Float, run: list[int], found: dict[int, Followed], held_out: HeldOut
) -> Float | None:
    """The outputs there by a cubic between four flows.

    None where a straight line between two of them says something else. Where some went farther, the stops
    after the first that gave up are as it left them, if the others are hardly better there; else None, too.
    """
    after = int(np.searchsorted(run, place))
    first = min(max(after - _POINTS // 2, 0), len(run) - _POINTS)
    near = run[first : first + _POINTS]
    counts = [found[i][1] for i in near]
    seen = max(min(counts), 1)
    if max(counts) > seen and not _over(seen, [found[i][0] for i in near], held_out):
        return None
    cubic, line = (_interpolated(place, sizes, each, found) for each in (near, run[after - 1 : after + 1]))
    if max(counts) > seen:
        cubic[seen:], line[seen:] = cubic[seen - 1], line[seen - 1]
    errors, others = held_out.scores(cubic), held_out.scores(line)
    return cubic if (np.abs(errors - others) <= _BENT * np.abs(others)).all() else None


def _over(seen: int, outputs: list[Float], held_out: HeldOut) -> bool:
    """Have all of these flows been nearly at their best before that many stops?"""
    scores = [held_out.scores(each) for each in outputs]
    return all(score[:seen].max() >= (1 + _NEARLY) * score.max() for score in scores)


def _interpolated(place: int, sizes: Float, near: list[int], found: dict[int, Followed]) -> Float:
    """The polynomial through the outputs of these flows."""
    shares = [_lagrange(sizes, place, i, near) for i in near]
    return np.tensordot(shares, [found[i][0] for i in near], axes=1)


def _lagrange(sizes: Float, place: int, of: int, near: list[int]) -> float:
    """The polynomial that is 1 at one of these places and 0 at the others."""
    others = sizes[[i for i in near if i != of]]
    return float(np.prod((sizes[place] - others) / (sizes[of] - others)))
