"""The number of threads for linear algebra."""

from __future__ import annotations

import os
import sys

_MOST = 4
_NAMES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def limit_threads() -> None:
    """Use half of the cores and at most four threads, unless the user has set the number.

    Most matrices here are small, so that more threads mostly wait for each other: on a busy machine this took
    ten times as long. NumPy reads the setting when it is loaded, so it has no effect afterwards.
    """
    if "numpy" in sys.modules:
        return
    cores = os.cpu_count() or 1
    for name in _NAMES:
        os.environ.setdefault(name, str(max(1, min(_MOST, cores // 2))))
