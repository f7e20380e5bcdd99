"""Make figures in several processes, those that share data in the same one."""

from __future__ import annotations

import io
import traceback
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from importlib import import_module
from typing import Any

from tacit.errors import MissingDataError, MissingPackageError, TacitError
from tacit.papers.reproduction import Entry, figures, reproduce
from tacit.parallel.processes import Processes, WorkerDied

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
    remaining = deque(deque(group) for group in groups)
    with ExitStack() as stack:
        idle = [stack.enter_context(Processes(1)) for _ in range(min(jobs, len(remaining)))]
        busy: dict[Future[dict[str, Any]], tuple[Processes, str, deque[_Order]]] = {}

        def begin(process: Processes, group: deque[_Order]) -> dict[str, Any]:
            each = group.popleft()
            busy[process.submit(_execute, each)] = process, each["key"], group
            return {"begun": each["key"]}

        while remaining or busy:
            while idle and remaining:
                yield begin(idle.pop(), remaining.popleft())
            for future in wait(busy, return_when=FIRST_COMPLETED).done:
                process, key, group = busy.pop(future)
                yield _answer_of(future, key)
                if group:
                    yield begin(process, group)
                else:
                    idle.append(process)


def _answer_of(future: Future[dict[str, Any]], key: str) -> dict[str, Any]:
    try:
        return future.result()
    except WorkerDied as error:
        reason = f"the process that made it ended early (status {error.status})"
        return {"key": key, "error": reason}


def _execute(each: _Order) -> dict[str, Any]:
    """The answer to an order, with everything that was printed meanwhile."""
    printed = io.StringIO()  # not a terminal, so no progress bars are shown
    with redirect_stdout(printed), redirect_stderr(printed):
        options = dict(each)
        import_module(options.pop("module"))
        (entry,) = figures(options.pop("key"))
        found = answer(entry, **options)
    return {**found, "said": printed.getvalue()}
