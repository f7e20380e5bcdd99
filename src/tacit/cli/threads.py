"""How many threads the linear algebra of a command takes."""

from __future__ import annotations

import os
import sys

_MOST = 4
_NAMES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def limit_threads() -> None:
    """Half of the cores, four at the most, unless the user has said how many.

    Most matrices here are small: threads then wait for each other, and on a busy machine for everybody else,
    ten times as long as the work takes. Only where NumPy is not loaded yet, which reads this when it is.
    """
    if "numpy" in sys.modules:
        return
    cores = os.cpu_count() or 1
    for name in _NAMES:
        os.environ.setdefault(name, str(max(1, min(_MOST, cores // 2))))
