"""Fast figures of a fictitious paper, which processes that make figures can import."""

import os
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import xarray as xr

from tacit.errors import MissingDataError
from tacit.papers import Claim, figure


class Straight:
    """A straight line."""

    at_most = 4.0

    def data(self, points, *, seed, progress):
        slope = np.random.default_rng(seed).uniform()
        return xr.Dataset({"y": ("x", slope * np.arange(float(points)))}, attrs={"process": os.getpid()})

    def draw(self, data, ax):
        ax.plot(data.y)

    def claims(self, data):
        yield Claim("the line stays low (its height)", float(data.y.max()), at_most=self.at_most)


def also(key, module=__name__, **own):
    """A variant, under a key of its own."""
    kind = type(key.capitalize(), (Straight,), {"__doc__": f"The line {key}.", "__module__": module, **own})
    return figure(f"quick2031/{key}", quick={"points": 3}, paper={"points": 5})(kind)


def absent(self, points, **_):
    raise MissingDataError("no such data")


def broken(self, points, **_):
    raise ZeroDivisionError("a slip")


def dead(self, points, **_):
    os._exit(7)


def endless(self, points, **_):
    """A figure that reports its process and ignores interrupts."""
    Path(os.environ["QUICK_FIGURES"], str(os.getpid())).touch()
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with suppress(KeyboardInterrupt):
            time.sleep(0.05)


if "QUICK_FIGURES" in os.environ:
    also("plain")
    also("endless", data=endless)
else:
    also("plain")
    also("wrong", at_most=-1.0)
    also("absent", data=absent)
    also("broken", data=broken)
    also("dead", data=dead)
