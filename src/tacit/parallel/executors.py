"""The executors by name (processes, serial, dask:ADDRESS), or given by the user."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from tacit.errors import InputError
from tacit.packages import needed
from tacit.parallel.processes import Processes

_AHEAD = 32  # tasks that foreign executors hold at least, so that clusters that adapt to their load can grow
_WAIT = 20  # seconds to wait for a Dask scheduler
_FORMS = "'processes', 'processes:N', 'serial', 'dask:ADDRESS' or a concurrent.futures.Executor"


class Serial(Executor):
    """An executor that performs a call when it is submitted, in this process."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Perform the call; an interrupt is raised here, other exceptions by the future."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def opened(executor: Executor | str | None) -> Iterator[Executor]:
    """The executor that was named or given (None: processes); those that are made here end with the context.

    Raises `InputError` for an unknown name and `MissingPackageError` without Dask.
    """
    if isinstance(executor, Executor):
        yield executor
        return
    kind, _, place = (
        (executor or "processes").partition(":") if isinstance(executor, str | None) else ("",) * 3
    )
    if kind == "serial" and not place:
        yield Serial()
    elif kind == "dask":
        with _client(place) as client:
            yield client.get_executor()
    elif kind == "processes":
        with Processes(_count(place) if place else cores()) as pool:
            yield pool
    else:
        raise InputError(f"executor must be {_FORMS}, got {executor!r}")


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise InputError(f"the number in 'processes:N' must be 1 or more, got {text!r}")
    return int(text)


@contextmanager
def _client(place: str) -> Iterator[Any]:
    """A client of the Dask scheduler at an address or in a scheduler file."""
    with needed("distributed", f"the executor 'dask:{place}'", "use 'processes'"):
        connect: Any = import_module("distributed").Client
    if not place:
        raise InputError("give the address of the Dask scheduler, as in dask:tcp://10.0.0.1:8786")
    where = {"scheduler_file": place} if os.path.isfile(place) else {"address": place}
    try:
        client = connect(**where, timeout=_WAIT, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise InputError(f"no Dask scheduler answers at {place}: {str(error).splitlines()[0]}") from error
    with client:
        yield client


def check_executor(executor: Executor | str | None) -> None:
    """Raise if the name of an executor is unknown or its package is not installed, without opening it."""
    if isinstance(executor, str) and executor.startswith("dask:"):
        with needed("distributed", f"the executor {executor!r}", "use 'processes'"):
            import_module("distributed")
        return
    with opened(executor):
        pass


def workers_of(executor: Executor) -> int:
    """The number of tasks that an executor performs at once, if it is known."""
    if isinstance(executor, Serial):
        return 1
    if isinstance(executor, Processes):
        return executor.count
    client = getattr(executor, "_client", None)  # executors of Dask, whose number of workers changes
    if client is not None:
        return sum(client.nthreads().values())
    found = getattr(executor, "num_workers", None) or getattr(executor, "_max_workers", None)
    return found if isinstance(found, int) else cores()


def capacity(executor: Executor) -> int:
    """The number of tasks that an executor is given in advance."""
    workers = workers_of(executor)
    if isinstance(executor, Serial):
        return 1
    return 2 * workers if isinstance(executor, Processes) else max(_AHEAD, 4 * workers)
