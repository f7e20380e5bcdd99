"""`tacit.sweep`: a function evaluated over a grid, on all cores or a cluster, and resumable."""

from __future__ import annotations

import os
import random
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from tacit.parallel.batches import Queue, evaluated
from tacit.parallel.executors import Serial, opened
from tacit.parallel.transport import check_guard, packed
from tacit.show.progress import progress
from tacit.studies.content import digest, name_of
from tacit.studies.dataset import dataset_of
from tacit.studies.outcomes import Outcome, evaluate
from tacit.studies.points import Points, as_seed, check_arguments, key_of, points_of, seed_of
from tacit.studies.store import Store
from tacit.studies.versions import versions

if TYPE_CHECKING:
    import xarray as xr

_BLOCK = 64  # neighbouring points that stay together when a study with a store is shuffled
Work = Callable[..., tuple[float, list[Outcome]]]


def sweep(
    function: Callable[..., Mapping[str, object]],
    grid: Mapping[str, object] | Sequence[Mapping[str, object]],
    *,
    store: str | os.PathLike[str] | None = None,
    executor: Executor | str | None = None,
    seed: int = 0,
) -> xr.Dataset:
    """Evaluate a function at every point of a grid, in parallel; a store keeps finished points.

    The result does not depend on the executor, the number of workers or interruptions, as long as the
    function depends on its arguments only. A point at which the function raises an exception is recorded with
    its error; the other points are evaluated. If a worker dies, its points are evaluated again, up to three
    times.

    Parameters
    ----------
    function : callable
        Called with the parameters of a point by name, and with `seed` if it takes that argument. Returns a
        dict of numbers, arrays of numbers, or text.
    grid : mapping or sequence of mappings
        A list of values for every parameter, of which all combinations are evaluated; or a list of points,
        each a dict with the same parameters. Values are numbers or text. A parameter named seed replaces the
        seeds of the points.
    store : path, optional
        A folder for finished points. A study that was interrupted, or whose grid has grown, evaluates only
        points that are missing. Several processes and studies may use it at the same time. Points are found
        by the source of the function and of what it uses from the same module, by the parameters and the
        seed, and by the versions of Tacit, NumPy and SciPy. Needs pyarrow.
    executor : Executor or str, optional
        A `concurrent.futures.Executor`, such as `client.get_executor()` of Dask or `MPIPoolExecutor` of
        mpi4py; or "processes" (one for each core, the default), "processes:N", "serial", or "dask:ADDRESS".
    seed : int, optional
        The seed of a point depends on this seed and on the values of its parameters only.

    Returns
    -------
    xarray.Dataset
        A variable for every key that the function returned, and the variable `errors`, which is empty where
        the function succeeded. The parameters are the dimensions, in their order; a list of points has the
        dimension `point`. Seed and versions are attributes.

    Raises
    ------
    InputError
        If the grid, the function or the executor is invalid, or the function cannot be sent to other
        processes.
    MissingPackageError
        If pyarrow is needed for the store, or Dask for the executor, and is not installed.

    See Also
    --------
    limit : The limit of gradient flow, which functions of a study often compute.

    Examples
    --------
    >>> import numpy as np
    >>> import tacit
    >>> def distance(scale, depth, seed):
    ...     X = np.random.default_rng(seed).standard_normal((5, 20))
    ...     limit = tacit.limit(tacit.Diagonal(depth, scale), X, X[:, 0])
    ...     return {"l1": np.abs(limit.predictor).sum()}
    >>> found = tacit.sweep(distance, {"scale": [1e-3, 1.0], "depth": [2, 3]}, executor="serial")
    >>> dict(found.sizes)
    {'scale': 2, 'depth': 2}
    """
    check_guard("tacit.sweep")
    study = Study(function, points_of(grid), as_seed(seed))
    with opened(executor) as pool:
        outcomes = study.outcomes(pool, None if store is None else Store(store))
    attributes = {"function": name_of(function), "seed": study.seed, **versions()}
    return dataset_of(study.points, outcomes, attributes)


@dataclass(frozen=True, eq=False)
class Study:
    """A function, its points and a seed."""

    function: Callable[..., Mapping[str, Any]]
    points: Points
    seed: int

    def outcomes(self, pool: Executor, store: Store | None) -> list[Outcome]:
        """The outcomes of all points in order, from the store or evaluated."""
        seeded = check_arguments(self.function, self.points.names)
        content = digest(self.function, versions()) if store is not None else ""
        keys = [key_of(content, self.seed, point) for point in self.points.each]
        found: dict[str, Outcome] = {}
        if store is not None:
            found.update({key: store.known[key] for key in keys if key in store})
        missing: dict[str, Any] = {}
        for key, point in zip(keys, self.points.each, strict=True):
            if key not in found:
                missing[key] = point, seed_of(self.seed, point) if seeded else None
        with closing(self._evaluated(missing, pool, store)) as new:
            for key, outcome in progress(new, name_of(self.function), count=len(missing)):
                found[key] = outcome
        if store is not None:
            found = {key: store.known[key] for key in missing if key in store} | found
        return [found[key] for key in keys]

    def _evaluated(
        self, missing: dict[str, Any], pool: Executor, store: Store | None
    ) -> Generator[tuple[str, Outcome], None, None]:
        """Yield keys and outcomes as they become available, after they are in the store."""
        function = self.function if isinstance(pool, Serial) else packed(self.function)
        work: Work = partial(evaluate, function, versions())
        order = list(missing.items())
        queue = Queue(deque(order if store is None else _shuffled(order)), partial(_finished, store))
        for points, outcomes, lost in evaluated(work, queue, pool):
            outcomes = outcomes or [Outcome({}, 0.0, lost, kept=False)] * len(points)
            rows = [(key, value[0], out) for (key, value), out in zip(points, outcomes, strict=True)]
            if store is not None:
                store.add(row for row in rows if row[2].kept)
            for key, _, outcome in rows:
                yield key, outcome


def _finished(store: Store | None) -> Callable[[str], bool]:
    """Whether a point is in the store by now, perhaps from another process."""
    if store is None:
        return lambda key: False
    store.refresh()
    return store.__contains__


def _shuffled(points: list[Any]) -> list[Any]:
    """The points in blocks of random order.

    Processes that share a store then rarely evaluate the same points at the same time, and the time left is
    estimated from all parts of the grid. The result does not depend on the order.
    """
    blocks = [points[start : start + _BLOCK] for start in range(0, len(points), _BLOCK)]
    random.SystemRandom().shuffle(blocks)
    return [point for block in blocks for point in block]
