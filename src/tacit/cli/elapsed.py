"""Elapsed time since the command line was loaded."""

from __future__ import annotations

import argparse
import time

_loaded: float | None = time.perf_counter()


def begun() -> float:
    """The starting time; for the first command, the time at which this module was loaded."""
    global _loaded
    first, _loaded = _loaded, None
    return time.perf_counter() if first is None else first


def waited(options: argparse.Namespace) -> str:
    """The elapsed time, and the part of it that was spent on reading the data."""
    total = time.perf_counter() - options.begun
    return f"{in_words(total)} in total, {in_words(options.reading)} of it for reading the data"


def in_words(seconds: float) -> str:
    """A duration with two digits and a suitable unit."""
    if seconds < 0.0995:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s" if seconds >= 0.995 else f"{seconds:.2f} s"
    if seconds < 119.5:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7170 else f"{seconds / 3600:.1f} hours"
