"""Evaluate many points in batches that take about a second, even if workers die."""

from __future__ import annotations

import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from dataclasses import dataclass, field
from typing import Any

from tacit.parallel.executors import Serial, capacity, workers_of
from tacit.parallel.processes import Processes, WorkerDied

_ATTEMPTS = 3  # attempts for a point whose worker dies, since some points always kill their worker
_SECONDS = 0.5  # aim for a batch: long compared with the overhead of a task, short enough that little is lost
_MOST = 500  # points in a batch
_LOST = ("KilledWorker", "CommClosedError", "FutureCancelledError")  # what Dask calls the death of a worker

Point = tuple[str, Any]  # a key, and the values to evaluate


@dataclass(frozen=True)
class Batch:
    """A call of a function with these points, and when it was submitted."""

    points: Sequence[Point]
    submitted: float = field(default_factory=time.monotonic)


@dataclass
class Queue:
    """Points that remain to be evaluated, in order.

    finished: called before points are submitted; removes those that another process has evaluated meanwhile.
    """

    points: deque[Point]
    finished: Callable[[], Callable[[str], bool]]
    alone: deque[Point] = field(default_factory=deque)
    size: int = 1

    def next(self) -> list[Point]:
        """The next batch; points whose worker died are evaluated alone, so that they do not affect others."""
        done = self.finished()
        for points, size in ((self.alone, 1), (self.points, self.size)):
            batch: list[Point] = []
            while points and len(batch) < size:
                point = points.popleft()
                if not done(point[0]):
                    batch.append(point)
            if batch:
                return batch
        return []

    def learn(self, count: int, seconds: float) -> None:
        """Adapt the size of batches to the time that one took."""
        aim = max(1, min(_MOST, int(count * _SECONDS / max(seconds, 1e-6))))
        self.size = min(aim, 2 * self.size)  # the first points may be faster than others


def evaluated(
    work: Callable[..., Sequence[Any]], queue: Queue, executor: Executor
) -> Iterator[tuple[Sequence[Point], Sequence[Any], str]]:
    """Yield batches of points with the results of `work(values, attempt)`, or the lost points and the reason.

    The results of a batch are (seconds, one entry for every point); they are empty for points that were
    abandoned, and the last entry gives the reason. When a worker dies, its points are submitted again, one by
    one. An executor that breaks is replaced by new processes. Closing the iterator cancels the submitted
    points.
    """
    run = _Run(work, queue, executor)
    try:
        yield from run.results()
    finally:
        run.close()


@dataclass
class _Run:
    """The batches that are being evaluated."""

    work: Callable[..., Sequence[Any]]
    queue: Queue
    executor: Executor
    busy: dict[Future[Any], Batch] = field(default_factory=dict)
    losses: Counter[str] = field(default_factory=Counter)
    own: Processes | None = None

    def results(self) -> Iterator[tuple[Sequence[Point], Sequence[Any], str]]:
        """Results as they arrive."""
        while True:
            self._submit()
            if not self.busy:
                return
            done, _ = wait(self.busy, return_when=FIRST_COMPLETED)
            for future in done:
                yield from self._result(future, self.busy.pop(future))

    def _submit(self) -> None:
        room = capacity(self.executor)
        while len(self.busy) < room and (points := self.queue.next()):
            batch = Batch(points)
            attempt = max(self.losses[key] for key, _ in points)  # Dask remembers failures of equal calls
            try:
                future = self.executor.submit(self.work, [value for _, value in points], attempt)
            except BrokenExecutor as error:
                self._replace(error)
                self.queue.alone.extend(points)
                continue
            self.busy[future] = batch
            if isinstance(self.executor, Serial):
                return

    def _result(
        self, future: Future[Any], batch: Batch
    ) -> Iterator[tuple[Sequence[Point], Sequence[Any], str]]:
        try:
            seconds, found = future.result()
        except (BrokenExecutor, CancelledError) as error:
            yield from self._lost(batch, error)
        except Exception as error:
            if type(error).__name__ not in _LOST:
                raise
            yield from self._lost(batch, error)
        else:
            self.queue.learn(len(batch.points), seconds)
            yield batch.points, found, ""

    def _lost(
        self, batch: Batch, error: BaseException
    ) -> Iterator[tuple[Sequence[Point], Sequence[Any], str]]:
        """Submit the points of a lost batch again, except those that were lost too often."""
        if isinstance(error, BrokenExecutor) and not isinstance(error, WorkerDied):
            self._replace(error)
        for point in batch.points:
            # Of a batch, or of an executor that broke, any point may have ended the process; if it was
            # evaluated alone, it did.
            self.losses[point[0]] += 1
            if self.losses[point[0]] < _ATTEMPTS:
                self.queue.alone.append(point)
            else:
                reason = f"{type(error).__name__}: {error} ({_ATTEMPTS} times)"
                yield [point], [], " ".join(reason.split())

    def _replace(self, error: BaseException) -> None:
        """Continue with new processes."""
        if self.own is None:
            count = workers_of(self.executor)
            warnings.warn(
                f"{type(self.executor).__name__} is broken ({error}); the remaining points are evaluated by "
                f"{count} new processes",
                RuntimeWarning,
                stacklevel=2,
            )
            self.executor = self.own = Processes(count)

    def close(self) -> None:
        """Cancel the submitted points, and end the new processes."""
        for future in self.busy:
            future.cancel()
        if self.own is not None:
            self.own.shutdown(cancel_futures=True)
