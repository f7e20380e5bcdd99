"""Ctrl-C ends a command within a second, also during calls of compiled libraries."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tacit.cli.options import INTERRUPTED

_GRACE = 0.6  # seconds that Python has to end by itself
_SHOW_CURSOR = "\x1b[?25h"  # progress bars hide it


class _Watch:
    """Ends the program some time after an interrupt, unless it has ended or asked for more time."""

    def __init__(self) -> None:
        self.over = threading.Event()

    def wait(self, ears: socket.socket) -> None:
        """Wait for the byte that Python writes for every signal, also while compiled code is running."""
        while heard := ears.recv(1):
            if heard[0] == signal.SIGINT and not self.over.wait(_GRACE):
                say_interrupted()
                os._exit(INTERRUPTED)  # safe, since files are written completely or not at all


_current: _Watch | None = None


@contextmanager
def ending_at_once() -> Iterator[None]:
    """End the program soon after an interrupt, since compiled code delays KeyboardInterrupt."""
    global _current
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ears, mouth = socket.socketpair()
    mouth.setblocking(False)
    _current, before = _Watch(), signal.set_wakeup_fd(mouth.fileno(), warn_on_full_buffer=False)
    thread = threading.Thread(target=_current.wait, args=(ears,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        take_time()
        signal.set_wakeup_fd(before)
        mouth.close()
        thread.join()
        ears.close()
        _current = None


def take_time() -> None:
    """Remove the time limit: from here on the command handles an interrupt and saves its results."""
    if _current is not None:
        _current.over.set()


def say_interrupted() -> None:
    """Report the interrupt on standard error, and show the cursor, which a progress bar may have hidden."""
    cursor = _SHOW_CURSOR if sys.stderr and sys.stderr.isatty() else ""
    with suppress(OSError):  # standard error may be closed
        os.write(2, f"{cursor}tacit: interrupted\n".encode())
