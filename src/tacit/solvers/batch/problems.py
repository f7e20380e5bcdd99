"""Problems of a batch, arranged in groups that share X, and their solutions in the original order."""

from __future__ import annotations

import math
import os
from collections.abc import Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.data.arrays import Float, Index
from tacit.results.limit import Limit
from tacit.solvers.batch.driver import Solved, solve
from tacit.solvers.batch.in_numpy import InNumpy
from tacit.solvers.batch.lanes import Lanes
from tacit.solvers.batch.stages import stages_of

# Certificates. Two solutions with this error agree to 1e-11; X W Xᵀ must keep three digits.
_ERROR, _RCOND = 3e-12, 1e-13
# Distance in log scale of the lanes of a line that start in the kernel regime: on a CPU, where several stages
# follow, and on a GPU, where one does, because each stage is compiled.
_FIRST_SPACING, _GPU_SPACING = 6.0, 1.0
_LEAST_LINE = 6  # lanes of a line from which on stages save time
_CACHE = 1 << 18  # entries of all predictors that are computed together on a CPU
_MEMORY = 1 << 31  # entries of all arrays that are computed together on a GPU (16 GiB)
_VECTORS, _MATRICES = 32, 4  # arrays of the size of a predictor, and of a normal matrix, that a step needs
_PAIRS = 1 << 29  # entries of the products of rows of X that are kept on a GPU
_MANY_LANES = 32  # lanes of a group from which on these products save time


@dataclass(frozen=True, eq=False)
class Problems:
    """B problems of one power p. Xs: G arrays (N, d), and X_of: (B,), which of them each problem has.

    y: (B, N). log_scale, weight: (B, 1), or (B, d) if they differ between coordinates.
    """

    Xs: Sequence[Float]
    X_of: Index
    y: Float
    log_scale: Float
    weight: Float
    power: float

    def __len__(self) -> int:
        return len(self.X_of)


@dataclass(frozen=True, eq=False)
class Solutions:
    """Arrays (B, …); certified: whether a solution may be reported as it is."""

    predictors: Float
    duals: Float
    feasibility: Float
    stationarity: Float
    error: Float
    iterations: Float
    certified: Any

    @classmethod
    def empty(cls, B: int, N: int, d: int) -> Solutions:
        """Arrays of B problems that are not solved."""
        numbers = (np.full(B, np.nan), np.full(B, np.nan), np.full(B, np.nan), np.full(B, np.nan))
        certified: Any = np.zeros(B, bool)
        return cls(np.empty((B, d)), np.empty((B, N)), *numbers, certified)

    def put(self, places: Index, part: Solutions) -> None:
        """Write the solutions of some of the problems."""
        for name, values in vars(part).items():
            getattr(self, name)[places] = values

    def fail(self, place: int) -> None:
        """Write that a problem has no solution."""
        for name in ("predictors", "duals", "feasibility", "stationarity", "error"):
            getattr(self, name)[place] = np.nan

    def replace(self, place: int, found: Limit) -> None:
        """Write a solution that was computed singly."""
        self.predictors[place], self.duals[place] = found.predictor, found.dual
        for name in ("feasibility", "stationarity", "error", "iterations"):
            getattr(self, name)[place] = getattr(found, name)
        self.certified[place] = found.converged


@dataclass(frozen=True, eq=False)
class Chunk:
    """Problems that are solved together: indices (G, L), and the number of lanes of each line of a group."""

    problems: Index
    lines: tuple[int, ...]


def solve_problems(problems: Problems, tol: float, device: Any = None) -> Solutions:
    """Solve all problems, on all cores, or on a device of JAX."""
    found = Solutions.empty(len(problems), *problems.Xs[0].shape)
    chunks = list(_chunks(problems, device is not None))

    def run(chunk: Chunk) -> None:
        _store(found, chunk, *_solve_chunk(problems, chunk, device), tol)

    workers = 1 if device is not None else min(len(chunks), os.cpu_count() or 1)
    if workers == 1:
        for chunk in chunks:
            run(chunk)
    else:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(run, chunks))
    return found


def _store(found: Solutions, chunk: Chunk, solved: Solved, unit: Float, tol: float) -> None:
    at = chunk.problems
    found.predictors[at] = solved.w if (unit == 1).all() else solved.w * unit
    found.duals[at] = solved.nu
    for name in ("feasibility", "stationarity", "error", "iterations"):
        getattr(found, name)[at] = getattr(solved, name)
    with np.errstate(invalid="ignore"):
        accurate = (solved.error <= _ERROR) & (solved.rcond >= _RCOND) & solved.ordinary
        found.certified[at] = accurate & (solved.feasibility <= tol) & (solved.stationarity <= tol)


def _solve_chunk(problems: Problems, chunk: Chunk, device: Any) -> tuple[Solved, Float]:
    """The solutions of a chunk, and the powers of 2 in which its targets and predictors are measured."""
    at = chunk.problems
    level = problems.log_scale[at].max(axis=-1)
    size = np.abs(problems.y[at]).max(axis=-1, keepdims=True)
    unit = np.exp2(np.round(np.log2(np.where(size > 0, size, 1.0))))
    data = (
        _stacked([problems.Xs[i] for i in problems.X_of[at[:, 0]]]),
        problems.y[at] / unit,
        problems.log_scale[at] - np.log(unit),
        problems.weight[at],
    )
    spacing = _FIRST_SPACING if device is None else _GPU_SPACING
    strides = _strides(level, chunk.lines, spacing, several=device is None)
    stages = stages_of(chunk.lines, strides)
    if device is None:
        return solve(InNumpy(), Lanes(*data, problems.power), level, stages), unit
    from tacit.solvers.batch.in_jax import InJax, in_float64

    backend = InJax(device)
    with in_float64(device):
        X, y, log_scale, weight = map(backend.array, data)
        lanes = Lanes(X, y, log_scale, weight, problems.power)
        if _has_pairs(len(at), at.shape[1], *lanes.X.shape[1:]):
            lanes = lanes.with_pairs(backend.pairs(lanes.X))
        return solve(backend, lanes, level, stages), unit


def _stacked(arrays: Sequence[Float]) -> Float:
    return arrays[0][None] if len(arrays) == 1 else np.stack(arrays)


def _strides(level: Float, lines: Sequence[int], spacing: float, several: bool) -> list[int]:
    """Strides of the stages of lines of these lengths."""
    longest = max(lines)
    if longest < _LEAST_LINE:
        return [1]
    end = sum(lines[: lines.index(longest) + 1])
    line = level[:, end - longest : end]
    apart = max(float(np.ptp(line, axis=1).mean()) / (longest - 1), 1e-300)
    power = int(np.clip(round(math.log2(spacing / apart)), 0, math.log2(longest / 3)))
    return [2**k for k in range(power, -1, -1)] if several else sorted({2**power, 1}, reverse=True)


def _chunks(problems: Problems, on_gpu: bool) -> Iterator[Chunk]:
    """Divide the problems: groups of equal structure together, as many as fit."""
    N, d = problems.Xs[0].shape
    for lines, groups in _by_structure(problems).items():
        lanes = sum(lines)
        if on_gpu:
            each = _VECTORS * d + _MATRICES * N * N
            limit = _MEMORY // (each if _has_pairs(len(groups), lanes, N, d) else each + N * d)
            room, share = limit // lanes, len(groups)
        else:
            limit, share = max(1, _CACHE // d), math.ceil(len(groups) / (os.cpu_count() or 1))
            room = _CACHE // (max(lanes, N // 8) * d)
        if lanes > limit or (not on_gpu and len(groups) == 1):
            for group in groups:
                yield from _divided(group, lines, max(1, limit), on_gpu)
            continue
        count = max(1, min(room, share))
        for first in range(0, len(groups), count):
            yield Chunk(np.array(groups[first : first + count]), lines)


def _has_pairs(groups: int, lanes: int, N: int, d: int) -> bool:
    """Whether the products of rows of X are computed: they must fit, and be used often enough."""
    return lanes >= _MANY_LANES and groups * d * N * (N + 1) // 2 <= _PAIRS


def _divided(group: Index, lines: Sequence[int], limit: int, on_gpu: bool) -> Iterator[Chunk]:
    """Divide the lanes of one group into parts of at most `limit`, at least one for each core."""
    parts = math.ceil(len(group) / limit)
    if not on_gpu and len(group) >= 2 * _LEAST_LINE:
        parts = max(parts, os.cpu_count() or 1)
    line_of = np.repeat(np.arange(len(lines)), lines)
    for places in np.array_split(np.arange(len(group)), parts):
        counts = np.unique(line_of[places], return_counts=True)[1]
        yield Chunk(group[places][None], tuple(counts.tolist()))


def _by_structure(problems: Problems) -> dict[tuple[int, ...], list[Index]]:
    """Groups of problems with one X, sorted by line and level, by the lengths of their lines."""
    line_of = _numbered(
        zip(
            problems.X_of.tolist(),
            _keys(problems.y),
            _keys(problems.log_scale - problems.log_scale.max(axis=-1, keepdims=True)),
            _keys(problems.weight),
            strict=True,
        )
    )
    level = problems.log_scale.max(axis=-1)
    order = np.lexsort((-level, line_of, problems.X_of))
    found: dict[tuple[int, ...], list[Index]] = {}
    starts = np.flatnonzero(np.diff(problems.X_of[order], prepend=-1))
    for group in np.split(order, starts[1:]):
        lines = line_of[group]
        lengths = np.diff(np.flatnonzero(np.diff(lines, prepend=-1, append=-1)))
        found.setdefault(tuple(lengths.tolist()), []).append(group)
    return found


def _keys(rows: Float) -> Iterator[Hashable]:
    """A key for every row of an array, equal for equal rows."""
    if rows.shape[0] == 0 or rows.strides[0] == 0:
        return iter([b""] * len(rows))
    return iter([row.tobytes() for row in rows])


def _numbered(keys: Iterator[Hashable]) -> Index:
    known: dict[Hashable, int] = {}
    return np.array([known.setdefault(key, len(known)) for key in keys], dtype=int)
