"""Ctrl-C ends a command within a second, whatever it is busy with."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tacit.cli.options import INTERRUPTED

_GRACE = 0.6  # seconds in which Python may end by itself
_SHOW_CURSOR = "\x1b[?25h"  # progress bars hide it


class _Watch:
    """Ends the program some time after an interrupt, unless it has come to its end or asks for more."""

    def __init__(self) -> None:
        self.over = threading.Event()

    def wait(self, ears: socket.socket) -> None:
        """Every signal makes Python write a byte, also while a compiled library does not listen."""
        while heard := ears.recv(1):
            if heard[0] == signal.SIGINT and not self.over.wait(_GRACE):
                say_interrupted()
                os._exit(INTERRUPTED)  # files are written whole or not at all


_current: _Watch | None = None


@contextmanager
def ending_at_once() -> Iterator[None]:
    """Python raises KeyboardInterrupt between its own steps only: where none comes, the program just ends."""
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
    """From here on an interrupt is being dealt with: saving what there is may take as long as it takes."""
    if _current is not None:
        _current.over.set()


def say_interrupted() -> None:
    """On standard error, which a bar may have left without its cursor."""
    cursor = _SHOW_CURSOR if sys.stderr and sys.stderr.isatty() else ""
    with suppress(OSError):  # nobody may be there to read it
        os.write(2, f"{cursor}tacit: interrupted\n".encode())
