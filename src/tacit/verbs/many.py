"""Solve many problems: in batches where their potentials allow it, one by one otherwise."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.data.arrays import Float, Index, as_floats, as_numeric, check_tolerance, feature_names
from tacit.data.prepared import known_as, prepare
from tacit.errors import InputError, TacitError
from tacit.results.limit import Limit
from tacit.results.limits import Limits
from tacit.solvers.batch.devices import chosen_device
from tacit.solvers.batch.models import Models, batchable, model_array, parameters
from tacit.solvers.batch.problems import Problems, Solutions, solve_problems

Single = Callable[..., Limit]  # `tacit.limit`, which itself may use a batch of one
_CORES = os.cpu_count() or 1


def solve_many(models: Models, X: Any, y: Any, tol: float, device: str, single: Single) -> Limits:
    """The limits of all problems, with the arguments of `tacit.limits`."""
    begun = time.perf_counter()
    check_tolerance(tol)
    data = _Data.of(models, X, y)
    target = chosen_device(device, float(len(data)) * data.Xs[0].size)
    found = Solutions.empty(len(data), *data.Xs[0].shape)
    for places, problems in _batches(data):
        part = solve_problems(problems, tol, target)
        if len(places) == len(data):
            found = part
        else:
            found.put(places, part)
    rest = np.flatnonzero(~found.certified)
    one_by_one = _solve_singly(data, rest, tol, single)
    errors = {place: each for place, each in one_by_one.items() if isinstance(each, TacitError)}
    solved = {place: each for place, each in one_by_one.items() if isinstance(each, Limit)}
    for place in errors:
        found.fail(place)
    for place, each in solved.items():
        found.replace(place, each)
    return Limits(
        **{
            name: getattr(found, name)
            for name in ("predictors", "duals", "feasibility", "stationarity", "error")
        },
        converged=found.certified,
        iterations=np.nan_to_num(found.iterations).astype(int),
        errors=errors,
        shape=data.shape,
        singly=rest,
        device="cpu" if target is None else "gpu",
        seconds=time.perf_counter() - begun,
        tol=float(tol),
        features=feature_names(X),
        _models=data.models,
        _Xs=data.Xs,
        _X_of=data.X_of,
        _y=data.y,
        _solved=solved,
    )


@dataclass(frozen=True, eq=False)
class _Data:
    """The B problems: models, the distinct X with the index of each problem, and targets (B, N)."""

    models: Sequence[Any]
    Xs: Sequence[Float]
    X_of: Index
    y: Float
    shape: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.X_of)

    @property
    def many(self) -> bool:
        """Whether there are several X; a single one has been checked."""
        return len(self.Xs) > 1

    @classmethod
    def of(cls, models: Models, X: Any, y: Any) -> _Data:
        """Validate and broadcast."""
        given = model_array(models)
        inputs, targets = _as_inputs(X), _as_targets(y)
        if inputs.shape[-2] != targets.shape[-1]:
            raise InputError(
                f"X and y must have one row per sample: X has {inputs.shape[-2]} rows, "
                f"y has {targets.shape[-1]}"
            )
        parts = {"models": given.shape, "X": inputs.shape[:-2], "y": targets.shape[:-1]}
        try:
            shape = np.broadcast_shapes(*parts.values())
        except ValueError:
            told = ", ".join(f"{name} {part}" for name, part in parts.items())
            raise InputError(
                "models, X and y must have the same number of problems, or one for all, got the shapes "
                + told
            ) from None
        Xs, which = _distinct(inputs)
        return cls(
            np.broadcast_to(given, shape).ravel().tolist(),
            Xs,
            np.broadcast_to(which, shape).ravel(),
            np.broadcast_to(targets, (*shape, targets.shape[-1])).reshape(-1, targets.shape[-1]),
            shape or (1,),
        )


def _as_inputs(X: Any) -> Float:
    """X as (…, N, d). Data that all problems share must be finite; others are checked one by one."""
    prepared = known_as(X)
    if prepared is not None:
        return prepared.X
    array = as_numeric(X, "X")
    if array.ndim < 2 or 0 in array.shape:
        raise InputError(
            f"X must be (N, d), or (B, N, d) for B data sets, none of them empty, got the shape {array.shape}"
        )
    return as_floats(array, "X", ndim=(2,)) if array.ndim == 2 else np.asarray(array, dtype=np.float64)


def _as_targets(y: Any) -> Float:
    array = as_numeric(y, "y")
    if array.ndim == 0:
        raise InputError(f"y must be (N,), or (B, N) for B problems, got {y!r}")
    return as_floats(array, "y", ndim=(1,)) if array.ndim == 1 else np.asarray(array, dtype=np.float64)


def _distinct(inputs: Float) -> tuple[list[Float], Index]:
    """The X that differ, and which of them belongs to each problem; repeated ones are solved as one group."""
    if inputs.ndim == 2:
        return [inputs], np.zeros((), int)
    lead = inputs[tuple(slice(None) if stride else slice(1) for stride in inputs.strides[:-2])]
    flat = lead.reshape(-1, *inputs.shape[-2:])
    known: dict[bytes, list[int]] = {}
    which = np.zeros(len(flat), int)
    kept = list[Float]()
    for i, X in enumerate(flat):
        same = known.setdefault(X[0].tobytes(), [])
        place = next((k for k in same if np.array_equal(kept[k], X)), None)
        if place is None:
            place = len(kept)
            same.append(place)
            kept.append(X)
        which[i] = place
    return kept, np.broadcast_to(which.reshape(lead.shape[:-2]), inputs.shape[:-2])


def _batches(data: _Data) -> list[tuple[Index, Problems]]:
    """The problems that can be solved together, by the power p of their potentials, with their indices."""
    samples, d = data.Xs[0].shape
    if samples > d:
        return []
    distinct = {id(each): each for each in data.models}
    number = {key: i for i, key in enumerate(distinct)}
    which = np.array([number[id(each)] for each in data.models])
    potentials = [batchable(each, d) for each in distinct.values()]
    power_of = np.array([np.nan if each is None else each.power for each in potentials])
    finite = np.array([bool(np.isfinite(X).all()) for X in data.Xs]) if data.many else np.ones(1, bool)
    solvable = finite[data.X_of] & np.isfinite(data.y).all(axis=1) & data.y.any(axis=1)
    found = []
    for power in np.unique(power_of[~np.isnan(power_of)]).tolist():
        same = np.flatnonzero(power_of == power)
        place = np.zeros(len(potentials), int)
        place[same] = np.arange(len(same))
        places = np.flatnonzero(solvable & (power_of[which] == power))
        if len(places):
            log_scale, weight = (
                parameters([getattr(potentials[i], name) for i in same], d)[place[which[places]]]
                for name in ("log_scale", "weight")
            )
            every = slice(None) if len(places) == len(data) else places
            problems = Problems(data.Xs, data.X_of[every], data.y[every], log_scale, weight, power)
            found.append((places, problems))
    return found


def _solve_singly(data: _Data, places: Index, tol: float, single: Single) -> dict[int, Limit | TacitError]:
    """Limits of single problems, or the errors that they raise; problems with one X share its preparation."""
    groups: dict[int, list[int]] = {}
    for place in places.tolist():
        groups.setdefault(int(data.X_of[place]), []).append(place)

    def solve(group: tuple[int, list[int]]) -> dict[int, Limit | TacitError]:
        which, members = group
        X: Any = data.Xs[which]
        if len(members) > 1 and np.isfinite(X).all():
            X = prepare(X)
        return {place: _one(single, data.models[place], X, data.y[place], tol) for place in members}

    with ThreadPoolExecutor(_CORES) as pool:
        return {place: each for part in pool.map(solve, groups.items()) for place, each in part.items()}


def _one(single: Single, model: Any, X: Any, y: Float, tol: float) -> Limit | TacitError:
    try:
        return single(model, X, y, tol=tol)
    except TacitError as error:
        return error
