"""Figures made by several processes at once, each with one thread for linear algebra and a JAX of its own.

A process is told on its standard input which figure to make, a line of JSON for each, and answers on its
standard output. It ends when that input does: nobody is left behind by a program that was killed.
"""

from __future__ import annotations

import _thread
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from importlib import import_module
from queue import SimpleQueue
from typing import Any

from tacit.errors import MissingDataError, MissingPackageError, TacitError
from tacit.papers.reproduction import Entry, figures, reproduce

_CHILD = """import json, sys
sys.path[:] = json.loads(sys.argv[1])
from tacit.papers.workers import serve
serve()"""
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
_ALONE = "--xla_cpu_multi_thread_eigen=false"
_GRACE = 0.3  # seconds in which a process may put away what it was writing
_Order = dict[str, Any]


def order(entry: Entry, **asked: Any) -> _Order:
    """What a process has to know to make a figure. asked: preset, seed, out and force."""
    return {"key": entry.key, "module": entry.make.__module__, **asked}


def groups(entries: Sequence[Entry], known: Callable[[Entry], float | None]) -> list[list[Entry]]:
    """Figures that share a module, and so may share what they compute, together; those that take long first.

    known: how long a figure took before, if that is known.
    """
    together: dict[str, list[Entry]] = {}
    for entry in entries:
        together.setdefault(entry.make.__module__, []).append(entry)

    def seconds(entry: Entry) -> float:
        before = known(entry)
        return entry.seconds if before is None else before

    return sorted(together.values(), key=lambda group: -sum(map(seconds, group)))


def answer(entry: Entry, progress: Any = None, **asked: Any) -> dict[str, Any]:
    """A figure that was made, or why it was not, ready for JSON.

    "content" is what its JSON has and "summary" the same in words; "left_out" and "error" say why there is
    none.
    """
    try:
        made = reproduce(entry, progress=progress, **asked)
    except (MissingDataError, MissingPackageError) as error:
        return {"key": entry.key, "left_out": str(error)}
    except Exception as error:
        named = str(error) if isinstance(error, TacitError) else f"{type(error).__name__}: {error}"
        return {"key": entry.key, "error": named, "trace": traceback.format_exc()}
    from tacit.data.json_values import as_json

    return {"key": entry.key, "content": as_json(made.to_dict()), "summary": made.summary()}


def make_all(groups: Sequence[Sequence[_Order]], jobs: int) -> Generator[dict[str, Any], None, None]:
    """{"begun": key} and the answer, of every figure, as they come; each group is made by one process.

    Closing the iterator ends the processes, whatever they are busy with.
    """
    events: SimpleQueue[dict[str, Any]] = SimpleQueue()
    left = deque(groups)
    count = 2 * sum(map(len, groups))
    workers = [_Worker(left, events) for _ in range(min(jobs, len(left)))]
    try:
        for worker in workers:
            worker.start()
        for _ in range(count):
            yield events.get()
    finally:
        left.clear()
        until = time.monotonic() + _GRACE
        for worker in workers:
            worker.dismiss()
        for worker in workers:
            worker.end(until)


class _Worker(threading.Thread):
    """Hands orders to a process of its own, and starts another where that one dies."""

    def __init__(self, left: deque[Sequence[_Order]], events: SimpleQueue[dict[str, Any]]):
        super().__init__(daemon=True)
        self.left, self.events = left, events
        self.process: subprocess.Popen[str] | None = None
        self.dismissed, self.changing = False, threading.Lock()

    def run(self) -> None:
        """Until there are no more."""
        while not self.dismissed:
            try:
                group = self.left.popleft()
            except IndexError:
                return
            for each in group:
                self.events.put({"begun": each["key"]})
                self.events.put(self._asked(each))

    def _asked(self, each: _Order) -> dict[str, Any]:
        with self.changing:
            if self.dismissed:
                return {"key": each["key"], "error": "it was called off"}
            self.process = self.process or _started()
        line = ""
        with suppress(OSError, ValueError):  # it is gone, and its ends are closed
            assert self.process.stdin is not None and self.process.stdout is not None
            print(json.dumps(each), file=self.process.stdin, flush=True)
            line = self.process.stdout.readline()
        if line.endswith("\n"):
            return dict(json.loads(line))
        status = self._gone()
        return {"key": each["key"], "error": f"the process that was to make it ended (status {status})"}

    def _gone(self) -> int:
        with self.changing:
            assert self.process is not None
            status = _closed(self.process)
            self.process = None
            return status

    def dismiss(self) -> None:
        """No more orders; the process sees the end of its input, and ends."""
        with self.changing:
            self.dismissed = True
            if self.process is not None and self.process.stdin is not None:
                with suppress(OSError):
                    self.process.stdin.close()

    def end(self, until: float) -> None:
        """Whoever is still there is killed."""
        if (process := self.process) is not None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, until - time.monotonic()))
            process.kill()
        self.join()
        if self.process is not None:
            _closed(self.process)


def _closed(process: subprocess.Popen[str]) -> int:
    """The exit status of a process that ended, its pipes closed."""
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError):
            if pipe is not None:
                pipe.close()
    return process.wait()


def _started() -> subprocess.Popen[str]:
    """In a session of its own: an interrupt at the terminal is this process's to deal with."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} {_ALONE}".strip()
    return subprocess.Popen(
        [sys.executable, "-P", "-c", _CHILD, json.dumps(sys.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, **dict.fromkeys(_ONE_THREAD, "1"), "XLA_FLAGS": flags},
        start_new_session=True,
    )


def serve() -> None:
    """The work of a process: orders in, answers out, until there is nobody to work for."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what others print is no answer
    orders: SimpleQueue[_Order] = SimpleQueue()
    with suppress(KeyboardInterrupt, BrokenPipeError):
        threading.Thread(target=_listen, args=(orders,), daemon=True).start()
        while True:
            print(json.dumps(_carried_out(orders.get())), file=answers, flush=True)
    os._exit(0)


def _listen(orders: SimpleQueue[_Order]) -> None:
    for line in sys.stdin:
        orders.put(json.loads(line))
    _thread.interrupt_main()
    time.sleep(_GRACE)
    os._exit(0)  # busy in a library that does not listen


def _carried_out(each: _Order) -> dict[str, Any]:
    """The answer to an order; what was printed meanwhile goes with it."""
    said = io.StringIO()  # no terminal: no bars
    with redirect_stdout(said), redirect_stderr(said):
        import_module(each.pop("module"))
        (entry,) = figures(each.pop("key"))
        found = answer(entry, **each)
    return {**found, "said": said.getvalue()}
