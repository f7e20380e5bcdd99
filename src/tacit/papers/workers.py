"""Make figures in several processes, each with one thread for linear algebra and its own JAX.

A process reads orders from its standard input, one line of JSON per figure, and writes answers to its
standard output. It ends when its input is closed, so no process survives if the main program is killed.
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
_XLA_FLAG = "--xla_cpu_multi_thread_eigen=false"  # one thread for JAX, as well
_GRACE = 0.3  # seconds that a process has to finish writing before it is killed
_Order = dict[str, Any]


def order(entry: Entry, **options: Any) -> _Order:
    """The order that tells a process to make a figure; options: preset, seed, out and force."""
    return {"key": entry.key, "module": entry.make.__module__, **options}


def groups(entries: Sequence[Entry], known: Callable[[Entry], float | None]) -> list[list[Entry]]:
    """Group figures by module, because they may share computed data; groups that take longest come first.

    known: returns how long a figure took before, or None.
    """
    together: dict[str, list[Entry]] = {}
    for entry in entries:
        together.setdefault(entry.make.__module__, []).append(entry)

    def seconds(entry: Entry) -> float:
        before = known(entry)
        return entry.seconds if before is None else before

    return sorted(together.values(), key=lambda group: -sum(map(seconds, group)))


def answer(entry: Entry, progress: Any = None, **options: Any) -> dict[str, Any]:
    """Make a figure; return its content, or why it was not made, ready for JSON.

    "content" is the content of its JSON and "summary" the same as text; "left_out" or "error" gives the
    reason if the figure was not made.
    """
    try:
        made = reproduce(entry, progress=progress, **options)
    except (MissingDataError, MissingPackageError) as error:
        return {"key": entry.key, "left_out": str(error)}
    except Exception as error:
        named = str(error) if isinstance(error, TacitError) else f"{type(error).__name__}: {error}"
        return {"key": entry.key, "error": named, "trace": traceback.format_exc()}
    from tacit.data.json_values import as_json

    return {"key": entry.key, "content": as_json(made.to_dict()), "summary": made.summary()}


def make_all(groups: Sequence[Sequence[_Order]], jobs: int) -> Generator[dict[str, Any], None, None]:
    """Yield {"begun": key} and the answer for every figure as they arrive; one process makes each group.

    Closing the iterator ends the processes, even in the middle of a figure.
    """
    events: SimpleQueue[dict[str, Any]] = SimpleQueue()
    remaining = deque(groups)
    count = 2 * sum(map(len, groups))
    workers = [_Worker(remaining, events) for _ in range(min(jobs, len(remaining)))]
    try:
        for worker in workers:
            worker.start()
        for _ in range(count):
            yield events.get()
    finally:
        remaining.clear()
        until = time.monotonic() + _GRACE
        for worker in workers:
            worker.dismiss()
        for worker in workers:
            worker.end(until)


class _Worker(threading.Thread):
    """A thread that sends orders to its own process, and starts a new process if that one dies."""

    def __init__(self, remaining: deque[Sequence[_Order]], events: SimpleQueue[dict[str, Any]]):
        super().__init__(daemon=True)
        self.remaining, self.events = remaining, events
        self.process: subprocess.Popen[str] | None = None
        self.dismissed, self.lock = False, threading.Lock()

    def run(self) -> None:
        """Process groups until none remain."""
        while not self.dismissed:
            try:
                group = self.remaining.popleft()
            except IndexError:
                return
            for each in group:
                self.events.put({"begun": each["key"]})
                self.events.put(self._answer(each))

    def _answer(self, each: _Order) -> dict[str, Any]:
        """Send an order to the process and wait for its answer."""
        with self.lock:
            if self.dismissed:
                return {"key": each["key"], "error": "it was cancelled"}
            self.process = self.process or _start_process()
        line = ""
        with suppress(OSError, ValueError):  # the process has died, and its pipes are closed
            assert self.process.stdin is not None and self.process.stdout is not None
            print(json.dumps(each), file=self.process.stdin, flush=True)
            line = self.process.stdout.readline()
        if line.endswith("\n"):
            return dict(json.loads(line))
        with self.lock:
            assert self.process is not None
            status, self.process = _close(self.process), None
        return {"key": each["key"], "error": f"the process that made it ended early (status {status})"}

    def dismiss(self) -> None:
        """Send no more orders and close the input of the process, so that it ends."""
        with self.lock:
            self.dismissed = True
            if self.process is not None and self.process.stdin is not None:
                with suppress(OSError):
                    self.process.stdin.close()

    def end(self, until: float) -> None:
        """Wait for the process until a time, then kill it."""
        if (process := self.process) is not None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, until - time.monotonic()))
            process.kill()
        self.join()
        if self.process is not None:
            _close(self.process)


def _close(process: subprocess.Popen[str]) -> int:
    """Close the pipes of a process that has ended, and return its exit status."""
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError):
            if pipe is not None:
                pipe.close()
    return process.wait()


def _start_process() -> subprocess.Popen[str]:
    """Start a process in its own session, so that only the main program receives interrupts."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} {_XLA_FLAG}".strip()
    return subprocess.Popen(
        [sys.executable, "-P", "-c", _CHILD, json.dumps(sys.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        env={**os.environ, **dict.fromkeys(_ONE_THREAD, "1"), "XLA_FLAGS": flags},
        start_new_session=True,
    )


def serve() -> None:
    """Read orders and write answers, until the input is closed (the main loop of a process)."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # redirects what libraries print away from the pipe of the answers
    orders: SimpleQueue[_Order] = SimpleQueue()
    with suppress(KeyboardInterrupt, BrokenPipeError):
        threading.Thread(target=_listen, args=(orders,), daemon=True).start()
        while True:
            print(json.dumps(_execute(orders.get())), file=answers, flush=True)
    os._exit(0)


def _listen(orders: SimpleQueue[_Order]) -> None:
    """Queue the orders; end the process when its input is closed."""
    for line in sys.stdin:
        orders.put(json.loads(line))
    _thread.interrupt_main()
    time.sleep(_GRACE)
    os._exit(0)  # the main thread is busy in compiled code, which an interrupt does not reach


def _execute(each: _Order) -> dict[str, Any]:
    """The answer to an order, with everything that was printed meanwhile."""
    printed = io.StringIO()  # not a terminal, so no progress bars are shown
    with redirect_stdout(printed), redirect_stderr(printed):
        import_module(each.pop("module"))
        (entry,) = figures(each.pop("key"))
        found = answer(entry, **each)
    return {**found, "said": printed.getvalue()}
