"""An executor of processes, each with one thread for linear algebra and its own JAX.

A process reads pickled tasks from its standard input and writes pickled answers to its standard output. It
ends when its input is closed, so no process survives if the main program is killed, unlike those of
`ProcessPoolExecutor`. If a process dies, only the task that it was working on is lost.
"""

from __future__ import annotations

import _thread
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import IO, Any

_CHILD = """import json, sys
sys.path[:] = json.loads(sys.argv[1])
from tacit.parallel.processes import serve
serve()"""
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
_XLA_FLAG = "--xla_cpu_multi_thread_eigen=false"  # one thread for JAX, as well
_GRACE = 0.3  # seconds that a process has to finish writing before it is killed
_LENGTH = 8  # bytes before every message, which give its length


class WorkerDied(BrokenProcessPool):
    """The process that worked on a task ended with this status; the other processes continue."""

    def __init__(self, status: int | None):
        super().__init__(f"its process ended early (status {status})")
        self.status = status


@dataclass
class _Task:
    """A pickled call and the future of its result."""

    content: bytes
    future: Future[Any] = field(default_factory=Future)


class Processes(Executor):
    """An executor with this number of processes, which start when there is work for them.

    Functions must be importable under their names, as for `ProcessPoolExecutor`.
    """

    def __init__(self, count: int):
        self.count = count
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._workers: list[_Worker] = []
        self._pending: set[Future[Any]] = set()
        self._closed = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Queue a call; a process is started for it if there are fewer than `count`."""
        if self._closed:
            raise RuntimeError("cannot schedule new futures after shutdown")
        task = _Task(pickle.dumps((fn, args, kwargs)))
        self._pending.add(task.future)
        task.future.add_done_callback(self._pending.discard)
        self._tasks.put(task)
        if len(self._workers) < min(self.count, len(self._pending)):
            self._workers.append(_Worker(self._tasks))
            self._workers[-1].start()
        return task.future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes: after their tasks, or at once with cancel_futures."""
        self._closed = True
        if cancel_futures:
            for future in list(self._pending):
                future.cancel()
            until = time.monotonic() + _GRACE
            for worker in self._workers:
                worker.dismiss()
            for worker in self._workers:
                worker.end(until)
        for _ in self._workers:
            self._tasks.put(None)
        if wait:
            for worker in self._workers:
                worker.join()

    def __exit__(self, kind: Any, *_: Any) -> None:
        self.shutdown(cancel_futures=kind is not None)


class _Worker(threading.Thread):
    """A thread that sends tasks to its own process, and starts a new process if that one dies."""

    def __init__(self, tasks: SimpleQueue[_Task | None]):
        super().__init__(daemon=True)
        self.tasks = tasks
        self.process: subprocess.Popen[bytes] | None = None
        self.dismissed, self.lock = False, threading.Lock()

    def run(self) -> None:
        """Process tasks until None arrives."""
        while (task := self.tasks.get()) is not None:
            if task.future.set_running_or_notify_cancel():
                self._perform(task)
        self.dismiss()
        self._status()

    def _perform(self, task: _Task) -> None:
        """Send a task to the process, wait for its answer, and set the future."""
        with self.lock:
            if not self.dismissed:
                self.process = self.process or _start_process()
        answer = b""
        if self.process is not None:
            with suppress(OSError, ValueError):  # the process has died, and its pipes are closed
                assert self.process.stdin is not None and self.process.stdout is not None
                _send(self.process.stdin, task.content)
                answer = _receive(self.process.stdout)
        if not answer:
            task.future.set_exception(WorkerDied(self._status()))
            return
        try:
            succeeded, value = pickle.loads(answer)
        except Exception as error:  # the class of the result cannot be imported here
            succeeded, value = False, error
        if succeeded:
            task.future.set_result(value)
        else:
            task.future.set_exception(value)

    def dismiss(self) -> None:
        """Start no more processes and close the input of the process, so that it ends."""
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

    def _status(self) -> int | None:
        """Close the pipes of the process, which has ended or will, and return its exit status."""
        with self.lock:
            process, self.process = self.process, None
        if process is None:
            return None
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        return process.wait()


def _send(pipe: IO[bytes], content: bytes) -> None:
    pipe.write(len(content).to_bytes(_LENGTH, "little"))
    pipe.write(content)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> bytes:
    """The next message; empty at the end of the stream, even if the last message is incomplete."""
    length = int.from_bytes(pipe.read(_LENGTH), "little")
    content = pipe.read(length)
    return content if len(content) == length else b""


def _start_process() -> subprocess.Popen[bytes]:
    """Start a process in its own session, so that only the main program receives interrupts."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} {_XLA_FLAG}".strip()
    return subprocess.Popen(
        [sys.executable, "-P", "-c", _CHILD, json.dumps(sys.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **dict.fromkeys(_ONE_THREAD, "1"), "XLA_FLAGS": flags},
        start_new_session=True,
    )


def serve() -> None:
    """Read tasks and write answers, until the input is closed (the main loop of a process)."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # redirects what libraries print away from the pipe of the answers
    tasks: SimpleQueue[bytes] = SimpleQueue()
    with suppress(KeyboardInterrupt, BrokenPipeError):
        threading.Thread(target=_listen, args=(tasks,), daemon=True).start()
        while task := tasks.get():
            _send(answers, _answer(task))
    os._exit(0)


def _listen(tasks: SimpleQueue[bytes]) -> None:
    """Queue the tasks; end the process when its input is closed."""
    while content := _receive(sys.stdin.buffer):
        tasks.put(content)
    tasks.put(b"")  # ends the main thread if it waits for a task
    _thread.interrupt_main()
    time.sleep(_GRACE)
    os._exit(0)  # the main thread is busy in compiled code, which an interrupt does not reach


def _answer(content: bytes) -> bytes:
    """Perform a task: the pickled pair of success, and the result or exception."""
    try:
        function, arguments, named = pickle.loads(content)
        return pickle.dumps((True, function(*arguments, **named)))
    except Exception as error:
        try:
            return pickle.dumps((False, error))
        except Exception:  # an exception that holds, for example, an open file
            return pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))
